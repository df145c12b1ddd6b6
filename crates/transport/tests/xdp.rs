//! AF_XDP transports on a veth pair between two network namespaces.

use std::collections::HashSet;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use dnsdyno_lab::{Need, VethPair, require};
use dnsdyno_measure::NotSentReason;
use dnsdyno_sys::interface::{Interface, LinkState};
use dnsdyno_sys::netlink::netdev::Netdev;
use dnsdyno_sys::xdp::Reflect;
use dnsdyno_sys::{clock, thread};
use dnsdyno_transport::xdp::{
    Attach, Attached, CopyMode, Source, XdpConfig, XdpError, XdpOpenError, XdpTransport, open,
};
use dnsdyno_transport::{Batch, Sent, Sink, Stopped, Transport, Wake};

const PORT: u16 = 53;

fn config(server: IpAddr) -> XdpConfig {
    XdpConfig {
        server: SocketAddr::new(server, PORT),
        interface: None,
        source: Source::Route,
        ports: Some((20_000, 20_999)),
        next_hop: None,
        vlan: None,
        attach: Attach::Auto,
        copy: CopyMode::Auto,
        workers: 1,
        fits_workers: false,
        channels: 4,
        longest_message: 512,
        send_only: false,
    }
}

fn open_near(pair: &VethPair, config: &XdpConfig) -> Result<Vec<XdpTransport>, XdpOpenError> {
    pair.near().enter(|| open(config)).unwrap()
}

fn reflector(pair: &VethPair) -> Reflect {
    let attach = || Reflect::attach(&Interface::named("far").unwrap(), Attach::Native, PORT).unwrap();
    pair.far().enter(attach).unwrap()
}

/// A message of this length that starts like a query: an ID, and the flag RD.
fn query(id: u16, length: usize) -> Vec<u8> {
    let mut message = vec![0x5A; length];
    message[..4].copy_from_slice(&[id.to_be_bytes(), [1, 0]].concat());
    message
}

fn send(transport: &mut impl Transport, channel: usize, messages: &[Vec<u8>]) -> Sent {
    let mut batch = Batch::new(messages.len(), 512);
    for message in messages {
        batch.push(message);
    }
    transport.send(channel, &batch)
}

/// Received packets: channel and bytes.
#[derive(Default)]
struct Seen(Vec<(usize, Vec<u8>)>);

impl Sink for Seen {
    fn packet(&mut self, channel: usize, _: u64, bytes: &[u8]) {
        self.0.push((channel, bytes.to_vec()));
    }
    fn refused(&mut self, _: usize, _: u64, _: &[u8]) {}
}

fn receive(transport: &mut impl Transport, seen: &mut Seen, count: usize) {
    let end = Instant::now() + Duration::from_secs(5);
    while seen.0.len() < count && Instant::now() < end {
        transport.wait(transport.now_ns() + 100_000_000, Wake::ON_ARRIVAL);
        transport.receive(seen);
    }
    assert_eq!(seen.0.len(), count, "responses are missing");
}

/// Sends thousands of queries over all channels, and expects each back on its channel.
fn check_every_query_is_answered(transport: &mut XdpTransport) {
    transport.begin(clock::monotonic_ns());
    for round in 0..100u16 {
        let mut expected = HashSet::new();
        let mut seen = Seen::default();
        for channel in 0..transport.channels() {
            let messages: Vec<_> =
                (0..32).map(|i| query(round * 32 + i, 12 + (usize::from(i) * 37 + channel) % 400)).collect();
            assert_eq!(send(transport, channel, &messages), Sent { accepted: 32, stopped: None });
            expected.extend(messages.into_iter().map(|mut message| {
                message[2] |= 0x80;
                (channel, message)
            }));
        }
        receive(transport, &mut seen, expected.len());
        assert_eq!(seen.0.into_iter().collect::<HashSet<_>>(), expected);
    }
    assert_eq!(transport.resources().socket_drops, 0);
}

#[test]
fn every_query_is_answered_over_both_families_with_and_without_a_vlan_tag() {
    if !require(&[Need::Root]) {
        return;
    }
    let pair = VethPair::new(1).unwrap();
    let _reflector = reflector(&pair);
    let far_mac = pair.far().enter(|| Interface::named("far").unwrap().mac().unwrap()).unwrap();
    for (ours, server) in [
        (IpAddr::from(pair.near().ipv4), IpAddr::from(pair.far().ipv4)),
        (pair.near().ipv6.into(), pair.far().ipv6.into()),
    ] {
        let mut transports = open_near(&pair, &config(server)).unwrap();
        assert_eq!((transports[0].facts().source, transports[0].facts().next_hop), (ours, far_mac));
        assert_eq!((transports[0].facts().interface.as_str(), transports[0].facts().queues), ("near", 1));
        assert_eq!(transports[0].facts().attached, Attached::Native);
        check_every_query_is_answered(&mut transports[0]);
        drop(transports);
        // With a VLAN tag, many source addresses, and all settings given.
        let tagged = XdpConfig {
            interface: Some("near".to_owned()),
            source: Source::Prefix { first: ours, length: if server.is_ipv4() { 24 } else { 64 } },
            ports: Some((20_000, 20_001)),
            channels: 10,
            next_hop: Some(far_mac),
            vlan: Some(7),
            ..config(server)
        };
        let mut transports = open_near(&pair, &tagged).unwrap();
        check_every_query_is_answered(&mut transports[0]);
    }
}

#[test]
fn the_host_of_the_server_accepts_our_packets() {
    if !require(&[Need::Root]) {
        return;
    }
    let pair = VethPair::new(1).unwrap();
    for (ours, server) in [
        (IpAddr::from(pair.near().ipv4), IpAddr::from(pair.far().ipv4)),
        (pair.near().ipv6.into(), pair.far().ipv6.into()),
    ] {
        let far = pair.far().enter(|| UdpSocket::bind((server, PORT)).unwrap()).unwrap();
        far.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
        for attach in [Attach::Native, Attach::Generic] {
            let mut transports = open_near(&pair, &XdpConfig { attach, ..config(server) }).unwrap();
            let transport = &mut transports[0];
            transport.begin(clock::monotonic_ns());
            let mut buffer = [0; 1500];
            for length in 12..300 {
                // The kernel drops packets with a wrong checksum, so the checksums of received packets are correct.
                let message = query(length as u16, length);
                assert_eq!(send(transport, length % 4, std::slice::from_ref(&message)).accepted, 1);
                let (count, from) = far.recv_from(&mut buffer).unwrap();
                assert_eq!(
                    (&buffer[..count], from),
                    (&message[..], (ours, 20_000 + length as u16 % 4).into())
                );
                far.send_to(&message, from).unwrap();
                let mut seen = Seen::default();
                receive(transport, &mut seen, 1);
                assert_eq!(seen.0[0], (length % 4, message));
            }
        }
    }
}

#[test]
fn a_response_received_by_another_worker_is_forwarded() {
    if !require(&[Need::Root]) {
        return;
    }
    let cpus = thread::allowed_cpus().unwrap();
    if cpus.len() < 2 {
        println!("skipped: with one CPU veth uses one queue");
        return;
    }
    let pair = VethPair::new(2).unwrap();
    let _reflector = reflector(&pair);
    let two = XdpConfig { workers: 2, channels: 8, ..config(pair.far().ipv4.into()) };
    let mut transports = open_near(&pair, &two).unwrap();
    let mut others = transports.split_off(1);
    let (first, second) = (&mut transports[0], &mut others[0]);
    let epoch_ns = clock::monotonic_ns();
    first.begin(epoch_ns);
    second.begin(epoch_ns);
    // veth passes a packet to the queue with the number of the sending CPU: one of the two delivers
    // the responses to the second worker. The sending thread also does the other side's work.
    for cpu in [cpus[0], cpus[1]] {
        let mut seen = Seen::default();
        let is_done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let (second, is_done) = (&mut *second, &is_done);
            scope.spawn(move || {
                let mut none = Seen::default();
                let end = Instant::now() + Duration::from_secs(20);
                while !is_done.load(Ordering::Relaxed) && Instant::now() < end {
                    second.wait(second.now_ns() + 20_000_000, Wake::ON_ARRIVAL);
                    second.receive(&mut none);
                }
                assert!(none.0.is_empty(), "the second worker sent no query");
            });
            thread::pin_to_cpu(cpu).unwrap();
            for id in 0..500u16 {
                // One by one, so that a packet without a wakeup would not be received.
                let start = Instant::now();
                assert_eq!(send(first, usize::from(id) % 4, &[query(id, 40)]).accepted, 1);
                while seen.0.len() <= usize::from(id) && start.elapsed() < Duration::from_secs(5) {
                    first.wait(first.now_ns() + 5_000_000_000, Wake::ON_ARRIVAL);
                    first.receive(&mut seen);
                }
                let (channel, bytes) = seen.0.last().expect("a response was received");
                assert_eq!((*channel, &bytes[..2]), (usize::from(id) % 4, &id.to_be_bytes()[..]));
                assert!(start.elapsed() < Duration::from_secs(4), "the worker was not woken");
            }
            is_done.store(true, Ordering::Relaxed);
        });
    }
    assert_eq!(first.resources().socket_drops + second.resources().socket_drops, 0);
}

/// Records the time of each packet.
#[derive(Default)]
struct Arrivals(Vec<u64>);

impl Sink for Arrivals {
    fn packet(&mut self, _: usize, at_ns: u64, _: &[u8]) {
        self.0.push(at_ns);
    }
    fn refused(&mut self, _: usize, _: u64, _: &[u8]) {}
}

#[test]
fn a_packet_that_is_read_late_has_its_arrival_time() {
    if !require(&[Need::Root]) {
        return;
    }
    for attach in [Attach::Native, Attach::Generic] {
        let pair = VethPair::new(1).unwrap();
        let reflect = || Reflect::attach(&Interface::named("far").unwrap(), attach, PORT).unwrap();
        let _reflector = pair.far().enter(reflect).unwrap();
        let mut transports =
            open_near(&pair, &XdpConfig { attach, ..config(pair.far().ipv4.into()) }).unwrap();
        let transport = &mut transports[0];
        transport.begin(clock::monotonic_ns());
        let mut late_ns = u64::MAX;
        // A busy host may delay this test once, but not ten times.
        for id in 0..10 {
            assert_eq!(send(transport, 0, &[query(id, 40)]), Sent { accepted: 1, stopped: None });
            let sent_ns = transport.now_ns();
            while transport.now_ns() < sent_ns + 20_000_000 {
                std::hint::spin_loop();
            }
            let mut received = Arrivals::default();
            while received.0.is_empty() && transport.now_ns() < sent_ns + 5_000_000_000 {
                transport.receive(&mut received);
            }
            assert_eq!(received.0.len(), 1);
            late_ns = late_ns.min(received.0[0].saturating_sub(sent_ns));
        }
        assert!(late_ns < 10_000_000, "the best of ten has a time {late_ns} ns after it was sent");
    }
}

#[test]
fn a_link_that_goes_down_is_counted_and_can_recover() {
    if !require(&[Need::Root]) {
        return;
    }
    let pair = VethPair::new(1).unwrap();
    let _reflector = reflector(&pair);
    let mut transports = open_near(&pair, &config(pair.far().ipv4.into())).unwrap();
    let transport = &mut transports[0];
    transport.begin(clock::monotonic_ns());
    let near = pair.near().enter(|| Interface::named("near").unwrap()).unwrap();
    let messages: Vec<_> = (0..20).map(|id| query(id, 40)).collect();
    for end in [pair.near(), pair.far()] {
        end.ip(&["link", "set", end.interface, "down"]).unwrap();
        for _ in 0..500 {
            let sent = send(transport, 0, &messages);
            let refused = Some(Stopped::Failed(NotSentReason::NoRoute));
            assert_eq!(sent, Sent { accepted: 0, stopped: refused });
            transport.receive(&mut Seen::default());
        }
        end.ip(&["link", "set", end.interface, "up"]).unwrap();
        let deadline = Instant::now() + Duration::from_secs(5);
        while near.link_state() != LinkState::Up {
            assert!(Instant::now() < deadline, "the link is still down");
        }
        let mut seen = Seen::default();
        assert_eq!(send(transport, 1, &messages), Sent { accepted: 20, stopped: None });
        receive(transport, &mut seen, 20);
        assert!(seen.0.iter().all(|(channel, _)| *channel == 1), "what was refused was sent later");
    }
}

#[test]
fn a_message_too_long_for_a_packet_fails_alone() {
    if !require(&[Need::Root]) {
        return;
    }
    let pair = VethPair::new(1).unwrap();
    let mut transports = open_near(&pair, &config(pair.far().ipv4.into())).unwrap();
    let transport = &mut transports[0];
    let longest = 1500 - 28;
    let messages = [query(1, 40), query(2, longest), query(3, longest + 1), query(4, 40)];
    let too_long = Some(Stopped::Failed(NotSentReason::TooLong));
    assert_eq!(send(transport, 0, &messages), Sent { accepted: 2, stopped: too_long });
}

#[test]
fn each_obstacle_is_reported() {
    if !require(&[Need::Root]) {
        return;
    }
    let pair = VethPair::new(1).unwrap();
    let server = IpAddr::from(pair.far().ipv4);
    let refused = |config: &XdpConfig| open_near(&pair, config).err().expect("it should be refused");
    let absent = refused(&config([10, 77, 0, 99].into()));
    assert!(matches!(absent, XdpOpenError::NoNeighbour { .. }), "{absent}");
    let far_away = refused(&config([203, 0, 113, 1].into()));
    assert!(matches!(far_away, XdpOpenError::NoRoute { .. }), "{far_away}");
    let ourselves = refused(&config(pair.near().ipv4.into()));
    assert!(matches!(ourselves, XdpOpenError::OnThisHost { .. }), "{ourselves}");
    let interface = Some("absent0".to_owned());
    let no_interface = refused(&XdpConfig { interface, ..config(server) });
    assert!(matches!(no_interface, XdpOpenError::Xdp(XdpError::NoInterface { .. })), "{no_interface}");
    let source = Source::Address([10, 77, 0, 9].into());
    let not_ours = refused(&XdpConfig { source, ..config(server) });
    assert!(matches!(not_ours, XdpOpenError::NotOurAddress { .. }), "{not_ours}");
    let source = Source::Address(pair.near().ipv6.into());
    let families = refused(&XdpConfig { source, ..config(server) });
    assert!(matches!(families, XdpOpenError::TwoFamilies { .. }), "{families}");
    let mtu = refused(&XdpConfig { longest_message: 1_473, ..config(server) });
    assert!(matches!(mtu, XdpOpenError::MtuTooSmall { needed: 1_501, mtu: 1_500, .. }), "{mtu}");
    let channels = refused(&XdpConfig { channels: 1_001, ..config(server) });
    assert!(matches!(channels, XdpOpenError::TooManyChannels { asked: 1_001, most: 1_000 }), "{channels}");
    let workers = refused(&XdpConfig { workers: 2, ..config(server) });
    assert!(matches!(workers, XdpOpenError::TooManyWorkers { queues: 1, .. }), "{workers}");
    let zero_copy = refused(&XdpConfig { copy: CopyMode::ZeroCopy, ..config(server) });
    assert!(matches!(zero_copy, XdpOpenError::Xdp(XdpError::NoZeroCopy { .. })), "{zero_copy}");
    let transports = open_near(&pair, &config(server)).unwrap();
    let second = refused(&config(server));
    assert!(matches!(second, XdpOpenError::Xdp(XdpError::OtherProgram { .. })), "{second}");
    drop(transports);
    pair.near().ip(&["link", "set", "near", "down"]).unwrap();
    let down = refused(&XdpConfig { interface: Some("near".to_owned()), ..config(server) });
    assert!(matches!(down, XdpOpenError::Xdp(XdpError::InterfaceDown { .. })), "{down}");
    // None of these attempts has left a program on the interface.
    assert!(!pair.near().ip(&["link", "show", "near"]).unwrap().contains("xdp"));
}

#[test]
fn a_send_only_run_sends_everything_and_drops_the_responses() {
    if !require(&[Need::Root]) {
        return;
    }
    let pair = VethPair::new(1).unwrap();
    let far = pair.far().enter(|| UdpSocket::bind((pair.far().ipv4, PORT)).unwrap()).unwrap();
    far.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    let send_only = XdpConfig { send_only: true, ..config(pair.far().ipv4.into()) };
    let mut transports = open_near(&pair, &send_only).unwrap();
    let transport = &mut transports[0];
    transport.begin(clock::monotonic_ns());
    // A socket of the host on another port still receives packets. Our own ports are reserved.
    let bind = |port| pair.near().enter(|| UdpSocket::bind((pair.near().ipv4, port))).unwrap();
    assert_eq!(bind(20_000).unwrap_err().kind(), std::io::ErrorKind::AddrInUse);
    let other_socket = bind(30_000).unwrap();
    other_socket.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    let mut buffer = [0; 512];
    for id in 0..100 {
        assert_eq!(send(transport, 0, &[query(id, 40)]), Sent { accepted: 1, stopped: None });
        let (count, from) = far.recv_from(&mut buffer).unwrap();
        far.send_to(&buffer[..count], from).unwrap();
        far.send_to(&buffer[..count], (from.ip(), 30_000)).unwrap();
        // It was sent after the response, over the same path.
        assert_eq!(other_socket.recv(&mut buffer).unwrap(), count);
    }
    let mut seen = Seen::default();
    transport.receive(&mut seen);
    assert!(seen.0.is_empty());
    assert_eq!(transport.resources().socket_drops, 0);
}

#[test]
fn a_long_batch_is_injected_and_every_query_of_it_is_answered() {
    if !require(&[Need::Root]) {
        return;
    }
    let pair = VethPair::new(1).unwrap();
    for server in [IpAddr::from(pair.far().ipv4), pair.far().ipv6.into()] {
        let reflector = reflector(&pair);
        // Two channels, so that no ID is used twice.
        let mut transports = open_near(&pair, &XdpConfig { channels: 2, ..config(server) }).unwrap();
        let transport = &mut transports[0];
        assert!(transport.facts().injects || Netdev::open().is_err(), "{:?}", transport.facts());
        assert_eq!(transport.messages_at_once(), 256);
        transport.begin(clock::monotonic_ns());
        for round in 0..40u16 {
            let (mut expected, mut seen) = (HashSet::new(), Seen::default());
            for channel in 0..2 {
                let messages = long_batch(round * 250, channel);
                assert_eq!(send(transport, channel, &messages), Sent { accepted: 250, stopped: None });
                expected.extend(messages.into_iter().map(|mut message| {
                    message[2] |= 0x80;
                    (channel, message)
                }));
            }
            receive(transport, &mut seen, expected.len());
            assert_eq!(seen.0.into_iter().collect::<HashSet<_>>(), expected);
        }
        assert_eq!(transport.resources().socket_drops, 0);
        // Without a program there the other end no longer receives what is injected.
        drop(reflector);
        let far = pair.far().enter(|| UdpSocket::bind((server, PORT)).unwrap()).unwrap();
        far.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
        transport.wait(transport.now_ns() + 20_000_000, Wake { on_arrival: false, exactly: true });
        let messages = long_batch(0, 0);
        assert_eq!(send(transport, 0, &messages), Sent { accepted: 250, stopped: None });
        let mut buffer = [0; 512];
        // The socket has room for these.
        for message in &messages[..100] {
            let length = far.recv(&mut buffer).unwrap();
            assert_eq!(buffer[..length], message[..]);
        }
        assert_eq!(transport.messages_at_once(), Batch::USUAL);
    }
}

/// 250 queries of different lengths from this ID on.
fn long_batch(first_id: u16, channel: usize) -> Vec<Vec<u8>> {
    (0..250).map(|i| query(first_id + i, 12 + (usize::from(i) * 37 + channel) % 400)).collect()
}

#[test]
fn a_wait_ends_at_its_time_or_with_a_response() {
    if !require(&[Need::Root]) {
        return;
    }
    let pair = VethPair::new(1).unwrap();
    let far = pair.far().enter(|| UdpSocket::bind((pair.far().ipv4, PORT)).unwrap()).unwrap();
    let mut transports = open_near(&pair, &config(pair.far().ipv4.into())).unwrap();
    let transport = &mut transports[0];
    transport.begin(clock::monotonic_ns());
    let start_ns = transport.now_ns();
    transport.wait(start_ns + 3_000_000, Wake { on_arrival: true, exactly: true });
    assert!(transport.now_ns() >= start_ns + 3_000_000);
    std::thread::scope(|scope| {
        scope.spawn(|| far.send_to(&query(1, 12), (pair.near().ipv4, 20_003)).unwrap());
        let mut seen = Seen::default();
        receive(transport, &mut seen, 1);
        assert_eq!(seen.0[0].0, 3);
    });
}

//! The relay between sockets of ours: what arrives, when at the earliest, and in which order. Nothing here asserts on
//! speed, but for a generous median.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::time::{Duration, Instant};

use dnsdyno_responder::relay::{Path, Relay, RelayCounts, RelayOptions, Way};

fn path(to_server: &str, to_client: &str) -> Path {
    let way = |words| Way::default().with(words).unwrap();
    Path { to_server: way(to_server), to_client: way(to_client), seed: 1 }
}

fn relay(server: SocketAddr, path: Path) -> Relay {
    Relay::start(RelayOptions { path, ..RelayOptions::to(server) }).unwrap()
}

fn socket(at: &str) -> UdpSocket {
    let socket = UdpSocket::bind(at).unwrap();
    socket.set_read_timeout(Some(BOUND)).unwrap();
    socket
}

fn client(relay: &Relay) -> UdpSocket {
    let client = socket(if relay.address().is_ipv4() { "127.0.0.1:0" } else { "[::1]:0" });
    client.connect(relay.address()).unwrap();
    client
}

/// Waits until `is_so` of the counts.
fn until(relay: &Relay, is_so: impl Fn(&RelayCounts) -> bool) {
    let end = Instant::now() + BOUND;
    while !is_so(&relay.counts()) {
        assert!(Instant::now() < end, "{:?}", relay.counts());
        std::thread::sleep(Duration::from_millis(2));
    }
}

#[test]
fn each_direction_has_its_delay_over_both_families() {
    for at in ["127.0.0.1:0", "[::1]:0"] {
        let server = socket(at);
        let options = RelayOptions {
            listen: at.parse().unwrap(),
            path: path("delay=20ms", "delay=5ms"),
            ..RelayOptions::to(server.local_addr().unwrap())
        };
        let relay = Relay::start(options).unwrap();
        let client = client(&relay);
        let mut buffer = [0; 64];
        let mut beyond = Vec::new();
        for n in 0..21u8 {
            let sent = Instant::now();
            client.send(&[n; 40]).unwrap();
            let (length, from) = server.recv_from(&mut buffer).unwrap();
            let there = sent.elapsed();
            assert_eq!(&buffer[..length], [n; 40]);
            server.send_to(&buffer[..length + 1], from).unwrap();
            assert_eq!(client.recv(&mut buffer).unwrap(), 41);
            let back = sent.elapsed() - there;
            assert!(
                there >= Duration::from_millis(20) && back >= Duration::from_millis(5),
                "{there:?} {back:?}"
            );
            beyond.push(there - Duration::from_millis(20));
        }
        beyond.sort_unstable();
        assert!(beyond[10] < Duration::from_millis(100), "{beyond:?}");
        let counts = relay.stop();
        for way in [&counts.to_server, &counts.to_client] {
            assert_eq!((way.datagrams.received, way.datagrams.passed, way.late.count()), (21, 21, 21));
        }
        assert_eq!(
            (counts.to_server.datagrams.octets, counts.to_client.datagrams.octets),
            (21 * 40, 21 * 41)
        );
        assert_eq!((counts.clients.opened, counts.kernel_drops), (1, 0));
    }
}

#[test]
fn a_changed_path_holds_for_what_comes_after_it_and_an_impossible_one_changes_nothing() {
    let server = socket("127.0.0.1:0");
    let relay = relay(server.local_addr().unwrap(), path("delay=2ms", ""));
    let client = client(&relay);
    let mut buffer = [0; 64];
    let mut took = || {
        let sent = Instant::now();
        client.send(b"query").unwrap();
        server.recv_from(&mut buffer).unwrap();
        sent.elapsed()
    };
    let (first, long) = (took(), path("delay=120ms", "loss=100%"));
    assert!(first >= Duration::from_millis(2), "{first:?}");
    let impossible = relay.change(&path("reorder=5%", "")).unwrap_err();
    assert!(impossible.is_bad_input() && impossible.to_string().contains("--delay"), "{impossible}");
    assert_eq!(relay.path(), path("delay=2ms", ""));

    let change = relay.change(&long).unwrap();
    assert_eq!(
        (change.to_server.as_str(), change.to_client.as_str()),
        ("delay 120ms", "delay 0ns, loss 100%")
    );
    assert_eq!((relay.path(), change.to_server_before.received), (long, 1));
    let second = took();
    assert!(second >= Duration::from_millis(120), "{second:?}");
    let counts = relay.stop();
    assert_eq!(counts.changes, [change]);
    assert_eq!(counts.to_server.datagrams.passed, 2);
}

#[test]
fn each_client_has_a_port_of_its_own_and_gets_its_own_answers() {
    let server = socket("127.0.0.1:0");
    let relay = relay(server.local_addr().unwrap(), path("delay=2ms", ""));
    let clients: Vec<_> = (0..50).map(|_| client(&relay)).collect();
    for (n, client) in clients.iter().enumerate() {
        client.send(&[n as u8]).unwrap();
    }
    let mut ports = std::collections::BTreeSet::new();
    let mut buffer = [0; 64];
    for _ in 0..clients.len() {
        let (_, from) = server.recv_from(&mut buffer).unwrap();
        ports.insert(from.port());
        server.send_to(&buffer[..1], from).unwrap();
    }
    assert_eq!(ports.len(), clients.len());
    for (n, client) in clients.iter().enumerate() {
        assert_eq!((client.recv(&mut buffer).unwrap(), buffer[0]), (1, n as u8));
    }
}

#[test]
fn a_client_more_than_allowed_takes_the_place_of_one_that_waits_for_nothing_or_is_dropped_and_counted() {
    let server = socket("127.0.0.1:0");
    let to = RelayOptions::to(server.local_addr().unwrap());
    let relay = Relay::start(RelayOptions { clients_max: 2, ..to }).unwrap();
    let clients: Vec<_> = (0..4).map(|_| client(&relay)).collect();
    let mut buffer = [0; 64];
    // Two wait for answers, so a third has no place.
    let mut from = Vec::new();
    for client in &clients[..2] {
        client.send(b"query").unwrap();
        from.push(server.recv_from(&mut buffer).unwrap().1);
    }
    clients[2].send(b"query").unwrap();
    until(&relay, |counts| counts.to_server.datagrams.no_socket == 1);
    server.send_to(b"answer", from[0]).unwrap();
    clients[0].recv(&mut buffer).unwrap();
    clients[3].send(b"query").unwrap();
    server.recv_from(&mut buffer).unwrap();
    let counts = relay.stop();
    assert_eq!((counts.clients.opened, counts.clients.most, counts.clients.closed_early), (3, 2, 1));
    assert!(counts.warnings().iter().any(|said| said.contains("--max-clients")), "{:?}", counts.warnings());
}

#[test]
fn losses_are_those_of_the_seed_and_every_datagram_has_one_end() {
    let arrived = |seed| {
        let server = socket("127.0.0.1:0");
        let path = Path { seed, ..path("loss=20% duplicate=10% delay=1ms", "") };
        let relay = relay(server.local_addr().unwrap(), path);
        let client = client(&relay);
        let (mut buffer, mut seen, mut all) = ([0; 64], vec![0u32; 2_000], 0);
        let mut take = |count: u64| {
            for _ in all..count {
                server.recv(&mut buffer).unwrap();
                seen[u32::from_be_bytes(buffer[..4].try_into().unwrap()) as usize] += 1;
            }
            all = all.max(count);
        };
        for n in 0..2_000u32 {
            client.send(&n.to_be_bytes()).unwrap();
            // Not more than the sockets hold.
            if n % 100 == 99 {
                until(&relay, |counts| counts.to_server.datagrams.ended() == u64::from(n) + 1);
                let datagrams = relay.counts().to_server.datagrams;
                take(datagrams.passed + datagrams.duplicated);
            }
        }
        let counts = relay.stop();
        let datagrams = counts.to_server.datagrams;
        assert_eq!((datagrams.received, datagrams.ended(), counts.kernel_drops), (2_000, 2_000, 0));
        take(datagrams.passed + datagrams.duplicated);
        let count = |times| seen.iter().filter(|seen| **seen == times).count() as u64;
        assert_eq!((count(0), count(2)), (datagrams.lost, datagrams.duplicated));
        // Four standard deviations.
        assert!((328..472).contains(&count(0)) && (110..210).contains(&count(2)), "{datagrams:?}");
        seen
    };
    let first = arrived(1);
    assert_eq!(arrived(1), first);
    assert_ne!(arrived(2), first);
}

#[test]
fn a_server_that_is_away_is_counted_and_the_relay_lives_on() {
    let away = socket("127.0.0.1:0").local_addr().unwrap();
    let relay = relay(away, path("", ""));
    let client = client(&relay);
    for n in 1..=3 {
        client.send(b"query").unwrap();
        until(&relay, |counts| counts.to_server.datagrams.refused >= n);
    }
    let server = UdpSocket::bind(away).unwrap();
    server.set_read_timeout(Some(BOUND)).unwrap();
    client.send(b"back").unwrap();
    let mut buffer = [0; 64];
    assert_eq!(server.recv(&mut buffer).unwrap(), 4);
    assert_eq!(relay.stop().to_server.datagrams.send_errors, 0);
}

#[test]
fn what_the_memory_does_not_hold_is_dropped_counted_and_said() {
    let server = socket("127.0.0.1:0");
    let path = path("delay=10min", "");
    let to = RelayOptions::to(server.local_addr().unwrap());
    let relay = Relay::start(RelayOptions { path, memory_octets: 4 << 20, ..to }).unwrap();
    let client = client(&relay);
    // 4 MiB are 64 of the longest datagrams.
    for n in 1..=70 {
        client.send(&[0; 60_000]).unwrap();
        until(&relay, |counts| counts.to_server.datagrams.received == n);
    }
    let counts = relay.stop();
    assert_eq!((counts.to_server.datagrams.over_bound, counts.to_server.datagrams.held_at_stop), (6, 64));
    assert!(counts.warnings()[0].contains("--memory"), "{:?}", counts.warnings());
}

#[test]
fn a_stream_arrives_whole_and_in_order_and_not_before_its_delay_and_the_handshake() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    // Loss and reordering do not concern it.
    let words = "delay=uniform:1ms..20ms loss=50% reorder=50% duplicate=50%";
    let relay = relay(listener.local_addr().unwrap(), path(words, "delay=30ms"));
    let octets: Vec<u8> = (0..3_000_000u32).map(|n| (n * 7 / 3) as u8).collect();
    let start = Instant::now();
    let mut client = TcpStream::connect(relay.address()).unwrap();
    let (mut server, _) = listener.accept().unwrap();
    for stream in [&client, &server] {
        stream.set_read_timeout(Some(BOUND)).unwrap();
    }
    let sent = octets.clone();
    let sender = std::thread::spawn(move || {
        client.write_all(&sent).unwrap();
        client.shutdown(Shutdown::Write).unwrap();
        let mut back = Vec::new();
        client.read_to_end(&mut back).unwrap();
        back
    });
    let mut first = [0; 1];
    server.read_exact(&mut first).unwrap();
    // The handshake: there and back; then the octets.
    assert!(start.elapsed() >= Duration::from_millis(1 + 30 + 1), "{:?}", start.elapsed());
    let mut got = first.to_vec();
    server.read_to_end(&mut got).unwrap();
    assert!(got == octets, "{} octets of {}", got.len(), octets.len());
    let answered = Instant::now();
    server.write_all(b"answer").unwrap();
    drop(server);
    assert_eq!(sender.join().unwrap(), b"answer");
    assert!(answered.elapsed() >= Duration::from_millis(30));
    until(&relay, |counts| counts.connections.closed == 1);
    let counts = relay.stop();
    assert_eq!((counts.to_server.stream_octets, counts.to_client.stream_octets), (3_000_000, 6));
    assert_eq!((counts.connections.accepted, counts.connections.ended()), (1, 1));
}

#[test]
fn a_receiver_that_does_not_read_holds_its_sender_up_and_loses_nothing() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let relay = relay(listener.local_addr().unwrap(), path("delay=1ms", ""));
    let mut client = TcpStream::connect(relay.address()).unwrap();
    let (mut server, _) = listener.accept().unwrap();
    server.set_read_timeout(Some(BOUND)).unwrap();
    client.set_nonblocking(true).unwrap();
    let (mut sent, mut last) = (0u64, Instant::now());
    // Until nothing has been accepted for a while.
    while last.elapsed() < Duration::from_millis(500) {
        match client.write(&[b'x'; 65_536]) {
            Ok(count) => (sent, last) = (sent + count as u64, Instant::now()),
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                std::thread::sleep(Duration::from_millis(5))
            }
            Err(error) => panic!("{error}"),
        }
        assert!(sent < 200 << 20, "its memory has no bound");
    }
    drop(client);
    let mut got = Vec::new();
    server.read_to_end(&mut got).unwrap();
    assert_eq!(got.len() as u64, sent);
}

#[test]
fn a_rate_holds_for_streams_too() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let relay = relay(listener.local_addr().unwrap(), path("rate=8mbit queue=20ms", ""));
    let mut client = TcpStream::connect(relay.address()).unwrap();
    let (mut server, _) = listener.accept().unwrap();
    server.set_read_timeout(Some(BOUND)).unwrap();
    let start = Instant::now();
    let sender = std::thread::spawn(move || client.write_all(&[1; 500_000]).unwrap());
    let mut got = Vec::new();
    server.read_to_end(&mut got).unwrap();
    sender.join().unwrap();
    // 500,000 octets at a million a second; the last of them do not wait for their end.
    assert_eq!(got.len(), 500_000);
    assert!(start.elapsed() >= Duration::from_millis(450), "{:?}", start.elapsed());
}

#[test]
fn a_refused_connection_and_a_reset_are_passed_on() {
    let away = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let first = relay(away, path("", ""));
    let mut client = TcpStream::connect(first.address()).unwrap();
    client.set_read_timeout(Some(BOUND)).unwrap();
    assert_eq!(client.read(&mut [0; 8]).unwrap_err().kind(), ErrorKind::ConnectionReset);
    let connections = first.stop().connections;
    assert_eq!((connections.refused, connections.ended()), (1, 1));

    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let second = relay(listener.local_addr().unwrap(), path("delay=1ms", "delay=1ms"));
    let mut client = TcpStream::connect(second.address()).unwrap();
    client.set_read_timeout(Some(BOUND)).unwrap();
    client.write_all(b"query").unwrap();
    let (mut server, _) = listener.accept().unwrap();
    server.read_exact(&mut [0; 5]).unwrap();
    socket2::SockRef::from(&server).set_linger(Some(Duration::ZERO)).unwrap();
    drop(server);
    assert_eq!(client.read(&mut [0; 8]).unwrap_err().kind(), ErrorKind::ConnectionReset);
    let connections = second.stop().connections;
    assert_eq!((connections.reset, connections.ended()), (1, 1));
}

#[test]
fn more_connections_than_allowed_are_closed_and_counted() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let to = RelayOptions::to(listener.local_addr().unwrap());
    let relay = Relay::start(RelayOptions { connections_max: 1, ..to }).unwrap();
    let mut first = TcpStream::connect(relay.address()).unwrap();
    first.write_all(b"x").unwrap();
    let (mut server, _) = listener.accept().unwrap();
    server.read_exact(&mut [0; 1]).unwrap();
    let mut second = TcpStream::connect(relay.address()).unwrap();
    second.set_read_timeout(Some(BOUND)).unwrap();
    assert_eq!(second.read(&mut [0; 8]).unwrap_or(0), 0);
    let connections = relay.stop().connections;
    assert_eq!((connections.turned_away, connections.open_at_stop, connections.ended()), (1, 1, 2));
}

/// Even a busy host is faster.
const BOUND: Duration = Duration::from_secs(30);

//! AF_XDP on a real cable: a pair of veth interfaces between two network namespaces.

use std::io::{BufRead, BufReader, ErrorKind, Read};
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::os::fd::AsRawFd;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use dnsdyno_lab::{Namespace, Need, VethPair, require};
use dnsdyno_sys::interface::{Interface, LinkState};
use dnsdyno_sys::netlink::netdev::Netdev;
use dnsdyno_sys::poll::Poller;
use dnsdyno_sys::udp::Messages;
use dnsdyno_sys::xdp::{
    Attach, Attached, CopyMode, Filter, Pass, Redirect, Reflect, Socket, SocketConfig, XdpError,
};

const SERVER_PORT: u16 = 53;
const PORTS: (u16, u16) = (20_000, 20_999);

fn interface(end: &Namespace) -> Interface {
    end.enter(|| Interface::named(end.interface).unwrap()).unwrap()
}

fn filter(pair: &VethPair) -> Filter {
    Filter::new((pair.far().ipv4.into(), SERVER_PORT), (pair.near().ipv4.into(), 32), PORTS).unwrap()
}

fn socket_config(queue: u32) -> SocketConfig {
    SocketConfig { queue, copy: CopyMode::Auto, rx_frames: 256, tx_frames: 256, frame_size: 2048 }
}

/// A redirecting program and its socket on the near end.
fn listen(pair: &VethPair, attach: Attach, filter: &Filter) -> (Redirect, Socket) {
    let listen = || {
        let near = Interface::named("near").unwrap();
        let mut redirect = Redirect::attach(&near, attach, filter, (1, 0)).unwrap();
        let socket = Socket::bind(&near, redirect.attached(), &socket_config(0)).unwrap();
        redirect.give(&socket).unwrap();
        (redirect, socket)
    };
    pair.near().enter(listen).unwrap()
}

/// A reflecting program on one end.
fn reflect(end: &Namespace, attach: Attach, port: u16) -> Reflect {
    let reflect = || Reflect::attach(&Interface::named(end.interface).unwrap(), attach, port).unwrap();
    end.enter(reflect).unwrap()
}

/// Binds a socket to the near end.
fn bind_xdp(pair: &VethPair, config: &SocketConfig) -> Result<Socket, XdpError> {
    let bind = || Socket::bind(&Interface::named("near").unwrap(), Attached::Native, config);
    pair.near().enter(bind).unwrap()
}

fn bind(end: &Namespace, ip: IpAddr, port: u16) -> UdpSocket {
    let socket = end.enter(|| UdpSocket::bind((ip, port)).unwrap()).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    socket
}

/// The next packet that the AF_XDP socket gets.
fn receive(socket: &mut Socket) -> Vec<u8> {
    let mut poller = Poller::new(1).unwrap();
    poller.add(socket, 0).unwrap();
    let end = Instant::now() + Duration::from_secs(5);
    while socket.arrived(1) == 0 {
        assert!(Instant::now() < end, "no packet came");
        poller.wait(Some(100_000_000)).unwrap().count();
    }
    let mut packet = Vec::new();
    socket.receive(1, |bytes| packet = bytes.to_vec());
    packet
}

fn has_program(end: &Namespace) -> bool {
    end.ip(&["link", "show", end.interface]).unwrap().contains("xdp")
}

/// An Ethernet frame with an IPv4 UDP packet without checksum.
fn frame(to: [u8; 6], from: [u8; 6], source: SocketAddr, target: SocketAddr, payload: &[u8]) -> Vec<u8> {
    let (IpAddr::V4(source_ip), IpAddr::V4(target_ip)) = (source.ip(), target.ip()) else { unreachable!() };
    let udp_length = (8 + payload.len()) as u16;
    let mut ip = [&[0x45, 0][..], &(20 + udp_length).to_be_bytes(), &[0, 0, 0x40, 0, 64, 17, 0, 0]].concat();
    ip.extend([source_ip.octets(), target_ip.octets()].concat());
    let sum: u32 = ip.chunks(2).map(|word| u32::from(u16::from_be_bytes([word[0], word[1]]))).sum();
    let checksum = !((sum & 0xFFFF) + (sum >> 16)) as u16;
    ip[10..12].copy_from_slice(&checksum.to_be_bytes());
    let udp = [source.port(), target.port(), udp_length, 0].map(u16::to_be_bytes).concat();
    [&to[..], &from, &[8, 0], &ip, &udp, payload].concat()
}

#[test]
fn responses_reach_the_socket_and_everything_else_the_host() {
    if !require(&[Need::Root]) {
        return;
    }
    for attach in [Attach::Native, Attach::Generic] {
        let pair = VethPair::new(1).unwrap();
        let (redirect, mut socket) = listen(&pair, attach, &filter(&pair));
        let expected = if attach == Attach::Generic { Attached::Generic } else { Attached::Native };
        assert_eq!(redirect.attached(), expected);
        let server = bind(pair.far(), pair.far().ipv4.into(), SERVER_PORT);
        let other = bind(pair.far(), pair.far().ipv4.into(), SERVER_PORT + 1);
        let ours = bind(pair.near(), pair.near().ipv4.into(), PORTS.0);
        let outside = bind(pair.near(), pair.near().ipv4.into(), PORTS.1 + 1);
        let mut buffer = [0; 64];
        // Another port of the server, a port of ours that is not in the range: the host's.
        other.send_to(b"from another port", ours.local_addr().unwrap()).unwrap();
        assert_eq!(ours.recv_from(&mut buffer).unwrap(), (17, other.local_addr().unwrap()));
        server.send_to(b"to another port", outside.local_addr().unwrap()).unwrap();
        assert_eq!(outside.recv_from(&mut buffer).unwrap(), (15, server.local_addr().unwrap()));
        assert_eq!(socket.arrived(64), 0);
        // The first and the last port of the range: ours, and not the host's.
        for port in [PORTS.0, PORTS.1] {
            server.send_to(b"an answer", (pair.near().ipv4, port)).unwrap();
            let packet = receive(&mut socket);
            assert!(packet.ends_with(b"an answer"), "{packet:?}");
            assert_eq!(packet[34..38], [[0, 53], port.to_be_bytes()].concat());
        }
        ours.set_nonblocking(true).unwrap();
        assert_eq!(ours.recv_from(&mut buffer).unwrap_err().kind(), ErrorKind::WouldBlock);
    }
}

#[test]
fn fragments_of_responses_are_counted_and_left_to_the_host() {
    if !require(&[Need::Root]) {
        return;
    }
    let pair = VethPair::new(1).unwrap();
    for ipv6 in [false, true] {
        let ip = |end: &Namespace| if ipv6 { IpAddr::from(end.ipv6) } else { end.ipv4.into() };
        let server = (ip(pair.far()), SERVER_PORT);
        let filter = Filter::new(server, (ip(pair.near()), if ipv6 { 128 } else { 32 }), PORTS).unwrap();
        let (redirect, _socket) = listen(&pair, Attach::Native, &filter);
        let server = bind(pair.far(), server.0, SERVER_PORT);
        let ours = bind(pair.near(), ip(pair.near()), PORTS.0);
        server.send_to(&[7; 4_000], ours.local_addr().unwrap()).unwrap();
        let mut buffer = [0; 5_000];
        assert_eq!(ours.recv_from(&mut buffer).unwrap().0, 4_000, "the host puts it together");
        assert_eq!(redirect.fragments(), 3);
    }
}

#[test]
fn packets_go_out_and_come_back_by_the_reflector() {
    if !require(&[Need::Root]) {
        return;
    }
    for attach in [Attach::Native, Attach::Generic] {
        let pair = VethPair::new(1).unwrap();
        let (near, far) = (interface(pair.near()), interface(pair.far()));
        let _reflect = reflect(pair.far(), attach, SERVER_PORT);
        let (_redirect, mut socket) = listen(&pair, attach, &filter(&pair));
        let source = SocketAddr::new(pair.near().ipv4.into(), PORTS.0 + 7);
        let target = SocketAddr::new(pair.far().ipv4.into(), SERVER_PORT);
        let query = frame(far.mac().unwrap(), near.mac().unwrap(), source, target, &[1; 12]);
        // More packets than there are frames: each must be used again.
        for _ in 0..2_000 {
            let written = socket.write(|frame| {
                frame[..query.len()].copy_from_slice(&query);
                query.len()
            });
            assert!(written);
            let flushed = socket.flush();
            assert!(flushed.accepted == 1 && flushed.error.is_none(), "{flushed:?}");
            let answer = receive(&mut socket);
            assert_eq!(answer.len(), query.len());
            assert_eq!(answer[6..12], far.mac().unwrap());
            assert_eq!(answer[44], query[44] | 0x80, "QR is set");
        }
        assert_eq!(socket.statistics().unwrap(), Default::default());
    }
}

#[test]
fn packets_not_accepted_while_the_interface_was_down_are_never_sent() {
    if !require(&[Need::Root]) {
        return;
    }
    let pair = VethPair::new(1).unwrap();
    let (near, far) = (interface(pair.near()), interface(pair.far()));
    let (_redirect, mut socket) = listen(&pair, Attach::Native, &filter(&pair));
    let server = bind(pair.far(), pair.far().ipv4.into(), SERVER_PORT);
    let source = SocketAddr::new(pair.near().ipv4.into(), PORTS.0);
    let send = |socket: &mut Socket, texts: &[&[u8]]| {
        for text in texts {
            let query =
                frame(far.mac().unwrap(), near.mac().unwrap(), source, server.local_addr().unwrap(), text);
            assert!(socket.write(|frame| {
                frame[..query.len()].copy_from_slice(&query);
                query.len()
            }));
        }
        socket.flush()
    };
    pair.near().ip(&["link", "set", "near", "down"]).unwrap();
    assert_eq!(near.link_state(), LinkState::Down);
    for _ in 0..300 {
        let flushed = send(&mut socket, &[b"lost one", b"lost two"]);
        assert_eq!(flushed.accepted, 0);
        assert_eq!(flushed.error.unwrap().raw_os_error(), Some(libc::ENETDOWN));
    }
    pair.near().ip(&["link", "set", "near", "up"]).unwrap();
    let end = Instant::now() + Duration::from_secs(5);
    while near.link_state() != LinkState::Up {
        assert!(Instant::now() < end, "the link does not come up");
    }
    let mut buffer = [0; 64];
    for _ in 0..300 {
        let flushed = send(&mut socket, &[b"kept one", b"kept two"]);
        assert!(flushed.accepted == 2 && flushed.error.is_none(), "{flushed:?}");
        for expected in [b"kept one", b"kept two"] {
            let length = server.recv(&mut buffer).unwrap();
            assert_eq!(&buffer[..length], expected);
        }
    }
}

#[test]
fn a_dropped_packet_is_not_counted_as_accepted() {
    if !require(&[Need::Root]) {
        return;
    }
    let pair = VethPair::new(1).unwrap();
    let (near, far) = (interface(pair.near()), interface(pair.far()));
    let (_redirect, mut socket) = listen(&pair, Attach::Native, &filter(&pair));
    // Without its other end a veth drops every packet.
    pair.far().ip(&["link", "set", "far", "down"]).unwrap();
    let ends = [(pair.near().ipv4, PORTS.0), (pair.far().ipv4, SERVER_PORT)].map(SocketAddr::from);
    let query = frame(far.mac().unwrap(), near.mac().unwrap(), ends[0], ends[1], b"dropped");
    for _ in 0..300 {
        for _ in 0..3 {
            assert!(socket.write(|frame| {
                frame[..query.len()].copy_from_slice(&query);
                query.len()
            }));
        }
        let flushed = socket.flush();
        assert_eq!(flushed.accepted, 0);
        assert!(flushed.error.is_some());
    }
    assert_eq!(near.link_state(), LinkState::NoCarrier);
}

#[test]
fn the_program_is_gone_with_its_value() {
    if !require(&[Need::Root]) {
        return;
    }
    let pair = VethPair::new(1).unwrap();
    let (redirect, socket) = listen(&pair, Attach::Auto, &filter(&pair));
    assert!(has_program(pair.near()));
    drop((redirect, socket));
    assert!(!has_program(pair.near()));
    // And the queue is free again.
    listen(&pair, Attach::Auto, &filter(&pair));
}

#[test]
fn a_child_that_holds_copies_of_our_descriptors_does_not_keep_the_program() {
    if !require(&[Need::Root]) {
        return;
    }
    let pair = VethPair::new(1).unwrap();
    let (redirect, socket) = listen(&pair, Attach::Auto, &filter(&pair));
    // Another thread starts a program: its child waits between `fork` and `exec` until the pipe is closed.
    let (forked, tell_forked) = std::io::pipe().unwrap();
    let (wait, release) = std::io::pipe().unwrap();
    let release_of_child = release.as_raw_fd();
    let starter = std::thread::spawn(move || {
        let mut command = Command::new("true");
        // SAFETY: the closure calls `close`, `write` and `read` only, which are safe between `fork` and `exec`.
        unsafe {
            command.pre_exec(move || {
                let mut byte = [1];
                libc::close(release_of_child);
                libc::write(tell_forked.as_raw_fd(), byte.as_ptr().cast(), 1);
                libc::read(wait.as_raw_fd(), byte.as_mut_ptr().cast(), 1);
                Ok(())
            });
        }
        command.status()
    });
    (&forked).read_exact(&mut [0]).unwrap();
    drop((redirect, socket));
    assert!(!has_program(pair.near()), "the program of a dropped value is still attached");
    drop(release);
    assert!(starter.join().unwrap().unwrap().success());
}

#[test]
fn another_program_is_not_replaced_in_any_mode() {
    if !require(&[Need::Root]) {
        return;
    }
    for theirs in [Attach::Native, Attach::Generic] {
        let pair = VethPair::new(1).unwrap();
        let foreign = reflect(pair.near(), theirs, 5_353);
        let before = pair.near().ip(&["-details", "link", "show", "near"]).unwrap();
        for ours in [Attach::Auto, Attach::Native, Attach::Generic] {
            let attach =
                || Redirect::attach(&Interface::named("near").unwrap(), ours, &filter(&pair), (1, 0)).err();
            let refused = pair.near().enter(attach).unwrap();
            assert!(
                matches!(refused, Some(XdpError::OtherProgram { .. })),
                "{theirs:?} {ours:?} {refused:?}"
            );
        }
        assert_eq!(pair.near().ip(&["-details", "link", "show", "near"]).unwrap(), before);
        drop(foreign);
    }
}

#[test]
fn a_second_socket_on_a_queue_and_a_queue_that_is_not_there_are_refused_by_name() {
    if !require(&[Need::Root]) {
        return;
    }
    let pair = VethPair::new(1).unwrap();
    let _held = listen(&pair, Attach::Auto, &filter(&pair));
    let second = bind_xdp(&pair, &socket_config(0)).err();
    assert!(matches!(second, Some(XdpError::QueueTaken { queue: 0, .. })), "{second:?}");
    let beyond = bind_xdp(&pair, &socket_config(7)).err();
    assert!(matches!(beyond, Some(XdpError::NoQueue { queue: 7, .. })), "{beyond:?}");
}

#[test]
fn zero_copy_without_driver_support_is_refused() {
    if !require(&[Need::Root]) {
        return;
    }
    let pair = VethPair::new(1).unwrap();
    let config = SocketConfig { copy: CopyMode::ZeroCopy, ..socket_config(0) };
    let refused = bind_xdp(&pair, &config).err();
    assert!(matches!(refused, Some(XdpError::NoZeroCopy { .. })), "{refused:?}");
}

#[test]
fn injected_frames_arrive_as_they_were_written_and_all_of_them() {
    if !require(&[Need::Root]) {
        return;
    }
    let pair = VethPair::new(1).unwrap();
    let (source, target) = ((pair.near().ipv4, PORTS.0).into(), (pair.far().ipv4, SERVER_PORT).into());
    let (near, far) = (interface(pair.near()), interface(pair.far()));
    let (to, from) = (far.mac().unwrap(), near.mac().unwrap());
    let server = bind(pair.far(), pair.far().ipv4.into(), SERVER_PORT);
    let inject = || {
        let Ok(mut netdev) = Netdev::open() else {
            return println!("skipped: this kernel does not say what a driver can do (Linux 6.3)");
        };
        assert!(!netdev.sends_frames(near.index()).unwrap(), "the far end has neither a program nor GRO");
        let pass = pair.far().enter(|| Pass::attach(&far, Attach::Native).unwrap()).unwrap();
        assert!(netdev.sends_frames(near.index()).unwrap());
        let mut redirect = Redirect::attach(&near, Attach::Native, &filter(&pair), (1, 2)).unwrap();
        let mut injectors = [0, 1].map(|number| redirect.injector(number).expect("this kernel can inject"));
        assert!(redirect.injector(2).is_none(), "there is room for two");
        let lay = |payload: &[u8], room: &mut [u8]| {
            let bytes = frame(to, from, source, target, payload);
            let Some(place) = room.get_mut(..bytes.len()) else { return 0 };
            place.copy_from_slice(&bytes);
            bytes.len()
        };
        // As many as a socket can hold, of lengths that differ from frame to frame, one injector after the other.
        let mut buffer = [0; 2_048];
        for round in 0..40 {
            let sent: Vec<Vec<u8>> =
                (0..50).map(|i| vec![(round * 50 + i) as u8; 1 + (round * 211 + i * 37) % 1_400]).collect();
            let ends = sent.iter().scan(0, |end, payload| {
                *end += payload.len() as u32;
                Some(*end)
            });
            let (bytes, ends) = (sent.concat(), ends.collect::<Vec<u32>>());
            let outcome = injectors[round % 2].inject(Messages::new(&bytes, &ends), lay);
            assert!(outcome.error.is_none() && outcome.accepted == 50, "{outcome:?}");
            for payload in &sent {
                let (length, sender) = server.recv_from(&mut buffer).unwrap();
                assert_eq!((&buffer[..length], sender), (&payload[..], source));
            }
        }
        // More than a call can hold, counted by the other end.
        let before = packets(pair.far());
        let (bytes, ends) = (vec![7; 300_000], (1..=3_000).map(|i| i * 100).collect::<Vec<u32>>());
        assert_eq!(injectors[0].inject(Messages::new(&bytes, &ends), lay).accepted, 3_000);
        // The host may send packets of its own.
        let arrived = packets(pair.far()) - before;
        assert!((3_000..3_010).contains(&arrived), "{arrived} frames arrived of 3,000");
        // What does not fit is refused, and nothing else.
        let (bytes, ends) = (vec![7; 2_200], [100, 2_200]);
        let outcome =
            injectors[0].inject(Messages::new(&bytes, &ends), |payload, room| match payload.len() {
                100 => lay(payload, room),
                _ => 0,
            });
        assert_eq!(outcome.accepted, 1);
        assert_eq!(outcome.error.and_then(|error| error.raw_os_error()), Some(libc::EMSGSIZE));
        drop(pass);
    };
    pair.near().enter(inject).unwrap();
}

/// Packets that this end has received.
fn packets(end: &Namespace) -> u64 {
    let path = format!("/sys/class/net/{}/statistics/rx_packets", end.interface);
    // The folder shows the namespace of the reader's mount: `ip netns exec` makes one.
    let out = Command::new("ip").args(["netns", "exec", end.name(), "cat", &path]).output().unwrap();
    String::from_utf8(out.stdout).unwrap().trim().parse().unwrap()
}

/// Not a test of its own: the process that the next test kills. It attaches a program in the
/// namespace that it was started in, and waits for its end.
#[test]
#[ignore = "started by another test"]
fn holds_a_program_until_it_is_killed() {
    let near = Interface::named("near").unwrap();
    let filter =
        Filter::new(([10, 77, 0, 2].into(), SERVER_PORT), ([10, 77, 0, 1].into(), 32), PORTS).unwrap();
    let mut redirect = Redirect::attach(&near, Attach::Auto, &filter, (1, 0)).unwrap();
    let socket = Socket::bind(&near, redirect.attached(), &socket_config(0)).unwrap();
    redirect.give(&socket).unwrap();
    println!("\nattached");
    loop {
        std::thread::park();
    }
}

#[test]
fn the_program_is_gone_after_kill_9_and_nothing_is_pinned() {
    if !require(&[Need::Root]) {
        return;
    }
    let pair = VethPair::new(1).unwrap();
    let mut child = Command::new("ip")
        .args(["netns", "exec", pair.near().name()])
        .arg(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "--nocapture", "holds_a_program_until_it_is_killed"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let attached = lines.any(|line| line.is_ok_and(|line| line == "attached"));
    assert!(attached, "the child has attached no program: {:?}", child.wait());
    assert!(has_program(pair.near()));
    // `ip netns exec` has become the child, so this is the process with the program.
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(!has_program(pair.near()));
    let pinned = std::fs::read_dir("/sys/fs/bpf").map_or(0, |entries| {
        entries.filter(|entry| entry.as_ref().is_ok_and(|e| e.file_name() != "..")).count()
    });
    assert_eq!(pinned, 0);
}

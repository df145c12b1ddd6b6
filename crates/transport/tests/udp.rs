//! The UDP transport against a socket of the test on loopback.

use std::net::{SocketAddr, UdpSocket};
use std::time::Duration;

use dnsdyno_sys::clock;
use dnsdyno_transport::udp::{UdpConfig, UdpTransport};
use dnsdyno_transport::{Batch, Departure, Sink, Transport, Wake};

/// Records the time of each packet.
#[derive(Default)]
struct Arrivals(Vec<u64>);

impl Sink for Arrivals {
    fn packet(&mut self, _: usize, at_ns: u64, _: &[u8]) {
        self.0.push(at_ns);
    }

    fn refused(&mut self, _: usize, _: u64, _: &[u8]) {}
}

/// Records what is told of messages sent.
#[derive(Default)]
struct Told {
    received_ns: Vec<u64>,
    refused: Vec<Vec<u8>>,
    departed: Vec<Option<u64>>,
    marks: Vec<u64>,
}

impl Sink for Told {
    fn packet(&mut self, _: usize, at_ns: u64, _: &[u8]) {
        self.received_ns.push(at_ns);
    }

    fn refused(&mut self, _: usize, _: u64, quoted: &[u8]) {
        self.refused.push(quoted.to_vec());
    }

    fn departed(&mut self, departure: Departure) {
        self.departed.push(departure.after_ns);
        self.marks.extend(departure.mark);
    }
}

fn open(server: SocketAddr, send_only: bool) -> UdpTransport {
    let config = UdpConfig {
        server,
        local_address: None,
        receive_buffer: 1 << 20,
        send_buffer: 1 << 20,
        send_only,
        any_source: false,
    };
    let mut transport = UdpTransport::open(&config, &[0]).unwrap();
    transport.begin(clock::monotonic_ns());
    transport
}

/// `messages` messages of 33 bytes, the first bytes of which are `first` and the number of the message.
fn batch_of(messages: u8, first: u8) -> Batch {
    let mut batch = Batch::new(64, 64);
    (0..messages).for_each(|number| batch.push(&[9; 33])[..2].copy_from_slice(&[first, number]));
    batch
}

#[test]
fn the_stamp_of_a_message_is_after_it_was_sent_and_before_its_response() {
    let server = UdpSocket::bind("127.0.0.1:0").unwrap();
    server.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    let mut transport = open(server.local_addr().unwrap(), false);
    let (batch, mut query, mut told) = (batch_of(1, 0), [0; 64], Told::default());
    // Stamps are 5 ms apart: each of these messages has one.
    transport.wait(11_000_000, Wake { on_arrival: false, exactly: false });
    for round in 1..=20 {
        let sent_ns = transport.now_ns();
        assert_eq!(transport.send(0, &batch).accepted, 1);
        let (length, client) = server.recv_from(&mut query).unwrap();
        server.send_to(&query[..length], client).unwrap();
        transport.wait(sent_ns + 11_000_000, Wake { on_arrival: false, exactly: false });
        transport.receive(&mut told);
        assert_eq!(told.received_ns.len(), round, "a stamp is no packet");
        let service_ns = told.received_ns[round - 1] - sent_ns;
        let departed_ns = told.departed.get(round - 1).copied().flatten();
        // The clocks are read one after the other.
        assert!(departed_ns.is_some_and(|ns| ns < service_ns + 2_000), "{:?}, {service_ns}", told.departed);
    }
    assert!(told.departed.iter().flatten().any(|ns| *ns > 0), "{:?}", told.departed);
    assert_eq!((told.departed.len(), told.refused.len()), (20, 0));
}

#[test]
fn a_stamp_ends_no_wait_once_it_was_read() {
    let server = UdpSocket::bind("127.0.0.1:0").unwrap();
    let mut transport = open(server.local_addr().unwrap(), false);
    let mut told = Told::default();
    transport.send(0, &batch_of(8, 0));
    transport.receive(&mut told);
    assert_eq!(told.departed.len(), 1, "one of a batch");
    let until_ns = transport.now_ns() + 3_000_000;
    transport.wait(until_ns, Wake { on_arrival: true, exactly: true });
    assert!(transport.now_ns() >= until_ns);
}

#[test]
fn each_refusal_is_told_beside_the_stamps() {
    let closed = UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let mut transport = open(closed, false);
    let mut told = Told::default();
    for first in 0..50 {
        assert_eq!(transport.send(0, &batch_of(1, first)).accepted, 1);
        let until_ns = transport.now_ns() + 6_000_000;
        while told.refused.len() <= usize::from(first) && transport.now_ns() < until_ns + 5_000_000_000 {
            transport.receive(&mut told);
        }
        transport.wait(until_ns, Wake { on_arrival: false, exactly: false });
    }
    let first_bytes: Vec<_> = told.refused.iter().map(|quoted| quoted[0]).collect();
    assert_eq!(first_bytes, (0..50).collect::<Vec<_>>(), "each once, and in order");
    assert!(told.departed.iter().flatten().count() >= 20, "{:?}", told.departed);
}

#[test]
fn a_marked_message_is_the_one_that_is_stamped_unless_another_stamp_is_awaited() {
    let server = UdpSocket::bind("127.0.0.1:0").unwrap();
    let mut transport = open(server.local_addr().unwrap(), false);
    let (mut batch, mut told) = (batch_of(8, 0), Told::default());
    // Marked again and again, so far apart that each stamp has come before the next mark.
    for mark in 1..=10 {
        batch.mark(5, mark);
        assert_eq!(transport.send(0, &batch).accepted, 8);
        let until_ns = transport.now_ns() + 1_000_000_000;
        while told.marks.last() != Some(&mark) && transport.now_ns() < until_ns {
            transport.receive(&mut told);
        }
    }
    assert_eq!(told.marks, (1..=10).collect::<Vec<_>>());
    batch.mark(0, 11);
    transport.send(0, &batch);
    batch.mark(0, 12);
    transport.send(0, &batch);
    transport.receive(&mut told);
    assert_eq!(told.marks.last(), Some(&11), "the later one is not stamped");
}

#[test]
fn a_run_that_only_sends_has_no_stamps() {
    let server = UdpSocket::bind("127.0.0.1:0").unwrap();
    let (mut transport, mut told) = (open(server.local_addr().unwrap(), true), Told::default());
    transport.send(0, &batch_of(8, 0));
    transport.receive(&mut told);
    assert_eq!(told.departed, []);
}

#[test]
fn a_packet_that_is_read_late_has_its_arrival_time() {
    let server = UdpSocket::bind("127.0.0.1:0").unwrap();
    server.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    let mut transport = open(server.local_addr().unwrap(), false);
    let (mut batch, mut query, mut late_ns) = (Batch::new(4, 64), [0; 64], u64::MAX);
    batch.push(&[7; 33]);
    // A busy host may delay this test once, but not ten times.
    for _ in 0..10 {
        let mut received = Arrivals::default();
        assert_eq!(transport.send(0, &batch).accepted, 1);
        let (length, client) = server.recv_from(&mut query).unwrap();
        let before_ns = transport.now_ns();
        server.send_to(&query[..length], client).unwrap();
        let after_ns = transport.now_ns();
        // The response has arrived, but is not read for 20 ms.
        transport.wait(after_ns + 20_000_000, Wake { on_arrival: false, exactly: true });
        assert!(transport.now_ns() >= after_ns + 20_000_000);
        transport.receive(&mut received);
        assert_eq!(received.0.len(), 1);
        // Within the call that sent it, except for the time to read two clocks.
        assert!(received.0[0] + 2_000_000 > before_ns, "before it was sent");
        late_ns = late_ns.min(received.0[0].saturating_sub(after_ns));
    }
    assert!(late_ns < 1_000_000, "the best of ten has a time {late_ns} ns late");
}

#[test]
fn an_arrival_ends_a_wait_for_arrivals() {
    let server = UdpSocket::bind("127.0.0.1:0").unwrap();
    let mut transport = open(server.local_addr().unwrap(), false);
    let mut batch = Batch::new(4, 64);
    batch.push(&[7; 33]);
    transport.send(0, &batch);
    let (_, client) = server.recv_from(&mut [0; 64]).unwrap();
    server.send_to(&[7; 33], client).unwrap();
    let start_ns = transport.now_ns();
    transport.wait(start_ns + 60_000_000_000, Wake::ON_ARRIVAL);
    assert!(transport.now_ns() < start_ns + 60_000_000_000);
    // The response was not read: it ends the next wait too, also one that may poll for its end.
    transport.wait(start_ns + 60_000_000_000, Wake { on_arrival: true, exactly: true });
    assert!(transport.now_ns() < start_ns + 60_000_000_000);
    transport.receive(&mut Arrivals::default());
    let until_ns = transport.now_ns() + 3_000_000;
    transport.wait(until_ns, Wake { on_arrival: true, exactly: true });
    assert!(transport.now_ns() >= until_ns, "nothing arrives, and it does not end early");
}

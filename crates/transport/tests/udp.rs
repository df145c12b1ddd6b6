//! The UDP transport against a socket of the test on loopback.

use std::net::UdpSocket;
use std::time::Duration;

use dnsdyno_sys::clock;
use dnsdyno_transport::udp::{UdpConfig, UdpTransport};
use dnsdyno_transport::{Batch, Sink, Transport, Wake};

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
    let server = UdpSocket::bind("127.0.0.1:0").unwrap();
    server.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    let config = UdpConfig {
        server: server.local_addr().unwrap(),
        local_address: None,
        receive_buffer: 1 << 20,
        send_only: false,
    };
    let mut transport = UdpTransport::open(&config, &[0]).unwrap();
    transport.begin(clock::monotonic_ns());
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
    let config = UdpConfig {
        server: server.local_addr().unwrap(),
        local_address: None,
        receive_buffer: 1 << 20,
        send_only: false,
    };
    let mut transport = UdpTransport::open(&config, &[0]).unwrap();
    transport.begin(clock::monotonic_ns());
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

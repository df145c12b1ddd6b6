//! The engine with real sockets, against small servers of the test.

mod common;

use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use common::Silence;
use dnsdyno_engine::{Control, Job, Source, run};
use dnsdyno_measure::verdict;
use dnsdyno_plan::schedule::{Constant, Load};
use dnsdyno_queries::{Queries, QueriesBuilder};
use dnsdyno_record::Sum;
use dnsdyno_sys::clock;
use dnsdyno_transport::udp::{UdpConfig, UdpTransport};
use dnsdyno_wire::QueryForm;

const SECOND_NS: u64 = 1_000_000_000;

fn queries() -> Queries {
    let mut builder = QueriesBuilder::new(QueryForm::default(), 0);
    builder.push(b"\x07example\x00", 1).unwrap();
    builder.push(b"\x03www\x07example\x00", 28).unwrap();
    builder.finish()
}

fn constant(rate_qps: f64, duration_ns: u64) -> Load {
    Load::Open { curve: Constant { rate_qps, duration_ns: Some(duration_ns) }.curve().unwrap(), window: None }
}

fn measure(server: SocketAddr, load: &Load, receive_buffer: usize) -> Sum {
    let queries = queries();
    let job = Job {
        source: Source::Whole(&queries),
        load,
        part: None,
        limit: None,
        end_ns: Some(SECOND_NS / 2),
        timeout_ns: SECOND_NS / 2,
        interval_ns: SECOND_NS / 5,
        send_only: false,
        cpus: &[],
        own_files: false,
        start_unix_ns: 0,
        query_logs: None,
        known_answers: None,
        trace: None,
        stop_limits: Default::default(),
        strips_edns: false,
    };
    let config = UdpConfig {
        server,
        local_address: None,
        receive_buffer,
        send_buffer: 1 << 20,
        send_only: false,
        any_source: false,
    };
    let transports = (0..2).map(|_| UdpTransport::open(&config, &[0, 0]).unwrap()).collect();
    let epoch_ns = clock::monotonic_ns() + 20_000_000;
    run(&job, transports, epoch_ns, &clock::wall_minus_monotonic_ns, &Control::default(), &mut Silence)
}

/// A server on its own thread, which ends with the test.
struct Server {
    address: SocketAddr,
    end: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    /// Collects `at_once` queries (or those received in 50 ms) and answers them together.
    fn answering(bind: &str, at_once: usize) -> Server {
        let socket = UdpSocket::bind(bind).unwrap();
        dnsdyno_sys::socket::set_receive_buffer(&socket, 4 << 20).unwrap();
        socket.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
        let (address, end) = (socket.local_addr().unwrap(), Arc::new(AtomicBool::new(false)));
        let ending = end.clone();
        let thread = std::thread::spawn(move || {
            let mut held = Vec::new();
            let mut buffer = [0; 600];
            while !ending.load(Ordering::Relaxed) {
                let received = socket.recv_from(&mut buffer);
                if let Ok((length, peer)) = received {
                    buffer[2] |= 0x80;
                    held.push((buffer[..length].to_vec(), peer));
                }
                if held.len() >= at_once || received.is_err() {
                    held.drain(..).for_each(|(response, peer)| drop(socket.send_to(&response, peer)));
                }
            }
        });
        Server { address, end, thread: Some(thread) }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.end.store(true, Ordering::Relaxed);
        self.thread.take().map(JoinHandle::join);
    }
}

#[test]
fn every_query_is_answered_over_both_families_and_in_both_loops() {
    for bind in ["127.0.0.1:0", "[::1]:0"] {
        let server = Server::answering(bind, 1);
        let sum = measure(server.address, &constant(4_000.0, SECOND_NS / 2), 4 << 20);
        assert_eq!((sum.tally.scheduled, sum.tally.ends.answered), (2_000, 2_000), "{:?}", sum.tally.ends);
        assert_eq!((sum.tally.types[0].answered, sum.tally.types[1].answered), (1_000, 1_000));
        let sum = measure(server.address, &Load::Closed { outstanding: 10 }, 4 << 20);
        assert_eq!(
            (sum.tally.ends.answered, sum.tally.ends.total()),
            (sum.tally.scheduled, sum.tally.scheduled)
        );
        assert!(sum.arrivals.in_flight_max <= 10 && sum.tally.scheduled > 100);
    }
}

#[test]
fn a_sample_of_the_sends_has_stamps_also_where_all_queries_are_refused() {
    let server = Server::answering("127.0.0.1:0", 1);
    let closed = UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    for (address, rate_qps) in [(server.address, 20_000.0), (closed, 100.0)] {
        let sum = measure(address, &constant(rate_qps, SECOND_NS / 2), 4 << 20);
        let stamps = sum.arrivals.send_stamps.unwrap();
        // 200 a second of each of two workers, and some more at the start.
        assert!((10..=300).contains(&stamps.taken()) && stamps.missing == 0, "{stamps:?}");
    }
}

#[test]
fn queries_to_a_closed_port_are_refused_and_do_not_time_out() {
    for bind in ["127.0.0.1:0", "[::1]:0"] {
        let closed = UdpSocket::bind(bind).unwrap().local_addr().unwrap();
        // At a low rate: the kernel limits the rate of ICMP errors.
        let sum = measure(closed, &constant(100.0, SECOND_NS / 2), 4 << 20);
        assert_eq!((sum.tally.ends.refused, sum.tally.ends.total()), (50, 50), "{:?}", sum.tally.ends);
        // And with several queries in one packet (GSO).
        let sum = measure(closed, &Load::Closed { outstanding: 100 }, 4 << 20);
        assert_eq!(sum.tally.ends.refused, sum.tally.scheduled, "{:?}", sum.tally.ends);
    }
}

#[test]
fn responses_that_do_not_fit_into_the_receive_buffer_count_as_socket_drops() {
    let server = Server::answering("127.0.0.1:0", 1_000);
    let sum = measure(server.address, &constant(20_000.0, SECOND_NS / 2), 2_048);
    let drops = sum.arrivals.socket_drops;
    assert!(drops > 0, "{:?}", sum.tally.ends);
    assert_eq!(drops, sum.tally.ends.timed_out, "every loss of this run is a drop at our own sockets");
    let warnings = verdict(&sum.tally, &sum.arrivals, &sum.evidence).doubts;
    assert!(warnings.iter().any(|warning| warning.name() == "socket_drops"), "{warnings:?}");
}

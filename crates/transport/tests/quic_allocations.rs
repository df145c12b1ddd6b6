//! What a query over a kept DoQ connection allocates: nothing of ours. `quinn-proto` keeps the state of each
//! stream and packet in memory of its own, which this test measures and bounds.

#[path = "../../sys/tests/allocations/mod.rs"]
mod allocations;

use std::time::{Duration, Instant};

use dnsdyno_responder::{Config, Responder, Transport as Served};
use dnsdyno_transport::quic::{QuicConfig, QuicTransport};
use dnsdyno_transport::tls::{Tls, TlsConfig, TlsTrust};
use dnsdyno_transport::{Batch, Sink, Transport, Wake};

#[global_allocator]
static ALLOCATOR: allocations::Counting = allocations::Counting;

#[derive(Default)]
struct Responses(u64);

impl Sink for Responses {
    fn packet(&mut self, _: usize, _: u64, _: &[u8]) {
        self.0 += 1;
    }

    fn refused(&mut self, _: usize, _: u64, _: &[u8]) {}
}

#[test]
fn a_query_over_a_kept_doq_connection_allocates_only_what_the_quic_library_does() {
    let config = Config { doq: vec!["127.0.0.1:0".parse().unwrap()], ..Config::default() };
    let responder = Responder::start(config).unwrap();
    let server = responder.addresses_of(Served::Doq)[0];
    let tls = TlsConfig {
        server,
        asked: "localhost".into(),
        server_name: None,
        trust: TlsTrust::Anything,
        tls12: false,
        tls13: true,
        resumption: true,
        early_data: false,
    };
    let config = QuicConfig {
        server,
        local_addresses: Vec::new(),
        receive_buffer: 1 << 20,
        queries_each: None,
        idle_timeout_ns: None,
        timeout_ns: 5_000_000_000,
        handshake_timeout_ns: 5_000_000_000,
        tls: Tls::new(&tls).unwrap(),
    };
    let mut transport = QuicTransport::open(&config, 1, 0).unwrap();
    transport.begin(0);
    let mut query = Vec::new();
    dnsdyno_wire::QueryForm::default().encode(b"\x03www\x07example\x00", 1, &mut query);
    let mut batch = Batch::new(BATCH, query.len());
    (0..BATCH).for_each(|_| drop(batch.push(&query)));
    let mut responses = Responses::default();
    let mut run = |queries: u64| {
        let before = allocations::count();
        let end = responses.0 + queries;
        let patience = Instant::now() + Duration::from_secs(30);
        while responses.0 < end {
            assert_eq!(transport.send(0, &batch).accepted, BATCH);
            let due = responses.0 + BATCH as u64;
            while responses.0 < due {
                assert!(Instant::now() < patience, "{} of {end} responses", responses.0);
                transport.wait(transport.now_ns() + 1_000_000, Wake::OnArrival);
                transport.receive(&mut responses);
            }
        }
        (allocations::count() - before) as f64 / queries as f64
    };
    run(20_000);
    let per_query = run(20_000);
    println!("{per_query} allocations a query");
    assert!(per_query < MOST_A_QUERY, "{per_query} allocations a query");
}

const BATCH: usize = 16;

const MOST_A_QUERY: f64 = 100.0;

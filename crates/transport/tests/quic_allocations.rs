//! A query over an open connection of DoQ or DoH/3 allocates no memory in this crate. `quinn-proto` allocates memory
//! for each stream and packet, which this test counts and bounds.

#[path = "../../sys/tests/allocations/mod.rs"]
mod allocations;

use std::time::{Duration, Instant};

use dnsdyno_responder::{Config, Responder, Transport as Served};
use dnsdyno_transport::quic::{Doh3Transport, DoqTransport};
use dnsdyno_transport::sim::SimConfig;
use dnsdyno_transport::tls::{TlsConfig, TlsTrust};
use dnsdyno_transport::{Batch, Description, Open, Pause, Sink, Transport, Wake, XdpDescription};

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
fn a_query_over_an_open_connection_allocates_only_what_the_quic_library_does() {
    counts::<DoqTransport>(Served::Doq, "");
    counts::<Doh3Transport>(Served::Doh3, "/dns-query");
}

fn counts<T: Transport + Open>(served: Served, path: &str) {
    let free = vec!["127.0.0.1:0".parse().unwrap()];
    let config = Config { doq: free.clone(), doh3: free, ..Config::default() };
    let responder = Responder::start(config).unwrap();
    let server = responder.addresses_of(served)[0];
    let tls = TlsConfig {
        server,
        asked: "localhost".into(),
        server_name: None,
        trust: TlsTrust::Anything,
        tls12: false,
        tls13: true,
        resumption: true,
        early_data: false,
        key_log: None,
    };
    let description = Description {
        server,
        workers: 1,
        clients: 1,
        local_address: None,
        local_prefix: None,
        sources: None,
        local_ports: None,
        receive_buffer: 1 << 20,
        send_buffer: 1 << 20,
        send_only: false,
        any_source: false,
        timeout_ns: 5_000_000_000,
        queries_each: None,
        idle_timeout_ns: None,
        fast_open: false,
        handshake_timeout_ns: 5_000_000_000,
        tls,
        http_path: path.to_owned(),
        http_get: false,
        members: Vec::new(),
        xdp: XdpDescription::default(),
        sim: SimConfig::default(),
        sim_pause: Pause::default(),
        proxy: None,
        seed: 1,
    };
    let mut transport = T::open_all(&description).unwrap().remove(0);
    transport.begin(0);
    let mut query = Vec::new();
    dnsdyno_wire::QueryForm::default().encode(b"\x03www\x07example\x00", 1, &mut query);
    let mut responses = Responses::default();
    let mut per_query = |at_once: usize| {
        let mut batch = Batch::new(at_once, query.len());
        for _ in 0..at_once {
            batch.push(&query);
        }
        let before = allocations::count();
        let deadline = Instant::now() + Duration::from_secs(30);
        for _ in 0..QUERIES / at_once {
            assert_eq!(transport.send(0, &batch).accepted, at_once);
            let due = responses.0 + at_once as u64;
            while responses.0 < due {
                assert!(Instant::now() < deadline, "{} responses of {due}", responses.0);
                transport.wait(transport.now_ns() + 1_000_000, Wake::ON_ARRIVAL);
                transport.receive(&mut responses);
            }
        }
        (allocations::count() - before) as f64 / QUERIES as f64
    };
    per_query(16);
    let (one, sixteen) = (per_query(1), per_query(16));
    println!("{served}: {one} allocations per query alone, {sixteen} with sixteen outstanding");
    assert!(one < MOST_ALONE && sixteen < MOST_OF_SIXTEEN, "{served}: {one} alone, {sixteen} with sixteen");
}

const QUERIES: usize = 16_000;

const MOST_ALONE: f64 = 3.9;
const MOST_OF_SIXTEEN: f64 = 4.5;

//! Messages longer than an HTTP/2 frame, with the responder's HTTP/2 implementation (`h2`) as the server; the same over
//! HTTP/3.

use std::time::{Duration, Instant};

use dnsdyno_responder::{Book, Config, Responder, Transport as Served};
use dnsdyno_transport::quic::Doh3Transport;
use dnsdyno_transport::sim::SimConfig;
use dnsdyno_transport::stream::DohTransport;
use dnsdyno_transport::tls::{TlsConfig, TlsTrust};
use dnsdyno_transport::{Batch, Description, Open, Pause, Sink, Transport, Wake, XdpDescription};

#[derive(Default)]
struct Responses(Vec<Vec<u8>>);

impl Sink for Responses {
    fn packet(&mut self, _: usize, _: u64, bytes: &[u8]) {
        self.0.push(bytes.to_vec());
    }

    fn refused(&mut self, _: usize, _: u64, _: &[u8]) {}
}

/// A query of this length, padded with an unknown EDNS option.
fn long_query(id: u16, length: usize) -> Vec<u8> {
    let mut query = Vec::new();
    let form = dnsdyno_wire::QueryForm { edns_size: Some(1_232), ..Default::default() };
    form.encode(b"\x03www\x07example\x00", 1, &mut query);
    dnsdyno_wire::patch_id(&mut query, id);
    let (data, option) = (length - query.len(), length - query.len() - 4);
    let data_length_at = query.len() - 2;
    query[data_length_at..].copy_from_slice(&(data as u16).to_be_bytes());
    query.extend_from_slice(&65_001u16.to_be_bytes());
    query.extend_from_slice(&(option as u16).to_be_bytes());
    query.resize(length, b'x');
    query
}

#[test]
fn queries_longer_than_a_frame_are_answered_with_post_and_get() {
    let book = answered::<DohTransport>(Served::Doh);
    assert_eq!(book.doh.counts.answered, 10);
    let book = answered::<Doh3Transport>(Served::Doh3);
    assert_eq!(book.doh3.counts.answered, 10);
}

/// Ten long queries over a transport are answered by the responder, whose book this gives.
fn answered<T: Transport + Open>(served: Served) -> Book {
    let free = vec!["127.0.0.1:0".parse().unwrap()];
    let config = Config { doh: free.clone(), doh3: free, ..Config::default() };
    let responder = Responder::start(config).unwrap();
    let server = responder.addresses_of(served)[0];
    // The URI type of the server accepts paths of up to 65,534 bytes.
    for (http_get, length) in [(false, 60_000), (true, 45_000)] {
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
            timeout_ns: 30_000_000_000,
            queries_each: None,
            idle_timeout_ns: None,
            fast_open: false,
            handshake_timeout_ns: 30_000_000_000,
            tls: TlsConfig {
                server,
                asked: "localhost".into(),
                server_name: None,
                trust: TlsTrust::Anything,
                tls12: false,
                tls13: true,
                resumption: true,
                early_data: false,
                key_log: None,
            },
            http_path: "/dns-query".to_owned(),
            http_get,
            members: Vec::new(),
            xdp: XdpDescription::default(),
            sim: SimConfig::default(),
            sim_pause: Pause::default(),
            proxy: None,
            seed: 1,
        };
        let mut transport = T::open_all(&description).unwrap().remove(0);
        transport.begin(0);
        let mut responses = Responses::default();
        let deadline = Instant::now() + Duration::from_secs(30);
        // More than the initial window of the connection, so that the server has to enlarge it.
        for id in 1..=5u16 {
            let query = long_query(id, length);
            let mut batch = Batch::new(1, query.len());
            batch.push(&query);
            while transport.next_client().is_err() || transport.send(0, &batch).accepted == 0 {
                assert!(Instant::now() < deadline, "query {id} was not sent");
                transport.wait(transport.now_ns() + 1_000_000, Wake::ON_ARRIVAL);
                transport.receive(&mut responses);
            }
            while responses.0.len() < usize::from(id) {
                assert!(Instant::now() < deadline, "no response to query {id}, GET: {http_get}");
                transport.wait(transport.now_ns() + 1_000_000, Wake::ON_ARRIVAL);
                transport.receive(&mut responses);
            }
            let response = dnsdyno_wire::peek(&responses.0[usize::from(id) - 1]).unwrap();
            assert_eq!((response.id, response.rcode), (id, 0));
        }
    }
    responder.stop()
}

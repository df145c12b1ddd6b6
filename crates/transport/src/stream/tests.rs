//! Clients over TCP with a session of the test's own.

use std::io::Write;
use std::net::TcpListener;
use std::thread;
use std::time::{Duration, Instant};

use dnsdyno_measure::ConnectionEnd;

use super::config::StreamOpenError;
use super::pool::BufferPool;
use super::session::{Broken, Reader, Session};
use super::state::Streams;
use crate::sim::SimConfig;
use crate::tls::{TlsConfig, TlsTrust};
use crate::{Batch, ConnectionEvent, Description, Pause, Sink, Transport, Wake, XdpDescription};

/// Replies to each byte with many.
struct Talkative;

impl Session for Talkative {
    type Setup = ();
    type Shared = ();

    fn shared((): &(), _: usize) -> Result<(), StreamOpenError> {
        Ok(())
    }

    fn begin((): &mut (), _: &mut Vec<u8>) -> Option<Self> {
        Some(Talkative)
    }

    fn encode(&mut self, (): &mut (), batch: &Batch, _: u64, out: &mut Vec<u8>) -> usize {
        batch.iter().for_each(|message| out.extend_from_slice(message));
        batch.len()
    }

    fn read<K: Sink>(
        &mut self,
        (): &mut (),
        _: &mut BufferPool,
        bytes: &[u8],
        out: &mut Vec<u8>,
        _: &mut Reader<'_, K>,
    ) -> Result<(), Broken> {
        out.resize(out.len() + bytes.len() * REPLY, 0);
        Ok(())
    }

    fn end(self, _: &mut BufferPool) {}
}

const REPLY: usize = 64 << 10;

/// More replies than the buffers of any kernel hold.
const BYTES: usize = 300;

#[derive(Default)]
struct Ends(Vec<ConnectionEnd>);

impl Sink for Ends {
    fn packet(&mut self, _: usize, _: u64, _: &[u8]) {}
    fn refused(&mut self, _: usize, _: u64, _: &[u8]) {}

    fn connection(&mut self, _: usize, _: u64, event: ConnectionEvent) {
        if let ConnectionEvent::Ended { end, .. } = event {
            self.0.push(end);
        }
    }
}

fn description(server: std::net::SocketAddr) -> Description {
    Description {
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
            tls12: true,
            tls13: true,
            resumption: true,
            early_data: false,
            key_log: None,
        },
        http_path: "/".to_owned(),
        http_get: false,
        members: Vec::new(),
        xdp: XdpDescription::default(),
        sim: SimConfig::default(),
        sim_pause: Pause::default(),
        proxy: None,
        seed: 1,
    }
}

#[test]
fn a_server_that_has_us_reply_and_does_not_read_is_closed() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let server = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        stream.set_nodelay(true).unwrap();
        // Until the client has closed the connection.
        let _ = (0..BYTES).take_while(|_| stream.write_all(&[0]).is_ok()).count();
        stream
    });
    let mut clients = Streams::<Talkative>::open(&description(address), &(), &[], 0).unwrap();
    clients.begin(0);
    let mut batch = Batch::new(1, 16);
    batch.push(b"a query");
    assert_eq!(clients.send(0, &batch).accepted, 1);
    let (mut ends, deadline) = (Ends::default(), Instant::now() + Duration::from_secs(30));
    while ends.0.is_empty() {
        assert!(Instant::now() < deadline, "it was not closed");
        clients.wait(clients.now_ns() + 1_000_000, Wake::ON_ARRIVAL);
        clients.receive(&mut ends);
    }
    assert_eq!(ends.0, [ConnectionEnd::Excess]);
    server.join().unwrap();
}

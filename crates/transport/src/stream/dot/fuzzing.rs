//! A server over TLS that has keys, in memory: what it sends after its handshake is read too.

use std::io::{Read, Write};
use std::sync::{Arc, LazyLock};

use rcgen::{CertifiedKey, generate_simple_self_signed};
use rustls::pki_types::PrivateKeyDer;
use rustls::version::{TLS12, TLS13};
use rustls::{ServerConfig, ServerConnection, SupportedProtocolVersion};

use super::{Dot, DotShared};
use crate::Batch;
use crate::stream::fuzzing::{Messages, any_server, messages};
use crate::stream::pool::BufferPool;
use crate::stream::session::{Reader, Session};
use crate::tls::Tls;

/// Up to three connections, one after the other, of a client that resumes its sessions. The first byte says how the
/// server of each is set up; then each byte of a step, and the number after it, what the two do.
///
/// # Panics
/// Where a side reads what the other has not written, or does not read what it has.
pub fn tls_session(bytes: &[u8]) {
    let (Some((setup, steps)), Some(tls)) = (bytes.split_first(), TLS.as_ref()) else { return };
    let (Ok(mut shared), Some(servers)) = (Dot::shared(tls, 1), SERVERS.as_ref()) else { return };
    for (turn, steps) in steps.split(|byte| *byte == NEXT_CONNECTION).take(3).enumerate() {
        // The last one floods: it is there by a bit of its own.
        let server = match setup & 0x80 {
            0 => &servers[usize::from(setup >> (2 * turn)) & 3],
            _ => &servers[4],
        };
        let Ok(theirs) = ServerConnection::new(Arc::clone(server)) else { return };
        let mut out = Vec::new();
        let Some(ours) = Dot::begin(&mut shared, &mut out) else { return };
        Connection { ours, theirs, out, flight: Vec::new(), traffic: Traffic::default() }
            .run(&mut shared, steps);
    }
}

/// Between two connections.
const NEXT_CONNECTION: u8 = 0xff;

/// A client and a server.
struct Connection {
    ours: Dot,
    theirs: ServerConnection,
    /// Records of the client that the server has not read.
    out: Vec<u8>,
    /// Records of the server that the client has not read.
    flight: Vec<u8>,
    traffic: Traffic,
}

/// What was written and read, without its encryption.
#[derive(Default)]
struct Traffic {
    by_us: Vec<u8>,
    by_them: Vec<u8>,
    read_by_us: Messages,
    read_by_them: Vec<u8>,
    pool: BufferPool,
    /// Whether records were lost, changed or invented, or a side has closed.
    is_disturbed: bool,
    /// Whether the client has ended the connection.
    is_over: bool,
}

impl Connection {
    fn run(mut self, shared: &mut DotShared, mut steps: &[u8]) {
        let mut step = 100_000;
        while let [code, number, rest @ ..] = steps
            && !self.traffic.is_over
        {
            let content = &rest[..rest.len().min(usize::from(*number))];
            steps = rest;
            match code % 8 {
                0 => {
                    let taken = self.theirs.writer().write(content).unwrap_or(0);
                    self.traffic.by_them.extend_from_slice(&content[..taken]);
                    steps = &rest[content.len()..];
                }
                1 => self.ask(shared, *number),
                2 => {
                    self.take_flight();
                    self.flight.extend_from_slice(content);
                    (steps, self.traffic.is_disturbed) = (&rest[content.len()..], true);
                }
                3 => {
                    self.hand_over();
                    let at = usize::from(*number).pow(2) % self.flight.len().max(1);
                    self.flight.get_mut(at).into_iter().for_each(|byte| *byte ^= 1 << (at % 8));
                    self.traffic.is_disturbed = true;
                }
                4 => {
                    // A record without data each, of which a client takes so many.
                    for _ in 0..usize::from(*number) * 16 {
                        self.traffic.is_disturbed |= self.theirs.refresh_traffic_keys().is_ok();
                        self.take_flight();
                    }
                }
                // A server of this library asserts that it closes no handshake that it then refuses.
                5 if self.theirs.is_handshaking() => {}
                5 => {
                    self.theirs.send_close_notify();
                    self.traffic.is_disturbed = true;
                }
                6 => step = usize::from(*number).pow(2) + 1,
                // Nothing is read of a connection that we have closed.
                _ => {
                    self.ours.close(&mut self.out);
                    self.traffic.is_over = true;
                }
            }
            if code & 8 == 0 {
                self.talk(shared, step);
            }
        }
        self.talk(shared, step);
        self.end();
    }

    /// Writes up to four queries.
    fn ask(&mut self, shared: &mut DotShared, number: u8) {
        let mut batch = Batch::new(4, 64);
        for query in 0..=number % 4 {
            let message = [number.wrapping_add(query); 17];
            batch.push(&message);
            self.traffic.by_us.extend([0, 17].iter().chain(&message));
        }
        self.ours.encode(shared, &batch, 0, &mut self.out);
    }

    /// Passes records on until neither side has any; those of the server are read `step` octets at a time.
    fn talk(&mut self, shared: &mut DotShared, step: usize) {
        let mut news = Vec::new();
        for _ in 0..100 {
            self.hand_over();
            if self.flight.is_empty() || self.traffic.is_over {
                return;
            }
            for piece in std::mem::take(&mut self.flight).chunks(step) {
                let Traffic { read_by_us, pool, .. } = &mut self.traffic;
                let mut reader = Reader::new(read_by_us, &mut news, 0, 0, (0, 0));
                if self.ours.read(shared, pool, piece, &mut self.out, &mut reader).is_err() {
                    self.traffic.is_over = true;
                    break;
                }
            }
        }
        panic!("the two never end");
    }

    /// The server reads what the client has sent, and answers.
    fn hand_over(&mut self) {
        let mut rest = &std::mem::take(&mut self.out)[..];
        while !rest.is_empty() && matches!(self.theirs.read_tls(&mut rest), Ok(1..)) {
            let _ = self.theirs.process_new_packets();
            let read = &mut self.traffic.read_by_them;
            if let Some(mut early) = self.theirs.early_data() {
                let _ = early.read_to_end(read);
            }
            // It would wait for more.
            let _ = self.theirs.reader().read_to_end(read);
        }
        self.take_flight();
    }

    fn take_flight(&mut self) {
        while self.theirs.wants_write() {
            // Into memory, which takes everything.
            if self.theirs.write_tls(&mut self.flight).is_err() {
                break;
            }
        }
    }

    /// Compares what was read with what was written.
    fn end(self) {
        let Traffic { by_us, by_them, read_by_us, read_by_them, mut pool, is_disturbed, is_over } =
            self.traffic;
        let expected = messages([&by_them[..]].into_iter());
        assert!(by_us.starts_with(&read_by_them), "the server read what was not sent");
        assert!(expected.starts_with(&read_by_us.0), "the client read what was not sent");
        if !is_disturbed && !is_over && !self.ours.is_handshaking() {
            assert_eq!(read_by_them, by_us, "the server has not read all");
            assert_eq!(read_by_us.0, expected, "the client has not read all");
            assert_eq!(self.ours.held_back(), 0);
        }
        self.ours.end(&mut pool);
        assert_eq!(pool.held_bytes(), 0, "a message is still held");
    }
}

static TLS: LazyLock<Option<Tls>> = LazyLock::new(|| any_server(true));

/// Of TLS 1.3 with early data and without, of TLS 1.2, of a protocol that is not offered, and with a thousand tickets.
/// All know the same sessions.
static SERVERS: LazyLock<Option<[Arc<ServerConfig>; 5]>> = LazyLock::new(|| {
    let CertifiedKey { cert, signing_key } = generate_simple_self_signed(["localhost".to_owned()]).ok()?;
    let make = |version: &'static SupportedProtocolVersion| {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let key = PrivateKeyDer::try_from(signing_key.serialize_der()).ok()?;
        let builder =
            ServerConfig::builder_with_provider(provider).with_protocol_versions(&[version]).ok()?;
        builder.with_no_client_auth().with_single_cert(vec![cert.der().clone()], key).ok()
    };
    let mut early = make(&TLS13)?;
    early.max_early_data_size = 1_000;
    let mut servers = [early, make(&TLS13)?, make(&TLS12)?, make(&TLS13)?, make(&TLS13)?];
    servers[3].alpn_protocols = vec![b"h2".to_vec()];
    servers[4].send_tls13_tickets = 1_000;
    let sessions = Arc::clone(&servers[0].session_storage);
    servers.iter_mut().for_each(|server| server.session_storage = Arc::clone(&sessions));
    Some(servers.map(Arc::new))
});

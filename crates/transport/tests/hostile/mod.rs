//! A server that does what no server should, byte by byte, and the client that meets it.
//!
//! ```text
//!   Meeting ── transport ──► connection ──► script(Conversation), on a thread of its own
//!      └─ Seen: what the transport reported
//! ```
//!
//! Each connection is served by the test's script. The script sends and reads bytes as they are; with
//! [`Conversation::secure`] they travel in TLS. It ends when the connection does, whatever it waits for.
#![allow(dead_code, reason = "each test uses a part of it")]

pub(crate) mod quic;

use std::collections::HashMap;
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use dnsdyno_lab::Certificate;
use dnsdyno_measure::StreamFailure;
use dnsdyno_transport::sim::SimConfig;
use dnsdyno_transport::tls::{TlsConfig, TlsTrust};
use dnsdyno_transport::{
    Batch, ConnectionEvent, Description, MessageKind, Open, Pause, Sink, Transport, Wake, XdpDescription,
};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection};

/// Every wait of a test ends after this time, on any host.
const BOUND: Duration = Duration::from_secs(30);

/// A server on a free port of loopback. Dropping it ends its connections.
pub(crate) struct Hostile {
    pub(crate) address: SocketAddr,
    shared: Arc<Shared>,
    listening: Option<thread::JoinHandle<()>>,
}

#[derive(Default)]
struct Shared {
    is_over: AtomicBool,
    accepted: AtomicUsize,
    open: Mutex<HashMap<usize, TcpStream>>,
}

impl Hostile {
    /// Serves each connection with `script`.
    pub(crate) fn start(script: impl Fn(&mut Conversation) + Send + Sync + 'static) -> Hostile {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (shared, script) = (Arc::<Shared>::default(), Arc::new(script));
        let told = Arc::clone(&shared);
        let listening = thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                if told.is_over.load(Ordering::Acquire) {
                    return;
                }
                let number = told.accepted.fetch_add(1, Ordering::AcqRel);
                stream.set_nodelay(true).unwrap();
                told.open.lock().unwrap().insert(number, stream.try_clone().unwrap());
                let (script, shared) = (Arc::clone(&script), Arc::clone(&told));
                thread::spawn(move || script(&mut Conversation { number, stream, shared }));
            }
        });
        Hostile { address, shared, listening: Some(listening) }
    }

    /// Connections so far.
    pub(crate) fn accepted(&self) -> usize {
        self.shared.accepted.load(Ordering::Acquire)
    }
}

impl Drop for Hostile {
    fn drop(&mut self) {
        self.shared.is_over.store(true, Ordering::Release);
        for stream in self.shared.open.lock().unwrap().values() {
            let _ = stream.shutdown(Shutdown::Both);
        }
        // It accepts one more, and sees that it is over.
        let _ = TcpStream::connect(self.address);
        if let Some(listening) = self.listening.take() {
            let _ = listening.join();
        }
    }
}

/// The server's side of one connection.
pub(crate) struct Conversation {
    /// Of the connection; the first is 0.
    pub(crate) number: usize,
    stream: TcpStream,
    shared: Arc<Shared>,
}

impl Conversation {
    /// Sends bytes; false once the connection has ended.
    pub(crate) fn send(&mut self, bytes: &[u8]) -> bool {
        self.stream.write_all(bytes).is_ok()
    }

    /// Reads what was received next; empty once the connection has ended.
    pub(crate) fn hear(&mut self) -> Vec<u8> {
        let mut bytes = vec![0; 64 << 10];
        let length = self.stream.read(&mut bytes).unwrap_or(0);
        bytes.truncate(length);
        bytes
    }

    /// Reads until the connection has ended.
    pub(crate) fn hear_all(&mut self) {
        while !self.hear().is_empty() {}
    }

    /// Ends the connection with a RST.
    pub(crate) fn reset(&mut self) {
        let _ = socket2::SockRef::from(&self.stream).set_linger(Some(Duration::ZERO));
    }

    /// The server's part of a TLS handshake; `None` if it fails.
    pub(crate) fn secure(&mut self, config: &Arc<ServerConfig>) -> Option<Secure<'_>> {
        let mut tls = ServerConnection::new(Arc::clone(config)).unwrap();
        tls.set_buffer_limit(None);
        while tls.is_handshaking() {
            if tls.complete_io(&mut self.stream).is_err() {
                return None;
            }
        }
        Some(Secure { tls, conversation: self })
    }
}

impl Drop for Conversation {
    fn drop(&mut self) {
        self.shared.open.lock().unwrap().remove(&self.number);
    }
}

/// The same, inside TLS.
pub(crate) struct Secure<'a> {
    pub(crate) tls: ServerConnection,
    pub(crate) conversation: &'a mut Conversation,
}

impl Secure<'_> {
    /// Encrypts bytes, and returns the records.
    pub(crate) fn records(&mut self, plain: &[u8]) -> Vec<u8> {
        self.tls.writer().write_all(plain).unwrap();
        let mut records = Vec::new();
        while self.tls.wants_write() {
            self.tls.write_tls(&mut records).unwrap();
        }
        records
    }

    /// Sends bytes; false once the connection has ended.
    pub(crate) fn send(&mut self, plain: &[u8]) -> bool {
        let records = self.records(plain);
        self.conversation.send(&records)
    }

    /// Reads what was received next; empty once the connection has ended.
    pub(crate) fn hear(&mut self) -> Vec<u8> {
        loop {
            let mut plain = vec![0; 64 << 10];
            if let Ok(length) = self.tls.reader().read(&mut plain) {
                plain.truncate(length);
                return plain;
            }
            match self.tls.read_tls(&mut self.conversation.stream) {
                Ok(1..) if self.tls.process_new_packets().is_ok() => {}
                _ => return Vec::new(),
            }
        }
    }

    /// Reads until the connection has ended.
    pub(crate) fn hear_all(&mut self) {
        while !self.hear().is_empty() {}
    }
}

/// A TLS configuration for `localhost` that selects one of these protocols (ALPN), for a client that
/// trusts anything.
pub(crate) fn tls_config(protocols: &[&[u8]]) -> ServerConfig {
    let certificate = Certificate::make().unwrap();
    let chain = vec![CertificateDer::from_pem_file(certificate.cert_file()).unwrap()];
    let key = PrivateKeyDer::from_pem_file(certificate.key_file()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder =
        ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let mut config = builder.with_no_client_auth().with_single_cert(chain, key).unwrap();
    config.alpn_protocols = protocols.iter().map(|protocol| protocol.to_vec()).collect();
    config
}

/// One client of `server` over any transport, which trusts any certificate.
pub(crate) fn description(server: SocketAddr) -> Description {
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
        http_path: "/dns-query".to_owned(),
        http_get: false,
        members: Vec::new(),
        xdp: XdpDescription::default(),
        sim: SimConfig::default(),
        sim_pause: Pause::default(),
        proxy: None,
        seed: 1,
    }
}

/// What a transport has reported.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    pub(crate) answers: Vec<Vec<u8>>,
    /// Messages that a test's own sink would call malformed are those without a DNS header.
    pub(crate) malformed: usize,
    pub(crate) events: Vec<ConnectionEvent>,
    pub(crate) statuses: Vec<u16>,
    pub(crate) stream_failures: Vec<StreamFailure>,
    /// Queries that are not outstanding any more, though nothing has arrived.
    pub(crate) expired: Vec<u16>,
}

impl Seen {
    /// How its connection ended, once it has.
    pub(crate) fn end(&self) -> Option<ConnectionEvent> {
        let is_end = |event: &&ConnectionEvent| {
            matches!(event, ConnectionEvent::Ended { .. } | ConnectionEvent::Failed(_))
        };
        self.events.iter().find(is_end).copied()
    }
}

impl Sink for Seen {
    fn packet(&mut self, _: usize, _: u64, bytes: &[u8]) {
        self.answers.push(bytes.to_vec());
    }

    fn refused(&mut self, _: usize, _: u64, _: &[u8]) {}

    fn answer(&mut self, _: usize, _: u64, _: u64, _: Option<u64>, bytes: &[u8]) -> MessageKind {
        if dnsdyno_wire::peek(bytes).is_err() {
            self.malformed += 1;
            return MessageKind::Malformed;
        }
        self.answers.push(bytes.to_vec());
        MessageKind::Answer
    }

    fn connection(&mut self, _: usize, _: u64, event: ConnectionEvent) {
        self.events.push(event);
    }

    fn status(&mut self, status: u16) {
        self.statuses.push(status);
    }

    fn stream_failed(&mut self, _: usize, id: u16, _: u64, why: StreamFailure) -> bool {
        self.stream_failures.push(why);
        !self.expired.contains(&id)
    }
}

/// A worker's transport, and what it has reported.
pub(crate) struct Meeting<T> {
    pub(crate) transport: T,
    pub(crate) seen: Seen,
    /// The longest time that one call of `receive` took.
    pub(crate) longest_receive: Duration,
}

impl<T: Transport + Open> Meeting<T> {
    pub(crate) fn begin(description: &Description) -> Self {
        let mut transport = T::open_all(description).unwrap().remove(0);
        transport.begin(0);
        Meeting { transport, seen: Seen::default(), longest_receive: Duration::ZERO }
    }

    /// Sends a query with this ID over the next client that can send.
    pub(crate) fn ask(&mut self, id: u16) {
        let query = query(id);
        let mut batch = Batch::new(1, query.len());
        batch.push(&query);
        let deadline = Instant::now() + BOUND;
        loop {
            if let Ok(next) = self.transport.next_client()
                && self.transport.send(next.channel, &batch).accepted == 1
            {
                return;
            }
            assert!(Instant::now() < deadline, "query {id} was not sent: {:?}", self.seen);
            self.turn();
        }
    }

    /// One turn of a worker's loop: waits a little, and receives.
    pub(crate) fn turn(&mut self) {
        self.transport.wait(self.transport.now_ns() + 1_000_000, Wake::ON_ARRIVAL);
        let before = Instant::now();
        self.transport.receive(&mut self.seen);
        self.longest_receive = self.longest_receive.max(before.elapsed());
    }

    /// Takes turns until `is_reached`.
    pub(crate) fn until(&mut self, what: &str, mut is_reached: impl FnMut(&Seen) -> bool) {
        let deadline = Instant::now() + BOUND;
        while !is_reached(&self.seen) {
            assert!(Instant::now() < deadline, "{what}: not in {BOUND:?}: {:?}", self.seen);
            self.turn();
        }
    }

    /// The query with this ID times out, once the connection is established and so it was sent.
    pub(crate) fn expire(&mut self, id: u16) {
        let is_established = |event: &ConnectionEvent| matches!(event, ConnectionEvent::Established { .. });
        self.until("a connection", |seen| seen.events.iter().any(is_established));
        self.seen.expired.push(id);
        self.transport.expired(0, id);
    }

    /// Takes turns until the connection has ended, and returns how.
    pub(crate) fn until_end(&mut self) -> ConnectionEvent {
        self.until("the end of the connection", |seen| seen.end().is_some());
        self.seen.end().unwrap()
    }
}

/// A query for the A record of `www.example`.
pub(crate) fn query(id: u16) -> Vec<u8> {
    let mut query = Vec::new();
    dnsdyno_wire::QueryForm::default().encode(b"\x03www\x07example\x00", 1, &mut query);
    dnsdyno_wire::patch_id(&mut query, id);
    query
}

/// An answer without records to [`query`].
pub(crate) fn answer(id: u16) -> Vec<u8> {
    let mut answer = query(id);
    answer[2] |= 0x80;
    answer
}

/// A message as over TCP: preceded by its length.
pub(crate) fn framed(message: &[u8]) -> Vec<u8> {
    [&(message.len() as u16).to_be_bytes(), message].concat()
}

/// TLS records of this type with `payload`, `step` bytes each.
pub(crate) fn records(kind: u8, payload: &[u8], step: usize) -> Vec<u8> {
    let record = |piece: &[u8]| {
        let length = (piece.len() as u16).to_be_bytes();
        [&[kind, 3, 3, length[0], length[1]], piece].concat()
    };
    payload.chunks(step).flat_map(record).collect()
}

/// Fails the test if `does` has not returned in time: a loop that never ends must not keep the test
/// from failing.
pub(crate) fn within_bound<R: Send + 'static>(does: impl FnOnce() -> R + Send + 'static) -> R {
    let (done, is_done) = mpsc::channel();
    let doing = thread::spawn(move || {
        let _ = done.send(does());
    });
    match is_done.recv_timeout(2 * BOUND) {
        Ok(result) => result,
        Err(mpsc::RecvTimeoutError::Timeout) => panic!("no end in {:?}", 2 * BOUND),
        Err(mpsc::RecvTimeoutError::Disconnected) => match doing.join() {
            Err(panic) => std::panic::resume_unwind(panic),
            Ok(()) => panic!("it ended without a result"),
        },
    }
}

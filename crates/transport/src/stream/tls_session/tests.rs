//! TLS in memory, with the library's server on the other side.

use dnsdyno_lab::Certificate;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection};

use super::*;
use crate::stream::plain::first_frame_bytes;
use crate::tls::{Tls, TlsConfig, TlsTrust};

/// Ignores everything: only the events of the connection are of interest.
struct Deaf;

impl Sink for Deaf {
    fn packet(&mut self, _: usize, _: u64, _: &[u8]) {}
    fn refused(&mut self, _: usize, _: u64, _: &[u8]) {}
}

/// A client and a server connected in memory, what the client has read, and its events.
struct Pair {
    shared: TlsShared,
    ours: TlsSession,
    theirs: ServerConnection,
    said: Vec<u8>,
    read: Vec<u8>,
    news: Vec<(u32, u64, ConnectionEvent)>,
}

impl Pair {
    /// The server supports `protocols`; a client that must agree offers `h2`.
    fn new(must_agree: bool, protocols: &[&[u8]]) -> Pair {
        let certificate = Certificate::make().unwrap();
        let chain = CertificateDer::from_pem_file(certificate.cert_file()).unwrap();
        let key = PrivateKeyDer::from_pem_file(certificate.key_file()).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
        let builder = builder.unwrap().with_no_client_auth();
        let mut config = builder.with_single_cert(vec![chain], key).unwrap();
        config.alpn_protocols = protocols.iter().map(|protocol| protocol.to_vec()).collect();
        let tls = Tls::new(&TlsConfig {
            server: "127.0.0.1:853".parse().unwrap(),
            asked: "localhost".into(),
            server_name: None,
            trust: TlsTrust::File(certificate.ca_file()),
            tls12: true,
            tls13: true,
            resumption: true,
            early_data: false,
            key_log: None,
        })
        .unwrap();
        let shared = TlsShared::new(&tls, b"h2", must_agree, first_frame_bytes, 1).unwrap();
        let mut said = Vec::new();
        let ours = TlsSession::begin(&shared, &mut said).unwrap();
        let theirs = ServerConnection::new(Arc::new(config)).unwrap();
        Pair { shared, ours, theirs, said, read: Vec::new(), news: Vec::new() }
    }

    /// Passes bytes between the two until neither has any to send; the server's are passed
    /// `step` at a time.
    fn talk(&mut self, step: usize) -> Result<(), Broken> {
        loop {
            let mut rest = &std::mem::take(&mut self.said)[..];
            while !rest.is_empty() {
                self.theirs.read_tls(&mut rest).unwrap();
                let _ = self.theirs.process_new_packets();
            }
            let mut answer = Vec::new();
            while self.theirs.wants_write() {
                self.theirs.write_tls(&mut answer).unwrap();
            }
            if answer.is_empty() && self.said.is_empty() {
                return Ok(());
            }
            answer.chunks(step).try_for_each(|piece| self.hear(piece))?;
        }
    }

    fn hear(&mut self, bytes: &[u8]) -> Result<(), Broken> {
        let mut deaf = Deaf;
        let mut reader = Reader::new(&mut deaf, &mut self.news, 0, 7, (0, 3));
        let read = &mut self.read;
        self.ours.read(&mut self.shared, bytes, &mut self.said, &mut reader, |plain, _| {
            read.extend_from_slice(plain);
            Ok(())
        })
    }

    fn heard_by_server(&mut self) -> Vec<u8> {
        let mut heard = Vec::new();
        // Ends with "not yet": the connection is open.
        let _ = self.theirs.reader().read_to_end(&mut heard);
        heard
    }
}

#[test]
fn queries_before_the_end_of_the_handshake_are_sent_after_it_each_in_a_record() {
    let mut pair = Pair::new(false, &[]);
    let frames = b"\0\x03one\0\x03two\0\x05three";
    pair.ours.write(&pair.shared, frames, &mut pair.said);
    assert_eq!((pair.ours.held_back(), pair.ours.is_handshaking()), (frames.len(), true));
    pair.talk(1).unwrap();
    assert_eq!(pair.heard_by_server(), frames);
    assert_eq!((pair.ours.held_back(), pair.ours.is_handshaking()), (0, false));
    let told = ConnectionEvent::Handshaken { kind: HandshakeKind::Full, begun_ns: 3 };
    assert_eq!(pair.news, [(0, 7, told)]);

    pair.ours.write(&pair.shared, frames, &mut pair.said);
    let (mut records, mut at) = (0, 0);
    while let Some(header) = pair.said.get(at..at + 5) {
        assert_eq!(header[0], 23, "a record of data");
        at += 5 + usize::from(u16::from_be_bytes([header[3], header[4]]));
        records += 1;
    }
    assert_eq!((records, at), (3, pair.said.len()));
}

#[test]
fn data_is_read_in_pieces_of_any_size_and_close_notify_ends_the_connection() {
    for step in [1, 100, 100_000] {
        let mut pair = Pair::new(false, &[]);
        pair.talk(step).unwrap();
        let text: Vec<u8> = (0..50_000u32).map(|n| n as u8).collect();
        pair.theirs.writer().write_all(&text).unwrap();
        pair.talk(step).unwrap();
        assert!(pair.read == text, "in steps of {step}");
        pair.theirs.send_close_notify();
        assert_eq!(pair.talk(step), Err(Broken::Ended(ConnectionEnd::ByServer)));
    }
}

#[test]
fn a_server_without_the_protocol_or_without_tls_fails_the_handshake() {
    let mut pair = Pair::new(true, &[]);
    assert_eq!(pair.talk(1_000), Err(Broken::Handshake(HandshakeFailure::Alpn)));
    let mut pair = Pair::new(true, &[b"h2"]);
    assert_eq!(pair.talk(1_000), Ok(()));
    let mut pair = Pair::new(true, &[b"http/1.1"]);
    assert_eq!(pair.talk(1_000), Err(Broken::Handshake(HandshakeFailure::Alpn)));
    let mut pair = Pair::new(false, &[]);
    let failed = pair.hear(b"220 mail.example ESMTP\r\n");
    assert_eq!(failed, Err(Broken::Handshake(HandshakeFailure::NotTls)));
    let told = &pair.shared.explained().take()[0];
    assert_eq!(told.about, "handshake.not_tls");
    assert!(told.words.ends_with("it answered `220 mail.example ESMTP`"), "{}", told.words);
}

#[test]
fn after_the_handshake_an_alert_is_an_error_end_and_a_broken_record_a_protocol_end() {
    let broken = [&[23, 3, 3, 0, 40][..], &[0; 40]].concat();
    let mut pair = Pair::new(false, &[]);
    pair.talk(1_000).unwrap();
    assert_eq!(pair.hear(&broken), Err(Broken::Ended(ConnectionEnd::Protocol)));
    assert!(!pair.said.is_empty(), "the server is told why");
    let mut pair = Pair::new(false, &[]);
    pair.talk(1_000).unwrap();
    pair.said = broken;
    assert_eq!(pair.talk(1_000), Err(Broken::Ended(ConnectionEnd::Error)));
}

#[test]
fn data_before_a_fatal_alert_is_read() {
    let mut pair = Pair::new(false, &[]);
    pair.talk(1_000).unwrap();
    pair.theirs.writer().write_all(b"the last answer").unwrap();
    // What the server cannot decrypt makes it send an alert, in the same bytes.
    pair.said = [&[23, 3, 3, 0, 40][..], &[0; 40]].concat();
    assert_eq!(pair.talk(100_000), Err(Broken::Ended(ConnectionEnd::Error)));
    assert_eq!(pair.read, b"the last answer");
    let told = &pair.shared.explained().take()[0];
    assert!(told.words.contains("bad_record_mac"), "{}", told.words);
}

#[test]
fn records_that_bring_no_data_end_the_connection() {
    let mut pair = Pair::new(false, &[]);
    pair.talk(1_000).unwrap();
    let mut flood = Vec::new();
    while flood.len() <= BYTES_WITHOUT_DATA {
        // A server may change its keys; each change is a record without data.
        pair.theirs.refresh_traffic_keys().unwrap();
        while pair.theirs.wants_write() {
            pair.theirs.write_tls(&mut flood).unwrap();
        }
    }
    assert!(matches!(pair.hear(&flood), Err(Broken::Ended(_))));
}

//! TLS between a session and its connection, without a socket: bytes in, bytes out.
//!
//! ```text
//!   plain bytes ── write ──► held back until the handshake is done, or early ──► records
//!   records ────── read ───► plain bytes
//! ```

use std::io::{Read, Write};
use std::sync::Arc;

use dnsdyno_measure::{ConnectionEnd, HandshakeFailure, HandshakeKind};
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection};

use super::config::StreamOpenError;
use super::session::{Broken, Reader};
use crate::tls::{Tls, failure_of};
use crate::{ConnectionEvent, Sink};

/// What the TLS of a worker's connections has in common.
pub(super) struct TlsShared {
    config: Arc<ClientConfig>,
    name: ServerName<'static>,
    /// Whether the server must choose the protocol we offer.
    must_agree: bool,
    /// How many bytes of the given ones belong into one record.
    unit: fn(&[u8]) -> usize,
    /// Decrypted bytes.
    plain: Vec<u8>,
}

impl TlsShared {
    /// For connections with `protocol`; with `must_agree` the server has to select it (ALPN). `unit`
    /// returns how many bytes at the start of the given ones belong into one record.
    pub(super) fn new(
        tls: &Tls,
        protocol: &[u8],
        must_agree: bool,
        unit: fn(&[u8]) -> usize,
        clients: usize,
    ) -> Result<Self, StreamOpenError> {
        let (config, _) = tls.client_config(&[protocol], clients)?;
        let (config, name) = (Arc::new(config), tls.server_name());
        Ok(TlsShared { config, name, must_agree, unit, plain: Vec::new() })
    }
}

/// The TLS of one connection.
pub(super) struct TlsSession {
    tls: Box<ClientConnection>,
    is_done: bool,
    /// What is to be sent once the handshake is done.
    held_back: Vec<u8>,
    /// What was sent as early data, in case the server rejects it.
    early: Vec<u8>,
}

impl TlsSession {
    /// Starts a handshake, whose first flight is appended to `out`.
    pub(super) fn begin(shared: &TlsShared, out: &mut Vec<u8>) -> Option<Self> {
        let mut tls = ClientConnection::new(Arc::clone(&shared.config), shared.name.clone()).ok()?;
        // Bounded by what it is given: the client's outbox is checked before.
        tls.set_buffer_limit(None);
        let mut secure =
            TlsSession { tls: Box::new(tls), is_done: false, held_back: Vec::new(), early: Vec::new() };
        secure.take_records(out);
        Some(secure)
    }

    pub(super) fn is_handshaking(&self) -> bool {
        !self.is_done
    }

    pub(super) fn held_back(&self) -> usize {
        self.held_back.len()
    }

    /// Sends `plain`, which is complete units, now or once the handshake is done.
    pub(super) fn write(&mut self, shared: &TlsShared, plain: &[u8], out: &mut Vec<u8>) {
        if self.is_done {
            return self.encrypt(shared, plain, out);
        }
        let mut left = plain;
        // What follows what was held back must be held back too.
        while self.held_back.is_empty() && !left.is_empty() {
            let Some(mut early) = self.tls.early_data() else { break };
            let unit = (shared.unit)(left);
            if unit > early.bytes_left() {
                break;
            }
            let taken = early.write(&left[..unit]).unwrap_or(0);
            self.early.extend_from_slice(&left[..taken]);
            left = &left[taken..];
            if taken < unit {
                break;
            }
        }
        self.held_back.extend_from_slice(left);
        if left.len() < plain.len() {
            self.take_records(out);
        }
    }

    /// Reads received bytes: decrypted ones are passed to `each`, records to be sent are appended to
    /// `out`.
    pub(super) fn read<K: Sink>(
        &mut self,
        shared: &mut TlsShared,
        mut bytes: &[u8],
        out: &mut Vec<u8>,
        reader: &mut Reader<'_, K>,
        mut each: impl FnMut(&[u8], &mut Reader<'_, K>) -> Result<(), Broken>,
    ) -> Result<(), Broken> {
        while !bytes.is_empty() {
            // From memory; it takes some kilobytes at a time, and nothing once the server has
            // sent close_notify.
            if self.tls.read_tls(&mut bytes).is_ok_and(|taken| taken == 0) {
                break;
            }
            let state = match self.tls.process_new_packets() {
                Ok(state) => state,
                Err(error) => return Err(self.broken(&error, out)),
            };
            if !self.is_done && !self.tls.is_handshaking() {
                self.finish(shared, out, reader)?;
            }
            if self.tls.wants_write() {
                self.take_records(out);
            }
            let length = state.plaintext_bytes_to_read();
            if length > 0 {
                if shared.plain.len() < length {
                    shared.plain.resize(length, 0);
                }
                let length = self.tls.reader().read(&mut shared.plain[..length]).unwrap_or(0);
                each(&shared.plain[..length], reader)?;
            }
            if state.peer_has_closed() {
                return Err(match self.is_done {
                    true => Broken::Ended(ConnectionEnd::ByServer),
                    false => Broken::Handshake(HandshakeFailure::Closed),
                });
            }
        }
        Ok(())
    }

    /// Sends close_notify.
    pub(super) fn close(&mut self, out: &mut Vec<u8>) {
        self.tls.send_close_notify();
        self.take_records(out);
    }

    /// Reports how the handshake was done, and sends what was held back.
    fn finish<K: Sink>(
        &mut self,
        shared: &TlsShared,
        out: &mut Vec<u8>,
        reader: &mut Reader<'_, K>,
    ) -> Result<(), Broken> {
        if shared.must_agree
            && self.tls.alpn_protocol() != shared.config.alpn_protocols.first().map(Vec::as_slice)
        {
            return Err(Broken::Handshake(HandshakeFailure::Protocol));
        }
        self.is_done = true;
        let is_early = !self.early.is_empty() && self.tls.is_early_data_accepted();
        reader.handshaken(match self.tls.handshake_kind() {
            Some(rustls::HandshakeKind::Resumed) if is_early => HandshakeKind::Early,
            Some(rustls::HandshakeKind::Resumed) => HandshakeKind::Resumed,
            _ => HandshakeKind::Full,
        });
        let early = std::mem::take(&mut self.early);
        if !early.is_empty() && !is_early {
            reader.report(ConnectionEvent::EarlyRejected);
            self.encrypt(shared, &early, out);
        }
        let held_back = std::mem::take(&mut self.held_back);
        self.encrypt(shared, &held_back, out);
        Ok(())
    }

    fn encrypt(&mut self, shared: &TlsShared, mut plain: &[u8], out: &mut Vec<u8>) {
        while !plain.is_empty() {
            let (unit, rest) = plain.split_at((shared.unit)(plain));
            // Takes everything: there is no limit.
            let _ = self.tls.writer().write_all(unit);
            plain = rest;
        }
        self.take_records(out);
    }

    fn take_records(&mut self, out: &mut Vec<u8>) {
        while self.tls.wants_write() {
            // Into memory, which takes everything.
            if self.tls.write_tls(out).is_err() {
                break;
            }
        }
    }

    /// What an error means; an alert that is to be sent is appended to `out`.
    #[cold]
    fn broken(&mut self, error: &rustls::Error, out: &mut Vec<u8>) -> Broken {
        self.take_records(out);
        match (self.is_done, error) {
            (false, error) => Broken::Handshake(failure_of(error)),
            (true, rustls::Error::AlertReceived(_)) => Broken::Ended(ConnectionEnd::Error),
            (true, _) => Broken::Ended(ConnectionEnd::Protocol),
        }
    }
}

#[cfg(test)]
mod tests {
    use dnsdyno_lab::Certificate;
    use rustls::pki_types::pem::PemObject;
    use rustls::pki_types::{CertificateDer, PrivateKeyDer};
    use rustls::{ServerConfig, ServerConnection};

    use super::*;
    use crate::stream::plain::first_frame_bytes;
    use crate::tls::{TlsConfig, TlsTrust};

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
        assert_eq!(pair.talk(1_000), Err(Broken::Handshake(HandshakeFailure::Protocol)));
        let mut pair = Pair::new(true, &[b"h2"]);
        assert_eq!(pair.talk(1_000), Ok(()));
        let mut pair = Pair::new(true, &[b"http/1.1"]);
        assert_eq!(pair.talk(1_000), Err(Broken::Handshake(HandshakeFailure::Alert)));
        let mut pair = Pair::new(false, &[]);
        let failed = pair.hear(b"220 mail.example ESMTP\r\n");
        assert_eq!(failed, Err(Broken::Handshake(HandshakeFailure::Protocol)));
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
}

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
use crate::{ConnectionNews, Sink};

/// What the TLS of a worker's connections has in common.
pub(super) struct SecureKit {
    config: Arc<ClientConfig>,
    name: ServerName<'static>,
    /// Whether the server must choose the protocol we offer.
    must_agree: bool,
    /// How much of what is to be said belongs into one record.
    unit: fn(&[u8]) -> usize,
    /// Room for what was decrypted.
    plain: Vec<u8>,
}

impl SecureKit {
    /// For connections that speak `protocol`; where the server must, it has to say so (ALPN). What is
    /// to be said begins with as much as `unit` says that belongs into one record.
    pub(super) fn new(
        tls: &Tls,
        protocol: &[u8],
        must_agree: bool,
        unit: fn(&[u8]) -> usize,
        clients: usize,
    ) -> Result<Self, StreamOpenError> {
        let (config, _) = tls.client_config(&[protocol], clients)?;
        let (config, name) = (Arc::new(config), tls.server_name());
        Ok(SecureKit { config, name, must_agree, unit, plain: Vec::new() })
    }
}

/// The TLS of one connection.
pub(super) struct Secure {
    tls: Box<ClientConnection>,
    is_done: bool,
    /// What is to be said once the handshake is done.
    held_back: Vec<u8>,
    /// What was said before, in case the server does not take it.
    early: Vec<u8>,
}

impl Secure {
    /// Begins a handshake, whose first words are appended to `out`.
    pub(super) fn begin(kit: &SecureKit, out: &mut Vec<u8>) -> Option<Self> {
        let mut tls = ClientConnection::new(Arc::clone(&kit.config), kit.name.clone()).ok()?;
        // Bounded by what it is given: the client's outbox is looked at before.
        tls.set_buffer_limit(None);
        let mut secure =
            Secure { tls: Box::new(tls), is_done: false, held_back: Vec::new(), early: Vec::new() };
        secure.take_records(out);
        Some(secure)
    }

    pub(super) fn is_handshaking(&self) -> bool {
        !self.is_done
    }

    pub(super) fn held_back(&self) -> usize {
        self.held_back.len()
    }

    /// Says `plain`, which is whole units, now or once it can be said.
    pub(super) fn write(&mut self, kit: &SecureKit, plain: &[u8], out: &mut Vec<u8>) {
        if self.is_done {
            return self.encrypt(kit, plain, out);
        }
        let mut left = plain;
        // What follows what was held back must be held back too.
        while self.held_back.is_empty() && !left.is_empty() {
            let Some(mut early) = self.tls.early_data() else { break };
            let unit = (kit.unit)(left);
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

    /// Takes what came: plain bytes go to `each`, what TLS has to say to `out`.
    pub(super) fn read<K: Sink>(
        &mut self,
        kit: &mut SecureKit,
        mut bytes: &[u8],
        out: &mut Vec<u8>,
        reader: &mut Reader<'_, K>,
        mut each: impl FnMut(&[u8], &mut Reader<'_, K>) -> Result<(), Broken>,
    ) -> Result<(), Broken> {
        while !bytes.is_empty() {
            // From memory; it takes some kilobytes at a time, and nothing once the server has said goodbye.
            if self.tls.read_tls(&mut bytes).is_ok_and(|taken| taken == 0) {
                break;
            }
            let state = match self.tls.process_new_packets() {
                Ok(state) => state,
                Err(error) => return Err(self.broken(&error, out)),
            };
            if !self.is_done && !self.tls.is_handshaking() {
                self.finish(kit, out, reader)?;
            }
            if self.tls.wants_write() {
                self.take_records(out);
            }
            let length = state.plaintext_bytes_to_read();
            if length > 0 {
                if kit.plain.len() < length {
                    kit.plain.resize(length, 0);
                }
                let length = self.tls.reader().read(&mut kit.plain[..length]).unwrap_or(0);
                each(&kit.plain[..length], reader)?;
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

    /// Says that nothing more will be said.
    pub(super) fn goodbye(&mut self, out: &mut Vec<u8>) {
        self.tls.send_close_notify();
        self.take_records(out);
    }

    /// What the handshake came to; what was held back is said now.
    fn finish<K: Sink>(
        &mut self,
        kit: &SecureKit,
        out: &mut Vec<u8>,
        reader: &mut Reader<'_, K>,
    ) -> Result<(), Broken> {
        if kit.must_agree && self.tls.alpn_protocol() != kit.config.alpn_protocols.first().map(Vec::as_slice)
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
            reader.tell(ConnectionNews::EarlyRejected);
            self.encrypt(kit, &early, out);
        }
        let held_back = std::mem::take(&mut self.held_back);
        self.encrypt(kit, &held_back, out);
        Ok(())
    }

    fn encrypt(&mut self, kit: &SecureKit, mut plain: &[u8], out: &mut Vec<u8>) {
        while !plain.is_empty() {
            let (unit, rest) = plain.split_at((kit.unit)(plain));
            // Takes all: there is no limit.
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

    /// What an error means; what is to be said of it is appended to `out`.
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

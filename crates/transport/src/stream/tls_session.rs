//! TLS between a session and its connection, without a socket: bytes in, bytes out.
//!
//! ```text
//!   plain bytes ── write ──► held back until the handshake is done, or early ──► records
//!   records ────── read ───► plain bytes
//! ```
//!
//! Whatever a server sends, a read ends: a step that takes nothing, and records that bring nothing, end the connection.

mod shared;
#[cfg(test)]
mod tests;

use std::io::{Read, Write};
use std::sync::Arc;

use dnsdyno_measure::{ConnectionEnd, HandshakeFailure, HandshakeKind};
use rustls::{ClientConnection, IoState};

use super::session::{Broken, Reader};
use crate::bounds::{BYTES_WITHOUT_DATA, HANDSHAKE_BYTES};
use crate::tls::{Facts, failure_of, no_protocol, words_of, words_of_alert};
use crate::{ConnectionEvent, Sink};
pub(super) use shared::TlsShared;

/// The TLS of one connection.
pub(super) struct TlsSession {
    tls: Box<ClientConnection>,
    is_done: bool,
    /// Bytes of records since the handshake began; once it is done, since the last data.
    without_data: usize,
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
        let (held_back, early) = (Vec::new(), Vec::new());
        let mut secure = TlsSession { tls: Box::new(tls), is_done: false, without_data: 0, held_back, early };
        secure.take_records(out);
        Some(secure)
    }

    pub(super) fn is_handshaking(&self) -> bool {
        !self.is_done
    }

    /// Whether queries were sent with the first flight of the handshake, which is not done.
    pub(super) fn has_sent_early(&self) -> bool {
        !self.early.is_empty()
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
        received: &[u8],
        out: &mut Vec<u8>,
        reader: &mut Reader<'_, K>,
        mut each: impl FnMut(&[u8], &mut Reader<'_, K>) -> Result<(), Broken>,
    ) -> Result<(), Broken> {
        // For the words of a failure: what is not TLS shows in its first bytes.
        let first = if self.without_data == 0 { received } else { &[] };
        let mut bytes = received;
        while !bytes.is_empty() {
            // From memory; some kilobytes at a time.
            match self.tls.read_tls(&mut bytes) {
                // The server has sent close_notify: nothing follows.
                Ok(0) => break,
                Ok(taken) => self.without_data += taken,
                // The library holds as much of a message as it will.
                Err(_) => return Err(self.excess(shared)),
            }
            let processed = self.tls.process_new_packets();
            if !self.is_done && !self.tls.is_handshaking() {
                self.finish(shared, out, reader)?;
            }
            if self.tls.wants_write() {
                self.take_records(out);
            }
            // Data before an error was sent before it.
            let waiting = processed.as_ref().map_or(usize::MAX, IoState::plaintext_bytes_to_read);
            self.pass_on(shared, waiting, |plain| each(plain, reader))?;
            match processed {
                Err(error) => return Err(self.broken(shared, &error, first)),
                Ok(state) if state.peer_has_closed() => return Err(self.closed(shared)),
                Ok(_) => {}
            }
            if self.without_data > if self.is_done { BYTES_WITHOUT_DATA } else { HANDSHAKE_BYTES } {
                return Err(self.excess(shared));
            }
        }
        Ok(())
    }

    /// Passes decrypted bytes to `each`, up to `waiting` or as many as there are.
    fn pass_on(
        &mut self,
        shared: &mut TlsShared,
        mut waiting: usize,
        mut each: impl FnMut(&[u8]) -> Result<(), Broken>,
    ) -> Result<(), Broken> {
        while waiting > 0 {
            let Ok(length @ 1..) = self.tls.reader().read(&mut shared.plain) else { break };
            self.without_data = 0;
            waiting = waiting.saturating_sub(length);
            each(&shared.plain[..length])?;
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
        shared: &mut TlsShared,
        out: &mut Vec<u8>,
        reader: &mut Reader<'_, K>,
    ) -> Result<(), Broken> {
        if shared.must_agree
            && self.tls.alpn_protocol() != shared.config.alpn_protocols.first().map(Vec::as_slice)
        {
            let why = HandshakeFailure::Alpn;
            shared.explained.handshake(why, || no_protocol(&shared.config.alpn_protocols));
            return Err(Broken::Handshake(why));
        }
        (self.is_done, self.without_data) = (true, 0);
        shared.note_peer(&self.tls);
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

    /// What an error means. An alert for the server is among the records already.
    #[cold]
    fn broken(&mut self, shared: &mut TlsShared, error: &rustls::Error, first: &[u8]) -> Broken {
        if !self.is_done {
            let why = failure_of(error);
            let TlsShared { explained, rejected, config, .. } = shared;
            explained.handshake(why, || {
                let certificate = rejected.take();
                let (offered, certificate) = (&config.alpn_protocols[..], certificate.as_deref());
                words_of(error, &Facts { offered, certificate, first })
            });
            return Broken::Handshake(why);
        }
        let end = match error {
            rustls::Error::AlertReceived(alert) => {
                shared.explained.end(ConnectionEnd::Error, || words_of_alert(*alert, &[]));
                ConnectionEnd::Error
            }
            error => {
                shared.explained.end(ConnectionEnd::Protocol, || words_of(error, &Facts::default()));
                ConnectionEnd::Protocol
            }
        };
        Broken::Ended(end)
    }

    /// The server has closed TLS.
    #[cold]
    fn closed(&self, shared: &mut TlsShared) -> Broken {
        if self.is_done {
            return Broken::Ended(ConnectionEnd::ByServer);
        }
        let why = HandshakeFailure::Closed;
        shared
            .explained
            .handshake(why, || "the server closed TLS during the handshake, without a reason".to_owned());
        Broken::Handshake(why)
    }

    /// The server has sent more than is taken.
    #[cold]
    fn excess(&self, shared: &mut TlsShared) -> Broken {
        if self.is_done {
            let end = ConnectionEnd::Excess;
            shared.explained.end(end, || {
                format!(
                    "the server sent more than {} kB of TLS records without data",
                    BYTES_WITHOUT_DATA >> 10
                )
            });
            return Broken::Ended(end);
        }
        let why = HandshakeFailure::TooLong;
        shared.explained.handshake(why, || {
            "the server sent more than a TLS handshake may have, without an end: long certificates, or too many of them"
                .to_owned()
        });
        Broken::Handshake(why)
    }
}

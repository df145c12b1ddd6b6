//! DNS over HTTPS (RFC 8484): a stream of HTTP/2 for each query, inside TLS.

use dnsdyno_measure::{ConnectionEnd, Explanation, NotSentReason};

use super::config::StreamOpenError;
use super::http::{Http, HttpShared};
use super::pool::BufferPool;
use super::session::{Broken, Reader, Session};
use super::tls_session::{TlsSession, TlsShared};
use crate::explained::Explained;
use crate::tls::Tls;
use crate::{Batch, Peer, Sink};

/// The configuration of HTTP.
#[derive(Clone, Debug)]
pub struct DohSetup {
    /// The TLS under it.
    pub tls: Tls,
    /// Host and port of the server, as in a URI.
    pub authority: String,
    /// The path of the resource.
    pub path: String,
    /// Whether a query travels in the path (GET), and not in a body (POST).
    pub is_get: bool,
}

/// A session of HTTP over TLS.
pub struct Doh {
    secure: TlsSession,
    http: Http,
}

/// What the sessions of a worker have in common.
pub struct DohShared {
    secure: TlsShared,
    http: HttpShared,
    /// HTTP frames, before they are encrypted.
    plain: Vec<u8>,
}

impl Session for Doh {
    type Setup = DohSetup;
    type Shared = DohShared;
    const NEEDS_TIME: bool = true;

    fn shared(setup: &DohSetup, clients: usize) -> Result<DohShared, StreamOpenError> {
        let secure = TlsShared::new(&setup.tls, b"h2", true, <[u8]>::len, clients)?;
        let http = HttpShared::new(&setup.authority, &setup.path, setup.is_get);
        Ok(DohShared { secure, http, plain: Vec::new() })
    }

    fn begin(shared: &mut DohShared, out: &mut Vec<u8>) -> Option<Self> {
        let mut secure = TlsSession::begin(&shared.secure, out)?;
        shared.plain.clear();
        let http = Http::begin(&mut shared.plain);
        secure.write(&shared.secure, &shared.plain, out);
        Some(Doh { secure, http })
    }

    fn encode(&mut self, shared: &mut DohShared, batch: &Batch, now_ns: u64, out: &mut Vec<u8>) -> usize {
        shared.plain.clear();
        let mut encoded = 0;
        for message in batch.iter() {
            if !self.http.encode(&mut shared.http, message, now_ns, &mut shared.plain) {
                break;
            }
            encoded += 1;
        }
        self.secure.write(&shared.secure, &shared.plain, out);
        encoded
    }

    fn read<K: Sink>(
        &mut self,
        shared: &mut DohShared,
        pool: &mut BufferPool,
        bytes: &[u8],
        out: &mut Vec<u8>,
        reader: &mut Reader<'_, K>,
    ) -> Result<(), Broken> {
        let Doh { secure, http } = self;
        shared.plain.clear();
        let taken = secure.read(&mut shared.secure, bytes, out, reader, |received, reader| {
            http.read(&mut shared.http, pool, received, &mut shared.plain, reader)
        });
        if !shared.plain.is_empty() {
            secure.write(&shared.secure, &shared.plain, out);
        }
        taken.map_err(|broken| match broken {
            // Some servers close TLS after HTTP has given the reason.
            Broken::Ended(ConnectionEnd::ByServer) => {
                Broken::Ended(http.closing().unwrap_or(ConnectionEnd::ByServer))
            }
            other => other,
        })
    }

    fn capacity(&self) -> usize {
        self.http.capacity()
    }

    fn blocked_by(&self) -> NotSentReason {
        self.http.blocked_by()
    }

    fn held_back(&self) -> usize {
        self.secure.held_back()
    }

    fn is_handshaking(&self) -> bool {
        self.secure.is_handshaking()
    }

    fn has_sent_early(&self) -> bool {
        self.secure.has_sent_early()
    }

    fn closing(&self) -> Option<ConnectionEnd> {
        self.http.closing()
    }

    fn cancel_before<K: Sink>(
        &mut self,
        shared: &mut DohShared,
        pool: &mut BufferPool,
        sent_ns: u64,
        out: &mut Vec<u8>,
        reader: &mut Reader<'_, K>,
    ) {
        shared.plain.clear();
        self.http.cancel_before(&mut shared.http, pool, sent_ns, &mut shared.plain, reader);
        if !shared.plain.is_empty() {
            self.secure.write(&shared.secure, &shared.plain, out);
        }
    }

    fn close(&mut self, out: &mut Vec<u8>) {
        self.secure.close(out);
    }

    fn end(self, pool: &mut BufferPool) {
        self.http.end(pool);
    }

    fn explained(shared: &mut DohShared) -> Option<&mut Explained> {
        Some(shared.secure.explained())
    }

    fn explanations(shared: &mut DohShared) -> Vec<Explanation> {
        let mut all = shared.secure.explained().take();
        all.extend(shared.http.explained.take());
        all
    }

    fn peer(shared: &DohShared) -> Option<Peer> {
        shared.secure.peer().cloned()
    }
}

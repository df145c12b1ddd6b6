//! DNS over TLS (RFC 7858): messages as over TCP, inside TLS. Each query has a TLS record of its own, and
//! those that are sent at the same time share one write: NSD 4.6 answers the first query of a record, and
//! reads the others only when the next packet arrives.

#[cfg(any(test, feature = "fuzzing"))]
pub(crate) mod fuzzing;

use super::config::StreamOpenError;
use super::plain::{Inbox, first_frame_bytes, frame};
use super::pool::BufferPool;
use super::session::{Broken, Reader, Session};
use super::tls_session::{TlsSession, TlsShared};
use crate::explained::Explained;
use crate::tls::Tls;
use crate::{Batch, Peer, Sink};

/// A session of TLS.
pub struct Dot {
    secure: TlsSession,
    inbox: Inbox,
}

/// What the sessions of a worker have in common.
pub struct DotShared {
    secure: TlsShared,
    /// A batch, each message preceded by its length.
    plain: Vec<u8>,
}

impl Session for Dot {
    type Setup = Tls;
    type Shared = DotShared;

    fn shared(setup: &Tls, clients: usize) -> Result<DotShared, StreamOpenError> {
        // Many DoT servers do not support ALPN.
        let secure = TlsShared::new(setup, b"dot", false, first_frame_bytes, clients)?;
        Ok(DotShared { secure, plain: Vec::new() })
    }

    fn begin(shared: &mut DotShared, out: &mut Vec<u8>) -> Option<Self> {
        Some(Dot { secure: TlsSession::begin(&shared.secure, out)?, inbox: Inbox::default() })
    }

    fn encode(&mut self, shared: &mut DotShared, batch: &Batch, _now_ns: u64, out: &mut Vec<u8>) -> usize {
        shared.plain.clear();
        frame(batch, &mut shared.plain);
        self.secure.write(&shared.secure, &shared.plain, out);
        batch.len()
    }

    fn read<K: Sink>(
        &mut self,
        shared: &mut DotShared,
        pool: &mut BufferPool,
        bytes: &[u8],
        out: &mut Vec<u8>,
        reader: &mut Reader<'_, K>,
    ) -> Result<(), Broken> {
        let Dot { secure, inbox } = self;
        secure.read(&mut shared.secure, bytes, out, reader, |plain, reader| inbox.read(pool, plain, reader))
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

    fn close(&mut self, out: &mut Vec<u8>) {
        self.secure.close(out);
    }

    fn end(self, pool: &mut BufferPool) {
        self.inbox.end(pool);
    }

    fn explained(shared: &mut DotShared) -> Option<&mut Explained> {
        Some(shared.secure.explained())
    }

    fn peer(shared: &DotShared) -> Option<Peer> {
        shared.secure.peer().cloned()
    }
}

//! DNS over TLS (RFC 7858): messages as over TCP, inside TLS. Each has a record of its own, and those that
//! leave at once share a write: there are servers that answer the first of a record and wait for the next
//! packet before they look at the others.

use super::config::StreamOpenError;
use super::plain::{Inbox, first_frame_bytes, frame};
use super::pool::BufferPool;
use super::secure::{Secure, SecureKit};
use super::session::{Broken, Reader, Session};
use crate::tls::Tls;
use crate::{Batch, Sink};

/// A session of TLS.
pub struct Dot {
    secure: Secure,
    inbox: Inbox,
}

/// What the sessions of a worker have in common.
pub struct DotKit {
    secure: SecureKit,
    /// A batch, each message behind its length.
    plain: Vec<u8>,
}

impl Session for Dot {
    type Setup = Tls;
    type Kit = DotKit;

    fn kit(setup: &Tls, clients: usize) -> Result<DotKit, StreamOpenError> {
        // Many servers of DoT know nothing of ALPN.
        let secure = SecureKit::new(setup, b"dot", false, first_frame_bytes, clients)?;
        Ok(DotKit { secure, plain: Vec::new() })
    }

    fn begin(kit: &mut DotKit, out: &mut Vec<u8>) -> Option<Self> {
        Some(Dot { secure: Secure::begin(&kit.secure, out)?, inbox: Inbox::default() })
    }

    fn ask(&mut self, kit: &mut DotKit, batch: &Batch, _now_ns: u64, out: &mut Vec<u8>) -> usize {
        kit.plain.clear();
        frame(batch, &mut kit.plain);
        self.secure.write(&kit.secure, &kit.plain, out);
        batch.len()
    }

    fn take<K: Sink>(
        &mut self,
        kit: &mut DotKit,
        pool: &mut BufferPool,
        bytes: &[u8],
        out: &mut Vec<u8>,
        reader: &mut Reader<'_, K>,
    ) -> Result<(), Broken> {
        let Dot { secure, inbox } = self;
        secure.read(&mut kit.secure, bytes, out, reader, |plain, reader| inbox.take(pool, plain, reader))
    }

    fn held_back(&self) -> usize {
        self.secure.held_back()
    }

    fn is_handshaking(&self) -> bool {
        self.secure.is_handshaking()
    }

    fn goodbye(&mut self, out: &mut Vec<u8>) {
        self.secure.goodbye(out);
    }

    fn end(self, pool: &mut BufferPool) {
        self.inbox.end(pool);
    }
}

//! Messages preceded by their length in two bytes (RFC 1035, 4.2.2), as over TCP and TLS.

use dnsdyno_measure::ConnectionEnd;

use super::config::StreamOpenError;
use super::pool::BufferPool;
use super::session::{Broken, Reader, Session};
use crate::{Batch, MessageKind, Sink};

/// A session without a handshake or encryption.
#[derive(Debug, Default)]
pub struct Plain {
    inbox: Inbox,
}

impl Session for Plain {
    type Setup = ();
    type Shared = ();

    fn shared(_: &(), _clients: usize) -> Result<(), StreamOpenError> {
        Ok(())
    }

    fn begin(_: &mut (), _out: &mut Vec<u8>) -> Option<Self> {
        Some(Plain::default())
    }

    #[inline]
    fn encode(&mut self, _: &mut (), batch: &Batch, _now_ns: u64, out: &mut Vec<u8>) -> usize {
        frame(batch, out);
        batch.len()
    }

    #[inline]
    fn read<K: Sink>(
        &mut self,
        _: &mut (),
        pool: &mut BufferPool,
        bytes: &[u8],
        _out: &mut Vec<u8>,
        reader: &mut Reader<'_, K>,
    ) -> Result<(), Broken> {
        self.inbox.read(pool, bytes, reader)
    }

    fn end(self, pool: &mut BufferPool) {
        self.inbox.end(pool);
    }
}

/// Appends each message of the batch, preceded by its length.
pub(super) fn frame(batch: &Batch, frames: &mut Vec<u8>) {
    for message in batch.iter() {
        frames.extend_from_slice(&(message.len() as u16).to_be_bytes());
        frames.extend_from_slice(message);
    }
}

/// The beginning of a message that was not received completely.
#[derive(Debug, Default)]
pub(super) struct Inbox {
    bytes: Vec<u8>,
}

impl Inbox {
    /// Hands over the complete messages, and keeps the beginning of the next.
    pub(super) fn read<K: Sink>(
        &mut self,
        pool: &mut BufferPool,
        received: &[u8],
        reader: &mut Reader<'_, K>,
    ) -> Result<(), Broken> {
        let is_fresh = self.bytes.is_empty();
        if !is_fresh {
            self.bytes.extend_from_slice(received);
        }
        let bytes = if is_fresh { received } else { &self.bytes[..] };
        let mut at = 0;
        while let Some(message) = first_message(&bytes[at..]) {
            at += LENGTH_BYTES + message.len();
            if reader.answer(message) == MessageKind::Malformed {
                return Err(Broken::Ended(ConnectionEnd::Garbled));
            }
        }
        if is_fresh && at < received.len() {
            self.bytes = pool.take();
            self.bytes.extend_from_slice(&received[at..]);
        } else if !is_fresh {
            self.bytes.drain(..at);
            if self.bytes.is_empty() {
                pool.give_back(std::mem::take(&mut self.bytes));
            }
        }
        Ok(())
    }

    pub(super) fn end(self, pool: &mut BufferPool) {
        pool.give_back(self.bytes);
    }
}

/// The length of the first message, its length field included; `frames` are complete messages.
pub(super) fn first_frame_bytes(frames: &[u8]) -> usize {
    first_message(frames).map_or(frames.len(), |message| LENGTH_BYTES + message.len())
}

/// The complete message at the start of `bytes`, if there is one.
#[inline]
fn first_message(bytes: &[u8]) -> Option<&[u8]> {
    let length = usize::from(u16::from_be_bytes(*bytes.first_chunk()?));
    bytes.get(LENGTH_BYTES..LENGTH_BYTES + length)
}

const LENGTH_BYTES: usize = 2;

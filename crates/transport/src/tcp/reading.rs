//! What comes over a connection: bytes in pieces of any size, of which messages are made whole.

use std::io::{self, Read};

use dnsdyno_measure::ConnectionEnd;

use super::TcpTransport;
use super::client::Phase;
use crate::{Came, ConnectionNews, Sink};

impl TcpTransport {
    /// Reads what there is, up to the bound of a round.
    pub(super) fn read(&mut self, channel: usize, is_closing: bool, sink: &mut impl Sink) {
        for _ in 0..ROUNDS {
            let Some(mut stream) = self.clients[channel].stream.as_ref() else { return };
            match stream.read(&mut self.chunk) {
                Ok(0) => {
                    let fate = self.end_of(channel, ConnectionEnd::ByServer);
                    return self.doom(channel, fate);
                }
                Ok(length) => {
                    self.take_in(channel, length, sink);
                    let is_emptied = length < self.chunk.len() && !is_closing;
                    if is_emptied || self.clients[channel].phase != Phase::Open {
                        return;
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return self.break_off(channel, &error),
            }
        }
        // No event will tell of what is left.
        self.unread.push(channel as u32);
    }

    /// Hands over the whole messages among what was read, and keeps the beginning of the next.
    fn take_in(&mut self, channel: usize, length: usize, sink: &mut impl Sink) {
        let at_ns = self.clock.now_ns();
        let client = &mut self.clients[channel];
        client.read_ns = at_ns;
        if !std::mem::replace(&mut client.has_read, true) {
            let opened_ns = client.opened_ns;
            self.news.push((channel as u32, at_ns, ConnectionNews::FirstByte { opened_ns }));
        }
        let mut inbox = std::mem::take(&mut client.inbox);
        let is_fresh = inbox.is_empty();
        if !is_fresh {
            inbox.extend_from_slice(&self.chunk[..length]);
        }
        let bytes = if is_fresh { &self.chunk[..length] } else { &inbox[..] };
        let (mut at, mut is_garbled) = (0, false);
        while let Some(message) = first_message(&bytes[at..]) {
            at += LENGTH_BYTES + message.len();
            match sink.answer(channel, at_ns, client.since_ns, message) {
                Came::Answer => {
                    client.answers = client.answers.saturating_add(1);
                    client.under_way = client.under_way.saturating_sub(1);
                }
                Came::Beside => {}
                Came::Garbage => {
                    is_garbled = true;
                    break;
                }
            }
        }
        if is_fresh && at < length {
            inbox = self.spare.take();
            inbox.extend_from_slice(&self.chunk[at..length]);
        } else if !is_fresh {
            inbox.drain(..at);
        }
        if inbox.is_empty() {
            self.spare.give_back(inbox);
        } else {
            client.inbox = inbox;
        }
        if is_garbled {
            self.doom(channel, self.end_of(channel, ConnectionEnd::Garbled));
        } else if self.clients[channel].is_spent(self.limit) {
            self.doom(channel, self.end_of(channel, ConnectionEnd::ByUs));
        }
    }
}

/// The whole message that `bytes` begin with.
#[inline]
fn first_message(bytes: &[u8]) -> Option<&[u8]> {
    let length = usize::from(u16::from_be_bytes(*bytes.first_chunk()?));
    bytes.get(LENGTH_BYTES..LENGTH_BYTES + length)
}

/// A message travels behind its length (RFC 1035, 4.2.2).
const LENGTH_BYTES: usize = 2;

/// Bytes that one call reads: the longest message, and more of short ones than a batch.
pub(super) const CHUNK: usize = 64 << 10;

/// Full reads of one connection before the others get their turn.
const ROUNDS: usize = 4;

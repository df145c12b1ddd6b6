//! A message that was found, before its octets are looked up.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::ops::Range;

use crate::message::Protocol;

/// A message that was found, and where its octets are.
#[derive(Clone, Debug)]
pub(crate) struct Found {
    /// `None` before the first packet or message that says when it was captured.
    pub(crate) at_unix_ns: Option<u64>,
    pub(crate) protocol: Protocol,
    pub(crate) source: SocketAddr,
    pub(crate) destination: SocketAddr,
    pub(crate) place: Place,
}

/// Where the octets of a message are.
#[derive(Clone, Debug)]
pub(crate) enum Place {
    /// In the window of the input.
    Window(Range<usize>),
    /// In the memory of what was put together: see [`Assembled`].
    Assembled(Range<usize>),
    /// The query of the dnstap message.
    Query,
    /// The response of the dnstap message.
    Response,
}

/// Messages of several packets, put together, that wait to be given.
#[derive(Default)]
pub(crate) struct Assembled {
    octets: Vec<u8>,
    messages: VecDeque<Found>,
}

impl Assembled {
    /// Adds a message; its place is where it is kept here.
    pub(crate) fn push(&mut self, message: &[u8], found: impl FnOnce(Place) -> Found) {
        let start = self.octets.len();
        self.octets.extend_from_slice(message);
        self.messages.push_back(found(Place::Assembled(start..self.octets.len())));
    }

    /// The next message. The octets of the one before may be gone.
    pub(crate) fn pop(&mut self) -> Option<Found> {
        let found = self.messages.pop_front();
        if found.is_none() {
            self.octets.clear();
        }
        found
    }

    pub(crate) fn octets(&self, place: Range<usize>) -> &[u8] {
        self.octets.get(place).unwrap_or_default()
    }
}

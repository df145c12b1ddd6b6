//! Reports to the sink what has happened since the last time.

use super::client::Phase;
use super::connection::{Protocol, StreamQuery};
use super::state::QuicTransport;
use crate::{ConnectionEvent, Sink};

impl<P: Protocol> QuicTransport<P> {
    /// Reports events, in order. A client whose connection has ended can send again from here on.
    pub(super) fn report(&mut self, sink: &mut impl Sink) {
        if self.reused > 0 {
            sink.reused(std::mem::take(&mut self.reused));
        }
        for i in 0..self.failed.len() {
            let (channel, StreamQuery { id, at_ns }, why) = self.failed[i];
            // One that has timed out before is not outstanding any more.
            if sink.stream_failed(channel as usize, id, at_ns, why) {
                self.note_ended(channel as usize);
            }
        }
        self.failed.clear();
        for i in 0..self.news.len() {
            let (channel, at_ns, news) = self.news[i];
            if matches!(news, ConnectionEvent::Failed(_) | ConnectionEvent::Ended { .. }) {
                self.clients[channel as usize].vacate();
                self.enqueue(channel as usize);
            }
            sink.connection(channel as usize, at_ns, news);
        }
        self.news.clear();
    }

    /// A query of this client was outstanding, and has ended without a response.
    fn note_ended(&mut self, channel: usize) {
        let client = &mut self.clients[channel];
        client.outstanding = client.outstanding.saturating_sub(1);
        if client.phase == Phase::Open && client.is_spent(self.limit) {
            self.close_complete(channel);
        }
    }
}

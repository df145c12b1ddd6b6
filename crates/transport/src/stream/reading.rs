//! Receiving over a connection: bytes in pieces of any size, which the session turns into messages.

use std::io::{self, Read};

use dnsdyno_measure::ConnectionEnd;

use super::client::Phase;
use super::session::{Broken, Reader, Session};
use super::state::Streams;
use crate::bounds::CHUNKS_A_TURN;
use crate::{ConnectionEvent, Sink};

impl<S: Session> Streams<S> {
    /// Reads what the last turn has left; what this turn leaves waits for the next.
    pub(super) fn read_left_over(&mut self, sink: &mut impl Sink) {
        std::mem::swap(&mut self.unread, &mut self.left_over);
        for i in 0..self.left_over.len() {
            let channel = self.left_over[i] as usize;
            self.clients[channel].is_unread = false;
            if self.clients[channel].phase == Phase::Open {
                self.read(channel, true, sink);
            }
        }
        self.left_over.clear();
    }

    /// Reads what was received, up to the bound of a turn.
    pub(super) fn read(&mut self, channel: usize, is_closing: bool, sink: &mut impl Sink) {
        if self.clients[channel].is_unread {
            return;
        }
        for _ in 0..CHUNKS_A_TURN {
            let Some(mut stream) = self.clients[channel].stream.as_ref() else { return };
            match stream.read(&mut self.chunk) {
                Ok(0) => return self.end_read(channel),
                Ok(length) => {
                    self.pass_to_session(channel, length, sink);
                    let is_emptied = length < self.chunk.len() && !is_closing;
                    if is_emptied || self.clients[channel].phase != Phase::Open {
                        return;
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    if self.clients[channel].is_broken {
                        self.end_read(channel);
                    }
                    return;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return self.fail_on_error(channel, &error),
            }
        }
        // No event will report the rest.
        self.clients[channel].is_unread = true;
        self.unread.push(channel as u32);
    }

    /// Ends a connection over which nothing more comes.
    #[cold]
    fn end_read(&mut self, channel: usize) {
        let is_broken = self.clients[channel].is_broken;
        self.end_open(channel, if is_broken { ConnectionEnd::Reset } else { ConnectionEnd::ByServer });
    }

    /// Hands what was read to the session, and sends what it wants to be sent.
    fn pass_to_session(&mut self, channel: usize, length: usize, sink: &mut impl Sink) {
        let at_ns = self.clock.now_ns();
        let client = &mut self.clients[channel];
        if !std::mem::replace(&mut client.has_read, true) {
            let opened_ns = client.opened_ns;
            self.news.push((channel as u32, at_ns, ConnectionEvent::FirstByte { opened_ns }));
        }
        let Some(session) = &mut client.session else { return };
        let times = (client.since_ns, client.established_ns);
        let mut reader = Reader::new(sink, &mut self.news, channel, at_ns, times);
        self.frames.clear();
        let bytes = &self.chunk[..length];
        let taken = session.read(&mut self.shared, &mut self.pool, bytes, &mut self.frames, &mut reader);
        let Reader { since_ns, answers, ended, has_received, .. } = reader;
        client.since_ns = since_ns;
        if has_received {
            client.read_ns = at_ns;
        }
        client.answers = client.answers.saturating_add(answers);
        client.outstanding = client.outstanding.saturating_sub(ended);
        match taken {
            Ok(()) => {
                if !self.frames.is_empty() {
                    self.write_frames(channel);
                }
                self.after_reading(channel);
            }
            Err(broken) => {
                self.write_last(channel);
                match broken {
                    Broken::Handshake(why) => self.fail_handshake(channel, why),
                    Broken::Ended(end) => self.end_open(channel, end),
                }
            }
        }
    }

    /// Closes a connection that is complete, and queues the client if it has capacity again.
    #[inline]
    pub(super) fn after_reading(&mut self, channel: usize) {
        let client = &self.clients[channel];
        if client.phase != Phase::Open {
            return;
        }
        if client.is_spent(self.limit) {
            self.end_open(channel, ConnectionEnd::ByUs);
        } else if let Some(end) = client.drained() {
            self.end_open(channel, end);
        } else if !client.is_queued {
            self.enqueue(channel);
        }
    }
}

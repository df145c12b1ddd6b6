//! What a worker does about connections: it counts what becomes of them, and sees that no query is
//! lost with one.
//!
//! ```text
//!   connection lost ──► its unanswered queries ─┬─ asked again on the next (RFC 7766, 6.2.4)
//!                                               └─ refused, where connections bring no answer
//! ```

use dnsdyno_measure::{ConnectFailure, ConnectionEnd, HalfFailure, StreamFailure};
use dnsdyno_transport::{ConnectionNews, Stopped, Transport};

use crate::inflight::Departure;
use crate::worker::{Desk, Worker};

/// The connections of a worker's clients.
#[derive(Default)]
pub(crate) struct Connected {
    /// Connections that are there now.
    open: u64,
    /// Whether one was refused of late, while there was none, or a client failed to shake hands again and again.
    pub(crate) is_turned_away: bool,
    /// By client: whether its is.
    is_there: Vec<bool>,
    /// How many connections of each client ended in a row without one answer.
    fruitless: Vec<u8>,
    /// Queries that wait to be asked again, those of one client together.
    again: Vec<Again>,
    /// Whether a server has refused streams since this was last looked at.
    refuses_streams: bool,
    /// Until then nothing is asked again.
    again_from_ns: u64,
}

/// A query that was on a connection which was lost.
#[derive(Clone, Copy)]
struct Again {
    channel: u32,
    id: u16,
    /// Tells it from a later query with the same ID.
    sent_ns: u64,
}

impl Connected {
    /// Of `clients` clients.
    pub(crate) fn new(clients: usize) -> Self {
        Connected { is_there: vec![false; clients], fruitless: vec![0; clients], ..Connected::default() }
    }

    /// Whether there are clients at all.
    pub(crate) fn is_used(&self) -> bool {
        !self.fruitless.is_empty()
    }

    /// Whether this client has a connection.
    pub(crate) fn is_there(&self, channel: usize) -> bool {
        self.is_there.get(channel).copied().unwrap_or(false)
    }

    fn note_there(&mut self, channel: usize, is_there: bool) {
        if let Some(known) = self.is_there.get_mut(channel) {
            *known = is_there;
        }
    }

    /// Whether queries wait to be asked again.
    pub(crate) fn has_more_to_ask(&self) -> bool {
        !self.again.is_empty()
    }
}

impl Desk<'_> {
    /// Counts what happened to a connection, and finds what was under way on one that is lost.
    pub(crate) fn hear(&mut self, channel: usize, at_ns: u64, news: ConnectionNews) {
        let counts = self.book.arrivals().connections_mut();
        match news {
            ConnectionNews::Opened => counts.opened += 1,
            ConnectionNews::NotOpened(why) => {
                counts.opened += 1;
                counts.add_failed(why, 1);
            }
            ConnectionNews::Established { opened_ns } => {
                counts.established += 1;
                counts.connect.record(at_ns.saturating_sub(opened_ns));
                self.connected.open += 1;
                self.connected.note_there(channel, true);
                self.note_open();
            }
            ConnectionNews::FirstByte { opened_ns } => {
                counts.first_byte.record(at_ns.saturating_sub(opened_ns));
            }
            ConnectionNews::Handshaken { kind, begun_ns } => {
                counts.encrypted_mut().add_handshake(kind, at_ns.saturating_sub(begun_ns));
            }
            ConnectionNews::HandshakeFailed(why) => counts.encrypted_mut().add_failed(why, 1),
            ConnectionNews::EarlyRejected => counts.encrypted_mut().early_rejected += 1,
            ConnectionNews::Failed(why) => {
                counts.add_failed(why, 1);
                self.connected.is_turned_away |= self.connected.open == 0;
                let has_hope = match why {
                    // One that took too long says nothing on the next.
                    ConnectFailure::TimedOut => true,
                    // Over QUIC; of other transports it ends a connection.
                    ConnectFailure::Handshake => self.has_hope(channel, ConnectionEnd::Handshake, 0),
                    _ => false,
                };
                self.settle_lost(channel, has_hope, half_lost_with_opening(why));
            }
            ConnectionNews::Ended { end, answers } => {
                counts.add_ended(end, 1);
                self.connected.open -= 1;
                self.connected.note_there(channel, false);
                let has_hope = self.has_hope(channel, end, answers);
                self.connected.is_turned_away |= end == ConnectionEnd::Handshake && !has_hope;
                self.settle_lost(channel, has_hope, half_lost_with(end));
            }
        }
    }

    /// A stream ended without an answer: its query is asked again where the server has said that it did
    /// nothing about it, and is refused otherwise.
    pub(crate) fn lose_stream(&mut self, channel: usize, id: u16, asked_ns: u64, why: StreamFailure) -> bool {
        self.book.arrivals().connections_mut().encrypted_mut().add_stream(why, 1);
        // A later query may have got the ID since.
        let query = self.table.live_at(channel, id).filter(|departure| departure.sent_ns <= asked_ns);
        let Some(departure) = query else { return false };
        if why.is_safe_to_ask_again() {
            let (channel, sent_ns) = (channel as u32, departure.sent_ns);
            self.connected.again.push(Again { channel, id, sent_ns });
            self.connected.refuses_streams |= why == StreamFailure::Refused;
        } else if let Some(departure) = self.table.refuse(channel, id, |_| true) {
            self.book.refused(&departure);
        }
        true
    }

    /// Whether to ask again what was under way: not for ever, where connections end without an answer.
    fn has_hope(&mut self, channel: usize, end: ConnectionEnd, answers: u64) -> bool {
        let Some(fruitless) = self.connected.fruitless.get_mut(channel) else { return false };
        if answers > 0 || end == ConnectionEnd::ByUs {
            *fruitless = 0;
            return true;
        }
        *fruitless += 1;
        let has_hope = *fruitless < MOST_FRUITLESS;
        if !has_hope {
            *fruitless = 0;
        }
        has_hope
    }

    /// What was under way on a connection is asked again, or refused; `why` says it of a second half.
    fn settle_lost(&mut self, channel: usize, is_asked_again: bool, why: HalfFailure) {
        self.connected.again.retain(|again| again.channel as usize != channel);
        let again = &mut self.connected.again;
        let mut lost = 0;
        self.table.each_since_last(channel, |id, departure| {
            again.push(Again { channel: channel as u32, id, sent_ns: departure.sent_ns });
            lost += 1;
        });
        if !is_asked_again && lost > 0 {
            for i in self.connected.again.len() - lost..self.connected.again.len() {
                let Again { id, .. } = self.connected.again[i];
                if let Some(departure) = self.table.refuse(channel, id, |_| true) {
                    self.book.refused(&departure);
                    self.fail_tcp(channel, &departure, why);
                }
            }
            let kept = self.connected.again.len() - lost;
            self.connected.again.truncate(kept);
        }
    }

    /// Notes how many connections there are; an interval begins with those of the one before.
    pub(crate) fn note_open(&mut self) {
        let open = self.connected.open;
        let counts = self.book.arrivals().connections_mut();
        counts.open_max = counts.open_max.max(open);
    }

    /// The query that waits to be asked again, if it is still under way.
    fn still_under_way(&self, again: Again) -> Option<Departure> {
        self.table
            .live_at(again.channel as usize, again.id)
            .filter(|departure| departure.sent_ns == again.sent_ns)
    }
}

impl<T: Transport> Worker<'_, T> {
    /// Asks again what was on connections that were lost, each client's on its next one. What
    /// cannot leave now waits; its timeout goes on.
    pub(crate) fn ask_again(&mut self) {
        if self.desk.connected.again.is_empty() {
            return;
        }
        // A server that refuses streams is not asked for the same at once: it would be as often as it can.
        let now_ns = self.transport.now_ns();
        if std::mem::take(&mut self.desk.connected.refuses_streams) {
            self.desk.connected.again_from_ns = now_ns + REFUSED_PAUSE_NS;
        }
        if now_ns < self.desk.connected.again_from_ns {
            return;
        }
        let waiting = std::mem::take(&mut self.desk.connected.again);
        for of_one in waiting.chunk_by(|a, b| a.channel == b.channel) {
            for some in of_one.chunks(AGAIN_AT_ONCE) {
                self.ask_again_of(some);
            }
        }
    }

    /// Asks again some queries of one client.
    fn ask_again_of(&mut self, waiting: &[Again]) {
        let channel = waiting[0].channel as usize;
        self.batch.clear();
        for again in waiting {
            if let Some(departure) = self.desk.still_under_way(*again) {
                self.desk.put(&mut self.batch, departure.question, again.id, channel);
            }
        }
        if self.batch.is_empty() {
            return;
        }
        let sent = self.transport.send(channel, &self.batch);
        let mut left = sent.accepted;
        for again in waiting {
            let Some(departure) = self.desk.still_under_way(*again) else { continue };
            if left > 0 {
                left -= 1;
                let bytes = self.desk.length_of(departure.question, channel);
                self.desk.book.asked_again(&departure, bytes);
                if self.desk.is_second(channel) {
                    let fallback = self.desk.book.fallback(departure.intended_ns);
                    fallback.tcp_requests += 1;
                    fallback.tcp_asked_again += 1;
                }
            } else if let Some(Stopped::Failed(_)) = sent.stopped {
                self.desk.table.refuse(channel, again.id, |_| true);
                self.desk.book.refused(&departure);
                self.desk.fail_tcp(channel, &departure, HalfFailure::NotSent);
            } else {
                self.desk.connected.again.push(*again);
            }
        }
    }

    /// Ends the queries whose timeout has passed, and tells their clients.
    pub(crate) fn expire_of_clients(&mut self, now_ns: u64) {
        while let Some((channel, departure)) = self.desk.table.expire_oldest_of(now_ns) {
            self.desk.book.timed_out(&departure);
            self.desk.fail_udp(channel, &departure, HalfFailure::UdpTimedOut);
            let is_there = self.desk.connected.is_there(channel);
            let why = if is_there { HalfFailure::QueryTimedOut } else { HalfFailure::ConnectTimedOut };
            self.desk.fail_tcp(channel, &departure, why);
            self.transport.expired(channel);
        }
    }
}

/// What the second half of a transaction fails of, if its connection never came to be.
fn half_lost_with_opening(why: ConnectFailure) -> HalfFailure {
    match why {
        ConnectFailure::Refused => HalfFailure::ConnectRefused,
        ConnectFailure::TimedOut => HalfFailure::ConnectTimedOut,
        ConnectFailure::NoLocalPort => HalfFailure::NoLocalPort,
        _ => HalfFailure::ConnectFailed,
    }
}

/// What it fails of, if the last of its connections ended.
fn half_lost_with(end: ConnectionEnd) -> HalfFailure {
    match end {
        ConnectionEnd::Reset => HalfFailure::Reset,
        ConnectionEnd::Garbled => HalfFailure::Garbled,
        ConnectionEnd::ByUs | ConnectionEnd::Silent => HalfFailure::QueryTimedOut,
        // The others are of encrypted connections, over which nothing is asked a second time.
        _ => HalfFailure::Closed,
    }
}

/// Connections of one client that may end one after the other without an answer, before what was
/// asked on them counts as refused: a server that closes an idle connection does so once.
const MOST_FRUITLESS: u8 = 3;

/// How long nothing is asked again after a server has refused a stream.
const REFUSED_PAUSE_NS: u64 = 10_000_000;

/// Messages of one batch, as for all others.
const AGAIN_AT_ONCE: usize = 64;

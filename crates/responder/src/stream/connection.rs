//! One connection: turns bytes into messages, and responses into bytes.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::io;

use dnsdyno_sys::clock::monotonic_ns;

use super::http::{Http, Outcome};
use super::pipe::{Broken, Got, Handshake, Pipe};
use super::room::Place;
use crate::book::{ResponseInfo, Side};
use crate::faults::{ConnectionFault, DRIBBLE_NS, Fault, KEEP_BACK_NS, WRONG_LENGTH_BY};

/// A connection, and its outstanding queries.
pub(crate) struct Connection {
    pub(crate) pipe: Pipe,
    /// `None` where each message has its length before it.
    http: Option<Box<Http>>,
    _place: Place,
    /// The fault of the connection as a whole.
    pub(crate) fault: Option<ConnectionFault>,
    /// Bytes read, of which the first `inbox_at` were processed.
    inbox: Vec<u8>,
    inbox_at: usize,
    /// Responses, of which the first `outbox_at` bytes were passed to the pipe.
    outbox: Vec<u8>,
    outbox_at: usize,
    /// Where each unwritten response ends, counted over the whole connection; without an info for the
    /// second copy of a duplicate.
    marks: VecDeque<(u64, Option<ResponseInfo>)>,
    /// The ranges of bytes that are sent one at a time, counted the same way.
    slow: VecDeque<(u64, u64)>,
    /// When the next of them may be sent.
    slow_next_ns: u64,
    /// Bytes appended, bytes passed to the pipe, and bytes accepted by the kernel.
    pushed: u64,
    handed: u64,
    written: u64,
    /// A response that waits for another one to be sent first, and how long.
    kept_back: Option<KeptBack>,
    /// Responses that were appended.
    pub(crate) answers: u64,
    /// Its responses in the delay queue.
    pub(crate) held: usize,
    /// When it was accepted.
    pub(crate) accepted_ns: u64,
    /// When something was last read or written.
    pub(crate) active_ns: u64,
    /// Whether a query was received; whether the handshake is booked; whether GOAWAY was sent.
    pub(crate) is_asked: bool,
    pub(crate) is_handshake_booked: bool,
    pub(crate) sent_goaway: bool,
    /// Our side is closed; what is received is discarded.
    pub(crate) is_closing: bool,
    /// When its timer in the delay queue is due.
    pub(crate) timer_ns: Option<u64>,
    /// No more messages are processed because too much waits to be written.
    is_paused: bool,
    /// The client sends no more.
    is_ended: bool,
}

struct KeptBack {
    stream: u64,
    frame: Vec<u8>,
    info: ResponseInfo,
    until_ns: u64,
}

/// The result of reading.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Input {
    /// Nothing is left to read now, or nothing may be read now.
    Drained,
    /// More can be read, and no event will report it.
    More,
}

/// Buffers of the connection that is being served. Many connections are open and few are busy: idle ones
/// hold no memory.
#[derive(Default)]
pub(crate) struct Buffers {
    inbox: Vec<u8>,
    outbox: Vec<u8>,
}

impl Connection {
    pub(super) fn new(pipe: Pipe, http: Option<Box<Http>>, place: Place, now_ns: u64) -> Connection {
        Connection {
            pipe,
            http,
            _place: place,
            fault: None,
            inbox: Vec::new(),
            inbox_at: 0,
            outbox: Vec::new(),
            outbox_at: 0,
            marks: VecDeque::new(),
            slow: VecDeque::new(),
            slow_next_ns: 0,
            pushed: 0,
            handed: 0,
            written: 0,
            kept_back: None,
            answers: 0,
            held: 0,
            accepted_ns: now_ns,
            active_ns: now_ns,
            is_asked: false,
            is_handshake_booked: false,
            sent_goaway: false,
            is_closing: false,
            timer_ns: None,
            is_paused: false,
            is_ended: false,
        }
    }

    /// Takes buffers; [`return_buffers`](Self::return_buffers) returns those that it does not need.
    pub(crate) fn borrow_buffers(&mut self, buffers: &mut Buffers) {
        if self.inbox.capacity() == 0 {
            std::mem::swap(&mut self.inbox, &mut buffers.inbox);
        }
        if self.outbox.capacity() == 0 {
            std::mem::swap(&mut self.outbox, &mut buffers.outbox);
        }
    }

    pub(crate) fn return_buffers(&mut self, buffers: &mut Buffers) {
        if self.inbox.is_empty() && self.inbox.capacity() > buffers.inbox.capacity() {
            std::mem::swap(&mut self.inbox, &mut buffers.inbox);
        }
        if self.outbox.is_empty() && self.outbox.capacity() > buffers.outbox.capacity() {
            std::mem::swap(&mut self.outbox, &mut buffers.outbox);
        }
        if self.inbox.is_empty() {
            self.inbox = Vec::new();
        }
        if self.outbox.is_empty() {
            self.outbox = Vec::new();
        }
    }

    /// Reads what was received, up to the bounds of a round.
    pub(crate) fn read(&mut self, now_ns: u64) -> Result<Input, Broken> {
        self.is_paused = false;
        if self.is_ended || self.is_backed_up() {
            return Ok(Input::Drained);
        }
        let begin = self.inbox.len();
        let input = loop {
            if self.inbox.len() - begin >= ROUND_BYTES {
                break Input::More;
            }
            match self.pipe.read(&mut self.inbox)? {
                Got::Bytes(_) => self.active_ns = now_ns,
                Got::Nothing => break Input::Drained,
                Got::End => {
                    self.is_ended = true;
                    break Input::Drained;
                }
            }
        };
        if let Some(http) = &mut self.http {
            http.take(&self.inbox);
            self.inbox.clear();
            http.work(&mut self.outbox);
            self.pushed = self.handed + (self.outbox.len() - self.outbox_at) as u64;
        }
        Ok(input)
    }

    /// The next complete message, and the stream it was received on; none while too much waits to be
    /// written.
    pub(crate) fn next_message(&mut self) -> Option<(u64, Cow<'_, [u8]>)> {
        if self.is_backed_up() {
            self.is_paused = true;
            return None;
        }
        if let Some(http) = &mut self.http {
            return http.next_message().map(|(stream, message)| (stream, Cow::Owned(message)));
        }
        let rest = &self.inbox[self.inbox_at..];
        let length = usize::from(u16::from_be_bytes(*rest.first_chunk()?));
        let message = rest.get(2..2 + length)?;
        self.inbox_at += 2 + length;
        Some((0, Cow::Borrowed(message)))
    }

    /// Removes the processed messages from the inbox.
    pub(crate) fn forget_read(&mut self) {
        self.inbox.drain(..self.inbox_at);
        self.inbox_at = 0;
    }

    /// Reports that a message is not a query, where HTTP can.
    pub(crate) fn refuse(&mut self, stream: u64) {
        if let Some(http) = &mut self.http {
            http.refuse_message(stream);
        }
    }

    /// Appends a response with its length before it, as its fault demands.
    pub(crate) fn push(
        &mut self,
        stream: u64,
        frame: &mut Vec<u8>,
        info: ResponseInfo,
        now_ns: u64,
        side: &mut Side,
    ) {
        if info.fault == Some(Fault::Reorder) && self.kept_back.is_none() {
            let frame = std::mem::take(frame);
            self.kept_back = Some(KeptBack { stream, frame, info, until_ns: now_ns + KEEP_BACK_NS });
            return;
        }
        self.append(stream, frame, info, side);
        if let Some(mut kept) = self.kept_back.take() {
            side.counts.reordered += 1;
            self.append(kept.stream, &mut kept.frame, kept.info, side);
        }
    }

    fn append(&mut self, stream: u64, frame: &mut [u8], info: ResponseInfo, side: &mut Side) {
        self.answers += 1;
        let begin = self.outbox.len();
        let from = self.pushed;
        match &mut self.http {
            Some(http) => {
                http.answer(stream, &frame[2..], info);
                if info.fault == Some(Fault::GoAway) && !self.sent_goaway {
                    http.goaway();
                    self.sent_goaway = true;
                    side.connections.goaways += 1;
                }
                http.work(&mut self.outbox);
                self.pushed += (self.outbox.len() - begin) as u64;
                self.book_outcomes(side);
            }
            None => {
                if info.fault == Some(Fault::WrongLength) {
                    let declared = (frame.len() - 2 + WRONG_LENGTH_BY).min(usize::from(u16::MAX)) as u16;
                    frame[..2].copy_from_slice(&declared.to_be_bytes());
                }
                self.append_once(frame, Some(info));
                if info.fault == Some(Fault::Duplicate) {
                    self.append_once(frame, None);
                }
            }
        }
        match info.fault {
            Some(Fault::Dribble) => self.slow.push_back((from, self.pushed)),
            Some(Fault::Cut) => {
                let kept = (self.outbox.len() - begin) / 2;
                self.outbox.truncate(begin + kept);
                self.pushed = from + kept as u64;
            }
            _ => {}
        }
    }

    fn append_once(&mut self, frame: &[u8], info: Option<ResponseInfo>) {
        self.outbox.extend_from_slice(frame);
        self.pushed += frame.len() as u64;
        // Half a response is never complete.
        if info.is_none_or(|info| info.fault != Some(Fault::Cut)) {
            self.marks.push_back((self.pushed, info));
        }
    }

    /// Lets HTTP process what has changed, and marks the ends of its responses.
    pub(crate) fn work(&mut self, side: &mut Side) {
        if let Some(http) = &mut self.http {
            let begin = self.outbox.len();
            http.work(&mut self.outbox);
            self.pushed += (self.outbox.len() - begin) as u64;
            self.book_outcomes(side);
        }
    }

    fn book_outcomes(&mut self, side: &mut Side) {
        let Some(http) = &mut self.http else { return };
        for outcome in http.take_outcomes() {
            match outcome {
                Outcome::Sent(info) if info.fault == Some(Fault::Cut) => {}
                Outcome::Sent(info) => self.marks.push_back((self.pushed, Some(info))),
                Outcome::Lost => side.counts.lost_with_connection += 1,
            }
        }
        for (status, count) in http.take_statuses() {
            *side.statuses.entry(status).or_default() += count;
        }
    }

    /// Writes what the connection accepts, and books the responses that were written completely.
    pub(crate) fn write(&mut self, side: &mut Side) -> Result<(), Broken> {
        loop {
            let now_ns = monotonic_ns();
            let handed = if self.pipe.flush()? { self.hand(now_ns)? } else { 0 };
            if self.pipe.flush()? && self.written < self.handed {
                self.written = self.handed;
                self.active_ns = now_ns;
                self.book_written(now_ns, side);
            }
            if handed == 0 {
                break;
            }
        }
        if self.outbox_at == self.outbox.len() || self.outbox_at >= ROUND_BYTES {
            self.outbox.drain(..self.outbox_at);
            self.outbox_at = 0;
        }
        Ok(())
    }

    /// Passes to the pipe what may be sent now, and returns how much it accepted.
    ///
    /// Responses over HTTP are passed one by one, so that each has a TLS record of its own, all of
    /// them in one write: dnsperf reads record by record and processes one response of each.
    fn hand(&mut self, now_ns: u64) -> Result<usize, Broken> {
        let most = self.may_hand(now_ns).min(WRITE_BYTES);
        let mut ends = self.marks.iter().map(|(end, _)| *end).filter(|_| self.http.is_some());
        let mut taken = 0;
        while taken < most {
            let at = self.handed;
            let piece_end = ends.find(|end| *end > at);
            let piece = piece_end.map_or(most - taken, |end| ((end - at) as usize).min(most - taken));
            let count = self.pipe.write(&self.outbox[self.outbox_at..self.outbox_at + piece])?;
            self.outbox_at += count;
            self.handed += count as u64;
            taken += count;
            if count < piece {
                break;
            }
        }
        Ok(taken)
    }

    /// Bytes that may be passed to the pipe now.
    fn may_hand(&mut self, now_ns: u64) -> usize {
        let waiting = self.outbox.len() - self.outbox_at;
        while self.slow.front().is_some_and(|(_, to)| *to <= self.handed) {
            self.slow.pop_front();
        }
        match self.slow.front() {
            None => waiting,
            Some((from, _)) if self.handed < *from => waiting.min((from - self.handed) as usize),
            Some(_) if now_ns < self.slow_next_ns => 0,
            Some(_) => {
                self.slow_next_ns = now_ns + DRIBBLE_NS;
                waiting.min(1)
            }
        }
    }

    fn book_written(&mut self, now_ns: u64, side: &mut Side) {
        while let Some((end, info)) = self.marks.front() {
            if *end > self.written {
                break;
            }
            match info {
                Some(info) => side.book_sent(info, now_ns),
                None => side.counts.duplicated += 1,
            }
            self.marks.pop_front();
        }
    }

    /// When it has to be served again without an event, if at all: for the next byte of a slow
    /// response, or when a response has waited long enough for another one.
    pub(crate) fn next_timer_ns(&self) -> Option<u64> {
        let is_slow = self.slow.front().is_some_and(|(from, _)| *from <= self.handed);
        let slow_ns = is_slow.then_some(self.slow_next_ns);
        let kept_ns = self.kept_back.as_ref().map(|kept| kept.until_ns);
        slow_ns.into_iter().chain(kept_ns).min()
    }

    /// Sends a response that no other one has overtaken in time.
    pub(crate) fn release_kept_back(&mut self, now_ns: u64, side: &mut Side) {
        if let Some(mut kept) = self.kept_back.take_if(|kept| kept.until_ns <= now_ns) {
            self.append(kept.stream, &mut kept.frame, kept.info, side);
        }
    }

    /// The handshake, once, after it has ended.
    pub(crate) fn new_handshake(&mut self) -> Option<Handshake> {
        if self.is_handshake_booked {
            return None;
        }
        let handshake = self.pipe.handshake()?;
        self.is_handshake_booked = true;
        Some(handshake)
    }

    /// Queries whose response is not completely written, without those in the delay queue.
    pub(crate) fn unsent(&self) -> usize {
        let marked = self.marks.iter().filter(|(_, info)| info.is_some()).count();
        marked + usize::from(self.kept_back.is_some())
    }

    /// Whether a pause in processing messages has ended: no event reports that.
    pub(crate) fn has_unread(&self) -> bool {
        self.is_paused && !self.is_backed_up()
    }

    /// Whether everything appended was accepted by the kernel.
    pub(crate) fn is_written(&self) -> bool {
        self.marks.is_empty() && self.written == self.pushed
    }

    /// Whether the client sends no more and was sent everything.
    pub(crate) fn is_done(&self) -> bool {
        let is_answered = self.held == 0 && self.kept_back.is_none() && self.marks.is_empty();
        self.is_ended && !self.is_paused && is_answered
    }

    /// Whether HTTP has ended, and if so, whether regularly.
    pub(crate) fn http_over(&self) -> Option<bool> {
        self.http.as_ref().and_then(|http| http.over())
    }

    /// Drops everything that was not sent, and books it as lost.
    pub(crate) fn book_lost(&mut self, side: &mut Side) {
        side.counts.lost_with_connection += self.unsent() as u64;
        self.marks.clear();
        self.kept_back = None;
        // What HTTP still holds, because the client accepts no more.
        side.counts.lost_with_connection += self.http.take().map_or(0, |http| http.into_lost());
    }

    /// Closes our side; what the client still sends is discarded.
    pub(crate) fn close_for_writing(&mut self) -> io::Result<()> {
        self.is_closing = true;
        self.pipe.end()
    }

    fn is_backed_up(&self) -> bool {
        self.outbox.len() - self.outbox_at > BACKLOG_BYTES || self.held > BACKLOG_QUERIES
    }
}

/// Bytes of one connection in a round, before others are served.
const ROUND_BYTES: usize = 256 * 1024;

/// Bytes of responses that wait to be written before the connection is read no further.
const BACKLOG_BYTES: usize = 4 << 20;

/// Held responses before a connection is read no further.
const BACKLOG_QUERIES: usize = 1 << 20;

/// Bytes that are passed to the pipe before the kernel has accepted what it made of them: complete TLS
/// records, and few enough that what is booked as sent is sent.
const WRITE_BYTES: usize = 64 * 1024;

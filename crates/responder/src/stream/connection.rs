//! One connection: bytes in, messages out of them; answers in, bytes out of them.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::io;

use dnsdyno_sys::clock::monotonic_ns;

use super::http::{Http, Outcome};
use super::pipe::{Broken, Got, Handshake, Pipe};
use crate::book::{ResponseInfo, Side};
use crate::faults::{ConnectionFault, DRIBBLE_NS, Fault, KEEP_BACK_NS, WRONG_LENGTH_BY};

/// A connection, and what is under way on it.
pub(crate) struct Connection {
    pub(crate) pipe: Pipe,
    /// `None` where messages follow each other with their lengths before them.
    http: Option<Box<Http>>,
    /// What is done wrong to it as a whole.
    pub(crate) fault: Option<ConnectionFault>,
    /// What was read, of which the first `inbox_at` bytes have been answered.
    inbox: Vec<u8>,
    inbox_at: usize,
    /// Answers, of which the first `outbox_at` bytes were given to the pipe.
    outbox: Vec<u8>,
    outbox_at: usize,
    /// Where each unwritten answer ends, counted over the whole connection; no info for the
    /// second copy of a duplicate.
    marks: VecDeque<(u64, Option<ResponseInfo>)>,
    /// From where to where bytes go one at a time, counted the same.
    slow: VecDeque<(u64, u64)>,
    /// When the next of them may go.
    slow_next_ns: u64,
    /// Bytes appended, bytes given to the pipe, and bytes that the kernel has.
    pushed: u64,
    handed: u64,
    written: u64,
    /// An answer that waits for another to pass, and how long.
    kept_back: Option<KeptBack>,
    /// Answers that were pushed.
    pub(crate) answers: u64,
    /// Its answers in the delay queue.
    pub(crate) held: usize,
    /// When it was taken from the kernel.
    pub(crate) accepted_ns: u64,
    /// When something was last read or written.
    pub(crate) active_ns: u64,
    /// The first query has come; the handshake is booked; GOAWAY was said.
    pub(crate) is_asked: bool,
    pub(crate) is_handshake_booked: bool,
    pub(crate) sent_goaway: bool,
    /// Our side is closed; what still comes is not looked at.
    pub(crate) is_closing: bool,
    /// The instant of a look in the delay queue.
    pub(crate) timer_ns: Option<u64>,
    /// Taking messages stopped because too much waits to be written.
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

/// What reading came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Input {
    /// Nothing is left for now, or nothing more may be read for now.
    Drained,
    /// More waits, and no event will tell.
    More,
}

/// Buffers of a connection that is being served. Many connections are open and few are busy: idle ones
/// keep no memory for what is not there.
#[derive(Default)]
pub(crate) struct Buffers {
    inbox: Vec<u8>,
    outbox: Vec<u8>,
}

impl Connection {
    pub(crate) fn new(pipe: Pipe, http: Option<Box<Http>>, now_ns: u64) -> Connection {
        Connection {
            pipe,
            http,
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

    /// Takes buffers to work with; [`return_buffers`](Self::return_buffers) returns what it does not need.
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

    /// Reads what there is, up to the bounds of a round.
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

    /// The next whole message of what was read, and the stream it came on; none while too much waits
    /// to be written.
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

    /// Gives back the room of the messages that were taken.
    pub(crate) fn forget_read(&mut self) {
        self.inbox.drain(..self.inbox_at);
        self.inbox_at = 0;
    }

    /// Says that a message is no query, where there is a way to say it.
    pub(crate) fn refuse(&mut self, stream: u64) {
        if let Some(http) = &mut self.http {
            http.refuse_message(stream);
        }
    }

    /// Appends an answer with its length before it, as its fault says.
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
        // Half an answer never ends.
        if info.is_none_or(|info| info.fault != Some(Fault::Cut)) {
            self.marks.push_back((self.pushed, info));
        }
    }

    /// Has HTTP do what came up since, and marks the answers that it has let go of.
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

    /// Writes what the connection takes, and books what has left whole.
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

    /// Gives the pipe what may go now, and tells how much it took.
    ///
    /// HTTP gives it answer by answer, so that each has a TLS record of its own: there are clients
    /// that read one record at a time, and only one answer in each.
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

    /// Bytes that may be given to the pipe now.
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

    /// When to look at it again without an event, if ever: the next byte of a dribble, or the end of
    /// waiting for another answer.
    pub(crate) fn next_timer_ns(&self) -> Option<u64> {
        let is_slow = self.slow.front().is_some_and(|(from, _)| *from <= self.handed);
        let slow_ns = is_slow.then_some(self.slow_next_ns);
        let kept_ns = self.kept_back.as_ref().map(|kept| kept.until_ns);
        slow_ns.into_iter().chain(kept_ns).min()
    }

    /// Lets go of an answer that no other one has overtaken in time.
    pub(crate) fn release_kept_back(&mut self, now_ns: u64, side: &mut Side) {
        if let Some(mut kept) = self.kept_back.take_if(|kept| kept.until_ns <= now_ns) {
            self.append(kept.stream, &mut kept.frame, kept.info, side);
        }
    }

    /// The handshake, when it has just ended.
    pub(crate) fn new_handshake(&mut self) -> Option<Handshake> {
        if self.is_handshake_booked {
            return None;
        }
        let handshake = self.pipe.handshake()?;
        self.is_handshake_booked = true;
        Some(handshake)
    }

    /// Queries whose answer is not wholly written; those in the delay queue are not among them.
    pub(crate) fn unsent(&self) -> usize {
        let marked = self.marks.iter().filter(|(_, info)| info.is_some()).count();
        marked + usize::from(self.kept_back.is_some())
    }

    /// Whether taking messages stopped for a reason that has gone: no event will tell.
    pub(crate) fn has_unread(&self) -> bool {
        self.is_paused && !self.is_backed_up()
    }

    /// Whether all that was pushed is with the kernel.
    pub(crate) fn is_written(&self) -> bool {
        self.marks.is_empty() && self.written == self.pushed
    }

    /// Whether the client sends no more and has been given all.
    pub(crate) fn is_done(&self) -> bool {
        let is_answered = self.held == 0 && self.kept_back.is_none() && self.marks.is_empty();
        self.is_ended && !self.is_paused && is_answered
    }

    /// Whether HTTP has come to its end, and if so, whether in order.
    pub(crate) fn http_over(&self) -> Option<bool> {
        self.http.as_ref().and_then(|http| http.over())
    }

    /// Gives up all that has not left, and books it as lost.
    pub(crate) fn book_lost(&mut self, side: &mut Side) {
        side.counts.lost_with_connection += self.unsent() as u64;
        self.marks.clear();
        self.kept_back = None;
        // What HTTP still holds, because the client takes no more.
        side.counts.lost_with_connection += self.http.take().map_or(0, |http| http.into_lost());
    }

    /// Closes our side; the client may still talk, and is not listened to.
    pub(crate) fn close_for_writing(&mut self) -> io::Result<()> {
        self.is_closing = true;
        self.pipe.end()
    }

    fn is_backed_up(&self) -> bool {
        self.outbox.len() - self.outbox_at > BACKLOG_BYTES || self.held > BACKLOG_QUERIES
    }
}

/// What one connection may do in a round, before others have their turn.
const ROUND_BYTES: usize = 256 * 1024;

/// Answers that wait to be written before a connection is read no further.
const BACKLOG_BYTES: usize = 4 << 20;

/// Answers that are held before a connection is read no further.
const BACKLOG_QUERIES: usize = 1 << 20;

/// Bytes that are given to the pipe before what it made of them is with the kernel: whole TLS records,
/// and few enough that what is booked as sent is sent.
const WRITE_BYTES: usize = 64 * 1024;

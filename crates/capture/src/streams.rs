//! TCP streams, put together, and the DNS messages in them.
//!
//! ```text
//!   segments in any order ─► in order ─► length 2 | message | length 2 | message …
//!                             │           └─ a message that is not whole waits in `part`
//!                             └─ what is ahead of a gap waits in `ahead`; a gap that nothing fills is given up
//! ```
//!
//! After a gap, and in a stream whose start was not captured, it is not known where a message begins. One is then
//! looked for at the start of each segment, where nearly every sender puts one, and what is taken for one has to look
//! like one.

use std::collections::{HashMap, VecDeque};
use std::net::SocketAddr;

use dnsdyno_measure::CaptureCounts;
use dnsdyno_wire::HEADER_LEN;

use crate::found::{Assembled, Found};
use crate::message::Protocol;

/// A segment of TCP.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Segment<'a> {
    pub(crate) at_unix_ns: Option<u64>,
    pub(crate) from: SocketAddr,
    pub(crate) to: SocketAddr,
    pub(crate) sequence: u32,
    pub(crate) is_syn: bool,
    /// Whether it ends its direction (FIN), or the connection (RST).
    pub(crate) is_end: bool,
    pub(crate) is_reset: bool,
    pub(crate) payload: &'a [u8],
}

/// The streams in progress, one for each direction of a connection.
#[derive(Default)]
pub(crate) struct Streams {
    open: HashMap<Key, Stream>,
    /// When the gap of a stream is given up, in the order of the capture.
    deadlines: VecDeque<(u64, Key)>,
    /// Octets that wait in all streams.
    held_bytes: usize,
    segments: u64,
}

type Key = (SocketAddr, SocketAddr);

/// One direction of a connection.
#[derive(Default)]
struct Stream {
    /// The sequence number of the first octet after the SYN.
    start: u32,
    /// The sequence number of the octet that is next.
    next: u32,
    place: Known,
    /// The start of a message.
    part: Vec<u8>,
    /// Segments ahead of a gap, by their distance from `next`.
    ahead: VecDeque<Ahead>,
    /// What they take.
    ahead_bytes: usize,
    /// Whether it is among the deadlines.
    has_deadline: bool,
    /// The number of its last segment among all.
    touched: u64,
    /// When that was captured.
    touched_unix_ns: u64,
    /// Whether it was ended: a SYN is then that of another connection, whatever its sequence number.
    is_ended: bool,
}

/// What is known of the place in a stream at which its next octet is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Known {
    /// `part` begins with a length: the stream was read from its start.
    #[default]
    Surely,
    /// `part` seems to begin with a length.
    Supposedly,
    /// Somewhere within a message.
    Not,
}

struct Ahead {
    at_unix_ns: Option<u64>,
    sequence: u32,
    payload: Vec<u8>,
}

impl Streams {
    /// Takes a segment, and adds to `out` the messages that are complete with it.
    pub(crate) fn add(&mut self, segment: &Segment<'_>, counts: &mut CaptureCounts, out: &mut Assembled) {
        self.segments += 1;
        let now_unix_ns = segment.at_unix_ns.unwrap_or(0);
        self.give_up_until(now_unix_ns, counts, out);
        let key = (segment.from, segment.to);
        self.note_end(segment);
        if !segment.is_syn && segment.payload.is_empty() {
            return;
        }
        if self.held_bytes > MAX_HELD_BYTES || (self.open.len() >= MAX_OPEN && !self.open.contains_key(&key))
        {
            self.forget_older_half(counts, out);
        }
        let stream = self.open.entry(key).or_insert_with(|| {
            counts.tcp_without_start += u64::from(!segment.is_syn);
            Stream { next: segment.sequence, place: Known::Not, ..Stream::default() }
        });
        stream.touched = self.segments;
        let held_before = stream.held_bytes();
        let mut to = Sink { key, counts, out };
        stream.take(segment, &mut to);
        stream.touched_unix_ns = stream.touched_unix_ns.max(now_unix_ns);
        stream.is_ended |= segment.is_end;
        if stream.ahead_bytes > MAX_AHEAD_BYTES {
            stream.give_up_gap(&mut to);
        }
        if !stream.ahead.is_empty() && !std::mem::replace(&mut stream.has_deadline, true) {
            self.deadlines.push_back((now_unix_ns.saturating_add(LONGEST_WAIT_NS), key));
        }
        self.held_bytes = self.held_bytes + stream.held_bytes() - held_before;
    }

    /// Notes the end of a direction, and by a reset that of the other one.
    fn note_end(&mut self, segment: &Segment<'_>) {
        let both = [(segment.from, segment.to), (segment.to, segment.from)];
        let directions = usize::from(segment.is_end || segment.is_reset) + usize::from(segment.is_reset);
        // A SYN with a FIN is of no connection that was.
        if segment.is_syn {
            return;
        }
        for key in both.iter().take(directions) {
            if let Some(stream) = self.open.get_mut(key) {
                stream.is_ended = true;
            }
        }
    }

    /// At the end of the capture: gives the messages after the gaps of one stream; `false` when none is left.
    pub(crate) fn finish_one(&mut self, counts: &mut CaptureCounts, out: &mut Assembled) -> bool {
        let Some((_, key)) = self.deadlines.pop_front() else {
            let parts: usize = self.open.drain().map(|(_, stream)| stream.part.len()).sum();
            counts.tcp_lost_bytes += parts as u64;
            return false;
        };
        if let Some(stream) = self.open.get_mut(&key) {
            stream.give_up_all_gaps(&mut Sink { key, counts, out });
        }
        true
    }

    /// Gives up the gaps whose time is over.
    fn give_up_until(&mut self, now_unix_ns: u64, counts: &mut CaptureCounts, out: &mut Assembled) {
        while self.deadlines.front().is_some_and(|(deadline, _)| *deadline <= now_unix_ns) {
            let Some((_, key)) = self.deadlines.pop_front() else { return };
            let Some(stream) = self.open.get_mut(&key) else { continue };
            let held_before = stream.held_bytes();
            if stream.waits_since().is_some_and(|since| since.saturating_add(LONGEST_WAIT_NS) <= now_unix_ns)
            {
                stream.give_up_gap(&mut Sink { key, counts, out });
            }
            self.held_bytes = self.held_bytes + stream.held_bytes() - held_before;
            let since = stream.waits_since();
            stream.has_deadline = since.is_some();
            if let Some(since) = since {
                // Later than now, so that this loop ends.
                let deadline = since.saturating_add(LONGEST_WAIT_NS).max(now_unix_ns.saturating_add(1));
                self.deadlines.push_back((deadline, key));
            }
        }
    }

    /// Forgets the half of the streams whose last segment is the oldest.
    fn forget_older_half(&mut self, counts: &mut CaptureCounts, out: &mut Assembled) {
        let mut touched: Vec<u64> = self.open.values().map(|stream| stream.touched).collect();
        touched.sort_unstable();
        let Some(&median) = touched.get(touched.len() / 2) else { return };
        self.open.retain(|key, stream| {
            if stream.touched > median {
                return true;
            }
            counts.forgotten += u64::from(stream.held_bytes() > 0);
            stream.give_up_all_gaps(&mut Sink { key: *key, counts, out });
            counts.tcp_lost_bytes += stream.part.len() as u64;
            false
        });
        self.deadlines.retain(|(_, key)| self.open.contains_key(key));
        self.held_bytes = self.open.values().map(Stream::held_bytes).sum();
    }
}

/// Where the messages of a stream go.
struct Sink<'a> {
    key: Key,
    counts: &'a mut CaptureCounts,
    out: &'a mut Assembled,
}

impl Sink<'_> {
    fn message(&mut self, at_unix_ns: Option<u64>, octets: &[u8]) {
        let (source, destination) = self.key;
        let found = |place| Found { at_unix_ns, protocol: Protocol::Tcp, source, destination, place };
        self.out.push(octets, found);
    }
}

impl Stream {
    fn take(&mut self, segment: &Segment<'_>, to: &mut Sink<'_>) {
        let mut sequence = segment.sequence;
        if segment.is_syn {
            sequence = sequence.wrapping_add(1);
            if !self.is_repeated_syn(sequence, segment.at_unix_ns) {
                self.start(sequence, Known::Surely, to);
                (self.start, self.is_ended) = (sequence, false);
            }
        }
        let distance = sequence.wrapping_sub(self.next) as i32;
        if !(-FARTHEST_BEHIND..=FARTHEST_AHEAD).contains(&distance) {
            // Another connection of the same ports, whose SYN was not captured.
            to.counts.tcp_gaps += 1;
            self.start(sequence, Known::Not, to);
            return self.take_in_order(segment.at_unix_ns, segment.payload, to);
        }
        if distance > 0 {
            return self.keep(segment.at_unix_ns, sequence, segment.payload, to);
        }
        self.take_from(segment.at_unix_ns, sequence, segment.payload, to);
        self.take_ahead(to);
    }

    /// Whether a SYN is that of this connection, sent or captured again. Another connection of the same ports may begin
    /// with the same sequence number: some hosts and generators always do.
    fn is_repeated_syn(&self, start: u32, at_unix_ns: Option<u64>) -> bool {
        let idle_ns = at_unix_ns.unwrap_or(0).saturating_sub(self.touched_unix_ns);
        let has_data = self.next != self.start || !self.ahead.is_empty();
        let longest_ns = if has_data { SYN_AFTER_DATA_NS } else { SYN_AGAIN_NS };
        self.place == Known::Surely && start == self.start && !self.is_ended && idle_ns <= longest_ns
    }

    fn start(&mut self, next: u32, place: Known, to: &mut Sink<'_>) {
        to.counts.tcp_lost_bytes += self.held_bytes() as u64;
        self.part.clear();
        self.ahead.clear();
        self.ahead_bytes = 0;
        (self.next, self.place) = (next, place);
    }

    /// Keeps a segment that is ahead of a gap.
    fn keep(&mut self, at_unix_ns: Option<u64>, sequence: u32, payload: &[u8], to: &mut Sink<'_>) {
        if payload.is_empty() {
            return;
        }
        let next = self.next;
        let place = self.ahead.partition_point(|ahead| {
            (ahead.sequence.wrapping_sub(next), ahead.payload.len())
                < (sequence.wrapping_sub(next), payload.len())
        });
        let is_there = self.ahead.get(place);
        if is_there.is_some_and(|there| there.sequence == sequence && there.payload.len() == payload.len()) {
            to.counts.tcp_repeated += 1;
            return;
        }
        self.ahead_bytes += payload.len() + SEGMENT_BYTES;
        self.ahead.insert(place, Ahead { at_unix_ns, sequence, payload: payload.to_vec() });
    }

    /// Takes the segments that waited and are next now.
    fn take_ahead(&mut self, to: &mut Sink<'_>) {
        while let Some(first) = self.ahead.front() {
            if first.sequence.wrapping_sub(self.next) as i32 > 0 {
                return;
            }
            let Some(first) = self.ahead.pop_front() else { return };
            self.ahead_bytes -= first.payload.len() + SEGMENT_BYTES;
            to.counts.tcp_reordered += 1;
            self.take_from(first.at_unix_ns, first.sequence, &first.payload, to);
        }
    }

    fn give_up_gap(&mut self, to: &mut Sink<'_>) {
        let Some(first) = self.ahead.front() else { return };
        to.counts.tcp_gaps += 1;
        to.counts.tcp_lost_bytes += self.part.len() as u64;
        self.next = first.sequence;
        self.part.clear();
        self.place = Known::Not;
        let reordered = to.counts.tcp_reordered;
        self.take_ahead(to);
        to.counts.tcp_reordered = reordered;
    }

    fn give_up_all_gaps(&mut self, to: &mut Sink<'_>) {
        // Each removes at least one segment.
        while !self.ahead.is_empty() {
            self.give_up_gap(to);
        }
    }

    /// Takes a segment that begins at the next octet or before it.
    fn take_from(&mut self, at_unix_ns: Option<u64>, sequence: u32, payload: &[u8], to: &mut Sink<'_>) {
        let known = self.next.wrapping_sub(sequence) as usize;
        match payload.get(known..) {
            Some(new) if !new.is_empty() => self.take_in_order(at_unix_ns, new, to),
            _ if payload.is_empty() => {}
            _ => to.counts.tcp_repeated += 1,
        }
    }

    /// Takes the next octets of the stream.
    fn take_in_order(&mut self, at_unix_ns: Option<u64>, octets: &[u8], to: &mut Sink<'_>) {
        self.next = self.next.wrapping_add(octets.len() as u32);
        if !self.part.is_empty() {
            let mut whole = std::mem::take(&mut self.part);
            let part_len = whole.len();
            whole.extend_from_slice(octets);
            if self.split(at_unix_ns, &whole, to) != Split::AtOnce {
                return;
            }
            // What was kept was no start of a message. Perhaps this segment has one.
            to.counts.tcp_lost_bytes += part_len as u64;
        }
        if self.place == Known::Not {
            self.place = Known::Supposedly;
        }
        if self.split(at_unix_ns, octets, to) == Split::AtOnce {
            to.counts.tcp_lost_bytes += octets.len() as u64;
        }
    }

    /// Gives the messages in `octets`, which begin with a length, and keeps the rest.
    fn split(&mut self, at_unix_ns: Option<u64>, octets: &[u8], to: &mut Sink<'_>) -> Split {
        let mut rest = octets;
        while let Some((prefix, after)) = rest.split_first_chunk::<2>() {
            let len = usize::from(u16::from_be_bytes(*prefix));
            let is_credible = match self.place {
                Known::Surely => len >= HEADER_LEN,
                _ => len >= HEADER_LEN && looks_like_a_message(after),
            };
            if !is_credible {
                let was_sure = std::mem::replace(&mut self.place, Known::Not) == Known::Surely;
                to.counts.tcp_short_messages += u64::from(was_sure);
                if rest.len() == octets.len() {
                    return Split::AtOnce;
                }
                to.counts.tcp_lost_bytes += rest.len() as u64;
                return Split::Later;
            }
            let Some((message, next)) = after.split_at_checked(len) else { break };
            to.message(at_unix_ns, message);
            rest = next;
        }
        self.part.clear();
        self.part.extend_from_slice(rest);
        Split::No
    }

    /// When the first of the segments that wait was captured.
    fn waits_since(&self) -> Option<u64> {
        self.ahead.iter().map(|ahead| ahead.at_unix_ns.unwrap_or(0)).min()
    }

    fn held_bytes(&self) -> usize {
        self.part.len() + self.ahead_bytes
    }
}

/// Whether, and where, octets stopped looking like messages.
#[derive(PartialEq, Eq)]
enum Split {
    No,
    AtOnce,
    Later,
}

/// Whether octets, of which some may not be there yet, can be the start of a message: an opcode that exists, and at
/// most one question.
fn looks_like_a_message(octets: &[u8]) -> bool {
    let Some(header) = octets.first_chunk::<HEADER_LEN>() else { return true };
    let opcode = (header[2] >> 3) & 0xf;
    let questions = u16::from_be_bytes([header[4], header[5]]);
    let is_response = header[2] & 0x80 != 0;
    let has_no_rcode = header[3] & 0xf == 0;
    matches!(opcode, 0 | 1 | 2 | 4 | 5 | 6)
        && questions <= 1
        && header[3] & 0x40 == 0
        && (is_response || has_no_rcode)
}

/// Each takes some hundred octets beside what waits in it.
const MAX_OPEN: usize = 1 << 16;

/// What waits in all streams.
const MAX_HELD_BYTES: usize = 64 << 20;

/// What waits ahead of the gap of one stream: more than a usual window of a zone transfer.
const MAX_AHEAD_BYTES: usize = 1 << 20;

/// What a segment that waits takes beside its octets.
const SEGMENT_BYTES: usize = size_of::<Ahead>();

/// How long a gap can be filled by a segment that is sent again.
const LONGEST_WAIT_NS: u64 = 3_000_000_000;

/// After so much silence a SYN begins another connection. The SYN itself is sent again for two minutes (Linux), but
/// nobody sends it again when there was data.
const SYN_AGAIN_NS: u64 = 130_000_000_000;
const SYN_AFTER_DATA_NS: u64 = 10_000_000_000;

/// Segments farther from the expected one belong to another connection: nothing sends more than a window ahead, and
/// what is sent again is of the last window.
const FARTHEST_AHEAD: i32 = 16 << 20;
const FARTHEST_BEHIND: i32 = 1 << 20;

#[cfg(test)]
mod tests;

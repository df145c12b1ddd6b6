//! Frames over a broker that may lose some of what it was given: cut into numbered parts, kept until they are
//! acknowledged, asked for again where one is missing.
//!
//! ```text
//!   kind (1 octet)   number (8 octets, big-endian)        octets
//!      +             of this part; the frame goes on      kind of the frame (first part only), and its octets
//!      .             of this part, the last of its frame  the same
//!      E             of this part: nothing follows
//!      A             acknowledged: the next part that is wanted
//!      N             a part is missing: everything from this one on is wanted again
//!      P             what has come? The next part that will be sent
//! ```
//!
//! A broker keeps the order of one sender: what is missing when a later part comes is lost, and a probe (`P`) that has
//! come tells that everything before it has come or is lost. So the sender needs no guess of how long a part takes.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use crate::frame::{Frame, Kind, LONGEST};

/// One message of a link over a broker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Part<'a> {
    pub(crate) kind: PartKind,
    pub(crate) number: u64,
    pub(crate) octets: &'a [u8],
}

/// What a message of a link is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PartKind {
    /// A part of a frame that goes on.
    More,
    /// The last part of a frame.
    Last,
    /// Nothing follows.
    End,
    Acknowledged,
    Again,
    Probe,
}

const KINDS: [(u8, PartKind); 6] = [
    (b'+', PartKind::More),
    (b'.', PartKind::Last),
    (b'E', PartKind::End),
    (b'A', PartKind::Acknowledged),
    (b'N', PartKind::Again),
    (b'P', PartKind::Probe),
];

impl Part<'_> {
    pub(crate) fn written(&self) -> Vec<u8> {
        let mark = KINDS.iter().find(|(_, kind)| *kind == self.kind).map_or(b'?', |(mark, _)| *mark);
        let mut whole = Vec::with_capacity(HEAD + self.octets.len());
        whole.push(mark);
        whole.extend_from_slice(&self.number.to_be_bytes());
        whole.extend_from_slice(self.octets);
        whole
    }

    /// Reads a message; `None` where it is none of a link.
    pub(crate) fn read(octets: &[u8]) -> Option<Part<'_>> {
        let (mark, rest) = octets.split_first()?;
        let (number, octets) = rest.split_first_chunk()?;
        let kind = KINDS.iter().find(|(of_kind, _)| of_kind == mark)?.1;
        Some(Part { kind, number: u64::from_be_bytes(*number), octets })
    }
}

/// What was sent and is not acknowledged.
#[derive(Debug)]
pub(crate) struct Sent {
    /// The number of the next part.
    next: u64,
    /// Those before it, as they were written.
    kept: VecDeque<Vec<u8>>,
    octets: usize,
    /// When something was sent, acknowledged or asked for last.
    moved: Instant,
}

impl Sent {
    pub(crate) fn new(now: Instant) -> Sent {
        Sent { next: 0, kept: VecDeque::new(), octets: 0, moved: now }
    }

    /// Whether another frame may be sent before more is acknowledged.
    pub(crate) fn has_room(&self) -> bool {
        self.octets < WINDOW
    }

    /// Whether everything is acknowledged.
    pub(crate) fn is_empty(&self) -> bool {
        self.kept.is_empty()
    }

    /// Cuts a frame into parts of at most `longest` octets, to be sent in their order.
    pub(crate) fn frame(&mut self, frame: &Frame, longest: usize, now: Instant) -> Vec<Vec<u8>> {
        let mut whole = Vec::with_capacity(1 + frame.octets.len());
        whole.push(frame.kind.mark());
        whole.extend_from_slice(&frame.octets);
        let chunks = whole.chunks(longest.saturating_sub(HEAD).max(1));
        let last = chunks.len() - 1;
        chunks
            .enumerate()
            .map(|(at, chunk)| {
                let kind = if at == last { PartKind::Last } else { PartKind::More };
                self.keep(kind, chunk, now)
            })
            .collect()
    }

    /// The last part of all.
    pub(crate) fn end(&mut self, now: Instant) -> Vec<u8> {
        self.keep(PartKind::End, &[], now)
    }

    fn keep(&mut self, kind: PartKind, octets: &[u8], now: Instant) -> Vec<u8> {
        let written = Part { kind, number: self.next, octets }.written();
        if self.kept.is_empty() {
            self.moved = now;
        }
        self.next += 1;
        self.octets += written.len();
        self.kept.push_back(written.clone());
        written
    }

    /// The other side has everything before `wanted`.
    pub(crate) fn acknowledged(&mut self, wanted: u64, now: Instant) {
        while self.first() < wanted
            && let Some(part) = self.kept.pop_front()
        {
            self.octets -= part.len();
            self.moved = now;
        }
    }

    /// The other side lacks everything from `wanted` on: what has to be sent again.
    pub(crate) fn again(&mut self, wanted: u64, now: Instant) -> Vec<Vec<u8>> {
        self.acknowledged(wanted, now);
        self.moved = now;
        self.kept.iter().cloned().collect()
    }

    /// A question what has come, where nothing was acknowledged for a while.
    pub(crate) fn probe(&mut self, now: Instant) -> Option<Vec<u8>> {
        let is_due = !self.kept.is_empty() && now.duration_since(self.moved) >= PROBE_AFTER;
        is_due.then(|| {
            self.moved = now;
            Part { kind: PartKind::Probe, number: self.next, octets: &[] }.written()
        })
    }

    fn first(&self) -> u64 {
        self.next - self.kept.len() as u64
    }
}

/// What has come from the other side.
#[derive(Debug, Default)]
pub(crate) struct Came {
    /// The next part that is wanted.
    next: u64,
    /// The parts of a frame that is not whole.
    frame: Vec<u8>,
    /// Parts that are not acknowledged.
    owed: u32,
    /// The part that was asked for again.
    asked: Option<u64>,
}

/// What follows from a part that has come.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Nothing,
    /// A frame is whole.
    Frame(Frame),
    /// Nothing follows.
    Ended,
    /// Parts are missing: this is to be sent.
    Missing(Vec<u8>),
}

impl Came {
    /// Takes a part of a frame, or the end.
    ///
    /// # Errors
    /// What it says is no frame.
    pub(crate) fn part(&mut self, part: Part<'_>) -> Result<Outcome, String> {
        if part.number < self.next {
            // It came again, because its acknowledgement was lost.
            self.owed += 1;
            return Ok(Outcome::Nothing);
        }
        if part.number > self.next {
            // Asked for once: what is under way until then is no reason to ask again. A probe follows if that is lost.
            let is_new = self.asked.replace(self.next) != Some(self.next);
            return Ok(if is_new { Outcome::Missing(self.again()) } else { Outcome::Nothing });
        }
        self.next += 1;
        self.owed += 1;
        if part.kind == PartKind::End {
            return Ok(Outcome::Ended);
        }
        if self.frame.len() + part.octets.len() > LONGEST + 1 {
            return Err("a frame is too long".to_owned());
        }
        self.frame.extend_from_slice(part.octets);
        if part.kind == PartKind::More {
            return Ok(Outcome::Nothing);
        }
        let whole = std::mem::take(&mut self.frame);
        let frame = whole.split_first().and_then(|(mark, octets)| {
            Kind::of_mark(*mark).map(|kind| Frame { kind, octets: octets.to_vec() })
        });
        frame.map(Outcome::Frame).ok_or_else(|| "it sends what is no frame".to_owned())
    }

    /// The answer to a probe: everything before `end` was sent, and has come or is lost.
    pub(crate) fn probed(&mut self, end: u64) -> Vec<u8> {
        if self.next < end { self.again() } else { self.acknowledgement() }
    }

    /// Whether so many parts have come that their sender should know.
    pub(crate) fn owes_much(&self) -> bool {
        self.owed >= ACKNOWLEDGED_AT
    }

    /// What tells the sender which parts have come, where it does not know.
    pub(crate) fn owed(&mut self) -> Option<Vec<u8>> {
        (self.owed > 0).then(|| self.acknowledgement())
    }

    fn acknowledgement(&mut self) -> Vec<u8> {
        self.owed = 0;
        Part { kind: PartKind::Acknowledged, number: self.next, octets: &[] }.written()
    }

    fn again(&mut self) -> Vec<u8> {
        self.owed = 0;
        Part { kind: PartKind::Again, number: self.next, octets: &[] }.written()
    }
}

/// Octets of a message beside those of the frame.
pub(crate) const HEAD: usize = 9;

/// Octets that are kept until they are acknowledged: what is lost with a broker is sent again from them.
const WINDOW: usize = 8 << 20;

/// Parts that are acknowledged at once; fewer wait for the next look.
const ACKNOWLEDGED_AT: u32 = 16;

/// After so long without an acknowledgement the other side is asked what has come.
const PROBE_AFTER: Duration = Duration::from_millis(300);

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(length: usize, fill: u8) -> Frame {
        Frame { kind: Kind::Line, octets: vec![fill; length] }
    }

    /// Gives a message to the other side; what it sends back is answered until both have nothing to say.
    fn give(sent: &mut Sent, came: &mut Came, message: &[u8], got: &mut Vec<Frame>) {
        let mut on_the_way = VecDeque::from([message.to_vec()]);
        while let Some(message) = on_the_way.pop_front() {
            let part = Part::read(&message).unwrap();
            let now = Instant::now();
            match part.kind {
                PartKind::More | PartKind::Last | PartKind::End => match came.part(part).unwrap() {
                    Outcome::Frame(frame) => got.push(frame),
                    Outcome::Missing(answer) => on_the_way.push_back(answer),
                    Outcome::Nothing | Outcome::Ended => {}
                },
                PartKind::Acknowledged => sent.acknowledged(part.number, now),
                PartKind::Again => on_the_way.extend(sent.again(part.number, now)),
                PartKind::Probe => on_the_way.push_back(came.probed(part.number)),
            }
        }
    }

    #[test]
    fn messages_are_read_as_they_were_written() {
        for (_, kind) in KINDS {
            let part = Part { kind, number: 0x0102_0304_0506_0708, octets: b"xyz" };
            assert_eq!(Part::read(&part.written()), Some(part));
        }
        assert_eq!((Part::read(b""), Part::read(b"+1234567"), Part::read(b"?12345678")), (None, None, None));
    }

    #[test]
    fn frames_longer_than_a_message_are_cut_and_put_together() {
        let (mut sent, mut came, mut got) = (Sent::new(Instant::now()), Came::default(), Vec::new());
        let frames = [frame(0, 0), frame(990, 1), frame(991, 2), frame(992, 3), frame(70_000, 4)];
        for one in &frames {
            for part in sent.frame(one, 1_000, Instant::now()) {
                assert!(part.len() <= 1_000);
                give(&mut sent, &mut came, &part, &mut got);
            }
        }
        assert_eq!(got, frames);
        let owed = came.owed().unwrap();
        give(&mut sent, &mut came, &owed, &mut got);
        assert!(sent.is_empty() && came.owed().is_none());
    }

    #[test]
    fn whatever_is_lost_everything_comes_once_and_in_order() {
        // Each pattern of eight messages, of which those with a bit are lost.
        for pattern in 0..=255_u32 {
            let (mut sent, mut came, mut got) = (Sent::new(Instant::now()), Came::default(), Vec::new());
            let frames: Vec<Frame> = (0..8).map(|fill| frame(10, fill)).collect();
            for (at, one) in frames.iter().enumerate() {
                for part in sent.frame(one, 1_000, Instant::now()) {
                    if pattern >> at & 1 == 0 {
                        give(&mut sent, &mut came, &part, &mut got);
                    }
                }
            }
            // A probe after a while finds what was lost at the end; here the question may be lost too.
            let later = Instant::now() + PROBE_AFTER;
            let lost = sent.probe(later);
            let probe = sent.probe(later + PROBE_AFTER);
            assert_eq!((lost.is_some(), probe.is_some()), (true, true), "{pattern:08b}");
            give(&mut sent, &mut came, &probe.unwrap(), &mut got);
            if let Some(owed) = came.owed() {
                give(&mut sent, &mut came, &owed, &mut got);
            }
            assert_eq!(got, frames, "{pattern:08b}");
            assert!(sent.is_empty() && sent.probe(later + 9 * PROBE_AFTER).is_none(), "{pattern:08b}");
        }
    }

    #[test]
    fn a_gap_is_asked_for_once_and_what_is_kept_is_bounded() {
        let (mut sent, mut came) = (Sent::new(Instant::now()), Came::default());
        let parts = sent.frame(&frame(50, 7), 20, Instant::now());
        let taken = |came: &mut Came, at: usize| came.part(Part::read(&parts[at]).unwrap()).unwrap();
        assert!(matches!(taken(&mut came, 2), Outcome::Missing(_)));
        assert_eq!(taken(&mut came, 3), Outcome::Nothing);
        assert_eq!(taken(&mut came, 0), Outcome::Nothing);
        assert!(matches!(taken(&mut came, 2), Outcome::Missing(_)), "another part is missing");
        assert!(sent.has_room());
        sent.frame(&frame(WINDOW, 1), 1 << 20, Instant::now());
        assert!(!sent.has_room());
        sent.acknowledged(u64::MAX, Instant::now());
        assert!(sent.has_room() && sent.is_empty());
    }

    #[test]
    fn what_is_no_frame_is_an_error_and_takes_no_memory_for_ever() {
        let mut came = Came::default();
        let strange = Part { kind: PartKind::Last, number: 0, octets: b"?abc" };
        assert!(came.part(strange).is_err());
        let octets = vec![b'L'; 1 << 20];
        let mut number = 1;
        let refused = loop {
            let part = Part { kind: PartKind::More, number, octets: &octets };
            match came.part(part) {
                Ok(_) => number += 1,
                Err(why) => break why,
            }
        };
        assert!(refused.contains("too long") && number < 20);
    }
}

//! Several transports in one: a mix of ways to the server by weight, and the fallback from UDP to
//! TCP, which is a way of two parts.
//!
//! ```text
//!   member 0, weight 60   ── part 0: UDP                 channels 0..2
//!   member 1, weight 15   ── part 1: TCP                 channels 2..12
//!   member 2, weight 25   ─┬ part 2: UDP                 channels 12..14
//!                          └ part 3: TCP, asked again    channels 14..1014
//! ```
//!
//! Each part is a transport of its own with channels of its own; here they stand one after the
//! other. Whose query the next one is, is drawn for each by its member's weight: the k-th query of a
//! member falls somewhere into the k-th of equal pieces of the schedule, so that the shares hold over
//! any stretch to a query or two, and no member always gets the same lines of a file.

use std::io;
use std::os::fd::BorrowedFd;

use dnsdyno_measure::{NotSentReason, StreamFailure};
use dnsdyno_sys::poll::Poller;

use crate::chance::Chance;
use crate::description::{Description, Open, OpenError, PartDescription, PartKind};
use crate::table::transports;
use crate::worker_clock::WorkerClock;
use crate::{Batch, ConnectionEvent, Group, MessageKind, NextClient, Resources, Sent, Sink, Transport, Wake};

/// One member of a mix.
pub struct Member {
    /// How many of the queries are its, against the weights of the others; above 0.
    pub weight: f64,
    /// Where its queries leave.
    pub first: Part,
    /// Where those leave again whose answers were truncated.
    pub second: Option<Part>,
}

macro_rules! parts {
    (parts { $($(#[$doc:meta])* $part:ident: $($type:ident)::+,)+ } alone { $($alone:tt)* }) => {
        /// One part of a mix.
        #[expect(clippy::large_enum_variant, reason = "a worker has a handful")]
        pub enum Part {
            $($(#[$doc])* $part($crate::$($type)::+),)+
        }

        impl Part {
            /// Opens the part of each worker.
            fn open_all(part: &PartDescription) -> Result<Vec<Part>, OpenError> {
                Ok(match part.kind {
                    $(PartKind::$part => Open::open_all(&part.description)?.into_iter().map(Part::$part).collect(),)+
                })
            }

            fn files(part: &PartDescription) -> usize {
                match part.kind {
                    $(PartKind::$part => <$crate::$($type)::+ as Open>::files(&part.description),)+
                }
            }

            fn connects(&self) -> bool {
                match self {
                    $(Part::$part(_) => <$crate::$($type)::+ as Transport>::CONNECTS,)+
                }
            }
        }
    };
}

transports!(parts);

/// Does the same with whichever transport a part is.
macro_rules! each {
    ($part:expr, $transport:ident => $does:expr) => {
        transports!(match_part($part)($transport)($does))
    };
}

macro_rules! match_part {
    (
        ($part:expr) ($transport:ident) ($does:expr)
        parts { $($(#[$doc:meta])* $kind:ident: $($type:ident)::+,)+ } alone { $($alone:tt)* }
    ) => {
        match $part {
            $(Part::$kind($transport) => $does,)+
        }
    };
}

/// What a transport must tell beside what every transport does, to be waited for with others.
pub(crate) trait InMix: Transport {
    /// Readable when something has come.
    fn events(&self) -> BorrowedFd<'_>;

    /// Whether it has something to tell that nothing will wake for.
    fn has_more(&self) -> bool {
        false
    }

    /// Lets go what waits to leave, before a wait, and says when it wants its next turn, whatever comes.
    fn before_wait(&mut self) -> Option<u64> {
        None
    }

    /// Nothing has come: the next look may be spared.
    fn note_quiet(&mut self);
}

/// One worker's ways to the server.
pub struct Mixed {
    parts: Vec<Place>,
    /// Whose query is next.
    draw: Draw,
    poller: Poller,
    /// By part: whether the last wait named it.
    is_ready: Vec<bool>,
    has_waited: bool,
    clock: WorkerClock,
}

/// A part, and where it stands.
struct Place {
    part: Part,
    /// Its first channel.
    first: usize,
    channels: usize,
    member: u8,
    is_fallback: bool,
}

impl Mixed {
    /// The mix of these members, of worker number `worker`. At most 256 members, and one of them with
    /// a second part.
    ///
    /// # Errors
    /// Where the host gives no epoll set.
    pub fn new(members: Vec<Member>, seed: u64, worker: usize) -> io::Result<Self> {
        let weights = members.iter().map(|member| member.weight).collect::<Vec<_>>();
        let mut parts = Vec::new();
        let mut first = 0;
        for (number, member) in members.into_iter().enumerate() {
            let both = [Some((member.first, false)), member.second.map(|part| (part, true))];
            for (part, is_fallback) in both.into_iter().flatten() {
                let channels = each!(&part, transport => transport.channels());
                parts.push(Place { part, first, channels, member: number as u8, is_fallback });
                first += channels;
            }
        }
        let poller = Poller::new(parts.len())?;
        for (number, place) in parts.iter().enumerate() {
            poller.add(&each!(&place.part, transport => transport.events()), number as u64)?;
        }
        Ok(Mixed {
            is_ready: vec![false; parts.len()],
            parts,
            draw: Draw::new(&weights, Chance::of_worker(seed, worker as u64)),
            poller,
            has_waited: false,
            clock: WorkerClock::default(),
        })
    }

    /// Waits for parts that have something, and notes which.
    fn look(&mut self, timeout_ns: u64) {
        match self.poller.wait(Some(timeout_ns)) {
            Ok(ready) => ready.for_each(|part| self.is_ready[part as usize] = true),
            // It has no cause here, and only means that we look everywhere.
            Err(_) => self.is_ready.fill(true),
        }
        self.has_waited = true;
    }

    /// The part that a channel belongs to, and the channel's number there.
    fn part_of(&mut self, channel: usize) -> (&mut Part, usize) {
        // A handful of parts: looking through them costs less than a table would.
        let number = self.parts.iter().rposition(|place| place.first <= channel).unwrap_or(0);
        let place = &mut self.parts[number];
        (&mut place.part, channel - place.first)
    }
}

impl Transport for Mixed {
    const CONNECTS: bool = true;

    fn begin(&mut self, epoch_ns: u64) {
        // Each has a clock of its own, and all show the same time.
        for place in &mut self.parts {
            each!(&mut place.part, transport => transport.begin(epoch_ns));
        }
        self.clock.begin(epoch_ns);
    }

    fn channels(&self) -> usize {
        self.parts.iter().map(|place| place.channels).sum()
    }

    #[inline]
    fn now_ns(&self) -> u64 {
        self.clock.now_ns()
    }

    fn groups(&self) -> Vec<Group> {
        let group = |place: &Place| Group {
            channels: place.channels,
            connects: place.part.connects(),
            most_outstanding: each!(&place.part, transport => transport.most_outstanding()),
            member: place.member,
            is_fallback: place.is_fallback,
        };
        self.parts.iter().map(group).collect()
    }

    fn next_member(&mut self) -> u8 {
        self.draw.next()
    }

    fn next_client_of(&mut self, group: usize) -> Result<NextClient, NotSentReason> {
        let place = &mut self.parts[group];
        let turn = each!(&mut place.part, clients => clients.next_client())?;
        Ok(NextClient { channel: place.first + turn.channel, ..turn })
    }

    fn capacity_of(&self, channel: usize) -> Result<usize, NotSentReason> {
        let number = self.parts.iter().rposition(|place| place.first <= channel).unwrap_or(0);
        let place = &self.parts[number];
        each!(&place.part, transport => transport.capacity_of(channel - place.first))
    }

    fn pass(&mut self, channel: usize) {
        let (part, channel) = self.part_of(channel);
        each!(part, transport => transport.pass(channel));
    }

    fn send(&mut self, channel: usize, batch: &Batch) -> Sent {
        let (part, channel) = self.part_of(channel);
        each!(part, transport => transport.send(channel, batch))
    }

    fn receive(&mut self, sink: &mut impl Sink) {
        if !std::mem::take(&mut self.has_waited) {
            self.look(0);
            self.has_waited = false;
        }
        for (place, is_ready) in self.parts.iter_mut().zip(&mut self.is_ready) {
            let is_quiet = !std::mem::take(is_ready);
            let mut sink = Behind { first: place.first, sink };
            each!(&mut place.part, transport => {
                if is_quiet {
                    transport.note_quiet();
                }
                transport.receive(&mut sink);
            });
        }
    }

    fn wait(&mut self, until_ns: u64, _wake: Wake) {
        let turn_ns = |place: &mut Place| each!(&mut place.part, transport => transport.before_wait());
        let until_ns = self.parts.iter_mut().filter_map(turn_ns).fold(until_ns, u64::min);
        let now_ns = self.now_ns();
        let has_more = |place: &Place| each!(&place.part, transport => transport.has_more());
        if until_ns <= now_ns + SPIN_NS || self.parts.iter().any(has_more) {
            return;
        }
        self.look(until_ns - now_ns);
    }

    fn expired(&mut self, channel: usize) {
        let (part, channel) = self.part_of(channel);
        each!(part, transport => transport.expired(channel));
    }

    fn finish(&mut self, sink: &mut impl Sink) {
        for place in &mut self.parts {
            let mut sink = Behind { first: place.first, sink };
            each!(&mut place.part, transport => transport.finish(&mut sink));
        }
    }

    fn resources(&mut self) -> Resources {
        let used = self.clock.used();
        let drops =
            |place: &mut Place| each!(&mut place.part, transport => transport.resources().socket_drops);
        Resources {
            cpu_ns: used.cpu_ns,
            cpu_wait_ns: used.cpu_wait_ns,
            socket_drops: self.parts.iter_mut().map(drops).sum(),
            fragments: 0,
        }
    }
}

impl Open for Mixed {
    fn open_all(description: &Description) -> Result<Vec<Self>, OpenError> {
        let mut of_worker: Vec<Vec<Member>> = (0..description.workers).map(|_| Vec::new()).collect();
        for member in &description.members {
            let first = Part::open_all(&member.first)?;
            let second = member.fallback.as_ref().map(Part::open_all).transpose()?;
            let mut second = second.into_iter().flatten();
            for (members, first) in of_worker.iter_mut().zip(first) {
                members.push(Member { weight: member.weight, first, second: second.next() });
            }
        }
        let mixed = |(worker, members)| Mixed::new(members, description.seed, worker);
        of_worker.into_iter().enumerate().map(mixed).collect::<Result<_, _>>().map_err(OpenError::refused)
    }

    fn files(description: &Description) -> usize {
        let parts =
            description.members.iter().flat_map(|member| [Some(&member.first), member.fallback.as_ref()]);
        parts.flatten().map(Part::files).sum()
    }
}

/// Hands on what a part brings, with the part's channels behind those before it.
struct Behind<'a, S> {
    first: usize,
    sink: &'a mut S,
}

impl<S: Sink> Sink for Behind<'_, S> {
    #[inline]
    fn packet(&mut self, channel: usize, at_ns: u64, bytes: &[u8]) {
        self.sink.packet(self.first + channel, at_ns, bytes);
    }

    fn refused(&mut self, channel: usize, at_ns: u64, quoted: &[u8]) {
        self.sink.refused(self.first + channel, at_ns, quoted);
    }

    #[inline]
    fn answer(&mut self, channel: usize, at_ns: u64, since_ns: u64, bytes: &[u8]) -> MessageKind {
        self.sink.answer(self.first + channel, at_ns, since_ns, bytes)
    }

    fn connection(&mut self, channel: usize, at_ns: u64, news: ConnectionEvent) {
        self.sink.connection(self.first + channel, at_ns, news);
    }

    fn reused(&mut self, queries: u64) {
        self.sink.reused(queries);
    }

    fn status(&mut self, status: u16) {
        self.sink.status(status);
    }

    fn stream_failed(&mut self, channel: usize, id: u16, asked_ns: u64, why: StreamFailure) -> bool {
        self.sink.stream_failed(self.first + channel, id, asked_ns, why)
    }
}

/// Draws the member whose query is next.
///
/// ```text
///   weight 3   |  x  |    x|x    |   x |     one in each piece, anywhere in it
///   weight 1   |          y      |     ...
///   drawn       x     y? ...                in the order of the line
/// ```
struct Draw {
    lines: Vec<Line>,
    chance: Chance,
}

struct Line {
    /// The length of a piece: one over the weight.
    piece: f64,
    /// The number of the piece that the next query falls into.
    number: f64,
    /// Where it falls.
    next: f64,
}

impl Draw {
    fn new(weights: &[f64], mut chance: Chance) -> Self {
        let line = |weight: &f64| Line { piece: 1.0 / weight, number: 0.0, next: chance.unit() / weight };
        Draw { lines: weights.iter().map(line).collect(), chance }
    }

    fn next(&mut self) -> u8 {
        if self.lines.len() == 1 {
            return 0;
        }
        let order = |a: &(usize, &Line), b: &(usize, &Line)| a.1.next.total_cmp(&b.1.next);
        let Some((member, _)) = self.lines.iter().enumerate().min_by(order) else { return 0 };
        let line = &mut self.lines[member];
        line.number += 1.0;
        line.next = (line.number + self.chance.unit()) * line.piece;
        member as u8
    }
}

/// A wait this short costs more than it gives back: the thread looks again instead.
const SPIN_NS: u64 = 4_000;

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(weights: &[f64], seed: u64, many: usize) -> Vec<u8> {
        let mut draw = Draw::new(weights, Chance::of_worker(seed, 0));
        (0..many).map(|_| draw.next()).collect()
    }

    #[test]
    fn shares_hold_over_any_stretch_of_queries_to_a_few() {
        for weights in [vec![60.0, 15.0, 25.0], vec![1.0, 1.0], vec![97.0, 3.0], vec![0.1; 5]] {
            let sum: f64 = weights.iter().sum();
            let order = drawn(&weights, 7, 20_000);
            for length in [20, 50, 1_000] {
                for stretch in order.chunks_exact(length) {
                    for (member, weight) in weights.iter().enumerate() {
                        let have = stretch.iter().filter(|m| usize::from(**m) == member).count() as f64;
                        let want = length as f64 * weight / sum;
                        assert!((have - want).abs() <= 3.0, "{weights:?} of {length}: {have}, not {want}");
                    }
                }
            }
        }
    }

    #[test]
    fn a_member_meets_every_line_of_a_file_and_the_same_seed_the_same() {
        let order = drawn(&[1.0, 1.0], 3, 4_000);
        let at_even_lines = order.iter().step_by(2).filter(|member| **member == 0).count();
        assert!((900..1_100).contains(&at_even_lines), "{at_even_lines} of 2,000");
        assert_eq!(order, drawn(&[1.0, 1.0], 3, 4_000));
        assert_ne!(order, drawn(&[1.0, 1.0], 4, 4_000));
    }
}

//! Several transports in one: a mix of servers and transports by weight, and the fallback from UDP to TCP, which has
//! two parts.
//!
//! ```text
//!   member 0, weight 60   ── part 0: UDP                 channels 0..2
//!   member 1, weight 15   ── part 1: TCP                 channels 2..12
//!   member 2, weight 25   ─┬ part 2: UDP                 channels 12..14
//!                          └ part 3: TCP, fallback       channels 14..1014
//! ```
//!
//! Each part is a transport with its own channels, which are numbered here one part after the other.
//!
//! Members of equal weight send in turn: in each round of queries every member has one, so that their numbers differ by
//! one at most. Which member a round starts with is drawn at random: in a fixed order, one of two servers would get all
//! even lines of a file, which in many files are those of one type. Other weights are drawn: the k-th query of a member
//! falls at a random place in the k-th of equal pieces of the schedule, and the shares hold over any part of the
//! schedule to within a few queries.

use std::io;
use std::os::fd::BorrowedFd;

use dnsdyno_measure::{Explanation, NotSentReason, StreamFailure};
use dnsdyno_sys::poll::Poller;

use crate::description::{Description, Open, OpenError, PartDescription, PartKind};
use crate::random::Random;
use crate::table::transports;
use crate::worker_clock::WorkerClock;
use crate::{
    Batch, ConnectionEvent, Departure, Expired, Group, MessageKind, NextClient, Peer, Resources, Sent, Sink,
    Transport, Wake,
};

/// One member of a mix.
pub struct Member {
    /// Its share of the queries, relative to the weights of the others; above 0.
    pub weight: f64,
    /// Sends its queries.
    pub first: Part,
    /// Sends the queries again whose responses were truncated.
    pub fallback: Option<Part>,
}

macro_rules! parts {
    (parts { $($(#[$doc:meta])* $part:ident: $($type:ident)::+,)+ } alone { $($alone:tt)* }) => {
        /// One part of a mix.
        #[expect(clippy::large_enum_variant, reason = "a worker has only a few")]
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

/// Evaluates an expression with the transport of a part, whatever its type.
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

/// What a transport must provide in addition, so that several can be waited for together.
pub(crate) trait InMix: Transport {
    /// A file descriptor that is readable when something has been received.
    fn events(&self) -> BorrowedFd<'_>;

    /// Whether it has something to report that its file descriptor does not show.
    fn has_more(&self) -> bool {
        false
    }

    /// Sends what is buffered, before a wait. Returns when it must be called again even if nothing is received.
    fn before_wait(&mut self) -> Option<u64> {
        None
    }

    /// Nothing has been received: the next `receive` may skip its system call.
    fn note_quiet(&mut self);
}

/// The transports of one worker.
pub struct Mixed {
    parts: Vec<PlacedPart>,
    draw: Draw,
    poller: Poller,
    /// By part: whether the last wait found it ready.
    is_ready: Vec<bool>,
    has_waited: bool,
    clock: WorkerClock,
}

/// A part, and its first channel in the mix.
struct PlacedPart {
    part: Part,
    first: usize,
    channels: usize,
    member: u8,
    is_fallback: bool,
}

impl Mixed {
    /// The mix of these members, of worker number `worker`. At most 256 members, and at most one with a fallback.
    ///
    /// # Errors
    /// If the host cannot create an epoll set.
    pub fn new(members: Vec<Member>, seed: u64, worker: usize) -> io::Result<Self> {
        let weights = members.iter().map(|member| member.weight).collect::<Vec<_>>();
        let mut parts = Vec::new();
        let mut first = 0;
        for (number, member) in members.into_iter().enumerate() {
            let parts_of_member = [Some((member.first, false)), member.fallback.map(|part| (part, true))];
            for (part, is_fallback) in parts_of_member.into_iter().flatten() {
                let channels = each!(&part, transport => transport.channels());
                parts.push(PlacedPart { part, first, channels, member: number as u8, is_fallback });
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
            draw: Draw::new(&weights, Random::of_worker(seed, worker as u64)),
            poller,
            has_waited: false,
            clock: WorkerClock::default(),
        })
    }

    /// The part that a channel belongs to, and the channel's number in that part.
    fn part_of(&mut self, channel: usize) -> (&mut Part, usize) {
        // There are only a few parts: a search costs less than a table.
        let number = self.parts.iter().rposition(|place| place.first <= channel).unwrap_or(0);
        let place = &mut self.parts[number];
        (&mut place.part, channel - place.first)
    }
}

impl Transport for Mixed {
    const CONNECTS: bool = true;

    fn begin(&mut self, epoch_ns: u64) {
        // Each part has its own clock; all have the same time.
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
        let group = |place: &PlacedPart| Group {
            channels: place.channels,
            connects: place.part.connects(),
            most_outstanding: each!(&place.part, transport => transport.most_outstanding()),
            at_once: Batch::USUAL,
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
        let next = each!(&mut place.part, clients => clients.next_client())?;
        Ok(NextClient { channel: place.first + next.channel, ..next })
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
            note_ready(&mut self.poller, 0, &mut self.is_ready);
        }
        for (place, is_ready) in self.parts.iter_mut().zip(&mut self.is_ready) {
            let is_quiet = !std::mem::take(is_ready);
            let mut sink = Renumbered { first: place.first, sink };
            each!(&mut place.part, transport => {
                if is_quiet {
                    transport.note_quiet();
                }
                transport.receive(&mut sink);
            });
        }
    }

    fn wait(&mut self, until_ns: u64, wake: Wake) {
        let call_again_ns =
            |place: &mut PlacedPart| each!(&mut place.part, transport => transport.before_wait());
        let turn_ns = self.parts.iter_mut().filter_map(call_again_ns).min().unwrap_or(u64::MAX);
        let has_more = |place: &PlacedPart| each!(&place.part, transport => transport.has_more());
        if self.parts.iter().any(has_more) {
            return;
        }
        let exactly = wake.exactly && until_ns <= turn_ns;
        let Mixed { clock, poller, is_ready, has_waited, .. } = self;
        clock.wait_until_ns(until_ns.min(turn_ns), exactly, |timeout_ns| {
            *has_waited = true;
            note_ready(poller, timeout_ns, is_ready)
        });
    }

    fn oversleep_ns(&self) -> u64 {
        self.clock.oversleep_ns()
    }

    fn expired(&mut self, channel: usize, id: u16) -> Expired {
        let (part, channel) = self.part_of(channel);
        each!(part, transport => transport.expired(channel, id))
    }

    fn finish(&mut self, sink: &mut impl Sink) {
        for place in &mut self.parts {
            let mut sink = Renumbered { first: place.first, sink };
            each!(&mut place.part, transport => transport.finish(&mut sink));
        }
    }

    fn explanations(&mut self) -> Vec<Explanation> {
        self.parts
            .iter_mut()
            .flat_map(|place| each!(&mut place.part, transport => transport.explanations()))
            .collect()
    }

    fn peer(&self) -> Option<Peer> {
        self.parts.iter().find_map(|place| each!(&place.part, transport => transport.peer()))
    }

    fn resources(&mut self) -> Resources {
        let used = self.clock.used();
        let drops =
            |place: &mut PlacedPart| each!(&mut place.part, transport => transport.resources().socket_drops);
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
            let fallback = member.fallback.as_ref().map(Part::open_all).transpose()?;
            let mut fallback = fallback.into_iter().flatten();
            for (members, first) in of_worker.iter_mut().zip(first) {
                members.push(Member { weight: member.weight, first, fallback: fallback.next() });
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

/// Passes on what a part reports, with the channel's number in the mix.
struct Renumbered<'a, S> {
    first: usize,
    sink: &'a mut S,
}

impl<S: Sink> Sink for Renumbered<'_, S> {
    #[inline]
    fn packet(&mut self, channel: usize, at_ns: u64, bytes: &[u8]) {
        self.sink.packet(self.first + channel, at_ns, bytes);
    }

    fn refused(&mut self, channel: usize, at_ns: u64, quoted: &[u8]) {
        self.sink.refused(self.first + channel, at_ns, quoted);
    }

    fn departed(&mut self, departure: Departure) {
        self.sink.departed(departure);
    }

    #[inline]
    fn answer(
        &mut self,
        channel: usize,
        at_ns: u64,
        ready_ns: u64,
        asked_ns: Option<u64>,
        bytes: &[u8],
    ) -> MessageKind {
        self.sink.answer(self.first + channel, at_ns, ready_ns, asked_ns, bytes)
    }

    fn connection(&mut self, channel: usize, at_ns: u64, event: ConnectionEvent) {
        self.sink.connection(self.first + channel, at_ns, event);
    }

    fn reused(&mut self, queries: u64) {
        self.sink.reused(queries);
    }

    fn status(&mut self, status: u16) {
        self.sink.status(status);
    }

    fn stream_failed(&mut self, channel: usize, id: u16, sent_ns: u64, why: StreamFailure) -> bool {
        self.sink.stream_failed(self.first + channel, id, sent_ns, why)
    }
}

/// Waits until a part is ready, and notes which parts are. Returns whether any is.
fn note_ready(poller: &mut Poller, timeout_ns: u64, is_ready: &mut [bool]) -> bool {
    let mut any = false;
    match poller.wait(Some(timeout_ns)) {
        Ok(ready) => ready.for_each(|part| (is_ready[part as usize], any) = (true, true)),
        // Not expected. All parts are then read.
        Err(_) => (any, _) = (true, is_ready.fill(true)),
    }
    any
}

/// Which member sends the next query.
enum Draw {
    /// Members of equal weight, in turn.
    Turns(Turns),
    /// By weight.
    Weights(Weights),
}

impl Draw {
    fn new(weights: &[f64], random: Random) -> Self {
        match weights.windows(2).all(|pair| pair[0] == pair[1]) {
            true => Draw::Turns(Turns { members: weights.len(), start: 0, done: 0, random }),
            false => Draw::Weights(Weights::new(weights, random)),
        }
    }

    #[inline]
    fn next(&mut self) -> u8 {
        match self {
            Draw::Turns(turns) => turns.next(),
            Draw::Weights(weights) => weights.next(),
        }
    }
}

/// Rounds in which each member has one query. Each round starts with a member drawn at random.
///
/// ```text
///   a b c | c a b | b c a | b c a | ...
/// ```
struct Turns {
    members: usize,
    /// The first member of this round.
    start: usize,
    /// How many members of this round have had their query.
    done: usize,
    random: Random,
}

impl Turns {
    fn next(&mut self) -> u8 {
        if self.done == 0 && self.members > 1 {
            self.start = self.random.below(self.members);
        }
        let member = (self.start + self.done) % self.members;
        self.done = (self.done + 1) % self.members;
        member as u8
    }
}

/// ```text
///   weight 3   |  x  |    x|x    |   x |     one query at a random place in each piece
///   weight 1   |          y      |     ...
///   drawn       x     y? ...                by place, over all members
/// ```
struct Weights {
    members: Vec<Pieces>,
    random: Random,
}

/// The pieces of the schedule of one member.
struct Pieces {
    /// The length of a piece: one over the weight.
    length: f64,
    /// The number of the piece with the next query.
    number: f64,
    /// The place of the next query.
    next: f64,
}

impl Weights {
    fn new(weights: &[f64], mut random: Random) -> Self {
        let pieces =
            |weight: &f64| Pieces { length: 1.0 / weight, number: 0.0, next: random.unit() / weight };
        Weights { members: weights.iter().map(pieces).collect(), random }
    }

    fn next(&mut self) -> u8 {
        let order = |a: &(usize, &Pieces), b: &(usize, &Pieces)| a.1.next.total_cmp(&b.1.next);
        let Some((member, _)) = self.members.iter().enumerate().min_by(order) else { return 0 };
        let pieces = &mut self.members[member];
        pieces.number += 1.0;
        pieces.next = (pieces.number + self.random.unit()) * pieces.length;
        member as u8
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many of these queries each member has sent.
    fn counts(order: &[u8], members: usize) -> Vec<usize> {
        (0..members)
            .map(|member| order.iter().filter(|drawn| usize::from(**drawn) == member).count())
            .collect()
    }

    #[test]
    fn members_of_equal_weight_have_one_query_in_each_round() {
        for members in [1, 2, 3, 7, 32] {
            let order = drawn(&vec![0.3; members], 5, 100 * members + 1);
            for round in order.chunks_exact(members) {
                assert_eq!(counts(round, members), vec![1; members]);
            }
            for many in 0..order.len() {
                let counts = counts(&order[..many], members);
                assert!(counts.iter().max().unwrap() - counts.iter().min().unwrap() <= 1, "{counts:?}");
            }
        }
    }

    fn drawn(weights: &[f64], seed: u64, many: usize) -> Vec<u8> {
        let mut draw = Draw::new(weights, Random::of_worker(seed, 0));
        (0..many).map(|_| draw.next()).collect()
    }

    #[test]
    fn shares_hold_to_within_three_queries_over_any_part_of_the_schedule() {
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
    fn each_member_gets_all_lines_of_a_file_and_a_seed_repeats_the_order() {
        for weights in [[1.0, 1.0], [1.0, 1.001]] {
            let order = drawn(&weights, 3, 4_000);
            let at_even_lines = order.iter().step_by(2).filter(|member| **member == 0).count();
            assert!((900..1_100).contains(&at_even_lines), "{at_even_lines} of 2,000");
            assert_eq!(order, drawn(&weights, 3, 4_000));
            assert_ne!(order, drawn(&weights, 4, 4_000));
        }
    }
}

//! One direction of the path: what becomes of each packet, and when it is due at the other end.
//!
//! ```text
//!  a datagram ──► lost? ──► queue and rate ──► delay ──► due
//!                             │ full: dropped
//!  octets of a stream ────────┘ full: not read until there is room
//! ```
//!
//! Time is an argument: there is no clock here, and no socket.

use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt, SeedableRng};

use super::error::RelayError;
use super::way::{DelaySource, Way};

/// What a direction does, ready to be done.
#[derive(Debug)]
pub(crate) struct Course {
    way: Way,
    delay: DelaySource,
    queue_ns: u64,
}

impl Course {
    /// Checks what is asked for, and reads its file where it has one.
    pub(crate) fn new(way: &Way) -> Result<Course, RelayError> {
        way.validate()?;
        let queue_ns = u64::try_from(way.queue.as_nanos()).unwrap_or(u64::MAX);
        Ok(Course { delay: way.delay.open()?, queue_ns, way: way.clone() })
    }
}

/// One direction.
#[derive(Debug)]
pub(crate) struct Link {
    course: Course,
    /// Until when the rate is taken by what has passed before.
    free_ns: u64,
    /// When the last of all is due.
    last_due_ns: u64,
    /// It is in a burst of losses.
    is_losing: bool,
    /// Separate, so that an option of one kind does not change what is drawn for the others.
    losses: Xoshiro256PlusPlus,
    delays: Xoshiro256PlusPlus,
    streams: Xoshiro256PlusPlus,
}

/// What becomes of a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// It is lost, as was asked for.
    Lost,
    /// The queue of the rate limit is full.
    QueueFull,
    /// It arrives.
    Passed {
        /// When.
        due_ns: u64,
        /// It arrives twice.
        twice: bool,
        /// It has no delay, to overtake others.
        at_once: bool,
    },
}

impl Link {
    /// A direction of its own random streams: `number` is another one for each.
    pub(crate) fn new(way: &Way, seed: u64, number: u64) -> Result<Link, RelayError> {
        let rng = |stream: u64| {
            let stream = number * STREAMS + stream;
            Xoshiro256PlusPlus::seed_from_u64(seed.wrapping_add(stream.wrapping_mul(STREAM_STEP)))
        };
        Ok(Link {
            course: Course::new(way)?,
            free_ns: 0,
            last_due_ns: 0,
            is_losing: false,
            losses: rng(0),
            delays: rng(1),
            streams: rng(2),
        })
    }

    /// Does this from now on. What waits for the rate, and the order of what is on its way, are as they were, and the
    /// random streams go on.
    pub(crate) fn change(&mut self, course: Course) {
        self.is_losing &= course.way.loss_burst.is_some();
        self.course = course;
    }

    /// Decides for a datagram that has arrived at `arrival_ns`, of `octets` with its headers.
    #[inline]
    pub(crate) fn datagram(&mut self, arrival_ns: u64, octets: usize) -> Fate {
        let is_lost = self.is_lost();
        let twice = self.draws(self.course.way.duplicate.value());
        let at_once = self.draws(self.course.way.reorder.value());
        let delay_ns = self.course.delay.draw(&mut self.delays);
        if is_lost {
            return Fate::Lost;
        }
        if self.free_ns.saturating_sub(arrival_ns) > self.course.queue_ns {
            return Fate::QueueFull;
        }
        let through_ns = self.pass(arrival_ns, octets);
        let mut due_ns = if at_once { through_ns } else { through_ns.saturating_add(delay_ns) };
        if self.course.way.keep_order {
            due_ns = due_ns.max(self.last_due_ns);
        }
        self.last_due_ns = self.last_due_ns.max(due_ns);
        Fate::Passed { due_ns, twice, at_once }
    }

    /// When octets of a stream are due that were read at `arrival_ns`, with their headers; never before `after_ns`,
    /// because a stream keeps its order.
    pub(crate) fn stream(&mut self, arrival_ns: u64, octets: usize, after_ns: u64) -> u64 {
        let delay_ns = self.course.delay.draw(&mut self.streams);
        self.pass(arrival_ns, octets).saturating_add(delay_ns).max(after_ns)
    }

    /// When the queue has room for octets of a stream.
    pub(crate) fn room_ns(&self) -> u64 {
        self.free_ns.saturating_sub(self.course.queue_ns)
    }

    /// How much of a stream to take at a time, so that the rate is not taken for long by one connection.
    pub(crate) fn stream_octets(&self, most: usize) -> usize {
        let Some(rate) = self.course.way.rate else { return most };
        let quarter =
            u128::from(rate.bits_per_second) * u128::from(self.course.queue_ns / 4) / (8 * NS_PER_S);
        usize::try_from(quarter).unwrap_or(most).clamp(LEAST_OCTETS.min(most), most)
    }

    /// The mean or the median of the delays, in nanoseconds.
    pub(crate) fn middle_delay_ns(&self) -> u64 {
        self.course.delay.middle_ns()
    }

    /// One delay more, for what is not sent as a packet of ours: a packet of a handshake.
    pub(crate) fn delay_ns(&mut self) -> u64 {
        self.course.delay.draw(&mut self.streams)
    }

    /// Takes its share of the rate; returns when its last bit is through.
    #[inline]
    fn pass(&mut self, arrival_ns: u64, octets: usize) -> u64 {
        let Some(rate) = self.course.way.rate else { return arrival_ns };
        let bits = octets as u128 * 8;
        let takes_ns = (bits * NS_PER_S).div_ceil(u128::from(rate.bits_per_second));
        let begins_ns = self.free_ns.max(arrival_ns);
        self.free_ns = begins_ns.saturating_add(u64::try_from(takes_ns).unwrap_or(u64::MAX));
        self.free_ns
    }

    /// Each loss by itself, or two states: in a burst all are lost, and outside none is.
    #[inline]
    fn is_lost(&mut self) -> bool {
        let loss = self.course.way.loss.value();
        let Some(burst) = self.course.way.loss_burst.filter(|_| loss < 1.0) else { return self.draws(loss) };
        let changes = match self.is_losing {
            true => burst.recip(),
            false => loss / (burst * (1.0 - loss)),
        };
        if self.draws(changes) {
            self.is_losing = !self.is_losing;
        }
        self.is_losing
    }

    #[inline]
    fn draws(&mut self, share: f64) -> bool {
        share > 0.0 && self.losses.random::<f64>() < share
    }
}

/// Random streams of a direction.
const STREAMS: u64 = 3;

/// Distance of the seeds of two streams: odd and without pattern.
const STREAM_STEP: u64 = 0x9E37_79B9_7F4A_7C15;

const NS_PER_S: u128 = 1_000_000_000;

/// A segment of TCP: less of a stream is not read at a time.
const LEAST_OCTETS: usize = 1_460;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::faults::Share;

    const MS: u64 = 1_000_000;

    fn link(words: &str) -> Link {
        Link::new(&Way::default().with(words).unwrap(), 1, 0).unwrap()
    }

    /// The fates of packets of 100 octets, `gap_ns` apart.
    fn fates(link: &mut Link, packets: u64, gap_ns: u64) -> Vec<Fate> {
        (0..packets).map(|n| link.datagram(n * gap_ns, 100)).collect()
    }

    fn dues(fates: &[Fate]) -> Vec<u64> {
        let due = |fate: &Fate| match fate {
            Fate::Passed { due_ns, .. } => Some(*due_ns),
            _ => None,
        };
        fates.iter().filter_map(due).collect()
    }

    #[test]
    fn each_packet_has_its_delay_and_nothing_else_without_further_options() {
        let dues = dues(&fates(&mut link("delay=10ms"), 1_000, 1_000));
        assert_eq!(dues, (0..1_000).map(|n| n * 1_000 + 10 * MS).collect::<Vec<_>>());
        assert_eq!(link("").datagram(7, 100), Fate::Passed { due_ns: 7, twice: false, at_once: false });
    }

    #[test]
    fn jitter_changes_the_order_and_keeping_it_holds_packets_back_until_the_one_before() {
        let free = dues(&fates(&mut link("delay=uniform:1ms..5ms"), 10_000, 100_000));
        let kept = dues(&fates(&mut link("delay=uniform:1ms..5ms order=keep"), 10_000, 100_000));
        assert!(!free.is_sorted() && kept.is_sorted());
        // The same delays were drawn: each is the latest of those before it.
        let mut latest = 0;
        for (free, kept) in free.iter().zip(&kept) {
            latest = latest.max(*free);
            assert_eq!(*kept, latest);
        }
    }

    #[test]
    fn a_share_is_lost_doubled_and_sent_at_once() {
        let fates = fates(&mut link("delay=10ms loss=10% duplicate=5% reorder=20%"), 100_000, 1_000);
        let count = |is: fn(&Fate) -> bool| fates.iter().filter(|fate| is(fate)).count();
        // Five standard deviations of the binomial distribution around each.
        assert!((9_525..10_475).contains(&count(|fate| *fate == Fate::Lost)));
        assert!((4_200..4_800).contains(&count(|fate| matches!(fate, Fate::Passed { twice: true, .. }))));
        let at_once = count(|fate| matches!(fate, Fate::Passed { at_once: true, .. }));
        assert!((17_400..18_600).contains(&at_once), "{at_once}");
        for (n, fate) in fates.iter().enumerate() {
            if let Fate::Passed { due_ns, at_once, .. } = fate {
                assert_eq!(*due_ns, n as u64 * 1_000 + if *at_once { 0 } else { 10 * MS });
            }
        }
    }

    #[test]
    fn losses_in_bursts_have_the_share_and_the_length_that_were_asked_for() {
        let fates = fates(&mut link("loss=5% burst=4"), 400_000, 1_000);
        let lost = fates.iter().filter(|fate| **fate == Fate::Lost).count();
        let bursts = fates.windows(2).filter(|two| two[0] != Fate::Lost && two[1] == Fate::Lost).count();
        assert!((18_500..21_500).contains(&lost), "{lost} of 20,000");
        let length = lost as f64 / bursts as f64;
        assert!((3.8..4.2).contains(&length), "{length}");
        assert!(self::fates(&mut link("loss=100% burst=4"), 100, 1).iter().all(|fate| *fate == Fate::Lost));
    }

    #[test]
    fn the_same_seed_decides_the_same_and_other_options_do_not_change_the_losses() {
        let way = Way { loss: Share::new(0.3).unwrap(), ..Way::default() };
        let lost = |way: &Way, seed, number| {
            let mut link = Link::new(way, seed, number).unwrap();
            fates(&mut link, 1_000, 1_000).iter().map(|fate| *fate == Fate::Lost).collect::<Vec<_>>()
        };
        let first = lost(&way, 1, 0);
        assert_eq!(lost(&way, 1, 0), first);
        assert_eq!(lost(&way.with("delay=uniform:1ms..2ms").unwrap(), 1, 0), first);
        assert_ne!(lost(&way, 2, 0), first);
        assert_ne!(lost(&way, 1, 1), first);
    }

    #[test]
    fn a_rate_spaces_packets_and_drops_what_would_wait_too_long() {
        // 100 octets take 1 ms at 800 kbit/s; the queue holds 5 of them.
        let mut limited = link("rate=800kbit queue=5ms");
        let fates = fates(&mut limited, 1_000, 500_000);
        let dues = dues(&fates);
        assert!(dues.windows(2).all(|two| two[1] - two[0] == MS), "one a millisecond");
        let dropped = fates.iter().filter(|fate| **fate == Fate::QueueFull).count();
        assert!((490..=495).contains(&dropped), "half, but for the queue: {dropped}");
        let longest = fates.iter().enumerate().filter_map(|(n, fate)| match fate {
            Fate::Passed { due_ns, .. } => Some(due_ns - n as u64 * 500_000),
            _ => None,
        });
        assert!(longest.max().is_some_and(|wait| wait > 5 * MS && wait <= 6 * MS));
        // It is free again after a pause.
        let later = 10_000 * MS;
        assert_eq!(
            limited.datagram(later, 100),
            Fate::Passed { due_ns: later + MS, twice: false, at_once: false }
        );
    }

    #[test]
    fn a_change_keeps_the_order_where_it_is_to_be_kept_and_goes_on_with_the_losses_of_the_seed() {
        let course = |words: &str| Course::new(&Way::default().with(words).unwrap()).unwrap();
        let mut kept = link("delay=50ms");
        assert_eq!(dues(&[kept.datagram(0, 100)]), [50 * MS]);
        kept.change(course("delay=1ms order=keep"));
        assert_eq!(dues(&fates(&mut kept, 2, MS)), [50 * MS, 50 * MS], "none overtakes the one before it");
        // The same delays and losses as without a change in between.
        let (mut changed, mut whole) = (link("loss=30%"), link("loss=30%"));
        let mut of_changed = fates(&mut changed, 500, 1);
        changed.change(course("loss=30% delay=1ms"));
        of_changed.extend(fates(&mut changed, 500, 1));
        let lost = |fates: &[Fate]| fates.iter().map(|fate| *fate == Fate::Lost).collect::<Vec<_>>();
        assert_eq!(lost(&of_changed), lost(&fates(&mut whole, 1_000, 1)));
        // A burst ends with the losses.
        let mut losing = link("loss=99% burst=10000");
        fates(&mut losing, 20_000, 1);
        losing.change(course(""));
        assert!(!fates(&mut losing, 100, 1).contains(&Fate::Lost));
    }

    #[test]
    fn a_stream_keeps_its_order_waits_for_room_and_shares_the_rate() {
        let mut link = link("delay=uniform:1ms..50ms rate=800kbit queue=5ms");
        let mut last_ns = 0;
        let mut now_ns = 0;
        for n in 0..200 {
            now_ns = link.room_ns().max(now_ns);
            let due_ns = link.stream(now_ns, 100, last_ns);
            assert!(due_ns >= last_ns && due_ns >= now_ns + 2 * MS, "{n}");
            last_ns = due_ns;
        }
        // 200 packets of a millisecond each, of which six were taken at once: one on its way, and the queue.
        assert_eq!(now_ns, 194 * MS);
        assert!(matches!(link.datagram(now_ns, 100), Fate::QueueFull), "the queue is that of the stream");
        assert_eq!(link.stream_octets(16_384), 1_460);
        assert_eq!(self::link("").stream_octets(16_384), 16_384);
        assert_eq!(self::link("rate=1gbit").stream_octets(16_384), 16_384);
    }
}

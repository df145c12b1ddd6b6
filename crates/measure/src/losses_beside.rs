//! Which losses were in the time in which something held up the generator or the server.
//!
//! ```text
//!   intervals        │ 50 ms │ 50 ms │  …  │ 50 ms │
//!   the last second  └─────────────────────────────┘  the server waited for more than a tenth of it: what was lost
//!                                                     in it is counted, each query once
//! ```

use std::collections::VecDeque;

use crate::{Arrivals, LossBeside, Tally, TestBed};

/// Counts the losses of a run beside what held it up, interval by interval.
#[derive(Debug, Default)]
pub struct LossesBeside {
    /// The intervals of the last second; the last one alone where it is longer.
    recent: VecDeque<Part>,
    /// The length of intervals with losses that no bed has yet.
    lossy_ns: u64,
}

/// An interval.
#[derive(Debug, Default)]
struct Part {
    length_ns: u64,
    /// Queries due in it that were lost.
    lost: u64,
    /// Those of them that were sent.
    lost_after_sending: u64,
    /// Those of them at the most that a server may have lost because it did not run, where all are seen: they waited
    /// in a full buffer, or for too long.
    waited: u64,
    /// For how long each cause held up the run, in nanoseconds.
    held_ns: [u64; CAUSES],
    /// Whether its losses were counted beside each cause.
    is_counted: [bool; CAUSES],
    /// Whether something was read at its end, or after it.
    is_read: bool,
}

impl LossesBeside {
    /// Counts an interval of this length in its bed. Each interval in turn, also those without a bed: what is read
    /// later is of them too.
    pub fn count(&mut self, length_ns: u64, tally: &Tally, arrivals: &mut Arrivals) {
        let part = Part::of(length_ns, tally, arrivals);
        if part.lost > 0 {
            self.lossy_ns = self.lossy_ns.saturating_add(length_ns);
        }
        self.recent.push_back(part);
        if self.recent.len() > MOST_UNREAD {
            self.recent.pop_front();
        }
        let Some(bed) = arrivals.bed.as_deref_mut() else { return };
        bed.lossy_ns = bed.lossy_ns.saturating_add(std::mem::take(&mut self.lossy_ns));
        let mut window_ns = self.recent.iter().fold(0, |sum: u64, part| sum.saturating_add(part.length_ns));
        while let Some(first) = self.recent.front()
            && first.is_read
            && window_ns.saturating_sub(first.length_ns) >= SECOND_NS
        {
            window_ns -= first.length_ns;
            self.recent.pop_front();
        }
        // In a shorter run, as much of a second.
        let window_ns = window_ns.max(SECOND_NS);
        let has_held = |cause: usize| {
            let held_ns =
                self.recent.iter().fold(0, |sum: u64, part| sum.saturating_add(part.held_ns[cause]));
            held_ns > window_ns / PARTS[cause]
        };
        let mut has_held: [bool; CAUSES] = std::array::from_fn(has_held);
        // A thread of a group that stands still waits for a CPU too.
        has_held[STARVED] &= !has_held[SERVER_THROTTLED];
        for cause in (0..CAUSES).filter(|cause| has_held[*cause]) {
            self.add(cause, bed);
        }
        self.recent.iter_mut().for_each(|part| part.is_read = true);
    }

    /// Adds the losses of the last second that are not counted yet.
    fn add(&mut self, cause: usize, bed: &mut TestBed) {
        let knows_server = bed.server.is_some();
        let mut beside = LossBeside::default();
        let (mut lost, mut waited) = (0_u64, 0_u64);
        for part in self.recent.iter_mut().filter(|part| !part.is_counted[cause]) {
            part.is_counted[cause] = true;
            beside.time_ns = beside.time_ns.saturating_add(part.length_ns);
            if part.lost > 0 {
                beside.lossy_ns = beside.lossy_ns.saturating_add(part.length_ns);
            }
            // The quota of our group may have kept a query here; nothing else does.
            lost += if cause == THROTTLED { part.lost } else { part.lost_after_sending };
            waited = waited.saturating_add(part.waited);
        }
        beside.lost = if knows_server && cause != THROTTLED { lost.min(waited) } else { lost };
        let counted = match cause {
            STOLEN => &mut bed.stolen,
            THROTTLED => &mut bed.throttled,
            STARVED => &mut bed.server_starved,
            _ => &mut bed.server_throttled,
        };
        counted.merge_in_time(&beside);
    }
}

impl Part {
    fn of(length_ns: u64, tally: &Tally, arrivals: &Arrivals) -> Part {
        let bed = arrivals.bed.as_deref();
        let server = bed.and_then(|bed| bed.server.as_deref());
        let quota = server.and_then(|server| server.quota.as_deref());
        // A wrong answer is not the fault of a wait.
        let wrong = tally.ends.answered_wrong;
        let lost = tally.ends.lost().saturating_sub(wrong);
        let lost_after_sending = tally.ends.unanswered_after_sending().saturating_sub(wrong);
        // Datagrams that a server does not read in time are dropped at its full buffer. What is lost of a connection,
        // no one has counted.
        let dropped = server.map_or(0, |server| server.full_buffers.saturating_sub(arrivals.socket_drops));
        let waited = match arrivals.connections {
            Some(_) => lost_after_sending,
            None => dropped.saturating_add(tally.ends.answered_late),
        };
        let throttled_ns = |quota: Option<&crate::QuotaUse>| quota.map_or(0, |quota| quota.throttled_ns);
        let mut held_ns = [0; CAUSES];
        held_ns[STOLEN] = bed.map_or(0, |bed| bed.steal_ns);
        held_ns[THROTTLED] = throttled_ns(bed.and_then(|bed| bed.quota.as_deref()));
        held_ns[STARVED] = server.map_or(0, |server| server.longest_wait_ns);
        held_ns[SERVER_THROTTLED] = throttled_ns(quota);
        Part { length_ns, lost, lost_after_sending, waited, held_ns, ..Part::default() }
    }
}

/// What can hold up a run.
const CAUSES: usize = 4;
const STOLEN: usize = 0;
const THROTTLED: usize = 1;
const STARVED: usize = 2;
const SERVER_THROTTLED: usize = 3;

/// It has held up a second in which it was there for more than one of so many parts of it. Threads wait for a CPU a
/// little all the time, and a hypervisor takes a little; a group stands still only where its quota is used up.
const PARTS: [u64; CAUSES] = [10, 100, 10, 100];

const SECOND_NS: u64 = 1_000_000_000;

/// Intervals that are kept where nothing is read for long.
const MOST_UNREAD: usize = 1_000;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Connections, QuotaUse, ServerUse};

    /// An interval with so many lost queries, of which the kernel has dropped `dropped` at a full buffer.
    fn interval(lost: u64, dropped: u64, waited_ns: u64) -> (Tally, Arrivals) {
        let mut tally = Tally::new(1);
        (tally.scheduled, tally.ends.timed_out, tally.ends.answered) = (1_000, lost, 1_000 - lost);
        let server = ServerUse { longest_wait_ns: waited_ns, full_buffers: dropped, ..ServerUse::default() };
        let bed = TestBed { server: Some(Box::new(server)), ..TestBed::default() };
        (tally, Arrivals { bed: Some(Box::new(bed)), ..Arrivals::default() })
    }

    /// The sum of the beds of these intervals, each so long.
    fn sum(length_ns: u64, intervals: impl IntoIterator<Item = (Tally, Arrivals)>) -> TestBed {
        let (mut beside, mut sum) = (LossesBeside::default(), TestBed::default());
        for (tally, mut arrivals) in intervals {
            beside.count(length_ns, &tally, &mut arrivals);
            arrivals.bed.iter().for_each(|bed| sum.merge_in_time(bed));
        }
        sum
    }

    const MS: u64 = 1_000_000;

    #[test]
    fn losses_count_where_the_server_waited_and_not_in_other_seconds() {
        let seconds = [(0, 0, 900 * MS), (40, 40, 0), (30, 30, 600 * MS), (0, 0, 0)];
        let sum = sum(SECOND_NS, seconds.map(|(lost, dropped, waited)| interval(lost, dropped, waited)));
        let expected = LossBeside { time_ns: 2 * SECOND_NS, lossy_ns: SECOND_NS, lost: 30 };
        assert_eq!((sum.server_starved, sum.lossy_ns), (expected, 2 * SECOND_NS));
        assert_eq!(sum.stolen, LossBeside::default());
    }

    #[test]
    fn a_server_that_drops_by_itself_is_not_excused_by_its_wait() {
        assert_eq!(sum(SECOND_NS, [interval(100, 0, 500 * MS)]).server_starved.lost, 0);
        assert_eq!(sum(SECOND_NS, [interval(100, 30, 500 * MS)]).server_starved.lost, 30);
        let mut late = interval(0, 0, 500 * MS);
        late.0.ends.answered_late = 7;
        assert_eq!(sum(SECOND_NS, [late]).server_starved.lost, 7);
        // No buffer of a connection says what it has lost.
        let mut connected = interval(100, 0, 500 * MS);
        connected.1.connections = Some(Box::new(Connections::default()));
        assert_eq!(sum(SECOND_NS, [connected]).server_starved.lost, 100);
    }

    #[test]
    fn short_intervals_are_taken_together_and_count_once() {
        // 20 intervals of 50 ms: the kernel counts the wait in the last of them.
        let of = |n: u64| interval(10, 10, if n == 19 { 400 * MS } else { 0 });
        let sum = sum(50 * MS, (0..40).map(of));
        assert_eq!(sum.server_starved.lost, 10 * (20 + 19), "the second before it, and the one with it");
        assert_eq!(sum.server_starved.time_ns, 39 * 50 * MS);
        assert_eq!(sum.lossy_ns, 2 * SECOND_NS);
    }

    #[test]
    fn an_interval_without_a_reading_has_what_is_read_after_it() {
        let (tally, mut unread) = interval(50, 0, 0);
        unread.bed = None;
        let sum = sum(SECOND_NS, [(tally, unread), interval(5, 55, 800 * MS)]);
        assert_eq!((sum.server_starved.lost, sum.server_starved.time_ns), (55, 2 * SECOND_NS));
        assert_eq!(sum.lossy_ns, 2 * SECOND_NS);
    }

    #[test]
    fn a_server_whose_group_stands_still_is_not_starved() {
        let (tally, mut arrivals) = interval(60, 60, 700 * MS);
        let quota = QuotaUse { periods: 10, throttled_periods: 9, throttled_ns: 500 * MS };
        arrivals.bed.as_mut().unwrap().server.as_mut().unwrap().quota = Some(Box::new(quota));
        let sum = sum(SECOND_NS, [(tally, arrivals)]);
        assert_eq!((sum.server_throttled.lost, sum.server_starved), (60, LossBeside::default()));
    }

    #[test]
    fn the_quota_of_our_own_group_and_a_stolen_cpu_are_told_apart() {
        let (mut tally, mut arrivals) = interval(10, 4, 0);
        tally.ends.not_sent.add(crate::NotSentReason::GeneratorLate, 5);
        let bed = arrivals.bed.as_deref_mut().unwrap();
        bed.quota = Some(Box::new(QuotaUse { throttled_ns: 20 * MS, ..QuotaUse::default() }));
        bed.steal_ns = 300 * MS;
        let sum = sum(SECOND_NS, [(tally, arrivals)]);
        assert_eq!((sum.throttled.lost, sum.stolen.lost), (15, 4));
    }
}

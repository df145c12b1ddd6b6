//! What only the intervals of a run tell: how much the rate of answers differs between its seconds, and what the server
//! used of a CPU while there was load.

use std::path::Path;

use dnsdyno_measure::{Side, Watched, WatchedKind};
use dnsdyno_record::{Header, Interval, Line, ReadError, RunReader};

/// The seconds of a run, added up.
#[derive(Clone, Debug, PartialEq)]
pub struct Seconds {
    /// The second that is not complete yet.
    current: Second,
    /// Seconds that are complete.
    count: u64,
    /// The mean of their rates, and the sum of the squares of the distances from it (Welford).
    mean: f64,
    squares: f64,
    /// The lowest and the highest rate that was asked for in one of them.
    asked: Option<(f64, f64)>,
    /// Whether each interval has the parts of all agents.
    is_whole: bool,
    /// The number of the server's process among what is watched.
    process: Option<usize>,
    /// The CPU time of that process, and over how long it was read while queries were due.
    cpu_ns: u64,
    cpu_over_ns: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Second {
    lasted_ns: u64,
    answered: u64,
    /// Queries that were asked for.
    asked: f64,
}

impl Seconds {
    /// Reads those of the record at `path`, a run's folder or its file.
    ///
    /// # Errors
    /// As [`RunReader`].
    pub fn read(path: &Path) -> Result<Seconds, ReadError> {
        let reader = RunReader::open(path)?;
        let mut seconds = Seconds::new(reader.header());
        for line in reader {
            if let Line::Interval(interval) = line? {
                seconds.interval(&interval);
            }
        }
        Ok(seconds)
    }

    /// Those of a run before its first interval.
    pub fn new(header: &Header) -> Seconds {
        Seconds {
            current: Second::default(),
            count: 0,
            mean: 0.0,
            squares: 0.0,
            asked: None,
            is_whole: true,
            process: process_of(&header.watched),
            cpu_ns: 0,
            cpu_over_ns: 0,
        }
    }

    /// Adds an interval; the intervals come in order.
    pub fn interval(&mut self, interval: &Interval) {
        let length_ns = interval.to_ns.saturating_sub(interval.from_ns);
        self.is_whole &= !interval.is_partial();
        if interval.covered_ns() > 0
            && let Some(Some(samples)) = self.process.and_then(|at| interval.watched.get(at))
        {
            self.cpu_ns = self.cpu_ns.saturating_add(samples.counter(CPU_TIME));
            self.cpu_over_ns = self.cpu_over_ns.saturating_add(length_ns);
        }
        if interval.covered_ns() < length_ns {
            // A part of a second has no rate that can be compared with the others.
            self.current = Second::default();
            return;
        }
        let current = &mut self.current;
        current.lasted_ns = current.lasted_ns.saturating_add(length_ns);
        current.answered = current.answered.saturating_add(interval.arrivals.answered);
        current.asked += interval.asked_qps * length_ns as f64 * 1e-9;
        if current.lasted_ns >= SECOND_NS {
            let lasted = current.lasted_ns as f64 * 1e-9;
            let (rate, asked) = (current.answered as f64 / lasted, current.asked / lasted);
            *current = Second::default();
            self.add(rate, asked);
        }
    }

    fn add(&mut self, rate: f64, asked: f64) {
        self.count += 1;
        let distance = rate - self.mean;
        self.mean += distance / self.count as f64;
        self.squares += distance * (rate - self.mean);
        let (least, most) = self.asked.unwrap_or((asked, asked));
        self.asked = Some((least.min(asked), most.max(asked)));
    }

    /// The standard deviation of the rates at which answers arrived in the whole seconds of the load, divided by their
    /// mean; `None` of fewer than three seconds, of a load that changes its rate, and where nothing was answered.
    pub fn wobble(&self) -> Option<f64> {
        let (least, most) = self.asked?;
        let is_one_rate = most <= least * SAME_RATE;
        let can_be_told = self.is_whole && is_one_rate && self.count >= FEWEST && self.mean > 0.0;
        can_be_told.then(|| (self.squares / (self.count - 1) as f64).sqrt() / self.mean)
    }

    /// What the server's process has used of one CPU while queries were due: 1.5 is one and a half CPUs. `None` where
    /// it was not watched.
    pub fn cpu_share(&self) -> Option<f64> {
        // As of the time for each answer: a process that has used none is not the one that answers.
        (self.cpu_ns > 0 && self.cpu_over_ns > 0).then(|| self.cpu_ns as f64 / self.cpu_over_ns as f64)
    }
}

/// The process of the server, by its number among what is watched.
pub(super) fn process_of(watched: &[Watched]) -> Option<usize> {
    watched.iter().position(|one| one.kind == WatchedKind::Process && one.side == Side::Server)
}

/// The counter of a process.
pub(super) const CPU_TIME: &str = "cpu_ns";

const SECOND_NS: u64 = 1_000_000_000;

/// Two seconds say nothing of how much seconds differ.
const FEWEST: u64 = 3;

/// Rates that differ by less are one: an interval may have one query more than another.
const SAME_RATE: f64 = 1.01;

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use dnsdyno_measure::Samples;

    use super::*;
    use crate::compare::sample::{MADE, SECOND, header, second};

    /// An interval of a second or of a part of one, in which so many answers arrived.
    fn interval(index: u64, length_ns: u64, answered: u64) -> Interval {
        let mut interval = second(index, MADE);
        (interval.from_ns, interval.to_ns) = (index * length_ns, (index + 1) * length_ns);
        interval.arrivals.answered = answered;
        interval
    }

    fn of(intervals: impl IntoIterator<Item = Interval>) -> Seconds {
        let mut seconds = Seconds::new(&header("run", MADE));
        intervals.into_iter().for_each(|interval| seconds.interval(&interval));
        seconds
    }

    #[test]
    fn the_wobble_is_the_deviation_between_seconds_in_parts_of_their_mean() {
        // 900, 1,000 and 1,100 answers: the deviation is 100.
        let rates = [900, 1_000, 1_100];
        let found = of((0..).zip(rates).map(|(index, answered)| interval(index, SECOND, answered)));
        assert!((found.wobble().unwrap() - 0.1).abs() < 1e-12, "{found:?}");
        // The same in tenths of a second, each tenth of another height.
        let tenths = (0..30_u64).map(|index| {
            let of_second = rates[index as usize / 10] / 10;
            interval(index, SECOND / 10, if index % 2 == 0 { of_second - 9 } else { of_second + 9 })
        });
        assert!((of(tenths).wobble().unwrap() - 0.1).abs() < 1e-12);
        assert_eq!(of((0..3).map(|index| interval(index, SECOND, 500))).wobble(), Some(0.0));
    }

    #[test]
    fn parts_of_seconds_few_seconds_and_loads_that_change_have_no_wobble() {
        let even = |index| interval(index, SECOND, 1_000);
        assert_eq!(of((0..2).map(even)).wobble(), None);
        // The load ends within the fourth second: its 100 answers are no rate.
        let mut last = interval(3, SECOND, 100);
        last.covered_ns = Some(SECOND / 4);
        assert_eq!(of((0..3).map(even).chain([last])).wobble(), Some(0.0));
        let rising =
            (0..5).map(|index| Interval { asked_qps: 1_000.0 + index as f64 * 100.0, ..even(index) });
        assert_eq!(of(rising).wobble(), None);
        let partial = (0..3).map(|index| Interval { agents: vec![None], ..even(index) });
        assert_eq!(of(partial).wobble(), None);
        assert_eq!(of((0..3).map(|index| interval(index, SECOND, 0))).wobble(), None);
    }

    #[test]
    fn the_share_of_a_cpu_is_of_the_time_with_load_and_of_what_was_read() {
        let mut head = header("run", MADE);
        let watched = |kind, side| Watched {
            kind,
            side,
            label: String::new(),
            software: None,
            version: None,
            settings: BTreeMap::new(),
            unset: Vec::new(),
            missing: Vec::new(),
        };
        head.watched = vec![
            watched(WatchedKind::Process, Side::Generator),
            watched(WatchedKind::Host, Side::Server),
            watched(WatchedKind::Process, Side::Server),
        ];
        let used = |cpu_ns: u64| {
            let counters = BTreeMap::from([(CPU_TIME.to_owned(), cpu_ns)]);
            Some(Samples { counters, ..Samples::default() })
        };
        let with = |index: u64, of_server: Option<Samples>| {
            let watched = vec![used(999_000_000), used(0), of_server];
            Interval { watched, ..interval(index, SECOND, 1_000) }
        };
        let waiting = Interval { covered_ns: Some(0), ..with(3, used(1)) };
        let mut seconds = Seconds::new(&head);
        [with(0, used(400_000_000)), with(1, None), with(2, used(600_000_000)), waiting]
            .iter()
            .for_each(|interval| seconds.interval(interval));
        assert_eq!(seconds.cpu_share(), Some(0.5));
        assert_eq!(of((0..3).map(|index| interval(index, SECOND, 1_000))).cpu_share(), None);
    }
}

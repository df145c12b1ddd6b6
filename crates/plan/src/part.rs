//! Which part of a load this process makes, where several make it together.
//!
//! The unit is a worker: each worker of all processes sends an equal share of the queries, so that together they are
//! the queries of one process with as many workers.
//!
//! ```text
//!   --part 3-4/6      workers   1   2   3   4   5   6      worker 3 sends queries 2, 8, 14, …; worker 4 3, 9, 15, …
//!                                       └ this ┘
//! ```

use std::fmt;

use crate::error::PlanError;

/// The workers of one process among those of the whole load.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Part {
    /// The first worker of this process, from 0 on.
    pub first: u32,
    /// The workers of this process, at least 1.
    pub workers: u32,
    /// The workers of the whole load.
    pub of: u32,
}

impl Part {
    /// The whole load, with this many workers.
    pub fn whole(workers: usize) -> Part {
        Part { first: 0, workers: workers as u32, of: workers as u32 }
    }

    /// Reads `3-4/6` or `3/6`: the numbers are of people, from 1 on.
    pub fn parse(text: &str) -> Option<Part> {
        let (own, of) = text.split_once('/')?;
        let (first, last) = own.split_once('-').unwrap_or((own, own));
        let [first, last, of] = [first, last, of].map(|number| number.trim().parse::<u32>().ok());
        let (first, last, of) = (first?, last?, of?);
        let is_part = 1 <= first && first <= last && last <= of && of <= MOST_WORKERS;
        is_part.then(|| Part { first: first - 1, workers: last - first + 1, of })
    }

    /// Whether this process makes the whole load.
    pub fn is_whole(self) -> bool {
        self.workers == self.of
    }

    /// The share of the load that this process makes.
    pub fn fraction(self) -> f64 {
        f64::from(self.workers) / f64::from(self.of.max(1))
    }

    /// The number of a worker of this process among all workers.
    pub fn worker(self, own: u32) -> u32 {
        self.first.saturating_add(own)
    }

    /// How many of `total` things, which the workers divide in turn, are those of this process.
    pub fn share(self, total: usize) -> usize {
        self.of_workers(total, self.first + self.workers) - self.before(total)
    }

    /// How many of them are those of the workers before.
    pub fn before(self, total: usize) -> usize {
        self.of_workers(total, self.first)
    }

    fn of_workers(self, total: usize, workers: u32) -> usize {
        let (workers, of) = (workers as usize, self.of.max(1) as usize);
        (total / of) * workers + (total % of).min(workers)
    }

    /// The number in the whole load of the query that is number `own` of this process, if its workers are equally far.
    pub fn number_of(self, own: u64) -> u64 {
        let workers = u64::from(self.workers.max(1));
        (own / workers)
            .saturating_mul(u64::from(self.of))
            .saturating_add(u64::from(self.first) + own % workers)
    }

    /// How many of the queries before number `end` of the whole load are those of this process.
    pub fn queries_before(self, end: u64) -> u64 {
        let of = u64::from(self.of.max(1));
        let rest = (end % of).clamp(u64::from(self.first), u64::from(self.first + self.workers));
        (end / of) * u64::from(self.workers) + rest - u64::from(self.first)
    }

    /// Refuses a limit of the whole load that leaves a worker without its share.
    pub(crate) fn check(self, limited_by: &'static str, limit: Option<usize>) -> Result<(), PlanError> {
        match limit.filter(|limit| *limit < self.of as usize) {
            None => Ok(()),
            Some(limit) => Err(PlanError::Unusable {
                option: "part",
                sentence: format!(
                    "is of {} workers, and --{limited_by} {limit} leaves some of them without any: use a larger \
                     --{limited_by}, or fewer workers",
                    self.of
                ),
            }),
        }
    }
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let last = self.first + self.workers;
        match self.workers {
            1 => write!(f, "{last}/{}", self.of),
            _ => write!(f, "{}-{last}/{}", self.first + 1, self.of),
        }
    }
}

/// As many as clients: each has a socket.
const MOST_WORKERS: u32 = 65_535;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_is_read_and_written_with_numbers_of_people() {
        for (text, first, workers, of) in [("1/3", 0, 1, 3), ("3/3", 2, 1, 3), ("2-4/7", 1, 3, 7)] {
            let part = Part::parse(text);
            assert_eq!(part, Some(Part { first, workers, of }), "{text}");
            assert_eq!(part.map(|part| part.to_string()).as_deref(), Some(text));
        }
        for text in ["", "1", "0/3", "4/3", "3-2/4", "1-2", "a/b", "1/0", "1/70000"] {
            assert_eq!(Part::parse(text), None, "{text}");
        }
    }

    #[test]
    fn parts_together_are_the_whole_whatever_is_divided() {
        let parts = [Part { first: 0, workers: 2, of: 6 }, Part { first: 2, workers: 1, of: 6 }];
        let parts = [parts[0], parts[1], Part { first: 3, workers: 3, of: 6 }];
        for total in 0..50 {
            assert_eq!(parts.iter().map(|part| part.share(total)).sum::<usize>(), total);
            assert_eq!(parts.iter().map(|part| part.queries_before(total as u64)).sum::<u64>(), total as u64);
            assert_eq!(parts[2].before(total), parts[0].share(total) + parts[1].share(total));
        }
        let mut numbers: Vec<u64> = parts
            .iter()
            .flat_map(|part| (0..u64::from(part.workers) * 4).map(|own| part.number_of(own)))
            .collect();
        numbers.sort_unstable();
        assert_eq!(numbers, (0..24).collect::<Vec<u64>>());
        for part in parts {
            assert!((0..20).all(|own| part.queries_before(part.number_of(own)) == own), "{part}");
        }
    }
}

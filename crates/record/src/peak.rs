//! The busiest interval of a run, with what its messages were: for a simulated day, its peak second.

use dnsdyno_measure::{MOST_TYPES, bounded};
use serde::{Deserialize, Serialize};

use crate::Interval;

/// The interval in which most messages a second were sent, by the instants at which their queries were due.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Peak {
    /// First instant of the interval.
    pub from_ns: u64,
    /// First instant after it.
    pub to_ns: u64,
    /// Time of it that the load covers: the divisor of rates.
    pub covered_ns: u64,
    /// Messages sent: a query that fell back to TCP is two.
    pub requests: u64,
    /// Of these, over TCP after a truncated response; 0 where the transport does not fall back.
    pub over_tcp: u64,
    /// Queries by type, in the order of the plan's table of types; those of the fallback are not among them.
    #[serde(deserialize_with = "bounded::list::<_, _, MOST_TYPES>")]
    pub types: Vec<u64>,
}

impl Peak {
    /// That of one interval; `None` where it sent nothing, lacks the part of an agent, or was covered by less than
    /// half: a few messages in a millisecond are no peak.
    pub(crate) fn of(interval: &Interval) -> Option<Peak> {
        let tally = &interval.tally;
        let covered_ns = interval.covered_ns();
        let length_ns = interval.to_ns.saturating_sub(interval.from_ns);
        if tally.requests == 0 || covered_ns < length_ns.div_ceil(2) || interval.is_partial() {
            return None;
        }
        Some(Peak {
            from_ns: interval.from_ns,
            to_ns: interval.to_ns,
            covered_ns,
            requests: tally.requests,
            over_tcp: tally.fallback.as_ref().map_or(0, |fallback| fallback.tcp_requests),
            types: tally.types.iter().map(|of_type| of_type.sent).collect(),
        })
    }

    /// Messages a second.
    pub fn per_s(&self) -> f64 {
        self.requests as f64 * 1e9 / self.covered_ns.max(1) as f64
    }

    /// The busier of two; of equal ones the earlier.
    pub(crate) fn merge(known: &mut Option<Peak>, later: Option<&Peak>) {
        // Integers, so that the order of merging changes nothing: a/b > c/d.
        let is_busier = |new: &Peak, known: &Peak| {
            u128::from(new.requests) * u128::from(known.covered_ns)
                > u128::from(known.requests) * u128::from(new.covered_ns)
        };
        if let Some(new) = later
            && known.as_ref().is_none_or(|known| is_busier(new, known))
        {
            *known = Some(new.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use dnsdyno_measure::{Arrivals, Fallback, Tally, TypeCount};

    use super::*;

    fn second(index: u64, requests: u64, covered_ns: Option<u64>) -> Interval {
        let mut tally = Tally {
            requests,
            types: vec![TypeCount { sent: requests - 1, answered: 0 }],
            ..Tally::default()
        };
        tally.fallback = Some(Box::new(Fallback { tcp_requests: 1, ..Fallback::default() }));
        Interval {
            index,
            from_ns: index * 1_000_000_000,
            to_ns: (index + 1) * 1_000_000_000,
            covered_ns,
            asked_qps: 0.0,
            tally,
            arrivals: Arrivals::default(),
            workers: Vec::new(),
            agents: Vec::new(),
            watched: Vec::new(),
        }
    }

    #[test]
    fn the_peak_is_the_interval_with_the_highest_rate_and_the_first_of_equal_ones() {
        let mut peak = None;
        let seconds = [
            (5, None),
            (9, None),
            (9, None),
            (6, Some(500_000_000)),
            (1, Some(0)),
            (9, Some(1_000)),
            (7, None),
        ];
        for (index, (requests, covered_ns)) in (0..).zip(seconds) {
            Peak::merge(&mut peak, Peak::of(&second(index, requests, covered_ns)).as_ref());
            if index == 2 {
                assert_eq!(peak.as_ref().map(|peak| peak.from_ns), Some(1_000_000_000));
            }
        }
        let peak = peak.unwrap();
        assert_eq!((peak.from_ns, peak.requests, peak.over_tcp), (3_000_000_000, 6, 1));
        assert_eq!((peak.per_s(), peak.types.as_slice()), (12.0, &[5][..]));
    }
}

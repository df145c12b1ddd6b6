//! How the latency moves through a step of a load, in a few parts of equal length.
//!
//! A summary has one row for a step; whether its queue grew is seen within it. As all of a row, the parts are integers
//! that are added: the order and the grouping of the intervals do not change them.

use dnsdyno_measure::{Latency, bounded};
use serde::{Deserialize, Serialize};

use crate::Phase;

/// The parts of a step; empty where the row is no step.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Trend {
    #[serde(deserialize_with = "bounded::list::<_, _, PARTS>")]
    parts: Vec<Part>,
}

/// What was answered of the queries that were due in a part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Part {
    answered: u64,
    /// The sum of their latencies.
    sum_ns: u128,
}

/// A time with what was answered of its queries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Point {
    pub(crate) from_ns: u64,
    pub(crate) answered: u64,
    pub(crate) sum_ns: u128,
}

impl Point {
    pub(crate) fn of(from_ns: u64, latency: Latency<'_>) -> Point {
        let sum_ns = latency.answered.exact().map_or(0, |exact| exact.sum_ns);
        Point { from_ns, answered: latency.answered.count(), sum_ns }
    }
}

impl Trend {
    /// Of one interval of a step.
    pub(crate) fn of(phase: &Phase, point: Point) -> Trend {
        let length_ns = u128::from(phase.to_ns.saturating_sub(phase.from_ns).max(1));
        let into_ns = u128::from(point.from_ns.saturating_sub(phase.from_ns));
        let place = ((into_ns * PARTS as u128 / length_ns) as usize).min(PARTS - 1);
        let mut parts = vec![Part::default(); place + 1];
        parts[place] = Part { answered: point.answered, sum_ns: point.sum_ns };
        Trend { parts }
    }

    /// Adds another time of the same step.
    pub(crate) fn merge(&mut self, other: &Trend) {
        if self.parts.len() < other.parts.len() {
            self.parts.resize(other.parts.len(), Part::default());
        }
        for (part, more) in self.parts.iter_mut().zip(&other.parts) {
            part.answered = part.answered.saturating_add(more.answered);
            part.sum_ns = part.sum_ns.saturating_add(more.sum_ns);
        }
    }

    /// The parts with their first instants.
    pub(crate) fn points(&self, phase: &Phase) -> Vec<Point> {
        let length_ns = phase.to_ns.saturating_sub(phase.from_ns);
        let from_ns = |place: u64| phase.from_ns + length_ns / PARTS as u64 * place;
        let parts = (0..).zip(&self.parts);
        parts
            .map(|(place, part)| Point {
                from_ns: from_ns(place),
                answered: part.answered,
                sum_ns: part.sum_ns,
            })
            .collect()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }
}

/// Twice as many as the least that show a growth.
const PARTS: usize = 8;

//! The worst moments of a run: the intervals with the longest latencies, and the one in which most queries were lost.
//!
//! A headline that has the figures of the whole would hide them: 300 ms in which nothing was answered are no loss, and
//! in a minute of load they are not in p99.

use dnsdyno_measure::{Histogram, Tally};
use serde::{Deserialize, Serialize};

use crate::Headline;
use crate::counts::{judged, lost};

/// The worst moments of the intervals of a row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Worst {
    /// The longest response time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub response: Option<Longest>,
    /// The longest service time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub service: Option<Longest>,
    /// The most losses.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub loss: Option<MostLost>,
}

/// The longest latency, and its interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Longest {
    /// The latency.
    pub ns: u64,
    /// First instant of the interval.
    pub from_ns: u64,
    /// First instant after it.
    pub to_ns: u64,
}

/// The interval in which most queries were lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MostLost {
    /// Queries without an answer in time.
    pub lost: u64,
    /// Of so many.
    pub of: u64,
    /// First instant of the interval.
    pub from_ns: u64,
    /// First instant after it.
    pub to_ns: u64,
}

impl MostLost {
    /// The share that was lost.
    pub fn share(&self) -> f64 {
        if self.of == 0 { 0.0 } else { self.lost as f64 / self.of as f64 }
    }
}

impl Worst {
    /// Of the queries that were due from one instant to another.
    pub(crate) fn of(tally: &Tally, from_ns: u64, to_ns: u64) -> Worst {
        let longest =
            |latency: &Histogram| latency.exact().map(|exact| Longest { ns: exact.max_ns, from_ns, to_ns });
        let (lost, of) = (lost(tally), judged(tally));
        Worst {
            response: longest(&tally.response),
            service: longest(&tally.service),
            loss: (lost > 0).then_some(MostLost { lost, of, from_ns, to_ns }),
        }
    }

    /// Adds those of a later time: of equal ones the earlier stays.
    pub(crate) fn merge(&mut self, later: &Worst) {
        for (known, new) in [(&mut self.response, later.response), (&mut self.service, later.service)] {
            if new.is_some_and(|new| known.is_none_or(|known| new.ns > known.ns)) {
                *known = new;
            }
        }
        if later.loss.is_some_and(|new| self.loss.is_none_or(|known| new.lost > known.lost)) {
            self.loss = later.loss;
        }
    }

    /// The longest of one of the two latencies.
    pub fn longest(&self, which: Headline) -> Option<Longest> {
        match which {
            Headline::Response => self.response,
            Headline::Service => self.service,
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        *self == Worst::default()
    }
}

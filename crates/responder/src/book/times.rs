//! Durations that may never come: a histogram that takes no memory until the first.

use dnsdyno_measure::Histogram;
use serde_json::{Value, json};

use super::Buckets;

/// Durations in nanoseconds. Empty, it is as small as a pointer: a book has many, and most transports
/// of most responders are never asked.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Times {
    histogram: Option<Box<Histogram>>,
}

impl Times {
    /// What was recorded; `None` where nothing was.
    pub fn histogram(&self) -> Option<&Histogram> {
        self.histogram.as_deref()
    }

    /// How many durations were recorded.
    pub fn count(&self) -> u64 {
        self.histogram().map_or(0, Histogram::count)
    }

    /// The duration that `quantile` (0 to 1) of all kept to, in nanoseconds; `None` where there is none.
    pub fn quantile_ns(&self, quantile: f64) -> Option<u64> {
        let rank = (quantile.clamp(0.0, 1.0) * self.count() as f64).ceil() as u64;
        self.histogram()?.at_rank(rank.max(1))
    }

    pub(crate) fn record(&mut self, duration_ns: u64) {
        self.histogram.get_or_insert_with(|| Box::new(Histogram::new())).record(duration_ns);
    }

    /// Adds all that `other` holds.
    pub fn merge(&mut self, other: &Times) {
        match (&mut self.histogram, &other.histogram) {
            (Some(histogram), Some(other)) => histogram.merge(other),
            (empty, Some(other)) => *empty = Some(other.clone()),
            (_, None) => {}
        }
    }

    /// Count, extremes, average, percentiles (`null` where there is nothing), and buckets where asked.
    pub(crate) fn to_json(&self, buckets: Buckets) -> Value {
        let exact = self.histogram().and_then(Histogram::exact);
        let mut times = json!({
            "count": self.count(),
            "min_ns": exact.map(|exact| exact.min_ns),
            "mean_ns": self.histogram().and_then(Histogram::mean_ns),
            "stddev_ns": self.histogram().and_then(Histogram::stddev_ns),
            "p50_ns": self.quantile_ns(0.5),
            "p90_ns": self.quantile_ns(0.9),
            "p95_ns": self.quantile_ns(0.95),
            "p99_ns": self.quantile_ns(0.99),
            "p99_9_ns": self.quantile_ns(0.999),
            "max_ns": exact.map(|exact| exact.max_ns),
        });
        if buckets == Buckets::With {
            let all = self.histogram().into_iter().flat_map(Histogram::buckets);
            let rows = all.map(|bucket| json!([bucket.from_ns, bucket.to_ns, bucket.count]));
            times["buckets_ns"] = Value::Array(rows.collect());
        }
        times
    }
}

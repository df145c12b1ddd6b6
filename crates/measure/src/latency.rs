//! Percentiles that include the unanswered queries.
//!
//! A query without a response took at least the timeout. Without it, a failing server would look fast. So it ranks
//! after every answered query, and a percentile among the unanswered queries is a lower bound: the timeout.
//!
//! A percentile is reported only where enough queries are beyond it ([`BEYOND`]): the p99.9 of 200 queries is the
//! longest of them, and says nothing about one in a thousand.

use serde::Serialize;

use crate::Histogram;

/// The latency of a set of queries: the answered ones, and the number of unanswered ones.
#[derive(Clone, Copy, Debug)]
pub struct Latency<'a> {
    /// Latency of the answered queries.
    pub answered: &'a Histogram,
    /// Queries without a response in time.
    pub unanswered: u64,
}

/// A percentile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Quantile {
    /// A duration in nanoseconds.
    At(u64),
    /// Among the unanswered queries: at least the run's timeout.
    BeyondTimeout,
}

/// The percentiles that reports show: the key, which is also a word of jq, the text, and the quantile.
pub const PERCENTILES: [(&str, &str, f64); 5] = [
    ("p50", "p50", 0.5),
    ("p90", "p90", 0.9),
    ("p95", "p95", 0.95),
    ("p99", "p99", 0.99),
    ("p99_9", "p99.9", 0.999),
];

/// The queries that must be expected beyond a percentile for it to be reported.
///
/// With 10, the share that is beyond in truth is, 95 times in 100, that of 5 to 18: what is printed as p99 is between
/// p98.2 and p99.5.
pub const BEYOND: u64 = 10;

/// A latency as it is written for programs: always an object, also where it is only a bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WrittenLatency {
    /// The latency; where it is among the unanswered queries, the timeout.
    pub ns: u64,
    /// Whether it is among the unanswered queries: at least `ns`.
    pub beyond_timeout: bool,
}

impl Quantile {
    /// As it is written for programs, in a run with this timeout.
    pub fn written(self, timeout_ns: u64) -> WrittenLatency {
        match self {
            Quantile::At(ns) => WrittenLatency { ns, beyond_timeout: false },
            Quantile::BeyondTimeout => WrittenLatency { ns: timeout_ns, beyond_timeout: true },
        }
    }
}

/// The percentiles of a latency as they are written for programs; those that too few queries are beyond are absent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Percentiles {
    /// Half of the queries took no longer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p50: Option<WrittenLatency>,
    /// Nine of ten.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p90: Option<WrittenLatency>,
    /// 95 of 100.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p95: Option<WrittenLatency>,
    /// 99 of 100.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p99: Option<WrittenLatency>,
    /// 999 of 1,000.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p99_9: Option<WrittenLatency>,
}

impl Percentiles {
    /// Whether the queries carry none.
    pub fn is_empty(&self) -> bool {
        *self == Percentiles::default()
    }
}

/// `p99.9`, of 0.999.
pub fn percentile_name(q: f64) -> String {
    // The percentage was divided by 100.
    format!("p{}", (q * 1e11).round() / 1e9)
}

impl Latency<'_> {
    /// All queries, answered or not.
    pub fn count(&self) -> u64 {
        self.answered.count() + self.unanswered
    }

    /// The quantile `q` as a percentile to be reported: `None` where fewer than [`BEYOND`] queries are beyond it.
    pub fn percentile(&self, q: f64) -> Option<Quantile> {
        // Slightly more: 1 − 0.99 is a little too much in binary, 1 − 0.999 a little too little.
        let beyond = self.count() as f64 * (1.0 - q) * (1.0 + 1e-9);
        if beyond < BEYOND as f64 { None } else { self.quantile(q) }
    }

    /// The queries that the percentile `q` needs to be reported; `u64::MAX` where no number is enough.
    pub fn needed(q: f64) -> u64 {
        // As above, and a float beyond the range of u64 is its end.
        (BEYOND as f64 / ((1.0 - q) * (1.0 + 1e-9)) * (1.0 - 1e-12)).ceil() as u64
    }

    /// The percentiles that reports show, as they are written for programs.
    pub fn percentiles(&self, timeout_ns: u64) -> Percentiles {
        let [p50, p90, p95, p99, p99_9] =
            PERCENTILES.map(|(.., q)| self.percentile(q).map(|percentile| percentile.written(timeout_ns)));
        Percentiles { p50, p90, p95, p99, p99_9 }
    }

    /// The quantile `q` (0.0 to 1.0), by nearest rank; `None` where there is no query.
    pub fn quantile(&self, q: f64) -> Option<Quantile> {
        if self.count() == 0 {
            return None;
        }
        Some(self.answered.at_rank(self.rank(q)).map_or(Quantile::BeyondTimeout, Quantile::At))
    }

    /// The rank of the quantile `q`, 1 for the shortest; 0 where there is no query.
    pub(crate) fn rank(&self, q: f64) -> u64 {
        let total = self.count() as f64;
        // Slightly less: 0.999 × 1000 is 999.0000000000001 in binary, and must be rank 999.
        ((q * total) * (1.0 - 1e-12)).ceil().clamp(total.min(1.0), total) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentile_among_the_unanswered_is_a_bound() {
        let mut answered = Histogram::new();
        (0..98).for_each(|_| answered.record(2_000_000));
        let latency = Latency { answered: &answered, unanswered: 2 };
        assert!(matches!(latency.quantile(0.98), Some(Quantile::At(ns)) if ns.abs_diff(2_000_000) < 20_000));
        assert_eq!(latency.quantile(0.99), Some(Quantile::BeyondTimeout));
    }

    #[test]
    fn a_percentile_needs_ten_queries_beyond_it() {
        let percentiles = |queries: u64| {
            let mut answered = Histogram::new();
            (0..queries).for_each(|_| answered.record(2_000_000));
            let latency = Latency { answered: &answered, unanswered: 0 };
            PERCENTILES.map(|(.., q)| latency.percentile(q).is_some())
        };
        let least = [20, 100, 200, 1_000, 10_000];
        for (i, queries) in least.into_iter().enumerate() {
            assert_eq!(percentiles(queries), std::array::from_fn(|j| j <= i), "{queries} queries");
            assert_eq!(percentiles(queries - 1), std::array::from_fn(|j| j < i), "{} queries", queries - 1);
            assert_eq!(Latency::needed(PERCENTILES[i].2), queries);
        }
        assert_eq!((Latency::needed(0.9999), Latency::needed(1.0)), (100_000, u64::MAX));
    }

    #[test]
    fn a_percentile_has_the_name_that_users_write() {
        for (_, name, q) in PERCENTILES {
            assert_eq!(percentile_name(q), name);
        }
        assert_eq!(
            ["99.99", "2.5"].map(|p| percentile_name(p.parse::<f64>().unwrap() / 100.0)),
            ["p99.99", "p2.5"]
        );
    }

    #[test]
    fn a_written_latency_has_one_form_also_beyond_the_timeout() {
        let mut answered = Histogram::new();
        (0..95).for_each(|_| answered.record(2_000));
        let written = Latency { answered: &answered, unanswered: 105 }.percentiles(5_000_000_000);
        let text = serde_json::to_string(&written).unwrap();
        let beyond = r#"{"ns":5000000000,"beyond_timeout":true}"#;
        assert_eq!(text, format!(r#"{{"p50":{beyond},"p90":{beyond},"p95":{beyond}}}"#));
        let at = serde_json::to_value(Quantile::At(7).written(1)).unwrap();
        assert_eq!(at, serde_json::json!({ "ns": 7, "beyond_timeout": false }));
    }

    #[test]
    fn nearest_rank_is_independent_of_rounding_errors() {
        let mut answered = Histogram::new();
        (0..999).for_each(|_| answered.record(1_000_000));
        let latency = Latency { answered: &answered, unanswered: 1 };
        assert!(matches!(latency.quantile(0.999), Some(Quantile::At(_))));
        assert_eq!(latency.quantile(1.0), Some(Quantile::BeyondTimeout));
    }

    #[test]
    fn without_queries_there_is_no_percentile() {
        assert_eq!(Latency { answered: &Histogram::new(), unanswered: 0 }.quantile(0.5), None);
    }
}

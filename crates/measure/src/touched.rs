//! Which percentiles of the response time contain more than the service time: what the generator, or a wait before
//! sending, has added to the figures of the server.
//!
//! ```text
//!            service time        response time
//!   p50      52 µs               53 µs            agree within 5 %
//!   p99      69 µs               407 µs           touched
//! ```

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Latency, Quantile, Tally};

/// A percentile whose response time and service time differ.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Touched {
    /// The quantile, 0 to 1.
    #[serde(serialize_with = "crate::finite::serialize")]
    pub quantile: f64,
    /// The response time there, which contains the lateness; `None` = beyond the timeout.
    pub response_ns: Option<u64>,
    /// The service time there, which does not; `None` = beyond the timeout.
    pub service_ns: Option<u64>,
}

/// The percentiles of a run that a reader is shown and that differ.
pub(crate) fn touched(sum: &Tally) -> Vec<Touched> {
    let (response, service) = (sum.response_latency(), sum.service_latency());
    let ns = |quantile: Quantile| match quantile {
        Quantile::At(ns) => Some(ns),
        Quantile::BeyondTimeout => None,
    };
    let differing = |q: &f64| {
        let (response, service) = (reported(response, *q)?, reported(service, *q)?);
        differs(response, service).then_some(Touched {
            quantile: *q,
            response_ns: ns(response),
            service_ns: ns(service),
        })
    };
    QUANTILES.iter().filter_map(differing).collect()
}

/// Those of them that the lateness of the sends explains, where queries have also waited for something else: enough
/// queries were so late that the figure could move.
pub(crate) fn of_lateness(all: &[Touched], sum: &Tally) -> Vec<Touched> {
    let is_explained = |touched: &&Touched| {
        let least_ns = touched.service_ns.map_or(u64::MAX, tolerance_ns);
        let late: u64 =
            sum.lateness.buckets().filter(|bucket| bucket.from_ns > least_ns).map(|b| b.count).sum();
        late as f64 >= (1.0 - touched.quantile) / 2.0 * sum.lateness.count() as f64
    };
    all.iter().filter(is_explained).copied().collect()
}

/// A percentile that enough queries are beyond.
fn reported(latency: Latency<'_>, q: f64) -> Option<Quantile> {
    let beyond = latency.count() as f64 * (1.0 - q) * (1.0 + 1e-9);
    if beyond < LEAST_BEYOND { None } else { latency.quantile(q) }
}

fn differs(response: Quantile, service: Quantile) -> bool {
    match (response, service) {
        (Quantile::At(response_ns), Quantile::At(service_ns)) => {
            response_ns.abs_diff(service_ns) > tolerance_ns(service_ns)
        }
        (response, service) => response != service,
    }
}

/// 5 % of a latency, and not less than the histograms distinguish.
fn tolerance_ns(latency_ns: u64) -> u64 {
    (latency_ns / 20).max(crate::FLOOR_NS)
}

/// The percentiles that reports show.
const QUANTILES: [f64; 5] = [0.5, 0.9, 0.95, 0.99, 0.999];

/// Queries that must be expected beyond a percentile for it to be reported.
const LEAST_BEYOND: f64 = 10.0;

#[cfg(test)]
mod tests {
    use super::*;

    /// 2,000 queries that the server answered in `service_ns`, the last `late` of them sent `late_ns` late.
    fn run(service_ns: u64, late: u64, late_ns: u64) -> Tally {
        let mut sum = Tally::new(1);
        for n in 0..2_000 {
            let lateness_ns = if n >= 2_000 - late { late_ns } else { 500 };
            sum.lateness.record(lateness_ns);
            sum.service.record(service_ns);
            sum.response.record(service_ns + lateness_ns);
            sum.ends.answered += 1;
        }
        sum
    }

    fn quantiles(sum: &Tally) -> Vec<f64> {
        touched(sum).iter().map(|touched| touched.quantile).collect()
    }

    #[test]
    fn a_percentile_is_touched_where_lateness_moves_it_by_more_than_5_percent() {
        assert_eq!(quantiles(&run(69_000, 30, 338_000)), [0.99]);
        assert!(quantiles(&run(69_000, 2_000, 3_000)).is_empty());
        assert_eq!(quantiles(&run(69_000, 2_000, 5_000)), [0.5, 0.9, 0.95, 0.99]);
        // The same lateness beside a latency of milliseconds.
        assert!(quantiles(&run(20_000_000, 2_000, 338_000)).is_empty());
        let only = touched(&run(69_000, 30, 338_000));
        let (response_ns, service_ns) = (only[0].response_ns.unwrap(), only[0].service_ns.unwrap());
        assert!(response_ns.abs_diff(407_000) < 4_000 && service_ns.abs_diff(69_000) < 700, "{only:?}");
    }

    #[test]
    fn less_than_a_microsecond_is_no_difference() {
        assert!(quantiles(&run(5_000, 2_000, 900)).is_empty());
        assert_eq!(quantiles(&run(5_000, 2_000, 1_900)).len(), 4);
    }

    #[test]
    fn percentiles_that_too_few_queries_are_beyond_are_not_judged() {
        // Two late queries of 2,000 move p99.9, which 2,000 queries cannot carry.
        assert!(quantiles(&run(69_000, 3, 50_000_000)).is_empty());
        let mut longer = run(69_000, 3, 50_000_000);
        (0..4).for_each(|_| longer.merge(&run(69_000, 3, 50_000_000)));
        assert_eq!(quantiles(&longer), [0.999]);
    }

    #[test]
    fn timeouts_are_on_both_sides() {
        let mut lost = run(69_000, 0, 0);
        lost.ends.timed_out = 200;
        assert!(quantiles(&lost).is_empty(), "p95 and p99 are beyond the timeout on both sides");
        lost.ends.not_sent.add(crate::NotSentReason::GeneratorLate, 1_000);
        let beyond = touched(&lost);
        assert_eq!((beyond[0].quantile, beyond[0].response_ns), (0.9, None), "{beyond:?}");
    }

    #[test]
    fn what_a_wait_has_added_is_not_lateness() {
        // 600 queries waited 10 ms for a window that a stalled server filled, and were then sent in time.
        let mut held = run(69_000, 0, 0);
        held.response = run(69_000, 600, 10_000_000).response;
        let all = touched(&held);
        assert_eq!(all.iter().map(|touched| touched.quantile).collect::<Vec<_>>(), [0.9, 0.95, 0.99]);
        assert_eq!(of_lateness(&all, &held), []);
        held.lateness = run(69_000, 30, 338_000).lateness;
        assert_eq!(of_lateness(&all, &held).len(), 1);
    }
}

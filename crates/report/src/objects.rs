//! JSON objects that several parts of the summary for programs contain.

use dnsdyno_measure::{Ends, Group, Histogram, Latency, PERCENTILES, Quantile, Visitor};
use serde_json::{Map, Value, json};

use crate::figures::longest;

/// All counters of a group by their keys, including those that are 0; durations as their percentiles.
pub(crate) fn counters(group: &dyn Group) -> Map<String, Value> {
    let mut object = Object(Map::new());
    group.visit_each(&mut object);
    object.0
}

struct Object(Map<String, Value>);

impl Visitor for Object {
    fn count(&mut self, key: &str, count: u64) {
        self.0.insert(key.to_owned(), count.into());
    }

    fn histogram(&mut self, key: &str, histogram: &Histogram) {
        // Without unanswered queries nothing is beyond a timeout, whichever it is.
        let mut figures = latency(Latency { answered: histogram, unanswered: 0 }, 0);
        figures["count"] = histogram.count().into();
        self.0.insert(key.to_owned(), figures);
    }

    fn group(&mut self, key: &str, group: Option<&dyn Group>) {
        self.0.insert(key.to_owned(), group.map_or(Value::Null, |group| counters(group).into()));
    }
}

/// How queries ended; those not sent together, and by reason.
pub(crate) fn ends(ends: &Ends) -> Map<String, Value> {
    let mut object = counters(ends);
    let by_reason = object.insert("not_sent".to_owned(), ends.not_sent.total().into());
    object.insert("not_sent_by_reason".to_owned(), by_reason.unwrap_or_default());
    object
}

/// The percentiles of a latency, including unanswered queries.
pub(crate) fn latency(latency: Latency<'_>, timeout_ns: u64) -> Value {
    let exact = latency.answered.exact();
    let mut object = json!({
        "answered": latency.answered.count(),
        "unanswered": latency.unanswered,
        "min_ns": exact.map(|e| e.min_ns),
        "avg_ns": latency.answered.mean_ns(),
        "max": quantile(longest(latency), timeout_ns),
    });
    PERCENTILES.iter().for_each(|(key, _, q)| object[*key] = quantile(latency.percentile(*q), timeout_ns));
    object
}

/// `{"ns": 1234, "beyond_timeout": false}`, or null without enough queries.
pub fn quantile(quantile: Option<Quantile>, timeout_ns: u64) -> Value {
    quantile.map_or(Value::Null, |quantile| {
        let written = quantile.written(timeout_ns);
        json!({ "ns": written.ns, "beyond_timeout": written.beyond_timeout })
    })
}

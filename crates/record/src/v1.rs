//! Translates records of format 1 into the present format.
//!
//! In format 1 the buckets of a histogram were `[from_ns, to_ns, count]`, with the standard deviation instead of the
//! sum of squares. RCODEs and types were lists with names instead of maps. `asked_again`, `begun`, `tcp_asked_again`
//! and `beside` are now `retried`, `started`, `tcp_retried` and `arrivals.anomalies`; `udp_failed` and `tcp_failed`
//! are one map. The kind and message of an event were only in the properties of dns-metrics. All else is unchanged.

use std::collections::BTreeMap;

use dnsdyno_wire::parse_type;
use serde_json::{Map, Value, json};

/// Turns a line after the header into one of format 2, whose lines format 3 has too.
pub(crate) fn translate(line: &mut Map<String, Value>, types: &[u16]) {
    let event = ["msg_type", "msg"].map(|key| line.get(key).cloned());
    let Some(own) = object(line.get_mut("dnsdyno")) else { return };
    for (key, value) in ["kind", "message"].into_iter().zip(event) {
        own.extend(value.map(|value| (key.to_owned(), value)));
    }
    rename(own, "asked_again", "retried");
    if let (Some(anomalies), Some(arrivals)) = (own.remove("beside"), object(own.get_mut("arrivals"))) {
        arrivals.insert("anomalies".to_owned(), anomalies);
    }
    if let Some(Value::Array(rcodes)) = own.get("rcodes") {
        let count = |entry: &Value| Some((entry["rcode"].as_u64()?.to_string(), entry["count"].clone()));
        let counts: Map<_, _> = rcodes.iter().filter_map(count).collect();
        own.insert("rcodes".to_owned(), counts.into());
    }
    if let Some(Value::Array(named)) = own.get("types") {
        let by_type = |entry: &Value| Some((parse_type(entry["type"].as_str()?)?, entry.clone()));
        let mut named: BTreeMap<u16, Value> = named.iter().filter_map(by_type).collect();
        let count = |rtype: &u16| named.remove(rtype).unwrap_or(json!({}));
        let counts: Vec<Value> = types.iter().map(count).collect();
        own.insert("types".to_owned(), counts.into());
    }
    if let Some(fallback) = object(own.get_mut("fallback")) {
        let mut failed = Map::new();
        for (part, prefix) in [("udp_failed", "udp_"), ("tcp_failed", "")] {
            if let Some(Value::Object(counts)) = fallback.remove(part) {
                failed.extend(counts.into_iter().map(|(why, count)| (format!("{prefix}{why}"), count)));
            }
        }
        fallback.insert("failed".to_owned(), failed.into());
        rename(fallback, "begun", "started");
        rename(fallback, "tcp_asked_again", "tcp_retried");
    }
    own.values_mut().for_each(translate_histograms);
}

fn rename(object: &mut Map<String, Value>, old: &str, new: &str) {
    if let Some(value) = object.remove(old) {
        object.insert(new.to_owned(), value);
    }
}

fn object(value: Option<&mut Value>) -> Option<&mut Map<String, Value>> {
    value.and_then(Value::as_object_mut)
}

/// Translates each histogram in `value`: any object with buckets is one.
fn translate_histograms(value: &mut Value) {
    match value {
        Value::Object(histogram) if histogram.contains_key("buckets") => {
            let buckets = histogram.remove("buckets").unwrap_or_default();
            let (first, counts) = counts(&buckets);
            let figure = |key: &str| histogram.get(key).and_then(Value::as_f64).unwrap_or_default();
            let (count, stddev) = (figure("count"), figure("stddev_ns"));
            let mean = if count > 0.0 { figure("sum_ns") / count } else { 0.0 };
            histogram.insert("sum_squares_ns2".to_owned(), (count * (stddev * stddev + mean * mean)).into());
            histogram.insert("first".to_owned(), first.into());
            histogram.insert("counts".to_owned(), counts.into());
        }
        Value::Object(object) => object.values_mut().for_each(translate_histograms),
        Value::Array(items) => items.iter_mut().for_each(translate_histograms),
        _ => {}
    }
}

/// The number of the first bucket, and the counts from it on.
fn counts(buckets: &Value) -> (u64, Vec<i64>) {
    let (mut first, mut next, mut counts) = (None, 0, Vec::new());
    for bucket in buckets.as_array().into_iter().flatten() {
        let (Some(from_ns), Some(count)) = (bucket[0].as_u64(), bucket[2].as_i64()) else { continue };
        let number = dnsdyno_measure::bucket_number(from_ns);
        if first.is_some() && number > next {
            counts.push(next as i64 - number as i64);
        }
        first.get_or_insert(number);
        counts.push(count);
        next = number + 1;
    }
    (first.unwrap_or_default(), counts)
}

#[cfg(test)]
mod tests {
    use dnsdyno_measure::{Anomalies, Arrivals, FallbackFailure, Tally};
    use serde::Deserialize;

    use super::*;

    #[test]
    fn renamed_and_moved_counters_are_read() {
        let mut line = json!({ "type": "stats_periodic", "dnsdyno": {
            "requests": 73,
            "asked_again": 4,
            "beside": { "duplicates": 1, "unexpected": 2, "wrong_question": 3, "malformed": 5, "truncated": 9 },
            "fallback": {
                "begun": 9, "answered": 5, "udp_requests": 60, "tcp_requests": 12, "tcp_asked_again": 3,
                "udp_failed": { "timed_out": 6, "refused": 7, "interrupted": 8 },
                "tcp_failed": { "no_client": 1, "query_timed_out": 2, "interrupted": 10 },
            },
            "arrivals": { "sent": 61, "late": 2 },
        } });
        translate(line.as_object_mut().unwrap(), &[]);
        let own = &line["dnsdyno"];
        let tally = Tally::deserialize(own).unwrap();
        assert_eq!((tally.requests, tally.retried), (73, 4));
        let arrivals = Arrivals::deserialize(&own["arrivals"]).unwrap();
        assert_eq!((arrivals.sent, arrivals.late), (61, 2));
        let anomalies = Anomalies {
            duplicates: 1,
            unexpected: 2,
            wrong_question: 3,
            after_reuse: 0,
            malformed: 5,
            truncated: 9,
        };
        assert_eq!(arrivals.anomalies, anomalies);
        let fallback = tally.fallback.unwrap();
        assert_eq!((fallback.started, fallback.answered, fallback.udp_requests), (9, 5, 60));
        assert_eq!((fallback.tcp_requests, fallback.tcp_retried), (12, 3));
        assert_eq!(
            fallback.failed.by_reason().collect::<Vec<_>>(),
            [
                (FallbackFailure::UdpTimedOut, 6),
                (FallbackFailure::UdpRefused, 7),
                (FallbackFailure::UdpInterrupted, 8),
                (FallbackFailure::NoClient, 1),
                (FallbackFailure::QueryTimedOut, 2),
                (FallbackFailure::Interrupted, 10),
            ]
        );
    }
}

//! The JSON of DNS Shotgun, version 20200527: one object, with a count of latencies for each millisecond.
//!
//! Shotgun counts from the instant at which a client wants to send a request, as the response time does. Requests
//! without an answer are in the last count of the latencies, and so are packets that were discarded as malformed, which
//! are no requests.

use std::collections::BTreeMap;

use dnsdyno_record::Headline;
use serde::Deserialize;
use serde_json::Value;

use super::buckets::{Counted, CountedBucket};
use super::imported::{Imported, Latencies};

#[derive(Deserialize)]
struct Shotgun {
    version: u64,
    timeout_ms: u64,
    #[serde(default)]
    discarded: u64,
    stats_sum: Sum,
}

#[derive(Deserialize)]
struct Sum {
    since_ms: u64,
    until_ms: u64,
    requests: u64,
    answers: u64,
    latency: Vec<u64>,
    /// With the counts of RCODEs, `rcode_noerror`.
    #[serde(flatten)]
    others: BTreeMap<String, Value>,
}

/// Reads it.
///
/// # Errors
/// Another version of the format, or counts that do not fit to each other.
pub(super) fn parse(text: &str) -> Result<Imported, String> {
    let shotgun: Shotgun = serde_json::from_str(text)
        .map_err(|error| format!("it is no result of DNS Shotgun ({error}): make it again"))?;
    if shotgun.version != VERSION {
        return Err(format!(
            "version {} of the format of DNS Shotgun is not known: {VERSION} and its lines of dns-metrics are",
            shotgun.version
        ));
    }
    let sum = shotgun.stats_sum;
    if sum.answers > sum.requests || sum.latency.is_empty() {
        return Err("it has more answers than requests, or no latencies: the file is damaged".to_owned());
    }
    let last = sum.latency.len() - 1;
    // A latency is the difference of two instants of its event loop, each cut to whole milliseconds.
    let bucket = |(ms, count): (usize, &u64)| CountedBucket {
        from_ns: ms.saturating_sub(1) as f64 * NS_PER_MS,
        to_ns: (ms + 1) as f64 * NS_PER_MS,
        count: *count,
    };
    let buckets = sum.latency[..last].iter().enumerate().map(bucket).collect();
    let before_timeout = sum.latency[..last].iter().fold(0, |sum: u64, count| sum.saturating_add(*count));
    let unanswered = sum.requests.saturating_sub(before_timeout);
    let surplus = sum.latency[last].saturating_sub(unanswered);
    if before_timeout > sum.answers || surplus > shotgun.discarded {
        return Err("its latencies are more than its answers or requests: the file is damaged".to_owned());
    }
    let counted = Counted::new(buckets, unanswered, shotgun.timeout_ms as f64 * NS_PER_MS)?;
    let seconds = sum.until_ms.saturating_sub(sum.since_ms) as f64 / 1e3;
    let rate = |count: u64| (seconds > 0.0).then(|| count as f64 / seconds);
    let rcode = |(name, count): (&String, &Value)| {
        Some((name.strip_prefix("rcode_")?.to_uppercase(), count.as_u64()?))
    };
    Ok(Imported {
        started_unix_ns: sum.since_ms.checked_mul(1_000_000),
        queries: Some(sum.requests),
        answered: Some(sum.answers),
        sent_qps: rate(sum.requests),
        answered_qps: rate(sum.answers),
        latencies: Latencies::Counted(counted),
        rcodes: Some(sum.others.iter().filter_map(rcode).collect()),
        ..Imported::of("DNS Shotgun".to_owned(), Headline::Response)
    })
}

/// A date; the format has no other that is kept.
const VERSION: u64 = 20_200_527;

const NS_PER_MS: f64 = 1e6;

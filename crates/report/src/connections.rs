//! What became of connections, and how long they took: a part of the summary where there are any.

use dnsdyno_measure::{ConnectFailure, ConnectionEnd, Connections, Histogram, Latency};
use dnsdyno_record::Digest;
use serde_json::{Map, Value, json};

use crate::layout::flow;
use crate::units::{count, duration};

/// Writes the section.
pub(crate) fn write(out: &mut String, digest: &Digest, width: usize) {
    let Some(connections) = &digest.arrivals().connections else { return };
    let again = digest.tally().asked_again;
    let mut counts = vec![
        format!("connections: opened {}", count(connections.opened)),
        format!("established {}", count(connections.established)),
    ];
    counts.extend(failures(connections).map(|(why, n)| format!("failed: {} {}", why.words(), count(n))));
    counts.extend(ends(connections).map(|(end, n)| format!("{} {}", end.words(), count(n))));
    counts.push(format!("at most {} at once", count(connections.open_max)));
    counts.push(format!("reused by {} queries", count(connections.reused)));
    if again > 0 {
        counts.push(format!("{} queries asked again after a loss", count(again)));
    }
    out.push('\n');
    flow(out, counts, "   ", 0, 2, width);
    for (name, histogram) in [
        ("connect, from the SYN:", &connections.connect),
        ("first byte, from the SYN:", &connections.first_byte),
        ("query, once connected:", &connections.query),
    ] {
        if let Some(figures) = figures(histogram) {
            flow(out, [name.to_owned()].into_iter().chain(figures), "   ", 2, 4, width);
        }
    }
}

fn figures(histogram: &Histogram) -> Option<Vec<String>> {
    let exact = histogram.exact()?;
    let at = |q| match (Latency { answered: histogram, unanswered: 0 }).quantile(q) {
        Some(dnsdyno_measure::Quantile::At(ns)) => duration(ns),
        _ => "-".to_owned(),
    };
    Some(vec![
        format!("p50 {}", at(0.5)),
        format!("p99 {}", at(0.99)),
        format!("max {}", duration(exact.max_ns)),
    ])
}

fn failures(connections: &Connections) -> impl Iterator<Item = (ConnectFailure, u64)> + '_ {
    ConnectFailure::ALL.into_iter().map(|why| (why, connections.failed(why))).filter(|(_, n)| *n > 0)
}

fn ends(connections: &Connections) -> impl Iterator<Item = (ConnectionEnd, u64)> + '_ {
    ConnectionEnd::ALL.into_iter().map(|end| (end, connections.ended(end))).filter(|(_, n)| *n > 0)
}

/// The same as an object; null over a transport without connections.
pub(crate) fn as_json(digest: &Digest, latency: impl Fn(Latency<'_>) -> Value) -> Value {
    let Some(connections) = &digest.arrivals().connections else { return Value::Null };
    let failed = ConnectFailure::ALL.map(|why| (why.key().to_owned(), connections.failed(why).into()));
    let ended = ConnectionEnd::ALL.map(|end| (end.key().to_owned(), connections.ended(end).into()));
    let of = |histogram| latency(Latency { answered: histogram, unanswered: 0 });
    json!({
        "opened": connections.opened,
        "established": connections.established,
        "failed": failed.into_iter().collect::<Map<_, _>>(),
        "ended": ended.into_iter().collect::<Map<_, _>>(),
        "reused": connections.reused,
        "asked_again": digest.tally().asked_again,
        "open_max": connections.open_max,
        "connect": of(&connections.connect),
        "first_byte": of(&connections.first_byte),
        "query": of(&connections.query),
    })
}

#[cfg(test)]
mod tests {
    use crate::{sample, summary, summary_json};

    #[test]
    fn a_run_over_connections_says_what_became_of_them() {
        let digest = sample::over_tcp();
        let text = summary(&digest, 100);
        let shown = "
connections: opened 60   established 52   failed: refused 8   closed by the server 40
  closed by us 12   at most 10 at once   reused by 1,940 queries
  7 queries asked again after a loss
  connect, from the SYN:   p50 42.2 µs   p99 50.0 µs   max 50.0 µs
  first byte, from the SYN:   p50 2.00 ms   p99 2.00 ms   max 2.00 ms
";
        assert!(text.contains(shown), "{text}");
        let json = summary_json(&digest);
        assert_eq!(json["connections"]["failed"]["refused"], 8);
        assert_eq!(json["connections"]["ended"]["by_server"], 40);
        assert_eq!(json["connections"]["connect"]["max"]["ns"], 50_000);
        assert_eq!(json["connections"]["asked_again"], 7);
    }

    #[test]
    fn a_run_without_connections_says_nothing_of_them() {
        let digest = sample::stair();
        assert!(!summary(&digest, 80).contains("connections"));
        assert!(summary_json(&digest)["connections"].is_null());
    }
}

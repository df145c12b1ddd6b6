//! Connections and their times: a section of the summary of runs that have any.

use dnsdyno_measure::{
    ConnectFailure, ConnectionEnd, Connections, Encrypted, Explanation, HandshakeFailure, HandshakeKind,
    Histogram, Latency, PERCENTILES, Quantile, StreamFailure,
};
use dnsdyno_record::Digest;
use dnsdyno_text::layout::{flow, paragraph};
use dnsdyno_text::safe;
use dnsdyno_text::units::{count, counted, duration};
use serde_json::Value;

use crate::objects::counters;

/// Writes the section.
pub(crate) fn write(out: &mut String, digest: &Digest, width: usize) {
    let Some(connections) = &digest.arrivals().connections else { return };
    let retried = digest.tally().retried;
    let mut counts = vec![
        format!("connections: opened {}", count(connections.opened)),
        format!("established {}", count(connections.established)),
    ];
    counts.extend(failures(connections).map(|(why, n)| format!("failed: {} {}", why.words(), count(n))));
    counts.extend(ends(connections).map(|(end, n)| format!("{} {}", end.words(), count(n))));
    counts.push(format!("at most {} at once", count(connections.open_max)));
    counts.push(format!("{} on an open connection", counted(connections.reused, "query", "queries")));
    if retried > 0 {
        counts.push(format!("{} retried after a lost connection", counted(retried, "query", "queries")));
    }
    if connections.pauses > 0 {
        let (pauses, mean_ns) = (connections.pauses, connections.paused_ns / connections.pauses);
        let pauses = counted(pauses, "pause", "pauses");
        counts.push(format!("{pauses} of {} on average after repeated failures", duration(mean_ns)));
    }
    out.push('\n');
    flow(out, counts, "   ", 0, 2, width);
    explain(out, digest, ends(connections).map(|(end, _)| ("connection", end.key(), end.words())), width);
    // Over QUIC, connect and handshake are one.
    let start = if matches!(digest.header.transport.as_str(), "doq" | "doh3") {
        "the first packet"
    } else {
        "the SYN"
    };
    for (name, histogram) in [
        (format!("connect, from {start}:"), &connections.connect),
        (format!("first byte, from {start}:"), &connections.first_byte),
        ("query, once connected:".to_owned(), &connections.query),
    ] {
        if let Some(figures) = figures(histogram) {
            flow(out, [name].into_iter().chain(figures), "   ", 2, 4, width);
        }
    }
    if let Some(encrypted) = &connections.encrypted {
        write_handshakes(out, digest, encrypted, width);
        write_streams(out, digest, encrypted, width);
    }
}

/// Handshakes with their times.
fn write_handshakes(out: &mut String, digest: &Digest, encrypted: &Encrypted, width: usize) {
    let mut counts = vec!["handshakes:".to_owned()];
    for kind in HandshakeKind::ALL {
        let n = encrypted.handshake(kind).count();
        if n > 0 || kind == HandshakeKind::Full {
            counts.push(format!("{} {}", kind.key(), count(n)));
        }
    }
    let failed = HandshakeFailure::ALL.into_iter().map(|why| (why, encrypted.failed(why)));
    let failed: Vec<_> = failed.filter(|(_, n)| *n > 0).collect();
    counts.extend(failed.iter().map(|(why, n)| format!("failed: {} {}", why.words(), count(*n))));
    if encrypted.early_rejected > 0 {
        counts.push(format!("early data rejected {}", count(encrypted.early_rejected)));
    }
    flow(out, counts, "   ", 2, 4, width);
    explain(out, digest, failed.iter().map(|(why, _)| ("handshake", why.key(), why.words())), width);
    for (name, kind) in [
        ("full handshake:", HandshakeKind::Full),
        ("resumed handshake:", HandshakeKind::Resumed),
        ("early handshake (0-RTT):", HandshakeKind::Early),
    ] {
        if let Some(figures) = figures(encrypted.handshake(kind)) {
            flow(out, [name.to_owned()].into_iter().chain(figures), "   ", 2, 4, width);
        }
    }
}

/// HTTP statuses, and streams without a response.
fn write_streams(out: &mut String, digest: &Digest, encrypted: &Encrypted, width: usize) {
    let statuses = encrypted.statuses.iter().map(|(status, n)| format!("{status}: {}", count(n)));
    let streams = StreamFailure::ALL.into_iter().map(|why| (why, encrypted.stream(why)));
    let streams: Vec<_> = streams.filter(|(_, n)| *n > 0).collect();
    let listed = streams.iter().map(|(why, n)| format!("{} {}", why.words(), count(*n)));
    for (name, items) in
        [("HTTP status:", statuses.collect::<Vec<_>>()), ("streams without a response:", listed.collect())]
    {
        if !items.is_empty() {
            flow(out, [name.to_owned()].into_iter().chain(items), "   ", 2, 4, width);
        }
    }
    explain(out, digest, streams.iter().map(|(why, _)| ("stream", why.key(), why.words())), width);
}

/// What was behind the counters just written, where it is known: each is a group, a key and words.
pub(crate) fn explain<'a>(
    out: &mut String,
    digest: &Digest,
    counters: impl Iterator<Item = (&'a str, &'a str, &'a str)>,
    width: usize,
) {
    let Some(sum) = &digest.sum else { return };
    for (group, key, words) in counters {
        let about = |explanation: &&Explanation| explanation.about == format!("{group}.{key}");
        if let Some(explanation) = sum.explanations.iter().find(about) {
            paragraph(out, &format!("{words}: {}", safe(&explanation.words)), 4, 6, width);
        }
    }
}

/// The p50, the p99 (of enough) and the maximum of durations; `None` without any.
pub(crate) fn figures(histogram: &Histogram) -> Option<Vec<String>> {
    let exact = histogram.exact()?;
    let durations = Latency { answered: histogram, unanswered: 0 };
    let shown = PERCENTILES.iter().filter(|(key, ..)| matches!(*key, "p50" | "p99"));
    let figures = shown.filter_map(|(_, title, q)| match durations.percentile(*q) {
        Some(Quantile::At(ns)) => Some(format!("{title} {}", duration(ns))),
        _ => None,
    });
    Some(figures.chain([format!("max {}", duration(exact.max_ns))]).collect())
}

fn failures(connections: &Connections) -> impl Iterator<Item = (ConnectFailure, u64)> + '_ {
    ConnectFailure::ALL.into_iter().map(|why| (why, connections.failed(why))).filter(|(_, n)| *n > 0)
}

fn ends(connections: &Connections) -> impl Iterator<Item = (ConnectionEnd, u64)> + '_ {
    ConnectionEnd::ALL.into_iter().map(|end| (end, connections.ended(end))).filter(|(_, n)| *n > 0)
}

/// The same as a JSON object; null over a transport without connections.
pub(crate) fn as_json(digest: &Digest) -> Value {
    let Some(connections) = &digest.arrivals().connections else { return Value::Null };
    let mut object = counters(&**connections);
    object.insert("retried".to_owned(), digest.tally().retried.into());
    object.into()
}

#[cfg(test)]
mod tests {
    use crate::{sample, summary, summary_json};

    #[test]
    fn a_run_over_connections_reports_them() {
        let digest = sample::over_tcp();
        let text = summary(&digest, 100);
        let shown = "
connections: opened 60   established 52   failed: refused 8   closed by the server 40
  closed by us 12   at most 10 at once   1,940 queries on an open connection
  7 queries retried after a lost connection
  connect, from the SYN:   p50 42.2 µs   max 50.0 µs
  first byte, from the SYN:   p50 2.00 ms   max 2.00 ms
";
        assert!(text.contains(shown), "{text}");
        let json = summary_json(&digest);
        assert_eq!(json["connections"]["failed"]["refused"], 8);
        assert_eq!(json["connections"]["ended"]["by_server"], 40);
        assert_eq!(json["connections"]["connect"]["max"]["ns"], 50_000);
        assert_eq!(json["connections"]["retried"], 7);
    }

    #[test]
    fn a_run_over_encrypted_connections_reports_handshakes_and_streams() {
        let digest = sample::over_doh();
        let text = summary(&digest, 100);
        let shown = "
  handshakes:   full 10   resumed 30   failed: alert from the server 3   early data rejected 2
    alert from the server: certificate_required, the server wants a certificate of the client
  full handshake:   max 3.00 ms
  resumed handshake:   p50 1.01 ms   max 1.01 ms
  HTTP status:   200: 1,990   500: 10
  streams without a response:   status other than 200 10   refused by the server 4
    status other than 200: HTTP status 500
";
        assert!(text.contains(shown), "{text}");
        let json = &summary_json(&digest)["connections"]["encrypted"];
        assert_eq!((&json["failed"]["alert"], &json["statuses"]["500"]), (&3.into(), &10.into()));
        assert_eq!(json["handshakes"]["resumed"]["count"], 30);
        assert_eq!((&json["streams"]["refused"], &json["early_rejected"]), (&4.into(), &2.into()));
        assert!(summary_json(&sample::over_tcp())["connections"]["encrypted"].is_null());
    }

    #[test]
    fn a_run_without_connections_has_no_section_on_them() {
        let digest = sample::stair();
        assert!(!summary(&digest, 80).contains("connections"));
        assert!(summary_json(&digest)["connections"].is_null());
    }
}

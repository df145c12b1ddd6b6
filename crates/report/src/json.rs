//! The summary of a run as one JSON object, for programs.
//!
//! Keys are part of our interface (`docs/formats/run.md` lists them) and carry their units.

use dnsdyno_measure::{Tally, Warning};
use dnsdyno_record::{Digest, Headline, Row, WorkerUse};
use dnsdyno_wire::{rcode_name, type_name};
use serde_json::{Map, Value, json};

use crate::connections;
use crate::fallback;
use crate::figures::{headline, judged, lateness, lost, rate_qps, sent, share, socket_drops};
use crate::objects::{counters, ends, latency, quantile};

/// The figures of [`summary`](crate::summary) as one object.
pub fn summary_json(digest: &Digest) -> Value {
    let tally = digest.tally();
    let over_ns = digest.schedule_ns();
    let (fallback, mix) = fallback::as_json(digest);
    json!({
        "run": run(digest),
        "complete": digest.is_complete(),
        "torn": digest.torn,
        "ended": digest.ended(),
        "queries": queries(tally),
        "scheduled_qps": rate_qps(tally.scheduled, over_ns),
        "sent_qps": rate_qps(sent(tally), over_ns),
        "answered_qps": rate_qps(tally.ends.answered, over_ns),
        "loss_share": share(lost(tally), judged(tally)),
        "anomalies": anomalies(digest),
        "bytes_sent": tally.bytes_sent,
        "bytes_answered": tally.bytes_answered,
        "rcodes": tally.rcodes.iter().map(|(code, n)| (rcode_name(code).into_owned(), n.into())).collect::<Map<_, _>>(),
        "types": types(digest),
        "headline": match digest.header.headline {
            Headline::Response => "response",
            Headline::Service => "service",
        },
        "response": latency(tally.response_latency()),
        "service": latency(tally.service_latency()),
        "lateness": latency(lateness(tally)),
        "rows": digest.rows().iter().map(|one| row(digest, one)).collect::<Vec<_>>(),
        "events": digest.events,
        "more_events": digest.more_events,
        "generator": generator(digest),
        "workers": workers(digest),
        "connections": connections::as_json(digest),
        "fallback": fallback,
        "mix": mix,
        "interface": digest.sum.as_ref().and_then(|sum| sum.interface.as_ref()),
    })
}

fn run(digest: &Digest) -> Value {
    let header = &digest.header;
    json!({
        "run_id": header.run_id,
        "name": header.name,
        "note": header.note,
        "target": header.target,
        "address": header.address,
        "transport": header.transport,
        "backend": header.backend,
        "load": header.load,
        "send_only": header.send_only,
        "started_unix_ns": header.started_unix_ns,
        "duration_ns": digest.to_ns(),
        "schedule_ns": digest.schedule_ns(),
        "interval_ns": header.interval_ns,
        "timeout_ns": header.timeout_ns,
        "workers": header.workers,
        "clients": header.clients,
        "udp_sockets": header.udp_sockets,
        "queries": header.queries,
        "bad_lines": header.bad_lines,
        "passes": digest.sum.as_ref().map(|sum| sum.passes),
        "version": header.version,
        "command_line": header.command_line,
    })
}

/// The numbers of queries in a tally, and how they ended.
fn queries(tally: &Tally) -> Value {
    let mut object = counters(tally);
    // Byte counts are not queries; they have their own keys.
    object.retain(|key, value| value.is_u64() && !key.starts_with("bytes_"));
    object.extend(ends(&tally.ends));
    object.insert("sent".to_owned(), sent(tally).into());
    object.into()
}

fn anomalies(digest: &Digest) -> Value {
    let mut object = counters(&digest.arrivals().anomalies);
    object.insert("socket_drops".to_owned(), socket_drops(digest).into());
    object.insert("fragments".to_owned(), digest.sum.as_ref().map(|sum| sum.evidence.fragments).into());
    object.into()
}

fn types(digest: &Digest) -> Value {
    let typed = digest.header.types.iter().zip(&digest.tally().types);
    typed
        .map(|(rtype, count)| (type_name(*rtype).into_owned(), counters(count).into()))
        .collect::<Map<_, _>>()
        .into()
}

fn row(digest: &Digest, row: &Row) -> Value {
    let mut object = latency(headline(digest, &row.tally));
    let figures = json!({
        "phase": row.label,
        "from_ns": row.from_ns,
        "to_ns": row.to_ns,
        "covered_ns": row.covered_ns,
        "asked_qps": row.asked_qps(),
        "sent_qps": rate_qps(sent(&row.tally), row.covered_ns),
        "answered_qps": rate_qps(row.tally.ends.answered, row.covered_ns),
        "loss_share": share(lost(&row.tally), judged(&row.tally)),
        "queries": queries(&row.tally),
        "lateness_p99": quantile(lateness(&row.tally).quantile(0.99)),
    });
    if let (Some(into), Value::Object(from)) = (object.as_object_mut(), figures) {
        into.extend(from);
    }
    object
}

fn generator(digest: &Digest) -> Value {
    let warnings = digest.warnings();
    // Without a sum, the absence of warnings proves nothing.
    let ok = if warnings.is_empty() { digest.sum.as_ref().map(|_| true) } else { Some(false) };
    let told = |warning: &Warning| json!({ "name": warning.name(), "text": warning.to_string() });
    let all = |warnings: &[Warning]| warnings.iter().map(told).collect::<Vec<_>>();
    json!({ "ok": ok, "warnings": all(&warnings), "notes": all(digest.notes()) })
}

fn workers(digest: &Digest) -> Value {
    let over_ns = digest.schedule_ns();
    let share = |ns: u64| ns as f64 / digest.to_ns().max(1) as f64;
    let one = |used: &WorkerUse| {
        let mut object = counters(used);
        for (key, figure) in [
            ("sent_qps", rate_qps(used.sent, over_ns)),
            ("answered_qps", rate_qps(used.answered, over_ns)),
            ("cpu_share", share(used.cpu_ns)),
            ("cpu_wait_share", share(used.cpu_wait_ns)),
        ] {
            object.insert(key.to_owned(), figure.into());
        }
        Value::from(object)
    };
    digest.workers().iter().map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    #[test]
    fn the_object_holds_the_figures_of_the_run_with_their_units() {
        let json = summary_json(&sample::stair());
        assert_eq!(json["queries"]["scheduled"], 18_000);
        assert_eq!(json["scheduled_qps"], 3_000.0);
        assert_eq!(json["loss_share"], 192.0 / 18_000.0);
        assert_eq!(json["headline"], "response");
        assert_eq!(json["response"]["p50"]["ns"].as_u64().map(|ns| ns / 10_000), Some(51));
        assert_eq!(json["response"]["p99.9"], json!({ "beyond_timeout": true }));
        assert_eq!(json["rows"].as_array().map(Vec::len), Some(3));
        assert_eq!(json["rows"][2]["phase"], "4,000 q/s");
        assert_eq!(json["generator"], json!({ "ok": true, "warnings": [], "notes": [] }));
    }

    #[test]
    fn a_record_without_its_sum_is_not_called_ok() {
        let json = summary_json(&sample::killed());
        assert_eq!((&json["complete"], &json["generator"]["ok"]), (&json!(false), &Value::Null));
        assert_eq!(json["ended"], Value::Null);
    }
}

//! The summary of a run as one JSON object, for programs.
//!
//! Keys are part of our interface (`docs/formats/run.md` lists them), are words of jq and carry their units.

use std::io::{self, Write};

use dnsdyno_measure::{CachingClients, Tally, Warning};
use dnsdyno_record::{Digest, Headline, Interval, Row, WorkerUse};
use dnsdyno_text::acts_on_a_terminal;
use dnsdyno_wire::{rcode_name, type_name};
use serde_json::{Map, Value, json};

use crate::agents;
use crate::bounds;
use crate::connections;
use crate::fallback;
use crate::figures::{
    headline, judged, lateness, lost, mean_bytes, row_asked, row_rate, run_rate, sent, share, socket_drops,
};
use crate::hints;
use crate::objects::{counters, ends, latency, quantile};
use crate::steps::Steps;

/// Writes the object of [`summary_json`] with all intervals, of which only one at a time is in memory; `more` are
/// further properties.
///
/// # Errors
/// Those of `intervals`, after which the object is not complete, and of `out`.
pub fn write_json<E: From<io::Error>>(
    out: &mut impl Write,
    digest: &Digest,
    more: Map<String, Value>,
    intervals: impl IntoIterator<Item = Result<Interval, E>>,
) -> Result<(), E> {
    let mut object = summary_json(digest);
    if let Value::Object(object) = &mut object {
        object.extend(more);
    }
    let text = printable(&format!("{object:#}"));
    write!(out, "{},\n  \"intervals\": [", text.strip_suffix("\n}").unwrap_or(&text))?;
    let mut gap = "\n    ";
    for interval in intervals {
        let object = row(digest, &Row::of(&interval?));
        write!(out, "{gap}{object}")?;
        gap = ",\n    ";
    }
    writeln!(out, "\n  ]\n}}")?;
    Ok(())
}

/// An object on one line, as text for a terminal too.
pub fn json_line(value: &Value) -> String {
    printable(&value.to_string())
}

/// JSON text for a terminal too: such characters are only within strings, where they can be escaped.
fn printable(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    for c in json.chars() {
        match c {
            '\n' => out.push(c),
            _ if acts_on_a_terminal(c) => {
                c.encode_utf16(&mut [0; 2]).iter().for_each(|unit| out.push_str(&format!("\\u{unit:04x}")));
            }
            _ => out.push(c),
        }
    }
    out
}

/// The figures of [`summary`](crate::summary) as one object.
pub fn summary_json(digest: &Digest) -> Value {
    let tally = digest.tally();
    let timeout_ns = digest.header.timeout_ns;
    let (fallback, mix) = fallback::as_json(digest);
    let mut object = json!({
        "run": run(digest),
        "complete": digest.is_complete(),
        "in_progress": digest.in_progress,
        "torn": digest.torn,
        "ended": digest.ended(),
        "queries": queries(tally),
        "scheduled_qps": run_rate(digest, tally.scheduled),
        "sent_qps": run_rate(digest, sent(tally)),
        "answered_qps": run_rate(digest, tally.ends.answered),
        "steps": Steps::of(digest).map(|steps| steps.as_json()),
        "loss_share": share(lost(tally), judged(tally)),
        "anomalies": anomalies(digest),
        "bytes_sent": tally.bytes_sent,
        "bytes_answered": tally.bytes_answered,
        "query_bytes_avg": mean_bytes(tally.bytes_sent, tally.requests),
        "query_bytes_max": tally.query_bytes_max,
        "response_bytes_avg": mean_bytes(tally.bytes_answered, tally.rcodes.total()),
        "response_bytes_max": tally.response_bytes_max,
        "rcodes": tally.rcodes.iter().map(|(code, n)| (rcode_name(code).into_owned(), n.into())).collect::<Map<_, _>>(),
        "types": types(digest),
        "headline": match digest.header.headline {
            Headline::Response => "response",
            Headline::Service => "service",
        },
        "response": latency(tally.response_latency(), timeout_ns),
        "service": latency(tally.service_latency(), timeout_ns),
        "lateness": latency(lateness(tally), timeout_ns),
        "bounds": bounds::as_json(&digest.percentiles(), timeout_ns),
        "lost_ours": digest.loss().ours,
        "send_stamps": digest.arrivals().send_stamps.as_deref().map(|stamps| counters(stamps)),
        "own_share": digest.own_share().map(|share| json!({ "least": share.least, "most": share.most })),
        "rows": digest.rows().iter().map(|one| row(digest, one)).collect::<Vec<_>>(),
        "events": digest.events,
        "more_events": digest.more_events,
        "hints": hints::as_json(digest),
        "replay": digest.sum.as_ref().and_then(|sum| sum.replay.as_ref()).map(|counts| counters(counts)),
        "answers": digest.sum.as_ref().and_then(|sum| sum.answers.as_ref()).map(|counts| counters(counts)),
        "explanations": digest.sum.as_ref().map_or(&[][..], |sum| &sum.explanations),
        "generator": generator(digest),
        "workers": workers(digest),
        "connections": connections::as_json(digest),
        "fallback": fallback,
        "mix": mix,
        "interface": digest.sum.as_ref().and_then(|sum| sum.interface.as_ref()),
    });
    object["truncated"] = json!(digest.sum.as_ref().and_then(|sum| sum.truncated.as_ref()));
    let answer_checks = digest.sum.as_ref().and_then(|sum| sum.answer_checks.as_ref());
    object["answer_checks"] = json!(answer_checks.map(|checks| counters(checks)));
    object["peak"] = peak(digest);
    object["clients_with_caches"] = clients_with_caches(digest);
    object["partial_intervals"] = digest.partial_intervals().into();
    object["agents"] = agents::as_json(digest);
    object["start"] = agents::start_json(digest);
    object
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
        "checks": header.checks,
        "version": header.version,
        "command_line": header.command_line,
    })
}

/// The busiest interval.
fn peak(digest: &Digest) -> Value {
    let Some(peak) = digest.peak() else { return Value::Null };
    let types = digest.header.types.iter().zip(&peak.types);
    json!({
        "from_ns": peak.from_ns,
        "to_ns": peak.to_ns,
        "requests": peak.requests,
        "requests_per_s": peak.per_s(),
        "over_tcp": peak.over_tcp,
        "types": types.map(|(rtype, n)| (type_name(*rtype).into_owned(), (*n).into())).collect::<Map<_, _>>(),
    })
}

/// Simulated clients: all, and by kind.
fn clients_with_caches(digest: &Digest) -> Value {
    let arrivals = digest.arrivals();
    let Some(all) = arrivals.clients.as_deref() else { return Value::Null };
    let object = |clients: &CachingClients| {
        let mut object = counters(clients);
        object.insert("hit_ratio".to_owned(), clients.hit_ratio().into());
        Value::from(object)
    };
    let kinds = digest.header.client_kinds.iter().zip(&arrivals.client_kinds);
    json!({
        "all": object(all),
        "kinds": kinds.map(|(name, clients)| (name.clone(), object(clients))).collect::<Map<_, _>>(),
    })
}

/// The numbers of queries in a tally, and how they ended.
fn queries(tally: &Tally) -> Value {
    let mut object = counters(tally);
    // Byte counts are not queries; they have their own keys.
    object.retain(|key, value| value.is_u64() && !key.contains("bytes"));
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
    let timeout_ns = digest.header.timeout_ns;
    let mut object = latency(headline(digest, &row.tally), timeout_ns);
    let figures = json!({
        "phase": row.label,
        "index": row.index,
        "from_ns": row.from_ns,
        "to_ns": row.to_ns,
        "covered_ns": row.covered_ns,
        "partial_intervals": row.partial_intervals,
        "asked_qps": row_asked(row),
        "sent_qps": row_rate(row, sent(&row.tally)),
        "answered_qps": row_rate(row, row.tally.ends.answered),
        "loss_share": share(lost(&row.tally), judged(&row.tally)),
        "queries": queries(&row.tally),
        "bounds": bounds::as_json(&digest.percentiles_of(row), timeout_ns),
        "lost_ours": digest.loss_of(row).ours,
        "lateness_p99": quantile(lateness(&row.tally).percentile(0.99), timeout_ns),
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
    let share = |ns: u64| Some(ns as f64 / digest.to_ns().max(1) as f64);
    let one = |used: &WorkerUse| {
        let mut object = counters(used);
        for (key, figure) in [
            ("sent_qps", run_rate(digest, used.sent)),
            ("answered_qps", run_rate(digest, used.answered)),
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
        assert_eq!(json["response"]["p99_9"], json!({ "ns": 5_000_000_000_u64, "beyond_timeout": true }));
        assert_eq!(json["rows"].as_array().map(Vec::len), Some(3));
        assert_eq!(json["rows"][2]["phase"], "4,000 q/s");
        assert_eq!(json["generator"], json!({ "ok": true, "warnings": [], "notes": [] }));
    }

    #[test]
    fn every_interval_is_written_in_the_form_of_a_row() {
        let digest = sample::stair();
        let intervals = (0..3).map(|i| Ok::<_, io::Error>(sample::second(i, 2_000, 0)));
        let mut out = Vec::new();
        let more = Map::from_iter([("expectations".to_owned(), json!([]))]);
        write_json(&mut out, &digest, more, intervals).unwrap();
        let json: Value = serde_json::from_slice(&out).unwrap();
        assert_eq!(json["intervals"].as_array().map(Vec::len), Some(3));
        assert_eq!((&json["intervals"][2]["index"], &json["expectations"]), (&json!(2), &json!([])));
        let keys = |value: &Value| value.as_object().map(|object| object.keys().cloned().collect::<Vec<_>>());
        assert_eq!(keys(&json["intervals"][0]), keys(&json["rows"][0]));
        let mut empty = Vec::new();
        let none = std::iter::empty::<io::Result<Interval>>();
        write_json(&mut empty, &digest, Map::new(), none).unwrap();
        assert_eq!(serde_json::from_slice::<Value>(&empty).unwrap()["intervals"], json!([]));
    }

    #[test]
    fn the_keys_of_our_own_are_words_of_jq() {
        fn check(value: &Value) {
            let Value::Object(object) = value else { return };
            for (key, value) in object {
                let is_word = key.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
                assert!(is_word, "{key}");
                // Named by the protocols.
                if !matches!(key.as_str(), "rcodes" | "types" | "statuses") {
                    check(value);
                }
            }
        }
        [sample::stair(), sample::over_doh(), sample::falling_back(), sample::mixed(), sample::agents(&[1])]
            .iter()
            .for_each(|digest| check(&summary_json(digest)));
    }

    #[test]
    fn ten_queries_in_no_time_have_no_rate_and_no_percentiles() {
        let json = summary_json(&sample::ten_queries());
        assert_eq!((&json["answered_qps"], &json["response"]["p50"]), (&Value::Null, &Value::Null));
        assert_eq!(json["response"]["max"]["beyond_timeout"], false);
    }

    #[test]
    fn a_record_without_its_sum_is_not_called_ok() {
        let json = summary_json(&sample::killed());
        assert_eq!((&json["complete"], &json["generator"]["ok"]), (&json!(false), &Value::Null));
        assert_eq!(json["ended"], Value::Null);
    }
}

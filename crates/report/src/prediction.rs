//! The load that clients with caches will put on a server, as text and as JSON.

use dnsdyno_clients::predict::{Case, Curves, Forecast, Messages, Part, Prediction};
use dnsdyno_clients::{Names, Policy};
use dnsdyno_measure::CacheState;
use dnsdyno_text::layout::{Table, paragraph};
use dnsdyno_text::units::{bytes, count, percent, rate};
use serde_json::{Value, json};

use crate::caching::state_in_words;

/// A forecast as text, in lines of `width` columns.
pub fn prediction_text(forecast: &Forecast, width: usize) -> String {
    let cases: Vec<&Case> = [Some(&forecast.now), forecast.after.as_ref()].into_iter().flatten().collect();
    let mut out = "by arithmetic; nothing was sent\n\n".to_owned();
    write_rows(&mut out, &cases, SETTINGS, width);
    out.push('\n');
    write_rows(&mut out, &cases, LOAD, width);
    out.push('\n');
    write_parts(&mut out, &cases, width);
    for (at, case) in cases.iter().enumerate() {
        let lead = if cases.len() > 1 { format!("{}: ", TITLES[at]) } else { String::new() };
        paragraph(&mut out, &format!("{lead}{}", state_in_words(case.prediction.state)), 2, 4, width);
    }
    if let Some(after) = &forecast.after {
        let factor =
            after.prediction.queries_per_s / forecast.now.prediction.queries_per_s.max(f64::MIN_POSITIVE);
        paragraph(&mut out, &format!("after the change: {} times the queries", rate(factor)), 2, 4, width);
    }
    if let Some(peak) = &forecast.peak {
        let (factor, load) = (rate(peak.factor), &peak.prediction);
        let (messages, shares) = (rate(load.requests_per_s), shares_in_words(load));
        let text = format!(
            "busiest second of the day, with {factor} times the users: {messages} messages/s: {shares}"
        );
        paragraph(&mut out, &text, 2, 4, width);
    }
    out.push_str("\n  one thing changed by itself\n");
    let mut table = Table::default();
    table.left("", 0, forecast.cures.iter().map(|cure| cure.what.to_owned()).collect());
    table.right("queries/s", 0, forecast.cures.iter().map(|cure| rate(cure.queries_per_s)).collect());
    table.right("state", 0, forecast.cures.iter().map(|cure| number(cure.state).to_string()).collect());
    table.write(&mut out, width);
    let last = cases.last().copied().unwrap_or(&forecast.now);
    out.push_str("\n  queries/s by the entries of a cache, for each TTL of all records\n");
    out.push_str(&curves_text(&forecast.curves, last.ttl_s(), width));
    out
}

/// The same as one JSON object.
pub fn prediction_json(forecast: &Forecast) -> Value {
    let curves: Vec<Value> = forecast
        .curves
        .lines
        .iter()
        .map(|line| json!({ "ttl_s": line.ttl_s, "queries_per_s": line.queries_per_s }))
        .collect();
    let cures: Vec<Value> = forecast
        .cures
        .iter()
        .map(|cure| {
            json!({ "what": cure.what, "queries_per_s": cure.queries_per_s, "state": number(cure.state) })
        })
        .collect();
    json!({
        "now": case_json(&forecast.now),
        "after": forecast.after.as_ref().map(case_json),
        "peak": forecast.peak.as_ref().map(|peak| {
            let load = &peak.prediction;
            json!({
                "factor": peak.factor,
                "queries_per_s": load.queries_per_s,
                "requests_per_s": load.requests_per_s,
                "octets_per_s": load.octets_per_s,
                "messages": messages_json(load),
            })
        }),
        "cures": cures,
        "curves": { "entries": forecast.curves.entries, "lines": curves },
    })
}

fn case_json(case: &Case) -> Value {
    let Prediction {
        queries_per_s,
        again_per_s,
        given_up,
        requests_per_s,
        octets_per_s,
        truncated,
        hit_ratio,
        need,
        state,
        lost_s,
        parts,
    } = &case.prediction;
    let description = case.description();
    let part = |part: &Part| {
        json!({
            "procedure": part.kind.key(),
            "type": part.qtype,
            "queries_per_s": part.queries_per_s,
            "truncated_per_s": part.truncated_per_s,
        })
    };
    let parts: Vec<Value> = parts.iter().map(part).collect();
    json!({
        "clients": description.clients,
        "cache": description.cache,
        "ttl_s": case.ttl_s(),
        "attaches_per_s": description.arrivals.attaches,
        "handovers_per_s": description.arrivals.handovers,
        "queries_per_s": queries_per_s,
        "asked_again_per_s": again_per_s,
        "given_up": given_up,
        "requests_per_s": requests_per_s,
        "messages": messages_json(&case.prediction),
        "octets_per_s": octets_per_s,
        "truncated": truncated,
        "hit_ratio": hit_ratio,
        "entries_needed": need,
        "state": number(*state),
        "ttl_lost_s": lost_s,
        "parts": parts,
    })
}

/// Messages by transport and type.
fn messages_json(prediction: &Prediction) -> Value {
    let Messages { udp_per_s, tcp_per_s, by_type } = prediction.messages();
    let by_type: serde_json::Map<String, Value> =
        by_type.into_iter().map(|(qtype, per_s)| (qtype, per_s.into())).collect();
    json!({ "udp_per_s": udp_per_s, "tcp_per_s": tcp_per_s, "by_type": by_type })
}

/// The shares of transports and types.
fn shares_in_words(prediction: &Prediction) -> String {
    let Messages { udp_per_s, tcp_per_s, by_type } = prediction.messages();
    let share = |per_s: f64| percent(per_s / (udp_per_s + tcp_per_s).max(f64::MIN_POSITIVE));
    let of_type = |(qtype, per_s): &(String, f64)| format!("{qtype} {}", share(*per_s));
    let types: Vec<String> = by_type.iter().map(of_type).collect();
    format!("UDP {}, TCP {}; {}", share(udp_per_s), share(tcp_per_s), types.join(", "))
}

/// A row of the table of cases.
type Row = (&'static str, fn(&Case) -> String);

const TITLES: [&str; 2] = ["now", "after"];

const SETTINGS: &[Row] = &[
    ("clients", |case| count(case.description().clients.into())),
    ("size of each cache", |case| {
        let cache = case.description().cache;
        format!("{} {}", count(cache.entries.into()), cache.count.words())
    }),
    ("evicted first", |case| policy(case.description().cache.policy).to_owned()),
    ("TTL in seconds", |case| count(case.ttl_s().into())),
    ("attaches/s", |case| match case.description().names {
        Names::Epc(_) => rate(case.description().arrivals.attaches),
        Names::Stub(_) => String::new(),
    }),
    ("handovers/s", |case| match case.description().names {
        Names::Epc(_) => rate(case.description().arrivals.handovers),
        Names::Stub(_) => String::new(),
    }),
    ("lookups/s", |case| match case.description().names {
        Names::Epc(_) => String::new(),
        Names::Stub(_) => rate(case.description().arrivals.attaches),
    }),
];

const LOAD: &[Row] = &[
    ("queries/s", |case| rate(case.prediction.queries_per_s)),
    ("  that ask again", |case| match case.prediction.again_per_s {
        again_per_s if again_per_s > 0.0 => rate(again_per_s),
        _ => String::new(),
    }),
    ("given up after the last retry", |case| match case.prediction.given_up {
        given_up if given_up > 0.0 => percent(given_up),
        _ => String::new(),
    }),
    ("messages/s, with TCP after truncation", |case| rate(case.prediction.requests_per_s)),
    ("truncated", |case| percent(case.prediction.truncated)),
    ("bytes of responses a second", |case| bytes(case.prediction.octets_per_s)),
    ("answered from a cache", |case| percent(case.prediction.hit_ratio)),
    ("that a client's cache needs", |case| {
        format!("{} {}", rate(case.prediction.need), case.description().cache.count.words())
    }),
    ("state of the caches", |case| number(case.prediction.state).to_string()),
];

/// Rows of cases, without those in which no case has anything.
fn write_rows(out: &mut String, cases: &[&Case], rows: &[Row], width: usize) {
    let has_content = |row: &&Row| cases.iter().any(|case| !row.1(case).is_empty());
    let rows: Vec<&Row> = rows.iter().filter(has_content).collect();
    let mut table = Table::default();
    table.left("", 0, rows.iter().map(|row| row.0.to_owned()).collect());
    for (case, title) in cases.iter().zip(TITLES) {
        table.right(title, 0, rows.iter().map(|row| row.1(case)).collect());
    }
    table.write(out, width);
}

/// Queries by procedure and type.
fn write_parts(out: &mut String, cases: &[&Case], width: usize) {
    let mut names: Vec<String> = Vec::new();
    let name = |part: &Part| format!("{}: {}", part.kind.words(), part.qtype);
    for part in cases.iter().flat_map(|case| &case.prediction.parts) {
        if !names.contains(&name(part)) {
            names.push(name(part));
        }
    }
    let mut table = Table::default();
    table.left("queries/s of", 0, names.clone());
    for (case, title) in cases.iter().zip(TITLES) {
        let of = |wanted: &String| {
            let part = case.prediction.parts.iter().find(|part| name(part) == *wanted);
            part.map_or("-".to_owned(), |part| rate(part.queries_per_s))
        };
        table.right(title, 0, names.iter().map(of).collect());
    }
    table.write(out, width);
    out.push('\n');
}

/// A row for each size, with a bar for the TTL that the records have.
fn curves_text(curves: &Curves, ttl_s: u32, width: usize) -> String {
    // Titles of figures are figures: they are the first row.
    let column = |title: String, cells: Vec<String>| std::iter::once(title).chain(cells).collect();
    let mut table = Table::default();
    let sizes = curves.entries.iter().map(|entries| count((*entries).into())).collect();
    table.right("", 0, column("entries".to_owned(), sizes));
    for line in &curves.lines {
        let title = format!("{} s", count(line.ttl_s.into()));
        table.right("", 0, column(title, line.queries_per_s.iter().map(|qps| rate(*qps)).collect()));
    }
    if let Some(line) = curves.lines.iter().find(|line| line.ttl_s == ttl_s) {
        let most = line.queries_per_s.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
        let bar = |qps: &f64| "#".repeat((qps / most * LONGEST_BAR).round() as usize);
        let bars = line.queries_per_s.iter().map(bar).collect();
        table.left("", 1, column(format!("{} s", count(ttl_s.into())), bars));
    }
    let mut out = String::new();
    table.write(&mut out, width);
    out
}

/// The number that a carrier's report has for a state.
fn number(state: CacheState) -> u8 {
    match state {
        CacheState::Fits => 1,
        CacheState::Tight => 2,
        CacheState::Overflows => 3,
    }
}

fn policy(policy: Policy) -> &'static str {
    match policy {
        Policy::Ttl => "smallest TTL left",
        Policy::Fifo => "oldest (FIFO)",
        Policy::Lru => "unused longest (LRU)",
        Policy::Lfu => "least used (LFU)",
    }
}

/// Columns of the longest bar.
const LONGEST_BAR: f64 = 30.0;

#[cfg(test)]
mod tests {
    use dnsdyno_clients::Description;
    use dnsdyno_clients::predict::Change;

    use super::*;

    fn forecast() -> Forecast {
        let question = |qtype: &str, names: u32, octets: u32| {
            let of = (qtype, names, octets);
            json!({ "qtype": of.0, "names": of.1, "per_lookup": 1.0, "ttl_s": 300, "octets": of.2 })
        };
        let description = json!({
            "kind": "epc", "mcc": "440", "mnc": "010", "tacs": [1, 2, 3, 4], "apns": ["a"], "clients": 2,
            "cache": { "entries": 10, "policy": "ttl", "count": "rrsets" },
            "arrivals": { "attaches": 100.0, "handovers": 50.0, "curve": [0.5, 2.0] },
            "zone": {
                "tac": [question("NAPTR", 4, 4_000), question("A", 20, 100)],
                "apn": [question("NAPTR", 1, 500), question("A", 20, 100)],
            },
        });
        let now = Case::new(Description::parse(&description.to_string()).unwrap(), 1_232).unwrap();
        let after = now.with(&Change { entries: Some(100), ..Change::default() }).unwrap();
        Forecast::new(now, Some(after), &[60, 300]).unwrap()
    }

    #[test]
    fn both_cases_stand_side_by_side_with_what_would_help_and_a_curve() {
        let forecast = forecast();
        let text = prediction_text(&forecast, 80);
        let now = rate(forecast.now.prediction.queries_per_s);
        let line = |start: &str| text.lines().find(|line| line.trim_start().starts_with(start)).unwrap();
        assert!(line("queries/s  ").contains(&now), "{text}");
        assert!(line("state of the caches").ends_with("1") && line("state of").contains('3'), "{text}");
        assert!(line("entries  ").contains("60 s  ") && line("entries  ").contains("300 s"), "{text}");
        assert!(line("twice the TTL").contains(&rate(forecast.cures[1].queries_per_s)), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        assert!(text.contains('#') && !text.contains("lookups/s"), "{text}");
        let peak = forecast.peak.as_ref().unwrap();
        let busiest = format!(
            "busiest second of the day, with 2.00 times the users: {}",
            rate(peak.prediction.requests_per_s)
        );
        assert!(text.replace("\n    ", " ").contains(&busiest), "{busiest}: {text}");
        assert!(prediction_text(&forecast, 40).lines().all(|line| !line.contains('#')), "bars need room");
    }

    #[test]
    fn the_json_has_all_figures() {
        let forecast = forecast();
        let json = prediction_json(&forecast);
        assert_eq!(json["now"]["queries_per_s"], forecast.now.prediction.queries_per_s);
        assert_eq!((&json["now"]["state"], &json["after"]["state"]), (&json!(3), &json!(1)));
        assert_eq!(json["after"]["cache"]["entries"], 100);
        assert_eq!(json["curves"]["lines"].as_array().unwrap().len(), 2);
        let parts = json["now"]["parts"].as_array().unwrap();
        let sum: f64 = parts.iter().map(|part| part["queries_per_s"].as_f64().unwrap()).sum();
        assert!((sum - forecast.now.prediction.queries_per_s).abs() < 1e-6, "{json}");
        // Answers of 4,000 octets alone are truncated.
        let messages = &json["now"]["messages"];
        let (udp, tcp) = (messages["udp_per_s"].as_f64().unwrap(), messages["tcp_per_s"].as_f64().unwrap());
        let by_type: f64 =
            messages["by_type"].as_object().unwrap().values().map(|per_s| per_s.as_f64().unwrap()).sum();
        assert!((udp + tcp - by_type).abs() < 1e-6 && tcp > 0.0, "{json}");
        assert!((json["now"]["truncated"].as_f64().unwrap() - tcp / udp).abs() < 1e-9, "{json}");
        assert_eq!(json["peak"]["factor"], 2.0);
    }
}

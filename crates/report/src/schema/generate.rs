//! Makes the schema of the summary.
//!
//! What is counted is taken from the schema of the record, which is made from the types: a new counter is in both at
//! once. The frame around it is written here, beside the objects that it describes.

use dnsdyno_measure::{Group, Histogram, PERCENTILES, Tally, Visitor};
use dnsdyno_record::schema::run_schema;
use serde_json::{Map, Value, json};

use super::kinds::{
    closed, closed_object, count, counters, list_of, map_of, number, or_null, or_null_count, or_null_number,
    or_null_text, refer, text, with,
};

/// The schema of this version; [`SUMMARY_SCHEMA`](super::SUMMARY_SCHEMA) is its text.
pub fn summary_schema() -> Value {
    let record = run_schema()["$defs"].take();
    let counters = |name: &str| counters(&record[name]);
    let same = [
        "BackendInfo",
        "XdpInfo",
        "Check",
        "TlsCheck",
        "Ended",
        "Event",
        "Explanation",
        "InterfaceCounts",
        "Truncated",
        "TruncatedQuestion",
    ];
    let same = same.map(|name| (name, closed(record[name].clone())));
    let own = [
        ("Latency", closed_object(latency())),
        ("Durations", closed_object(with(latency(), json!({ "count": count("Durations.") })))),
        ("Percentile", percentile()),
        ("Bounds", closed_object(bounds())),
        ("Queries", closed_object(queries(&record))),
        ("Row", closed_object(row())),
        ("Told", closed_object(json!({ "name": text("For programs."), "text": text("For people.") }))),
        ("TypeCount", closed_object(counters("TypeCount"))),
        ("Encrypted", closed_object(counters("Encrypted"))),
        ("Anomalies", closed_object(with(counters("Anomalies"), packets()))),
        ("Connections", closed_object(with(counters("Connections"), retried()))),
        ("Fallback", closed_object(fallback(counters("Fallback")))),
        ("Member", closed_object(member(&record))),
        ("Agent", closed_object(agent(&record))),
        ("ReplayCounts", closed_object(counters("ReplayCounts"))),
        ("CaptureCounts", closed_object(counters("CaptureCounts"))),
        ("AnswerCounts", closed_object(counters("AnswerCounts"))),
        ("AnswerChecks", closed_object(counters("AnswerChecks"))),
        ("SendStamps", closed_object(counters("SendStamps"))),
        ("CachingClients", closed_object(with(counters("CachingClients"), hit_ratio()))),
        ("Worker", closed_object(with(counters("WorkerUse"), worker()))),
    ];
    let defs = same.into_iter().chain(own).map(|(name, schema)| (name.to_owned(), schema));
    let mut schema = frame();
    schema["$defs"] = defs.collect::<Map<_, _>>().into();
    schema
}

/// The object itself.
fn frame() -> Value {
    let properties = json!({
        "run": closed_object(run()),
        "complete": { "type": "boolean", "description": "Whether the record has its last line." },
        "in_progress": { "type": "boolean", "description": "Whether the run goes on: the writer of the record lives." },
        "torn": { "type": "boolean", "description": "Whether the record ends in the middle of a line." },
        "ended": or_null("Ended", "What ended the run; null where the record has no end."),
        "queries": refer("Queries", "How the queries ended."),
        "scheduled_qps": or_null_number("Queries due per second; null below 1 s or 100 queries."),
        "sent_qps": or_null_number("Queries sent per second."),
        "answered_qps": or_null_number("Queries answered in time per second."),
        "steps": steps(),
        "loss_share": or_null_number("0 to 1, of all queries except those interrupted or sent only."),
        "anomalies": refer("Anomalies", "Packets that ended no query, and truncated responses."),
        "bytes_sent": count("Bytes of DNS messages sent."),
        "bytes_answered": count("Bytes of DNS messages in responses."),
        "query_bytes_avg": or_null_count("Average size of a query, in bytes."),
        "query_bytes_max": count("Largest query, in bytes."),
        "response_bytes_avg": or_null_count("Average size of a response, in bytes."),
        "response_bytes_max": count("Largest response, in bytes."),
        "rcodes": map_of(count("Responses."), "Responses by name of RCODE."),
        "types": map_of(refer("TypeCount", "Queries of this type."), "Queries by name of type."),
        "headline": { "enum": ["response", "service"], "description": "The latency that is shown first." },
        "response": refer("Latency", "Response − intended instant."),
        "service": refer("Latency", "Response − actual send."),
        "lateness": refer("Latency", "Actual send − intended instant."),
        "rows": list_of("Row", "The phases of the load, or groups of intervals."),
        "events": list_of("Event", "The first hundred events."),
        "more_events": count("Further events."),
        "hints": list_of("Told", "Likely causes of figures."),
        "replay": or_null("ReplayCounts", "What was read from the capture; null where none was replayed."),
        "answer_checks": or_null(
            "AnswerChecks",
            "Answers, compared with those before the load; null where none were.",
        ),
        "answers": or_null("AnswerCounts", "Answers, compared with the recorded ones; null where none were."),
        "explanations": list_of("Explanation", "What was behind counted failures."),
        "generator": closed_object(generator()),
        "workers": list_of("Worker", "What each worker did."),
        "connections": or_null("Connections", "Connections; null over UDP."),
        "fallback": or_null("Fallback", "Queries that could be retried over TCP; null where none could."),
        "mix": {
            "type": ["array", "null"],
            "items": { "$ref": "#/$defs/Member" },
            "description": "One for each member, where there are several servers or transports; null without.",
        },
        "interface": or_null("InterfaceCounts", "Packets of the interface to the server; null where unknown."),
        "intervals": list_of("Row", "Each interval, in order."),
    });
    let mut schema = closed_object(with(with(with(properties, ours()), agents()), clients()));
    let optional = json!({
        "type": "array",
        "items": { "oneOf": [closed_object(expectation()), closed_object(expectation_of_each())] },
        "description": "What was expected of the run; absent where nothing was.",
    });
    schema["properties"]["expectations"] = optional;
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema".into();
    schema["$id"] = "https://dnsdyno.invalid/formats/summary.schema.json".into();
    schema["title"] = "The summary of a dnsdyno run".into();
    schema["description"] = "What `dnsdyno show --json` and `dnsdyno export json` print. Properties whose name \
                             ends in _ns are nanoseconds, instants since the start of the run. This is the schema of \
                             one version: later ones add properties."
        .into();
    schema
}

fn generator() -> Value {
    json!({
        "ok": {
            "type": ["boolean", "null"],
            "description": "Whether rate and loss are those of the server; null where the record has no end.",
        },
        "warnings": list_of("Told", "Why they may not be."),
        "notes": list_of("Told", "What the generator met that has moved no figure."),
    })
}

fn run() -> Value {
    json!({
        "run_id": text("Unique name of the run."),
        "name": or_null_text("The name that the user gave to the run."),
        "note": or_null_text("The user's comment."),
        "target": text("The server, as the user gave it."),
        "address": text("The address that the queries were sent to."),
        "transport": text("`udp`, or the name of another transport; `mix` where there are several."),
        "backend": refer("BackendInfo", "Sockets of the kernel, or AF_XDP."),
        "load": text("The load in words."),
        "send_only": { "type": "boolean", "description": "Whether the run did not wait for responses." },
        "started_unix_ns": count("The start by the wall clock, nanoseconds since 1970."),
        "duration_ns": count("Until the last query ended."),
        "schedule_ns": count("Time over which queries were due."),
        "interval_ns": count("Length of an interval."),
        "timeout_ns": count("Timeout of a query."),
        "workers": count("Threads."),
        "clients": count("Sockets, or clients with connections, over all workers."),
        "udp_sockets": or_null_count("UDP sockets, where there are clients with connections too."),
        "queries": count("Queries of one pass through the source."),
        "bad_lines": count("Malformed lines of the source, which were skipped."),
        "passes": or_null_number("Passes through the source; null where the record has no end."),
        "checks": list_of("Check", "What the server answered before the load."),
        "version": text("Version of the generator."),
        "command_line": {
            "type": "array",
            "items": { "type": "string" },
            "description": "As typed, with `(secret)` in the place of keys and credentials.",
        },
    })
}

fn steps() -> Value {
    let not_held = closed_object(json!({
        "asked_qps": number("The rate."),
        "loss_share": number("The share of its queries that was lost, 0 to 1."),
        "queue_growth_ns_per_s": or_null_count(
            "By how much the latency grew in each second, where that is a queue that grew; else null.",
        ),
    }));
    let steps = closed_object(json!({
        "held_from_qps": or_null_number("The lowest rate that was held; null where none was."),
        "held_to_qps": or_null_number("The highest rate up to which all were held."),
        "not_held": { "type": "array", "items": not_held, "description": "The rates that were not held." },
    }));
    json!({
        "anyOf": [steps, { "type": "null" }],
        "description": "Of a load with several rates: which of them were held.",
    })
}

/// Also of an interval.
fn row() -> Value {
    let own = json!({
        "phase": or_null_text("The label of the phase, where the row is one."),
        "index": count("Number of the first interval."),
        "from_ns": count("First instant."),
        "to_ns": count("First instant after it."),
        "covered_ns": count("Time of its intervals that the load covers: the divisor of rates."),
        "partial_intervals": count("Its intervals that lack the part of an agent: then its rates are null."),
        "asked_qps": or_null_number("Average scheduled rate; 0 in closed loop."),
        "sent_qps": or_null_number("Queries sent per second."),
        "answered_qps": or_null_number("Queries answered in time per second."),
        "loss_share": or_null_number("0 to 1; null where no query was due."),
        "queries": refer("Queries", "How the queries ended."),
        "bounds": refer("Bounds", "The two ends of each percentile."),
        "lost_ours": count("Lost queries that may be the generator's, at the most."),
        "lateness_p99": refer("Percentile", "p99 of actual send − intended instant."),
    });
    with(latency(), own)
}

/// The two ends of each percentile: as measured, and without what may be the generator's.
fn bounds() -> Value {
    let one = closed_object(json!({
        "upper": refer("Percentile", "As measured."),
        "lower": refer("Percentile", "What it would have been at least without the generator's part."),
        "ours_ns": or_null_count("The difference; null where only the upper end is beyond the timeout."),
        "wide": { "type": "boolean", "description": "Whether it is more than a quarter and more than 50 µs." },
    }));
    let mut properties = json!({});
    for (key, name, _) in PERCENTILES {
        properties[key] = json!({
            "anyOf": [one.clone(), { "type": "null" }],
            "description": format!("Those of {name}; null where too few queries are beyond it."),
        });
    }
    properties
}

/// What of the figures may be the generator's.
fn ours() -> Value {
    json!({
        "bounds": refer("Bounds", "The two ends of each percentile of the headline latency."),
        "lost_ours": count("Lost queries that may be the generator's, at the most."),
        "send_stamps": or_null("SendStamps", "When sampled queries have left this host; null where it is not known."),
        "own_share": own_share(),
    })
}

/// The generator's own share of a closed loop, or of a rate with a full window.
fn own_share() -> Value {
    let share = closed_object(json!({
        "least": number("At the least, 0 to 1."),
        "most": number("At the most."),
    }));
    json!({
        "anyOf": [share, { "type": "null" }],
        "description": "The part of their time that queries of a closed loop, or of a rate with a full window, \
                        were with the generator; else null.",
    })
}

/// A latency, unanswered queries included.
fn latency() -> Value {
    let mut properties = json!({
        "answered": count("Queries answered in time."),
        "unanswered": count("Queries without an answer in time: each took at least the timeout."),
        "min_ns": or_null_count("Shortest, exactly."),
        "avg_ns": or_null_count("Average of the answered queries."),
        "max": refer("Percentile", "Longest, exactly."),
    });
    for (key, name, _) in PERCENTILES {
        properties[key] = refer("Percentile", &format!("The {name} of all queries."));
    }
    properties
}

fn percentile() -> Value {
    let mut percentile = closed_object(json!({
        "ns": count("The latency; where it is among the queries without an answer in time, the timeout."),
        "beyond_timeout": { "type": "boolean", "description": "Whether it is among them: at least `ns`." },
    }));
    percentile["type"] = json!(["object", "null"]);
    percentile["description"] = "null where the number of queries does not carry it.".into();
    percentile
}

fn queries(record: &Value) -> Value {
    let properties = with(numbers_of_tally(&record["Interval"]["properties"]), ends(record));
    with(properties, json!({ "sent": count("Queries sent.") }))
}

/// How queries ended; those not sent together, and by reason.
fn ends(record: &Value) -> Value {
    let mut properties = counters(&record["Ends"]);
    let by_reason = properties["not_sent"].take();
    properties["not_sent"] = count("Queries that the generator did not send.");
    properties["not_sent_by_reason"] = by_reason;
    properties
}

/// The counters of a tally that are numbers of queries, with their descriptions in the schema of an interval.
fn numbers_of_tally(interval: &Value) -> Value {
    struct Numbers<'a>(&'a Value, Map<String, Value>);
    impl Visitor for Numbers<'_> {
        fn count(&mut self, key: &str, _: u64) {
            // Byte counts have their own keys in the summary.
            if !key.contains("bytes") {
                self.1.insert(key.to_owned(), self.0[key].clone());
            }
        }
        fn histogram(&mut self, _: &str, _: &Histogram) {}
        fn group(&mut self, _: &str, _: Option<&dyn Group>) {}
    }
    let mut numbers = Numbers(interval, Map::new());
    Tally::default().visit_each(&mut numbers);
    numbers.1.into()
}

fn packets() -> Value {
    json!({
        "socket_drops": count("Packets that the kernel dropped at our sockets."),
        "fragments": or_null_count("IP fragments of responses, under AF_XDP; null where the record has no end."),
    })
}

fn hit_ratio() -> Value {
    json!({ "hit_ratio": or_null_number("The part of the questions that a cache answered; null without any.") })
}

fn retried() -> Value {
    json!({ "retried": count("Requests that were retries of a query whose connection was lost.") })
}

fn fallback(mut counters: Value) -> Value {
    let reasons = counters["failed"]["properties"].take();
    let mut half = [Map::new(), Map::new()];
    for (key, schema) in reasons.as_object().into_iter().flatten() {
        let over_udp = key.strip_prefix("udp_");
        half[usize::from(over_udp.is_none())].insert(over_udp.unwrap_or(key).to_owned(), schema.clone());
    }
    if let Some(counters) = counters.as_object_mut() {
        counters.remove("failed");
    }
    let [over_udp, over_tcp] = half.map(|reasons| closed_object(reasons.into()));
    let own = json!({
        "udp_failed": over_udp,
        "tcp_failed": over_tcp,
        "share": or_null_number("The share of the transactions that was retried over TCP, 0 to 1."),
    });
    with(counters, own)
}

/// What clients asked for, and when most.
fn clients() -> Value {
    json!({
        "truncated": or_null("Truncated", "Which questions have fallen back to TCP; null where none has."),
        "peak": peak(),
        "clients_with_caches": clients_with_caches(),
    })
}

/// The busiest interval.
fn peak() -> Value {
    let peak = closed_object(json!({
        "from_ns": count("First instant."),
        "to_ns": count("First instant after it."),
        "requests": count("Messages sent; a query that fell back to TCP is two."),
        "requests_per_s": number("Messages sent per second."),
        "over_tcp": count("Of these, over TCP after a truncated response."),
        "types": map_of(count("Queries."), "Queries by name of type, without those of the fallback."),
    }));
    json!({
        "anyOf": [peak, { "type": "null" }],
        "description": "The interval with the most messages a second; null where nothing was sent.",
    })
}

/// Simulated clients.
fn clients_with_caches() -> Value {
    let clients = closed_object(json!({
        "all": refer("CachingClients", "All clients."),
        "kinds": map_of(refer("CachingClients", "The clients of a kind."), "By kind, where there are several."),
    }));
    json!({
        "anyOf": [clients, { "type": "null" }],
        "description": "Simulated clients with caches; null where the queries have another source.",
    })
}

/// Who made the load.
fn agents() -> Value {
    json!({
        "partial_intervals": count("Intervals that lack the part of an agent: then there are no rates."),
        "agents": {
            "type": ["array", "null"],
            "items": { "$ref": "#/$defs/Agent" },
            "description": "One for each agent, where several hosts or processes made the load; null without.",
        },
        "start": start(),
    })
}

fn agent(record: &Value) -> Value {
    let own = json!({
        "name": text("Its name, unique in the run."),
        "host": text("The name by which its host calls itself."),
        "version": text("Version of dnsdyno there."),
        "kernel": text("The kernel there."),
        "cpus": count("CPUs that it may use."),
        "workers": count("Its workers: its share of the load is their share of all."),
        "first_worker": count("The first of them, from 0 on."),
        "clock_offset_ns": {
            "type": ["integer", "null"],
            "description": "Its clock less the coordinator's; null where they were not compared.",
        },
        "clock_bound_ns": or_null_count("How wrong that can be."),
        "clock_offset_after_ns": { "type": ["integer", "null"], "description": "The same after the run." },
        "first_send_late_ns": or_null_count("How late its first query left, by its own clock."),
        "lost": or_null_text("Why it was lost, or its part is not whole."),
        "missing_intervals": or_null_count("Intervals without its part; null where the record has no end."),
        "warnings": list_of("Told", "Its own doubts of its figures."),
        "scheduled": count("Its queries due."),
        "sent": count("Its queries sent."),
        "loss_share": or_null_number("0 to 1."),
        "response": refer("Latency", "Response − intended instant."),
        "service": refer("Latency", "Response − actual send."),
    });
    with(ends(record), own)
}

/// How far apart the agents have started.
fn start() -> Value {
    let start = closed_object(json!({
        "spread_ns": count("Between the earliest and the latest first query."),
        "bound_ns": or_null_count("How wrong that can be; null where the clocks were not compared."),
    }));
    json!({
        "anyOf": [start, { "type": "null" }],
        "description": "How far apart the agents have started; null where that is not known.",
    })
}

fn member(record: &Value) -> Value {
    let own = json!({
        "name": text("Its name: the server, where members differ by that only."),
        "transport": text("The name of its transport."),
        "server": text("The server as the user gave it; empty in older records."),
        "address": text("The address that its queries were sent to."),
        "share_asked": number("Its configured share of the queries, 0 to 1."),
        "share_sent": or_null_number("Its share of those sent."),
        "scheduled": count("Queries due over it."),
        "sent": count("Queries sent over it."),
        "loss_share": or_null_number("0 to 1."),
        "response": refer("Latency", "Response − intended instant."),
        "service": refer("Latency", "Response − actual send."),
    });
    with(ends(record), own)
}

fn worker() -> Value {
    json!({
        "sent_qps": or_null_number("Queries sent per second."),
        "answered_qps": or_null_number("Queries answered in time per second."),
        "cpu_share": or_null_number("CPU time as a share of the run."),
        "cpu_wait_share": or_null_number("Time that it waited for a CPU, as a share of the run."),
    })
}

fn expectation() -> Value {
    json!({
        "expectation": text("As given."),
        "measured": text("The figure, in words."),
        "outcome": outcome("What came of it."),
        "passed": { "type": "boolean", "description": "Whether it was met." },
    })
}

fn expectation_of_each() -> Value {
    let missed = closed_object(json!({
        "label": or_null_text("The step, where it has a name."),
        "from_ns": count("Its first instant."),
        "to_ns": count("The instant after its last."),
        "measured": text("Its figure, in words."),
        "outcome": outcome("What came of it there."),
    }));
    json!({
        "expectation": text("As given."),
        "each": { "enum": ["step", "interval"], "description": "What the parts are." },
        "judged": count("Parts judged."),
        "missed": count("Parts that did not meet it."),
        "undecided": count("Parts of which the run does not say whether they met it."),
        "cut_short": count("Parts that were cut short, with too few queries to be judged."),
        "first_missed": { "type": "array", "items": missed, "description": "The first that may have missed it." },
        "outcome": outcome("What came of it in all parts."),
        "passed": { "type": "boolean", "description": "Whether each part met it." },
    })
}

/// Undecided: what was measured depends on the generator's part in it.
fn outcome(description: &str) -> Value {
    json!({ "enum": ["met", "not_met", "undecided"], "description": description })
}

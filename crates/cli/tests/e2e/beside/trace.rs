//! The trace of a run: read by the JSON reader of Python, and compared with the record and with what the server did.

use std::net::UdpSocket;
use std::process::Command;

use dnsdyno_responder::{Config, Faults, Responder, Rule};
use rustix::process::Signal;

use crate::support::{Workplace, may_unshare, responder};

/// What a reader that is not ours finds in a trace: checks the format, the order of the instants, and that what belongs
/// together has begun and ended; prints the number of queries, those with a stamp, with a connect, and with a retry.
const READER: &str = r#"
import json, sys
with open(sys.argv[1]) as file:
    trace = json.load(file)
assert set(trace) == {"displayTimeUnit", "traceEvents", "otherData"}, set(trace)
open_parts, queries, names, instants = {}, {}, {}, {}
for event in trace["traceEvents"]:
    phase = event["ph"]
    assert isinstance(event["name"], str) and event["pid"] == 1 and isinstance(event["tid"], int), event
    if phase == "M":
        assert event["name"] in ("process_name", "thread_name") and event["args"]["name"], event
        continue
    assert phase in "ben" and event["cat"] == "query" and event["ts"] >= 0, event
    query = int(event["id"], 16)
    if phase == "n":
        instants.setdefault(query, []).append((event["name"], event["args"]["at_ns"]))
        continue
    stack = open_parts.setdefault(query, [])
    if phase == "b":
        stack.append((event["name"], event["ts"]))
        names.setdefault(query, []).append(event["name"])
        if "args" in event:
            assert query not in queries, "a query twice"
            queries[query] = event["args"]
    else:
        name, begun = stack.pop()
        assert name == event["name"] and begun <= event["ts"], (name, begun, event)
assert not any(open_parts.values())
assert trace["otherData"]["queries"] == len(queries), trace["otherData"]
for number, query in queries.items():
    assert query["number"] == number
    times = ["due_ns", "sent_ns", "truncated_ns", "sent_over_tcp_ns", "received_ns", "ended_ns"]
    times = [query[name] for name in times if name in query]
    assert times == sorted(times), query
    if query["end"] == "answered":
        assert query["response_ns"] == query["received_ns"] - query["due_ns"], query
        assert query["service_ns"] == query["received_ns"] - query["sent_ns"], query
    for name, at in instants.get(number, []):
        if name == "departed":
            # The clocks are read one after the other.
            assert query["sent_ns"] <= at <= query.get("received_ns", at) + 2_000, (query, at)
        else:
            assert query["due_ns"] <= at <= query["ended_ns"], (query, at)
of = lambda name: sum(1 for query in queries if any(one == name for one, _ in instants.get(query, [])))
connected = sum(1 for query in queries if "connect" in names[query])
handshaken = sum(1 for query in queries if "handshake" in names[query])
fell_back = sum(1 for query in queries.values() if "sent_over_tcp_ns" in query)
ends = sorted({query["end"] for query in queries.values()})
print(len(queries), of("departed"), of("retried"), connected, handshaken, fell_back, ",".join(ends))
"#;

/// Queries, those with a stamp of the kernel, retried ones, those that waited for a connection, for a handshake, those
/// that fell back, and the words of their ends.
struct Read {
    queries: u64,
    departed: u64,
    retried: u64,
    connected: u64,
    handshaken: u64,
    fell_back: u64,
    ends: String,
}

fn read(work: &Workplace, file: &str) -> Read {
    let ran = Command::new("python3").arg("-c").arg(READER).arg(work.path(file)).output().unwrap();
    let said = String::from_utf8_lossy(&ran.stdout).into_owned();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    let words: Vec<&str> = said.split_whitespace().collect();
    let number = |at: usize| words[at].parse().unwrap();
    Read {
        queries: number(0),
        departed: number(1),
        retried: number(2),
        connected: number(3),
        handshaken: number(4),
        fell_back: number(5),
        // Of no query, where none is in the file.
        ends: words.get(6).map_or_else(String::new, |ends| (*ends).to_owned()),
    }
}

#[test]
fn one_query_of_each_ten_is_traced_with_the_stamp_of_the_kernel() {
    let work = Workplace::with_queries();
    let server = responder(Faults { loss: "5%".parse().unwrap(), ..Faults::default() });
    let run = format!("run -s {} -d q.txt --rate 2k --for 1s -t 200ms", server.address());
    let ran = work.dnsdyno(&format!("{run} --trace 1/10 -o run")).gives(0);
    ran.says(&["200 queries traced in ", "run/trace.json"]);
    let Read { queries, departed, ends, .. } = read(&work, "run/trace.json");
    assert_eq!(queries, 200);
    assert!(ends.starts_with("answered,") && ends.ends_with("timed_out"), "{ends}");
    assert!(departed > 100, "{departed}");
    assert_eq!(work.record("run").tally().scheduled, 2_000);

    work.dnsdyno(&format!("{run} --trace 1/1 --trace-file all.json --count 300 -o all")).gives(0);
    assert_eq!(read(&work, "all.json").queries, 300);
    assert!(!work.has("all/trace.json"));
}

#[test]
fn the_trace_of_all_queries_has_the_ends_and_latencies_of_the_record() {
    let work = Workplace::with_queries();
    let server = responder(Faults { delay: Some("exp:2ms".parse().unwrap()), ..Faults::default() });
    work.dnsdyno(&format!("run -s {} -d q.txt --rate 1k --for 1s --trace 1/1 -o run", server.address()))
        .gives(0);
    let text = work.read("run/trace.json");
    let trace: serde_json::Value = serde_json::from_str(&text).unwrap();
    let events = trace["traceEvents"].as_array().unwrap();
    let response_ns = events.iter().filter_map(|event| event["args"]["response_ns"].as_u64());
    let (mut count, mut sum, mut least, mut most) = (0, 0u128, u64::MAX, 0);
    for ns in response_ns {
        (count, sum, least, most) = (count + 1, sum + u128::from(ns), least.min(ns), most.max(ns));
    }
    let exact = work.record("run").tally().response.exact().unwrap();
    assert_eq!((count, sum, least, most), (1_000, exact.sum_ns, exact.min_ns, exact.max_ns));
}

#[test]
fn connections_handshakes_retries_and_fallbacks_are_in_the_trace() {
    let work = Workplace::with_queries();
    let closing = responder(Faults { close_after: Some(20), ..Faults::default() });
    let tcp = "--transport tcp --clients 2 --outstanding 40 --count 2000 --trace 1/1";
    work.dnsdyno(&format!("run -s {} -d q.txt {tcp} -o tcp", closing.address())).gives(0);
    let of_tcp = read(&work, "tcp/trace.json");
    assert_eq!((of_tcp.queries, of_tcp.departed, of_tcp.handshaken), (2_000, 0, 0));
    let retried: u64 = work.record("tcp").tally().retried;
    assert!(retried > 0 && of_tcp.connected > 10, "{retried} {}", of_tcp.connected);
    assert!(of_tcp.retried > 0 && of_tcp.retried <= retried, "{} of {retried}", of_tcp.retried);

    let falling = "--transport udp+tcp --rate 500 --count 200 --trace 1/2";
    let rule = Rule::Truncate(Box::default());
    let truncating = Responder::start(Config { rule, ..Config::default() }).unwrap();
    work.dnsdyno(&format!("run -s {} -d q.txt {falling} -o fallback", truncating.address())).gives(0);
    let of_fallback = read(&work, "fallback/trace.json");
    assert_eq!((of_fallback.queries, of_fallback.fell_back), (100, 100));
    assert!(of_fallback.connected > 50, "{}", of_fallback.connected);
}

#[test]
fn the_file_is_whole_after_ctrl_c_and_after_kill() {
    let work = Workplace::with_queries();
    let server = responder(Faults::default());
    let run = format!("run -s {} -d q.txt --rate 5k --for 60s --trace 1/5 --trace-file", server.address());
    let mut stopped = work.start(&format!("{run} stopped.json -o stopped"));
    let has_some = |file: &str| work.has(file) && work.read(file).contains("answered");
    stopped.until("queries are traced", || has_some("stopped.json"));
    stopped.signal(Signal::INT);
    stopped.wait().gives(130);
    let scheduled = work.record("stopped").tally().scheduled;
    let traced = read(&work, "stopped.json").queries;
    assert!((scheduled / 5..=scheduled / 5 + 1).contains(&traced), "{traced} of {scheduled}");

    let mut killed = work.start(&format!("{run} killed.json -o killed"));
    killed.until("queries are traced", || has_some("killed.json"));
    killed.signal(Signal::KILL);
    killed.wait().dies_of(Signal::KILL);
    assert!(read(&work, "killed.json").queries > 0);
}

#[test]
fn a_full_disk_is_told_and_leaves_a_file_that_can_be_read() {
    if !may_unshare("-m") {
        return;
    }
    let work = Workplace::with_queries();
    let server = responder(Faults::default());
    let script = format!(
        "mkdir full && mount -t tmpfs -o size=256k none full; \
         \"$0\" run -s {} -d q.txt --rate 5k --for 1s --trace 1/1 --trace-file full/trace.json -o run; code=$?; \
         cp full/trace.json kept.json; exit $code",
        server.address()
    );
    let ran = work.shell_apart("-m", &script).gives(0);
    ran.says(&["the trace ", "full/trace.json ends early, with ", "No space left", " lost"]);
    let queries = read(&work, "kept.json").queries;
    assert!(queries < 5_000, "{queries}");
    assert_eq!(work.record("run").tally().ends.answered, 5_000, "the run went on to its end");
}

#[test]
fn a_trace_that_cannot_be_written_is_told_before_anything_is_sent() {
    let work = Workplace::with_queries();
    let server = Responder::start(Config::default()).unwrap();
    let run = format!("run -s {} -d q.txt --count 10 --trace 1/1 --trace-file", server.address());
    work.dnsdyno(&format!("{run} none/trace.json -o run"))
        .ends_refused(3, &["cannot write the trace to ", "none/trace.json", "No such file", "--trace-file"]);
    assert_eq!(server.book().udp.counts.received, 0);
}

#[test]
fn a_flood_is_traced_without_ends() {
    let work = Workplace::with_queries();
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let run = format!("run -s {} -d q.txt --send-only --rate 1k --count 500", socket.local_addr().unwrap());
    work.dnsdyno(&format!("{run} --trace 1/5 -o run")).gives(0);
    let Read { queries, ends, .. } = read(&work, "run/trace.json");
    assert_eq!((queries, ends.as_str()), (100, "sent"));
}

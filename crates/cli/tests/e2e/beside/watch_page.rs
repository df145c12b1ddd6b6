//! What is watched, without a load, on the page, and in exports. This host can be watched wherever the tests run.

use dnsdyno_record::Ended;
use dnsdyno_responder::Faults;
use rustix::process::Signal;
use serde_json::Value;

use crate::support::{Workplace, responder};

#[test]
fn watching_alone_keeps_a_record_that_is_shown_reported_and_exported() {
    let work = Workplace::new();
    let lines = work.dnsdyno("watch host --for 600ms --interval 200ms --plain -o quiet").gives(0).stdout;
    assert!(lines.contains("this host"), "{lines}");
    let digest = work.record("quiet");
    assert_eq!((digest.intervals, digest.ended(), digest.tally().scheduled), (3, Some(&Ended::ByTime), 0));
    let totals = digest.watched()[0].as_ref().unwrap();
    let rose = |name: &str| {
        let intervals = work.intervals("quiet");
        let rises = intervals.iter().flat_map(|interval| interval.watched[0].as_ref());
        rises.map(|samples| samples.counter(name)).sum::<u64>()
    };
    for name in ["cpu.user_ns", "context_switches", "interrupts"] {
        assert_eq!(totals.counter(name), rose(name), "{name}");
    }
    let shown = work.dnsdyno("show quiet").gives(0).stdout;
    for words in ["load       none: nothing was sent", "watched    this host", "ran        0.6 s"] {
        assert!(shown.contains(words), "no {words:?} in:\n{shown}");
    }
    work.dnsdyno("report quiet --out quiet.html").gives(0);
    let page = work.read("quiet.html");
    assert!(
        page.contains("Nothing was sent; 1 source was watched for 0.6 s.") && page.contains("watched.0.")
    );
    let csv = work.dnsdyno("export csv quiet").gives(0).stdout;
    let titles: Vec<_> = csv.lines().next().unwrap().split(',').collect();
    let column = titles.iter().position(|title| *title == "watched_0_context_switches").unwrap();
    let cells = csv.lines().skip(1).map(|line| line.split(',').nth(column).unwrap().parse::<u64>().unwrap());
    assert_eq!(cells.sum::<u64>(), totals.counter("context_switches"));
}

#[test]
fn each_interval_is_an_object_and_the_last_one_has_the_sums() {
    let work = Workplace::new();
    let text = work.dnsdyno("watch host --for 400ms --interval 200ms --json").gives(0).stdout;
    let objects: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let [first, intervals @ .., last] = &objects[..] else { panic!("{text}") };
    assert_eq!(first["watched"][0]["kind"], "host");
    let of = |object: &Value, name: &str| object["watched"][0]["counters"][name].as_u64().unwrap_or(0);
    let intervals: Vec<_> = intervals.iter().filter(|object| object.get("index").is_some()).collect();
    assert_eq!(intervals.len(), 2);
    let sum: u64 = intervals.iter().map(|object| of(object, "context_switches")).sum();
    assert_eq!(of(&last["sum"], "context_switches"), sum);
}

#[test]
fn a_signal_ends_it_and_the_record_is_complete() {
    let work = Workplace::new();
    let mut watching = work.start("watch host --interval 100ms --plain -o quiet");
    watching.until("a record", || work.has("quiet/run.ndjson"));
    watching.signal(Signal::INT);
    watching.wait().gives(130);
    let digest = work.record("quiet");
    assert!(digest.is_complete() && digest.ended() == Some(&Ended::Interrupted));
}

#[test]
fn the_page_of_a_run_has_what_was_watched_under_its_queries() {
    let work = Workplace::with_queries();
    let server = responder(Faults::default());
    let run = format!("run -s {} -d q.txt --rate 500 --for 600ms --interval 200ms", server.address());
    work.dnsdyno(&format!("{run} --watch host --quiet -o run")).gives(0);
    assert!(work.record("run").watched()[0].is_some());
    work.dnsdyno("report run --out run.html").gives(0);
    let page = work.read("run.html");
    assert!(
        page.contains("\"label\":\"this host\"") && page.contains("\"column\":\"watched.0."),
        "{page:.400}"
    );
}

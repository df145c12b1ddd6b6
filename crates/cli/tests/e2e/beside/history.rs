//! `dnsdyno history` from the command line: steps of real runs, gates and their exit codes, accepted steps, the index.

use std::fs;
use std::sync::OnceLock;
use std::time::Duration;

use dnsdyno_responder::{Delay, Faults};
use jsonschema::Validator;
use serde_json::{Value, json};

use crate::support::{Ran, Workplace, responder};

/// Searches, of which those from `from` on have another limit; the noise is about 1 %.
fn searches(work: &Workplace, runs: usize, from: usize, factor: f64) {
    let noise = [0.004, -0.009, 0.011, 0.002, -0.003, -0.012, 0.007];
    for run in 0..runs {
        let limit = 50_000.0 * (1.0 + noise[run * 5 % 7]) * if run < from { 1.0 } else { factor };
        let found = json!({
            "format": 1, "answer": "", "method": "search", "unit": "qps", "criteria": ["loss<0.1%"],
            "outcome": { "kind": "capacity", "load": limit, "from": limit * 0.98, "to": limit * 1.02 },
            "notes": [], "trials": [], "cut_off": 0, "belief": [],
        });
        // The trials of a search say when it was made; without them its entry is not judged.
        let folder = format!("runs/{run:03}");
        fs::create_dir_all(work.path(&format!("{folder}/runs"))).unwrap();
        let first = work.path(&format!("{folder}/runs/001"));
        fs::create_dir_all(&first).unwrap();
        for file in ["plan.toml", "host.json"] {
            fs::copy(work.path("one").join(file), first.join(file)).unwrap();
        }
        let record = work.read("one/run.ndjson");
        let rest = record.split_once(STARTED).unwrap().1;
        let started: String = rest.chars().take_while(char::is_ascii_digit).collect();
        let later = (started.parse::<u64>().unwrap() + run as u64 * 1_000_000_000).to_string();
        fs::write(first.join("run.ndjson"), record.replacen(&started, &later, 1)).unwrap();
        fs::write(work.path(&folder).join("find.json"), found.to_string()).unwrap();
    }
}

/// A workplace with searches below `runs`.
fn with_searches(runs: usize, from: usize, factor: f64) -> Workplace {
    let work = Workplace::with_queries();
    let server = responder(Faults::default());
    work.dnsdyno(&format!("run -s {} -d q.txt --rate 200 --for 200ms --quiet -o one", server.address()))
        .gives(0);
    searches(&work, runs, from, factor);
    work
}

/// The history as JSON, which follows its schema.
#[track_caller]
fn json_of(ran: &Ran) -> Value {
    static SCHEMA: OnceLock<Validator> = OnceLock::new();
    let schema = SCHEMA.get_or_init(|| {
        let text = include_str!("../../../../../docs/formats/history.schema.json");
        jsonschema::validator_for(&serde_json::from_str(text).unwrap()).unwrap()
    });
    let history: Value = serde_json::from_str(&ran.stdout).unwrap();
    let errors: Vec<_> = schema.iter_errors(&history).map(|error| error.to_string()).collect();
    assert!(errors.is_empty(), "{errors:?}");
    history
}

#[test]
fn a_server_that_becomes_slower_is_a_step_at_its_run() {
    let work = Workplace::with_queries();
    for (delay_ms, runs, version) in [(20, 0..8, "1.0"), (60, 8..14, "1.1")] {
        let delay = Delay::Fixed(Duration::from_millis(delay_ms));
        let server = responder(Faults { delay: Some(delay), ..Faults::default() });
        for run in runs {
            let words = format!(
                "run -s {} -d q.txt --rate 200 --for 200ms --quiet --note version={version} -o runs/{run:02}",
                server.address()
            );
            // Whether it is in doubt is not asked here.
            work.dnsdyno(&words).gives(0);
        }
    }
    // Each responder has a port of its own: without a watched server, that is another server.
    let history = json_of(&work.dnsdyno("history runs --json").gives(0));
    assert_eq!(history["rows"].as_array().unwrap().len(), 2, "{history:#}");
    let differs = history["rows"][0]["differs"].as_object().unwrap();
    assert_eq!(differs.keys().collect::<Vec<_>>(), ["server"]);
    let labelled = json_of(&work.dnsdyno("history runs --label version=1.1 --json").gives(0));
    assert_eq!(labelled["rows"][0]["runs"].as_array().unwrap().len(), 6);
    assert_eq!(labelled["rows"][0]["runs"][0]["labels"]["version"], "1.1");
    let p50 = |of: &Value| {
        let metrics = of["rows"][0]["metrics"].as_array().unwrap().clone();
        let p50 = metrics.into_iter().find(|metric| metric["metric"] == "p50").unwrap();
        p50["figures"][0]["value"].as_f64().unwrap()
    };
    assert!(p50(&labelled) >= 60e6, "in nanoseconds, and not below the delay");
}

#[test]
fn gates_have_exit_codes_and_an_accepted_step_is_no_regression() {
    let work = with_searches(24, 16, 0.9);
    let text = work.dnsdyno("history runs").gives(0).stdout;
    assert!(text.contains("step -") && text.contains("from 016") && text.contains("1 step worse"), "{text}");
    let ran =
        work.dnsdyno("history runs --gate limit=5% --junit junit.xml --page history.html --json").gives(1);
    let history = json_of(&ran);
    assert_eq!(history["gates"][0]["state"], "exceeded");
    assert_eq!(history["rows"][0]["metrics"][0]["steps"][0]["began"], "016");
    assert!(work.read("junit.xml").contains("<failure message=\"exceeded: -"));
    let page = work.read("history.html");
    assert!(page.contains("<a href=\"runs/016/\"") && page.contains("class=\"step worse\""));
    work.dnsdyno("history runs --gate limit=20%").gives(0);
    // What was never measured, and what so few runs cannot say.
    work.dnsdyno("history runs --gate p99=5%").gives(2);
    let noisy = work.dnsdyno("history runs --gate limit=0.1% --gate limit=20%").gives(1).stdout;
    assert!(noisy.contains("exceeded: limit=0.1%") && noisy.contains("kept: limit=20%"), "{noisy}");

    let accepted =
        work.shell("\"$0\" history runs --accept runs/016 'one thread less' --gate limit=5% --markdown");
    let accepted = accepted.gives(0).stdout;
    assert!(
        accepted.contains("accepted: one thread less") && accepted.contains("kept: limit=5%"),
        "{accepted}"
    );
    // It stays accepted.
    work.dnsdyno("history runs --gate limit=5%").gives(0);
}

#[test]
fn the_newest_run_alone_is_not_judged_where_it_may_be_disturbed() {
    let work = with_searches(20, 19, 0.9);
    let text = work.dnsdyno("history runs --gate limit=5%").gives(2).stdout;
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("not judged: limit=5%") && text.contains("2 more runs would tell"), "{text}");
}

#[test]
fn the_index_is_beside_the_records_and_renewed_where_one_has_changed() {
    let work = with_searches(12, 12, 1.0);
    work.dnsdyno("history runs --no-index").gives(0);
    assert!(!work.has("runs/.dnsdyno-history.ndjson"));
    let first = work.dnsdyno("history runs --json").gives(0).stdout;
    assert!(work.has("runs/.dnsdyno-history.ndjson"));
    assert_eq!(work.dnsdyno("history runs --json").gives(0).stdout, first, "the same with it");
    let found = work.read("runs/003/find.json");
    let mut changed: Value = serde_json::from_str(&found).unwrap();
    changed["outcome"]["load"] = json!(123_456.0);
    work.write("runs/003/find.json", changed.to_string());
    let after = json_of(&work.dnsdyno("history runs --json").gives(0));
    assert_eq!(after["rows"][0]["metrics"][0]["figures"][3]["value"], 123_456.0);
}

#[test]
fn what_is_no_history_is_refused_with_what_to_do() {
    let work = Workplace::new();
    fs::create_dir(work.path("empty")).unwrap();
    for (words, says) in [
        ("history nowhere", "name a folder that holds runs"),
        ("history empty", "there is no run, search or experiment in empty"),
        ("history empty --gate rate=5", "is not a gate: write METRIC=BOUND%"),
        ("history empty --gate speed=5%", "limit, rate, loss, p50, p95, p99, cpu"),
        ("history empty --accept nothing reason", "is no run in empty"),
        ("history empty --accept ../empty reason", "is no run in empty"),
    ] {
        let ran = work.dnsdyno(words).gives(2);
        assert!(ran.stderr.contains(says), "{words}: {}", ran.stderr);
    }
    // A gate without runs is not judged, and does not pass.
    work.dnsdyno("history empty --gate rate=5%").gives(2);
}

const STARTED: &str = "\"started_unix_ns\":";

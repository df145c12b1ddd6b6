//! The limit of a server: found, resumed, refused; against the responder held to a known limit.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use dnsdyno_lab::within_tries;
use dnsdyno_responder::{Config, Delay, Faults, Responder, Rule, Share, Transport, Zone};
use rustix::process::Signal;
use serde_json::Value;

use crate::support::{Workplace, may_unshare, responder};

/// A server that answers 2,000 queries a second, and holds a tenth of a second of them.
fn of_2000() -> Faults {
    Faults { limit: Some("2k".parse().unwrap()), ..Faults::default() }
}

/// Short trials, so that the test is short: what they find is not the point, but that it is true.
const SHORT: &str = "--trial 1s --rest 0 --from 1k --least 1k --timeout 1s --while loss<1% --while p99<150ms";

fn result(work: &Workplace, folder: &str) -> Value {
    serde_json::from_str(&work.read(&format!("{folder}/find.json"))).unwrap()
}

#[test]
fn the_limit_of_a_server_is_found_or_a_bound_that_is_true() {
    let work = Workplace::with_queries();
    let server = responder(of_2000());
    let ran = work.dnsdyno(&format!(
        "find -s {} -d q.txt {SHORT} --precision 10% --trials 20 --most 20k -o f",
        server.address()
    ));
    let found = result(&work, "f");
    let outcome = &found["outcome"];
    let number = |key: &str| outcome[key].as_f64().unwrap();
    // On a busy host trials may be undecided, or one be failed by the host: then the limit is lower, never
    // higher than the server's own.
    match outcome["kind"].as_str().unwrap() {
        "capacity" => {
            assert!(number("from") < 2_200.0, "{outcome}");
            assert_eq!(ran.code(), Some(0));
            assert!(
                ran.stdout.contains("capacity ") && ran.stdout.contains(" qps, 95 %: "),
                "{}",
                ran.stdout
            );
        }
        "at_least" => {
            assert!(number("load") < 2_200.0, "{outcome}");
            assert_eq!(ran.code(), Some(1));
        }
        "unstable" | "undecided" | "not_met" => assert_eq!(ran.code(), Some(1)),
        other => panic!("{other}"),
    }
    // No trial well above the limit has passed.
    for trial in found["trials"].as_array().unwrap() {
        let load = trial["load"].as_f64().unwrap();
        assert!(load < 2_400.0 || trial["verdict"] != "passed", "{trial}");
        assert!(work.has(&format!("f/runs/{:03}/run.ndjson", trial["number"].as_u64().unwrap())), "{trial}");
    }
}

#[test]
fn a_search_has_a_page_with_its_answer_and_links_to_its_trials() {
    let work = Workplace::with_queries();
    let server = responder(Faults::default());
    // A stair: one run, whose steps are few and known.
    let words = "--method stair --from 200 --most 600 --step 200 --hold 1s --while p50<2s --quiet";
    work.dnsdyno(&format!("find -s {} -d q.txt {words} -o f", server.address()));
    let found = result(&work, "f");
    assert_eq!(found["trials"].as_array().unwrap().len(), 3, "{found}");
    let ran = work.dnsdyno("report f").gives(0);
    assert_eq!((ran.stdout.as_str(), ran.stderr.as_str()), ("f/report.html\n", ""));
    let page = work.read("f/report.html");
    assert!(page.contains(&format!("The limit of {}", server.address())), "its server, with the port");
    assert_eq!(page.matches("<a href=\"runs/001/\">").count(), 3, "each step leads to the run");
    assert!(!page.contains("<script"));
    // The run may have a page of its own, which is better than its folder.
    work.dnsdyno("report f/runs/001").gives(0);
    work.dnsdyno("report f").gives(0);
    assert!(work.read("f/report.html").contains("<a href=\"runs/001/report.html\">"));
    // Elsewhere, the links would lead nowhere.
    work.dnsdyno("report f -o page.html --title mine").gives(0);
    let page = work.read("page.html");
    assert!(page.contains("<title>mine</title>") && !page.contains("<a href="));
    work.dnsdyno("report f f/runs/001")
        .ends_refused(2, &["f is a search, which has a page of its own", "f/runs"]);
    std::fs::write(work.path("f/find.json"), "{}").unwrap();
    work.dnsdyno("report f").ends_refused(2, &["f/find.json is not the result of a search"]);
    std::fs::remove_file(work.path("f/find.json")).unwrap();
    work.dnsdyno("report f").ends_refused(2, &["f is not a run: its runs are in f/runs"]);
}

#[test]
fn a_search_that_was_killed_goes_on_where_it_was() {
    let work = Workplace::with_queries();
    let server = responder(Faults::default());
    let words = format!(
        "find -s {} -d q.txt --trial 500ms --rest 0 --from 2k --least 2k --most 6k --while loss<50% --while \
         p50<1s --trials 12 -o f",
        server.address()
    );
    let mut first = work.start(&words);
    first.until("a run has ended", || {
        work.has("f/journal.ndjson") && work.read("f/journal.ndjson").contains("{\"ended\":1}")
    });
    first.signal(Signal::KILL);
    drop(first);
    let ended = work.read("f/journal.ndjson").matches("{\"ended\":").count();
    let ran = work.dnsdyno(&words);
    assert!(ran.stderr.contains("resumed after"), "{}", ran.stderr);
    let journal = work.read("f/journal.ndjson");
    for run in 1..=ended {
        let began = journal.matches(&format!("{{\"began\":{run},")).count();
        assert_eq!(began, 1, "run {run} had ended, and was made again: {journal}");
    }
    assert!(result(&work, "f")["trials"].as_array().unwrap().len() >= ended);
    let other = work.dnsdyno(&words.replace("500ms", "600ms"));
    assert!(other.stderr.contains("holds another campaign"), "{}", other.stderr);
    assert_eq!(other.code(), Some(2));
}

#[test]
fn ctrl_c_tells_the_command_to_go_on_with() {
    let work = Workplace::with_queries();
    let server = responder(Faults::default());
    let mut search = work.start(&format!("find -s {} -d q.txt --trial 2s --from 500 -o f", server.address()));
    search.until("a run has begun", || work.has("f/runs/001/run.ndjson"));
    search.signal(Signal::INT);
    let ran = search.wait();
    assert_eq!(ran.code(), Some(130), "{}", ran.stderr);
    assert!(ran.stderr.contains("to resume: ") && ran.stderr.contains("find -s"), "{}", ran.stderr);
    assert!(!work.has("f/find.json"));
}

#[test]
fn criteria_that_no_load_meets_are_told_with_the_lowest_load() {
    let work = Workplace::with_queries();
    let delay = Some(Delay::Fixed(Duration::from_millis(30)));
    let server = responder(Faults { delay, ..Faults::default() });
    let ran = work.dnsdyno(&format!(
        "find -s {} -d q.txt --while p50<20ms --trial 1s --rest 0 --from 2k --least 1k -o f --quiet",
        server.address()
    ));
    assert_eq!(ran.code(), Some(1), "{}", ran.stderr);
    let kind = result(&work, "f")["outcome"]["kind"].as_str().unwrap().to_owned();
    assert!(kind == "not_met" || kind == "undecided", "{kind}");
    if kind == "not_met" {
        assert!(ran.stdout.contains("not met at the lowest load of 1,000 qps: p50<20ms"), "{}", ran.stdout);
    }
}

#[test]
fn a_dead_server_is_told_before_any_load() {
    let work = Workplace::with_queries();
    let server = responder(Faults::default());
    let address = server.address();
    server.stop();
    let ran = work.checked(&format!("find -s {address} -d q.txt -o f"));
    assert_eq!(ran.code(), Some(3), "{}", ran.stderr);
    assert!(ran.stderr.contains("to resume: "), "{}", ran.stderr);
}

#[test]
fn the_bounds_of_goals_are_found_in_the_terms_of_rfc_9971_and_no_load_above_the_limit_is_a_lower_one() {
    let work = Workplace::with_queries();
    let server = responder(of_2000());
    let ran = work.dnsdyno(&format!(
        "find -s {} -d q.txt --method mlrsearch --timeout 1s --rest 0 --from 500 --least 100 --most 20k \
         --trials 60 -o f --goal few:loss<=2%,1s,sum=1s,width=20% --goal many:loss<=10%,1s,sum=1s,width=20%",
        server.address()
    ));
    assert!(matches!(ran.code(), Some(0 | 1)), "{}", ran.stderr);
    let found = result(&work, "f");
    assert_eq!(
        (&found["method"], &found["mlrsearch"]["rfc"]),
        (&Value::from("mlrsearch"), &Value::from(9971))
    );
    let goals = found["mlrsearch"]["goals"].as_array().unwrap();
    let all_regular = goals.iter().all(|goal| goal["result"] == "regular");
    assert_eq!(ran.code(), Some(if all_regular { 0 } else { 1 }), "{found}");
    assert_eq!(goals.len(), 2, "{found}");
    for (goal, loss_ratio) in goals.iter().zip([0.02, 0.1]) {
        assert_eq!(goal["goal_loss_ratio"], loss_ratio, "{goal}");
        // It answers 2,000 a second, and holds a tenth of a second of them: 2,200 of a trial of one second. On a busy
        // host a bound is lower, never higher.
        let highest = 2_400.0 / (1.0 - loss_ratio);
        let lower = goal["relevant_lower_bound"].as_f64();
        assert!(lower.is_none_or(|lower| lower <= highest), "{goal}");
        let throughput = goal["conditional_throughput_answers_qps"].as_f64();
        assert!(throughput.is_none_or(|answers| answers <= 2_400.0), "{goal}");
        if goal["result"] == "regular" {
            assert!(goal["width"].as_f64().unwrap() <= 0.2, "{goal}");
            assert!(lower.unwrap() < goal["relevant_upper_bound"].as_f64().unwrap(), "{goal}");
        }
    }
    assert!(
        ran.stdout.contains("few: loss<=2.00 %: ") && ran.stdout.contains("Goal Result: "),
        "{}",
        ran.stdout
    );
    // The page has the result of each goal.
    work.dnsdyno("report f").gives(0);
    assert!(work.read("f/report.html").contains("Relevant Lower Bound"));
    let refused = work.dnsdyno("find -s 127.0.0.1:9 -d q.txt --method mlrsearch --goal a:p99<5ms");
    refused.ends_refused(2, &["judges the loss ratio only"]);
}

#[test]
fn a_dry_run_says_how_long_and_does_nothing() {
    let work = Workplace::with_queries();
    let ran = work.dnsdyno("find -s 127.0.0.1:9 -d q.txt --while p99.9<5ms --dry-run -o f");
    assert_eq!(ran.code(), Some(0), "{}", ran.stderr);
    assert!(ran.stdout.contains("the criteria need 10,000 queries in each"), "{}", ran.stdout);
    assert!(!work.has("f"));
    // Short trials do not raise the first load without a word.
    let ran = work.dnsdyno("find -s 127.0.0.1:9 -d q.txt --while loss<0.1% --trial 1s --dry-run");
    let told = "loss<0.1% needs 10,000 queries, and 500 more, which may be missing by chance: below 10,500 qps a trial \
                is longer than 1 s";
    assert!(ran.stdout.contains("first 1,000 qps") && ran.stdout.contains(told), "{}", ran.stdout);
}

#[test]
fn a_stair_a_ramp_and_a_ladder_of_windows_end_with_their_result() {
    let work = Workplace::with_queries();
    let server = responder(of_2000());
    let of = |words: &str, folder: &str| {
        let ran =
            work.dnsdyno(&format!("find -s {} -d q.txt --timeout 1s {words} -o {folder}", server.address()));
        assert!(matches!(ran.code(), Some(0 | 1)), "{}", ran.stderr);
        result(&work, folder)
    };
    let stair = of("--method stair --from 1k --most 4k --step 1k --hold 1s --while loss<1%", "stair");
    assert_eq!(stair["trials"].as_array().unwrap().len(), 4, "{stair}");
    let load = stair["outcome"]["load"].as_f64().unwrap_or(0.0);
    assert!(load <= 2_000.0, "{stair}");
    // Its steps are of one run.
    let diagnosed = work.dnsdyno("diagnose stair").gives(0).stdout;
    assert!(diagnosed.contains("runs/001"), "{diagnosed}");
    let ramp = of("--method ramp --most 4k --over 3s --while loss<1%", "ramp");
    assert_eq!(ramp["method"], "ramp");
    assert!(ramp["outcome"]["load"].as_f64().unwrap_or(0.0) < 3_000.0, "{ramp}");
    let window = of("--method window --most 100 --trial 500ms --rest 0 --while p99<1s", "window");
    let trials = window["trials"].as_array().unwrap();
    assert!(trials.len() >= 3, "{window}");
    assert!(trials.iter().all(|trial| trial["answered_qps"].as_f64().unwrap() < 2_400.0), "{window}");
}

#[test]
fn the_searches_of_the_rfcs_state_median_and_percentiles_and_what_is_not_by_the_book() {
    let work = Workplace::with_queries();
    // A queue of a hundredth of a second: what it holds is little of a trial.
    let (limit, limit_queue) = (Some(LIMIT.parse().unwrap()), Some(Duration::from_millis(10)));
    let server = responder(Faults { limit, limit_queue, ..Faults::default() });
    for (method, rfc) in [("rfc2544", "RFC 2544"), ("rfc8219", "RFC 8219")] {
        let ran = work.dnsdyno(&format!(
            "find -s {} -d q.txt --method {method} --trial 500ms --rest 0 --repeats 2 --precision 5% --from 2k --least \
             2k --most 16k --timeout 500ms -o {method}",
            server.address()
        ));
        let found = result(&work, method);
        let outcome = &found["outcome"];
        match outcome["kind"].as_str().unwrap() {
            "capacity" => {
                assert_eq!((ran.code(), &outcome["interval"]), (Some(0), &"percentiles_1_99".into()));
                assert!(outcome["to"].as_f64().unwrap() < 4_400.0, "{outcome}");
            }
            // The host is busy.
            "at_least" | "not_met" | "undecided" => assert_eq!(ran.code(), Some(1)),
            other => panic!("{other}"),
        }
        assert!(
            ran.stdout.contains(&format!("{rfc}: trials of 500 ms instead of 60 s, 2 repeats")),
            "{ran:?}"
        );
        assert_eq!(found["criteria"][0], "loss=0");
    }
}

/// Twice the lowest load that the search of the RFCs begins with.
const LIMIT: &str = "4k";

#[test]
fn a_limit_of_the_generator_is_never_called_the_servers() {
    within_tries(3, "connections that are all busy", |_| {
        let work = Workplace::with_queries();
        let delay = Some(Delay::Fixed(Duration::from_millis(20)));
        let server = responder(Faults { delay, ..Faults::default() });
        // Forty clients of one query per connection and 20 ms: 2,000 queries a second, and the server has no limit.
        let ran = work.dnsdyno(&format!(
            "find -s {} -d q.txt --transport tcp --queries-per-connection 1 --clients 40 --while loss<50% --while \
             p50<2s --trial 1s --rest 0 --from 1k --least 1k --most 16k --trials 12 --timeout 2s -o f",
            server.address()
        ));
        let outcome = &result(&work, "f")["outcome"];
        assert_ne!(outcome["kind"], "capacity", "{outcome}");
        let is_bound = outcome["kind"] == "at_least" && outcome["why"] == "generator";
        match is_bound && outcome["load"].as_f64().unwrap() < 2_400.0 {
            true => {
                assert_eq!(ran.code(), Some(1));
                assert!(ran.stdout.starts_with("capacity at least "), "{ran:?}");
                assert!(ran.stdout.contains("clients_busy"), "{ran:?}");
                Ok(())
            }
            false => Err(format!("{outcome}")),
        }
    });
}

#[test]
fn a_trial_that_ends_early_because_it_has_failed_does_not_end_the_search() {
    let work = Workplace::with_queries();
    let server = responder(Faults { loss: Share::new(0.3).unwrap(), ..Faults::default() });
    let ran = work.dnsdyno(&format!(
        "find -s {} -d q.txt --timeout 300ms --while loss<1% --from 200 --least 200 --most 400 --trial 500ms --rest 0 \
         --trials 10 -o f",
        server.address()
    ));
    assert_eq!(ran.code(), Some(1), "{}", ran.stderr);
    let found = result(&work, "f");
    assert_eq!(found["outcome"]["kind"], "not_met", "{found:#}");
    let trials = found["trials"].as_array().unwrap();
    assert!(trials.len() > 1, "{found:#}");
    let lasted = trials.iter().map(|trial| trial["lasted_ns"].as_u64().unwrap());
    // A thousand queries for `loss<1%` are five seconds.
    assert!(lasted.min() < Some(4_000_000_000), "none has ended early: {found:#}");
}

#[test]
fn connections_per_second_and_clients_held_are_what_is_varied() {
    let work = Workplace::with_queries();
    let server = responder(Faults::default());
    let of = |words: &str, folder: &str| {
        let ran = work.dnsdyno(&format!(
            "find -s {} -d q.txt --transport tcp --while loss<50% --while p50<2s --rest 0 --trials 10 \
            {words} -o {folder}",
            server.address()
        ));
        assert!(matches!(ran.code(), Some(0 | 1)), "{}", ran.stderr);
        result(&work, folder)
    };
    let connections = of("--find connections --trial 1s --from 1k --least 1k --most 1k", "connections");
    assert_eq!(connections["unit"], "connections/s");
    let record = work.record("connections/runs/001");
    let opened = record.arrivals().connections.as_deref().unwrap().established;
    assert!(opened >= record.tally().ends.answered, "{opened}: one query each");
    let clients =
        of("--find clients --per-client 10 --trial 2s --from 100 --least 100 --most 100", "clients");
    assert_eq!(clients["unit"], "clients");
    let record = work.record("clients/runs/001");
    assert_eq!(
        (record.header.clients, record.tally().scheduled),
        (100, 2_000),
        "100 clients, 10 queries a second each"
    );
}

#[test]
fn a_search_over_encrypted_connections_is_a_search() {
    let work = Workplace::with_queries();
    let free = vec!["127.0.0.1:0".parse().unwrap()];
    let config =
        Config { dot: free.clone(), doh: free.clone(), doq: free.clone(), doh3: free, ..Config::default() };
    let server = Responder::start(config).unwrap_or_else(|error| panic!("{error}"));
    work.write("ca.pem", server.trust_pem().unwrap());
    let transports = [Transport::Dot, Transport::Doh, Transport::Doq, Transport::Doh3];
    for (name, transport) in transports.map(|transport| (transport.key(), transport)) {
        let address = server.addresses_of(transport)[0];
        let ran = work.dnsdyno(&format!(
            "find -s {address} -d q.txt --transport {name} --ca ca.pem --while loss<50% --while p50<2s --trial 1s \
             --rest 0 --from 1k --least 1k --most 1k --trials 10 -o {name}"
        ));
        assert!(matches!(ran.code(), Some(0 | 1)), "{ran:?}");
        let found = result(&work, name);
        let kind = &found["outcome"]["kind"];
        assert!(kind == "at_least" || kind == "undecided", "{found}");
        assert_eq!(work.record(&format!("{name}/runs/001")).header.transport, name);
    }
}

#[test]
fn answers_with_errors_are_told_unless_a_criterion_judges_them() {
    let work = Workplace::with_queries();
    work.write("half.txt", "www.example A\nwww.elsewhere A\n");
    let zone = "example. 60 SOA ns.example. host.example. 1 60 60 60 60\nwww.example. 60 A 192.0.2.1\n";
    let zone = Zone::parse(zone.as_bytes(), Path::new("zone"), None).unwrap();
    let server = Responder::start(Config { rule: Rule::Zone(Arc::new(zone)), ..Config::default() }).unwrap();
    let words = format!(
        "find -s {} -d half.txt --while loss<50% --while p50<2s --trial 1s --rest 0 --from 1k --least 1k --most 1k \
         --trials 10",
        server.address()
    );
    let told = work.dnsdyno(&format!("{words} -o told"));
    let judged = work.dnsdyno(&format!("{words} --while refused<=60% -o judged"));
    let has_note = |folder: &str| {
        let notes = result(&work, folder)["notes"].clone();
        notes.as_array().unwrap().iter().any(|note| note["kind"] == "errors")
    };
    // Without a trial that passed there is nothing to tell.
    if result(&work, "told")["outcome"]["kind"] == "at_least" {
        assert!(has_note("told") && told.stdout.contains("SERVFAIL or REFUSED"), "{told:?}");
    }
    assert!(!has_note("judged"), "{judged:?}");
}

#[test]
fn a_server_that_dies_is_asked_again_and_the_search_can_be_resumed() {
    dies("");
}

#[test]
fn agents_ask_a_server_that_dies_again() {
    dies(" --on local:1");
}

/// A search during which the server dies, until it is stopped.
fn dies(options: &str) {
    let work = Workplace::with_queries();
    let server = responder(Faults::default());
    let words = format!(
        "find -s {} -d q.txt --trial 1s --rest 0 --from 1k --least 1k --while loss<50% -o f{options}",
        server.address()
    );
    let mut search = work.start(&words);
    search.until("a run has ended", || {
        work.has("f/journal.ndjson") && work.read("f/journal.ndjson").contains("{\"ended\":1}")
    });
    server.stop();
    search.until("the server is asked again", || work.stderr().contains("asking again"));
    search.signal(Signal::INT);
    let ran = search.wait();
    assert_eq!(ran.code(), Some(130), "{ran:?}");
    assert!(ran.stderr.contains("to resume: ") && !work.has("f/find.json"), "{ran:?}");
}

#[test]
fn a_full_disk_ends_it_and_with_space_it_is_resumed() {
    if !may_unshare("--mount") {
        return;
    }
    let work = Workplace::with_queries();
    let server = responder(Faults::default());
    let words = format!(
        "find -s {} -d q.txt --trial 1s --rest 0 --from 1k --least 1k --most 1k --trials 10 --while 'loss<50%' --quiet \
         -o full/f",
        server.address()
    );
    let ran = work.shell_apart(
        "--mount",
        &format!(
            "mkdir full && mount -t tmpfs -o size=12k none full && \"$0\" {words}; echo \"first $?\"; \
             mount -o remount,size=50m full && \"$0\" {words}"
        ),
    );
    assert_eq!(ran.code(), Some(1), "{ran:?}");
    let ran = ran.says(&["what was measured is kept; to resume: ", "No space left on device"]);
    assert!(ran.stdout.contains("first 3\n") && ran.stdout.contains("result: full/f/find.json"), "{ran:?}");
}

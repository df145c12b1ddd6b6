//! What a run is judged by: expectations on steps, conditions that end it, answers at all; and the signals, each with
//! its end in the record and its exit code.

use dnsdyno_record::Ended;
use dnsdyno_responder::{Faults, Share};
use rustix::process::Signal;
use serde_json::Value;

use crate::support::{Workplace, responder};

/// A server that leaves this share of the queries unanswered.
fn losing(share: f64) -> Faults {
    Faults { loss: Share::new(share).unwrap(), seed: 1, ..Faults::default() }
}

#[test]
fn a_condition_ends_a_run_as_a_decision_and_not_as_a_failure() {
    let work = Workplace::new();
    let server = responder(losing(0.5));
    let ran = work
        .shell(&format!(
            "exec \"$0\" run -s {} --ask www.example --rate 200 --for 50s --timeout 100ms --interval 100ms -o run \
             --stop-when 'p50>60s' --stop-when 'loss>1% for 300ms'",
            server.address()
        ))
        .gives(0)
        .says(&["stopping (`loss>1% for 300ms` holds): waiting for outstanding queries"]);
    assert!(ran.stdout.contains("ended by the condition loss>1% for 300ms"), "{}", ran.stdout);
    let record = work.record("run");
    assert_eq!(record.ended(), Some(&Ended::ByCondition { condition: "loss>1% for 300ms".into() }));
    assert!(record.intervals >= 3 && record.tally().scheduled < 10_000, "{}", record.intervals);
    assert_eq!(record.events.iter().filter(|event| event.kind == "condition").count(), 1);
}

#[test]
fn an_expectation_on_each_step_names_the_steps_that_did_not_meet_it() {
    let work = Workplace::new();
    let server = responder(Faults::default());
    let run = format!(
        "run -s {} --ask www.example --stair 100..300 --step 100 --hold 500ms --quiet",
        server.address()
    );
    let met = work.dnsdyno(&format!("{run} -o met --expect-each loss<1% --expect loss=0")).gives(0);
    assert!(met.stdout.contains("\nmet      each loss<1%  (in each of 3 steps)\n"), "{}", met.stdout);
    let not = work.dnsdyno(&format!("{run} -o not --expect-each sent_rate<150")).gives(1);
    assert!(not.stdout.contains("\nNOT MET  each sent_rate<150  (in 2 of 3 steps)\n"), "{}", not.stdout);
    assert!(not.stdout.contains("step 300 (1 s to 1.5 s): 300/s"), "{}", not.stdout);
    // The record gives the same outcome, also as JSON.
    let shown = work.dnsdyno("show not --expect-each sent_rate<150").gives(1);
    assert!(not.stdout.starts_with(&shown.stdout), "{}\n{}", not.stdout, shown.stdout);
    let json = work.dnsdyno("show not --json --expect-each sent_rate<150").gives(1);
    let json: Value = serde_json::from_str(&json.stdout).unwrap();
    assert_eq!(json["expectations"][0]["first_missed"][1]["label"], "300");
    assert_eq!(
        (&json["expectations"][0]["missed"], &json["expectations"][0]["judged"]),
        (&2.into(), &3.into())
    );
}

#[test]
fn a_plan_keeps_its_expectations_so_that_a_run_repeats_as_a_test() {
    let work = Workplace::new();
    let server = responder(Faults::default());
    let run = format!("run -s {} --ask www.example --rate 200 --count 20 --quiet", server.address());
    work.dnsdyno(&format!("{run} -o first --expect p50>100s --expect-each loss=0")).gives(1);
    let again = work.dnsdyno("run --plan first/plan.toml -o again --quiet").gives(1);
    assert!(
        again.stdout.contains("NOT MET  p50>100s") && again.stdout.contains("each loss=0"),
        "{}",
        again.stdout
    );
    // Those of the command line replace them.
    work.dnsdyno("run --plan first/plan.toml -o other --quiet --expect loss=0").gives(0);
}

#[test]
fn a_run_without_answers_fails_unless_that_was_expected_or_none_was_awaited() {
    let work = Workplace::new();
    let server = responder(losing(1.0));
    let run =
        format!("run -s {} --ask www.example --rate 200 --count 20 --timeout 50ms --quiet", server.address());
    let failed = work.dnsdyno(&format!("{run} -o failed")).gives(1);
    assert!(
        failed.stdout.contains("\nFAILED: none of 20 queries was answered in time (exit code 1)\n"),
        "{}",
        failed.stdout
    );
    work.dnsdyno(&format!("{run} -o expected --expect loss=100%")).gives(0);
    work.dnsdyno(&format!("{run} -o other --expect generator=ok --expect duplicates=0")).gives(1);
    work.dnsdyno(&format!("run -s {} --ask a --rate 200 --count 20 --send-only -o sent", server.address()))
        .gives(0);
    work.dnsdyno("show failed").gives(0);
}

#[test]
fn an_expectation_that_our_part_may_decide_is_undecided_with_a_code_of_its_own() {
    let work = Workplace::new();
    let server = responder(Faults::default());
    let run = format!("run -s {} --ask www.example --rate 2k --for 1s --quiet", server.address());
    work.dnsdyno(&format!("{run} -o run")).gives(0);
    let shown: Value = serde_json::from_str(&work.dnsdyno("show run --json").gives(0).stdout).unwrap();
    let end = |end: &str| shown["bounds"]["p50"][end]["ns"].as_u64().unwrap();
    let between_ns = (end("lower") + end("upper")) / 2;
    assert!(end("lower") < between_ns && between_ns < end("upper"), "no query leaves at its very instant");
    let undecided = work.dnsdyno(&format!("show run --expect p50<{between_ns}ns")).gives(5);
    let line = format!("\nundecided  p50<{between_ns}ns  (");
    assert!(undecided.stdout.contains(&line), "{}", undecided.stdout);
    assert!(undecided.stdout.contains(" of it ours)\n"), "{}", undecided.stdout);
    let upward = work.dnsdyno(&format!("show run --json --expect p50>{between_ns}ns")).gives(5);
    let upward: Value = serde_json::from_str(&upward.stdout).unwrap();
    let of_upward = &upward["expectations"][0];
    assert_eq!((&of_upward["outcome"], &of_upward["passed"]), (&"undecided".into(), &false.into()));
    // What is not met for certain counts first.
    work.dnsdyno(&format!("show run --expect p50<{between_ns}ns --expect p50>100s")).gives(1);
    work.dnsdyno(&format!("show run run --expect p50<{between_ns}ns")).gives(5);
}

#[test]
fn a_percentile_with_too_few_queries_is_refused_before_the_load_or_not_met() {
    let work = Workplace::new();
    let server = responder(Faults::default());
    let run = format!("run -s {} --ask www.example --quiet", server.address());
    for (more, needed) in [
        ("--count 50 --expect p99<5s", "p99 needs 1,000 queries, and the run has 50 at the most"),
        ("--passes 2 --expect p50<5s", "p50 needs 20 queries, and the run has 2 at the most"),
        ("--rate 100 --for 9s --stop-when p99>1s", "an interval of 1s has 100 at the most"),
    ] {
        work.dnsdyno(&format!("{run} {more} -o refused")).ends_refused(2, &[needed]);
    }
    assert!(!work.has("refused"), "nothing was sent");
    assert_eq!(server.book().udp.counts.received, 0);
    work.dnsdyno(&format!("{run} --count 50 -o run")).gives(0);
    let shown = work.dnsdyno("show run --expect p99<5s --expect p50<5s").gives(1);
    let line = "NOT MET  p99<5s  (not measured: p99 needs 1,000 queries, 50 were judged)\n";
    assert!(shown.stdout.contains(line), "{}", shown.stdout);
}

#[test]
fn sigterm_and_sighup_end_a_run_under_their_own_names_and_codes() {
    let work = Workplace::new();
    let server = responder(Faults::default());
    let ends = [
        (Signal::TERM, 143, Ended::Terminated, "SIGTERM", "terminate"),
        (Signal::HUP, 129, Ended::HungUp, "SIGHUP", "hang_up"),
        (Signal::INT, 130, Ended::Interrupted, "the user", "interrupt"),
    ];
    for (signal, code, ended, by, kind) in ends {
        let words =
            format!("run -s {} --ask a --rate 200 --for 50s --interval 100ms -o {kind}", server.address());
        let mut run = work.start(&words);
        run.until("two intervals settle", || work.intervals(kind).len() >= 2);
        run.signal(signal);
        let ran = run.wait().gives(code).says(&[&format!("stopping (stopped by {by}): waiting")]);
        assert!(ran.stdout.contains(&format!(", ended by {by}")), "{}", ran.stdout);
        let record = work.record(kind);
        assert_eq!(record.ended(), Some(&ended));
        assert_eq!(record.events.iter().filter(|event| event.kind == kind).count(), 1, "{:?}", record.events);
    }
}

#[test]
fn sighup_stays_ignored_where_it_was_at_the_start() {
    let work = Workplace::new();
    let server = responder(Faults::default());
    let script = format!(
        "trap '' HUP\n\"$0\" run -s {} --ask a --rate 200 --count 200 --interval 100ms -o run --quiet &\n\
         until grep -q stats_periodic run/run.ndjson 2> /dev/null; do sleep 0.02; done\n\
         kill -HUP $!\nwait $!",
        server.address()
    );
    work.shell(&script).gives(0);
    assert_eq!(work.record("run").ended(), Some(&Ended::ByCount));
}

#[test]
fn sigusr1_prints_the_state_and_the_run_goes_on() {
    let work = Workplace::new();
    let server = responder(Faults::default());
    let words =
        format!("run -s {} --ask a --rate 200 --for 50s --interval 100ms -o run --quiet", server.address());
    let mut run = work.start(&words);
    run.until("two intervals settle", || work.intervals("run").len() >= 2);
    run.signal(Signal::USR1);
    run.until("it prints its state", || work.stderr().contains("response time"));
    let before = work.intervals("run").len();
    run.until("it goes on", || work.intervals("run").len() >= before + 2);
    assert!(work.stderr().contains("IN PROGRESS"), "{}", work.stderr());
    run.signal(Signal::INT);
    run.wait().gives(130);
}

#[test]
fn a_folder_that_holds_runs_gets_another_one_named_in_utc() {
    let work = Workplace::new();
    let server = responder(Faults::default());
    let run = format!("run -s {} --ask a --rate 200 --count 20 --quiet", server.address());
    for folder in ["runs/first", "runs", "runs/"] {
        work.dnsdyno(&format!("{run} -o {folder}")).gives(0);
    }
    work.dnsdyno(&run).gives(0);
    let mut names: Vec<String> = std::fs::read_dir(work.path("runs"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name != "first")
        .collect();
    names.sort();
    assert_eq!(names.len(), 3, "{names:?}");
    // 2026-11-22T10-31-05Z, and with a number where two start in one second.
    assert!(names.iter().all(|name| &name[10..11] == "T" && &name[19..20] == "Z"), "{names:?}");
    work.dnsdyno(&format!("{run} -o runs/first")).ends_refused(3, &["a run is never overwritten"]);
}

#[test]
fn runs_with_the_same_queries_have_the_same_hash_whatever_the_seed() {
    let work = Workplace::with_queries();
    let server = responder(Faults::default());
    let hash = |words: &str, name: &str| {
        let run = format!("run -s {} {words} -q 10 --count 20 --quiet -o {name}", server.address());
        work.dnsdyno(&run).gives(0);
        work.record(name).header.queries_hash.unwrap()
    };
    let first = hash("-d q.txt --seed 1", "first");
    assert_eq!(first, hash("-d q.txt --seed 2", "second"));
    assert_ne!(first, hash("-d q.txt --edns-size 1232", "edns"));
}

#[test]
fn internationalized_names_are_told_and_sent_as_a_labels() {
    let work = Workplace::new();
    work.write("q.txt", "bücher.example A\nwww.example A\n");
    let server = responder(Faults::default());
    work.dnsdyno(&format!("run -s {} -d q.txt -n 5 -Q 500 -o run", server.address()))
        .gives(0)
        .says(&["1 internationalized name is sent with A-labels, the first `bücher.example` as \
         `xn--bcher-kva.example`"]);
    assert_eq!(work.record("run").tally().ends.answered, 10, "two names, five passes");
}

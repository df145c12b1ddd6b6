//! Answers that are checked under load, held against those before it: what is falsified is counted to the unit, and
//! what only changes is never called wrong.

use std::collections::BTreeSet;

use dnsdyno_lab::{ServerOptions, example_queries};
use dnsdyno_measure::AnswerChecks;
use dnsdyno_responder::{Config, Faults, Responder, Running};
use rustix::process::Signal;

use crate::support::{Workplace, real_server};

/// A responder with one socket.
fn responder(faults: Faults) -> Running {
    Responder::start(Config { threads: 1, faults, ..Config::default() }).unwrap()
}

fn checks(work: &Workplace, record: &str) -> AnswerChecks {
    work.record(record).sum.and_then(|sum| sum.answer_checks).expect("a run that checks its answers")
}

/// How often each question is asked where there are few.
const PASSES: u64 = 8;

#[test]
fn each_falsified_answer_is_an_end_of_its_own_and_no_other_is() {
    let work = Workplace::with_queries();
    let text = String::from_utf8_lossy(example_queries().as_ref()).into_owned();
    let questions: BTreeSet<_> = text.lines().filter(|line| !line.starts_with(';')).collect();
    let different = questions.len() as u64;
    for transport in ["udp", "tcp"] {
        let wrong_answer = "3%".parse().unwrap();
        let server =
            responder(Faults { wrong_answer, wrong_answer_after: PASSES * different, ..Faults::default() });
        let run = format!("run -s {} -d q.txt -m {transport} --rate 4k --count 8k", server.address());
        let ran = work.dnsdyno(&format!("{run} --check-answers --expect wrong<1% -o {transport}")).gives(1);
        let book = server.stop();
        let side = if transport == "udp" { book.udp } else { book.tcp };
        let digest = work.record(transport);
        let (ends, checks) = (digest.tally().ends, checks(&work, transport));
        let falsified = side.counts.wrong_answers;
        assert!(falsified > 150, "{falsified}");
        assert_eq!((ends.answered, ends.answered_wrong, ends.total()), (8_000 - falsified, falsified, 8_000));
        assert_eq!((checks.right, checks.wrong, checks.not_checked()), (8_000 - falsified, falsified, 0));
        assert_eq!((checks.questions, checks.questions_known), (different, different));
        // A wrong answer is none: it is lost, and beyond the timeout.
        assert_eq!(digest.tally().response.count(), ends.answered);
        assert_eq!(digest.tally().response_latency().count(), 8_000);
        assert_eq!(digest.tally().rcodes.total(), 8_000);
        assert!(ran.stdout.contains("answered wrongly"), "{}", ran.stdout);
        assert!(ran.stdout.contains("NOT MET  wrong<1%"), "{}", ran.stdout);
        let shown = work.dnsdyno(&format!("show {transport} --json")).gives(0);
        let shown: serde_json::Value = serde_json::from_str(&shown.stdout).unwrap();
        assert_eq!(shown["answer_checks"]["wrong"], falsified);
        assert_eq!(shown["queries"]["answered_wrong"], falsified);
        let sum = work.read(&format!("{transport}/run.ndjson"));
        let sum: serde_json::Value = serde_json::from_str(sum.lines().last().unwrap()).unwrap();
        assert_eq!(sum["conn_info"]["packets_received"], 8_000, "{sum}");
        let told = work.dnsdyno(&format!("diagnose {transport}"));
        let words = format!("the {} queries without a right answer", dnsdyno_text::units::count(falsified));
        let told = told.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(told.contains(&words), "{told}");
    }
}

#[test]
fn without_the_option_nothing_is_asked_before_the_load_and_nothing_is_wrong() {
    let work = Workplace::with_queries();
    let server = responder(Faults { wrong_answer: "50%".parse().unwrap(), ..Faults::default() });
    work.dnsdyno(&format!("run -s {} -d q.txt --rate 2k --count 1k -o run", server.address())).gives(0);
    let digest = work.record("run");
    assert_eq!((digest.tally().ends.answered, digest.sum.unwrap().answer_checks), (1_000, None));
    assert_eq!(server.book().udp.counts.received, 1_000);
}

#[test]
fn an_answer_that_changes_before_the_load_is_not_checked_and_never_wrong() {
    let work = Workplace::new();
    let server = responder(Faults { wrong_answer: "50%".parse().unwrap(), ..Faults::default() });
    let run = format!("run -s {} --ask www.example --rate 2k --count 1k --check-answers", server.address());
    let ran = work.dnsdyno(&format!("{run} -o run")).gives(0);
    ran.says(&[
        "1 question",
        "8 times each before the load",
        "1 got answers that change, which are not checked",
    ]);
    let checks = checks(&work, "run");
    assert_eq!((checks.questions_changing, checks.not_checked_changing, checks.wrong), (1, 1_000, 0));
    assert_eq!(work.record("run").tally().ends.answered, 1_000);
    assert_eq!(server.book().udp.counts.received, 1_000 + PASSES);
}

#[test]
fn questions_beyond_the_time_are_told_and_not_checked() {
    let work = Workplace::new();
    work.write("names.txt", (0..100).map(|i| format!("h{i}.example A\n")).collect::<String>());
    let server = responder(Faults::default());
    let run = format!("run -s {} -d names.txt --rate 2k --count 1k --check-answers", server.address());
    work.dnsdyno(&format!("{run} --first-pass-rate 100 --first-pass-for 500ms -o run"))
        .gives(0)
        .says(&["25 questions 2 times each", "75 were not asked"]);
    let checks = checks(&work, "run");
    assert_eq!((checks.questions, checks.questions_known, checks.questions_not_asked), (100, 25, 75));
    assert_eq!((checks.right, checks.not_checked_not_asked), (250, 750));

    let silent = responder(Faults { loss: "100%".parse().unwrap(), ..Faults::default() });
    let run = format!(
        "run -s {} --ask www.example --rate 100 --count 20 -t 100ms --check-answers",
        silent.address()
    );
    work.dnsdyno(&format!("{run} -o silent")).gives(1).says(&["1 got none, and are not checked"]);
}

#[test]
fn questions_that_are_made_when_they_are_sent_are_refused() {
    let work = Workplace::new();
    let server = responder(Faults::default());
    let run =
        format!("run -s {} --ask {{rand:8}}.example --count 10 --check-answers -o run", server.address());
    work.dnsdyno(&run).ends_refused(2, &["questions that are known before the load", "placeholders"]);
}

#[test]
fn no_answer_of_nsd_is_wrong() {
    let work = Workplace::with_queries();
    let Some(server) = real_server("nsd", &ServerOptions::default()) else { return };
    let run =
        format!("run -s {} -d q.txt --edns-size 1232 --rate 4k --count 8k --check-answers", server.address());
    work.dnsdyno(&format!("{run} -o run")).gives(0);
    let checks = checks(&work, "run");
    assert_eq!((checks.wrong, work.record("run").tally().ends.answered), (0, 8_000));
    assert_eq!(checks.right + checks.not_checked(), 8_000);
    assert!(checks.right > 7_000, "{checks:?}");
}

/// BIND that anyone may change the zone of, with this order of records.
fn bind(order: &str) -> ServerOptions {
    let values = [
        ("more_options".to_owned(), format!("rrset-order {{ order {order}; }};")),
        ("zone_options".to_owned(), "allow-update { any; };".to_owned()),
    ];
    ServerOptions { values: values.into(), ..ServerOptions::default() }
}

#[test]
fn no_answer_of_bind_is_wrong_whose_records_are_in_random_or_rotating_order() {
    for order in ["random", "cyclic"] {
        let work = Workplace::new();
        let Some(server) = real_server("bind", &bind(order)) else { return };
        let records: String = (1..=12).map(|i| format!("add many 60 A 192.0.2.{i}\n")).collect();
        work.write("u.txt", format!("dyno.example\n{records}send\n"));
        let address = server.address();
        work.dnsdyno(&format!("run -s {address} -d u.txt --queries-format updates --rate 10 --count 1 -o u"))
            .gives(0);
        let run = format!("run -s {address} --ask many.dyno.example --rate 2k --count 4k --check-answers");
        work.dnsdyno(&format!("{run} -o run")).gives(0);
        let checks = checks(&work, "run");
        assert_eq!((checks.right, checks.wrong, checks.not_checked()), (4_000, 0, 0), "{order}");
        assert!(work.record("run").tally().response_bytes_max > 12 * 16, "{order}");
    }
}

#[test]
fn an_update_during_the_run_makes_wrong_answers_from_then_on() {
    let work = Workplace::new();
    let Some(server) = real_server("bind", &bind("none")) else { return };
    let address = server.address();
    work.write("names.txt", "www.dyno.example A\nmail.dyno.example A\n");
    work.write("u.txt", "dyno.example\ndelete www A\nadd www 60 A 192.0.2.81\nsend\n");
    let run =
        format!("run -s {address} -d names.txt --rate 1k --for 60s --interval 100ms --check-answers -o run");
    let mut running = work.start(&run);
    let wrong =
        || work.intervals("run").iter().map(|interval| interval.tally.ends.answered_wrong).sum::<u64>();
    running.until("some intervals", || work.has("run/run.ndjson") && work.intervals("run").len() > 5);
    assert_eq!(wrong(), 0);
    // In a workplace of its own: the output of the run stays.
    let update = std::process::Command::new(crate::support::DNSDYNO)
        .current_dir(work.path(""))
        .args(["run", "--no-check", "-s", &address.to_string(), "-d", "u.txt", "--queries-format", "updates"])
        .args(["--rate", "10", "--count", "1", "-o", "update"])
        .output()
        .unwrap();
    assert!(update.status.success(), "{}", String::from_utf8_lossy(&update.stderr));
    running.until("wrong answers", || wrong() > 50);
    running.signal(Signal::INT);
    running.wait().gives(130);
    let (digest, checks) = (work.record("run"), checks(&work, "run"));
    let ends = digest.tally().ends;
    assert_eq!((checks.wrong, checks.right, checks.not_checked()), (ends.answered_wrong, ends.answered, 0));
    // Of the two names, the other is right to the end.
    assert!(ends.answered > ends.answered_wrong && ends.answered_wrong > 50, "{ends:?}");
}

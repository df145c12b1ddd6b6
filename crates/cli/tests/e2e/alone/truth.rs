//! The figures of a run compared with those of the responder.
//!
//! Other programs on the host may disturb a duration, so a run may be repeated a few times: a disturbance is not
//! there each time, but a wrong figure is wrong each time.

use std::time::Duration;

use dnsdyno_lab::within_tries;
use dnsdyno_measure::{Latency, NotSentReason, Quantile, Warning};
use dnsdyno_record::Digest;
use dnsdyno_responder::{Book, Delay, Faults, Share};
use rustix::process::Signal;

use crate::support::{Workplace, responder};

/// Repeats a run until its figures satisfy `judge`, at most [`TRIES`] times; fails with all errors.
pub(crate) fn within_some_tries(what: &str, judge: impl Fn(&Workplace) -> Result<(), String>) {
    within_tries(TRIES, what, |_| judge(&Workplace::new()));
}

/// One run against a responder with these faults; its record and the responder's counts.
fn measured(work: &Workplace, faults: Faults, load: &str) -> (Digest, Book) {
    let server = responder(faults);
    let words = format!(
        "run -s {} --ask www.example --ask mail.example/AAAA {load} --quiet -o run",
        server.address()
    );
    work.dnsdyno(&words).completes();
    (work.record("run"), server.stop())
}

pub(crate) fn quantile_ns(latency: Latency<'_>, q: f64) -> u64 {
    match latency.quantile(q) {
        Some(Quantile::At(ns)) => ns,
        other => panic!("quantile {q} is {other:?}"),
    }
}

/// An error if the two differ by more than `share` and by more than 50 µs.
pub(crate) fn close(what: &str, measured_ns: u64, truth_ns: u64, share: f64) -> Result<(), String> {
    let allowed = (truth_ns as f64 * share).max(50e3);
    if (measured_ns as f64 - truth_ns as f64).abs() <= allowed {
        return Ok(());
    }
    Err(format!("{what}: measured {measured_ns} ns, true {truth_ns} ns"))
}

#[test]
fn a_window_limits_a_rate_and_the_run_against_a_silent_server_ends() {
    let work = Workplace::new();
    let silent = Faults { loss: Share::new(1.0).unwrap(), ..Faults::default() };
    let load = "--rate 1k --for 1s --outstanding 10 --workers 1 --timeout 400ms";
    let (digest, book) = measured(&work, silent, load);
    let ends = digest.tally().ends;
    // Ten at a time, for 0.4 s each.
    assert!((20..=50).contains(&ends.timed_out), "{ends:?}");
    assert_eq!(ends.not_sent.of(NotSentReason::WindowFull), 1_000 - ends.timed_out);
    assert_eq!((digest.tally().scheduled, book.udp.counts.received), (1_000, ends.timed_out));
    assert!(digest.header.load.ends_with("at most 10 outstanding"), "{}", digest.header.load);
}

#[test]
fn service_times_agree_with_the_delays_of_the_responder() {
    let ms = Duration::from_millis;
    let delays = [
        Delay::Uniform { from: ms(20), to: ms(60) },
        Delay::LogNormal { median: ms(20), sigma: 0.5 },
        Delay::Exponential { mean: ms(25) },
    ];
    for delay in delays {
        within_some_tries(&format!("service times after {delay}"), |work| {
            let faults = Faults { delay: Some(delay), seed: 7, ..Faults::default() };
            let (digest, book) = measured(work, faults, "--rate 2k --for 4s");
            assert_eq!((digest.tally().ends.answered, book.udp.counts.answered), (8_000, 8_000));
            [0.5, 0.9, 0.99].into_iter().try_for_each(|q| {
                let truth_ns = book.udp.hold_ns(q).unwrap();
                close(
                    &format!("p{}", q * 100.0),
                    quantile_ns(digest.tally().service_latency(), q),
                    truth_ns,
                    0.03,
                )
            })
        });
    }
}

#[test]
fn a_stall_of_a_second_is_in_the_open_loop_and_not_in_the_closed_one() {
    let stalled = || Faults { stall: Some("4s..5s".parse().unwrap()), ..Faults::default() };
    within_some_tries("a second's stall in ten", |work| {
        let (digest, book) = measured(work, stalled(), "--rate 5k --for 10s");
        assert_eq!((digest.tally().ends.answered, book.udp.counts.received), (50_000, 50_000));
        let response = digest.tally().response_latency();
        close("p95", quantile_ns(response, 0.95), 500_000_000, 0.05)?;
        close("p99", quantile_ns(response, 0.99), 900_000_000, 0.05)
    });
    within_some_tries("the same in a closed loop", |work| {
        let (digest, book) = measured(work, stalled(), "--outstanding 10 --for 10s");
        assert!(book.udp.counts.stalled <= 20, "the stall met {} queries", book.udp.counts.stalled);
        let p99 = quantile_ns(digest.tally().service_latency(), 0.99);
        if p99 < 100_000_000 { Ok(()) } else { Err(format!("p99 {p99} ns")) }
    });
}

#[test]
fn each_counter_agrees_with_the_responder() {
    let work = Workplace::new();
    let percent = Share::new(0.01).unwrap();
    let faults = Faults {
        loss: percent,
        duplicate: percent,
        wrong_id: percent,
        wrong_question: percent,
        garbage: percent,
        seed: 42,
        ..Faults::default()
    };
    let (digest, book) = measured(&work, faults, "--rate 5k --for 4s --timeout 1s");
    let (ends, anomalies, did) = (digest.tally().ends, digest.arrivals().anomalies, book.udp.counts);
    assert!(
        [did.dropped, did.duplicated, did.wrong_ids, did.wrong_questions, did.garbage]
            .iter()
            .all(|n| *n > 100)
    );
    assert_eq!((ends.total(), did.received, digest.tally().scheduled), (20_000, 20_000, 20_000));
    assert_eq!(anomalies.duplicates, did.duplicated, "duplicates");
    assert_eq!(anomalies.unexpected, did.wrong_ids, "unexpected IDs");
    assert_eq!(anomalies.wrong_question, did.wrong_questions, "wrong questions");
    assert_eq!(anomalies.malformed, did.garbage, "malformed");
    assert_eq!(ends.timed_out, did.dropped + did.wrong_ids + did.wrong_questions + did.garbage, "timed out");
    assert_eq!(ends.answered, 20_000 - ends.timed_out);
    assert_eq!(digest.arrivals().socket_drops + book.kernel_drops, 0);
}

#[test]
fn truncated_responses_count_as_answered_and_as_anomalies() {
    let work = Workplace::new();
    let server = dnsdyno_responder::Responder::start(dnsdyno_responder::Config {
        rule: dnsdyno_responder::Rule::Truncate(Box::default()),
        ..dnsdyno_responder::Config::default()
    })
    .unwrap();
    work.dnsdyno(&format!("run -s {} --ask www.example --count 500 --quiet -o run", server.address()))
        .gives(0);
    let digest = work.record("run");
    assert_eq!((digest.tally().ends.answered, digest.arrivals().anomalies.truncated), (500, 500));
    assert_eq!(server.stop().udp.counts.truncated, 500);
}

#[test]
fn drops_of_a_receive_buffer_that_is_too_small_are_reported_as_ours() {
    let work = Workplace::new();
    // All responses of half a second arrive at once, in a buffer that holds a few.
    let faults = Faults { stall: Some("500ms..1s".parse().unwrap()), ..Faults::default() };
    let (digest, book) = measured(&work, faults, "--rate 10k --for 2s --timeout 2s --receive-buffer 4k");
    let ends = digest.tally().ends;
    assert_eq!(book.udp.counts.answered, 20_000, "the server answered all");
    assert!(ends.timed_out > 0 && digest.arrivals().socket_drops > 0, "{ends:?}");
    let names: Vec<_> = digest.warnings().iter().map(|warning| warning.name()).collect();
    assert!(names.contains(&"socket_drops"), "{names:?}");
    let shown = work.dnsdyno("show run").gives(0).stdout;
    let shown = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(shown.contains("our own sockets dropped") && shown.contains("not the server's limit"), "{shown}");
}

#[test]
fn a_generator_without_cpu_reports_late_sends() {
    let work = Workplace::new();
    let server = responder(Faults::default());
    let words = format!("run -s {} --ask www.example --rate 2k --for 3s --quiet -o run", server.address());
    let mut generator = work.start(&words);
    generator.until("its first queries are answered", || server.book().udp.counts.answered > 1_000);
    generator.signal(Signal::STOP);
    std::thread::sleep(Duration::from_millis(700));
    generator.signal(Signal::CONT);
    generator.wait().gives(0);
    let digest = work.record("run");
    // Rate and loss are the server's, and p99 is nothing but the stop.
    let names = |warnings: &[Warning]| warnings.iter().map(Warning::name).collect::<Vec<_>>();
    assert_eq!(names(&digest.warnings()), [""; 0]);
    assert!(names(digest.notes()).contains(&"sends_late"), "{:?}", digest.notes());
    let p99 = digest.percentile(0.99).unwrap();
    assert!(p99.is_wide() && p99.lower < Quantile::At(100_000_000), "{p99:?}");
    let lateness = Latency { answered: &digest.tally().lateness, unanswered: 0 };
    assert!(quantile_ns(lateness, 0.99) > 300_000_000);
    // Every scheduled query was sent, and the lateness is only in the response time.
    assert_eq!(digest.tally().ends.answered, 6_000, "{:?}", digest.tally().ends);
    let response = quantile_ns(digest.tally().response_latency(), 0.99);
    assert!(response > 300_000_000, "p99 of the response time is {response} ns");
}

#[test]
fn a_server_on_this_host_is_named_and_keeps_cpus_for_itself() {
    let work = Workplace::new();
    let (digest, _) = measured(&work, Faults::default(), "--rate 500 --for 1s");
    assert_eq!(
        (digest.header.workers, digest.header.workers_reason.as_deref()),
        (1, Some("enough for 500 qps"))
    );
    // The responder runs in the process of this test.
    let neighbours = &digest.sum.as_ref().unwrap().evidence.neighbours;
    assert_eq!(
        (neighbours[0].is_server, neighbours[0].pid),
        (true, Some(std::process::id())),
        "{neighbours:?}"
    );
    let shown = work.dnsdyno("show run").gives(0).stdout;
    let shown = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    let server = format!("the server shares your CPUs: PID {}", std::process::id());
    assert!(shown.contains("1 worker (enough for 500 qps)") && shown.contains(&server), "{shown}");
}

#[test]
fn work_before_the_start_of_a_short_run_gives_no_warning() {
    let work = Workplace::new();
    let (digest, _) = measured(&work, Faults::default(), "--count 1 --clients 64");
    assert_eq!(digest.tally().ends.answered, 1);
    assert_eq!(digest.warnings(), []);
}

/// Runs that a busy host may disturb.
pub(crate) const TRIES: usize = 3;

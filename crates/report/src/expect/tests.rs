//! Expectations against runs made by hand.

use dnsdyno_measure::Warning;
use dnsdyno_record::expect::{AtEnd, Each, evaluate};
use dnsdyno_record::{Digest, Headline};

use super::*;
use crate::sample;

/// Whether an expectation is met, and its figure.
struct Checked {
    passed: bool,
    measured: String,
}

fn check(text: &str, digest: &Digest) -> Checked {
    let outcome = &evaluate(&sample::expectations(&[text]), digest)[0];
    Checked { passed: outcome.decision.is_met(), measured: outcome_measured_text(outcome) }
}

/// The sample stair: 18,000 queries, 192 of them timed out.
#[track_caller]
fn assert_stair(passing: &[&str], failing: &[&str]) {
    let digest = sample::stair();
    passing
        .iter()
        .for_each(|text| assert!(check(text, &digest).passed, "{text}: {}", check(text, &digest).measured));
    failing
        .iter()
        .for_each(|text| assert!(!check(text, &digest).passed, "{text}: {}", check(text, &digest).measured));
}

#[test]
fn losses_are_shares_of_the_queries_or_counts() {
    assert_stair(
        &[
            "loss<1.1%",
            "loss > 1%",
            "LOSS=192",
            "loss<=192",
            "answered>=98.9%",
            "timeouts=192",
            "late=0",
            "not_sent=0%",
        ],
        &["loss<1%", "loss<192", "answered>=99%", "timeouts<0.1%", "unreachable>0"],
    );
}

#[test]
fn latencies_without_a_prefix_are_those_of_the_headline() {
    assert_stair(
        &[
            "p50<1ms",
            "p50>490us",
            "response.p50 > 0.49ms",
            "service.p50<=510µs",
            "lateness.p99<20us",
            "avg<1ms",
            "p2.5<1ms",
            "min>390us",
        ],
        &["p50>1ms", "service.p50>510us", "lateness.p99<10us", "min<390us"],
    );
}

#[test]
fn a_percentile_beyond_the_timeout_is_below_no_bound() {
    assert_stair(
        &["p99>4s", "p99.9>=4.9s", "max>1ms"],
        &["p99<5ms", "p99<60s", "p99<=60s", "p99=5s", "p99>6s", "max<3600s"],
    );
}

#[test]
fn responses_are_counted_by_rcode() {
    assert_stair(
        &[
            "servfail=0",
            "nxdomain<2%",
            "NOERROR>98%",
            "refused=0%",
            "truncated=0",
            "badvers=0",
            "rcode3841=0",
        ],
        &["nxdomain=0", "noerror=100%"],
    );
}

#[test]
fn rates_and_the_verdict_have_names() {
    assert_stair(
        &["rate>2.9k", "qps>=2968", "sent_rate=3000", "generator=ok", "duplicates=0"],
        &["rate>10k"],
    );
    let doubtful = check("generator=ok", &sample::doubtful());
    assert_eq!(
        (doubtful.passed, doubtful.measured.as_str()),
        (false, "in doubt: sends_missing, socket_drops")
    );
    let killed = check("generator=ok", &sample::killed());
    assert!(!killed.passed && killed.measured.contains("did not end normally"), "{}", killed.measured);
}

#[test]
fn a_share_that_is_met_exactly_is_met() {
    let mut digest = Digest::new(sample::header());
    digest.interval(&sample::second(0, 1_000, 1));
    for (text, passed) in
        [("answered>=99.9%", true), ("loss<=0.1%", true), ("loss<0.1%", false), ("loss=0.1%", true)]
    {
        assert_eq!(check(text, &digest).passed, passed, "{text}");
    }
}

#[test]
fn a_metric_without_data_fails_and_says_why() {
    let silent = sample::silent();
    for text in
        ["p99<5ms", "p99>1ms", "max>=0s", "avg<1s", "servfail=0", "truncated=0", "rate>=0", "lateness.p99<1s"]
    {
        let outcome = check(text, &silent);
        assert!(!outcome.passed && outcome.measured.contains("not measured"), "{text}: {}", outcome.measured);
    }
    assert!(check("loss=100%", &silent).passed);
    assert!(!check("loss<100%", &Digest::new(sample::header())).passed);
}

#[test]
fn a_closed_loop_is_judged_by_its_service_time() {
    let mut header = sample::header();
    header.headline = Headline::Service;
    let mut digest = Digest::new(header);
    digest.interval(&sample::second(0, 1_000, 0));
    assert_eq!(check("p50<1s", &digest).measured, check("service.p50<1s", &digest).measured);
    assert_ne!(check("p50<1s", &digest).measured, check("response.p50<1s", &digest).measured);
}

#[test]
fn a_generator_in_doubt_is_reported_with_its_warnings() {
    let mut digest = sample::stair();
    let mut sum = sample::calm_sum(&digest);
    sum.warnings = vec![Warning::CpuStarved { share: 0.2 }];
    digest.sum(&sum);
    assert_eq!(check("generator=ok", &digest).measured, "in doubt: cpu_starved");
}

#[test]
fn an_outcome_is_a_line_with_the_expectation_and_the_figure() {
    let texts = |digest: &Digest, expectations: &[&str]| {
        evaluate(&sample::expectations(expectations), digest).iter().map(outcome_text).collect::<String>()
    };
    assert_eq!(
        texts(&sample::stair(), &["  p50 < 1ms ", "loss<0.1%", "p99<5ms", "rate>1k", "generator=ok"]),
        "met      p50 < 1ms  (512 µs)\nNOT MET  loss<0.1%  (1.07 % (192 of 18,000))\n\
         NOT MET  p99<5ms  (>5 s)\nmet      rate>1k  (2,968/s)\nmet      generator=ok  (ok)\n"
    );
    // 10 interrupted, 182 lost in other ways, of 18,000.
    assert_eq!(texts(&sample::doubtful(), &["loss<2%"]), "met      loss<2%  (1.01 % (182 of 17,990))\n");
    let silent = texts(&sample::silent(), &["p99<5ms"]);
    assert_eq!(silent, "NOT MET  p99<5ms  (not measured: no query was answered)\n");
}

#[test]
fn what_our_part_may_decide_is_undecided_and_says_how_much_of_it_is_ours() {
    let outcome = |text: &str, digest: &Digest| {
        let outcome = evaluate(&sample::expectations(&[text]), digest).remove(0);
        (outcome_text(&outcome), outcome_json(&outcome))
    };
    let (text, json) = outcome("p50<500us", &sample::stair());
    assert_eq!(text, "undecided  p50<500us  (512 µs, at most 17.0 µs of it ours)\n");
    assert_eq!((&json["outcome"], &json["passed"]), (&"undecided".into(), &false.into()));
    // Our sockets have dropped responses: each loss may be ours.
    let (text, _) = outcome("loss<1%", &sample::doubtful());
    assert_eq!(text, "undecided  loss<1%  (1.01 % (182 of 17,990), at most 182 of them ours)\n");
    let (text, json) = outcome("loss=0", &sample::stair());
    assert!(text.starts_with("NOT MET  loss=0  (1.07 %") && json["outcome"] == "not_met", "{text}");
}

#[test]
fn a_percentile_with_too_few_queries_says_how_many_it_needs() {
    let mut digest = Digest::new(sample::header());
    digest.interval(&sample::second(0, 999, 0));
    let told = check("p99<1s", &digest);
    assert!(!told.passed);
    assert_eq!(told.measured, "not measured: p99 needs 1,000 queries, 999 were judged");
    assert!(check("p90<1s", &digest).passed);
}

#[test]
fn steps_that_did_not_meet_an_expectation_are_named() {
    let mut each = Each::new(&sample::header(), &sample::expectations(&["loss<1%", "loss<50%"]));
    (0..6).for_each(|i| each.interval(&sample::second(i, 1_000, if i >= 4 { 20 } else { 0 })));
    let outcomes = each.finish(6 * sample::SECOND, AtEnd::default());
    assert_eq!(
        each_outcome_text(&outcomes[0]),
        "NOT MET  each loss<1%  (in 1 of 3 steps)\n         step 4,000 q/s (4 s to 6 s): 2.00 % (40 of 2,000)\n"
    );
    assert_eq!(each_outcome_text(&outcomes[1]), "met      each loss<50%  (in each of 3 steps)\n");
}

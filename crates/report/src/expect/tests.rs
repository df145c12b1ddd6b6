//! Expectations against runs made by hand.

use dnsdyno_measure::Warning;
use dnsdyno_record::{Digest, Headline};

use super::*;
use crate::sample;

fn check(text: &str, digest: &Digest) -> Outcome {
    Expectation::parse(text).unwrap_or_else(|error| panic!("{error}")).check(digest)
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
            "p50>500us",
            "response.p50 > 0.5ms",
            "service.p50<=510µs",
            "lateness.p99<20us",
            "avg<1ms",
            "p2.5<1ms",
            "min>400us",
        ],
        &["p50>1ms", "service.p50>510us", "lateness.p99<10us", "min<400us"],
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
fn interrupted_queries_are_not_lost() {
    let digest = sample::doubtful();
    // 10 interrupted, 182 lost in other ways, of 18,000.
    assert_eq!(check("loss<2%", &digest).measured, "1.01 % (182 of 17,990)");
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
fn outcomes_keep_the_order_and_the_text_of_the_expectations() {
    let expectations: Vec<_> =
        ["  p50 < 1ms ", "loss<0.1%"].iter().map(|text| Expectation::parse(text).unwrap()).collect();
    let outcomes = evaluate(&expectations, &sample::stair());
    assert_eq!(outcomes[0], Outcome { text: "p50 < 1ms".into(), measured: "512 µs".into(), passed: true });
    assert_eq!((outcomes[1].passed, outcomes[1].measured.as_str()), (false, "1.07 % (192 of 18,000)"));
}

#[test]
fn errors_list_what_is_valid() {
    let error = |text: &str| Expectation::parse(text).unwrap_err().to_string();
    assert!(error("loss").contains("has no comparison"));
    assert!(error("").contains("'p99<5ms'"));
    for text in [
        "speed>3",
        "p0<1ms",
        "p101<1ms",
        "pinf<1ms",
        "p<1ms",
        "p-5<1s",
        "service.loss<1%",
        "<5ms",
        "rcode9999=0",
    ] {
        assert!(error(text).contains("unknown metric") && error(text).contains("nxdomain"), "{text}");
    }
    assert!(error("p99<5").contains("ns, us, ms or s"));
    assert!(error("loss<0.001").contains("0.1%"));
    assert!(error("rate>5ms").contains("a rate per second"));
    assert!(error("generator<ok").contains("generator=ok"));
    assert!(error("generator=fine").contains("can only be ok"));
    assert!(error("p99=<5ms").contains("not a valid bound"));
}

#[test]
fn a_generator_in_doubt_is_reported_with_its_warnings() {
    let mut digest = sample::stair();
    let mut sum = sample::calm_sum(&digest);
    sum.warnings = vec![Warning::CpuStarved { share: 0.2 }];
    digest.sum(&sum);
    assert_eq!(check("generator=ok", &digest).measured, "in doubt: cpu_starved");
}

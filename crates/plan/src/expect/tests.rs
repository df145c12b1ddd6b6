//! The notation of expectations and conditions.

use super::*;

fn error(text: &str) -> String {
    Expectation::parse(text).expect_err(text).to_string()
}

#[test]
fn errors_list_what_is_valid() {
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
        assert!(error(text).contains("there is no metric") && error(text).contains("nxdomain"), "{text}");
    }
    assert!(error("p99<5").contains("ns, us, ms or s"));
    assert!(error("loss<0.001").contains("0.1%"));
    assert!(error("rate>5ms").contains("a rate per second"));
    assert!(error("generator<ok").contains("generator=ok"));
    assert!(error("generator=fine").contains("can only be ok"));
    assert!(error("p99=<5ms").contains("not a valid bound"));
}

#[test]
fn a_percentile_says_what_it_needs_and_p100_is_the_longest() {
    let needed = |text: &str| {
        let needed = Expectation::parse(text).unwrap().metric.queries_needed();
        needed.map(|(_, queries)| queries)
    };
    assert_eq!(needed("p99.9<5ms"), Some(10_000));
    assert_eq!((needed("max<5ms"), needed("loss<1%")), (None, None));
    assert_eq!(Expectation::parse("p100<5ms").unwrap().metric, Metric::parse("max").unwrap());
}

#[test]
fn the_text_of_an_error_has_no_control_characters_and_is_short() {
    let long = format!("loss\u{1b}[2J{}", "x".repeat(100_000));
    assert!(error(&long).len() < 400 && !error(&long).contains('\u{1b}'));
}

#[test]
fn every_listed_metric_can_be_read() {
    for group in METRICS {
        let names =
            group.names.replace("(or qps)", "").replace("(any percentile)", "").replace("(any RCODE)", "");
        for name in names.split(',').map(str::trim) {
            assert!(Metric::parse(name).is_some(), "{name}");
        }
    }
}

#[test]
fn a_condition_is_an_expectation_with_a_time() {
    let condition = StopCondition::parse(" loss>1% for 3s ").unwrap();
    assert_eq!((condition.text.as_str(), condition.for_ns), ("loss>1% for 3s", 3_000_000_000));
    assert_eq!(condition.holds, Expectation::parse("loss>1%").unwrap());
    assert_eq!(StopCondition::parse("p99 > 50ms").unwrap().for_ns, 0);
}

#[test]
fn a_condition_without_a_valid_time_or_on_the_verdict_is_refused() {
    let error = |text: &str| StopCondition::parse(text).expect_err(text).to_string();
    for text in ["loss>1% for", "loss>1% for 3 parsecs", "loss>1% for 0s", "loss>1%for 3s"] {
        let error = error(text);
        assert!(error.contains("'loss>1% for 3s'") || error.contains("not a valid bound"), "{error}");
    }
    assert!(error("generator=ok for 3s").contains("whole run only"));
    assert!(Expectation::parse_of_part("generator=ok").is_err());
    assert!(Expectation::parse_of_part("loss<1%").is_ok());
}

//! Which expectations are lines in the charts.

use dnsdyno_plan::expect::{Bound, Durations, Expectation, Figure, Metric, QueryCount};
use dnsdyno_record::Headline;

use crate::data::Limit;

/// The line of an expectation; `None` where no chart over time shows its figure. A number of queries has none: it is of
/// the whole run.
pub(crate) fn limit(expectation: &Expectation, headline: Headline) -> Option<Limit> {
    let (of, value) = match (expectation.metric, expectation.bound) {
        (Metric::Duration(durations, _), Bound::DurationNs(ns)) => (chart_of(durations, headline)?, ns),
        (Metric::AnsweredRate, Bound::RateQps(qps)) => ("rate", qps),
        (Metric::SentRate, Bound::RateQps(qps)) => ("sent_rate", qps),
        (Metric::Queries(QueryCount::Lost), Bound::Share(share)) => ("loss", share),
        (Metric::Queries(QueryCount::Answered), Bound::Share(share)) => ("loss", 1.0 - share),
        _ => return None,
    };
    let slowest = match expectation.metric {
        Metric::Duration(_, Figure::Quantile(quantile)) => Some(1.0 - quantile),
        _ => None,
    };
    Some(Limit { of, value, slowest })
}

/// The charts show one latency.
fn chart_of(durations: Durations, headline: Headline) -> Option<&'static str> {
    match (durations, headline) {
        (Durations::Headline, _)
        | (Durations::Response, Headline::Response)
        | (Durations::Service, Headline::Service) => Some("latency"),
        (Durations::Lateness, _) => Some("lateness"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_expectation_has_a_line_where_a_chart_over_time_shows_its_figure() {
        let line = |text: &str, headline| {
            limit(&Expectation::parse(text).unwrap(), headline).map(|limit| (limit.of, limit.value))
        };
        let lines = [
            ("p99<5ms", Some(("latency", 5e6))),
            ("avg<1ms", Some(("latency", 1e6))),
            ("response.p50<200us", Some(("latency", 2e5))),
            ("service.p50<200us", None),
            ("lateness.p99<1ms", Some(("lateness", 1e6))),
            ("rate>=10k", Some(("rate", 1e4))),
            ("sent_rate>=10k", Some(("sent_rate", 1e4))),
            ("loss<1%", Some(("loss", 0.01))),
            ("answered>=75%", Some(("loss", 0.25))),
            ("loss<100", None),
            ("servfail<1%", None),
            ("generator=ok", None),
        ];
        for (text, expected) in lines {
            assert_eq!(line(text, Headline::Response), expected, "{text}");
        }
        assert_eq!(line("service.p50<200us", Headline::Service), Some(("latency", 2e5)));
        assert_eq!(line("response.p50<200us", Headline::Service), None);
    }

    #[test]
    fn the_line_of_a_percentile_says_of_how_many_queries_it_is() {
        let slowest = |text: &str| {
            limit(&Expectation::parse(text).unwrap(), Headline::Response).and_then(|limit| limit.slowest)
        };
        assert!(slowest("p99.9<5ms").is_some_and(|share| (share - 0.001).abs() < 1e-9));
        assert_eq!(slowest("max<5ms"), None);
    }
}

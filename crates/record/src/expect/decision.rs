//! Whether a measured figure is as expected: at both of its ends, at neither, or at one of them only.
//!
//! ```text
//!   p99<5ms      without our part      as measured
//!   met            3.1 ms ├───────────────┤ 4.2 ms   │ 5 ms
//!   undecided                 4.7 ms ├───────────────┼──┤ 5.6 ms
//!   not met                                     5 ms │    5.9 ms ├──┤ 6.3 ms
//! ```

use dnsdyno_plan::expect::{Bound, Comparison, Expectation};

use super::measured::{Ends, Measured};

/// What has come of an expectation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// The figure is as expected, whatever the generator's part in it.
    Met,
    /// It is not, whatever that part, or it was not measured.
    NotMet,
    /// That depends on the generator's part, or on that of an agent that is missing: the run does not say it of the
    /// server.
    Undecided,
}

impl Decision {
    /// Whether the figure is as expected for certain.
    pub fn is_met(self) -> bool {
        self == Decision::Met
    }

    /// That on all of these: not met where one is not met, undecided where one of the others is.
    pub fn of_all(decisions: impl IntoIterator<Item = Decision>) -> Decision {
        decisions.into_iter().fold(Decision::Met, |all, one| match (all, one) {
            (Decision::NotMet, _) | (_, Decision::NotMet) => Decision::NotMet,
            (Decision::Undecided, _) | (_, Decision::Undecided) => Decision::Undecided,
            _ => Decision::Met,
        })
    }

    /// As a word for programs.
    pub fn key(self) -> &'static str {
        match self {
            Decision::Met => "met",
            Decision::NotMet => "not_met",
            Decision::Undecided => "undecided",
        }
    }
}

/// The decision on a figure with these ends.
pub(super) fn decide(expectation: &Expectation, ends: &Ends) -> Decision {
    if matches!(ends.without_ours, Measured::Partial { .. }) {
        return Decision::Undecided;
    }
    let holds = |comparison: Comparison| {
        let of = |measured: &Measured| holds(comparison, expectation.bound, measured);
        [of(&ends.measured), of(&ends.without_ours)]
    };
    match holds(expectation.comparison) {
        [true, true] => Decision::Met,
        [false, false] if expectation.comparison == Comparison::Equal => {
            // The bound may be between the ends.
            let is_between = [Comparison::LessOrEqual, Comparison::GreaterOrEqual]
                .into_iter()
                .all(|comparison| holds(comparison).contains(&true));
            if is_between { Decision::Undecided } else { Decision::NotMet }
        }
        [false, false] => Decision::NotMet,
        _ => Decision::Undecided,
    }
}

fn holds(comparison: Comparison, bound: Bound, measured: &Measured) -> bool {
    match (measured, bound) {
        (Measured::Duration(ns), Bound::DurationNs(bound)) => comparison.holds(*ns as f64, bound),
        // At least the timeout: above every lower bound, below none.
        (Measured::BeyondTimeout { timeout_ns }, Bound::DurationNs(bound)) => {
            comparison.is_upward() && *timeout_ns as f64 > bound
        }
        (Measured::Part { part, .. }, Bound::Count(bound)) => comparison.holds(*part as f64, bound),
        (Measured::Part { part, whole }, Bound::Share(bound)) => {
            // Compares part with bound × whole: 99.9 % of 1,000 is exactly 999, a quotient may not be exact.
            comparison.holds_with(*part as f64, bound * *whole as f64)
        }
        (Measured::Count(count), Bound::Count(bound)) => comparison.holds(*count as f64, bound),
        (Measured::RateQps(qps), Bound::RateQps(bound)) => comparison.holds(*qps, bound),
        (Measured::Generator { is_ok, .. }, Bound::Ok) => *is_ok,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The decision on a figure that was measured so, and would have been the other without our part.
    fn on(text: &str, measured: Measured, without_ours: Measured) -> Decision {
        decide(&Expectation::parse(text).unwrap(), &Ends { measured, without_ours })
    }

    #[test]
    fn a_latency_is_decided_where_both_ends_say_the_same() {
        let of = |text| on(text, Measured::Duration(1_200_000), Measured::Duration(850_000));
        assert_eq!([of("p99<2ms"), of("p99>500us")], [Decision::Met; 2]);
        assert_eq!([of("p99<800us"), of("p99>2ms"), of("p99=3ms")], [Decision::NotMet; 3]);
        assert_eq!([of("p99<1ms"), of("p99>=1ms"), of("p99=1ms")], [Decision::Undecided; 3]);
    }

    #[test]
    fn a_percentile_beyond_the_timeout_is_decided_where_its_lower_end_is_too_long() {
        let beyond = || Measured::BeyondTimeout { timeout_ns: 5_000_000_000 };
        let of = |text| on(text, beyond(), Measured::Duration(1_000_000));
        assert_eq!([of("p99<5ms"), of("p99>1s")], [Decision::Undecided; 2]);
        assert_eq!([of("p99<1ms"), on("p99<5ms", beyond(), beyond())], [Decision::NotMet; 2]);
    }

    #[test]
    fn a_loss_and_a_rate_are_decided_by_what_may_be_ours() {
        let part = |part| Measured::Part { part, whole: 1_000 };
        assert_eq!(on("loss<1%", part(12), part(3)), Decision::Undecided);
        assert_eq!(on("loss<0.1%", part(12), part(3)), Decision::NotMet);
        assert_eq!(on("loss<=1.2%", part(12), part(3)), Decision::Met);
        assert_eq!(on("loss=5", part(12), part(3)), Decision::Undecided);
        assert_eq!(on("loss=2", part(12), part(3)), Decision::NotMet);
        let rate = |text| on(text, Measured::RateQps(9e3), Measured::RateQps(f64::INFINITY));
        assert_eq!([rate("rate>=10k"), rate("rate>=9k")], [Decision::Undecided, Decision::Met]);
    }

    #[test]
    fn what_an_agent_has_not_given_may_be_anything() {
        let partial = || Measured::Partial { intervals: 3 };
        assert_eq!(on("rate>=1", partial(), partial()), Decision::Undecided);
        assert_eq!(on("p99<5ms", Measured::Duration(1_000), partial()), Decision::Undecided);
        assert_eq!(on("loss<1%", Measured::Part { part: 9, whole: 10 }, partial()), Decision::Undecided);
    }

    #[test]
    fn what_was_not_measured_is_not_met() {
        let nothing = || Measured::TooFew { q: 0.99, needed: 1_000, judged: 7 };
        assert_eq!(on("p99<5ms", nothing(), nothing()), Decision::NotMet);
        assert_eq!(on("p99=5ms", nothing(), nothing()), Decision::NotMet);
    }
}

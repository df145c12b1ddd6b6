//! Whether a measured figure is as expected.

use dnsdyno_plan::expect::{Bound, Expectation};

use super::measured::Measured;

/// Whether the measured figure is as expected.
pub(super) fn holds(expectation: &Expectation, measured: &Measured) -> bool {
    let comparison = expectation.comparison;
    match (measured, expectation.bound) {
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

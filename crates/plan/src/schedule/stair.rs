//! A rate that goes up or down in steps, each for the same time.

use std::fmt;

use dnsdyno_text::notation::{format_duration_ns, format_rate_qps};

use super::curve::{Curve, CurveError, MAX_PIECES};
use super::piece::Piece;

/// A stair. Each step is a phase, named by its rate.
///
/// ```text
/// to             ____
/// from + step   |
/// from      ____|
///          |hold|
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Stair {
    /// The rate of the first step, in queries per second.
    pub from_qps: f64,
    /// The rate of the last step, in queries per second: lower than the first for a stair down. It is
    /// always reached: if the range is not a multiple of the step, the last step is lower.
    pub to_qps: f64,
    /// The change of the rate per step, in queries per second; above 0 in both directions.
    pub step_qps: f64,
    /// How long each step lasts, in nanoseconds.
    pub hold_ns: u64,
}

impl Stair {
    /// One flat piece per step.
    pub fn curve(&self) -> Result<Curve, CurveError> {
        if self.step_qps.is_nan() || self.step_qps <= 0.0 {
            return Err(CurveError::NoStep);
        }
        let steps = ((self.to_qps - self.from_qps).abs() / self.step_qps - SAME_STEP).ceil();
        if steps.is_nan() || steps >= MAX_PIECES as f64 {
            return Err(CurveError::TooManyPieces(steps as usize));
        }
        let steps = steps.max(0.0) as u32;
        let direction = if self.to_qps < self.from_qps { -1.0 } else { 1.0 };
        let rates = (0..steps)
            .map(|nth| self.from_qps + direction * f64::from(nth) * self.step_qps)
            .chain([self.to_qps]);
        Curve::new(rates.map(|rate| Piece::flat(rate, self.hold_ns, format_rate_qps(rate))).collect())
    }
}

impl fmt::Display for Stair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (from, to) = (format_rate_qps(self.from_qps), format_rate_qps(self.to_qps));
        let (step, hold) = (format_rate_qps(self.step_qps), format_duration_ns(self.hold_ns));
        write!(f, "stair {from}..{to} qps, step {step}, hold {hold}")
    }
}

/// Tolerance for rounding of the number of steps: 0.1..0.3 by 0.1 has three steps, not four.
const SAME_STEP: f64 = 1e-9;

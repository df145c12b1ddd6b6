//! A base rate with peaks at regular intervals.

use std::fmt;

use dnsdyno_text::notation::{format_duration_ns, format_rate_qps};

use super::curve::{Curve, CurveError, MAX_PIECES};
use super::piece::Piece;

/// Bursts. Phases are named `base` and `peak` alternately.
///
/// ```text
/// peak        __            __
/// base  _____|  |__________|  |___
///      |   every   |
///            |hold|
/// ```
///
/// Every period starts with the base rate and ends with the peak. The run may end within a period.
#[derive(Debug, Clone, PartialEq)]
pub struct Burst {
    /// The rate between bursts, in queries per second; 0 = a pause.
    pub base_qps: f64,
    /// The rate in a burst, in queries per second.
    pub peak_qps: f64,
    /// From the start of one period to the next, in nanoseconds.
    pub every_ns: u64,
    /// How long a burst lasts, in nanoseconds; less than `every_ns`.
    pub hold_ns: u64,
    /// The total length, in nanoseconds.
    pub duration_ns: u64,
}

impl Burst {
    /// Two flat pieces per period.
    pub fn curve(&self) -> Result<Curve, CurveError> {
        if self.hold_ns >= self.every_ns {
            return Err(CurveError::NoGap);
        }
        let pieces = self.duration_ns.div_ceil(self.every_ns).saturating_mul(2);
        if pieces > MAX_PIECES as u64 {
            return Err(CurveError::TooManyPieces(pieces as usize));
        }
        let base = (self.base_qps, self.every_ns - self.hold_ns, "base");
        let peak = (self.peak_qps, self.hold_ns, "peak");
        let mut left_ns = self.duration_ns;
        let mut pieces = Vec::with_capacity(pieces as usize);
        for (rate_qps, length_ns, label) in [base, peak].into_iter().cycle() {
            if left_ns == 0 {
                break;
            }
            let length_ns = length_ns.min(left_ns);
            left_ns -= length_ns;
            pieces.push(Piece::flat(rate_qps, length_ns, label));
        }
        Curve::new(pieces)
    }
}

impl fmt::Display for Burst {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (base, peak) = (format_rate_qps(self.base_qps), format_rate_qps(self.peak_qps));
        let (every, hold) = (format_duration_ns(self.every_ns), format_duration_ns(self.hold_ns));
        let whole = format_duration_ns(self.duration_ns);
        write!(f, "burst {base}..{peak} qps every {every}, hold {hold}, for {whole}")
    }
}

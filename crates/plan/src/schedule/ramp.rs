//! A rate that changes linearly, and may then be held.

use std::fmt;

use dnsdyno_text::notation::{format_duration_ns, format_rate_qps};

use super::curve::{Curve, CurveError};
use super::piece::Piece;

/// A ramp.
///
/// ```text
/// to      ______
///        /
/// from  /
///      | over | hold |
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Ramp {
    /// The rate at the start, in queries per second.
    pub from_qps: f64,
    /// The rate at the end of the ramp and while it holds, in queries per second.
    pub to_qps: f64,
    /// The length of the change, in nanoseconds.
    pub over_ns: u64,
    /// How long the last rate is then held, in nanoseconds.
    pub hold_ns: u64,
}

impl Ramp {
    /// A sloping piece `ramp`, and a flat one `hold` where there is one.
    pub fn curve(&self) -> Result<Curve, CurveError> {
        let mut pieces = vec![Piece {
            rate_from_qps: self.from_qps,
            rate_to_qps: self.to_qps,
            duration_ns: self.over_ns,
            label: "ramp".to_owned(),
        }];
        if self.hold_ns > 0 {
            pieces.push(Piece::flat(self.to_qps, self.hold_ns, "hold"));
        }
        Curve::new(pieces)
    }
}

impl fmt::Display for Ramp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (from, to) = (format_rate_qps(self.from_qps), format_rate_qps(self.to_qps));
        write!(f, "ramp {from}..{to} qps over {}", format_duration_ns(self.over_ns))?;
        match self.hold_ns {
            0 => Ok(()),
            ns => write!(f, ", hold {}", format_duration_ns(ns)),
        }
    }
}

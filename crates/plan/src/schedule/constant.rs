//! A constant rate, for a given time or until another limit ends the run.

use std::fmt;

use dnsdyno_text::notation::{format_duration_ns, format_rate_qps};

use super::curve::{Curve, CurveError};
use super::piece::{ENDLESS_NS, Piece};

/// A constant rate.
#[derive(Debug, Clone, PartialEq)]
pub struct Constant {
    /// The rate, in queries per second.
    pub rate_qps: f64,
    /// How long, in nanoseconds; `None` = the run ends by count or passes.
    pub duration_ns: Option<u64>,
}

impl Constant {
    /// One flat piece.
    pub fn curve(&self) -> Result<Curve, CurveError> {
        let label = format_rate_qps(self.rate_qps);
        Curve::new(vec![Piece::flat(self.rate_qps, self.duration_ns.unwrap_or(ENDLESS_NS), label)])
    }
}

impl fmt::Display for Constant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "constant {} qps", format_rate_qps(self.rate_qps))?;
        match self.duration_ns {
            Some(ns) => write!(f, " for {}", format_duration_ns(ns)),
            None => Ok(()),
        }
    }
}

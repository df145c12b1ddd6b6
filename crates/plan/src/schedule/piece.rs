//! The pieces of a curve.

/// The length of a piece that never ends, in nanoseconds. Only the last piece may have it.
pub const ENDLESS_NS: u64 = u64::MAX;

/// A part of the curve whose rate is constant or changes linearly.
#[derive(Debug, Clone, PartialEq)]
pub struct Piece {
    /// The rate at its start, in queries per second.
    pub rate_from_qps: f64,
    /// The rate at its end, in queries per second.
    pub rate_to_qps: f64,
    /// How long it lasts, in nanoseconds; [`ENDLESS_NS`] = for ever.
    pub duration_ns: u64,
    /// Its name in a report.
    pub label: String,
}

impl Piece {
    /// A piece of one rate.
    pub fn flat(rate_qps: f64, duration_ns: u64, label: impl Into<String>) -> Piece {
        Piece { rate_from_qps: rate_qps, rate_to_qps: rate_qps, duration_ns, label: label.into() }
    }
}

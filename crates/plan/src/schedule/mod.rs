//! When to send: a load is either a [`Curve`] over time (open loop), optionally limited by a window, or a window alone
//! (closed loop).
//!
//! Each shape is one small file that gives the pieces of a curve. All other code uses only curves.

mod burst;
mod constant;
mod cursor;
mod curve;
mod piece;
mod piecewise;
mod ramp;
mod replay;
mod span;
mod stair;

pub use burst::Burst;
pub use constant::Constant;
pub use cursor::Cursor;
pub use curve::{Curve, CurveError, MAX_PIECES, MAX_RATE_QPS, Phase};
pub use piece::{ENDLESS_NS, Piece};
pub use piecewise::Piecewise;
pub use ramp::Ramp;
pub use replay::Replay;
pub use stair::Stair;

use std::fmt;

/// The load of a run.
#[derive(Debug, Clone, PartialEq)]
pub enum Load {
    /// Open loop: queries are due at the instants of the curve, whatever the server does.
    Open {
        /// When they are due.
        curve: Curve,
        /// At least 1: a due query is held back while this many are outstanding, over all workers. `None` = no
        /// limit.
        window: Option<u32>,
    },
    /// Open loop: queries are due at the instants that their source says.
    OfSource,
    /// Closed loop: a query is sent as soon as fewer than this many are outstanding, over all workers.
    Closed {
        /// The size of the window, at least 1.
        outstanding: u32,
    },
    /// Closed loop that sends at most so many queries in each second. Time in which the window was full is lost: the
    /// queries that it would have taken are not sent later.
    Limited {
        /// The size of the window, at least 1.
        outstanding: u32,
        /// The limit, over all workers; above 0.
        most_qps: f64,
    },
}

impl Load {
    /// When queries are due; `None` in a closed loop, and where their source says it.
    pub fn curve(&self) -> Option<&Curve> {
        match self {
            Load::Open { curve, .. } => Some(curve),
            Load::OfSource | Load::Closed { .. } | Load::Limited { .. } => None,
        }
    }

    /// The highest rate of the schedule, in queries per second; `None` where there is none.
    pub fn peak_qps(&self) -> Option<f64> {
        let peak = |phase: &Phase| phase.rate_from_qps.max(phase.rate_to_qps);
        self.curve().map(|curve| curve.phases().iter().map(peak).fold(0.0, f64::max))
    }

    /// Whether queries are due at instants of a schedule, whatever the server does.
    pub fn is_open(&self) -> bool {
        !matches!(self, Load::Closed { .. } | Load::Limited { .. })
    }

    /// The maximum number of outstanding queries, over all workers; `None` = no limit.
    pub fn window(&self) -> Option<u32> {
        match self {
            Load::Open { window, .. } => *window,
            Load::OfSource => None,
            Load::Closed { outstanding } | Load::Limited { outstanding, .. } => Some(*outstanding),
        }
    }
}

/// The shape of an open-loop load, from which its curve is made.
#[derive(Debug, Clone, PartialEq)]
pub enum Shape {
    /// One rate.
    Constant(Constant),
    /// A rate that changes linearly.
    Ramp(Ramp),
    /// Steps.
    Stair(Stair),
    /// A base rate with peaks.
    Burst(Burst),
    /// Any pieces.
    Pieces(Piecewise),
}

impl Shape {
    /// The curve of this shape.
    pub fn curve(&self) -> Result<Curve, CurveError> {
        match self {
            Shape::Constant(shape) => shape.curve(),
            Shape::Ramp(shape) => shape.curve(),
            Shape::Stair(shape) => shape.curve(),
            Shape::Burst(shape) => shape.curve(),
            Shape::Pieces(shape) => shape.curve(),
        }
    }
}

impl fmt::Display for Shape {
    /// One short phrase for a summary, such as `ramp 0..100k qps over 60s`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Shape::Constant(shape) => shape.fmt(f),
            Shape::Ramp(shape) => shape.fmt(f),
            Shape::Stair(shape) => shape.fmt(f),
            Shape::Burst(shape) => shape.fmt(f),
            Shape::Pieces(shape) => shape.fmt(f),
        }
    }
}

//! The load curve: how many queries are due by each instant.
//!
//! ```text
//! rate                                    C(t) = queries due by t = the area under the rate
//!   |      ____                             |            _____
//!   |     /    |                            |          _/  <- a pause
//!   |    /     |______   ____               |        _/
//!   |___/             |_|                   |  _____/
//!   +--------------------------> t          +--------------------------> t
//! ```
//!
//! Query `n` is due when the area passes `n`: query 0 at the start of the first piece with a rate, and a query at the
//! edge of a pause after the pause. Each instant is computed from `n`, never from the previous instant, so rounding
//! errors do not accumulate. Where the queries have their own instants, the curve is the list of these.

use std::sync::Arc;

use super::cursor::Cursor;
use super::piece::{ENDLESS_NS, Piece};
use super::span::{Due, Instants, Span};

/// The highest rate of a curve: one query per nanosecond, the unit of its instants.
pub const MAX_RATE_QPS: f64 = 1e9;

/// The most pieces of a curve: bursts each second for two days. It limits memory to some 60 MB.
pub const MAX_PIECES: usize = 400_000;

/// A part of the run that a report shows separately. Each piece of a curve is one.
#[derive(Debug, Clone, PartialEq)]
pub struct Phase {
    /// Its name in a report.
    pub label: String,
    /// Its first instant, in nanoseconds since the start of the run.
    pub from_ns: u64,
    /// The instant after its last; [`ENDLESS_NS`] = it never ends.
    pub to_ns: u64,
    /// The rate at its start, in queries per second.
    pub rate_from_qps: f64,
    /// The rate at its end, in queries per second.
    pub rate_to_qps: f64,
}

/// Why a curve is not valid.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum CurveError {
    /// No pieces.
    #[error("the load has no pieces: give at least one")]
    NoPieces,
    /// A rate that is negative, not a number, or above [`MAX_RATE_QPS`].
    #[error("a rate of {0} queries per second cannot be scheduled: use 0 to 1G")]
    Rate(f64),
    /// A piece of length 0.
    #[error("piece `{0}` has no length: give it a length above 0")]
    NoTime(String),
    /// An endless piece that is not the last, or whose rate changes.
    #[error("piece `{0}` never ends: only the last piece may, and only at a constant rate")]
    Endless(String),
    /// The rate is always 0.
    #[error("the load has no queries: give it a rate above 0")]
    NoQueries,
    /// Too many pieces, or steps, or bursts.
    #[error("the load has {0} pieces, and the limit is {MAX_PIECES}: use fewer, longer ones")]
    TooManyPieces(usize),
    /// The total length exceeds the range of the clock.
    #[error("the load lasts longer than 500 years: shorten it")]
    TooLong,
    /// A stair whose step is 0.
    #[error("the step of a stair must be above 0: give --step a rate above 0")]
    NoStep,
    /// Instants of a source that are not ascending.
    #[error("query {0} of the source is due before the preceding one: sort the queries by time")]
    Order(usize),
    /// Bursts that leave no time between them.
    #[error("a burst must be shorter than the time between bursts: make --hold shorter than --every")]
    NoGap,
}

/// A load curve. Cheap to clone: clones share the pieces.
#[derive(Debug, Clone, PartialEq)]
pub struct Curve {
    instants: Instants,
    phases: Arc<[Phase]>,
}

impl Curve {
    /// Makes a curve of consecutive pieces from instant 0.
    pub fn new(pieces: Vec<Piece>) -> Result<Curve, CurveError> {
        check(&pieces)?;
        let mut spans = Vec::with_capacity(pieces.len());
        let mut phases = Vec::with_capacity(pieces.len());
        let mut due = Due::default();
        let mut start_ns = 0u64;
        for piece in pieces {
            let before = due;
            due.add(piece.rate_from_qps, piece.rate_to_qps, piece.duration_ns);
            spans.push(Span::new(&piece, start_ns, before, due));
            let from_ns = start_ns;
            start_ns = match piece.duration_ns {
                ENDLESS_NS => ENDLESS_NS,
                // Half of the range of u64 is left for adding timeouts to instants.
                length => start_ns
                    .checked_add(length)
                    .filter(|end| *end < ENDLESS_NS / 2)
                    .ok_or(CurveError::TooLong)?,
            };
            phases.push(Phase {
                label: piece.label,
                from_ns,
                to_ns: start_ns,
                rate_from_qps: piece.rate_from_qps,
                rate_to_qps: piece.rate_to_qps,
            });
        }
        if spans.iter().all(Span::is_empty) {
            return Err(CurveError::NoQueries);
        }
        Ok(Curve { instants: Instants::OfPieces(spans.into()), phases: phases.into() })
    }

    /// The curve whose query `n` is due at `instants[n]`, in nanoseconds since the start. It has one phase of this
    /// name.
    pub(super) fn of_instants(instants: Arc<[u64]>, label: &str) -> Result<Curve, CurveError> {
        if let Some(before) = instants.windows(2).position(|pair| pair[0] > pair[1]) {
            return Err(CurveError::Order(before + 1));
        }
        let last_ns = *instants.last().ok_or(CurveError::NoQueries)?;
        let to_ns = Some(last_ns + 1).filter(|end| *end < ENDLESS_NS / 2).ok_or(CurveError::TooLong)?;
        let rate_qps = instants.len() as f64 * 1e9 / to_ns as f64;
        let (rate_from_qps, rate_to_qps) = (rate_qps, rate_qps);
        let phase = Phase { label: label.to_owned(), from_ns: 0, to_ns, rate_from_qps, rate_to_qps };
        Ok(Curve { instants: Instants::OfEach(instants), phases: [phase].into() })
    }

    /// When query `n` (counted from 0) is due, in nanoseconds since the start; `None` past the end.
    pub fn due_at(&self, n: u64) -> Option<u64> {
        match &self.instants {
            Instants::OfPieces(spans) => {
                let at = spans.partition_point(|span| span.end <= n);
                spans.get(at).map(|span| span.due_ns(n))
            }
            Instants::OfEach(instants) => instants.get(n as usize).copied(),
        }
    }

    /// How many queries are due at `t_ns` or before: exactly those with `due_at(n) <= t_ns`.
    pub fn due_by(&self, t_ns: u64) -> u64 {
        match &self.instants {
            // Piece 0 starts at 0, so a piece always precedes the partition point.
            Instants::OfPieces(spans) => {
                let at = spans.partition_point(|span| span.start_ns <= t_ns);
                spans[..at].last().map_or(0, |span| span.due_by(t_ns))
            }
            Instants::OfEach(instants) => instants.partition_point(|due_ns| *due_ns <= t_ns) as u64,
        }
    }

    /// The scheduled rate at `t_ns`, in queries per second; 0 past the end. For given instants it is their mean rate.
    pub fn rate_at(&self, t_ns: u64) -> f64 {
        match &self.instants {
            Instants::OfPieces(spans) => {
                let at = spans.partition_point(|span| span.start_ns <= t_ns);
                spans[..at].last().map_or(0.0, |span| span.rate_at(t_ns))
            }
            Instants::OfEach(_) => {
                self.phases.iter().find(|phase| t_ns < phase.to_ns).map_or(0.0, |phase| phase.rate_from_qps)
            }
        }
    }

    /// How long the curve lasts, in nanoseconds; `None` where it never ends.
    pub fn duration_ns(&self) -> Option<u64> {
        self.phases.last().map(|phase| phase.to_ns).filter(|end| *end != ENDLESS_NS)
    }

    /// The number of queries of the curve; `None` where it never ends.
    pub fn total(&self) -> Option<u64> {
        self.duration_ns()?;
        match &self.instants {
            Instants::OfPieces(spans) => spans.last().map(|span| span.end),
            Instants::OfEach(instants) => Some(instants.len() as u64),
        }
    }

    /// The phases, in the order of time, without gaps.
    pub fn phases(&self) -> &[Phase] {
        &self.phases
    }

    /// Whether the rate is the same from the start to the end.
    pub fn is_constant(&self) -> bool {
        let rate_qps = self.phases[0].rate_from_qps;
        let is_same = |phase: &Phase| phase.rate_from_qps == rate_qps && phase.rate_to_qps == rate_qps;
        matches!(self.instants, Instants::OfPieces(_)) && self.phases.iter().all(is_same)
    }

    /// The index in [`Curve::phases`] of the phase that contains `t_ns`; past the end, the last one.
    pub fn phase_at(&self, t_ns: u64) -> usize {
        self.phases.partition_point(|phase| phase.from_ns <= t_ns).saturating_sub(1)
    }

    /// A cursor over queries `first`, `first + stride`, `first + 2 stride`, …: a worker's share.
    /// A `stride` of 0 is taken as 1.
    pub fn cursor(&self, first: u64, stride: u64) -> Cursor {
        Cursor::new(self.instants.clone(), first, stride)
    }

    /// The same curve, ending at `end_ns` at the latest.
    pub fn cut_at(&self, end_ns: u64) -> Result<Curve, CurveError> {
        if self.duration_ns().is_some_and(|length| length <= end_ns) {
            return Ok(self.clone());
        }
        let spans = match &self.instants {
            Instants::OfPieces(spans) => spans,
            Instants::OfEach(instants) => {
                let kept = &instants[..instants.partition_point(|due_ns| *due_ns < end_ns)];
                return Curve::of_instants(kept.into(), &self.phases[0].label);
            }
        };
        let kept = self.phases.iter().zip(spans.iter()).take_while(|(phase, _)| phase.from_ns < end_ns);
        Curve::new(
            kept.map(|(phase, span)| match phase.to_ns {
                to_ns if to_ns > end_ns => Piece {
                    rate_from_qps: phase.rate_from_qps,
                    rate_to_qps: span.rate_at(end_ns),
                    duration_ns: end_ns - phase.from_ns,
                    label: phase.label.clone(),
                },
                to_ns => Piece {
                    rate_from_qps: phase.rate_from_qps,
                    rate_to_qps: phase.rate_to_qps,
                    duration_ns: to_ns - phase.from_ns,
                    label: phase.label.clone(),
                },
            })
            .collect(),
        )
    }
}

/// Checks the pieces before any of them is used.
fn check(pieces: &[Piece]) -> Result<(), CurveError> {
    if pieces.is_empty() {
        return Err(CurveError::NoPieces);
    }
    if pieces.len() > MAX_PIECES {
        return Err(CurveError::TooManyPieces(pieces.len()));
    }
    for (at, piece) in pieces.iter().enumerate() {
        for rate in [piece.rate_from_qps, piece.rate_to_qps] {
            if !(0.0..=MAX_RATE_QPS).contains(&rate) {
                return Err(CurveError::Rate(rate));
            }
        }
        if piece.duration_ns == 0 {
            return Err(CurveError::NoTime(piece.label.clone()));
        }
        let may_be_endless = at + 1 == pieces.len() && piece.rate_from_qps == piece.rate_to_qps;
        if piece.duration_ns == ENDLESS_NS && !may_be_endless {
            return Err(CurveError::Endless(piece.label.clone()));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;

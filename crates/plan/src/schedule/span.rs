//! One piece of a curve, prepared to compute instants: the queries in it, and when each is due.
//!
//! With `m` queries from the start of the piece, rate `r0` there and acceleration `a`, the instant is
//! the root of `r0 t + a t²/2 = m`. The usual formula subtracts two nearly equal numbers; `2m / (r0 +
//! sqrt(r0² + 2am))` is the same root without that. A falling rate is computed from the end of the piece, as a rising
//! one.

use std::sync::Arc;

use super::piece::{ENDLESS_NS, Piece};

/// The source of the instants of a curve.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Instants {
    /// Computed from pieces, at least one.
    OfPieces(Arc<[Span]>),
    /// Given, ascending.
    OfEach(Arc<[u64]>),
}

/// The number of queries due by some instant. The fraction is separate from the whole number, because at 10^11
/// queries an f64 has only five digits after the point.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Due {
    whole: u64,
    fraction: f64,
    /// The maximum error of `fraction`, in queries.
    doubt: f64,
    endless: bool,
}

impl Due {
    /// Adds the area of one piece.
    pub(super) fn add(&mut self, rate_from_qps: f64, rate_to_qps: f64, duration_ns: u64) {
        if duration_ns == ENDLESS_NS {
            self.endless = rate_from_qps > 0.0;
            return;
        }
        let area = area(rate_from_qps, rate_to_qps, duration_ns);
        self.fraction += area.fract();
        self.whole += area.trunc() as u64 + self.fraction.trunc() as u64;
        self.fraction = self.fraction.fract();
        self.doubt += area * f64::EPSILON;
    }

    /// The first query that is due at this instant or later, and the fraction of a query until then.
    ///
    /// A count that differs from a whole number only by rounding is that number: 0.1 qps for 10 s is one query,
    /// not two.
    fn next_query(self) -> (u64, f64) {
        if self.endless {
            return (u64::MAX, 0.0);
        }
        let near = (SMALLEST_DOUBT + 2.0 * self.doubt).min(0.25);
        if self.fraction <= near {
            (self.whole, 0.0)
        } else if 1.0 - self.fraction <= near {
            (self.whole + 1, 0.0)
        } else {
            (self.whole + 1, 1.0 - self.fraction)
        }
    }
}

/// A piece of the curve with precomputed values. It contains the queries from `first` to before `end`.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Span {
    pub(super) first: u64,
    pub(super) end: u64,
    pub(super) start_ns: u64,
    duration_ns: u64,
    /// The fraction of a query from the start of the piece to the first query, 0 to 1.
    lead: f64,
    /// The time between queries where the rate is constant.
    gap_ns: f64,
    rate_from_qps: f64,
    rate_to_qps: f64,
    /// The change of the rate, in queries per second per second.
    acceleration: f64,
}

impl Span {
    pub(super) fn new(piece: &Piece, start_ns: u64, before: Due, after: Due) -> Span {
        let (first, lead) = before.next_query();
        let (end, _) = after.next_query();
        let (rate_from_qps, rate_to_qps) = (piece.rate_from_qps, piece.rate_to_qps);
        Span {
            first,
            // A piece without a rate has no query.
            end: end.max(first),
            start_ns,
            duration_ns: piece.duration_ns,
            lead,
            gap_ns: SECOND_NS / rate_from_qps,
            rate_from_qps,
            rate_to_qps,
            acceleration: (rate_to_qps - rate_from_qps) / seconds(piece.duration_ns),
        }
    }

    /// The piece with query `n` alone, due at `due_ns`.
    pub(super) fn of_one(n: u64, due_ns: u64) -> Span {
        Span { first: n, end: n + 1, start_ns: due_ns, duration_ns: 1, ..Span::default() }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.first == self.end
    }

    /// When query `n`, which must be in this piece, is due, in nanoseconds since the start of the run.
    #[inline]
    pub(super) fn due_ns(&self, n: u64) -> u64 {
        let to_go = (n - self.first) as f64 + self.lead;
        let offset_ns = if self.rate_from_qps == self.rate_to_qps {
            to_go * self.gap_ns
        } else {
            self.ramp_offset_ns(to_go)
        };
        // The query belongs to this piece: rounding must not move it to the next.
        self.start_ns + ((offset_ns + 0.5) as u64).min(self.duration_ns - 1)
    }

    /// How many queries of the whole curve are due at `t_ns` or before; `t_ns` is not before this piece.
    pub(super) fn due_by(&self, t_ns: u64) -> u64 {
        if t_ns - self.start_ns >= self.duration_ns {
            return self.end;
        }
        let t = seconds(t_ns - self.start_ns);
        let due = self.rate_from_qps * t + self.acceleration * t * t / 2.0;
        // An estimate, corrected step by step for rounding, because it must agree with `due_ns`.
        let estimate = self.first.saturating_add((due - self.lead + 1.0).max(0.0) as u64);
        let mut count = estimate.clamp(self.first, self.end);
        while count < self.end && self.due_ns(count) <= t_ns {
            count += 1;
        }
        while count > self.first && self.due_ns(count - 1) > t_ns {
            count -= 1;
        }
        count
    }

    /// The rate at `t_ns`, which is not before this piece; 0 after it.
    pub(super) fn rate_at(&self, t_ns: u64) -> f64 {
        let offset_ns = t_ns - self.start_ns;
        if offset_ns >= self.duration_ns {
            0.0
        } else if self.rate_from_qps == self.rate_to_qps {
            self.rate_from_qps
        } else {
            self.rate_from_qps + self.acceleration * seconds(offset_ns)
        }
    }

    /// The time in which `to_go` queries become due at a changing rate, in nanoseconds.
    fn ramp_offset_ns(&self, to_go: f64) -> f64 {
        if self.acceleration > 0.0 {
            time_s(self.rate_from_qps, self.acceleration, to_go) * SECOND_NS
        } else {
            let area = area(self.rate_from_qps, self.rate_to_qps, self.duration_ns);
            let back_s = time_s(self.rate_to_qps, -self.acceleration, area - to_go);
            self.duration_ns as f64 - back_s * SECOND_NS
        }
    }
}

/// The time in which `queries` become due at a rate that starts at `rate` and rises by `acceleration`, in seconds.
fn time_s(rate: f64, acceleration: f64, queries: f64) -> f64 {
    if queries <= 0.0 {
        return 0.0;
    }
    2.0 * queries / (rate + (rate * rate + 2.0 * acceleration * queries).sqrt())
}

/// The number of queries of a piece.
fn area(rate_from_qps: f64, rate_to_qps: f64, duration_ns: u64) -> f64 {
    (rate_from_qps + rate_to_qps) / 2.0 * seconds(duration_ns)
}

fn seconds(ns: u64) -> f64 {
    ns as f64 / SECOND_NS
}

const SECOND_NS: f64 = 1e9;

/// A count nearer than this to a whole number is that number: the f64 of a rate like 0.1 is itself not exact.
const SMALLEST_DOUBT: f64 = 1e-9;

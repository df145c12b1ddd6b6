//! Between which values a percentile would be if the generator had added nothing: each printed percentile is the upper
//! end, and what the generator may have added is known.
//!
//! ```text
//!                lower end                 upper end
//!   ─────────────────┼─────────────────────────┼──────► response time
//!                    │◄── at most ours ───────►│ printed
//! ```
//!
//! **Upper end.** Had each query been sent when it was due, a work-conserving server would have answered it no later.
//! So its response time as measured, from the due instant, is an upper bound.
//!
//! **Lower end.** What late sends may have added to the response time of a query is known, those of the queries before
//! it included: see [`Tally::own_delay`]. Without it each response time is a lower bound of the ideal one
//! ([`Tally::response_least`]), and so is each percentile of these.
//!
//! What is not known query by query (what other workers have sent late, how long the kernel took to send) is known for
//! all together. Where K queries may have been delayed by more than ε, these K can be anywhere in the ideal order, and
//! the percentile of N queries is at least that of rank p·N − K, less ε. This holds for every ε, and the highest of
//! these bounds is used.
//!
//! The service time is used where queries have waited for something of ours that is no lateness (an ID, a connection, a
//! local port, the reader of a file): the response time contains that wait.

use crate::exceeded::Exceeded;
use crate::{Arrivals, Evidence, Histogram, Latency, Loss, Quantile, Tally};

/// A percentile with its two ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// As measured and printed.
    pub upper: Quantile,
    /// What it would have been at least without the generator's part.
    pub lower: Quantile,
}

impl Bounds {
    /// A percentile without a part of the generator.
    pub fn exact(value: Quantile) -> Bounds {
        Bounds { upper: value, lower: value }
    }

    /// How much of it is the generator's at the most, in nanoseconds; `None` where the percentile is beyond the timeout
    /// and its lower end is not.
    pub fn ours_ns(&self) -> Option<u64> {
        match (self.upper, self.lower) {
            (Quantile::At(upper_ns), Quantile::At(lower_ns)) => Some(upper_ns.saturating_sub(lower_ns)),
            (Quantile::BeyondTimeout, Quantile::At(_)) => None,
            (_, Quantile::BeyondTimeout) => Some(0),
        }
    }

    /// Whether the ends are too far apart for the percentile to be called the server's: by more than a quarter of it,
    /// and by more than 50 µs.
    pub fn is_wide(&self) -> bool {
        let Quantile::At(upper_ns) = self.upper else { return self.lower != self.upper };
        self.ours_ns().is_none_or(|ours_ns| ours_ns > WIDE_NS.max(upper_ns / WIDE_PART))
    }
}

/// What is known of the generator's part in a run, beside the lateness in its tally.
#[derive(Clone, Copy, Debug, Default)]
pub struct OwnPart<'a> {
    /// Whether the load followed a schedule: in a closed loop nothing is late.
    pub open_loop: bool,
    /// Workers of the run: what one of them sends late may also delay what the others send.
    pub workers: u64,
    /// Whether queries have waited for something of ours that is no lateness.
    pub has_waited: bool,
    /// Whether responses were lost on this host: then any loss may be ours.
    pub loses_answers: bool,
    /// How long after the instant of sending sampled queries have left, by the kernel's stamps; `None` where the kernel
    /// has given none.
    pub departure: Option<&'a Histogram>,
}

impl<'a> OwnPart<'a> {
    /// That of a run with this evidence, of which `arrivals` passed the sockets.
    pub fn of(evidence: &Evidence, arrivals: &'a Arrivals) -> OwnPart<'a> {
        let waits = evidence.id_waits + evidence.connection_waits + evidence.reader_waits;
        OwnPart {
            open_loop: evidence.open_loop,
            workers: evidence.workers,
            has_waited: waits + evidence.connects_without_port > 0,
            loses_answers: evidence.socket_drops.max(arrivals.socket_drops) > 0 || evidence.fragments > 0,
            departure: arrivals.send_stamps.as_deref().map(|stamps| &stamps.delay),
        }
    }

    /// The percentiles of the latency that this run is judged by: the response time in an open loop, the service time
    /// in a closed one.
    pub fn percentiles<'t>(&self, tally: &'t Tally) -> BoundedLatency<'t> {
        self.bounded(tally, if self.open_loop { tally.response_latency() } else { tally.service_latency() })
    }

    /// The same of another latency of these queries.
    pub fn bounded<'t>(&self, tally: &'t Tally, latency: Latency<'t>) -> BoundedLatency<'t> {
        let is_response = std::ptr::eq(latency.answered, &tally.response);
        let least = Latency { answered: &tally.response_least, ..latency };
        let (base, delays) = match () {
            () if !self.open_loop => (latency, vec![(0, 0)]),
            () if self.has_waited => (tally.service_latency(), self.delays(tally)),
            // Records of before it was counted do not have it.
            () if is_response && least.count() == latency.count() => (least, self.delays_by_others(tally)),
            () => (latency, self.delays(tally)),
        };
        BoundedLatency {
            latency,
            base,
            ranks: Ranks::of(base),
            delays,
            departures: departures(self.departure, latency.count()),
            lost: Loss::of(tally, self.loses_answers).ours,
            // In the TCP part of a fallback, the wait is within the service time too.
            is_bounded: !(self.has_waited && tally.fallback.is_some()),
        }
    }

    /// For each delay of ours that occurred, and for none: how many queries it was exceeded for.
    fn delays(&self, tally: &Tally) -> Vec<(u64, u64)> {
        self.exceeded(tally, |count, behind| count.saturating_add(behind))
    }

    /// The same of the delays that a worker makes for the queries of the others.
    fn delays_by_others(&self, tally: &Tally) -> Vec<(u64, u64)> {
        if self.workers <= 1 { vec![(0, 0)] } else { self.exceeded(tally, |_, behind| behind) }
    }

    /// The same of as many queries as `of` makes of those that their own worker has delayed, and of those that others
    /// may have: as many for each other worker as were sent in time behind late ones.
    fn exceeded(&self, tally: &Tally, of: impl Fn(u64, u64) -> u64) -> Vec<(u64, u64)> {
        // A record of before they were counted has the lateness only.
        let own = if tally.own_delay.count() == 0 { &tally.lateness } else { &tally.own_delay };
        let late = Exceeded::of(&tally.lateness);
        let others = self.workers.saturating_sub(1);
        let exceeded = |delay_ns: u64, count: u64| {
            let behind = count.saturating_sub(late.above(delay_ns));
            (of(count, behind.saturating_mul(others)), delay_ns)
        };
        let own = Exceeded::of(own);
        let steps = own.steps.iter().map(|(to_ns, above)| exceeded(*to_ns, *above));
        std::iter::once(exceeded(0, own.total)).chain(steps).collect()
    }
}

/// A latency whose percentiles have ends.
pub struct BoundedLatency<'t> {
    latency: Latency<'t>,
    /// What the lower ends are taken from.
    base: Latency<'t>,
    ranks: Ranks,
    /// How many queries may have been delayed by more than each delay.
    delays: Vec<(u64, u64)>,
    /// How many may have left later than each time after their instant of sending.
    departures: Vec<(u64, u64)>,
    /// Lost queries that may be ours.
    lost: u64,
    is_bounded: bool,
}

impl BoundedLatency<'_> {
    /// The percentile `q`; `None` where too few queries are beyond it.
    pub fn at(&self, q: f64) -> Option<Bounds> {
        let upper = self.latency.percentile(q)?;
        Some(Bounds { upper, lower: self.lower(self.latency.rank(q)).min(upper) })
    }

    /// The longest of all queries; beyond the timeout where one was not answered. `None` where there is none.
    pub fn longest(&self) -> Option<Bounds> {
        if self.latency.unanswered == 0 {
            return self.slowest();
        }
        Some(Bounds { upper: Quantile::BeyondTimeout, lower: self.lower(self.latency.count()) })
    }

    /// The longest of the answered queries.
    pub fn slowest(&self) -> Option<Bounds> {
        let upper = Quantile::At(self.latency.answered.exact()?.max_ns);
        Some(Bounds { upper, lower: self.lower(self.latency.answered.count()).min(upper) })
    }

    /// The shortest of the answered queries.
    pub fn shortest(&self) -> Option<Bounds> {
        let upper = Quantile::At(self.latency.answered.exact()?.min_ns);
        Some(Bounds { upper, lower: self.lower(1).min(upper) })
    }

    /// The mean of the answered queries: without what may have been added to all of them.
    pub fn mean(&self) -> Option<Bounds> {
        let upper = Quantile::At(self.latency.answered.mean_ns()?);
        let base_ns = self.base.answered.mean_ns().filter(|_| self.is_bounded).unwrap_or(0);
        let queries = self.latency.count();
        let added_ns = sum_ns(&self.delays, queries).saturating_add(sum_ns(&self.departures, queries));
        let added_ns = added_ns / u128::from(self.latency.answered.count().max(1));
        let lower = Quantile::At(base_ns.saturating_sub(u64::try_from(added_ns).unwrap_or(u64::MAX)));
        Some(Bounds { upper, lower: lower.min(upper) })
    }

    /// The lower end of what has this rank.
    fn lower(&self, rank: u64) -> Quantile {
        if !self.is_bounded {
            return Quantile::At(0);
        }
        let all = self.delays.iter().flat_map(|delay| self.departures.iter().map(move |more| (delay, more)));
        let lower = all.map(|((delayed, delay_ns), (more, more_ns))| {
            let moved = delayed.saturating_add(*more).saturating_add(self.lost);
            self.ranks.at(rank.saturating_sub(moved)).less(delay_ns.saturating_add(*more_ns))
        });
        lower.max().unwrap_or(Quantile::At(0))
    }
}

/// The sum of `queries` durations of which is known how many are longer than each of these, at the most.
fn sum_ns(exceeded: &[(u64, u64)], queries: u64) -> u128 {
    let first = exceeded.first().map_or(0, |(_, ns)| u128::from(queries) * u128::from(*ns));
    let steps = exceeded.windows(2).map(|pair| u128::from(pair[0].0) * u128::from(pair[1].1 - pair[0].1));
    first + steps.sum::<u128>()
}

impl Quantile {
    /// So much earlier. Nothing is less than beyond the timeout, of whose latency only that is known.
    fn less(self, ns: u64) -> Quantile {
        match self {
            Quantile::At(at_ns) => Quantile::At(at_ns.saturating_sub(ns)),
            Quantile::BeyondTimeout => Quantile::BeyondTimeout,
        }
    }
}

/// The latency of each rank.
struct Ranks {
    /// The first duration of each bucket, and the queries up to its end.
    buckets: Vec<(u64, u64)>,
    total: u64,
}

impl Ranks {
    fn of(latency: Latency<'_>) -> Ranks {
        let mut up_to = 0_u64;
        let counted = latency.answered.buckets().map(|bucket| {
            up_to = up_to.saturating_add(bucket.count);
            (bucket.from_ns, up_to)
        });
        Ranks { buckets: counted.collect(), total: latency.count() }
    }

    /// That of a rank, 1 for the shortest: the lower end of its bucket, because it is part of a lower bound. Rank 0 is
    /// before all.
    fn at(&self, rank: u64) -> Quantile {
        if rank == 0 || self.total == 0 {
            return Quantile::At(0);
        }
        let place = self.buckets.partition_point(|(_, up_to)| *up_to < rank);
        self.buckets.get(place).map_or(Quantile::BeyondTimeout, |(from_ns, _)| Quantile::At(*from_ns))
    }
}

/// How many of `queries` queries may have left later than each time after their instant of sending, from samples.
/// Without samples nothing is said.
fn departures(sampled: Option<&Histogram>, queries: u64) -> Vec<(u64, u64)> {
    let Some(sampled) = sampled.filter(|sampled| sampled.count() > 0) else { return vec![(0, 0)] };
    let scaled = |above: u64| (queries as f64 * above as f64 / sampled.count() as f64).ceil() as u64;
    let mut kept: Vec<(u64, u64)> = Vec::new();
    for (to_ns, above) in Exceeded::of(sampled).steps {
        // Each halves what is beyond: more of them make the bound no better.
        if above == 0 || kept.last().is_none_or(|(last, _)| scaled(above) <= last / 2) {
            kept.push((scaled(above), to_ns));
        }
    }
    kept
}

/// Percentiles whose ends are closer than this are told apart by few users' limits.
pub(crate) const WIDE_NS: u64 = 50_000;

/// The part of a percentile that its ends may be apart.
const WIDE_PART: u64 = 4;

#[cfg(test)]
mod imaginary;
#[cfg(test)]
mod tests;

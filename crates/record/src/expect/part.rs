//! The counters of a run, of a step or of an interval, and what is known of the generator's part in them.

use dnsdyno_measure::{Arrivals, Evidence, Loss, OwnPart, OwnShare, Tally};

use super::at_end::{AtEnd, may_lose_any};
use crate::figures::rate_qps;
use crate::{Digest, Header, Headline, Row};

/// What figures are made of.
#[derive(Clone, Copy)]
pub(super) struct Part<'a> {
    pub(super) header: &'a Header,
    pub(super) tally: &'a Tally,
    pub(super) arrivals: &'a Arrivals,
    pub(super) socket_drops: u64,
    /// Intervals that lack the part of an agent.
    pub(super) partial_intervals: u64,
    /// The divisor of rates.
    pub(super) over_ns: u64,
    pub(super) own: OwnPart<'a>,
    pub(super) loss: Loss,
    /// How many times the rate may have been as high, where a window held it back.
    pub(super) rate_factor: f64,
}

impl<'a> Part<'a> {
    /// The part of a run in progress whose queries were due within `over_ns`.
    pub(super) fn in_progress(
        header: &'a Header,
        tally: &'a Tally,
        arrivals: &'a Arrivals,
        over_ns: u64,
    ) -> Part<'a> {
        let evidence = Evidence {
            open_loop: header.headline == Headline::Response,
            workers: u64::from(header.workers),
            ..Evidence::default()
        };
        Part::new(header, tally, arrivals, over_ns, OwnPart::of(&evidence, arrivals), 1.0)
    }

    /// The whole run.
    pub(super) fn of_run(digest: &'a Digest) -> Part<'a> {
        let (tally, arrivals) = (digest.tally(), digest.arrivals());
        let in_evidence = digest.sum.as_ref().map_or(0, |sum| sum.evidence.socket_drops);
        let part = Part::of_digest(digest, tally, arrivals, digest.sending_ns());
        let socket_drops = arrivals.socket_drops.max(in_evidence);
        Part { socket_drops, partial_intervals: digest.partial_intervals(), ..part }
    }

    /// A row of its summary.
    pub(super) fn of_row(digest: &'a Digest, row: &'a Row) -> Part<'a> {
        let part = Part::of_digest(digest, &row.tally, &row.arrivals, row.covered_ns);
        Part { partial_intervals: row.partial_intervals, ..part }
    }

    fn of_digest(digest: &'a Digest, tally: &'a Tally, arrivals: &'a Arrivals, over_ns: u64) -> Part<'a> {
        let rate_factor = digest.own_share().map_or(1.0, |share| share.rate_factor());
        let part =
            Part::new(&digest.header, tally, arrivals, over_ns, digest.own_part(arrivals), rate_factor);
        if may_lose_any(&digest.warnings()) { part.losing_any() } else { part }
    }

    fn new(
        header: &'a Header,
        tally: &'a Tally,
        arrivals: &'a Arrivals,
        over_ns: u64,
        own: OwnPart<'a>,
        rate_factor: f64,
    ) -> Part<'a> {
        let loss = Loss::of(tally, own.loses_answers);
        let (socket_drops, partial_intervals) = (arrivals.socket_drops, 0);
        Part { header, tally, arrivals, socket_drops, partial_intervals, over_ns, own, loss, rate_factor }
    }

    /// The same with what the end of the run tells. In a closed loop it tells whether our own share is large, and not
    /// how large it was here.
    pub(super) fn known(self, at_end: AtEnd) -> Part<'a> {
        let part = if at_end.loses_any { self.losing_any() } else { self };
        let rate_factor = match (self.own.open_loop, at_end.slows_loop) {
            (true, _) => 1.0,
            (false, true) => f64::INFINITY,
            (false, false) => OwnShare::WIDE_FACTOR,
        };
        let own = OwnPart { has_waited: self.own.has_waited || at_end.has_waited, ..part.own };
        Part { own, rate_factor, ..part }
    }

    /// The same where any loss may be ours.
    fn losing_any(self) -> Part<'a> {
        let own = OwnPart { loses_answers: true, ..self.own };
        Part { loss: Loss::of(self.tally, true), own, ..self }
    }

    /// The rate of answers that the generator may have held back, at the most. In an open loop each query that it has
    /// lost would have been answered; in a closed one each has also kept its place from others, for a whole timeout.
    pub(super) fn rate_without_ours(&self) -> f64 {
        let answered = self.tally.ends.answered;
        match self.own.open_loop {
            true => rate_qps(answered + self.loss.ours, self.over_ns) * self.rate_factor,
            false if self.loss.ours > 0 => f64::INFINITY,
            false => rate_qps(answered, self.over_ns) * self.rate_factor,
        }
    }
}

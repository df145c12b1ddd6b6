//! Whether a rate was held: the one definition, for steps, runs, pages and searches.
//!
//! A rate is held if, by the end of its load, the server has answered what it was asked: at most 1 query in 1,000 was
//! lost, and no queue grew. A queue that grows is a loss that has not come yet: a server that answers a share too
//! little makes each second of load wait that share of a second longer (Little's law). A queue that stays, however
//! long, is held: it makes responses late, and that is what the percentiles say.
//!
//! ```text
//!   mean latency    ▁▂▃▄▅▆▇█  grows     ▇▇▆▇▇▇▆▇  stays     ▁▁▁▁▁█▂▁  a moment
//!   held            no                  yes                 yes
//! ```

use dnsdyno_measure::Tally;

use crate::figures::{judged, lost};
use crate::trend::Point;
use crate::{Digest, Header, Row};

/// What says whether a rate was held.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Load {
    /// The share of its queries without an answer in time.
    pub loss: f64,
    /// How the queue grew; `None` where it did not, or where the load was too short to tell.
    pub growth: Option<Growth>,
}

/// How the mean latency has grown, where that is the growth of a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Growth {
    /// By so much.
    pub by_ns: u64,
    /// Within this time.
    pub within_ns: u64,
}

impl Growth {
    /// What is left of it without so much latency; `None` where that is no growth of a queue.
    pub fn without(self, ns: u64) -> Option<Growth> {
        let by_ns = self.by_ns.saturating_sub(ns);
        (by_ns as f64 > self.within_ns as f64 * TOO_LITTLE).then_some(Growth { by_ns, ..self })
    }

    /// What the latency grows by in each second of load: what the server answers too little, as a share of what it is
    /// asked.
    pub fn ns_per_s(self) -> u64 {
        (self.by_ns as f64 * 1e9 / self.within_ns.max(1) as f64) as u64
    }
}

impl Load {
    /// Of a run with one rate.
    pub fn of_run(digest: &Digest) -> Load {
        Load { loss: loss(digest.tally()), growth: growth_of_run(digest) }
    }

    /// Of a row, which is a step of a load or an interval.
    pub fn of_row(header: &Header, row: &Row) -> Load {
        Load { loss: loss(&row.tally), growth: growth_of_step(header, row) }
    }

    /// Whether the rate was held.
    pub fn is_held(&self) -> bool {
        self.loss <= HELD_LOSS && self.growth.is_none()
    }
}

fn loss(tally: &Tally) -> f64 {
    match judged(tally) {
        0 => 0.0,
        whole => lost(tally) as f64 / whole as f64,
    }
}

/// How the queue has grown in a run with one rate: at the server, or before it where a full window held queries back
/// until after the end of the schedule. Queries that a slow host sent so late are no queue of the server.
pub fn growth_of_run(digest: &Digest) -> Option<Growth> {
    let at_server = growth(&points(digest));
    let within_ns = digest.schedule_ns();
    let before_it = Growth { by_ns: digest.sending_ns().saturating_sub(within_ns), within_ns };
    at_server.or(before_it.without(0).filter(|_| digest.tally().held_back > 0))
}

/// How the queue has grown up to each row of a ramp, within the time of the rows before it that are needed to tell.
pub fn growth_of_ramp(digest: &Digest) -> Vec<Option<Growth>> {
    let points = points(digest);
    let until = |at: usize| points.get((at + 1).checked_sub(LEAST_POINTS)?..=at).and_then(growth);
    (0..points.len()).map(until).collect()
}

/// Those of the rows.
fn points(digest: &Digest) -> Vec<Point> {
    let point = |row: &Row| Point::of(row.from_ns, digest.header.latency_of(&row.tally));
    digest.rows().iter().map(point).collect()
}

/// How the queue has grown in a step, from the parts of it that its row has.
pub fn growth_of_step(header: &Header, row: &Row) -> Option<Growth> {
    let phase = header.phases.get(header.phase_at(row.from_ns)?)?;
    growth(&row.trend.points(phase))
}

/// By how much the mean latency has grown from the first quarter to the last, where that is the growth of a queue.
/// `None` where it is steady, or where there are too few points to tell.
fn growth(points: &[Point]) -> Option<Growth> {
    let points: Vec<&Point> = points.iter().filter(|point| point.answered > 0).collect();
    let quarter = points.len() / LEAST_POINTS;
    if quarter == 0 {
        return None;
    }
    let mean_ns = |points: &[&Point]| {
        let sum_ns = points.iter().fold(0, |sum: u128, point| sum.saturating_add(point.sum_ns));
        let answered = points.iter().fold(0, |sum: u64, point| sum.saturating_add(point.answered));
        sum_ns as f64 / answered.max(1) as f64
    };
    let (first, last) = (points.get(..quarter)?, points.get(points.len() - quarter..)?);
    // The time between the middles of the two quarters.
    let within_ns = last.first()?.from_ns.saturating_sub(first.first()?.from_ns);
    let by_ns = mean_ns(last) - mean_ns(first);
    // The queue of a server below its limit comes and goes: only one that has no time to go is told.
    let rises = points.windows(2).filter(|two| mean_ns(&two[1..]) > mean_ns(&two[..1])).count();
    let grows_on = rises * 4 >= 3 * (points.len() - 1);
    (by_ns > within_ns as f64 * TOO_LITTLE && grows_on).then_some(Growth { by_ns: by_ns as u64, within_ns })
}

/// With fewer points it is not known whether a queue grows.
const LEAST_POINTS: usize = 4;

/// A rate is held where at most this share of its queries was lost.
pub const HELD_LOSS: f64 = 0.001;

/// A server that answers so much less than it is asked does not hold the load: the latency grows by 3 ms in each
/// second.
const TOO_LITTLE: f64 = 0.003;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Interval;
    use crate::sample::{SECOND, header, interval};

    const MS: u64 = 1_000_000;

    /// A second with 1,000 queries of this mean latency in ms.
    fn second(index: u64, mean_ms: u64) -> Interval {
        let mut second = interval(index, 1_000, 0);
        second.tally.response.clear();
        (0..1_000).for_each(|_| second.tally.response.record(mean_ms * MS));
        second
    }

    /// A run of such seconds.
    fn run(means_ms: &[u64]) -> Digest {
        let mut digest = Digest::new(header(0));
        (0..).zip(means_ms).for_each(|(index, mean_ms)| digest.interval(&second(index, *mean_ms)));
        digest
    }

    #[test]
    fn a_long_queue_that_stays_is_held() {
        let stays = Load::of_run(&run(&[900, 905, 898, 901, 903, 899, 902, 900]));
        assert!(stays.is_held(), "{stays:?}");
    }

    #[test]
    fn a_queue_that_grows_is_not_held_although_every_query_was_answered() {
        // The server answers 5 % too little.
        let grows = Load::of_run(&run(&[25, 75, 125, 175, 225, 275, 325, 375]));
        assert_eq!(grows.loss, 0.0);
        assert_eq!(grows.growth.map(Growth::ns_per_s), Some(50 * MS));
        assert!(!grows.is_held());
    }

    #[test]
    fn a_growth_that_may_be_ours_is_none_of_the_server() {
        let growth = Growth { by_ns: 40 * MS, within_ns: 10 * SECOND };
        assert_eq!(growth.without(5 * MS).map(|growth| growth.by_ns), Some(35 * MS));
        assert_eq!(growth.without(10 * MS), None);
    }

    #[test]
    fn a_queue_that_fills_and_then_stays_is_held() {
        assert!(Load::of_run(&run(&[50, 150, 250, 250, 251, 249, 250, 250])).is_held());
    }

    #[test]
    fn a_stall_at_the_end_is_no_queue_that_grows() {
        assert!(Load::of_run(&run(&[1, 1, 1, 1, 1, 1, 1, 500])).is_held());
        assert!(Load::of_run(&run(&[400, 1, 1, 1, 1, 1, 1, 1])).is_held());
    }

    #[test]
    fn a_growth_within_the_noise_of_a_server_is_none() {
        assert!(Load::of_run(&run(&[1, 2, 3, 4, 5, 6, 7, 8])).is_held());
    }

    #[test]
    fn a_short_load_is_judged_by_its_losses_alone() {
        assert!(Load::of_run(&run(&[100, 200, 300])).is_held());
        let mut digest = Digest::new(header(0));
        digest.interval(&interval(0, 1_000, 2));
        let lost = Load::of_run(&digest);
        assert_eq!((lost.loss, lost.is_held()), (0.002, false));
    }

    #[test]
    fn a_rate_whose_queries_were_held_back_until_after_its_end_is_not_held() {
        let mut digest = run(&[1, 1]);
        let evidence = |scheduled_until_ns| dnsdyno_measure::Evidence {
            open_loop: true,
            schedule_ns: 2 * SECOND,
            scheduled_until_ns,
            ..Default::default()
        };
        let ended = |digest: &mut Digest, until_ns| {
            digest.sum(&crate::Sum {
                tally: digest.tally().clone(),
                schedule_ns: 2 * SECOND,
                evidence: evidence(until_ns),
                ..Default::default()
            });
        };
        ended(&mut digest, 2 * SECOND + 5 * MS);
        assert_eq!((digest.sending_ns(), growth_of_run(&digest)), (2 * SECOND, None));
        ended(&mut digest, 5 * SECOND);
        // By a host that is too slow.
        assert_eq!((digest.sending_ns(), growth_of_run(&digest)), (5 * SECOND, None));
        let mut held_back = digest.sum.clone().unwrap();
        held_back.tally.held_back = 9;
        digest.sum(&held_back);
        assert_eq!(growth_of_run(&digest).map(Growth::ns_per_s), Some(1_500 * MS));
    }

    #[test]
    fn a_ramp_holds_its_rates_until_the_latency_rises_on() {
        let digest = run(&[1, 1, 1, 1, 1, 60, 160, 300, 450]);
        let growths = growth_of_ramp(&digest);
        let is_held: Vec<bool> = growths.iter().map(Option::is_none).collect();
        assert_eq!(is_held, [true, true, true, true, true, true, true, false, false]);
    }

    #[test]
    fn each_step_of_a_load_is_judged_by_the_time_within_it() {
        // Steps of eight seconds: the latency jumps with the load in both, and grows on in the second.
        let mut header = header(2);
        for (number, phase) in (0..).zip(&mut header.phases) {
            (phase.from_ns, phase.to_ns) = (number * 8 * SECOND, (number + 1) * 8 * SECOND);
        }
        let means_ms = [10; 8].into_iter().chain((0..8).map(|n| 100 + n * 40));
        let mut digest = Digest::new(header);
        (0..).zip(means_ms).for_each(|(index, mean_ms)| digest.interval(&second(index, mean_ms)));
        let held: Vec<bool> =
            digest.rows().iter().map(|row| Load::of_row(&digest.header, row).is_held()).collect();
        assert_eq!(held, [true, false]);
    }
}

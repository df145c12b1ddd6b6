//! Load against response: what was answered at each rate that was asked, and up to which rate the server held.
//!
//! ```text
//!   answered/s           ┌─ held
//!     │              ·  ·│·  ·  ·
//!     │           ·      │            a point: a rate of a stair, one of the bins of a ramp,
//!     │        ·         │            or a run of one rate
//!     └──────────────────┴────────── asked/s
//! ```

use std::collections::BTreeMap;

use dnsdyno_measure::Quantile;
use dnsdyno_record::held::{Growth, growth_of_run};
use dnsdyno_record::{Digest, Header, Row};

use crate::figures::{is_partial, judged, lost, rate_qps, row_rate, sent, share};
use crate::steps::{Steps, asks_for_rates};

/// What was answered at each rate, lowest first.
#[derive(Clone, Debug, PartialEq)]
pub struct LoadResponse {
    /// Ascending by the rate asked.
    pub points: Vec<LoadPoint>,
    /// Where the server stopped to hold the rate.
    pub knee: Knee,
}

/// What was answered at one rate.
#[derive(Clone, Debug, PartialEq)]
pub struct LoadPoint {
    /// The rate asked.
    pub asked_qps: f64,
    /// The rate sent.
    pub sent_qps: f64,
    /// The rate answered in time.
    pub answered_qps: f64,
    /// The rate of queries without an answer in time, for any reason.
    pub failed_qps: f64,
    /// The answered share of the queries, 0 to 1.
    pub answered_share: Option<f64>,
    /// The average latency of the answered queries.
    pub avg_ns: Option<u64>,
    /// The median of the headline latency.
    pub p50: Option<Quantile>,
    /// Its 99th percentile.
    pub p99: Option<Quantile>,
    /// First instant at this rate.
    pub from_ns: u64,
    /// First instant after it.
    pub to_ns: u64,
}

/// Where a server stops to hold the rate, by [`HELD_RULE`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Knee {
    /// The highest rate that was held; `None` where the lowest was not.
    pub held_qps: Option<f64>,
    /// The first that was not; `None` where all were held.
    pub lost_qps: Option<f64>,
}

/// How the knee is found. METHODOLOGY.md has the same words.
pub const HELD_RULE: &str = "held: the rates from the lowest up to the first at which more than 1 query in 1,000 was \
                             lost, or the queue grew";

/// Collects the points of a run while its intervals are read.
#[derive(Debug)]
pub struct PointsOfLoad {
    header: Header,
    knee: Knee,
    by_rate: ByRate,
}

#[derive(Debug)]
enum ByRate {
    /// Of a load in steps.
    Steps(Vec<LoadPoint>),
    /// Of a ramp: the intervals in bins of the rate asked, each this wide.
    Bins { width_qps: f64, bins: BTreeMap<u64, Row> },
}

impl PointsOfLoad {
    /// For this run; `None` where it had one rate only.
    pub fn new(digest: &Digest) -> Option<PointsOfLoad> {
        let steps = Steps::of(digest)?;
        let header = digest.header.clone();
        let by_rate = match (digest.rows_are_phases(), steps.rates()) {
            (false, [lowest, .., highest]) => ByRate::Bins {
                width_qps: (highest.asked_qps - lowest.asked_qps) / BINS,
                bins: BTreeMap::new(),
            },
            (_, rates) => {
                let points = rates.iter().filter_map(|rate| Some(LoadPoint::of(&header, &rate.row()?)));
                ByRate::Steps(points.collect())
            }
        };
        Some(PointsOfLoad { knee: Knee::of(&steps), header, by_rate })
    }

    /// Adds an interval.
    pub fn add(&mut self, row: &Row) {
        let ByRate::Bins { width_qps, bins } = &mut self.by_rate else { return };
        if judged(&row.tally) == 0 || row.partial_intervals > 0 {
            return;
        }
        let bin = (row.asked_qps() / *width_qps) as u64;
        bins.entry(bin).and_modify(|known| known.merge(row)).or_insert_with(|| row.clone());
        // Rates far above those of the rows: wider bins hold them as well.
        while bins.len() > MOST_BINS {
            *width_qps *= 2.0;
            for (bin, row) in std::mem::take(bins) {
                bins.entry(bin / 2).and_modify(|known| known.merge(&row)).or_insert(row);
            }
        }
    }

    /// The points, after the last interval.
    pub fn finish(self) -> LoadResponse {
        let points = match self.by_rate {
            ByRate::Steps(points) => points,
            ByRate::Bins { bins, .. } => bins.values().map(|row| LoadPoint::of(&self.header, row)).collect(),
        };
        LoadResponse { points, knee: self.knee }
    }
}

/// Collects runs of one rate each, which together have a curve.
#[derive(Debug, Default)]
pub struct RatesOfRuns {
    runs: Vec<RateOfRun>,
}

/// A run of one rate.
#[derive(Debug)]
struct RateOfRun {
    header: Header,
    /// The whole run, over the time in which its queries were due.
    row: Row,
    growth: Option<Growth>,
    /// That time as a share of the time over which they were sent.
    in_time: f64,
}

impl RatesOfRuns {
    /// Adds a run; one that had several rates, or was asked for none, is no point.
    pub fn add(&mut self, digest: &Digest) {
        if asks_for_rates(digest) && !is_partial(digest) && Steps::of(digest).is_none() {
            let in_time = digest.schedule_ns() as f64 / digest.sending_ns().max(1) as f64;
            self.runs.extend(whole(digest).map(|row| RateOfRun {
                header: digest.header.clone(),
                row,
                growth: growth_of_run(digest),
                in_time,
            }));
        }
    }

    /// The points; `None` where the runs are fewer than two, or had the same rate.
    pub fn finish(self) -> Option<LoadResponse> {
        let steps = Steps::of_parts(self.runs.iter().map(|run| (&run.row, run.growth)).collect());
        if steps.rates().len() < 2 {
            return None;
        }
        let mut points: Vec<_> = self.runs.iter().map(RateOfRun::point).collect();
        points.sort_by(|one, other| one.asked_qps.total_cmp(&other.asked_qps));
        Some(LoadResponse { points, knee: Knee::of(&steps) })
    }
}

impl RateOfRun {
    fn point(&self) -> LoadPoint {
        let point = LoadPoint::of(&self.header, &self.row);
        let (sent_qps, answered_qps) = (point.sent_qps * self.in_time, point.answered_qps * self.in_time);
        LoadPoint { sent_qps, answered_qps, ..point }
    }
}

/// A run as one row, over the time in which its queries were due.
fn whole(digest: &Digest) -> Option<Row> {
    let (first, others) = digest.rows().split_first()?;
    let mut row = first.clone();
    others.iter().for_each(|other| row.merge(other));
    row.covered_ns = digest.schedule_ns();
    (judged(&row.tally) > 0).then_some(row)
}

impl LoadPoint {
    fn of(header: &Header, row: &Row) -> LoadPoint {
        let (tally, latency) = (&row.tally, header.latency_of(&row.tally));
        LoadPoint {
            asked_qps: row.asked_qps(),
            sent_qps: row_rate(row, sent(tally)).unwrap_or_default(),
            answered_qps: row_rate(row, tally.ends.answered).unwrap_or_default(),
            failed_qps: rate_qps(lost(tally), row.covered_ns),
            answered_share: share(tally.ends.answered, judged(tally)),
            avg_ns: latency.answered.mean_ns(),
            p50: latency.percentile(0.5),
            p99: latency.percentile(0.99),
            from_ns: row.from_ns,
            to_ns: row.to_ns,
        }
    }
}

impl Knee {
    fn of(steps: &Steps<'_>) -> Knee {
        Knee {
            held_qps: steps.held().last().map(|rate| rate.asked_qps),
            lost_qps: steps.not_held().next().map(|rate| rate.asked_qps),
        }
    }
}

/// Bins between the lowest and the highest row of a ramp.
const BINS: f64 = 40.0;

/// Rates beyond those of the rows have further ones.
const MOST_BINS: usize = 100;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    fn points_of(digest: &Digest, rows: impl IntoIterator<Item = Row>) -> LoadResponse {
        let mut points = PointsOfLoad::new(digest).unwrap();
        rows.into_iter().for_each(|row| points.add(&row));
        points.finish()
    }

    #[test]
    fn a_stair_has_a_point_for_each_rate_and_its_knee() {
        let load = points_of(&sample::stair(), []);
        let asked: Vec<_> = load.points.iter().map(|point| point.asked_qps).collect();
        assert_eq!(asked, [2_000.0, 3_000.0, 4_000.0]);
        assert_eq!(load.knee, Knee { held_qps: Some(3_000.0), lost_qps: Some(4_000.0) });
        let last = &load.points[2];
        assert_eq!((last.answered_qps, last.failed_qps), (3_905.0, 95.0));
        assert_eq!((last.answered_share, last.p99), (Some(7_810.0 / 8_000.0), Some(Quantile::BeyondTimeout)));
        assert_eq!((last.from_ns, last.to_ns), (4 * sample::SECOND, 6 * sample::SECOND));
    }

    #[test]
    fn a_ramp_has_its_intervals_in_bins_of_the_rate_and_loses_no_query() {
        let header = Header { phases: Vec::new(), ..sample::header() };
        let mut digest = Digest::new(header);
        let seconds: Vec<_> =
            (0..300).map(|i| sample::second(i, 100 + 10 * i, i.saturating_sub(250))).collect();
        seconds.iter().for_each(|second| digest.interval(second));
        let load = points_of(&digest, seconds.iter().map(Row::of));
        assert!((35..=50).contains(&load.points.len()), "{}", load.points.len());
        assert!(load.points.is_sorted_by(|one, next| one.asked_qps < next.asked_qps));
        let over_s = |point: &LoadPoint| (point.to_ns - point.from_ns) as f64 * 1e-9;
        let answered: f64 = load.points.iter().map(|point| point.answered_qps * over_s(point)).sum();
        assert_eq!(answered.round() as u64, digest.tally().ends.answered);
        let knee = load.knee;
        assert!(knee.held_qps < knee.lost_qps && knee.lost_qps > Some(2_600.0), "{knee:?}");
    }

    #[test]
    fn runs_of_one_rate_each_are_points_of_one_curve() {
        let over_runs = |digests: &[&Digest]| {
            let mut rates = RatesOfRuns::default();
            digests.iter().for_each(|digest| rates.add(digest));
            rates.finish()
        };
        let run = |qps, lost| sample::at_rates(&[(qps, lost), (qps, lost)]);
        let [fast, slow, middle] = [run(3_000, 60), run(1_000, 0), run(2_000, 1)];
        let load = over_runs(&[&fast, &slow, &middle]).unwrap();
        let asked: Vec<_> = load.points.iter().map(|point| point.asked_qps).collect();
        assert_eq!(asked, [1_000.0, 2_000.0, 3_000.0]);
        assert_eq!(load.knee, Knee { held_qps: Some(2_000.0), lost_qps: Some(3_000.0) });
        assert_eq!(over_runs(&[&fast]), None);
        assert_eq!(over_runs(&[&fast, &run(3_000, 0)]), None);
        assert_eq!(over_runs(&[&sample::closed_loop(), &sample::stair(), &fast]), None);
    }

    #[test]
    fn a_run_of_one_rate_has_no_points_of_its_own() {
        assert!(PointsOfLoad::new(&sample::at_rates(&[(1_000, 0), (1_000, 0)])).is_none());
        assert!(PointsOfLoad::new(&sample::closed_loop()).is_none());
    }
}

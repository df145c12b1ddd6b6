//! The parts of a load that has several rates, such as the steps of a stair or the parts of a ramp: what each server
//! has answered at each rate. The average over such a load is the rate of no moment.

use dnsdyno_record::figures::{judged, lost, row_rate};
use dnsdyno_record::{Digest, Row};
use dnsdyno_report::rates;

use super::figures::{OfRun, Percentiles, Spread};
use crate::compare::ComparedRun;

/// A rate of a load, over the runs of a cell.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// The rate asked, per second.
    pub asked_qps: f64,
    /// The rate answered, per second.
    pub answered: Option<Spread>,
    /// The answered share of the queries, 0 to 1.
    pub share: Option<Spread>,
    /// The latency that the load is judged by.
    pub percentiles: Percentiles,
}

/// A rate of one run.
struct Part {
    asked_qps: f64,
    answered: Option<f64>,
    share: Option<f64>,
    percentiles: OfRun,
}

/// The rates of the runs of a cell, lowest first; none where the load has one rate, or where the runs differ in them.
pub(super) fn steps(runs: &[ComparedRun]) -> Vec<Step> {
    // The rows are large, and only their figures are kept.
    let parts_of = |run: &ComparedRun| -> Vec<Part> {
        rates(&run.digest).iter().map(|row| Part::of(&run.digest, row)).collect()
    };
    let of_runs: Vec<Vec<Part>> = runs.iter().map(parts_of).collect();
    let count = of_runs.first().map_or(0, Vec::len);
    if of_runs.iter().any(|parts| parts.len() != count) {
        return Vec::new();
    }
    let step = |at: usize| {
        let parts: Vec<&Part> = of_runs.iter().filter_map(|parts| parts.get(at)).collect();
        let percentiles: Vec<OfRun> = parts.iter().map(|part| part.percentiles).collect();
        Step {
            asked_qps: parts.iter().map(|part| part.asked_qps).fold(0.0, f64::max),
            answered: Spread::of_values(parts.iter().map(|part| part.answered)),
            share: Spread::of_values(parts.iter().map(|part| part.share)),
            percentiles: Percentiles::of(&percentiles),
        }
    };
    (0..count).map(step).collect()
}

impl Part {
    fn of(run: &Digest, row: &Row) -> Part {
        let judged = judged(&row.tally);
        Part {
            asked_qps: row.asked_qps(),
            answered: row_rate(row, row.tally.ends.answered),
            share: (judged > 0).then(|| 1.0 - lost(&row.tally) as f64 / judged as f64),
            percentiles: OfRun::of(run, Some(row)),
        }
    }
}

//! The course of a run from its start: what a server has answered, and how fast, in each of its intervals. Of a load
//! that finds an empty cache, the way from cold to steady.

use dnsdyno_record::figures::row_rate;
use dnsdyno_record::{Digest, Row};

use super::figures::{OfRun, Percentiles, Spread};
use crate::compare::ComparedRun;

/// An interval of a load, over the runs of a cell.
#[derive(Clone, Debug, PartialEq)]
pub struct Moment {
    /// From when, in ns from the start of the run.
    pub from_ns: u64,
    /// Until when.
    pub to_ns: u64,
    /// The rate answered, per second, of the queries that were due in it.
    pub answered: Option<Spread>,
    /// The latency that the load is judged by.
    pub percentiles: Percentiles,
}

/// The intervals of the runs of a cell that all of them have whole; those of a closed loop, which ends when its queries
/// do, may be fewer in some.
pub(super) fn course(runs: &[ComparedRun]) -> Vec<Moment> {
    let whole: Vec<Vec<&Row>> = runs.iter().map(|run| whole_rows(&run.digest)).collect();
    let count = whole.iter().map(Vec::len).min().unwrap_or(0);
    let moment = |at: usize| {
        let rows = || runs.iter().zip(&whole).filter_map(|(run, rows)| Some((run, *rows.get(at)?)));
        let first = rows().next()?.1;
        let percentiles: Vec<OfRun> = rows().map(|(run, row)| OfRun::of(&run.digest, Some(row))).collect();
        Some(Moment {
            from_ns: first.from_ns,
            to_ns: first.to_ns,
            answered: Spread::of_values(rows().map(|(_, row)| row_rate(row, row.tally.ends.answered))),
            percentiles: Percentiles::of(&percentiles),
        })
    };
    (0..count).filter_map(moment).collect()
}

/// The rows that the load covers whole, from the first one on.
fn whole_rows(run: &Digest) -> Vec<&Row> {
    let rows = run.rows();
    let longest = rows.iter().map(|row| row.covered_ns).max().unwrap_or(0);
    rows.iter().take_while(|row| row.covered_ns == longest).collect()
}

/// From when on a server has answered evenly: the first interval from which each answers at least nine tenths of the
/// mean of the last quarter. `None` where that is shorter than three intervals, or nothing was answered there.
pub fn steady_from_ns(course: &[Moment]) -> Option<u64> {
    let rates: Vec<f64> = course.iter().filter_map(|moment| Some(moment.answered?.median.value)).collect();
    let last = rates.get(rates.len() - rates.len() / 4..).filter(|last| last.len() >= FEWEST)?;
    let least = last.iter().sum::<f64>() / last.len() as f64 * EVEN;
    let is_below = |rate: &f64| *rate < least;
    let first = rates.iter().rposition(is_below).map_or(0, |at| at + 1);
    (least > 0.0).then(|| course.get(first).map(|moment| moment.from_ns))?
}

/// Intervals whose mean is no accident.
const FEWEST: usize = 3;

/// What is answered of the mean by an interval that is as the others.
const EVEN: f64 = 0.9;

#[cfg(test)]
mod tests {
    use super::*;

    fn moments(rates: &[f64]) -> Vec<Moment> {
        let moment = |(second, rate): (u64, &f64)| Moment {
            from_ns: second * 1_000_000_000,
            to_ns: (second + 1) * 1_000_000_000,
            answered: Spread::of_values([Some(*rate)].into_iter()),
            percentiles: Percentiles::default(),
        };
        (0..).zip(rates).map(moment).collect()
    }

    #[test]
    fn a_course_is_steady_from_where_nothing_is_lower_any_more() {
        let steady = |rates: &[f64]| steady_from_ns(&moments(rates)).map(|ns| ns / 1_000_000_000);
        let rising = [10.0, 40.0, 95.0, 60.0, 100.0, 102.0, 99.0, 100.0, 101.0, 98.0, 100.0, 100.0];
        assert_eq!(steady(&rising), Some(4));
        assert_eq!(steady(&[100.0; 12]), Some(0));
        assert_eq!(steady(&[0.0; 12]), None);
        assert_eq!(steady(&[100.0; 8]), None, "a quarter of it is too short");
        assert_eq!(steady(&[]), None);
    }
}

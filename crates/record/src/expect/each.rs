//! Expectations on each part of a run: each step of its load or, where it has no steps, each interval.
//!
//! A part in which no query was due, such as a pause between bursts, is not judged.

use std::path::Path;

use dnsdyno_plan::expect::Expectation;

use super::holds::holds;
use super::measured::{Measured, Part, measure};
use crate::{Header, Interval, Line, ReadError, Row, RunReader};

/// Judges the parts of a run, interval by interval.
#[derive(Clone, Debug)]
pub struct Each {
    header: Header,
    /// The part that is not complete yet.
    current: Option<Row>,
    expectations: Vec<(Expectation, EachOutcome)>,
}

/// The outcome of an expectation on each part of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct EachOutcome {
    /// The expectation as given.
    pub text: String,
    /// What the parts are.
    pub kind: PartKind,
    /// Parts judged.
    pub judged: u64,
    /// Parts that did not meet it.
    pub missed: u64,
    /// The first of these, at most [`MAX_MISSED_KEPT`].
    pub first_missed: Vec<Missed>,
}

/// What the parts of a run are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PartKind {
    /// Steps, or other phases of the load.
    Step,
    /// Intervals of the record.
    Interval,
}

/// A part that did not meet an expectation.
#[derive(Clone, Debug, PartialEq)]
pub struct Missed {
    /// The step, where it has a name.
    pub label: Option<String>,
    /// Its first instant.
    pub from_ns: u64,
    /// The instant after its last.
    pub to_ns: u64,
    /// Its figure.
    pub measured: Measured,
}

impl EachOutcome {
    /// Whether each part met it. Where there was no part to judge, it is not met.
    pub fn passed(&self) -> bool {
        self.judged > 0 && self.missed == 0
    }
}

impl Each {
    /// A judge of these expectations for the run of this header.
    pub fn new(header: &Header, expectations: &[Expectation]) -> Each {
        let kind = if header.rows_are_phases() { PartKind::Step } else { PartKind::Interval };
        let outcome = |expectation: &Expectation| EachOutcome {
            text: expectation.text.clone(),
            kind,
            judged: 0,
            missed: 0,
            first_missed: Vec::new(),
        };
        let expectations = expectations.iter().map(|each| (each.clone(), outcome(each))).collect();
        Each { header: header.clone(), current: None, expectations }
    }

    /// Adds a settled interval; the intervals come in order.
    pub fn interval(&mut self, interval: &Interval) {
        if self.expectations.is_empty() || interval.tally.scheduled == 0 {
            return;
        }
        let row = Row::of(interval);
        match &mut self.current {
            Some(current) if is_same_part(&self.header, current, &row) => current.merge(&row),
            current => {
                let complete = current.replace(row);
                complete.into_iter().for_each(|row| self.judge(&row, u64::MAX));
            }
        }
    }

    /// The outcomes, after the last interval. The last query was due before `schedule_ns`.
    pub fn finish(mut self, schedule_ns: u64) -> Vec<EachOutcome> {
        self.current.take().into_iter().for_each(|row| self.judge(&row, schedule_ns));
        self.expectations.into_iter().map(|(_, outcome)| outcome).collect()
    }

    fn judge(&mut self, row: &Row, schedule_ns: u64) {
        let phase = self.header.phase_at(row.from_ns).filter(|_| self.header.rows_are_phases());
        let phase = phase.and_then(|phase| self.header.phases.get(phase));
        let to_ns = phase.map_or(row.to_ns, |phase| phase.to_ns).min(schedule_ns);
        let over_ns = to_ns.saturating_sub(row.from_ns);
        let part = Part::new(&self.header, &row.tally, &row.arrivals, over_ns);
        for (expectation, outcome) in &mut self.expectations {
            let measured = measure(expectation.metric, part);
            outcome.judged += 1;
            if holds(expectation, &measured) {
                continue;
            }
            outcome.missed += 1;
            if outcome.first_missed.len() < MAX_MISSED_KEPT {
                let label = phase.map(|phase| phase.label.clone());
                outcome.first_missed.push(Missed { label, from_ns: row.from_ns, to_ns, measured });
            }
        }
    }
}

/// The outcomes of `expectations` on each part of the record at `path`, a run's folder or its file. It reads every
/// interval.
///
/// # Errors
/// As [`RunReader`].
pub fn evaluate_each(expectations: &[Expectation], path: &Path) -> Result<Vec<EachOutcome>, ReadError> {
    if expectations.is_empty() {
        return Ok(Vec::new());
    }
    let reader = RunReader::open(path)?;
    let mut each = Each::new(reader.header(), expectations);
    let mut schedule_ns = u64::MAX;
    for line in reader {
        match line? {
            Line::Interval(interval) => each.interval(&interval),
            Line::Sum(sum) => schedule_ns = sum.schedule_ns,
            Line::Event(_) => {}
        }
    }
    Ok(each.finish(schedule_ns))
}

fn is_same_part(header: &Header, current: &Row, next: &Row) -> bool {
    header.rows_are_phases() && header.phase_at(current.from_ns) == header.phase_at(next.from_ns)
}

/// How many parts that did not meet an expectation are kept; the rest is only counted. All steps of a run are.
pub const MAX_MISSED_KEPT: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::{SECOND, header, interval};

    fn each(seconds: &[(u64, u64)], phases: u64, schedule_ns: u64, texts: &[&str]) -> Vec<EachOutcome> {
        let expectations: Vec<_> =
            texts.iter().map(|text| Expectation::parse_of_part(text).unwrap()).collect();
        let mut each = Each::new(&header(phases), &expectations);
        seconds
            .iter()
            .enumerate()
            .for_each(|(i, (due, lost))| each.interval(&interval(i as u64, *due, *lost)));
        each.finish(schedule_ns)
    }

    #[test]
    fn a_load_with_steps_is_judged_by_step_and_another_by_interval() {
        let seconds = [(100, 0), (100, 2), (200, 0), (200, 0), (300, 3), (300, 3)];
        // Steps of two seconds: 1 %, 0 %, 1 %.
        let steps = each(&seconds, 3, 6 * SECOND, &["loss<1%", "loss<=1%"]);
        assert_eq!((steps[0].kind, steps[0].judged, steps[0].missed), (PartKind::Step, 3, 2));
        assert_eq!(steps[0].first_missed[1].label.as_deref(), Some("step 2"));
        assert!(steps[1].passed() && !steps[0].passed());
        let intervals = each(&seconds, 0, 6 * SECOND, &["loss<1%"]);
        assert_eq!((intervals[0].kind, intervals[0].judged, intervals[0].missed), (PartKind::Interval, 6, 3));
        let missed = &intervals[0].first_missed[0];
        assert_eq!((missed.from_ns, missed.to_ns), (SECOND, 2 * SECOND));
        assert_eq!(missed.measured, Measured::Part { part: 2, whole: 100 });
    }

    #[test]
    fn a_part_without_due_queries_is_not_judged_and_one_without_answers_fails() {
        let outcomes =
            each(&[(100, 0), (0, 0), (100, 100), (0, 0)], 0, 3 * SECOND, &["p50<1s", "loss<=100%"]);
        assert_eq!((outcomes[0].judged, outcomes[0].missed), (2, 1));
        assert_eq!(outcomes[0].first_missed[0].measured, Measured::Nothing("no query was answered"));
        assert!(outcomes[1].passed());
        assert!(!each(&[(0, 0)], 0, 0, &["loss<1%"])[0].passed());
    }

    #[test]
    fn the_rate_of_the_last_interval_is_over_the_time_in_which_queries_were_due() {
        let outcomes = each(&[(100, 0), (50, 0)], 0, SECOND + SECOND / 2, &["rate>=100", "rate<=100"]);
        assert!(outcomes.iter().all(EachOutcome::passed), "{outcomes:?}");
    }

    #[test]
    fn the_number_of_kept_parts_is_limited() {
        let outcome = &each(&[(10, 10); 100], 0, 100 * SECOND, &["loss<1%"])[0];
        assert_eq!((outcome.missed, outcome.first_missed.len()), (100, MAX_MISSED_KEPT));
    }
}

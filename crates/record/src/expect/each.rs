//! Expectations on each part of a run: each step of its load or, where it has no steps, each interval.
//!
//! A part in which no query was due, such as a pause between bursts, is not judged, nor is one that the end of the run
//! has cut short so that it has too few queries for a percentile.
//!
//! What the end of the run tells of the generator's part is not known while the parts are judged, and their counters
//! are not kept: so each is judged twice, as if that were nothing and as if it were the worst.

use std::path::Path;

use dnsdyno_plan::expect::{Expectation, Metric};

use super::at_end::AtEnd;
use super::decision::{Decision, decide};
use super::measured::{Ends, Measured, measure};
use super::part::Part;
use crate::{Header, Interval, Line, ReadError, Row, RunReader};

/// Judges the parts of a run, interval by interval.
#[derive(Clone, Debug)]
pub struct Each {
    header: Header,
    /// The part that is not complete yet.
    current: Option<Row>,
    expectations: Vec<Expected>,
}

/// An expectation with its outcome, for either end of the run.
#[derive(Clone, Debug)]
struct Expected {
    expectation: Expectation,
    /// Where nothing of ours becomes known at the end.
    at_best: EachOutcome,
    /// Where the worst becomes known.
    at_worst: EachOutcome,
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
    /// Parts of which the run does not say whether they met it.
    pub undecided: u64,
    /// The first of both, at most [`MAX_MISSED_KEPT`].
    pub first_missed: Vec<Missed>,
    /// Parts that were cut short, with too few queries to be judged.
    pub cut_short: u64,
}

/// What the parts of a run are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PartKind {
    /// Steps, or other phases of the load.
    Step,
    /// Intervals of the record.
    Interval,
}

/// A part that did not meet an expectation, or of which that is not known.
#[derive(Clone, Debug, PartialEq)]
pub struct Missed {
    /// The step, where it has a name.
    pub label: Option<String>,
    /// Its first instant.
    pub from_ns: u64,
    /// The instant after its last.
    pub to_ns: u64,
    /// Its figure.
    pub ends: Ends,
    /// What came of it.
    pub decision: Decision,
}

impl EachOutcome {
    /// Met by each part, not met by one of them, or not known. Where there was no part to judge, it is not met.
    pub fn decision(&self) -> Decision {
        match () {
            () if self.judged == 0 || self.missed > 0 => Decision::NotMet,
            () if self.undecided > 0 => Decision::Undecided,
            () => Decision::Met,
        }
    }

    fn add(&mut self, decision: Decision, missed: impl FnOnce() -> Missed) {
        self.judged += 1;
        match decision {
            Decision::Met => return,
            Decision::NotMet => self.missed += 1,
            Decision::Undecided => self.undecided += 1,
        }
        if self.first_missed.len() < MAX_MISSED_KEPT {
            self.first_missed.push(missed());
        }
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
            undecided: 0,
            first_missed: Vec::new(),
            cut_short: 0,
        };
        let expected = |expectation: &Expectation| Expected {
            expectation: expectation.clone(),
            at_best: outcome(expectation),
            at_worst: outcome(expectation),
        };
        let expectations = expectations.iter().map(expected).collect();
        Each { header: header.clone(), current: None, expectations }
    }

    /// Adds a settled interval; the intervals come in order.
    pub fn interval(&mut self, interval: &Interval) {
        if self.expectations.is_empty() || (interval.tally.scheduled == 0 && !interval.is_partial()) {
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
    pub fn finish(mut self, schedule_ns: u64, at_end: AtEnd) -> Vec<EachOutcome> {
        if let Some(row) = self.current.take() {
            self.judge(&row, schedule_ns);
        }
        let expected = self.expectations.into_iter();
        expected.map(|expected| expected.outcome(at_end)).collect()
    }

    fn judge(&mut self, row: &Row, schedule_ns: u64) {
        let phase = self.header.phase_at(row.from_ns).filter(|_| self.header.rows_are_phases());
        let phase = phase.and_then(|phase| self.header.phases.get(phase));
        let whole_to_ns = phase.map_or(row.to_ns, |phase| phase.to_ns);
        let to_ns = whole_to_ns.min(schedule_ns);
        let over_ns = to_ns.saturating_sub(row.from_ns).min(row.covered_ns);
        let part = Part::in_progress(&self.header, &row.tally, &row.arrivals, over_ns);
        let part = Part { partial_intervals: row.partial_intervals, ..part };
        let place = |ends: Ends, decision| {
            let label = phase.map(|phase| phase.label.clone());
            Missed { label, from_ns: row.from_ns, to_ns, ends, decision }
        };
        for expected in &mut self.expectations {
            expected.judge(part, to_ns < whole_to_ns, &place);
        }
    }
}

impl Expected {
    fn judge(&mut self, part: Part<'_>, is_cut: bool, place: &impl Fn(Ends, Decision) -> Missed) {
        let both = [(AtEnd::default(), &mut self.at_best), (AtEnd::WORST, &mut self.at_worst)];
        for (at_end, outcome) in both {
            let ends = measure(self.expectation.metric, &part.known(at_end));
            if is_cut && matches!(ends.measured, Measured::TooFew { .. }) {
                outcome.cut_short += 1;
                continue;
            }
            let decision = decide(&self.expectation, &ends);
            outcome.add(decision, || place(ends, decision));
        }
    }

    /// The outcome for what the end of the run has told.
    fn outcome(self, at_end: AtEnd) -> EachOutcome {
        let is_touched = match self.expectation.metric {
            Metric::Duration(..) => at_end.has_waited || at_end.loses_any,
            Metric::Queries(_) => at_end.loses_any,
            Metric::AnsweredRate => at_end.loses_any || at_end.slows_loop,
            _ => false,
        };
        if is_touched { self.at_worst } else { self.at_best }
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
    let (mut schedule_ns, mut at_end) = (u64::MAX, AtEnd::default());
    for line in reader {
        match line? {
            Line::Interval(interval) => each.interval(&interval),
            Line::Sum(sum) => (schedule_ns, at_end) = (sum.schedule_ns, AtEnd::of(&sum)),
            Line::Event(_) => {}
        }
    }
    Ok(each.finish(schedule_ns, at_end))
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
        each.finish(schedule_ns, AtEnd::default())
    }

    #[test]
    fn a_load_with_steps_is_judged_by_step_and_another_by_interval() {
        let seconds = [(100, 0), (100, 2), (200, 0), (200, 0), (300, 3), (300, 3)];
        // Steps of two seconds: 1 %, 0 %, 1 %.
        let steps = each(&seconds, 3, 6 * SECOND, &["loss<1%", "loss<=1%"]);
        assert_eq!((steps[0].kind, steps[0].judged, steps[0].missed), (PartKind::Step, 3, 2));
        assert_eq!(steps[0].first_missed[1].label.as_deref(), Some("step 2"));
        assert!(steps[1].decision().is_met() && !steps[0].decision().is_met());
        let intervals = each(&seconds, 0, 6 * SECOND, &["loss<1%"]);
        assert_eq!((intervals[0].kind, intervals[0].judged, intervals[0].missed), (PartKind::Interval, 6, 3));
        let missed = &intervals[0].first_missed[0];
        assert_eq!((missed.from_ns, missed.to_ns), (SECOND, 2 * SECOND));
        assert_eq!(missed.ends.measured, Measured::Part { part: 2, whole: 100 });
    }

    #[test]
    fn a_part_without_due_queries_is_not_judged_and_one_without_answers_fails() {
        let outcomes =
            each(&[(100, 0), (0, 0), (100, 100), (0, 0)], 0, 3 * SECOND, &["p50<1s", "loss<=100%"]);
        assert_eq!((outcomes[0].judged, outcomes[0].missed), (2, 1));
        assert_eq!(outcomes[0].first_missed[0].ends.measured, Measured::Nothing("no query was answered"));
        assert!(outcomes[1].decision().is_met());
        assert!(!each(&[(0, 0)], 0, 0, &["loss<1%"])[0].decision().is_met());
    }

    #[test]
    fn the_rate_of_the_last_interval_is_over_the_time_in_which_queries_were_due() {
        let outcomes = each(&[(100, 0), (50, 0)], 0, SECOND + SECOND / 2, &["rate>=100", "rate<=100"]);
        assert!(outcomes.iter().all(|outcome| outcome.decision().is_met()), "{outcomes:?}");
    }

    #[test]
    fn the_number_of_kept_parts_is_limited() {
        let outcome = &each(&[(10, 10); 100], 0, 100 * SECOND, &["loss<1%"])[0];
        assert_eq!((outcome.missed, outcome.first_missed.len()), (100, MAX_MISSED_KEPT));
    }

    #[test]
    fn a_percentile_is_judged_where_enough_queries_are_beyond_it_and_a_part_cut_short_is_left_out() {
        let outcome = &each(&[(1_000, 0), (999, 0)], 0, 2 * SECOND, &["p99<5ms"])[0];
        assert_eq!((outcome.judged, outcome.missed, outcome.cut_short), (2, 1, 0));
        assert_eq!(
            outcome.first_missed[0].ends.measured,
            Measured::TooFew { q: 0.99, needed: 1_000, judged: 999 }
        );
        let cut = &each(&[(1_000, 0), (999, 0)], 0, 2 * SECOND - 1, &["p99<5ms"])[0];
        assert_eq!((cut.judged, cut.cut_short, cut.decision()), (1, 1, Decision::Met));
        let only = &each(&[(999, 0)], 0, SECOND / 2, &["p99<5ms"])[0];
        assert_eq!((only.judged, only.decision()), (0, Decision::NotMet));
    }

    #[test]
    fn a_part_with_late_sends_is_undecided_where_they_may_explain_it() {
        let expectations = ["p99<5ms", "p99<500us"].map(|text| Expectation::parse_of_part(text).unwrap());
        let mut each = Each::new(&header(0), &expectations);
        each.interval(&interval(0, 1_000, 0));
        // Twenty queries were sent, and so answered, 9 ms late.
        let mut late = interval(1, 980, 0);
        late.tally.ends.answered += 20;
        (0..20).for_each(|_| late.tally.response.record(10_000_000));
        (0..980).for_each(|_| late.tally.lateness.record(1_000));
        (0..20).for_each(|_| late.tally.lateness.record(9_000_000));
        each.interval(&late);
        let outcomes = each.finish(2 * SECOND, AtEnd::default());
        let [of_5ms, of_500us] = &outcomes[..] else { panic!("{outcomes:?}") };
        assert_eq!((of_5ms.missed, of_5ms.undecided, of_5ms.decision()), (0, 1, Decision::Undecided));
        assert_eq!(of_5ms.first_missed[0].from_ns, SECOND);
        assert_eq!((of_500us.missed, of_500us.decision()), (2, Decision::NotMet));
    }

    #[test]
    fn what_the_end_tells_of_our_part_counts_for_each_part() {
        let of = |text: &str, at_end: AtEnd| {
            let mut each = Each::new(&header(0), &[Expectation::parse_of_part(text).unwrap()]);
            let mut second = interval(0, 1_000, 20);
            // The rest of the millisecond was a wait for an ID.
            (0..980).for_each(|_| second.tally.service.record(50_000));
            each.interval(&second);
            each.finish(SECOND, at_end).remove(0).decision()
        };
        let lost = AtEnd { loses_any: true, ..AtEnd::default() };
        let waited = AtEnd { has_waited: true, ..AtEnd::default() };
        assert_eq!([of("loss<1%", AtEnd::default()), of("loss<1%", waited)], [Decision::NotMet; 2]);
        assert_eq!([of("loss<1%", lost), of("rate>990", lost)], [Decision::Undecided; 2]);
        assert_eq!(
            [of("p50<0.1ms", AtEnd::default()), of("p50<0.1ms", waited)],
            [Decision::NotMet, Decision::Undecided]
        );
    }
}

//! The expectations that a run was made with: they are kept in its plan, so that its record can be judged again.

use std::path::Path;

use dnsdyno_plan::expect::{ExpectError, Expectation};
use dnsdyno_plan::{Draft, PlanError};

use super::{Decision, EachOutcome, Outcome, evaluate, evaluate_each};
use crate::{Digest, PLAN_FILE, ReadError};

/// What is expected of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Expectations {
    /// Of the whole run.
    pub of_run: Vec<Expectation>,
    /// Of each part of it.
    pub of_each: Vec<Expectation>,
}

/// The outcomes of [`Expectations`], in their order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Judged {
    /// Of those on the whole run.
    pub of_run: Vec<Outcome>,
    /// Of those on each part of it.
    pub of_each: Vec<EachOutcome>,
}

/// Why the expectations of a run cannot be read from its plan.
#[derive(Debug, thiserror::Error)]
pub enum KeptError {
    /// The plan cannot be read.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// One of its expectations cannot be read.
    #[error("the plan of the run: {0}")]
    Expectation(#[from] ExpectError),
}

impl Expectations {
    /// Those of the plan in the folder of a run; none where it has no plan, such as a record that is a file alone.
    ///
    /// # Errors
    /// There is a plan, and it cannot be read.
    pub fn of_plan(run: &Path) -> Result<Expectations, KeptError> {
        let plan = run.join(PLAN_FILE);
        if !plan.is_file() {
            return Ok(Expectations::default());
        }
        let draft = Draft::read_kept(&plan)?;
        Ok(Expectations {
            of_run: read(draft.expect, Expectation::parse)?,
            of_each: read(draft.expect_each, Expectation::parse_of_part)?,
        })
    }

    /// Whether a run must have answers even if no expectation says so.
    pub fn need_answers(&self) -> bool {
        !self.of_run.iter().any(Expectation::is_on_answers)
    }

    /// Judges the record at `run`, whose digest is `digest`. For expectations on each part it reads every interval.
    ///
    /// # Errors
    /// As [`RunReader`](crate::RunReader).
    pub fn judge(&self, digest: &Digest, run: &Path) -> Result<Judged, ReadError> {
        let of_each = evaluate_each(&self.of_each, run)?;
        Ok(Judged { of_run: evaluate(&self.of_run, digest), of_each })
    }
}

impl Judged {
    /// Not met where one is not met, undecided where one of the others is; met where there is none.
    pub fn decision(&self) -> Decision {
        Decision::of_all(
            self.of_run
                .iter()
                .map(|outcome| outcome.decision)
                .chain(self.of_each.iter().map(EachOutcome::decision)),
        )
    }
}

fn read(
    texts: Option<Vec<String>>,
    parse: impl Fn(&str) -> Result<Expectation, ExpectError>,
) -> Result<Vec<Expectation>, ExpectError> {
    texts.unwrap_or_default().iter().map(|text| parse(text)).collect()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::sample::{header, interval};

    #[test]
    fn the_expectations_of_the_plan_judge_its_record() {
        let run = tempfile::tempdir().unwrap();
        fs::write(run.path().join(PLAN_FILE), "expect = [\"loss<1%\", \"p50<1s\"]\n").unwrap();
        let kept = Expectations::of_plan(run.path()).unwrap();
        let mut digest = Digest::new(header(0));
        digest.interval(&interval(0, 100, 2));
        let judged = kept.judge(&digest, run.path()).unwrap();
        let decisions: Vec<_> = judged.of_run.iter().map(|outcome| outcome.decision).collect();
        assert_eq!(decisions, [Decision::NotMet, Decision::Met]);
        assert!(judged.decision() == Decision::NotMet && !kept.need_answers());
    }

    #[test]
    fn a_run_without_a_plan_has_none_and_a_damaged_plan_says_where() {
        let run = tempfile::tempdir().unwrap();
        assert_eq!(Expectations::of_plan(run.path()).unwrap(), Expectations::default());
        assert!(Judged::default().decision().is_met() && Expectations::default().need_answers());
        for damaged in ["expect = [\"p99\"]\n", "expect = \n", "expected = []\n"] {
            fs::write(run.path().join(PLAN_FILE), damaged).unwrap();
            let told = Expectations::of_plan(run.path()).unwrap_err().to_string();
            assert!(told.contains("plan"), "{told}");
        }
    }
}

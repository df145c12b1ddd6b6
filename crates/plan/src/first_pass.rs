//! How the questions of a source are asked before the load, so that its answers can be checked under it.

use dnsdyno_text::notation::{format_duration_ns, parse_duration_ns, parse_rate_qps};

use crate::draft::Draft;
use crate::error::PlanError;
use crate::part::Part;
use crate::values::{filled, limited};

/// The passes through the questions of a source before the load.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FirstPass {
    /// Queries per second.
    pub rate_qps: f64,
    /// For how long, at the most, in nanoseconds.
    pub lasts_ns: u64,
}

impl FirstPass {
    /// The pass of a draft; `None` where it has none.
    pub(crate) fn of(draft: &mut Draft) -> Result<Option<FirstPass>, PlanError> {
        if draft.check_answers != Some(true) || draft.replay.is_some() {
            return Ok(None);
        }
        let rate_qps = filled("first-pass-rate", &mut draft.first_pass_rate, "5k", parse_rate_qps)?;
        let lasts_ns = filled("first-pass-for", &mut draft.first_pass_for, "20s", parse_duration_ns)?;
        limited("first-pass-for", lasts_ns, SECOND_NS / 10..=3_600 * SECOND_NS, format_duration_ns)?;
        Ok(Some(FirstPass { rate_qps, lasts_ns }))
    }

    /// That of one of the processes that make the load together: each asks all questions, at its share of the rate.
    pub fn of_part(self, part: Part) -> FirstPass {
        FirstPass { rate_qps: self.rate_qps * part.fraction(), ..self }
    }

    /// How many of so many questions are asked, and how often each: more often where there is time, because answers
    /// that change by chance may be the same twice.
    pub fn passes(&self, questions: usize) -> (usize, u64) {
        let queries = (self.rate_qps * self.lasts_ns as f64 / SECOND_NS as f64) as u64;
        let asked = (queries / LEAST_PASSES).clamp(1, MOST_QUESTIONS).min(questions as u64);
        (asked as usize, (queries / asked.max(1)).clamp(LEAST_PASSES, MOST_PASSES))
    }
}

/// Each question is asked at least so often: the answers that differ are those that change.
const LEAST_PASSES: u64 = 2;

/// More often tells little more: of answers that are one of two by chance, one in 128 is the same each time.
const MOST_PASSES: u64 = 8;

/// Questions that are kept with their answers: some hundred megabytes.
const MOST_QUESTIONS: u64 = 4_000_000;

const SECOND_NS: u64 = 1_000_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_questions_are_asked_often_and_of_many_the_first_twice() {
        let pass = FirstPass { rate_qps: 5_000.0, lasts_ns: 20 * SECOND_NS };
        assert_eq!(pass.passes(10), (10, 8));
        assert_eq!(pass.passes(20_000), (20_000, 5));
        assert_eq!(pass.passes(50_000), (50_000, 2));
        assert_eq!(pass.passes(1_000_000), (50_000, 2));
        assert_eq!(FirstPass { rate_qps: 1.0, lasts_ns: SECOND_NS }.passes(5), (1, 2));
        assert_eq!(pass.passes(0), (0, 8));
    }
}

//! Holds the answers of a run against those that the server gave to the same questions before the load.

use dnsdyno_measure::AnswerChecks;
use dnsdyno_wire::{AnswerDigest, FLAG_TC, peek};

/// What is known of the answers to the questions of a source.
#[derive(Debug, Default)]
pub struct KnownAnswers {
    /// Which question each query of the source asks.
    pub question_of: Box<[u32]>,
    /// What is known of each question; of those beyond it, nothing was asked.
    pub known: Box<[Known]>,
}

/// What is known of the answer to a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Known {
    /// It was the same each time.
    Answer(AnswerDigest),
    /// It was not always the same.
    Changing,
    /// There was none, or too few to tell, or one that is truncated or cannot be read.
    Unanswered,
}

impl KnownAnswers {
    /// What is known of the answer to a query; `None` if it was not asked for.
    fn of(&self, query: u32) -> Option<Known> {
        let question = *self.question_of.get(query as usize)?;
        self.known.get(question as usize).copied()
    }
}

/// The checks of a worker.
pub(crate) struct Checker<'a> {
    known: &'a KnownAnswers,
    pub(crate) checks: AnswerChecks,
}

impl<'a> Checker<'a> {
    pub(crate) fn new(known: &'a KnownAnswers) -> Self {
        Checker { known, checks: AnswerChecks::default() }
    }

    /// Whether the answer to a query is known to be wrong.
    pub(crate) fn is_wrong(&mut self, query: u32, response: &[u8]) -> bool {
        let AnswerChecks { right, wrong, .. } = &mut self.checks;
        let expected = match self.known.of(query) {
            Some(Known::Answer(expected)) => expected,
            Some(Known::Changing) => {
                self.checks.not_checked_changing += 1;
                return false;
            }
            Some(Known::Unanswered) => {
                self.checks.not_checked_unanswered += 1;
                return false;
            }
            None => {
                self.checks.not_checked_not_asked += 1;
                return false;
            }
        };
        match peek(response) {
            Ok(peeked) if peeked.flags & FLAG_TC != 0 => {
                self.checks.not_checked_truncated += 1;
                false
            }
            Ok(peeked) if AnswerDigest::of_peeked(&peeked, response) == Ok(expected) => {
                *right += 1;
                false
            }
            // Also one whose records cannot be read.
            _ => {
                *wrong += 1;
                true
            }
        }
    }
}

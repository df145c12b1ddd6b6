//! What a replay has read from its capture, and how its answers compare with the recorded ones.

use crate::CaptureCounts;
use crate::counter::counters;

counters! {
    /// What a replay has read from its capture.
    #[derive(Copy, Eq)]
    pub struct ReplayCounts {
        /// Queries read, in all passes.
        pub queries: u64,
        /// Source addresses among them.
        pub clients: u64,
        /// Responses that were passed over; where answers are compared, those without a query before them.
        pub responses: u64,
        /// Queries to other servers than those asked for.
        pub to_other_servers: u64,
        /// Queries without one readable question.
        pub malformed: u64,
        /// Queries without a response in the capture; only where answers are compared.
        pub without_recorded_answer: u64,
        /// What was read from the file.
        pub capture: CaptureCounts,
    }
}

counters! {
    /// Answers, compared with those that were recorded for the same query.
    #[derive(Copy, Eq)]
    pub struct AnswerCounts {
        /// The same RCODE and the same records.
        pub same: u64,
        /// Another RCODE or other records, neither better nor worse.
        pub different: u64,
        /// A usable answer where the recorded one was an error.
        pub better: u64,
        /// An error where the recorded answer was usable.
        pub worse: u64,
        /// No answer where one was recorded.
        pub unanswered: u64,
        /// An answer where none was recorded.
        pub only_now: u64,
        /// Not compared: the comparison was slower than the run.
        pub not_compared: u64,
    }
}

counters! {
    /// Answers under load, compared with those that the server gave to the same questions before the load. The wrong
    /// ones are an end of their queries, `answered_wrong`.
    #[derive(Copy, Eq)]
    pub struct AnswerChecks {
        /// Different queries of the source.
        pub questions: u64,
        /// Those that got the same answer each time that they were asked before the load.
        pub questions_known: u64,
        /// Those that got answers which differ: rotating or random ones. They cannot be checked.
        pub questions_changing: u64,
        /// Those that got no answer, or too few to tell, or one that is truncated or cannot be read.
        pub questions_unanswered: u64,
        /// Those that were not asked before the load, for want of time.
        pub questions_not_asked: u64,
        /// Answers under load that are right.
        pub right: u64,
        /// Answers under load that are wrong.
        pub wrong: u64,
        /// Answers under load to a question whose answers change.
        pub not_checked_changing: u64,
        /// Answers under load to a question without an answer before the load.
        pub not_checked_unanswered: u64,
        /// Answers under load to a question that was not asked before it.
        pub not_checked_not_asked: u64,
        /// Answers under load that are truncated.
        pub not_checked_truncated: u64,
    }
}

impl AnswerChecks {
    /// The checks of two generators of one load. Each has asked the same questions before it, and the figures of these
    /// are those of the one that has learned more.
    pub fn joined(self, other: AnswerChecks) -> AnswerChecks {
        let (mut more, less) = match self.questions_known >= other.questions_known {
            true => (self, other),
            false => (other, self),
        };
        more.merge(&AnswerChecks {
            questions: 0,
            questions_known: 0,
            questions_changing: 0,
            questions_unanswered: 0,
            questions_not_asked: 0,
            ..less
        });
        more
    }

    /// Answers under load that were compared.
    pub fn checked(&self) -> u64 {
        self.right.saturating_add(self.wrong)
    }

    /// Answers under load that could not be compared.
    pub fn not_checked(&self) -> u64 {
        [
            self.not_checked_changing,
            self.not_checked_unanswered,
            self.not_checked_not_asked,
            self.not_checked_truncated,
        ]
        .iter()
        .fold(0, |sum, count| sum.saturating_add(*count))
    }
}

impl AnswerCounts {
    /// Answers that were compared with a recorded one.
    pub fn compared(&self) -> u64 {
        self.same.saturating_add(self.differing())
    }

    /// Those that were not the same.
    pub fn differing(&self) -> u64 {
        self.different.saturating_add(self.better).saturating_add(self.worse)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn generators_of_one_load_have_asked_the_same_questions_and_checked_different_answers() {
        let one = AnswerChecks { questions: 9, questions_known: 8, right: 5, wrong: 1, ..Default::default() };
        let other = AnswerChecks { questions_known: 7, questions_unanswered: 1, right: 6, ..one };
        let both = AnswerChecks { right: 11, wrong: 2, ..one };
        assert_eq!((one.joined(other), other.joined(one)), (both, both));
    }
}

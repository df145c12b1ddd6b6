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

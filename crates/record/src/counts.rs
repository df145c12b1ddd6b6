//! Counts of queries that follow from how they ended.

use dnsdyno_measure::Tally;

/// Queries that were sent. Each query has one type, and only sent queries are counted there.
pub fn sent(tally: &Tally) -> u64 {
    tally.types.iter().map(|count| count.sent).sum()
}

/// Queries that count for the server: all but the interrupted ones and those of a send-only run.
pub fn judged(tally: &Tally) -> u64 {
    tally.ends.total().saturating_sub(tally.ends.interrupted).saturating_sub(tally.ends.sent_only)
}

/// Judged queries without a response in time, for any reason.
pub fn lost(tally: &Tally) -> u64 {
    judged(tally).saturating_sub(tally.ends.answered)
}

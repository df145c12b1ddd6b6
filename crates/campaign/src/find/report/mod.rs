//! The result of a search for the limit of a server, as text and as JSON.

mod json;
mod mlrsearch;
mod read;
mod text;

pub use json::finding_json;
pub use read::{
    FINDING_FILE, FoundGoal, FoundNote, FoundOfGoal, FoundOutcome, FoundPercentile, FoundTrial, FoundVerdict,
    FoundWhy, Limits, ReadFinding, ReadFindingError,
};
pub use text::{answer_line, finding_text, trial_head, trial_line};

/// The format of the result as a file. In format 1 there are no goals: the criteria of the search are its one goal.
pub const FORMAT: u32 = 2;

#[cfg(test)]
mod tests;

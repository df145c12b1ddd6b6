//! The result of a search for the limit of a server, as text and as JSON.

mod json;
mod mlrsearch;
mod read;
mod text;

pub use json::finding_json;
pub use read::{
    FINDING_FILE, FoundNote, FoundOutcome, FoundPercentile, FoundTrial, FoundVerdict, FoundWhy, Limits,
    ReadFinding, ReadFindingError,
};
pub use text::{answer_line, finding_text, trial_head, trial_line};

#[cfg(test)]
mod tests;

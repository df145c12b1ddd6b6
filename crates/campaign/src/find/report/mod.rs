//! The result of a search for the limit of a server, as text and as JSON.

mod json;
mod text;

pub use json::finding_json;
pub use text::{answer_line, finding_text, trial_head, trial_line};

#[cfg(test)]
mod tests;

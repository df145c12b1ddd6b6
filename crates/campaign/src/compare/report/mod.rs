//! A comparison of runs as text, as Markdown and as JSON.

mod json;
mod marks;
mod text;
pub mod words;

pub use json::{comparison_json, outcome_key, unit_key, verdict_key};
pub use marks::comparison_markdown;
pub use text::{comparison, unlike_lines};

#[cfg(test)]
mod sample;
#[cfg(test)]
mod tests;

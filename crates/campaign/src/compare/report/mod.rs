//! A comparison of runs as text, as Markdown, as JSON and as JUnit XML.

mod bounds;
mod json;
mod junit;
mod marks;
mod notes;
mod text;
pub mod words;

pub use bounds::bound;
pub use json::{comparison_json, outcome_key, unit_key, verdict_key};
pub use junit::comparison_junit;
pub use marks::comparison_markdown;
pub use text::{comparison, unlike_lines};

#[cfg(test)]
mod sample;
#[cfg(test)]
mod tests;

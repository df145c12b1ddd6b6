//! A history as text, as Markdown, as JSON and as JUnit XML.

mod json;
mod junit;
mod marks;
mod text;
pub mod words;

pub use json::{FORMAT, history_json};
pub use junit::history_junit;
pub use marks::history_markdown;
pub use text::history_text;

#[cfg(test)]
mod tests;

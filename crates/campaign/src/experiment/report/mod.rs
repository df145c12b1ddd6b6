//! The results of an experiment: as text, as Markdown, as JSON and as a table of all runs.

mod csv;
pub mod details;
mod diagnosed;
mod json;
mod marks;
mod text;
pub mod words;

use crate::experiment::ExperimentResult;

pub use csv::experiment_csv;
pub use diagnosed::{CellDiagnosis, diagnose};
pub use json::experiment_json;
pub use marks::experiment_markdown;
pub use text::experiment_text;

/// The results with what is known beside them.
#[derive(Clone, Debug)]
pub struct ExperimentReport<'a> {
    /// The title.
    pub title: &'a str,
    /// The results.
    pub result: &'a ExperimentResult,
    /// By number of the subject: its version, where it is known.
    pub versions: Vec<Option<String>>,
    /// By cell: which bottleneck its runs show.
    pub diagnoses: Vec<CellDiagnosis>,
    /// How it was measured, in sentences: where the servers ran, on which CPUs.
    pub conditions: Vec<String>,
}

#[cfg(test)]
mod tests;

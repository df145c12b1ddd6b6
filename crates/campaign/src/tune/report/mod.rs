//! What a night has found: as text and as JSON; the words are those of the page too.

mod json;
mod text;
pub mod words;

pub use json::tune_json;
pub use text::tune_text;

use super::Answer;

/// The answer of a night, with what is known beside it.
#[derive(Clone, Debug)]
pub struct TuneReport<'a> {
    /// The title.
    pub title: &'a str,
    /// What was tuned: `bind`.
    pub server: &'a str,
    /// The answer.
    pub answer: &'a Answer,
    /// By number of the parameter, as the rows of the answer.
    pub parameters: Vec<ParameterReport>,
    /// The parameters that could not be changed here.
    pub not_here: Vec<NotHereReport>,
    /// What trials are judged by: `answered`.
    pub judge: &'a str,
    /// How many pairs the confirmation has.
    pub pairs: u32,
    /// How long the night took, in ns.
    pub took_ns: u64,
    /// What to install, each file with its text.
    pub install: Vec<(String, String)>,
    /// The same the other way round.
    pub undo: Vec<(String, String)>,
}

/// What the report says of a parameter.
#[derive(Clone, Debug)]
pub struct ParameterReport {
    /// Its name.
    pub id: String,
    /// Its numbers in the lists of the fourth field report.
    pub numbers: Vec<String>,
    /// What it is.
    pub meaning: String,
    /// Its value before; `None` where it is not known.
    pub present: Option<String>,
    /// The values that may be tried.
    pub values: Vec<String>,
    /// The series on which it acts, by name.
    pub acts_on: Vec<String>,
    /// What it costs in memory.
    pub memory: Option<String>,
    /// What may go wrong.
    pub risk: Option<String>,
}

/// A parameter that could not be changed here.
#[derive(Clone, Debug)]
pub struct NotHereReport {
    /// Its name.
    pub id: String,
    /// Its numbers in the lists of the fourth field report.
    pub numbers: Vec<String>,
    /// Why.
    pub why: String,
}

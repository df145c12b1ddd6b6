//! What a run has found that is not one load of ours.

use serde::{Deserialize, Serialize};

/// What a search for the limit has found, or a program that was run in the place of our generator.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Found {
    /// In a line: "capacity 4,830 qps, 95 %: 4,790..4,870, 21 trials, 4 min".
    pub answer: String,
    /// Its figure, where it has one.
    pub figure: Option<FoundFigure>,
    /// What is to be seen beside it: the loads of a search, what a program has printed.
    pub text: String,
    /// Why it says nothing of the server; `None` = it does.
    pub doubt: Option<String>,
}

/// The figure of what was found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FoundFigure {
    /// In its unit.
    pub value: f64,
    /// The unit; of a program the words before the figure.
    pub unit: String,
    /// From which value, where an interval is known.
    pub from: Option<f64>,
    /// To which value.
    pub to: Option<f64>,
    /// Whether the true value may be any that is higher.
    pub is_at_least: bool,
}

//! A line of a history: what a run, a search or a cell of an experiment was, and its figures.

use std::collections::BTreeMap;

use dnsdyno_measure::bounded;
use serde::{Deserialize, Serialize};

/// What an entry is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum What {
    /// A run.
    Run,
    /// A search for the limit.
    Search,
    /// A server under a load of an experiment: medians of its runs.
    Experiment,
}

impl What {
    /// As a word.
    pub fn word(self) -> &'static str {
        match self {
            What::Run => "run",
            What::Search => "search",
            What::Experiment => "experiment",
        }
    }
}

/// What is known of a run, a search or a cell of an experiment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// What it is.
    pub what: What,
    /// The start by the wall clock, nanoseconds since 1970.
    pub started_unix_ns: u64,
    /// What must be the same in all entries of a row, by name: load, queries, options of the plan, server, host.
    #[serde(deserialize_with = "bounded::map::<_, _, MOST_ASKED>")]
    pub asked: BTreeMap<String, String>,
    /// What may change from run to run, by name: `version`, `commit` and what else its notes say, `kernel`, `dnsdyno`.
    #[serde(deserialize_with = "bounded::map::<_, _, MOST_LABELS>")]
    pub labels: BTreeMap<String, String>,
    /// By the key of the metric.
    #[serde(deserialize_with = "bounded::map::<_, _, MOST_FIGURES>")]
    pub figures: BTreeMap<String, EntryFigure>,
    /// Queries that were due; 0 where that is not known.
    pub queries: u64,
    /// Why its figures are not judged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left_out: Option<String>,
    /// The reason for which a step at it is intended, where a note of the run says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accepted: Option<String>,
}

/// A figure of an entry: in nanoseconds, each second, or as a share from 0 to 1.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct EntryFigure {
    /// The figure.
    pub value: f64,
    /// Whether it is at least that: a percentile beyond the timeout, a limit that was not reached.
    #[serde(default, skip_serializing_if = "is_false")]
    pub at_least: bool,
    /// The lower end of its interval, where it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<f64>,
    /// The upper end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<f64>,
}

impl EntryFigure {
    /// One without an interval.
    pub fn exact(value: f64) -> EntryFigure {
        EntryFigure { value, at_least: false, from: None, to: None }
    }
}

/// Serde asks for a reference.
#[allow(clippy::trivially_copy_pass_by_ref)]
fn is_false(is: &bool) -> bool {
    !*is
}

/// The labels in a note: its words `KEY=VALUE`, such as `version=3.4.1 commit=0a1b2c3`.
pub(super) fn labels_in(note: &str) -> BTreeMap<String, String> {
    let label = |word: &str| {
        let (key, value) = word.split_once('=')?;
        let is_key = !key.is_empty()
            && key.len() <= LONGEST_KEY
            && key.chars().all(|letter| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_' | '.'));
        (is_key && !value.is_empty()).then(|| (key.to_owned(), value.to_owned()))
    };
    note.split_whitespace().filter_map(label).take(MOST_LABELS / 2).collect()
}

/// The reason in a note that accepts a step: `accept: moved to the new host`.
pub(super) fn accepted_in(note: &str) -> Option<String> {
    let reason = note.trim().strip_prefix(ACCEPT)?.trim();
    (!reason.is_empty()).then(|| reason.to_owned())
}

/// How a note begins that accepts a step.
const ACCEPT: &str = "accept:";

const LONGEST_KEY: usize = 40;
const MOST_ASKED: usize = 400;
const MOST_LABELS: usize = 100;
const MOST_FIGURES: usize = 50;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_words_of_a_note() {
        let labels = labels_in("nightly version=3.4.1 commit=0a1b2c3 =x y= a/b=c");
        let pairs: Vec<(&str, &str)> =
            labels.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
        assert_eq!(pairs, [("commit", "0a1b2c3"), ("version", "3.4.1")]);
        assert_eq!(accepted_in("accept: new host").as_deref(), Some("new host"));
        assert_eq!((accepted_in("accept: "), accepted_in("we accept: x")), (None, None));
    }
}

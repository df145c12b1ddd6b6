//! Reads the result of a search again, from its `find.json`: what a page shows needs the file alone.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use dnsdyno_measure::bounded;
use dnsdyno_plan::expect::{Bound, Durations, Expectation, Figure, Metric};
use dnsdyno_record::open_regular;
use dnsdyno_text::safe;
use serde::Deserialize;

use super::FORMAT;

/// The result, in the folder of a search.
pub const FINDING_FILE: &str = "find.json";

/// The result of a search as its file has it.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[cfg_attr(feature = "fuzzing", derive(serde::Serialize))]
pub struct ReadFinding {
    format: u32,
    /// The answer in a sentence.
    pub answer: String,
    /// How it was searched.
    pub method: String,
    /// The unit of loads.
    pub unit: String,
    /// The criteria of each trial.
    #[serde(deserialize_with = "bounded::list::<_, _, MOST_CRITERIA>")]
    pub criteria: Vec<String>,
    /// What was found; of several goals, for the first.
    pub outcome: FoundOutcome,
    /// What was found for each goal; none in a file of format 1, and where the method has no goals.
    #[serde(default, deserialize_with = "bounded::list::<_, _, MOST_GOALS>")]
    pub goals: Vec<FoundGoal>,
    /// What else is to be known.
    #[serde(deserialize_with = "bounded::list::<_, _, MOST_NOTES>")]
    pub notes: Vec<FoundNote>,
    /// The trials, in their order.
    #[serde(deserialize_with = "bounded::list::<_, _, MOST_TRIALS>")]
    pub trials: Vec<FoundTrial>,
    /// Runs that were cut off and made again.
    pub cut_off: u32,
    /// The probability that the limit is below each of these loads.
    #[serde(default, deserialize_with = "bounded::list::<_, _, MOST_BELIEVED>")]
    pub belief: Vec<Believed>,
}

/// What was found; the figures that its kind has.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[cfg_attr(feature = "fuzzing", derive(serde::Serialize))]
#[serde(default)]
pub struct FoundOutcome {
    /// `capacity`, `at_least`, `not_met`, `unstable` or `undecided`.
    pub kind: String,
    /// The limit, or a bound of it.
    pub load: Option<f64>,
    /// The lower end of its interval.
    pub from: Option<f64>,
    /// The upper end.
    pub to: Option<f64>,
    /// What the interval is.
    pub interval: Option<String>,
    /// Why the limit is only known to be at least so high.
    pub why: Option<String>,
}

/// What was found for a goal.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[cfg_attr(feature = "fuzzing", derive(serde::Serialize))]
pub struct FoundGoal {
    /// Its name; `None` of the one goal of a search without names.
    pub name: Option<String>,
    /// Its criteria.
    #[serde(deserialize_with = "bounded::list::<_, _, MOST_CRITERIA>")]
    pub criteria: Vec<String>,
    /// How long a trial must be for it to show that a load is held.
    pub held_ns: Option<u64>,
    /// What was found, in a line.
    pub answer: String,
    /// What was found.
    pub outcome: FoundOutcome,
    /// Why no more trials were made for it.
    pub reason: String,
    /// What else is to be known of it.
    #[serde(deserialize_with = "bounded::list::<_, _, MOST_NOTES>")]
    pub notes: Vec<FoundNote>,
    /// The numbers of the trials that count for its limit.
    #[serde(deserialize_with = "bounded::list::<_, _, MOST_TRIALS>")]
    pub trials: Vec<u32>,
    /// How long their load lasted.
    pub load_ns: u64,
}

/// A note.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[cfg_attr(feature = "fuzzing", derive(serde::Serialize))]
pub struct FoundNote {
    /// Its kind.
    pub kind: String,
    /// Its sentence; empty in a file of an older version.
    #[serde(default)]
    pub text: String,
}

/// A point of the belief.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[cfg_attr(feature = "fuzzing", derive(serde::Serialize))]
pub struct Believed {
    /// A load.
    pub load: f64,
    /// The probability that the limit is below it.
    pub below: f64,
}

/// A trial.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[cfg_attr(feature = "fuzzing", derive(serde::Serialize))]
pub struct FoundTrial {
    /// Its number, from 1.
    pub number: u32,
    /// What it was for.
    pub purpose: String,
    /// Its load.
    pub load: f64,
    /// How long the load lasted.
    pub lasted_ns: u64,
    /// Queries that count for the server.
    pub queries: u64,
    /// Of these, without an answer in time.
    pub lost: u64,
    /// Answers per second.
    pub answered_qps: f64,
    /// The median.
    pub p50: Option<FoundPercentile>,
    /// The 99th percentile.
    pub p99: Option<FoundPercentile>,
    /// Whether these may be the generator's.
    #[serde(default)]
    bounds: Ends,
    /// What it says.
    pub verdict: FoundVerdict,
    /// The criteria that were not met.
    #[serde(deserialize_with = "bounded::list::<_, _, MOST_CRITERIA>")]
    pub unmet: Vec<FoundWhy>,
    /// The criteria that are undecided.
    #[serde(deserialize_with = "bounded::list::<_, _, MOST_CRITERIA>")]
    pub undecided: Vec<FoundWhy>,
    /// What the generator has met in an undecided trial.
    #[serde(deserialize_with = "bounded::list::<_, _, MOST_NOTES>")]
    pub warnings: Vec<String>,
    /// What it says about each goal with a name.
    #[serde(default, deserialize_with = "bounded::list::<_, _, MOST_GOALS>")]
    pub goals: Vec<FoundOfGoal>,
}

/// What a trial says about a goal.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[cfg_attr(feature = "fuzzing", derive(serde::Serialize))]
pub struct FoundOfGoal {
    /// The name of the goal.
    pub goal: String,
    /// What it says.
    pub verdict: FoundVerdict,
    /// Whether it was long enough for it.
    pub long_enough: bool,
}

/// What a trial says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "fuzzing", derive(serde::Serialize))]
#[serde(rename_all = "snake_case")]
pub enum FoundVerdict {
    /// Each criterion was met.
    Passed,
    /// One was not.
    Failed,
    /// It says nothing of the server.
    Undecided,
}

/// A criterion of a trial.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[cfg_attr(feature = "fuzzing", derive(serde::Serialize))]
pub struct FoundWhy {
    /// The criterion.
    pub criterion: String,
    /// What was measured.
    pub measured: String,
}

/// A percentile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "fuzzing", derive(serde::Serialize))]
pub struct FoundPercentile {
    /// The latency; the timeout where it is beyond that.
    pub ns: u64,
    /// Whether it is among the queries without an answer in time.
    pub beyond_timeout: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[cfg_attr(feature = "fuzzing", derive(serde::Serialize))]
#[serde(default)]
struct Ends {
    p50: Option<Wide>,
    p99: Option<Wide>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize)]
#[cfg_attr(feature = "fuzzing", derive(serde::Serialize))]
#[serde(default)]
struct Wide {
    wide: bool,
}

/// The bounds of criteria that a chart can have as lines.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Limits {
    /// Of the share of queries with an answer in time, at least.
    pub answered: Option<f64>,
    /// Of the 99th percentile, in ns, at the most.
    pub p99_ns: Option<u64>,
}

/// The result of a search cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadFindingError {
    /// The file cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        source: std::io::Error,
    },
    /// It is another file.
    #[error("{} is not the result of a search: {why}", path.display())]
    NotOne {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
}

impl ReadFinding {
    /// Reads the result in the folder of a search.
    ///
    /// # Errors
    /// There is none, or it was not written by a search.
    pub fn read(folder: &Path) -> Result<ReadFinding, ReadFindingError> {
        let path = folder.join(FINDING_FILE);
        let mut text = Vec::new();
        let read = |file: File| file.take(LARGEST_BYTES + 1).read_to_end(&mut text);
        match open_regular(&path).and_then(read) {
            Err(source) => Err(ReadFindingError::File { path, source }),
            Ok(_) => ReadFinding::parse(&text).map_err(|why| ReadFindingError::NotOne { path, why }),
        }
    }

    fn parse(text: &[u8]) -> Result<ReadFinding, String> {
        if text.len() as u64 > LARGEST_BYTES {
            return Err(format!("it has more than {LARGEST_BYTES} bytes"));
        }
        let found: ReadFinding = serde_json::from_slice(text).map_err(|error| safe(&error.to_string()))?;
        let loads = found.trials.iter().map(|trial| trial.load).chain(found.belief.iter().map(|at| at.load));
        let outcomes = found.goals.iter().map(|goal| &goal.outcome).chain([&found.outcome]);
        let figures = outcomes.flat_map(|outcome| [outcome.load, outcome.from, outcome.to]).flatten();
        match found.format {
            1..=FORMAT if loads.chain(figures).all(|load| (0.0..MOST_LOAD).contains(&load)) => Ok(found),
            1..=FORMAT => Err("it has a load that there cannot be".to_owned()),
            newer => Err(format!("it has format {newer}, and this version reads 1 to {FORMAT}")),
        }
    }

    /// Whether it has goals with names.
    pub fn has_names(&self) -> bool {
        self.goals.iter().any(|goal| goal.name.is_some())
    }

    /// The bounds of its criteria.
    pub fn limits(&self) -> Limits {
        let mut limits = Limits::default();
        for expected in self.criteria.iter().filter_map(|text| Expectation::parse(text).ok()) {
            match (expected.metric, expected.bound) {
                (Metric::Duration(Durations::Headline, Figure::Quantile(q)), Bound::DurationNs(ns))
                    if is(q, 0.99) =>
                {
                    limits.p99_ns = Some(ns as u64);
                }
                (Metric::Queries(dnsdyno_plan::expect::QueryCount::Lost), Bound::Share(share)) => {
                    limits.answered = Some(1.0 - share);
                }
                _ => {}
            }
        }
        limits
    }
}

impl FoundTrial {
    /// The share of queries with an answer in time; `None` where none counts.
    pub fn answered(&self) -> Option<f64> {
        (self.queries > 0).then(|| 1.0 - self.lost as f64 / self.queries as f64)
    }

    /// The median, and whether it may mostly be the generator's.
    pub fn median(&self) -> (Option<FoundPercentile>, bool) {
        (self.p50, self.bounds.p50.is_some_and(|ends| ends.wide))
    }

    /// The same of the 99th percentile.
    pub fn slow(&self) -> (Option<FoundPercentile>, bool) {
        (self.p99, self.bounds.p99.is_some_and(|ends| ends.wide))
    }

    /// Why it has not passed, in words.
    pub fn why(&self) -> String {
        let of = self.unmet.iter().chain(&self.undecided);
        let criteria = of.map(|of| format!("{} ({})", of.criterion, of.measured));
        criteria.chain(self.warnings.iter().cloned()).collect::<Vec<_>>().join(", ")
    }
}

fn is(one: f64, other: f64) -> bool {
    (one - other).abs() < 1e-9
}

/// Of a thousand trials with long reasons.
const LARGEST_BYTES: u64 = 16 << 20;

/// No load is as high.
const MOST_LOAD: f64 = 1e15;

const MOST_TRIALS: usize = 10_000;
const MOST_NOTES: usize = 100;
const MOST_CRITERIA: usize = 100;
const MOST_GOALS: usize = 100;
const MOST_BELIEVED: usize = 1_000;

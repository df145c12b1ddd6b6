//! What was made of a test: its figures, how it ended, and why.

use dnsdyno_measure::{Bounds, Quantile};
use dnsdyno_text::units::{count, counted, duration, length, percent, rate, setting};

use super::test::Test;

/// A load in words, exact where it is a whole number: `18,000`.
pub fn load_words(qps: f64) -> String {
    if qps.fract() == 0.0 { count(qps as u64) } else { rate(qps) }
}

/// A test that was made at a load.
#[derive(Clone, Debug, PartialEq)]
pub struct Attempt {
    /// The test.
    pub test: Test,
    /// Its load in queries per second; of a stair the highest step that passed, 0 if none did.
    pub qps: f64,
    /// How it ended.
    pub outcome: Outcome,
    /// Over all of its runs; of a stair those of the step that `qps` names.
    pub figures: Figures,
    /// The steps of a stair.
    pub steps: Vec<StepJudged>,
    /// The runs that it is made of.
    pub runs: Vec<RunOf>,
    /// What the generator has met in its runs, by the names of the warnings.
    pub warnings: Vec<String>,
    /// What the commands did.
    pub commands: Vec<CommandFigures>,
}

/// How a test ended.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// It passed.
    Passed,
    /// It failed.
    Failed(Failure),
    /// It failed, and the generator may be the reason: it says nothing about the server.
    Undecided(Failure),
}

/// A step of a stair.
#[derive(Clone, Debug, PartialEq)]
pub struct StepJudged {
    /// Its load in queries per second.
    pub qps: f64,
    /// What was measured.
    pub figures: Figures,
    /// Why it failed; `None` = it passed.
    pub failure: Option<Failure>,
}

/// What is judged of a test or step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Figures {
    /// Queries that count for the server.
    pub queries: u64,
    /// Those that ended in an error.
    pub errors: u64,
    /// Of the errors, those that may be the generator's, at the most.
    pub ours: u64,
    /// The longest response time of an answered query, in ns; `None` = none was answered.
    pub longest_ns: Option<u64>,
    /// For how long the load was put on, in ns.
    pub load_ns: u64,
}

/// A run of a test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunOf {
    /// The name in its record.
    pub run_id: String,
    /// When it began, nanoseconds since 1970.
    pub started_unix_ns: u64,
    /// Its length until its last query ended, in ns.
    pub lasted_ns: u64,
    /// For how long its load counts for the test, in ns.
    pub counted_ns: u64,
    /// Whether it was cut off.
    pub cut: bool,
}

/// A time without load in a long run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gap {
    /// Its load, in queries per second.
    pub qps: f64,
    /// The end of what there is of the run before, nanoseconds since 1970.
    pub from_unix_ns: u64,
    /// The begin of the next one.
    pub to_unix_ns: u64,
    /// How much of the test had been made, in ns.
    pub after_ns: u64,
}

/// The results of one command, or of one thing that is looked for.
#[derive(Clone, Debug, PartialEq)]
pub struct CommandFigures {
    /// The task.
    pub task: String,
    /// What is looked for; `None` = the command of the task.
    pub look_for: Option<String>,
    /// How often it was done.
    pub times: u64,
    /// How often it succeeded.
    pub succeeded: u64,
    /// How long those took, in ns: shortest, median, longest; `None` = none succeeded.
    pub took_ns: Option<[u64; 3]>,
    /// The first that failed, in words.
    pub first_failure: Option<String>,
}

/// Why a test failed.
#[derive(Clone, Debug, PartialEq)]
pub enum Failure {
    /// There were errors in each interval of some time.
    Continuous {
        /// The metric that counts them.
        errors: String,
        /// How long is continuous, in ns.
        for_ns: u64,
        /// When they had lasted so long, since the begin of the test, in ns; of a stair, of the step.
        at_ns: u64,
    },
    /// No query was answered in time from some instant to the end.
    Stopped {
        /// That instant, since the begin of the test, in ns; of a stair, of the step.
        at_ns: u64,
    },
    /// No query was answered at all.
    Silent,
    /// Too many queries ended in an error.
    Errors {
        /// How many.
        errors: u64,
        /// Of how many.
        queries: u64,
        /// How many errors may be the generator's, at the most.
        ours: u64,
    },
    /// An answer took too long.
    Slow {
        /// The longest response time, in ns.
        longest_ns: u64,
        /// What it would have been at least without the generator's part, in ns.
        least_ns: u64,
    },
    /// The load was not made in its time.
    NotMade {
        /// How long after it the last query was sent, in ns.
        behind_ns: u64,
    },
    /// A part of the load is not in its record.
    Partial {
        /// Intervals that lack the part of an agent.
        intervals: u64,
    },
    /// A condition of the user's own ended it.
    Condition(String),
    /// The record has not all of it.
    NotRecorded,
    /// Commands did not do what they should.
    Commands {
        /// How many.
        failed: u64,
        /// Of how many.
        all: u64,
        /// The first of them, in words.
        first: String,
    },
}

impl Figures {
    /// Adds those of a later run.
    pub fn add(&mut self, later: Figures) {
        self.queries = self.queries.saturating_add(later.queries);
        self.errors = self.errors.saturating_add(later.errors);
        self.ours = self.ours.saturating_add(later.ours);
        self.longest_ns = self.longest_ns.max(later.longest_ns);
        self.load_ns = self.load_ns.saturating_add(later.load_ns);
    }

    /// In words: `60,000 queries, no errors, longest response time 12 ms`.
    pub fn words(&self) -> String {
        let errors = match self.errors {
            0 => "no errors".to_owned(),
            errors => format!("{} ({})", counted(errors, "error", "errors"), percent(self.share())),
        };
        let longest = self.longest_ns.map(|ns| format!(", longest response time {}", duration(ns)));
        format!("{}, {errors}{}", counted(self.queries, "query", "queries"), longest.unwrap_or_default())
    }

    /// The share of errors.
    pub fn share(&self) -> f64 {
        if self.queries == 0 { 0.0 } else { self.errors as f64 / self.queries as f64 }
    }
}

impl Failure {
    /// As a clause: `a response took 1.2 s`.
    pub fn words(&self) -> String {
        match self {
            Failure::Continuous { errors, for_ns, at_ns } => {
                let what = match errors.as_str() {
                    "loss" => "queries without an answer in time".to_owned(),
                    name => format!("{} responses", name.to_uppercase()),
                };
                format!("continuous errors ({what} for {}), {} in", setting(*for_ns), length(*at_ns))
            }
            Failure::Stopped { at_ns } => {
                format!("the server stopped answering, {} in", length(*at_ns))
            }
            Failure::Silent => "the server answered no query".to_owned(),
            Failure::Errors { errors, queries, ours } => {
                let share = percent(*errors as f64 / (*queries).max(1) as f64);
                let ours = match ours {
                    0 => String::new(),
                    ours => format!(", at most {} of them ours", count(*ours)),
                };
                format!("{} of {} queries ended in an error ({share}){ours}", count(*errors), count(*queries))
            }
            Failure::Slow { longest_ns, least_ns } => {
                let ends = Bounds { upper: Quantile::At(*longest_ns), lower: Quantile::At(*least_ns) };
                match ends.is_wide() {
                    true => format!(
                        "a response came {} after its query was due, at most {} of it ours",
                        duration(*longest_ns),
                        duration(longest_ns.saturating_sub(*least_ns))
                    ),
                    false => format!("a response took {}", duration(*longest_ns)),
                }
            }
            Failure::NotMade { behind_ns } => {
                format!("its load took {} longer to send than it should", duration(*behind_ns))
            }
            Failure::Partial { intervals } => {
                format!("{} the part of an agent", counted(*intervals, "interval lacks", "intervals lack"))
            }
            Failure::Condition(text) => format!("`{text}` of --stop-when held"),
            Failure::NotRecorded => "its record is not complete".to_owned(),
            Failure::Commands { failed, all, first } => {
                format!("{} of {} failed: {first}", count(*failed), counted(*all, "command", "commands"))
            }
        }
    }
}

impl Attempt {
    /// Whether it passed.
    pub fn passed(&self) -> bool {
        self.outcome == Outcome::Passed
    }

    /// Why it failed.
    pub fn failure(&self) -> Option<&Failure> {
        match &self.outcome {
            Outcome::Passed => None,
            Outcome::Failed(failure) | Outcome::Undecided(failure) => Some(failure),
        }
    }
}

//! The four tests, their criteria, and what a qualification is asked for.

use dnsdyno_plan::expect::Metric;
use dnsdyno_text::units::setting;

use super::function::Function;

/// One of the four tests, in the order in which they are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Test {
    /// The load goes up in steps.
    Stair,
    /// A constant load.
    Burst,
    /// A constant load while the user's commands are carried out.
    Function,
    /// A constant load for long.
    Long,
}

impl Test {
    /// All of them.
    pub const ALL: [Test; 4] = [Test::Stair, Test::Burst, Test::Function, Test::Long];

    /// Its name in a sentence.
    pub fn name(self) -> &'static str {
        match self {
            Test::Stair => "stair",
            Test::Burst => "burst",
            Test::Function => "function test",
            Test::Long => "long run",
        }
    }

    /// Its name in options and files.
    pub fn key(self) -> &'static str {
        match self {
            Test::Stair => "stair",
            Test::Burst => "burst",
            Test::Function => "function",
            Test::Long => "long",
        }
    }
}

/// What a qualification is asked for, checked.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// The rates of the stair in queries per second, the lowest first; at least one.
    pub steps: Vec<f64>,
    /// The height of a step, in queries per second.
    pub step_qps: f64,
    /// The length of a step, in ns.
    pub hold_ns: u64,
    /// The length of the burst, in ns.
    pub burst_ns: u64,
    /// The length of the long run, in ns.
    pub long_ns: u64,
    /// What the lengths above were multiplied by.
    pub scale: Option<Scale>,
    /// The commands of the function test; `None` = it is not made.
    pub function: Option<Function>,
    /// Tests that the user does not want.
    pub skip: Vec<Test>,
    /// What a test must show.
    pub criteria: Criteria,
    /// The capacity that is needed, in queries per second.
    pub need_qps: Option<f64>,
}

/// What a test must show of the load.
#[derive(Clone, Debug, PartialEq)]
pub struct Criteria {
    /// The longest response time of an answered query, in ns.
    pub response_ns: u64,
    /// Errors in each interval of so long are continuous, in ns.
    pub continuous_ns: u64,
    /// The largest share of queries that end in an error, 0 to 1.
    pub most_errors: f64,
    /// What an error is: metrics that count queries or responses, by their names.
    pub errors: Vec<(String, Metric)>,
}

/// A factor of the lengths of a rehearsal.
#[derive(Clone, Debug, PartialEq)]
pub struct Scale {
    /// As given: `1/48`.
    pub text: String,
    /// Above 0, below 1.
    pub factor: f64,
}

impl Settings {
    /// Whether a test is made.
    pub fn makes(&self, test: Test) -> bool {
        !self.skip.contains(&test) && (test != Test::Function || self.function.is_some())
    }

    /// How long a test lasts, in ns; of the stair all of its steps.
    pub fn length_ns(&self, test: Test) -> u64 {
        match test {
            Test::Stair => self.hold_ns.saturating_mul(self.steps.len() as u64),
            Test::Burst => self.burst_ns,
            Test::Function => self.function.as_ref().map_or(0, |function| function.for_ns),
            Test::Long => self.long_ns,
        }
    }

    /// How long it takes if the load of the highest step passes each test, in ns, without rests.
    pub fn shortest_ns(&self) -> u64 {
        self.of(Test::ALL.into_iter())
    }

    /// How much longer with each step that the load is lowered, in ns.
    pub fn each_lower_ns(&self) -> u64 {
        self.of(Test::ALL.into_iter().filter(|test| *test != Test::Stair))
    }

    fn of(&self, tests: impl Iterator<Item = Test>) -> u64 {
        let made = tests.filter(|test| self.makes(*test));
        made.fold(0, |sum: u64, test| sum.saturating_add(self.length_ns(test)))
    }

    /// How long no load is sent after a test that failed, in ns: queues drain, and a server that is restarted comes
    /// back.
    pub fn rest_ns(&self) -> u64 {
        let factor = self.scale.as_ref().map_or(1.0, |scale| scale.factor);
        ((REST_NS as f64 * factor) as u64).max(SHORTEST_REST_NS)
    }

    /// What a rehearsal is called in each output; `None` where it is none.
    pub fn rehearsal(&self) -> Option<String> {
        let scale = self.scale.as_ref()?;
        let (burst, long) = (length_words(self.burst_ns), length_words(self.long_ns));
        Some(format!("rehearsal at scale {}: a burst of {burst}, a long run of {long}", scale.text))
    }
}

/// A length in words: `10 min`, `48 h`, `12 s`
pub fn length_words(ns: u64) -> String {
    let whole = [(3_600_000_000_000, "h"), (60_000_000_000, "min")];
    let found = whole.into_iter().find(|(unit, _)| ns >= *unit && ns.is_multiple_of(*unit));
    found.map_or_else(|| setting(ns), |(unit, name)| format!("{} {name}", ns / unit))
}

/// After a test that failed.
const REST_NS: u64 = 10_000_000_000;

/// Of a rehearsal.
const SHORTEST_REST_NS: u64 = 1_000_000_000;

//! What is searched for: criteria, how long they must be met, and a name where one search has several goals.
//!
//! ```text
//!   held:  loss<0.1%, p99<50ms, 60 s
//!   name   criteria             each trial near the limit lasts at least so long
//! ```

use dnsdyno_plan::expect::{Bound, Comparison, ExpectError, Expectation};
use dnsdyno_text::notation::parse_duration_ns;
use dnsdyno_text::shown;

use super::criteria::Criteria;

/// A goal of a search.
#[derive(Clone, Debug, PartialEq)]
pub struct Goal {
    /// Its name; `None` of the one goal of a search without names.
    pub name: Option<String>,
    /// What a trial must show.
    pub criteria: Criteria,
    /// How long a trial must be for it to show that a load is held; `None` = as long as the search makes it.
    pub held_ns: Option<u64>,
}

/// What is wrong with a goal; each sentence says what to do.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum GoalError {
    /// It has no name.
    #[error("--goal '{0}': it has no name: write NAME: CRITERIA, such as 'fast: p99<5ms'")]
    NoName(String),
    /// Its name has other characters, or is too long.
    #[error("--goal '{text}': a name has up to {most} letters, digits, - and _, not `{name}`", most = MOST_NAME)]
    Name {
        /// The goal.
        text: String,
        /// Its name.
        name: String,
    },
    /// Another goal has its name.
    #[error("--goal {0}: there are two goals of this name: give each its own")]
    Twice(String),
    /// It has no criterion.
    #[error("--goal {0}: it has no criterion: write NAME: CRITERIA, such as '{0}: loss<0.1%, 60 s'")]
    NoCriterion(String),
    /// A criterion is not valid.
    #[error("--goal {name}: {error}")]
    Criterion {
        /// The goal.
        name: String,
        /// Why.
        error: ExpectError,
    },
    /// A part of it is neither a criterion nor a duration.
    #[error(
        "--goal {name}: `{part}` is no criterion (METRIC<BOUND, such as p99<5ms) and no duration (a number and s, m or \
         h)"
    )]
    Part {
        /// The goal.
        name: String,
        /// The part.
        part: String,
    },
    /// It has two durations.
    #[error("--goal {0}: it has two durations: give one")]
    TwoDurations(String),
    /// Its duration is out of range.
    #[error("--goal {name}: a duration is 1 s to 24 h, not `{part}`")]
    Duration {
        /// The goal.
        name: String,
        /// The duration.
        part: String,
    },
    /// There are criteria without a name beside it.
    #[error(
        "--goal and --while cannot be used together: write --while 'X' as a goal too, such as --goal 'all: X'"
    )]
    BesideWhile,
    /// There are too many.
    #[error("there are {0} goals: a search has at most {most}", most = MOST_GOALS)]
    TooMany(usize),
}

impl Goal {
    /// Reads goals, each `NAME: CRITERION[, CRITERION…][, DURATION]`.
    ///
    /// # Errors
    /// The first that is not valid.
    pub fn read_all(texts: &[String]) -> Result<Vec<Goal>, GoalError> {
        if texts.len() > MOST_GOALS {
            return Err(GoalError::TooMany(texts.len()));
        }
        let mut goals: Vec<Goal> = Vec::new();
        for text in texts {
            let goal = Goal::parse(text)?;
            if goals.iter().any(|other| other.name == goal.name) {
                return Err(GoalError::Twice(goal.name.unwrap_or_default()));
            }
            goals.push(goal);
        }
        Ok(goals)
    }

    fn parse(text: &str) -> Result<Goal, GoalError> {
        let echo = |text: &str| shown(text, MOST_SHOWN).into_owned();
        let (name, parts) = text.split_once(':').ok_or_else(|| GoalError::NoName(echo(text)))?;
        let name = name.trim();
        if name.is_empty() {
            return Err(GoalError::NoName(echo(text)));
        }
        let is_plain = name.chars().all(|letter| letter.is_ascii_alphanumeric() || "-_".contains(letter));
        if !is_plain || name.len() > MOST_NAME {
            return Err(GoalError::Name { text: echo(text), name: echo(name) });
        }
        let (mut expectations, mut held_ns) = (Vec::new(), None);
        for part in parts.split(',').map(str::trim).filter(|part| !part.is_empty()) {
            let of = || (name.to_owned(), echo(part));
            if part.contains(['<', '>', '=']) {
                let criterion = Expectation::parse(part);
                expectations
                    .push(criterion.map_err(|error| GoalError::Criterion { name: name.to_owned(), error })?);
                continue;
            }
            // A bare number may be a bound that lacks its metric.
            let duration = Some(part).filter(|part| part.ends_with(char::is_alphabetic));
            let Some(ns) = duration.and_then(|part| parse_duration_ns(part).ok()) else {
                let (name, part) = of();
                return Err(GoalError::Part { name, part });
            };
            if held_ns.is_some() {
                return Err(GoalError::TwoDurations(name.to_owned()));
            }
            if !(SHORTEST_NS..=LONGEST_NS).contains(&ns) {
                let (name, part) = of();
                return Err(GoalError::Duration { name, part });
            }
            held_ns = Some(ns);
        }
        if expectations.is_empty() {
            return Err(GoalError::NoCriterion(name.to_owned()));
        }
        Ok(Goal { name: Some(name.to_owned()), criteria: Criteria::new(expectations), held_ns })
    }

    /// Whether each run that meets this goal meets the other one too, by their texts: a bound at least as tight for
    /// each criterion of the other, and at least as long. Then its limit cannot be above that of the other.
    pub fn implies(&self, other: &Goal) -> bool {
        let is_met = |wanted: &Expectation| {
            self.criteria.expectations.iter().any(|given| is_at_least_as_tight(given, wanted))
        };
        let by_chance = self.criteria.no_loss_beyond_chance || !other.criteria.no_loss_beyond_chance;
        let is_as_long = self.held_ns.unwrap_or(0) >= other.held_ns.unwrap_or(0);
        by_chance && is_as_long && other.criteria.expectations.iter().all(is_met)
    }
}

/// Whether what meets one expectation meets the other too.
fn is_at_least_as_tight(given: &Expectation, wanted: &Expectation) -> bool {
    if given.metric != wanted.metric {
        return false;
    }
    let value = |bound: Bound| match bound {
        Bound::Share(value) | Bound::Count(value) | Bound::DurationNs(value) | Bound::RateQps(value) => value,
        Bound::Ok => 0.0,
    };
    let (one, other) = (value(given.bound), value(wanted.bound));
    // None is none, as a share or as a count.
    let is_none = matches!(given.comparison, Comparison::Equal | Comparison::LessOrEqual) && one == 0.0;
    if std::mem::discriminant(&given.bound) != std::mem::discriminant(&wanted.bound) {
        return is_none
            && matches!(wanted.comparison, Comparison::Less | Comparison::LessOrEqual)
            && other > 0.0;
    }
    match (given.comparison, wanted.comparison) {
        (Comparison::Equal, wanted) => wanted.holds(one, other),
        (Comparison::Less, Comparison::Less | Comparison::LessOrEqual)
        | (Comparison::LessOrEqual, Comparison::LessOrEqual) => one <= other,
        (Comparison::LessOrEqual, Comparison::Less) => one < other,
        (Comparison::Greater, Comparison::Greater | Comparison::GreaterOrEqual)
        | (Comparison::GreaterOrEqual, Comparison::GreaterOrEqual) => one >= other,
        (Comparison::GreaterOrEqual, Comparison::Greater) => one > other,
        _ => false,
    }
}

/// A name is a column, and the head of a line.
const MOST_NAME: usize = 24;

/// Each goal needs trials of its own near its limit.
const MOST_GOALS: usize = 8;

/// How long a load may have to be held.
const SHORTEST_NS: u64 = 1_000_000_000;
const LONGEST_NS: u64 = 86_400_000_000_000;

/// How many characters of what is not valid are shown.
const MOST_SHOWN: usize = 80;

#[cfg(test)]
mod tests {
    use super::*;

    fn read(texts: &[&str]) -> Result<Vec<Goal>, GoalError> {
        Goal::read_all(&texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>())
    }

    fn goal(text: &str) -> Goal {
        read(&[text]).unwrap().remove(0)
    }

    #[test]
    fn a_goal_has_a_name_criteria_and_how_long_they_must_be_met() {
        let held = goal(" held : loss<0.1%,p99 < 50ms, 60 s");
        assert_eq!((held.name.as_deref(), held.held_ns), (Some("held"), Some(60_000_000_000)));
        assert_eq!(held.criteria.texts(), ["loss<0.1%", "p99 < 50ms"]);
        let lossless = goal("lossless: loss=0");
        assert_eq!((lossless.held_ns, lossless.criteria.no_loss_beyond_chance), (None, false));
        assert_eq!(goal("day: 24h, loss<1%").held_ns, Some(LONGEST_NS), "in any order");
    }

    #[test]
    fn what_is_no_goal_is_refused_with_what_to_do() {
        let refused = |text: &str| read(&[text]).unwrap_err().to_string();
        for (text, words) in [
            ("p99<5ms", "it has no name: write NAME: CRITERIA"),
            (": p99<5ms", "it has no name"),
            ("too fast: p99<5ms", "a name has up to 24 letters"),
            ("fast:", "--goal fast: it has no criterion"),
            ("fast: 60 s", "--goal fast: it has no criterion"),
            ("fast: latency<5ms", "there is no metric `latency`; use loss"),
            ("fast: p99<5", "`5` is not a valid bound for p99"),
            ("fast: p99<5ms, soon", "`soon` is no criterion"),
            ("fast: p99<5ms, 60", "`60` is no criterion"),
            ("fast: p99<5ms, 60s, 10s", "it has two durations"),
            ("fast: p99<5ms, 25h", "a duration is 1 s to 24 h, not `25h`"),
            ("fast: p99<5ms, 100ms", "a duration is 1 s to 24 h, not `100ms`"),
        ] {
            assert!(refused(text).contains(words), "{text}: {}", refused(text));
        }
        let twice = read(&["a: loss=0", "a: p99<5ms"]).unwrap_err();
        assert_eq!(twice, GoalError::Twice("a".to_owned()));
        let many: Vec<String> = (0..9).map(|at| format!("g{at}: loss=0")).collect();
        assert_eq!(Goal::read_all(&many).unwrap_err(), GoalError::TooMany(9));
    }

    #[test]
    fn a_goal_implies_another_where_each_of_its_bounds_is_tighter_and_it_is_as_long() {
        let implies =
            |one: &str, other: &str| goal(&format!("a: {one}")).implies(&goal(&format!("b: {other}")));
        for (one, other) in [
            ("loss=0", "loss<0.1%"),
            ("loss<0.1%", "loss<1%"),
            ("p99<5ms, loss=0", "p99<=5ms"),
            ("p99<5ms, 60s", "p99<5ms"),
            ("answered>=99.9%", "answered>99%"),
            ("loss<0.1%", "loss<0.1%"),
        ] {
            assert!(implies(one, other), "{one} -> {other}");
        }
        for (one, other) in [
            ("loss<0.1%", "loss=0"),
            ("p99<5ms", "loss<1%"),
            ("p99<5ms", "p99.9<5ms"),
            ("p99<5ms", "p99<5ms, 60s"),
            ("p99<=5ms", "p99<5ms"),
            ("answered>99%", "loss<2%"),
            ("loss<100", "loss<1%"),
        ] {
            assert!(!implies(one, other), "{one} -> {other}");
        }
    }
}

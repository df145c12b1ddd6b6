//! A goal as it is written. Each method that has goals reads the same form, and takes or refuses its parts.
//!
//! ```text
//!   held:  loss<0.1%, p99<50ms, 60 s        lossless: loss=0, 60 s, sum=60 s, exceed=0%
//!   name   criteria             duration    name              duration  attributes, of mlrsearch
//! ```

use dnsdyno_plan::expect::{ExpectError, Expectation};
use dnsdyno_text::notation::parse_duration_ns;
use dnsdyno_text::shown;

/// The parts of a goal.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Written {
    pub(super) name: String,
    /// At least one, in their order.
    pub(super) criteria: Vec<Expectation>,
    /// As text, and in ns.
    pub(super) duration: Option<(String, u64)>,
    pub(super) attributes: Vec<Attribute>,
}

/// An attribute of a goal: `KEY=VALUE`.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Attribute {
    pub(super) key: &'static str,
    pub(super) value: String,
    /// The whole of it, for errors.
    pub(super) part: String,
}

/// What is wrong with a goal; each sentence says what to do.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum GoalError {
    /// It has no name.
    #[error("--goal '{0}': it has no name: write NAME: CRITERIA, such as 'fast: p99<5ms'")]
    NoName(String),
    /// Its name has other characters, or is too long.
    #[error("--goal '{text}': a name has up to {MOST_NAME} letters, digits, - and _, not `{name}`")]
    Name {
        /// The goal.
        text: String,
        /// Its name.
        name: String,
    },
    /// Another goal has its name.
    #[error("--goal {0}: there are two goals of this name: give each its own")]
    SameName(String),
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
    /// It has two of what there can be one of.
    #[error("--goal {name}: `{part}` is its second {what}: remove one")]
    Twice {
        /// The goal.
        name: String,
        /// The part.
        part: String,
        /// What it has two of.
        what: &'static str,
    },
    /// A value is out of its range.
    #[error("--goal {name}: `{part}`: {needs}")]
    Range {
        /// The goal.
        name: String,
        /// The part.
        part: String,
        /// What it must be.
        needs: &'static str,
    },
    /// An attribute of a method that is not the one that is used.
    #[error(
        "--goal {name}: `{part}` is for --method mlrsearch: remove it, or change the method (here --precision is how \
         near the limit must be known)"
    )]
    OfMlrSearch {
        /// The goal.
        name: String,
        /// The part.
        part: String,
    },
    /// A criterion that `mlrsearch` does not have.
    #[error(
        "--goal {name}: `{part}`: --method mlrsearch judges the loss ratio only: write loss=0 or loss<=R below 100%, \
         or use --method search. For a latency make it a loss: 'loss<=1%' with --timeout 5ms is a p99 of 5 ms"
    )]
    NotLoss {
        /// The goal.
        name: String,
        /// The part.
        part: String,
    },
    /// There are criteria without a name beside it.
    #[error(
        "--goal and --while cannot be used together: write --while 'X' as a goal too, such as --goal 'all: X'"
    )]
    BesideWhile,
    /// There are too many.
    #[error("--goal: there are {given} goals, and a search has at most {most}")]
    TooMany {
        /// How many there are.
        given: usize,
        /// How many there may be.
        most: usize,
    },
}

impl Written {
    /// Reads goals, each `NAME: CRITERION[, CRITERION…][, DURATION][, KEY=VALUE…]`, the parts in any order.
    ///
    /// # Errors
    /// The first that is not valid.
    pub(super) fn read_all(texts: &[&str], most: usize) -> Result<Vec<Written>, GoalError> {
        if texts.len() > most {
            return Err(GoalError::TooMany { given: texts.len(), most });
        }
        let mut goals: Vec<Written> = Vec::new();
        for text in texts {
            let goal = Written::read(text)?;
            if goals.iter().any(|other| other.name == goal.name) {
                return Err(GoalError::SameName(goal.name));
            }
            goals.push(goal);
        }
        Ok(goals)
    }

    fn read(text: &str) -> Result<Written, GoalError> {
        let (name, parts) = text.split_once(':').ok_or_else(|| GoalError::NoName(echo(text)))?;
        let name = name.trim();
        if name.is_empty() {
            return Err(GoalError::NoName(echo(text)));
        }
        let is_plain = name.chars().all(|letter| letter.is_ascii_alphanumeric() || "-_".contains(letter));
        if !is_plain || name.len() > MOST_NAME {
            return Err(GoalError::Name { text: echo(text), name: echo(name) });
        }
        let mut goal =
            Written { name: name.to_owned(), criteria: Vec::new(), duration: None, attributes: Vec::new() };
        for part in parts.split(',').map(str::trim).filter(|part| !part.is_empty()) {
            goal.take(part)?;
        }
        if goal.criteria.is_empty() {
            return Err(GoalError::NoCriterion(goal.name));
        }
        Ok(goal)
    }

    fn take(&mut self, part: &str) -> Result<(), GoalError> {
        let pair = part.split_once('=').map(|(key, value)| (key.trim(), value.trim().to_owned()));
        let attribute = pair.and_then(|(given, value)| {
            ATTRIBUTES.iter().find(|(key, _)| *key == given).map(|(key, what)| (*key, *what, value))
        });
        if let Some((key, what, value)) = attribute {
            if self.attributes.iter().any(|other| other.key == key) {
                return Err(self.twice(part, what));
            }
            self.attributes.push(Attribute { key, value, part: echo(part) });
            return Ok(());
        }
        if part.contains(['<', '>', '=']) {
            let error = |error| GoalError::Criterion { name: self.name.clone(), error };
            let criterion = Expectation::parse(part).map_err(error)?;
            self.criteria.push(criterion);
            return Ok(());
        }
        // A bare number may be a bound that lacks its metric.
        let duration = Some(part).filter(|part| part.ends_with(char::is_alphabetic));
        let Some(ns) = duration.and_then(|part| parse_duration_ns(part).ok()) else {
            return Err(GoalError::Part { name: self.name.clone(), part: echo(part) });
        };
        match self.duration.replace((echo(part), ns)) {
            None => Ok(()),
            Some(_) => Err(self.twice(part, "duration")),
        }
    }

    /// An error about a part that it has twice.
    pub(super) fn twice(&self, part: &str, what: &'static str) -> GoalError {
        GoalError::Twice { name: self.name.clone(), part: echo(part), what }
    }

    /// An error about a value that is out of its range.
    pub(super) fn range(&self, part: &str, needs: &'static str) -> GoalError {
        GoalError::Range { name: self.name.clone(), part: echo(part), needs }
    }
}

fn echo(text: &str) -> String {
    shown(text, MOST_SHOWN).into_owned()
}

/// The keys, and what each is.
const ATTRIBUTES: [(&str, &str); 4] = [
    ("sum", "duration sum"),
    ("exceed", "exceed ratio"),
    ("width", "width"),
    ("initial", "initial duration"),
];

/// The longest duration of a goal: a day.
pub(super) const LONGEST_NS: u64 = 86_400_000_000_000;

/// A name is a column, and the head of a line.
const MOST_NAME: usize = 24;

/// How many characters of what is not valid are shown.
const MOST_SHOWN: usize = 80;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_goal_has_a_name_criteria_a_duration_and_attributes_in_any_order() {
        let text = " held : sum=3 s,loss<0.1%, 60 s ,p99 < 50ms, exceed = 0%";
        let goal = Written::read_all(&[text], 1).unwrap().remove(0);
        let criteria: Vec<&str> = goal.criteria.iter().map(|criterion| criterion.text.as_str()).collect();
        assert_eq!((goal.name.as_str(), criteria), ("held", vec!["loss<0.1%", "p99 < 50ms"]));
        assert_eq!(goal.duration, Some(("60 s".to_owned(), 60_000_000_000)));
        let attributes: Vec<_> =
            goal.attributes.iter().map(|other| (other.key, other.value.as_str())).collect();
        assert_eq!(attributes, [("sum", "3 s"), ("exceed", "0%")]);
    }

    #[test]
    fn what_is_no_goal_is_refused_with_what_to_do() {
        let refused = |text: &str| Written::read_all(&[text], 8).unwrap_err().to_string();
        for (text, words) in [
            ("p99<5ms", "it has no name: write NAME: CRITERIA"),
            (": p99<5ms", "it has no name"),
            ("too fast: p99<5ms", "a name has up to 24 letters"),
            ("fast:", "--goal fast: it has no criterion"),
            ("fast: 60 s", "--goal fast: it has no criterion"),
            ("fast: sum=60 s", "--goal fast: it has no criterion"),
            ("fast: latency<5ms", "there is no metric `latency`; use loss"),
            ("fast: p99<5", "`5` is not a valid bound for p99"),
            ("fast: p99<5ms, soon", "`soon` is no criterion"),
            ("fast: p99<5ms, 60", "`60` is no criterion"),
            ("fast: p99<5ms, 10 parsecs", "`10 parsecs` is no criterion"),
            ("fast: p99<5ms, 60s, 10s", "`10s` is its second duration: remove one"),
            ("fast: loss=0, sum=60s, sum=10s", "`sum=10s` is its second duration sum"),
        ] {
            assert!(refused(text).contains(words), "{text}: {}", refused(text));
        }
        let twice = Written::read_all(&["a: loss=0", "a: p99<5ms"], 8).unwrap_err();
        assert_eq!(twice, GoalError::SameName("a".to_owned()));
        let many = Written::read_all(&["a: loss=0"; 9], 8).unwrap_err();
        assert_eq!(many, GoalError::TooMany { given: 9, most: 8 });
    }
}

//! What is searched for: criteria, how long they must be met, and a name where one search has several goals.
//!
//! ```text
//!   held:  loss<0.1%, p99<50ms, 60 s
//!   name   criteria             each trial near the limit lasts at least so long
//! ```

use dnsdyno_plan::expect::{Bound, Comparison, Expectation};

use super::criteria::Criteria;
use super::written::{GoalError, LONGEST_NS, Written};

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

impl Goal {
    /// Reads goals, each `NAME: CRITERION[, CRITERION…][, DURATION]`.
    ///
    /// # Errors
    /// The first that is not valid.
    pub fn read_all(texts: &[String]) -> Result<Vec<Goal>, GoalError> {
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        Written::read_all(&texts, MOST_GOALS)?.into_iter().map(Goal::of).collect()
    }

    fn of(written: Written) -> Result<Goal, GoalError> {
        if let Some(attribute) = written.attributes.first() {
            return Err(GoalError::OfMlrSearch { name: written.name, part: attribute.part.clone() });
        }
        let out_of_range = written.duration.iter().find(|(_, ns)| !(SHORTEST_NS..=LONGEST_NS).contains(ns));
        if let Some((part, _)) = out_of_range {
            return Err(written.range(part, "a duration is 1 s to 24 h"));
        }
        let held_ns = written.duration.map(|(_, ns)| ns);
        Ok(Goal { name: Some(written.name), criteria: Criteria::new(written.criteria), held_ns })
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

/// Each goal needs trials of its own near its limit.
const MOST_GOALS: usize = 8;

/// A shorter time is no time for which a load is held.
const SHORTEST_NS: u64 = 1_000_000_000;

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
    fn what_no_search_can_take_is_refused_with_what_to_do() {
        let refused = |text: &str| read(&[text]).unwrap_err().to_string();
        for (text, words) in [
            ("fast: p99<5ms, 25h", "--goal fast: `25h`: a duration is 1 s to 24 h"),
            ("fast: p99<5ms, 100ms", "`100ms`: a duration is 1 s to 24 h"),
            (
                "fast: loss=0, width=1%",
                "`width=1%` is for --method mlrsearch: remove it, or change the method",
            ),
            ("fast: 10 s", "it has no criterion"),
        ] {
            assert!(refused(text).contains(words), "{text}: {}", refused(text));
        }
        let many: Vec<String> = (0..9).map(|at| format!("g{at}: loss=0")).collect();
        assert_eq!(Goal::read_all(&many).unwrap_err(), GoalError::TooMany { given: 9, most: 8 });
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

//! A Search Goal of RFC 9971, section "Search Goal": what a load must show to be a bound, and how near the two bounds
//! must be.
//!
//! ```text
//!   lossless: loss=0, 10 s, sum=30 s, exceed=50%, width=0.5%, initial=1 s
//!   name      Loss    Final Duration  Exceed      Width       Initial Trial Duration
//!             Ratio   Trial Sum       Ratio
//! ```

use dnsdyno_plan::expect::{Bound, Comparison, ExpectError, Expectation, Metric, QueryCount};
use dnsdyno_text::notation::{parse_duration_ns, parse_percent};
use dnsdyno_text::shown;
use dnsdyno_text::units::{percent, setting};

/// A Search Goal.
#[derive(Clone, Debug, PartialEq)]
pub struct SearchGoal {
    /// Its name in the result.
    pub name: String,
    /// Goal Loss Ratio: a trial that has lost more is a high-loss trial.
    pub loss_ratio: f64,
    /// Goal Final Trial Duration: a shorter trial is a short trial.
    pub final_trial_ns: u64,
    /// Goal Duration Sum: so much load at the end decides what a load is.
    pub duration_sum_ns: u64,
    /// Goal Exceed Ratio: so much of that may be high-loss at a Lower Bound.
    pub exceed_ratio: f64,
    /// Goal Width: (Relevant Upper Bound − Relevant Lower Bound) / Relevant Upper Bound, at the most.
    pub width: f64,
    /// Goal Initial Trial Duration: the length of its first trials.
    pub initial_trial_ns: u64,
}

/// Why a goal is not valid; each sentence says what to do.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum GoalError {
    /// It has no name.
    #[error("--goal `{0}`: it has no name: write NAME: loss<=R, such as 'partial: loss<=0.5%, 10 s'")]
    NoName(String),
    /// Two goals have one name.
    #[error("--goal `{0}`: two goals have this name: give each a name of its own")]
    SameName(String),
    /// It has no criterion.
    #[error("--goal `{0}`: it has no loss ratio: add loss=0 or loss<=R, such as 'loss<=0.5%'")]
    NoLoss(String),
    /// A part that is given twice.
    #[error("--goal `{name}`: `{part}` is its second {what}: remove one")]
    Twice {
        /// The goal.
        name: String,
        /// The part.
        part: String,
        /// What it has two of.
        what: &'static str,
    },
    /// A criterion that this method does not have.
    #[error(
        "--goal `{name}`: `{part}`: --method mlrsearch judges the loss ratio only: write loss=0 or loss<=R below \
         100%. For a latency make it a loss: 'loss<=1%' with --timeout 5ms is a p99 of 5 ms"
    )]
    NotLoss {
        /// The goal.
        name: String,
        /// The part.
        part: String,
    },
    /// A part that is neither a criterion nor a duration nor a known key.
    #[error("--goal `{name}`: {error}")]
    Criterion {
        /// The goal.
        name: String,
        /// What is wrong with it.
        error: ExpectError,
    },
    /// A value out of its range.
    #[error("--goal `{name}`: `{part}`: {needs}")]
    Range {
        /// The goal.
        name: String,
        /// The part.
        part: String,
        /// What it must be.
        needs: &'static str,
    },
    /// There are too many.
    #[error("--goal: there are {0} goals, and a search can have {MOST_GOALS}")]
    TooMany(usize),
}

impl SearchGoal {
    /// The goals of a search: those that are given, or the usual two; `final_ns` is their Goal Final Trial Duration
    /// where one has none of its own. The strictest comes first: its loads are the lowest.
    ///
    /// # Errors
    /// The first that is not valid.
    pub(in crate::find) fn all(
        texts: &[String],
        final_ns: Option<u64>,
    ) -> Result<Vec<SearchGoal>, GoalError> {
        let final_ns = final_ns.unwrap_or(FINAL_TRIAL_NS);
        if texts.len() > MOST_GOALS {
            return Err(GoalError::TooMany(texts.len()));
        }
        let given: Vec<&str> = texts.iter().map(String::as_str).collect();
        let of = if given.is_empty() { &USUAL_GOALS[..] } else { &given[..] };
        let mut goals: Vec<SearchGoal> = Vec::new();
        for text in of {
            let goal = SearchGoal::parse(text, final_ns)?;
            if goals.iter().any(|other| other.name == goal.name) {
                return Err(GoalError::SameName(goal.name));
            }
            goals.push(goal);
        }
        goals.sort_by(|one, other| one.loss_ratio.total_cmp(&other.loss_ratio));
        Ok(goals)
    }

    /// Reads one goal.
    fn parse(text: &str, final_ns: u64) -> Result<SearchGoal, GoalError> {
        let (name, parts) = text.split_once(':').unwrap_or(("", text));
        let name = shown(name.trim(), MOST_SHOWN).into_owned();
        if name.is_empty() {
            return Err(GoalError::NoName(shown(text, MOST_SHOWN).into_owned()));
        }
        let mut found = Parts::default();
        for part in parts.split(',').map(str::trim).filter(|part| !part.is_empty()) {
            found.take(&name, part)?;
        }
        let Some(loss_ratio) = found.loss_ratio else { return Err(GoalError::NoLoss(name)) };
        let final_trial_ns = found.final_ns.unwrap_or(final_ns);
        let exceed_ratio = found.exceed_ratio.unwrap_or(EXCEED_RATIO);
        // Where no trial may exceed, one that does not is enough: more would not change what the load is.
        let usual_trials = if exceed_ratio > 0.0 { TRIALS_OF_A_SUM } else { 1 };
        let goal = SearchGoal {
            loss_ratio,
            final_trial_ns,
            duration_sum_ns: found.sum_ns.unwrap_or(final_trial_ns.saturating_mul(usual_trials)),
            exceed_ratio,
            // The RFC: not below the Goal Loss Ratio, so that conditional throughputs keep the order of the goals.
            width: found.width.unwrap_or(WIDTH.max(loss_ratio).min(WIDEST)),
            initial_trial_ns: found.initial_ns.unwrap_or(INITIAL_TRIAL_NS.min(final_trial_ns)),
            name,
        };
        goal.is_ordered()?;
        Ok(goal)
    }

    fn is_ordered(&self) -> Result<(), GoalError> {
        let range = |part: String, needs| Err(GoalError::Range { name: self.name.clone(), part, needs });
        if self.duration_sum_ns < self.final_trial_ns {
            return range(
                format!("sum={}", setting(self.duration_sum_ns)),
                "the sum must be at least as long as a trial",
            );
        }
        if self.initial_trial_ns > self.final_trial_ns {
            return range(
                format!("initial={}", setting(self.initial_trial_ns)),
                "the first trials must not be longer than the last ones",
            );
        }
        Ok(())
    }

    /// Its attributes by the terms of the RFC, in a line.
    pub fn text(&self) -> String {
        format!(
            "{} (Goal Final Trial Duration {}, Duration Sum {}, Exceed Ratio {}, Width {}, Initial Trial Duration {})",
            self.short_text(),
            setting(self.final_trial_ns),
            setting(self.duration_sum_ns),
            percent(self.exceed_ratio),
            percent(self.width),
            setting(self.initial_trial_ns)
        )
    }

    /// Its name and its loss ratio.
    pub fn short_text(&self) -> String {
        format!("{}: loss<={}", self.name, percent(self.loss_ratio))
    }

    /// How many queries a trial needs so that its loss ratio is a figure: at least ten that the goal allows to be lost;
    /// where none may be, a thousand.
    pub(in crate::find) fn queries_needed(&self) -> f64 {
        if self.loss_ratio > 0.0 { FEWEST_LOST / self.loss_ratio } else { FEWEST_QUERIES }
    }

    /// The lengths of its trials, the shortest first: each at most ten times the one before.
    pub(super) fn trial_lengths_ns(&self) -> Vec<u64> {
        let (first, last) = (self.initial_trial_ns as f64, self.final_trial_ns as f64);
        let steps = (last / first).log10().ceil().max(0.0);
        let between = (0..steps as u32).map(|step| first * (last / first).powf(f64::from(step) / steps));
        // Whole milliseconds, so that they can be read and typed.
        let lengths = between.map(|ns| (ns / 1e6).round() as u64 * 1_000_000);
        lengths.chain([self.final_trial_ns]).collect()
    }
}

/// The parts of a goal that were given.
#[derive(Default)]
struct Parts {
    loss_ratio: Option<f64>,
    final_ns: Option<u64>,
    sum_ns: Option<u64>,
    exceed_ratio: Option<f64>,
    width: Option<f64>,
    initial_ns: Option<u64>,
}

impl Parts {
    fn take(&mut self, name: &str, part: &str) -> Result<(), GoalError> {
        let key = part.split_once('=').map(|(key, value)| (key.trim(), value.trim()));
        let (is_new, what) = match key {
            Some(("sum", value)) => {
                (put(&mut self.sum_ns, duration(name, part, value, LONGEST_NS)?), "duration sum")
            }
            Some(("initial", value)) => {
                (put(&mut self.initial_ns, duration(name, part, value, LONGEST_NS)?), "initial duration")
            }
            Some(("exceed", value)) => {
                let needs = "needs 0% to 99%";
                (put(&mut self.exceed_ratio, share(name, part, value, (0.0, 0.99), needs)?), "exceed ratio")
            }
            Some(("width", value)) => {
                let needs = "needs 0.2% to 50%: loads have four digits";
                (put(&mut self.width, share(name, part, value, (NARROWEST, WIDEST), needs)?), "width")
            }
            _ if part.starts_with(|c: char| c.is_ascii_digit() || c == '.') => {
                (put(&mut self.final_ns, duration(name, part, part, LONGEST_NS)?), "trial duration")
            }
            _ => (put(&mut self.loss_ratio, loss_ratio(name, part)?), "loss ratio"),
        };
        let twice =
            || GoalError::Twice { name: name.to_owned(), part: shown(part, MOST_SHOWN).into_owned(), what };
        if is_new { Ok(()) } else { Err(twice()) }
    }
}

/// Keeps a value; `false` where there is one already.
fn put<T>(place: &mut Option<T>, value: T) -> bool {
    place.replace(value).is_none()
}

fn duration(name: &str, part: &str, value: &str, longest_ns: u64) -> Result<u64, GoalError> {
    let ns = parse_duration_ns(value).ok().filter(|ns| (SHORTEST_NS..=longest_ns).contains(ns));
    ns.ok_or_else(|| out_of_range(name, part, "needs a duration of 200 ms to 24 h, such as 10s"))
}

fn share(
    name: &str,
    part: &str,
    value: &str,
    (least, most): (f64, f64),
    needs: &'static str,
) -> Result<f64, GoalError> {
    let share = parse_percent(value).ok().filter(|share| (least..=most).contains(share));
    share.ok_or_else(|| out_of_range(name, part, needs))
}

/// The Goal Loss Ratio: a trial that loses exactly so much is still low-loss, as the RFC has it.
fn loss_ratio(name: &str, part: &str) -> Result<f64, GoalError> {
    let expected =
        Expectation::parse(part).map_err(|error| GoalError::Criterion { name: name.to_owned(), error })?;
    let share = match expected.bound {
        Bound::Share(share) => Some(share),
        // `loss=0` is a number of queries, and no share of them.
        Bound::Count(0.0) => Some(0.0),
        _ => None,
    };
    let is_allowed = |share: &f64| match expected.comparison {
        Comparison::Equal => *share == 0.0,
        Comparison::Less => *share > 0.0 && *share < 1.0,
        Comparison::LessOrEqual => *share < 1.0,
        Comparison::Greater | Comparison::GreaterOrEqual => false,
    };
    let is_loss = expected.metric == Metric::Queries(QueryCount::Lost);
    let not_loss =
        || GoalError::NotLoss { name: name.to_owned(), part: shown(part, MOST_SHOWN).into_owned() };
    share.filter(is_allowed).filter(|_| is_loss).ok_or_else(not_loss)
}

fn out_of_range(name: &str, part: &str, needs: &'static str) -> GoalError {
    GoalError::Range { name: name.to_owned(), part: shown(part, MOST_SHOWN).into_owned(), needs }
}

/// The usual goals: no loss, and the share that data planes are usually measured with.
const USUAL_GOALS: [&str; 2] = ["lossless: loss=0", "partial: loss<=0.5%"];

/// The socket of a DNS server holds a tenth of a second of queries or two (2 MiB at 30,000 a second): in a trial of one
/// second without loss that is a fifth too much, in ten seconds 2 %.
const FINAL_TRIAL_NS: u64 = 10_000_000_000;

/// Short trials find the place of the bounds; a trial that shows a loss need not be long.
const INITIAL_TRIAL_NS: u64 = 1_000_000_000;

/// Of three trials two decide, whatever the third is: the median.
const TRIALS_OF_A_SUM: u64 = 3;

/// The RFC recommends it: the search then differs least in its length.
const EXCEED_RATIO: f64 = 0.5;

const WIDTH: f64 = 0.005;

/// Loads have four digits, so neighbours differ by up to 0.1 %.
const NARROWEST: f64 = 0.002;
const WIDEST: f64 = 0.5;

/// A shorter trial is mostly its start.
const SHORTEST_NS: u64 = 200_000_000;
const LONGEST_NS: u64 = 86_400_000_000_000;

/// So many queries that a goal allows to be lost make its share a figure.
const FEWEST_LOST: f64 = 10.0;

/// With fewer, one query more or less decides.
const FEWEST_QUERIES: f64 = 1_000.0;

const MOST_GOALS: usize = 20;

/// Characters of a goal that an error shows.
const MOST_SHOWN: usize = 80;

#[cfg(test)]
mod tests {
    use super::*;

    fn goals(texts: &[&str]) -> Result<Vec<SearchGoal>, String> {
        let texts: Vec<String> = texts.iter().map(|text| (*text).to_owned()).collect();
        SearchGoal::all(&texts, None).map_err(|error| error.to_string())
    }

    #[test]
    fn the_usual_goals_are_no_loss_and_half_a_percent_with_the_median_of_three_trials_of_ten_seconds() {
        let usual = goals(&[]).unwrap();
        let texts: Vec<String> = usual.iter().map(SearchGoal::text).collect();
        let attributes = "(Goal Final Trial Duration 10 s, Duration Sum 30 s, Exceed Ratio 50.00 %, Width 0.50 %, \
                          Initial Trial Duration 1 s)";
        assert_eq!(texts[0], format!("lossless: loss<=0 % {attributes}"));
        assert_eq!(texts[1], format!("partial: loss<=0.50 % {attributes}"));
    }

    #[test]
    fn every_attribute_can_be_given_and_the_strictest_goal_comes_first() {
        let two = goals(&[
            "loose: loss<2%, 2 s",
            "rfc2544: loss=0, 60 s, sum=60 s, exceed=0%, width=1%, initial=5s",
        ]);
        let two = two.unwrap();
        assert_eq!((two[0].name.as_str(), two[1].name.as_str()), ("rfc2544", "loose"));
        let SearchGoal { loss_ratio, final_trial_ns, duration_sum_ns, exceed_ratio, width, .. } = two[0];
        assert_eq!((loss_ratio, exceed_ratio, width), (0.0, 0.0, 0.01));
        assert_eq!((final_trial_ns, duration_sum_ns), (60_000_000_000, 60_000_000_000));
        assert_eq!(two[0].initial_trial_ns, 5_000_000_000);
        // Not below the loss ratio; three trials.
        assert_eq!((two[1].width, two[1].duration_sum_ns), (0.02, 6_000_000_000));
        assert_eq!(goals(&["a: loss<=0%, exceed=0%"]).unwrap()[0].duration_sum_ns, FINAL_TRIAL_NS);
    }

    #[test]
    fn trials_grow_by_ten_times_at_most() {
        let of = |text: &str| -> Vec<u64> {
            goals(&[text]).unwrap()[0].trial_lengths_ns().iter().map(|ns| ns / 1_000_000).collect()
        };
        assert_eq!(of("a: loss=0"), [1_000, 10_000]);
        assert_eq!(of("a: loss=0, 1 s"), [1_000]);
        assert_eq!(of("a: loss=0, 60 s"), [1_000, 7_746, 60_000]);
        assert_eq!(of("a: loss=0, 500ms"), [500]);
    }

    #[test]
    fn what_is_not_a_goal_is_refused_with_what_to_do() {
        for (text, said) in [
            ("loss=0", "it has no name"),
            ("a:", "it has no loss ratio: add loss=0"),
            ("a: 10 s", "it has no loss ratio"),
            ("a: p99<5ms", "judges the loss ratio only"),
            ("a: loss>1%", "judges the loss ratio only"),
            ("a: loss=1%", "judges the loss ratio only"),
            ("a: loss<0%", "judges the loss ratio only"),
            ("a: loss<=100%", "judges the loss ratio only"),
            ("a: los<1%", "there is no metric `los`"),
            ("a: loss=0, 10 parsecs", "needs a duration of 200 ms to 24 h"),
            ("a: loss=0, 10ms", "needs a duration of 200 ms to 24 h"),
            ("a: loss=0, 10 s, 20 s", "`20 s` is its second trial duration"),
            ("a: loss=0, loss<1%", "`loss<1%` is its second loss ratio"),
            ("a: loss=0, exceed=100%", "needs 0% to 99%"),
            ("a: loss=0, width=0.1%", "needs 0.2% to 50%"),
            ("a: loss=0, 10 s, sum=5 s", "the sum must be at least as long as a trial"),
            ("a: loss=0, 1 s, initial=2 s", "must not be longer than the last ones"),
        ] {
            let error = goals(&[text]).unwrap_err();
            assert!(error.contains(said) && error.starts_with("--goal `"), "{text}: {error}");
        }
        assert!(goals(&["a: loss=0", "a: loss<1%"]).unwrap_err().contains("two goals have this name"));
        let many = vec!["a: loss=0"; 21];
        assert!(goals(&many).unwrap_err().contains("there are 21 goals"));
    }
}

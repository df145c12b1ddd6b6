//! A Search Goal of RFC 9971, section "Search Goal": what a load must show to be a bound, and how near the two bounds
//! must be.
//!
//! ```text
//!   lossless: loss=0, 10 s, sum=30 s, exceed=50%, width=0.5%, initial=1 s
//!   name      Loss    Final Duration  Exceed      Width       Initial Trial Duration
//!             Ratio   Trial Sum       Ratio
//! ```

use dnsdyno_plan::expect::{Bound, Comparison, Expectation, Metric, QueryCount};
use dnsdyno_text::notation::{parse_duration_ns, parse_percent};
use dnsdyno_text::shown;
use dnsdyno_text::units::{percent, setting};

use crate::find::written::{Attribute, GoalError, LONGEST_NS, Written};

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
        let given: Vec<&str> = texts.iter().map(String::as_str).collect();
        let of = if given.is_empty() { &USUAL_GOALS[..] } else { &given[..] };
        let written = Written::read_all(of, MOST_GOALS)?.into_iter();
        let goals: Result<Vec<SearchGoal>, GoalError> =
            written.map(|goal| SearchGoal::of(goal, final_ns)).collect();
        let mut goals = goals?;
        goals.sort_by(|one, other| one.loss_ratio.total_cmp(&other.loss_ratio));
        Ok(goals)
    }

    fn of(written: Written, final_ns: u64) -> Result<SearchGoal, GoalError> {
        let loss_ratio = loss_ratio(&written)?;
        let mut parts = Parts::default();
        for attribute in &written.attributes {
            parts.take(&written, attribute)?;
        }
        let given = written.duration.as_ref().map(|(part, ns)| in_range(&written, part, Some(*ns)));
        let final_trial_ns = given.transpose()?.unwrap_or(final_ns);
        let exceed_ratio = parts.exceed_ratio.unwrap_or(EXCEED_RATIO);
        // Where no trial may exceed, one that does not is enough: more would not change what the load is.
        let usual_trials = if exceed_ratio > 0.0 { TRIALS_OF_A_SUM } else { 1 };
        let goal = SearchGoal {
            loss_ratio,
            final_trial_ns,
            duration_sum_ns: parts.sum_ns.unwrap_or(final_trial_ns.saturating_mul(usual_trials)),
            exceed_ratio,
            // The RFC: not below the Goal Loss Ratio, so that conditional throughputs keep the order of the goals.
            width: parts.width.unwrap_or(WIDTH.max(loss_ratio).min(WIDEST)),
            initial_trial_ns: parts.initial_ns.unwrap_or(INITIAL_TRIAL_NS.min(final_trial_ns)),
            name: written.name.clone(),
        };
        if goal.duration_sum_ns < final_trial_ns {
            let part = format!("sum={}", setting(goal.duration_sum_ns));
            return Err(written.range(&part, "the sum must be at least as long as a trial"));
        }
        if goal.initial_trial_ns > final_trial_ns {
            let part = format!("initial={}", setting(goal.initial_trial_ns));
            return Err(written.range(&part, "the first trials must not be longer than the last ones"));
        }
        Ok(goal)
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

/// The attributes of a goal that were given.
#[derive(Default)]
struct Parts {
    sum_ns: Option<u64>,
    exceed_ratio: Option<f64>,
    width: Option<f64>,
    initial_ns: Option<u64>,
}

impl Parts {
    fn take(&mut self, goal: &Written, attribute: &Attribute) -> Result<(), GoalError> {
        let Attribute { key, value, part } = attribute;
        let duration = || in_range(goal, part, parse_duration_ns(value).ok());
        let share = |least: f64, most: f64, needs| {
            let share = parse_percent(value).ok().filter(|share| (least..=most).contains(share));
            share.ok_or_else(|| goal.range(part, needs))
        };
        match *key {
            "sum" => self.sum_ns = Some(duration()?),
            "initial" => self.initial_ns = Some(duration()?),
            "exceed" => self.exceed_ratio = Some(share(0.0, 0.99, "needs 0% to 99%")?),
            _ => {
                let needs = "needs 0.2% to 50%: loads have four digits";
                self.width = Some(share(NARROWEST, WIDEST, needs)?);
            }
        }
        Ok(())
    }
}

fn in_range(goal: &Written, part: &str, ns: Option<u64>) -> Result<u64, GoalError> {
    let ns = ns.filter(|ns| (SHORTEST_NS..=LONGEST_NS).contains(ns));
    ns.ok_or_else(|| goal.range(part, "needs a duration of 200 ms to 24 h, such as 10s"))
}

/// The Goal Loss Ratio: a trial that loses exactly so much is still low-loss, as the RFC has it.
fn loss_ratio(goal: &Written) -> Result<f64, GoalError> {
    let of = |expected: &Expectation| {
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
        let not_loss = || GoalError::NotLoss {
            name: goal.name.clone(),
            part: shown(&expected.text, MOST_SHOWN).into_owned(),
        };
        share.filter(is_allowed).filter(|_| is_loss).ok_or_else(not_loss)
    };
    let ratios: Result<Vec<f64>, GoalError> = goal.criteria.iter().map(of).collect();
    match (ratios?.as_slice(), goal.criteria.get(1)) {
        ([ratio], _) => Ok(*ratio),
        (_, Some(second)) => Err(goal.twice(&second.text, "loss ratio")),
        (_, None) => Err(GoalError::NoCriterion(goal.name.clone())),
    }
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
            ("loss=0", "--goal 'loss=0': it has no name"),
            ("a: 10 s", "it has no criterion"),
            ("a: loss<1%, p99<5ms", "`p99<5ms`: --method mlrsearch judges the loss ratio only"),
            ("a: p99<5ms", "judges the loss ratio only"),
            ("a: loss>1%", "judges the loss ratio only"),
            ("a: loss=1%", "judges the loss ratio only"),
            ("a: loss<0%", "judges the loss ratio only"),
            ("a: loss<=100%", "judges the loss ratio only"),
            ("a: los<1%", "there is no metric `los`"),
            ("a: loss=0, 10ms", "needs a duration of 200 ms to 24 h"),
            ("a: loss=0, 10 s, 20 s", "`20 s` is its second duration"),
            ("a: loss=0, loss<1%", "`loss<1%` is its second loss ratio"),
            ("a: loss=0, exceed=100%", "needs 0% to 99%"),
            ("a: loss=0, width=0.1%", "needs 0.2% to 50%"),
            ("a: loss=0, 10 s, sum=5 s", "the sum must be at least as long as a trial"),
            ("a: loss=0, 1 s, initial=2 s", "must not be longer than the last ones"),
        ] {
            let error = goals(&[text]).unwrap_err();
            assert!(error.contains(said) && error.starts_with("--goal "), "{text}: {error}");
        }
        assert!(goals(&["a: loss=0", "a: loss<1%"]).unwrap_err().contains("two goals of this name"));
        let many = vec!["a: loss=0"; 21];
        assert!(goals(&many).unwrap_err().contains("there are 21 goals"));
    }
}

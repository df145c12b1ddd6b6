//! When a trial passes: expectations of the user, or the default: no loss beyond chance, and p99 of at most 100 ms.
//! And, whatever the criteria, no queue that still grows: such a load is not held, only not yet refused.

use dnsdyno_measure::BEYOND;
use dnsdyno_plan::expect::{Bound, Expectation, Figure, Metric};
use dnsdyno_record::expect::{Decision, Measured, Outcome, evaluate, evaluate_row};
use dnsdyno_record::held::{Growth, growth_of_run, growth_of_step};
use dnsdyno_record::{Digest, Row};

use super::trial::{Trial, Unmet};

/// What a trial must show.
#[derive(Clone, Debug, PartialEq)]
pub struct Criteria {
    /// The expectations.
    pub expectations: Vec<Expectation>,
    /// Whether loss is judged by chance.
    pub no_loss_beyond_chance: bool,
}

impl Criteria {
    /// Those of the user; the default where there are none.
    pub fn new(expectations: Vec<Expectation>) -> Criteria {
        match expectations.is_empty() {
            false => Criteria { expectations, no_loss_beyond_chance: false },
            true => Criteria {
                expectations: Expectation::parse(DEFAULT_LATENCY).into_iter().collect(),
                no_loss_beyond_chance: true,
            },
        }
    }

    /// As text, one each.
    pub fn texts(&self) -> Vec<String> {
        let by_chance = self.no_loss_beyond_chance.then(|| BY_CHANCE.to_owned());
        by_chance.into_iter().chain(self.expectations.iter().map(|expected| expected.text.clone())).collect()
    }

    /// How many queries a trial needs so that each criterion is a figure: at least ten beyond a percentile, at least
    /// ten that a share allows.
    pub fn queries_needed(&self) -> u64 {
        self.expectations.iter().map(needed_by).max().unwrap_or(0).max(FEWEST_QUERIES)
    }

    /// The criterion that needs the most queries, and how many; `None` where each is judged from any number.
    pub(super) fn rarest(&self) -> Option<(&str, u64)> {
        let with_needed =
            self.expectations.iter().map(|expected| (expected.text.as_str(), needed_by(expected)));
        with_needed.max_by_key(|(_, needed)| *needed).filter(|(_, needed)| *needed > 0)
    }

    /// The criteria that a run did not meet. `earlier` are the trials before it.
    pub(super) fn unmet(&self, run: &Digest, trial: &Trial, earlier: &[Trial]) -> Vec<Unmet> {
        let mut unmet = self.unmet_of(evaluate(&self.expectations, run), trial, earlier);
        unmet.extend(growth_of_run(run).filter(|_| unmet.is_empty()).map(not_steady));
        unmet
    }

    /// The criteria that a step of a run did not meet.
    pub(super) fn unmet_by_row(
        &self,
        run: &Digest,
        row: &Row,
        step: &Trial,
        earlier: &[Trial],
    ) -> Vec<Unmet> {
        let mut unmet = self.unmet_of(evaluate_row(&self.expectations, run, row), step, earlier);
        unmet.extend(growth_of_step(&run.header, row).filter(|_| unmet.is_empty()).map(not_steady));
        unmet
    }

    fn unmet_of(&self, outcomes: Vec<Outcome>, trial: &Trial, earlier: &[Trial]) -> Vec<Unmet> {
        let unmet = outcomes.into_iter().filter(|outcome| !outcome.decision.is_met());
        let of = |outcome: Outcome| Unmet {
            is_certain: outcome.decision != Decision::Undecided,
            criterion: outcome.text,
            measured: outcome.ends.measured,
        };
        let mut unmet: Vec<Unmet> = unmet.map(of).collect();
        if trial.queries > 0 && trial.lost == trial.queries {
            unmet.push(Unmet {
                criterion: ANSWERS.to_owned(),
                measured: Measured::Part { part: 0, whole: trial.queries },
                is_certain: true,
            });
        } else if self.no_loss_beyond_chance && is_beyond_chance(trial, earlier) {
            unmet.push(Unmet {
                criterion: BY_CHANCE.to_owned(),
                measured: Measured::Part { part: trial.lost, whole: trial.queries },
                is_certain: true,
            });
        }
        unmet
    }
}

/// The queries that make an expectation a figure.
fn needed_by(expected: &Expectation) -> u64 {
    match (expected.metric, expected.bound) {
        (Metric::Duration(_, Figure::Quantile(q)), _) if q < 1.0 => needed_beyond(1.0 - q),
        (Metric::Queries(_) | Metric::Responses(_) | Metric::Fallback, Bound::Share(share)) => {
            let rare = share.min(1.0 - share);
            if rare > 0.0 { needed_beyond(rare) } else { 0 }
        }
        _ => 0,
    }
}

fn not_steady(growth: Growth) -> Unmet {
    Unmet { criterion: STEADY.to_owned(), measured: Measured::Duration(growth.by_ns), is_certain: true }
}

/// So many queries that `BEYOND` of them are expected in this share.
fn needed_beyond(share: f64) -> u64 {
    (BEYOND as f64 / share * (1.0 - 1e-9)).ceil() as u64
}

/// Whether more queries were lost than at half of the load or less, or, where none was lost there, than one in
/// 100,000: so many more that chance gives it in less than one of a thousand trials.
fn is_beyond_chance(trial: &Trial, earlier: &[Trial]) -> bool {
    let low = earlier.iter().filter(|other| other.load <= trial.load / 2.0 && other.passed() == Some(true));
    let (lost, queries) = low.fold((0, 0), |sum, other| (sum.0 + other.lost, sum.1 + other.queries));
    let usual = trial.queries as f64 * USUAL_LOSS;
    let from_low = match queries {
        0 => 0.0,
        // What was lost at low loads is itself a figure of chance: its upper end counts.
        _ => (lost as f64 + 2.0 * (lost as f64).sqrt()) * trial.queries as f64 / queries as f64,
    };
    at_least(trial.lost, usual.max(from_low)) < RARE
}

/// The chance of so many or more events where `mean` are expected (Poisson).
fn at_least(count: u64, mean: f64) -> f64 {
    if mean > 500.0 {
        return 1.0 - super::belief::normal((count as f64 - 0.5 - mean) / mean.sqrt());
    }
    let (mut term, mut below) = ((-mean).exp(), 0.0);
    for event in 0..count.min(MOST_EVENTS) {
        below += term;
        term *= mean / (event + 1) as f64;
    }
    1.0 - below
}

/// The default criterion of latency.
const DEFAULT_LATENCY: &str = "p99<=100ms";

/// The default criterion of loss, in words.
pub const BY_CHANCE: &str = "no loss beyond chance";

/// A criterion of every search, in words.
pub const STEADY: &str = "no queue that grows through the trial";

/// A criterion of every search, in words.
pub const ANSWERS: &str = "answers";

/// Loss of this share is put down to chance: one packet of 100,000.
const USUAL_LOSS: f64 = 1e-5;

/// A trial in a thousand fails by chance.
const RARE: f64 = 0.001;

/// Enough to know that so many are not chance where fewer than 500 are expected.
const MOST_EVENTS: u64 = 2_000;

/// With fewer, one query more or less decides.
const FEWEST_QUERIES: u64 = 1_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentile_needs_ten_queries_beyond_it_and_a_share_ten_within_it() {
        let needed = |texts: &[&str]| {
            Criteria::new(texts.iter().map(|text| Expectation::parse(text).unwrap()).collect())
                .queries_needed()
        };
        assert_eq!(needed(&["p99<5ms"]), 1_000);
        assert_eq!(needed(&["p99.9<5ms"]), 10_000);
        assert_eq!(needed(&["loss<0.01%", "p50<1ms"]), 100_000);
        assert_eq!(needed(&["loss=0"]), 1_000);
        assert_eq!(needed(&[]), 1_000);
    }

    #[test]
    fn chance_is_that_of_rare_and_independent_events() {
        assert!((at_least(1, 0.1) - 0.095_163).abs() < 1e-6);
        assert!((at_least(3, 0.1) - 0.000_154_7).abs() < 1e-6);
        assert!((at_least(0, 5.0) - 1.0).abs() < 1e-9);
        assert!(at_least(1_100, 1_000.0) < 0.001 && at_least(1_020, 1_000.0) > 0.2);
    }
}

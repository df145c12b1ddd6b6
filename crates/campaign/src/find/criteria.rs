//! When a trial passes: expectations of the user, or the default: no loss beyond chance, and p99 of at most 100 ms.
//! And, whatever the criteria, no queue that still grows: such a load is not held, only not yet refused.

use dnsdyno_measure::BEYOND;
use dnsdyno_plan::expect::{Bound, Durations, Expectation, Figure, Metric, QueryCount};
use dnsdyno_record::expect::{Decision, Ends, Measured, Outcome, evaluate, evaluate_row, measure_row};
use dnsdyno_record::held::{Growth, growth_of_run, growth_of_step};
use dnsdyno_record::{Digest, Row};

use super::trial::{Judged, OfCriterion, Trial};

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

    /// The criteria that a run does not meet for certain. `earlier` are the trials before it.
    pub(super) fn judge(&self, run: &Digest, trial: &Trial, earlier: &[Trial]) -> Judged {
        let mut judged = self.judge_figures(evaluate(&self.expectations, run), trial, earlier);
        // Where another criterion is not met, a queue is its reason.
        if judged.unmet.is_empty() {
            let last = run.rows().len() - run.rows().len() / 4;
            let ours_ns =
                || run.rows().get(last..).into_iter().flatten().map(|row| mean_of_ours(run, row)).max();
            judged.add(STEADY, growth_of_run(run).map(|growth| steady(growth, ours_ns().unwrap_or(0))));
        }
        judged
    }

    /// The criteria that a step of a run does not meet for certain.
    pub(super) fn judge_row(&self, run: &Digest, row: &Row, step: &Trial, earlier: &[Trial]) -> Judged {
        let mut judged = self.judge_figures(evaluate_row(&self.expectations, run, row), step, earlier);
        if judged.unmet.is_empty() {
            // What is ours may all be in the last quarter.
            let ours_ns = || mean_of_ours(run, row).saturating_mul(4);
            judged.add(STEADY, growth_of_step(&run.header, row).map(|growth| steady(growth, ours_ns())));
        }
        judged
    }

    fn judge_figures(&self, outcomes: Vec<Outcome>, trial: &Trial, earlier: &[Trial]) -> Judged {
        let mut judged = Judged { of_bound: self.of_bound(&outcomes), ..Judged::default() };
        for Outcome { text, ends, decision } in outcomes {
            // With too few queries nothing is known of the server.
            let is_few = matches!(ends.measured, Measured::TooFew { .. });
            judged.add(&text, Some((if is_few { Decision::Undecided } else { decision }, ends)));
        }
        if trial.queries > 0 && trial.lost == trial.queries {
            judged.add(ANSWERS, not_above(trial, |lost| lost == trial.queries, |lost| trial.queries - lost));
        } else if self.no_loss_beyond_chance {
            judged
                .add(BY_CHANCE, not_above(trial, |lost| is_beyond_chance(lost, trial, earlier), |lost| lost));
        }
        judged
    }

    /// The largest of the latencies that were measured, as a multiple of its bound.
    fn of_bound(&self, outcomes: &[Outcome]) -> Option<f64> {
        let with_bound = self.expectations.iter().zip(outcomes).filter_map(|(expected, outcome)| {
            match (expected.bound, &outcome.ends.measured) {
                (Bound::DurationNs(bound_ns), Measured::Duration(ns)) if !expected.comparison.is_upward() => {
                    Some(*ns as f64 / bound_ns.max(1.0))
                }
                _ => None,
            }
        });
        with_bound.max_by(f64::total_cmp)
    }

    /// The share of queries whose loss is allowed, by the loosest criterion of loss; 0 where any loss fails.
    pub(super) fn allowed_loss(&self) -> f64 {
        let losses =
            self.expectations.iter().filter_map(|expected| match (expected.metric, expected.bound) {
                (Metric::Queries(QueryCount::Lost), Bound::Share(share)) => Some(share),
                _ => None,
            });
        losses.min_by(f64::total_cmp).unwrap_or(0.0)
    }

    /// The share of the queries whose loss in `part` of a trial of so many queries makes it certain that the trial
    /// fails, whatever the rest of it brings; `usual` is the share that is lost at low loads. `None` where no loss
    /// does.
    pub(super) fn certain_loss(&self, part: f64, queries: f64, usual: f64) -> Option<f64> {
        let of_each =
            self.expectations.iter().filter_map(|expected| match (expected.metric, expected.bound) {
                _ if expected.comparison.is_upward() => None,
                (Metric::Queries(QueryCount::Lost | QueryCount::TimedOut), Bound::Share(share)) => {
                    Some(share)
                }
                (Metric::Queries(QueryCount::Lost | QueryCount::TimedOut), Bound::Count(count)) => {
                    Some((count + 1.0) / queries.max(1.0))
                }
                // A percentile among the lost queries is above each bound that is not above the timeout.
                (Metric::Duration(Durations::Headline | Durations::Response, Figure::Quantile(q)), _) => {
                    Some(1.0 - q)
                }
                _ => None,
            });
        let by_chance = self.no_loss_beyond_chance.then_some((2.0 * usual).max(BEYOND_CHANCE));
        let share = of_each.chain(by_chance).min_by(f64::total_cmp)?;
        let of_part = (share * CERTAIN / part).max(LEAST_CERTAIN);
        (of_part < MOST_CERTAIN).then_some(of_part)
    }
}

impl Judged {
    /// Without what was found about this criterion.
    pub(super) fn without(mut self, criterion: &str) -> Judged {
        self.unmet.retain(|of| of.criterion != criterion);
        self.undecided.retain(|of| of.criterion != criterion);
        self
    }

    /// Adds what was found about a criterion; nothing where it is met.
    fn add(&mut self, criterion: &str, found: Option<(Decision, Ends)>) {
        let Some((decision, ends)) = found else { return };
        let of = OfCriterion { criterion: criterion.to_owned(), ends };
        match decision {
            Decision::Met => {}
            Decision::NotMet => self.unmet.push(of),
            Decision::Undecided => self.undecided.push(of),
        }
    }
}

/// The decision on a loss that `is_too_much`, with all lost queries and without those that may be ours; `part` is the
/// figure that is shown.
fn not_above(
    trial: &Trial,
    is_too_much: impl Fn(u64) -> bool,
    part: impl Fn(u64) -> u64,
) -> Option<(Decision, Ends)> {
    let least = trial.lost.saturating_sub(trial.ours);
    let decision = match (is_too_much(trial.lost), is_too_much(least)) {
        (false, _) => Decision::Met,
        (true, false) => Decision::Undecided,
        (true, true) => Decision::NotMet,
    };
    let of = |lost| Measured::Part { part: part(lost), whole: trial.queries };
    Some((decision, Ends { measured: of(trial.lost), without_ours: of(least) }))
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

/// So many queries that `BEYOND` of them are expected in this share.
fn needed_beyond(share: f64) -> u64 {
    (BEYOND as f64 / share * (1.0 - 1e-9)).ceil() as u64
}

/// Whether these are more lost queries than at half of the load or less, or, where none was lost there, than one in
/// 100,000: so many more that chance gives it in less than one of a thousand trials.
fn is_beyond_chance(lost_here: u64, trial: &Trial, earlier: &[Trial]) -> bool {
    let low = earlier.iter().filter(|other| other.load <= trial.load / 2.0 && other.passed() == Some(true));
    let (lost, queries) = low.fold((0, 0), |sum, other| (sum.0 + other.lost, sum.1 + other.queries));
    let usual = trial.queries as f64 * USUAL_LOSS;
    let from_low = match queries {
        0 => 0.0,
        // What was lost at low loads is itself a figure of chance: its upper end counts.
        _ => (lost as f64 + 2.0 * (lost as f64).sqrt()) * trial.queries as f64 / queries as f64,
    };
    at_least(lost_here, usual.max(from_low)) < RARE
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

/// The decision on a queue that has grown, of which so much may be ours.
fn steady(growth: Growth, ours_ns: u64) -> (Decision, Ends) {
    let without_ours = growth.without(ours_ns);
    let decision = if without_ours.is_some() { Decision::NotMet } else { Decision::Undecided };
    let least_ns = growth.by_ns.saturating_sub(ours_ns);
    let ends =
        Ends { measured: Measured::Duration(growth.by_ns), without_ours: Measured::Duration(least_ns) };
    (decision, ends)
}

/// How much of the mean latency of a row may be the generator's.
fn mean_of_ours(run: &Digest, row: &Row) -> u64 {
    let ends = measure_row(Metric::Duration(Durations::Headline, Figure::Average), run, row);
    match (ends.measured, ends.without_ours) {
        (Measured::Duration(measured_ns), Measured::Duration(least_ns)) => {
            measured_ns.saturating_sub(least_ns)
        }
        (Measured::Duration(measured_ns), Measured::Partial { .. }) => measured_ns,
        _ => 0,
    }
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

/// A loss that is certain is more than what is allowed in the whole trial by this factor, and no less than this share
/// of a part of it: some packets more or less decide nothing. Where nearly all would have to be lost, the trial goes
/// on.
const CERTAIN: f64 = 1.2;
const LEAST_CERTAIN: f64 = 0.005;
const MOST_CERTAIN: f64 = 0.5;

/// A loss of this share is beyond chance in each trial with as many queries as are needed.
const BEYOND_CHANCE: f64 = 0.005;

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

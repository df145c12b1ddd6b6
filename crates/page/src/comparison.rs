//! A comparison as the page has it: side `a` is the baseline, side `b` the candidate.

use dnsdyno_campaign::compare::report::{
    bound as bound_in_words, unit_key, unlike_lines, verdict_key, words,
};
use dnsdyno_campaign::compare::{self, BoundState, Compared, Outcome};

use crate::data::{ComparedMetric, Comparison, Expectation, Side};

impl From<&compare::Comparison> for Comparison {
    fn from(comparison: &compare::Comparison) -> Comparison {
        let side = |title: &str, runs: &[String]| Side { title: title.to_owned(), runs: runs.to_vec() };
        Comparison {
            sentence: words::sentence(comparison),
            state: state(comparison.outcome).to_owned(),
            a: side("baseline", &comparison.baseline),
            b: side("candidate", &comparison.candidate),
            first: comparison.metrics.first().map(|metric| metric.name.clone()).unwrap_or_default(),
            metrics: comparison.metrics.iter().map(metric).collect(),
            steps: comparison.steps.iter().map(metric).collect(),
            unlike: unlike_lines(&comparison.unlike).lines().map(str::to_owned).collect(),
            notes: comparison.notes.iter().map(words::note).collect(),
            fail_if: comparison.bounds.iter().map(|bound| expectation(comparison, bound)).collect(),
        }
    }
}

fn state(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Better => "faster",
        Outcome::Worse => "slower",
        Outcome::Mixed => "mixed",
        Outcome::NoDifference => "no_difference",
        Outcome::Undecided => "undecided",
        Outcome::TooFew => "too_few",
    }
}

fn metric(metric: &Compared) -> ComparedMetric {
    let values =
        |figures: &[compare::Figure]| figures.iter().map(|figure| Some(figure.value)).collect::<Vec<_>>();
    // The difference of two rates, one of which is 0, is no ratio: it is only in the words.
    let is_drawn = |change: &compare::Change| change.is_ratio || metric.kind == compare::Kind::Share;
    let change = metric.change.filter(|change| !change.at_least && is_drawn(change));
    let interval = change.and_then(|change| change.interval);
    ComparedMetric {
        name: metric.name.clone(),
        unit: unit_key(metric.kind).to_owned(),
        less_is_better: metric.less_is_better,
        a: words::figure(metric.kind, metric.baseline_median),
        b: words::figure(metric.kind, metric.candidate_median),
        a_values: values(&metric.baseline),
        b_values: values(&metric.candidate),
        difference: change.map(|change| change.estimate),
        from: interval.map(|ends| ends.from),
        to: interval.map(|ends| ends.to),
        p_value: Some(metric.probability.alone),
        p_adjusted: Some(metric.probability.together),
        effect: Some(metric.effect),
        verdict: verdict_key(metric.verdict).to_owned(),
        words: in_words(metric),
    }
}

/// `5.1 % higher (3.9 to 6.2 %)`
fn in_words(metric: &Compared) -> String {
    let ends = metric.change.and_then(|change| words::interval(metric.kind, &change));
    match ends.filter(|_| !metric.is_constant) {
        Some(ends) => format!("{} ({ends})", words::change(metric)),
        None => words::change(metric),
    }
}

fn expectation(comparison: &compare::Comparison, bound: &compare::BoundOutcome) -> Expectation {
    let (word, change) = bound_in_words(comparison, bound);
    Expectation {
        text: bound.text.clone(),
        measured: format!("{}: {change}", word.to_lowercase()),
        state: match bound.state {
            BoundState::Kept => "pass",
            BoundState::Exceeded => "fail",
            BoundState::NotJudged(_) => "undecided",
        },
        limit: None,
    }
}

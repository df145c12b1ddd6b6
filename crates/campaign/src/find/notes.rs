//! Notes that every method has: undecided trials, answers with errors, congestion collapse.

use dnsdyno_plan::expect::Metric;

use super::criteria::Criteria;
use super::finding::FindNote;
use super::trial::{Trial, TrialVerdict};

/// The notes on what was seen in trials, whatever was found. `open` are the loads that stay undecided near the limit.
pub(super) fn of_trials(trials: &[Trial], criteria: &Criteria, open: Option<(f64, f64)>) -> Vec<FindNote> {
    undecided(trials, open).into_iter().chain(errors(trials, criteria)).collect()
}

fn undecided(trials: &[Trial], open: Option<(f64, f64)>) -> Option<FindNote> {
    let (mut criteria, mut reasons) = (Vec::new(), Vec::new());
    let (mut lowest, mut count) = (f64::INFINITY, 0);
    for trial in trials {
        let TrialVerdict::Undecided(undecided) = &trial.verdict else { continue };
        // Too few queries in a piece of a ramp are no doubt about the generator.
        if undecided.is_of_few_queries() {
            continue;
        }
        (lowest, count) = (lowest.min(trial.load), count + 1);
        criteria.extend(undecided.on_ours().map(|of| of.criterion.clone()));
        reasons.extend(undecided.reasons.iter().cloned());
    }
    for names in [&mut criteria, &mut reasons] {
        names.sort();
        names.dedup();
    }
    (count > 0).then_some(FindNote::Undecided { load: lowest, trials: count, criteria, reasons, open })
}

/// Errors as answers, which no criterion forbids: a server that refuses what is too much holds any load.
fn errors(trials: &[Trial], criteria: &Criteria) -> Option<FindNote> {
    let is_judged = criteria.expectations.iter().any(|one| matches!(one.metric, Metric::Responses(_)));
    let passed = trials.iter().filter(|trial| trial.passed() == Some(true) && !is_judged);
    let (errors, queries) = passed.fold((0, 0), |sum, trial| (sum.0 + trial.errors, sum.1 + trial.queries));
    let share = errors as f64 / queries.max(1) as f64;
    (share >= TOLD_ERRORS).then_some(FindNote::Errors { share })
}

/// Whether fewer queries were answered beyond the limit than at it.
pub(super) fn collapse(trials: &[Trial], limit: f64) -> Option<FindNote> {
    let clean = || trials.iter().filter(|trial| trial.passed().is_some());
    let by_answered = |a: &&Trial, b: &&Trial| a.answered_qps.total_cmp(&b.answered_qps);
    let peak = clean().filter(|trial| trial.load <= limit * 1.1).max_by(by_answered)?;
    let worst = clean().filter(|trial| trial.load >= limit * 1.1).min_by(by_answered)?;
    (worst.answered_qps < peak.answered_qps * COLLAPSED).then_some(FindNote::Collapse {
        load: worst.load,
        answered_qps: worst.answered_qps,
        peak_load: peak.load,
        peak_qps: peak.answered_qps,
    })
}

/// So many answers with errors are told.
const TOLD_ERRORS: f64 = 1e-3;

/// Fewer answers than this share of the most are a collapse.
const COLLAPSED: f64 = 0.85;

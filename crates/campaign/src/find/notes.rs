//! Notes that every method has: trials in doubt, and congestion collapse.

use super::finding::FindNote;
use super::trial::{Trial, TrialVerdict};

/// The note on trials in doubt.
pub(super) fn doubt_note(trials: &[Trial]) -> Option<FindNote> {
    let mut warnings: Vec<String> = Vec::new();
    let (mut lowest, mut count) = (f64::INFINITY, 0);
    for trial in trials {
        let TrialVerdict::InDoubt(names) = &trial.verdict else { continue };
        (lowest, count) = (lowest.min(trial.load), count + 1);
        warnings.extend(names.iter().cloned());
    }
    warnings.sort();
    warnings.dedup();
    (count > 0).then_some(FindNote::Doubt { load: lowest, trials: count, warnings })
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

/// Fewer answers than this share of the most are a collapse.
const COLLAPSED: f64 = 0.85;

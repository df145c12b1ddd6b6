//! What a stair and a ramp have in common: one run, of which each row is a trial.

use dnsdyno_record::Digest;

use super::finding::{FindNote, Finding, Outcome};
use super::notes::{collapse, of_trials};
use super::settings::Settings;
use super::trial::{Trial, is_row_made};

/// The rows of the run as trials, judged.
pub(super) fn trials_of_rows(settings: &Settings, run: &Digest) -> Vec<Trial> {
    let mut trials = Vec::new();
    for row in run.rows() {
        let load = settings.rounded(row.asked_qps());
        let mut trial = Trial::of_row(trials.len() as u32 + 1, load, run, row);
        let judged = settings.criteria.judge_row(run, row, &trial, &trials);
        trial.judge(judged, run, is_row_made(run, row));
        trials.push(trial);
    }
    trials
}

/// The finding of these trials, after so many runs that were cut off.
pub(super) fn finding_of_rows(
    settings: &Settings,
    outcome: Outcome,
    mut notes: Vec<FindNote>,
    trials: &[Trial],
    cut: u32,
) -> Finding {
    notes.extend(of_trials(trials, &settings.criteria, None));
    if let Outcome::Capacity { load, .. } = outcome {
        notes.extend(collapse(trials, load));
    }
    let Settings { method, what, .. } = *settings;
    let criteria = settings.criteria.texts();
    let (goals, belief, trials) = (Vec::new(), Vec::new(), trials.to_vec());
    Finding { method, what, criteria, outcome, goals, notes, trials, cut, belief }
}

//! The words of a trial that its chart and its table have in common.

use dnsdyno_campaign::find::report::{FoundPercentile, FoundTrial, FoundVerdict};
use dnsdyno_measure::Quantile;
use dnsdyno_report::quantile;

/// The verdict in a word, which is the name of its look too.
pub(super) fn word(verdict: FoundVerdict) -> &'static str {
    match verdict {
        FoundVerdict::Passed => "passed",
        FoundVerdict::Failed => "failed",
        FoundVerdict::Undecided => "undecided",
    }
}

/// The 99th percentile of a trial.
pub(super) fn slow(trial: &FoundTrial) -> String {
    percentile(trial.slow())
}

/// A percentile in a cell, with the mark of one that may mostly be the generator's.
pub(super) fn percentile((found, is_wide): (Option<FoundPercentile>, bool)) -> String {
    let mark = if is_wide { "~" } else { "" };
    let at = found
        .map(|found| if found.beyond_timeout { Quantile::BeyondTimeout } else { Quantile::At(found.ns) });
    format!("{mark}{}", quantile(at, found.map_or(0, |found| found.ns)))
}

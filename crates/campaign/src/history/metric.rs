//! The figures that a history follows.

use crate::compare::Kind;

/// A figure of a run, a search or an experiment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HistoryMetric {
    /// As in gates and files.
    pub key: &'static str,
    /// As in titles.
    pub title: &'static str,
    /// Its unit.
    pub kind: Kind,
    /// Whether a step down is better.
    pub less_is_better: bool,
}

/// All of them, in the order in which they are told.
pub const HISTORY_METRICS: [HistoryMetric; 7] = [
    of("limit", "limit", Kind::Rate, false),
    of("rate", "answers", Kind::Rate, false),
    of("loss", "loss", Kind::Share, true),
    of("p50", "p50", Kind::Duration, true),
    of("p95", "p95", Kind::Duration, true),
    of("p99", "p99", Kind::Duration, true),
    of("cpu", "CPU time per answer", Kind::Duration, true),
];

const fn of(key: &'static str, title: &'static str, kind: Kind, less_is_better: bool) -> HistoryMetric {
    HistoryMetric { key, title, kind, less_is_better }
}

impl HistoryMetric {
    /// That of this key.
    pub fn named(key: &str) -> Option<&'static HistoryMetric> {
        HISTORY_METRICS.iter().find(|metric| metric.key == key)
    }

    /// Whether its changes are ratios; those of a share are points.
    pub fn has_ratios(&self) -> bool {
        self.kind != Kind::Share
    }

    /// A change in the scale in which histories are judged, as a ratio or in shares: -0.05 for 5 % less.
    pub fn change(&self, scaled: f64) -> f64 {
        if self.has_ratios() { scaled.exp_m1() } else { scaled }
    }

    /// How much worse a change is, in the scale in which histories are judged; below 0 where it is better.
    pub fn worse(&self, scaled: f64) -> f64 {
        if self.less_is_better { scaled } else { -scaled }
    }

    /// The change in that scale that is worse by this ratio or share.
    pub fn scaled_bound(&self, bound: f64) -> f64 {
        match (self.has_ratios(), self.less_is_better) {
            (false, _) => bound,
            (true, true) => bound.ln_1p(),
            (true, false) => -(-bound).ln_1p(),
        }
    }
}

//! What the baseline of a comparison with the past is.

use std::collections::BTreeMap;
use std::fmt;

use dnsdyno_text::units::{count, counted};

/// What was found in the folder of the past and is not in the baseline.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LeftOut {
    /// Runs of another kind, by what differs first: `load`, `server`, `host`, or an option of the plan.
    pub other_kind: BTreeMap<String, u64>,
    /// Runs of the same kind that were started after the first of the new ones.
    pub later: u64,
    /// Runs of the same kind without their end, with lines lost, or ended before their time.
    pub unfinished: u64,
    /// Records that cannot be read.
    pub unreadable: u64,
    /// Runs of the same kind beyond the latest hundred.
    pub older: u64,
    /// The first runs of sessions, where they are dropped.
    pub first: u64,
}

/// What the baseline of a comparison with the past is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PastBaseline {
    /// The units that the new runs are held against.
    pub units: usize,
    /// Whether they are sessions; else each run is one.
    pub are_sessions: bool,
    /// With fewer nothing is told.
    pub fewest: usize,
    /// What is not in it.
    pub left_out: LeftOut,
}

impl fmt::Display for LeftOut {
    /// `12 of another kind (load 10, host 2), 1 unreadable`; of nothing, `nothing was left out`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let others: u64 = self.other_kind.values().sum();
        let kinds = self.other_kind.iter().map(|(what, runs)| format!("{what} {}", count(*runs)));
        let kinds = format!("{} of another kind ({})", count(others), kinds.collect::<Vec<_>>().join(", "));
        let parts = [
            (others, kinds),
            (self.later, format!("{} later than the new runs", count(self.later))),
            (self.unfinished, format!("{} without their regular end", count(self.unfinished))),
            (self.unreadable, format!("{} that cannot be read", count(self.unreadable))),
            (self.older, format!("{} older than the latest hundred", count(self.older))),
            (self.first, counted(self.first, "first run of a session", "first runs of sessions")),
        ];
        let told: Vec<String> =
            parts.into_iter().filter(|(runs, _)| *runs > 0).map(|(_, text)| text).collect();
        f.write_str(if told.is_empty() { "nothing was left out" } else { "" })?;
        f.write_str(&told.join(", "))
    }
}

//! What a run says about its generator and the host of it, in words.

use dnsdyno_record::Digest;
use dnsdyno_text::units::percent;
use serde::Serialize;

use crate::bounds::wide;

/// Whether rate and loss may be those of the generator or of its host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// They are not.
    Ok,
    /// They may be: they are not called those of the server.
    Doubt,
    /// The record has no end, or nothing was sent, and so there is no verdict.
    Unknown,
}

/// The verdict on the generator and its host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// Whether rate and loss may be those of the generator or its host.
    pub state: State,
    /// The same in words: `generator: ok`, `test bed: in doubt`.
    pub word: &'static str,
    /// Why rate and loss may not be those of the server.
    pub doubts: Vec<String>,
    /// How much of other figures may be the generator's: its share of a closed loop, percentiles that are too wide.
    pub ours: Vec<String>,
    /// What the generator and its host have met.
    pub notes: Vec<String>,
}

/// The verdict of a run. Its texts may contain those of the record.
pub fn verdict(digest: &Digest) -> Verdict {
    let doubts: Vec<_> = digest.warnings().iter().map(ToString::to_string).collect();
    if digest.header.is_watch_only() {
        let (doubts, ours, notes) = Default::default();
        return Verdict { state: State::Unknown, word: "no load", doubts, ours, notes };
    }
    let (state, word) = match (&digest.sum, doubts.is_empty()) {
        (Some(_), true) => (State::Ok, "generator: ok"),
        (None, true) => (State::Unknown, "generator: no verdict"),
        (_, false) if is_of_bed(digest) => (State::Doubt, "test bed: in doubt"),
        (_, false) => (State::Doubt, "generator: in doubt"),
    };
    let notes = digest.notes().iter().map(ToString::to_string).collect();
    Verdict { state, word, doubts, ours: ours(digest), notes }
}

/// Whether every doubt is about the CPUs of the generator's host, and none about the generator.
fn is_of_bed(digest: &Digest) -> bool {
    digest.warnings().iter().all(dnsdyno_measure::Warning::is_of_bed)
}

fn ours(digest: &Digest) -> Vec<String> {
    // Where it is too large, it is one of the doubts.
    let share = digest.own_share().filter(|share| !share.is_wide());
    let share = share.map(|share| {
        let (least, most) = (percent(share.least), percent(share.most));
        let to_most = if most == least { String::new() } else { format!(" to {most}") };
        format!("own share of the loop: {least}{to_most}")
    });
    let wide = if digest.header.send_only { Vec::new() } else { wide(digest) };
    let wide = (!wide.is_empty()).then(|| format!("~ {}", wide.join(", ")));
    share.into_iter().chain(wide).collect()
}

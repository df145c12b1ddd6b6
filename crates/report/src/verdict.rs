//! What a run says about its generator, in words.

use dnsdyno_record::Digest;

/// Whether the generator may have limited the result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// It did not.
    Ok,
    /// It may have: the figures are not called those of the server.
    Doubt,
    /// The record has no end, or nothing was sent, and so there is no verdict.
    Unknown,
}

/// The verdict on the generator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// Whether it may have limited the result.
    pub state: State,
    /// The same in words: `generator: ok`.
    pub word: &'static str,
    /// Why the figures may not be those of the server.
    pub doubts: Vec<String>,
    /// What the generator met that has moved no figure.
    pub notes: Vec<String>,
}

/// The verdict of a run. Its texts may contain those of the record.
pub fn verdict(digest: &Digest) -> Verdict {
    let doubts: Vec<_> = digest.warnings().iter().map(ToString::to_string).collect();
    if digest.header.is_watch_only() {
        return Verdict { state: State::Unknown, word: "no load", doubts: Vec::new(), notes: Vec::new() };
    }
    let (state, word) = match (&digest.sum, doubts.is_empty()) {
        (Some(_), true) => (State::Ok, "generator: ok"),
        (None, true) => (State::Unknown, "generator: no verdict"),
        (_, false) => (State::Doubt, "generator: in doubt"),
    };
    Verdict { state, word, doubts, notes: digest.notes().iter().map(ToString::to_string).collect() }
}

//! What the doubts about a run are about: whether they have an effect on its rate or its loss.

use dnsdyno_measure::Warning;
use dnsdyno_record::Digest;

/// The doubts about the rate and the loss of a run that have an effect on them. One about lost queries has none where
/// no query was lost.
pub(crate) fn with_effect(run: &Digest) -> Vec<Warning> {
    let has_lost = run.loss().lost > 0;
    run.warnings().into_iter().filter(|doubt| has_lost || !is_about_loss_alone(doubt)).collect()
}

/// The doubts of a run whose load was not made as it was asked for, or was lower than the server allows, or of
/// which a part is not in the record.
pub(crate) fn of_the_load(run: &Digest) -> Vec<Warning> {
    let is_about_load = |doubt: &Warning| {
        use Warning::{OwnShare, PartialIntervals, SendsBehind};
        matches!(doubt, SendsBehind { .. } | OwnShare { .. } | PartialIntervals { .. })
    };
    run.warnings().into_iter().filter(is_about_load).collect()
}

/// What the generator has met in a run, by the names of the warnings: the reasons why something is undecided.
pub(crate) fn met(run: &Digest) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for name in run.warnings().iter().chain(run.notes()).map(Warning::name) {
        if !names.iter().any(|known| known == name) {
            names.push(name.to_owned());
        }
    }
    if run.sum.is_none() {
        names.push("no_regular_end".to_owned());
    }
    names
}

fn is_about_loss_alone(doubt: &Warning) -> bool {
    matches!(
        doubt,
        Warning::SendsMissing { .. }
            | Warning::SendsVanished { .. }
            | Warning::SendsDropped { .. }
            | Warning::ResponsesDropped { .. }
            | Warning::SocketDrops { .. }
            | Warning::AnswersInFragments { .. }
            | Warning::BurstsLost { .. }
    )
}

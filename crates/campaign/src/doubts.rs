//! Which doubts about a run have an effect on its rate or its loss.

use dnsdyno_measure::Warning;
use dnsdyno_record::Digest;

/// The doubts about the rate and the loss of a run that have an effect on them. One about lost queries has none where
/// no query was lost.
pub(crate) fn with_effect(run: &Digest) -> Vec<Warning> {
    let has_lost = run.loss().lost > 0;
    run.warnings().into_iter().filter(|doubt| has_lost || !is_about_loss_alone(doubt)).collect()
}

fn is_about_loss_alone(doubt: &Warning) -> bool {
    matches!(
        doubt,
        Warning::SendsMissing { .. }
            | Warning::SendsVanished { .. }
            | Warning::SocketDrops { .. }
            | Warning::AnswersInFragments { .. }
            | Warning::BurstsLost { .. }
    )
}

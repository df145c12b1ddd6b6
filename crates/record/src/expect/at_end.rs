//! What only the end of a run tells of the generator's part in each interval of it.

use dnsdyno_measure::{OwnPart, OwnShare, Warning};

use crate::Sum;

/// What is known of the generator's part in a whole run, and not where in it that was.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AtEnd {
    /// Queries have waited for something of ours that is no lateness: an ID, a connection, a reader.
    pub(super) has_waited: bool,
    /// Any loss may be this host's.
    pub(super) loses_any: bool,
    /// The rate of a closed loop may have been higher, by more than [`OwnShare::WIDE_FACTOR`].
    pub(super) slows_loop: bool,
}

impl AtEnd {
    /// That of a run with this sum, which has its verdict.
    pub fn of(sum: &Sum) -> AtEnd {
        let own_share = OwnShare::of(&sum.tally, &sum.arrivals, &sum.evidence);
        AtEnd {
            has_waited: OwnPart::of(&sum.evidence, &sum.arrivals).has_waited,
            loses_any: sum.evidence.fragments > 0 || may_lose_any(&sum.warnings),
            slows_loop: own_share.is_some_and(|share| share.is_wide()),
        }
    }

    /// The worst that may become known.
    pub(super) const WORST: AtEnd = AtEnd { has_waited: true, loses_any: true, slows_loop: true };
}

/// Whether a doubt says that queries were lost on this host, and not how many. The others have their losses in
/// [`Loss::ours`](dnsdyno_measure::Loss::ours), or have none.
pub(super) fn may_lose_any(doubts: &[Warning]) -> bool {
    let is_counted = |warning: &Warning| {
        matches!(
            warning,
            Warning::SendsLate { .. }
                | Warning::SendsBehind { .. }
                | Warning::BurstsLost { .. }
                | Warning::OwnShare { .. }
                | Warning::ReaderBehind { .. }
                | Warning::SendsMissing { .. }
                | Warning::SocketDrops { .. }
                | Warning::AnswersInFragments { .. }
                | Warning::CpuSaturated { .. }
                | Warning::CpuStarved { .. }
                | Warning::CpusShared { .. }
                | Warning::IdsExhausted { .. }
                | Warning::ClientsBusy { .. }
                | Warning::PortsExhausted { .. }
                | Warning::ClockStepped { .. }
                // The quota of a server is a part of how it is set up.
                | Warning::ServerThrottled { .. }
        )
    };
    !doubts.iter().all(is_counted)
}

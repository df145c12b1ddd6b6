//! How many queries were lost, and how many of them this host may have lost itself.

use crate::exceeded::Exceeded;
use crate::{FallbackFailure, NotSentReason, Tally};

/// The lost queries of a run or of a part of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Loss {
    /// Queries that count for the server.
    pub judged: u64,
    /// Those of them without a response in time, for any reason.
    pub lost: u64,
    /// Those of them that may be the generator's, at the most.
    pub ours: u64,
}

impl Loss {
    /// The loss of these queries; `loses_answers`: responses were lost on this host in their run, so each loss may be
    /// ours.
    pub fn of(tally: &Tally, loses_answers: bool) -> Loss {
        let (judged, lost) = (tally.ends.judged(), tally.ends.lost());
        let ours = match loses_answers {
            true => lost,
            false => (not_sent_by_us(tally) + without_tcp(tally) + lost_by_bursts(tally)).min(lost),
        };
        Loss { judged, lost, ours }
    }

    /// The share lost, 0 to 1; `None` where no query counts.
    pub fn share(&self) -> Option<f64> {
        (self.judged > 0).then(|| self.lost as f64 / self.judged as f64)
    }

    /// The share that the server has lost at the least; `None` where no query counts.
    pub fn least_share(&self) -> Option<f64> {
        (self.judged > 0).then(|| self.lost.saturating_sub(self.ours) as f64 / self.judged as f64)
    }
}

/// Queries that were never sent, for a reason on this host. The user chose the window, and the server its streams: what
/// these hold back is no fault of the generator.
pub(crate) fn not_sent_by_us(tally: &Tally) -> u64 {
    let by_others = [NotSentReason::WindowFull, NotSentReason::NoStream];
    let held_back: u64 = by_others.into_iter().map(|reason| tally.ends.not_sent.of(reason)).sum();
    tally.ends.not_sent.total() - held_back
}

/// Queries that this host could not send over TCP after their truncated response: they count as timed out.
pub(crate) fn without_tcp(tally: &Tally) -> u64 {
    let failed = |why| tally.fallback.as_deref().map_or(0, |fallback| fallback.failed(why));
    [FallbackFailure::NoClient, FallbackFailure::NoLocalPort, FallbackFailure::NotSent]
        .map(failed)
        .iter()
        .sum()
}

/// Queries that timed out over TCP, after their truncated response.
pub(crate) fn timed_out_over_tcp(tally: &Tally) -> u64 {
    let failed = |why| tally.fallback.as_deref().map_or(0, |fallback| fallback.failed(why));
    failed(FallbackFailure::ConnectTimedOut) + failed(FallbackFailure::QueryTimedOut)
}

/// Queries that were lost because they were sent late, in bursts that the schedule does not have: how many more of the
/// late ones were lost than of those sent in time. Where all were late, all that were lost.
pub(crate) fn lost_by_bursts(tally: &Tally) -> u64 {
    // What a window has held back was sent late too, and that is part of the load.
    if tally.lost_late == 0 || tally.held_back > 0 {
        return 0;
    }
    let sent = tally.lateness.count();
    let late = Exceeded::of(&tally.lateness).above(BURST_NS).min(sent);
    // Queries that waited for a connection were due long before they could be sent: they were not late.
    let lost_late = tally.lost_late.min(late);
    let in_time = sent - late;
    let lost_in_time = (tally.ends.timed_out + tally.ends.answered_late).saturating_sub(tally.lost_late);
    let expected =
        if in_time == 0 { 0 } else { u128::from(late) * u128::from(lost_in_time) / u128::from(in_time) };
    lost_late.saturating_sub(u64::try_from(expected).unwrap_or(u64::MAX))
}

/// A query that is sent later than this is sent together with those due since: the server gets them at once. Shorter
/// delays are within what batches make.
pub const BURST_NS: u64 = 1_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    /// 10,000 queries, 1,000 of them 20 ms late; so many of each kind were lost.
    fn run(lost_in_time: u64, lost_late: u64) -> Tally {
        let mut tally = Tally::new(1);
        (0..9_000).for_each(|_| tally.lateness.record(3_000));
        (0..1_000).for_each(|_| tally.lateness.record(20_000_000));
        tally.scheduled = 10_000;
        tally.ends.timed_out = lost_in_time + lost_late;
        tally.ends.answered = 10_000 - tally.ends.timed_out;
        tally.lost_late = lost_late;
        tally
    }

    #[test]
    fn losses_in_a_burst_of_ours_may_be_ours_and_losses_at_the_same_share_elsewhere_are_not() {
        let ours = |lost_in_time, lost_late| Loss::of(&run(lost_in_time, lost_late), false).ours;
        assert_eq!(ours(0, 730), 730);
        assert_eq!(ours(900, 100), 0, "a server that drops one in ten");
        assert_eq!(ours(900, 600), 500);
        assert_eq!(ours(900, 0), 0);
    }

    #[test]
    fn a_window_that_holds_queries_back_makes_no_burst_of_ours() {
        let held = Tally { held_back: 1, ..run(0, 730) };
        assert_eq!(Loss::of(&held, false).ours, 0);
    }

    #[test]
    fn a_fallback_without_a_free_client_of_ours_is_our_loss() {
        let mut tally = run(900, 0);
        tally.fallback_mut().add_failed(FallbackFailure::NoClient, 800);
        tally.fallback_mut().add_failed(FallbackFailure::ConnectTimedOut, 100);
        assert_eq!(Loss::of(&tally, false).ours, 800);
    }

    #[test]
    fn each_loss_may_be_ours_where_responses_were_dropped_on_this_host() {
        let loss = Loss::of(&run(900, 0), true);
        assert_eq!((loss.share(), loss.least_share()), (Some(0.09), Some(0.0)));
        assert_eq!(Loss::of(&run(900, 0), false).least_share(), Some(0.09));
        assert_eq!(Loss::of(&Tally::new(1), false).share(), None);
    }

    #[test]
    fn queries_that_we_did_not_send_are_ours_and_those_that_the_window_held_back_are_not() {
        let mut tally = run(0, 0);
        tally.ends.not_sent.add(NotSentReason::WindowFull, 5);
        tally.ends.not_sent.add(NotSentReason::NoFreeId, 7);
        assert_eq!(Loss::of(&tally, false), Loss { judged: 10_012, lost: 12, ours: 7 });
    }
}

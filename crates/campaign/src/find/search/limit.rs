//! What is known of the limit now: the belief in one that stays, and, as far as that is probable, a drift.

use super::state::Near;
use crate::find::belief::OUTSIDE;
use crate::find::trend::Trend;

impl Near {
    /// The load below which the limit now is with this probability.
    pub(super) fn quantile(&self, probability: f64) -> f64 {
        let Some((drift, share)) = self.drift_share() else { return self.belief.quantile(probability) };
        let (mut low, mut high) = ((self.from / 4.0).ln(), (self.to * 4.0).ln());
        for _ in 0..HALVINGS {
            let middle = (low + high) / 2.0;
            let load = middle.exp();
            let below = share * drift.below(load) + (1.0 - share) * self.belief.below(load);
            if below < probability { low = middle } else { high = middle }
        }
        ((low + high) / 2.0).exp()
    }

    /// The interval of the limit now.
    pub(super) fn interval(&self) -> (f64, f64) {
        (self.quantile(OUTSIDE), self.quantile(1.0 - OUTSIDE))
    }

    /// Half of the width of the interval, as a share of the load.
    pub(super) fn half_width(&self) -> f64 {
        let (from, to) = self.interval();
        (to / from).ln() / 2.0
    }

    /// The mean of the noise, as a share of the load.
    pub(super) fn noise(&self) -> f64 {
        let steady = self.belief.noise();
        self.drift_share().map_or(steady, |(drift, share)| share * drift.noise + (1.0 - share) * steady)
    }

    /// A drift that is shown.
    pub(super) fn drifts(&self) -> Option<&Trend> {
        self.drift.as_ref().filter(|drift| !self.recovers && drift.odds > SHOWN)
    }

    /// A limit that is shown to be lower after an overload.
    pub(super) fn falls(&self) -> Option<&Trend> {
        self.fall.as_ref().filter(|fall| self.recovers && fall.odds > SHOWN_FALL)
    }

    /// The drift, and its probability; `None` where it makes no difference.
    fn drift_share(&self) -> Option<(&Trend, f64)> {
        let drift = self.drift.as_ref().filter(|_| !self.recovers)?;
        let odds = drift.odds * DRIFTS;
        let share = if odds.is_finite() { odds / (1.0 + odds) } else { 1.0 };
        (share > NEGLIGIBLE).then_some((drift, share))
    }
}

/// How many times as probable the trials must be with a drift as without, for it to be told.
const SHOWN: f64 = 30.0;

/// The same of a limit that is lower after an overload. A search that suspects it keeps away from the trials that would
/// show more, so less must be enough; two to five of a hundred servers with noise or lapses are said to have it.
const SHOWN_FALL: f64 = 6.0;

/// How probable a drift is before the first trial, compared with a limit that stays.
const DRIFTS: f64 = 0.2;

/// A drift that is less probable than this is left out.
const NEGLIGIBLE: f64 = 0.005;

/// The ends of an interval are then known to a millionth.
const HALVINGS: usize = 30;

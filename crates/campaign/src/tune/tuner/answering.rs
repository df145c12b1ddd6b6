//! What is told of a night at its end: a verdict, a row for each parameter, and what the changes cost in memory.

use super::state::{Seen, Tuner};
use crate::tune::answer::{Answer, Gain, Gains, Part, Row, RowState, Verdict};
use crate::tune::confirm::{Confirm, Confirmed};

impl Tuner {
    pub(super) fn gains(&self, confirm: &Confirm, shown: &Confirmed) -> Option<Gains> {
        let part = |(at, (parameter, value)): (usize, &(usize, usize))| Part {
            parameter: *parameter,
            value: *value,
            adds: shown.adds.get(at).copied().flatten().and_then(Gain::of),
            alone: shown.alone.get(at).copied().flatten().and_then(Gain::of),
        };
        Some(Gains {
            changes: confirm.parts.iter().copied().collect(),
            together: shown.whole.and_then(Gain::of)?,
            parts: confirm.parts.iter().enumerate().map(part).collect(),
            is_at_least: self.memory.is_saturated(),
            memory_bytes: self.memory.difference(),
        })
    }

    /// The greatest gain that some parameter may have without having been seen, as a share.
    pub(super) fn beyond(&self) -> Option<f64> {
        let of = |seen: &Seen| {
            let compared = seen.compared.map(|(_, _, to)| to);
            let screened = seen.screened.map(|screened| screened.effect + 2.0 * screened.spread);
            compared.into_iter().chain(screened).reduce(f64::min)
        };
        let most = self.seen.iter().filter(|seen| seen.is_possible).filter_map(of).reduce(f64::max)?;
        Some(most.max(0.0).exp_m1())
    }

    pub(super) fn answer(&self, verdict: Verdict) -> Answer {
        let gaining: Vec<usize> = match &verdict {
            Verdict::Gains(gains) => gains.parts.iter().map(|part| part.parameter).collect(),
            _ => Vec::new(),
        };
        let is_not_confirmed = |at: &usize| match &verdict {
            Verdict::NotConfirmed { changes, .. } => changes.contains_key(at),
            _ => false,
        };
        // Before the counters were looked at, nothing is known of them.
        let is_known = self.has_looked && !matches!(verdict, Verdict::NotOverloaded | Verdict::NoBase { .. });
        let row = |(at, seen): (usize, &Seen)| {
            let seen_gain = seen.compared.or(seen.screened.map(|one| {
                let reach = 2.0 * one.spread;
                (one.effect, one.effect - reach, one.effect + reach)
            }));
            let state = match seen {
                _ if gaining.contains(&at) => RowState::Gain,
                _ if is_not_confirmed(&at) => RowState::NotConfirmed,
                Seen { is_dropped: true, .. } => RowState::Dropped,
                Seen { not_set: Some(why), compared: None, .. } => RowState::NotSet(why.clone()),
                Seen { failed: Some(why), .. } => RowState::Fails(why.clone()),
                Seen { is_possible: false, .. } if is_known => RowState::NoEffectPossible,
                Seen { trials: 0, .. } => RowState::NotTried,
                Seen { doubtful: Some(why), .. } => RowState::Doubtful(why.clone()),
                Seen { compared: Some((_, _, to)), .. } if *to < 0.0 => RowState::Worse,
                // It gained before another one that does the same was found.
                Seen { compared: Some((_, from, _)), .. } if *from > 0.0 && !gaining.is_empty() => {
                    RowState::Dropped
                }
                _ => RowState::NoGain,
            };
            let seen_gain = seen_gain.map(|(estimate, from, to)| Gain::of_logarithms(estimate, from, to));
            Row { state, seen: seen_gain, trials: seen.trials }
        };
        let values: usize = self.night.parameters.iter().map(|parameter| parameter.values.len()).sum();
        let values = u32::try_from(values).unwrap_or(u32::MAX);
        let rows: Vec<Row> = self.seen.iter().enumerate().map(row).collect();
        let is_doubtful = rows.iter().any(|row| matches!(row.state, RowState::Doubtful(_)));
        let notes = [(self.has_ended_early, ENDED_EARLY), (is_doubtful, SOME_DOUBTFUL)];
        let notes = notes.into_iter().filter(|(is_so, _)| *is_so).map(|(_, note)| note.to_owned()).collect();
        Answer {
            rows,
            trials: self.trials.clone(),
            one_at_a_time: values.saturating_mul(2).saturating_mul(self.night.pairs),
            rounds: self.rounds,
            notes,
            verdict,
        }
    }
}

const SOME_DOUBTFUL: &str = "of some parameters no trial counts: whether they gain is not known, and this answer does \
                             not say that they do not";

const ENDED_EARLY: &str = "the time was over before every parameter that may help was compared; with a longer --for \
                           more may be found";

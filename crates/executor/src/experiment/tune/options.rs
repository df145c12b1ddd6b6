//! The options of a night of tuning: as they are written, and checked.

use dnsdyno_campaign::tune::{FEWEST_PAIRS, Judge};
use dnsdyno_servers::tuning::Tunable;
use dnsdyno_text::notation::{parse_duration_ns, parse_percent};
use serde::Serialize;

/// The options as they are written, in a file or on the command line.
#[derive(Clone, Debug, Default, Serialize)]
pub struct TuneOptions {
    /// The parameters that may be changed, by their names; none = all that can be.
    pub parameters: Vec<String>,
    /// Parameters that are left alone.
    pub without: Vec<String>,
    /// Parameters that may be changed although they can cut off the host.
    pub allow: Vec<String>,
    /// Parameters that are tried first, because a diagnosis has named them.
    pub first: Vec<String>,
    /// How long it may take: `8h`.
    pub lasts: Option<String>,
    /// The smallest gain that is worth a change: `2%`.
    pub smallest_gain: Option<String>,
    /// Pairs of trials of the confirmation.
    pub pairs: Option<u32>,
    /// What trials are judged by: `answered`, `p99`.
    pub judge: Option<String>,
}

/// The options, checked.
#[derive(Clone, Debug)]
pub(super) struct Checked {
    pub(super) lasts_ns: u64,
    pub(super) smallest_gain: f64,
    pub(super) pairs: u32,
    pub(super) judge: Judge,
}

impl TuneOptions {
    /// These options, and where they say nothing, those of `base`.
    pub(super) fn over(self, base: TuneOptions) -> TuneOptions {
        let list = |own: Vec<String>, of_base: Vec<String>| if own.is_empty() { of_base } else { own };
        TuneOptions {
            parameters: list(self.parameters, base.parameters),
            without: list(self.without, base.without),
            allow: list(self.allow, base.allow),
            first: list(self.first, base.first),
            lasts: self.lasts.or(base.lasts),
            smallest_gain: self.smallest_gain.or(base.smallest_gain),
            pairs: self.pairs.or(base.pairs),
            judge: self.judge.or(base.judge),
        }
    }

    /// Whether a parameter may be changed although it can cut off the host.
    pub(super) fn allows(&self, tunable: &Tunable) -> bool {
        self.allow.iter().any(|name| *name == tunable.name || *name == tunable.id())
    }

    pub(super) fn checked(&self) -> Result<Checked, String> {
        let wrong = |option: &str, error: &dyn std::fmt::Display| format!("`{option}`: {error}");
        let lasts = self.lasts.as_deref().unwrap_or(USUAL_LENGTH);
        let lasts_ns = parse_duration_ns(lasts).map_err(|error| wrong("for", &error))?;
        let gain = self.smallest_gain.as_deref().unwrap_or(USUAL_GAIN);
        let smallest_gain = parse_percent(gain).map_err(|error| wrong("smallest-gain", &error))?;
        if !(SMALLEST_GAIN..=1.0).contains(&smallest_gain) {
            return Err(format!("`smallest-gain = {gain}`: it is from 0.1% to 100%"));
        }
        let pairs = self.pairs.unwrap_or(FEWEST_PAIRS);
        if !(FEWEST_PAIRS..=MOST_PAIRS).contains(&pairs) {
            return Err(format!("`pairs = {pairs}`: it is from {FEWEST_PAIRS} to {MOST_PAIRS}"));
        }
        let word = self.judge.as_deref().unwrap_or("answered");
        let judge = Judge::of(word)
            .ok_or_else(|| format!("`judge = {word:?}`: write answered, or a percentile such as p99"))?;
        Ok(Checked { lasts_ns, smallest_gain, pairs, judge })
    }
}

/// A night's sleep.
const USUAL_LENGTH: &str = "8h";

/// Less is not seen in a night, and not worth a change.
const USUAL_GAIN: &str = "2%";

const SMALLEST_GAIN: f64 = 0.001;
const MOST_PAIRS: u32 = 200;

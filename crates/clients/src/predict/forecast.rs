//! The answers to "what will it be, and what would help": a case, the case after a change, and a curve.

use dnsdyno_measure::CacheState;

use crate::description::DescriptionError;

use super::{Case, Change, Prediction};

/// Sizes of caches in a curve, about.
const STEPS: f64 = 10.0;

/// A forecast of the load.
#[derive(Debug, Clone)]
pub struct Forecast {
    /// As it is.
    pub now: Case,
    /// After a change.
    pub after: Option<Case>,
    /// The busiest second of the day of the last of both; `None` where its description has no curve.
    pub peak: Option<Peak>,
    /// What one thing, changed by itself, makes of the last of both.
    pub cures: Vec<Cure>,
    /// The load of the last of both with other caches.
    pub curves: Curves,
}

/// The busiest second of a day.
#[derive(Debug, Clone, PartialEq)]
pub struct Peak {
    /// By how much the rates are higher than those of the description.
    pub factor: f64,
    /// The load then, once the caches are as they stay with these rates.
    pub prediction: Prediction,
}

/// One thing that is changed by itself.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cure {
    /// What it is.
    pub what: &'static str,
    /// The load with it.
    pub queries_per_s: f64,
    /// The state of the caches with it.
    pub state: CacheState,
}

/// Queries a second against the size of a cache.
#[derive(Debug, Clone, PartialEq)]
pub struct Curves {
    /// The sizes, in entries, from small to large.
    pub entries: Vec<u32>,
    /// One curve for each TTL.
    pub lines: Vec<Line>,
}

/// The curve of one TTL.
#[derive(Debug, Clone, PartialEq)]
pub struct Line {
    /// The TTL of what procedures ask for first, in seconds: with a TTL that was given, of all records.
    pub ttl_s: u32,
    /// Queries a second, by size.
    pub queries_per_s: Vec<f64>,
}

impl Forecast {
    /// Makes the forecast; curves are those of these TTLs, or of a fifth, one and five times those of the case.
    ///
    /// # Errors
    /// As [`Case::new`].
    pub fn new(now: Case, after: Option<Case>, ttls_s: &[u32]) -> Result<Forecast, DescriptionError> {
        let last = after.as_ref().unwrap_or(&now);
        let peak = last.at_peak()?.map(|(factor, prediction)| Peak { factor, prediction });
        let cures = cures(last)?;
        let curves = Curves::of(last, ttls_s, now.description().cache.entries)?;
        Ok(Forecast { now, after, peak, cures, curves })
    }
}

fn cures(case: &Case) -> Result<Vec<Cure>, DescriptionError> {
    let description = case.description();
    let changes = [
        (
            "twice the entries of each cache",
            Change { entries: Some(description.cache.entries.saturating_mul(2)), ..Change::default() },
        ),
        ("twice the TTL", Change { ttl_factor: Some(2.0), ..Change::default() }),
        (
            "half of the users",
            Change {
                attaches: Some(description.arrivals.attaches / 2.0),
                handovers: Some(description.arrivals.handovers / 2.0),
                ..Change::default()
            },
        ),
    ];
    let cure = |(what, change): &(&'static str, Change)| {
        let prediction = case.with(change)?.prediction;
        Ok(Cure { what, queries_per_s: prediction.queries_per_s, state: prediction.state })
    };
    changes.iter().map(cure).collect()
}

impl Curves {
    fn of(case: &Case, ttls_s: &[u32], entries_now: u32) -> Result<Curves, DescriptionError> {
        let mut ttls_s = ttls_s.to_vec();
        ttls_s.sort_unstable();
        ttls_s.dedup();
        let changes: Vec<Change> = match &ttls_s[..] {
            [] => {
                [0.2, 1.0, 5.0].map(|factor| Change { ttl_factor: Some(factor), ..Change::default() }).into()
            }
            given => given.iter().map(|ttl_s| Change { ttl_s: Some(*ttl_s), ..Change::default() }).collect(),
        };
        let cases: Vec<Case> = changes.iter().map(|change| case.with(change)).collect::<Result<_, _>>()?;
        let need = cases.iter().map(|case| case.prediction.need).fold(1.0, f64::max);
        let entries = sizes(need, [entries_now, case.description().cache.entries]);
        let line = |case: &Case| Ok(Line { ttl_s: case.ttl_s(), queries_per_s: case.curve(&entries)? });
        let lines = cases.iter().map(line).collect::<Result<_, _>>()?;
        Ok(Curves { entries, lines })
    }
}

/// Round sizes up to the need, and those of the cases as far as they are not far beyond it.
fn sizes(need: f64, of_cases: [u32; 2]) -> Vec<u32> {
    let step = round_up(need / STEPS);
    let last = (need / step).ceil() as u32;
    let mut sizes: Vec<u32> = (0..=last).map(|number| (f64::from(number) * step) as u32).collect();
    sizes.extend(of_cases.into_iter().filter(|entries| f64::from(*entries) <= need * 2.0));
    sizes.sort_unstable();
    sizes.dedup();
    sizes
}

/// The next of 1, 2, 5, 10, 20 and so on.
fn round_up(number: f64) -> f64 {
    let unit = 10_f64.powf(number.max(1.0).log10().floor());
    let factor = [1.0, 2.0, 5.0, 10.0].into_iter().find(|factor| factor * unit >= number).unwrap_or(10.0);
    factor * unit
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_round_and_those_of_the_cases_are_among_them() {
        assert_eq!(sizes(397.2, [120, 10_000]), [0, 50, 100, 120, 150, 200, 250, 300, 350, 400]);
        assert_eq!(sizes(3.0, [2, 5]), [0, 1, 2, 3, 5]);
        assert_eq!(round_up(1_000.0), 1_000.0);
        assert_eq!(round_up(1_001.0), 2_000.0);
    }
}

//! A source of series: what can be read again and again.

use std::collections::BTreeMap;

use dnsdyno_measure::{LONGEST_SERIES_NAME, MOST_SERIES, Watched};
use dnsdyno_plan::Watch;

/// Something with counters and gauges.
pub trait Source: Send {
    /// What it is, as it was found when it was opened.
    fn watched(&self) -> &Watched;

    /// The same, for what is found out when other sources are known: whose it is.
    fn watched_mut(&mut self) -> &mut Watched;

    /// Whether each reading disturbs what is watched. Beside a load it is then read before and after that only.
    fn is_disturbed(&self) -> bool {
        false
    }

    /// Reads every series now. Must return within some seconds: what waits for an answer has a timeout.
    ///
    /// # Errors
    /// Nothing could be read. A part that cannot be read is left out.
    fn read(&mut self) -> Result<Reading, ReadError>;
}

/// The series of a source at one instant.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reading {
    /// The absolute values of the counters.
    pub counters: BTreeMap<String, u64>,
    /// The values of the gauges.
    pub gauges: BTreeMap<String, u64>,
    /// It is the same as the last one, because the source has said nothing since: no figures of the interval.
    pub is_repeated: bool,
}

impl Reading {
    /// Adds a counter; one with the same name is added to it.
    pub fn counter(&mut self, name: impl Into<String>, value: u64) {
        add(&mut self.counters, name.into(), value, u64::wrapping_add);
    }

    /// Adds a gauge; of two with the same name the higher one is kept.
    pub fn gauge(&mut self, name: impl Into<String>, value: u64) {
        add(&mut self.gauges, name.into(), value, u64::max);
    }
}

/// Names come from other hosts and programs: control characters are replaced, and what is too long or too much is left
/// out.
fn add(series: &mut BTreeMap<String, u64>, name: String, value: u64, join: fn(u64, u64) -> u64) {
    let name = match name.len() <= LONGEST_SERIES_NAME && !name.contains(char::is_control) {
        true => name,
        false => {
            name.chars().take(LONGEST_SERIES_NAME / 4).map(|c| if c.is_control() { '?' } else { c }).collect()
        }
    };
    let is_full = series.len() >= MOST_SERIES;
    match series.get_mut(&name) {
        Some(joined) => *joined = join(*joined, value),
        None if is_full => {}
        None => drop(series.insert(name, value)),
    }
}

/// Why a source cannot be read now.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ReadError(pub String);

/// Why something cannot be watched.
#[derive(Debug, thiserror::Error)]
#[error("--watch {what}: {reason}")]
pub struct OpenError {
    what: String,
    reason: String,
}

impl OpenError {
    /// For this reason, with what to do.
    pub(crate) fn new(reason: impl Into<String>) -> OpenError {
        OpenError { what: String::new(), reason: reason.into() }
    }

    /// The reason alone.
    pub(crate) fn reason(&self) -> &str {
        &self.reason
    }

    pub(crate) fn of(self, what: &Watch) -> OpenError {
        OpenError { what: what.to_string(), ..self }
    }
}

impl From<ReadError> for OpenError {
    fn from(error: ReadError) -> OpenError {
        OpenError::new(error.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_names_are_made_harmless_and_series_are_bounded() {
        let mut reading = Reading::default();
        reading.counter("a\x1b[2J", 1);
        reading.counter("a?[2J", 2);
        assert_eq!(reading.counters, [("a?[2J".to_owned(), 3)].into());
        (0..2 * MOST_SERIES).for_each(|n| reading.gauge(n.to_string(), 1));
        assert_eq!(reading.gauges.len(), MOST_SERIES);
        reading.counter("é".repeat(LONGEST_SERIES_NAME), 1);
        assert!(reading.counters.keys().all(|name| name.len() <= LONGEST_SERIES_NAME));
    }
}

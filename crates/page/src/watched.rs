//! What was read beside the load, on a page: which of its series are there, as columns, and its tables.
//!
//! ```text
//!   every series of the record ──► those that moved ──► as many as fit, losses first ──► columns `watched.0.udp.drops`
//!                └─────────────► tables: sources, series with their sums, parameters
//! ```
//!
//! A page of a long run holds fewer of them, because each takes some octets for each row of a level.

use dnsdyno_measure::series::{SeriesUnit, counts_loss, is_raw, value_text};
use dnsdyno_measure::{Samples, Side};
use dnsdyno_record::{Digest, Row};
use dnsdyno_text::shown;
use dnsdyno_text::units::count;

use crate::columns::{Columns, Value};
use crate::data::{self, Unit};

/// The series of a run that its page has.
#[derive(Clone, Debug, Default)]
pub(crate) struct Chosen(Vec<Series>);

/// A series with its column.
#[derive(Clone, Debug)]
struct Series {
    /// Index of its source.
    source: usize,
    name: String,
    is_gauge: bool,
    column: String,
}

impl Chosen {
    /// As many series as fit into `most_bytes`, where each has so many rows in all levels that cannot leave any out.
    pub(crate) fn of(digest: &Digest, rows: u64, most_bytes: usize) -> Chosen {
        let most = most_bytes as u64 / (rows.max(1) * BYTES_OF_A_ROW);
        let most = most.clamp(FEWEST_SERIES, MOST_SERIES) as usize;
        let sources = digest.watched().iter().take(digest.header.watched.len()).enumerate();
        let mut all: Vec<Series> =
            sources.flat_map(|(source, samples)| moved(source, samples.as_ref())).collect();
        all.sort_by_cached_key(|series| (rank(series), series.source, series.name.clone()));
        all.truncate(most);
        Chosen(all)
    }

    /// Puts the samples of a row into its columns. In a row in which a source was not read, they have no value.
    pub(crate) fn put(&self, columns: &mut Columns, row: &Row) {
        for series in &self.0 {
            let Some(samples) = row.watched.get(series.source).and_then(Option::as_ref) else { continue };
            let (value, unit) = match series.is_gauge {
                true => (samples.gauge(&series.name), Unit::Gauge),
                false => (samples.counter(&series.name), Unit::Count),
            };
            columns.figure(&series.column, unit, Value::Number(value));
        }
    }

    /// The sources, each with its series.
    pub(crate) fn sources(&self, digest: &Digest) -> Vec<data::Watched> {
        let samples = |source: usize| digest.watched().get(source).and_then(Option::as_ref);
        let sources = digest.header.watched.iter().enumerate();
        sources
            .map(|(source, watched)| data::Watched {
                kind: watched.kind,
                label: safe(&watched.label),
                moved: moved(source, samples(source)).count(),
                series: self.0.iter().filter(|series| series.source == source).map(described).collect(),
            })
            .collect()
    }
}

/// The series of a source that were not 0 all the time.
fn moved(source: usize, samples: Option<&Samples>) -> impl Iterator<Item = Series> {
    let of_kind = move |all: &std::collections::BTreeMap<String, u64>, is_gauge| {
        let moved = all.iter().filter(|(_, value)| **value > 0).map(move |(name, _)| Series {
            source,
            name: name.clone(),
            is_gauge,
            column: format!("watched.{source}.{name}"),
        });
        moved.collect::<Vec<_>>()
    };
    let series = samples.map(|samples| [of_kind(&samples.counters, false), of_kind(&samples.gauges, true)]);
    series.into_iter().flatten().flatten()
}

/// Which series a page has first: losses, whole figures, figures of one CPU, thread or socket, a server's own names.
fn rank(series: &Series) -> u8 {
    let Series { name, is_gauge, .. } = series;
    match name {
        name if is_raw(name) => 3,
        name if is_of_one_cpu(name) => 2,
        name if !is_gauge && counts_loss(name) => 0,
        name if name.contains(|c: char| c.is_ascii_digit()) => 2,
        _ => 1,
    }
}

/// Whether a series is that of one CPU, which another one has of all together.
fn is_of_one_cpu(name: &str) -> bool {
    let number =
        |part: &str| part.strip_prefix("cpu").map(|number| number.starts_with(|c: char| c.is_ascii_digit()));
    name.split('.').any(|part| number(part) == Some(true))
}

fn described(series: &Series) -> data::WatchedSeries {
    data::WatchedSeries {
        name: safe(&series.name),
        column: series.column.clone(),
        kind: if series.is_gauge { "gauge" } else { "counter" },
        unit: SeriesUnit::of(&series.name),
        rank: rank(series),
    }
}

/// The sources: what each is, and what could not be read of it.
pub(crate) fn source_rows(digest: &Digest) -> Vec<Vec<String>> {
    let rows = digest.header.watched.iter().enumerate().map(|(source, watched)| {
        let samples = digest.watched().get(source).and_then(Option::as_ref);
        let all = samples.map_or(0, |samples| samples.counters.len() + samples.gauges.len());
        let version = watched.software.iter().chain(&watched.version).map(|text| safe(text));
        vec![
            safe(&watched.label),
            watched.kind.word().to_owned(),
            side_word(watched.side).to_owned(),
            version.collect::<Vec<_>>().join(" "),
            count(all as u64),
            count(moved(source, samples).count() as u64),
            watched.missing.iter().map(|text| safe(text)).collect::<Vec<_>>().join("; "),
        ]
    });
    rows.collect()
}

fn side_word(side: Side) -> &'static str {
    match side {
        Side::Server => "the server",
        Side::Generator => "the generator",
        Side::Both => "both",
        Side::Other => "something else",
    }
}

/// Series with their sums over the run, or their highest values: those that moved first, then those that did not.
pub(crate) fn series_rows(digest: &Digest) -> Vec<Vec<String>> {
    let mut rows = Vec::new();
    for (watched, samples) in digest.header.watched.iter().zip(digest.watched()) {
        let Some(samples) = samples else { continue };
        let kinds = [(&samples.counters, "rose by"), (&samples.gauges, "at most")];
        for (name, value, kind) in kinds
            .into_iter()
            .flat_map(|(all, kind)| all.iter().map(move |(name, value)| (name, *value, kind)))
        {
            let cells = vec![safe(name), safe(&watched.label), kind.to_owned(), value_text(name, value)];
            rows.push((value == 0, is_raw(name), cells));
        }
    }
    rows.sort_by_key(|(is_still, is_raw, _)| (*is_still, *is_raw));
    rows.into_iter().take(MOST_TABLE_ROWS).map(|(_, _, cells)| cells).collect()
}

/// The parameters of the sources with their values, as they were before the load.
pub(crate) fn setting_rows(digest: &Digest) -> Vec<Vec<String>> {
    let rows = digest.header.watched.iter().flat_map(|watched| {
        watched.settings.iter().map(|(name, value)| vec![safe(name), safe(value), safe(&watched.label)])
    });
    rows.take(MOST_TABLE_ROWS).collect()
}

fn safe(text: &str) -> String {
    shown(text, LONGEST_TEXT).into_owned()
}

/// Characters of a text from a record.
const LONGEST_TEXT: usize = 300;

/// About as many octets of the packed series as a row of a column takes.
const BYTES_OF_A_ROW: u64 = 2;

/// Also on a page of a hundred long runs.
const FEWEST_SERIES: u64 = 8;

/// More than one looks for on a page; the record has all.
const MOST_SERIES: u64 = 400;

/// Rows of a table: what one searches, and not the record.
const MOST_TABLE_ROWS: usize = 1_000;

#[cfg(test)]
mod tests {
    use super::*;

    fn series(name: &str, is_gauge: bool) -> Series {
        Series { source: 0, name: name.into(), is_gauge, column: String::new() }
    }

    #[test]
    fn losses_are_on_a_page_before_whole_figures_before_parts_before_raw_names() {
        let ranked = [
            ("udp.drops", false, 0),
            ("cpu.user_ns", false, 1),
            ("files.open", true, 1),
            ("cpu0.user_ns", false, 2),
            ("softnet.cpu0.dropped", false, 2),
            ("interface.eth0.rx_dropped", false, 0),
            ("raw.nsstats.QryDropped", false, 3),
        ];
        for (name, is_gauge, expected) in ranked {
            assert_eq!(rank(&series(name, is_gauge)), expected, "{name}");
        }
    }

    #[test]
    fn only_series_that_were_not_always_zero_are_chosen() {
        let samples = Samples {
            counters: [("a".to_owned(), 0), ("b".to_owned(), 2)].into(),
            gauges: [("c".to_owned(), 0), ("d".to_owned(), 1)].into(),
        };
        let names: Vec<_> = moved(7, Some(&samples)).map(|series| series.column).collect();
        assert_eq!(names, ["watched.7.b", "watched.7.d"]);
        assert_eq!(moved(0, None).count(), 0);
    }
}

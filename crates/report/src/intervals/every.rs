//! Every counter of a record as comma-separated values, a line for each interval.
//!
//! A column is named after the path of its counter in the record, joined by `_`: `ends_not_sent_no_route`,
//! `arrivals_connections_opened`. Where the path has a number that stands for something else, the column has its name:
//! `rcodes_NXDOMAIN`, `types_AAAA_sent`, `members_dot_scheduled`. A watched series has the number of its source:
//! `watched_0_snmp_Udp_RcvbufErrors`. A histogram has a column for its count, and one for
//! each figure of a latency.

use std::collections::{HashMap, HashSet};
use std::io::{self, Write};

use dnsdyno_measure::{Arrivals, Group, Latency, Samples, Tally, Visitor, WorkerUse};
use dnsdyno_record::{Digest, Header, Interval, Row};

use crate::cells::{Cells, CounterPath, EachCounter};

use super::cells::{BEYOND_TITLE, PARTIAL_TITLE, PLACE_TITLES, latency, latency_titles, place};

/// Writes the intervals of runs, which may have different counters, under one line of titles.
///
/// A count that an interval of a run does not have is 0, as in the record. Columns that a whole run does not have are
/// empty in its lines.
pub struct EveryCounter<W: Write> {
    out: csv::Writer<W>,
    /// The column of each counter.
    columns: HashMap<String, usize>,
    width: usize,
    /// The cells of the current run where a line has no other.
    blank: Vec<String>,
    /// The columns of watched series in the current run, with their sources.
    watched: Vec<(usize, usize)>,
}

impl<W: Write> EveryCounter<W> {
    /// Writes the titles of all counters that occur in any of the runs.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn new<'a>(out: W, runs: impl IntoIterator<Item = &'a Digest>) -> io::Result<Self> {
        let mut titles: Vec<String> = PLACE_TITLES
            .iter()
            .chain(&[CLOCK_TITLE, PARTIAL_TITLE])
            .map(|title| (*title).to_owned())
            .collect();
        let mut known: HashSet<String> = titles.iter().cloned().collect();
        for digest in runs {
            titles.extend(
                Line::of_run(digest)
                    .cells
                    .into_iter()
                    .map(|(title, _)| title)
                    .filter(|title| known.insert(title.clone())),
            );
        }
        let mut out = csv::Writer::from_writer(out);
        out.write_record(&titles)?;
        let width = titles.len();
        let columns = titles.into_iter().enumerate().map(|(column, title)| (title, column)).collect();
        Ok(EveryCounter { out, columns, width, blank: Vec::new(), watched: Vec::new() })
    }

    /// Starts the lines of a run.
    pub fn start(&mut self, digest: &Digest) {
        let mut blank = vec![String::new(); self.width];
        for (title, cell) in Line::of_run(digest).cells {
            if let (Some(column), Cell::Count(_)) = (self.columns.get(&title), cell) {
                blank[*column] = "0".to_owned();
            }
        }
        self.blank = blank;
        let sources = digest.watched().iter().enumerate();
        let titles = sources.flat_map(|(source, samples)| {
            watched_cells(source, samples.as_ref()).map(move |(title, _)| (source, title))
        });
        let column = |(source, title): (usize, String)| Some((source, *self.columns.get(&title)?));
        self.watched = titles.filter_map(column).collect();
    }

    /// Writes the line of an interval of that run.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn interval(&mut self, header: &Header, interval: &Interval) -> io::Result<()> {
        let mut line = self.blank.clone();
        let row = Row::of(interval);
        let phase = header.phases.iter().find(|phase| (phase.from_ns..phase.to_ns).contains(&row.from_ns));
        let place = place(header, &row, phase.map(|phase| phase.label.as_str()));
        let clock_ns = header.started_unix_ns.saturating_add(row.from_ns).to_string();
        line.iter_mut()
            .zip(place.into_iter().chain([clock_ns, row.partial_intervals.to_string()]))
            .for_each(|(cell, text)| *cell = text);
        let is_read = |source: &usize| row.watched.get(*source).is_some_and(Option::is_some);
        for (_, column) in self.watched.iter().filter(|(source, _)| !is_read(source)) {
            line[*column] = String::new();
        }
        let cells = Line::of(header, &row.tally, &row.arrivals, &row.workers, &row.watched).cells;
        for (title, cell) in cells {
            // A run that goes on while it is read may have a counter that it did not have before.
            if let Some(column) = self.columns.get(&title) {
                line[*column] = cell.text();
            }
        }
        self.out.write_record(line)?;
        Ok(())
    }

    /// Writes what is still buffered.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn finish(mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// A cell with the path of its counter.
enum Cell {
    Count(u64),
    Figure(String),
}

impl Cell {
    fn text(self) -> String {
        match self {
            Cell::Count(count) => count.to_string(),
            Cell::Figure(text) => text,
        }
    }
}

/// Collects the cells of an interval, or of a run.
struct Line {
    timeout_ns: u64,
    cells: Vec<(String, Cell)>,
}

impl Line {
    fn of_run(digest: &Digest) -> Line {
        Line::of(&digest.header, digest.tally(), digest.arrivals(), digest.workers(), digest.watched())
    }

    fn of(
        header: &Header,
        tally: &Tally,
        arrivals: &Arrivals,
        workers: &[WorkerUse],
        watched: &[Option<Samples>],
    ) -> Line {
        let path = CounterPath::new(header, members(header));
        let line = Line { timeout_ns: header.timeout_ns, cells: Vec::new() };
        let mut each = EachCounter::new(tally, path, line);
        tally.visit_each(&mut each);
        each.group("arrivals", Some(arrivals));
        each.group("workers", Some(&workers.to_vec()));
        let series = watched.iter().enumerate();
        let series = series.flat_map(|(source, samples)| watched_cells(source, samples.as_ref()));
        each.cells.cells.extend(series.map(|(title, value)| (title, Cell::Count(value))));
        each.cells
    }
}

/// The names of the members of a mix; `None` where it is not the only one of that name in a header of CSV.
fn members(header: &Header) -> Vec<Option<String>> {
    let names: Vec<String> = header.mix.iter().map(|member| word(member.label())).collect();
    let is_alone = |name: &String| names.iter().filter(|other| *other == name).count() == 1;
    names.iter().map(|name| Some(name.clone()).filter(is_alone)).collect()
}

/// The titles of the series of a source, with their values: how much a counter rose, how high a gauge was.
fn watched_cells(source: usize, samples: Option<&Samples>) -> impl Iterator<Item = (String, u64)> {
    let series = samples.into_iter().flat_map(|samples| samples.counters.iter().chain(&samples.gauges));
    series.map(move |(name, value)| (format!("watched_{source}_{}", word(name)), *value))
}

impl Cells for Line {
    const ZEROS: bool = true;

    fn count(&mut self, path: &str, count: u64) {
        self.cells.push((word(path), Cell::Count(count)));
    }

    fn durations(&mut self, path: &mut CounterPath<'_>, durations: Latency<'_>, may_time_out: bool) {
        let title = word(path.text());
        self.cells.push((format!("{title}_count"), Cell::Count(durations.answered.count())));
        for (figure, text) in latency_titles().zip(latency(durations, self.timeout_ns)) {
            if figure != BEYOND_TITLE || may_time_out {
                self.cells.push((format!("{title}_{figure}"), Cell::Figure(text)));
            }
        }
    }
}

/// A path or a name as a word of SQL, so that it needs no quotes there.
fn word(text: &str) -> String {
    text.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect()
}

/// The column of the instant at which the interval began, by the wall clock in nanoseconds since 1970.
const CLOCK_TITLE: &str = "from_unix_ns";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    /// The intervals of each run as a map from title to cell.
    fn written(runs: &[(Digest, Vec<Interval>)]) -> Vec<HashMap<String, String>> {
        let mut out = Vec::new();
        let mut table = EveryCounter::new(&mut out, runs.iter().map(|(digest, _)| digest)).unwrap();
        for (digest, intervals) in runs {
            table.start(digest);
            intervals.iter().for_each(|one| table.interval(&digest.header, one).unwrap());
        }
        table.finish().unwrap();
        let mut read = csv::Reader::from_reader(out.as_slice());
        let titles = read.headers().unwrap().clone();
        let unique: HashSet<_> = titles.iter().collect();
        assert_eq!(unique.len(), titles.len(), "each title once");
        let is_word = |title: &str| title.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        assert!(titles.iter().all(is_word), "{titles:?}");
        read.records()
            .map(|line| {
                titles.iter().map(str::to_owned).zip(line.unwrap().iter().map(str::to_owned)).collect()
            })
            .collect()
    }

    #[test]
    fn a_counter_is_found_under_its_path_in_the_record() {
        let interval = sample::second(5, 4_000, 100);
        let line = &written(&[(sample::stair(), vec![interval])])[0];
        for (title, text) in [
            ("run_id", "sample"),
            ("phase", "4,000 q/s"),
            ("from_unix_ns", "1760000005000000000"),
            ("answered_qps", "3900"),
            ("scheduled", "4000"),
            ("ends_timed_out", "100"),
            ("ends_not_sent_no_route", "0"),
            ("rcodes_NXDOMAIN", "50"),
            ("types_AAAA_sent", "500"),
            ("response_count", "3900"),
            ("response_p50_ns", "514047"),
            ("response_p99_ns", "5000000000"),
            ("response_p99_9_ns", ""),
            ("response_beyond_timeout_from", "p99"),
            ("lateness_max_ns", "14900"),
            ("arrivals_answered", "3900"),
        ] {
            assert_eq!(line.get(title).map(String::as_str), Some(text), "{title}");
        }
        assert!(!line.contains_key("lateness_beyond_timeout_from"));
    }

    #[test]
    fn the_rates_of_an_interval_are_over_the_time_that_the_load_covers() {
        let mut last = sample::second(5, 800, 0);
        (last.covered_ns, last.asked_qps) = (Some(sample::SECOND / 5), 4_000.0);
        let line = &written(&[(sample::stair(), vec![last])])[0];
        for title in ["asked_qps", "sent_qps", "answered_qps"] {
            assert_eq!(line[title], "4000", "{title}");
        }
    }

    #[test]
    fn a_line_has_zeros_for_counters_of_its_run_and_nothing_for_those_of_another() {
        let runs = [
            (sample::over_doh(), vec![sample::second(0, 2_000, 0)]),
            (sample::stair(), vec![sample::second(0, 2_000, 0)]),
        ];
        let lines = written(&runs);
        let cells = |title: &str| lines.iter().map(|line| line[title].clone()).collect::<Vec<_>>();
        // The interval has no connections, and its run has.
        assert_eq!(cells("arrivals_connections_encrypted_statuses_500"), ["0", ""]);
        assert_eq!(cells("arrivals_connections_connect_p50_ns"), ["", ""]);
        assert_eq!(cells("ends_answered"), ["2000", "2000"]);
    }

    #[test]
    fn the_latency_of_a_member_includes_its_unanswered_queries() {
        let mut digest = sample::mixed();
        let interval = Interval { tally: digest.tally().clone(), ..sample::second(0, 2_000, 0) };
        let line = &written(&[(digest.clone(), vec![interval.clone()])])[0];
        assert_eq!(line["members_tcp_response_max_ns"], "5000000000");
        assert_eq!(line["members_tcp_response_beyond_timeout_from"], "max");
        assert_eq!(line["members_udp_response_beyond_timeout_from"], "");
        // Two of one name, which only a forged record has, keep their numbers.
        digest.header.mix[0].name = "tcp".into();
        let line = &written(&[(digest, vec![interval])])[0];
        assert_eq!(
            (line["members_0_scheduled"].as_str(), line["members_1_scheduled"].as_str()),
            ("1499", "501")
        );
    }
}

//! A column of the results that is made of watched series: what was counted for each query, or how much there was.
//!
//! ```text
//!   hit ratio  =  server cache.hits  /  server cache.hits + server cache.misses
//!   title         above                 below
//! ```
//!
//! A counter is by how much it rose during the run, a gauge the highest value of the run. What is above is added up and
//! divided by what is below, added up.

use dnsdyno_measure::series::{SeriesUnit, value_text};
use dnsdyno_measure::{Samples, Side, Watched, WatchedKind};
use dnsdyno_record::Digest;
use dnsdyno_servers::server_of;
use dnsdyno_text::units::{bytes, duration, number, percent, rate};

/// A column made of watched series.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// For people.
    pub title: String,
    /// For programs.
    pub key: String,
    above: Vec<Term>,
    below: Vec<Term>,
}

/// What is added up.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Term {
    /// Queries answered in time, as the generator counts them.
    Answers,
    /// Queries of the run.
    Queries,
    /// The length of the run until its last query ended.
    Seconds,
    /// A series of what was watched.
    Series(Source, String),
}

/// What a series is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Source {
    /// The host, a process or the statistics of the server under test.
    Server(WatchedKind),
    /// A program by its word in the catalogue of servers, wherever it is: the server itself, or what is behind it.
    Program(&'static str),
}

impl Column {
    /// Reads a column: `server queries / s`, or with a title `hit ratio = server cache.hits / server queries`.
    ///
    /// # Errors
    /// A sentence that says what is wrong, and how a column is written.
    pub fn parse(text: &str) -> Result<Column, String> {
        if text.chars().count() > LONGEST || text.chars().any(char::is_control) {
            return Err(format!("a column is one line of at most {LONGEST} characters"));
        }
        let (title, of) = text.split_once(" = ").unwrap_or((text, text));
        let mut parts = of.split(" / ");
        let above = terms(parts.next().unwrap_or_default())?;
        let below = parts.next().map_or(Ok(Vec::new()), terms)?;
        if parts.next().is_some() {
            return Err(format!(
                "`{of}` has two divisions: write one `A + B / C + D`, the sum of A and B divided by \
                                that of C and D"
            ));
        }
        let title = title.trim();
        match title.is_empty() {
            true => Err(format!("`{text}` has no title before its `=`")),
            false => Ok(Column { title: title.to_owned(), key: title.to_owned(), above, below }),
        }
    }

    /// A column that has another key than its title; `None` where its text is none.
    pub(super) fn with_key(key: &str, text: &str) -> Option<Column> {
        Some(Column { key: key.to_owned(), ..Column::parse(text).ok()? })
    }

    /// The columns of each experiment: the few series that tell full queues and limits of connections from each other.
    pub(super) fn usual() -> impl Iterator<Item = Column> {
        let column = |(key, title, series): &(&str, &str, &str)| {
            let read = Column::parse(series).ok()?;
            Some(Column { title: (*title).to_owned(), key: (*key).to_owned(), ..read })
        };
        USUAL.iter().filter_map(column)
    }

    /// The figure of a run; `None` where a series was not read, or what is below is 0.
    pub fn of(&self, run: &Digest) -> Option<f64> {
        let sum = |terms: &[Term]| terms.iter().map(|term| term.of(run)).sum::<Option<f64>>();
        let above = sum(&self.above)?;
        match self.below.is_empty() {
            true => Some(above),
            false => sum(&self.below).filter(|below| *below > 0.0).map(|below| above / below),
        }
    }

    /// The figure as text, in the unit that follows from the names of its series.
    pub fn text(&self, figure: f64) -> String {
        let unit = |terms: &[Term]| terms.first().map_or(SeriesUnit::Count, Term::unit);
        match (unit(&self.above), self.below.first()) {
            (_, None) => value_text(self.above.first().map_or("", Term::name), figure.round() as u64),
            (SeriesUnit::Ns, Some(Term::Seconds)) => percent(figure * 1e-9),
            (SeriesUnit::Bytes, Some(Term::Seconds)) => format!("{}/s", bytes(figure)),
            (_, Some(Term::Seconds)) => format!("{}/s", rate(figure)),
            (SeriesUnit::Ns, Some(below)) if below.unit() == SeriesUnit::Count => {
                duration(figure.round() as u64)
            }
            (SeriesUnit::Bytes, Some(below)) if below.unit() == SeriesUnit::Count => bytes(figure),
            _ if self.is_share() => percent(figure),
            _ => number(figure),
        }
    }

    /// Whether what is above is a part of what is below.
    fn is_share(&self) -> bool {
        self.below.len() > 1 && self.above.iter().all(|term| self.below.contains(term))
    }
}

fn terms(text: &str) -> Result<Vec<Term>, String> {
    text.split(" + ").map(|term| Term::parse(term.trim())).collect()
}

impl Term {
    fn parse(text: &str) -> Result<Term, String> {
        if let Some((source, series)) = text.split_once(' ') {
            let source = Source::parse(source).ok_or_else(|| {
                format!("`{source}` in `{text}` is neither `server`, `process` or `host` nor the word of a program, \
                         such as `mariadb`: write the source of the series and its name, such as `server queries`")
            })?;
            return Ok(Term::Series(source, series.trim().to_owned()));
        }
        match text {
            "answers" => Ok(Term::Answers),
            "queries" => Ok(Term::Queries),
            "s" => Ok(Term::Seconds),
            _ => Err(format!(
                "`{text}` is neither a series, such as `server queries`, nor `answers`, `queries` or `s`"
            )),
        }
    }

    fn of(&self, run: &Digest) -> Option<f64> {
        match self {
            Term::Answers => Some(run.tally().ends.answered as f64),
            Term::Queries => Some(run.tally().scheduled as f64),
            Term::Seconds => Some(run.to_ns() as f64 * 1e-9),
            Term::Series(source, name) => source.value(run, name).map(|value| value as f64),
        }
    }

    fn unit(&self) -> SeriesUnit {
        SeriesUnit::of(self.name())
    }

    fn name(&self) -> &str {
        match self {
            Term::Series(_, name) => name,
            Term::Answers | Term::Queries | Term::Seconds => "",
        }
    }
}

impl Source {
    fn parse(word: &str) -> Option<Source> {
        let kinds = [WatchedKind::Server, WatchedKind::Process, WatchedKind::Host];
        let kind = kinds.into_iter().find(|kind| kind.word() == word).map(Source::Server);
        kind.or_else(|| server_of(word).map(|server| Source::Program(server.word)))
    }

    fn is(self, watched: &Watched) -> bool {
        match self {
            Source::Server(kind) => watched.kind == kind && matches!(watched.side, Side::Server | Side::Both),
            Source::Program(word) => watched.software.as_deref() == Some(word),
        }
    }

    /// The sum of a counter, or the highest of a gauge, over the sources that have it; `None` where none has it.
    fn value(self, run: &Digest, name: &str) -> Option<u64> {
        let sources = run.header.watched.iter().zip(run.watched()).filter(|(watched, _)| self.is(watched));
        let samples: Vec<&Samples> = sources.filter_map(|(_, samples)| samples.as_ref()).collect();
        let counters = samples.iter().filter_map(|samples| samples.counters.get(name)).copied();
        let gauges = samples.iter().filter_map(|samples| samples.gauges.get(name)).copied();
        counters.reduce(u64::saturating_add).or_else(|| gauges.max())
    }
}

/// Key, title and series.
const USUAL: [(&str, &str, &str); 5] = [
    ("udp_receive_errors", "UDP receive errors", "host snmp.Udp.RcvbufErrors"),
    ("listen_overflows", "listen overflows", "host netstat.TcpExt.ListenOverflows"),
    ("tcp_segments_sent_again", "TCP segments sent again", "host snmp.Tcp.RetransSegs"),
    ("most_tcp_connections", "most TCP connections", "process tcp.open"),
    ("truncated_responses", "truncated responses", "server raw.nsstats.TruncatedResp"),
];

/// Characters of a column.
const LONGEST: usize = 200;

/// The most columns of a file.
pub const MOST_COLUMNS: usize = 32;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::sample::{MADE, run, samples, source};

    /// A run of 2,000 queries in two seconds, all answered, of PowerDNS with its database and of another host.
    fn watched_run() -> Digest {
        let mut digest = run("run", MADE).digest;
        digest.header.watched = vec![
            source(WatchedKind::Server, Side::Server, "pdns"),
            source(WatchedKind::Process, Side::Server, "pdns"),
            source(WatchedKind::Server, Side::Other, "mariadb"),
            source(WatchedKind::Process, Side::Other, "mariadb"),
            source(WatchedKind::Host, Side::Generator, ""),
        ];
        digest.sum.as_mut().unwrap().watched = vec![
            samples(
                &[("queries", 2_001), ("cache.hits", 1_500), ("cache.misses", 500)],
                &[("latency_ns", 77_000)],
            ),
            samples(&[("cpu_ns", 300_000_000)], &[("memory_bytes", 64_000_000)]),
            samples(&[("statements.select", 20_000), ("statements.update", 0)], &[]),
            samples(&[("cpu_ns", 700_000_000)], &[("memory_bytes", 900_000_000)]),
            samples(&[("snmp.Udp.RcvbufErrors", 9)], &[]),
        ];
        digest
    }

    fn shown(text: &str) -> (Option<f64>, String) {
        let column = Column::parse(text).unwrap();
        let figure = column.of(&watched_run());
        (figure, figure.map_or("-".to_owned(), |figure| column.text(figure)))
    }

    #[test]
    fn a_column_is_a_series_a_sum_or_a_ratio_of_sums() {
        let cases = [
            ("server queries", 2_001.0, "2,001"),
            ("mariadb statements.select / answers", 10.0, "10.0"),
            ("mariadb statements.update / queries", 0.0, "0"),
            ("hits = server cache.hits / server cache.hits + server cache.misses", 0.75, "75.00 %"),
            ("process cpu_ns / s", 150e6, "15.00 %"),
            ("process cpu_ns + mariadb cpu_ns / answers", 500e3, "500 µs"),
            ("process memory_bytes", 64e6, "64 MB"),
            ("process memory_bytes / answers", 32e3, "32 kB"),
            ("server latency_ns", 77e3, "77.0 µs"),
            ("server queries / s", 1_000.5, "1,001/s"),
            ("answers / server queries", 2_000.0 / 2_001.0, "1.00"),
        ];
        for (text, figure, words) in cases {
            let (found, said) = shown(text);
            assert!((found.unwrap() - figure).abs() <= figure * 1e-9, "{text}: {found:?}");
            assert_eq!(said, words, "{text}");
        }
    }

    #[test]
    fn what_was_not_read_is_no_figure_and_the_generators_host_is_not_the_servers() {
        for text in
            ["server dropped.queue", "host snmp.Udp.RcvbufErrors", "knot queries", "answers / server none"]
        {
            assert_eq!(shown(text).0, None, "{text}");
        }
        let zero = "server queries / mariadb statements.update";
        assert_eq!(shown(zero).0, None, "nothing is divided by 0");
    }

    #[test]
    fn a_column_has_its_own_text_as_title_unless_it_is_given_one() {
        let title = |text: &str| Column::parse(text).unwrap().title;
        assert_eq!(title("server queries / s"), "server queries / s");
        assert_eq!(title("hit ratio = server cache.hits / queries"), "hit ratio");
    }

    #[test]
    fn mistakes_say_how_a_column_is_written() {
        for (text, words) in [
            ("", "neither a series"),
            ("queries/s", "neither a series"),
            ("mysql statements", "`mysql` in `mysql statements` is neither"),
            ("server a / server b / s", "has two divisions"),
            (" = server a", "no title"),
            ("server a + ", "neither a series"),
            ("server a\nb", "one line of at most 200"),
        ] {
            let error = Column::parse(text).unwrap_err();
            assert!(error.contains(words), "{text:?}: {error}");
        }
    }

    #[test]
    fn every_usual_column_can_be_read() {
        assert_eq!(Column::usual().count(), USUAL.len());
    }
}

//! What was counted beside the runs of a cell, at the server: the few series that tell full queues
//! and limits of connections from each other.

use std::path::PathBuf;

use dnsdyno_measure::{Side, WatchedKind};
use dnsdyno_record::Digest;
use dnsdyno_text::layout::NOTHING;
use dnsdyno_text::units::count;

use crate::experiment::CellResult;

/// For each of [`COLUMNS`] the lowest, the middle and the highest run of a cell; `None` where a run did not read it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Beside {
    /// In the order of [`COLUMNS`].
    pub values: [Option<[u64; 3]>; COLUMNS.len()],
}

/// A series that is shown: its title, its key in JSON, and how it is read.
#[derive(Clone, Copy, Debug)]
pub struct Column {
    /// For people.
    pub title: &'static str,
    /// For programs.
    pub key: &'static str,
    kind: WatchedKind,
    series: Series,
}

#[derive(Clone, Copy, Debug)]
enum Series {
    Counter(&'static str),
    Gauge(&'static str),
}

/// The series that are shown.
pub const COLUMNS: [Column; 5] = [
    Column {
        title: "UDP receive errors",
        key: "udp_receive_errors",
        kind: WatchedKind::Host,
        series: Series::Counter("snmp.Udp.RcvbufErrors"),
    },
    Column {
        title: "listen overflows",
        key: "listen_overflows",
        kind: WatchedKind::Host,
        series: Series::Counter("netstat.TcpExt.ListenOverflows"),
    },
    Column {
        title: "TCP segments sent again",
        key: "tcp_segments_sent_again",
        kind: WatchedKind::Host,
        series: Series::Counter("snmp.Tcp.RetransSegs"),
    },
    Column {
        title: "most TCP connections",
        key: "most_tcp_connections",
        kind: WatchedKind::Process,
        series: Series::Gauge("tcp.open"),
    },
    Column {
        title: "truncated responses",
        key: "truncated_responses",
        kind: WatchedKind::Server,
        series: Series::Counter("raw.nsstats.TruncatedResp"),
    },
];

/// What was counted beside the runs of a cell; `path` gives the record of a run by its number.
pub fn beside(cell: &CellResult, path: impl Fn(u32) -> PathBuf) -> Beside {
    let runs: Option<Vec<Digest>> =
        cell.runs.iter().map(|run| Digest::read(&path(run.number)).ok()).collect();
    let runs = runs.unwrap_or_default();
    Beside { values: COLUMNS.map(|column| column.over(&runs)) }
}

impl Column {
    fn over(self, runs: &[Digest]) -> Option<[u64; 3]> {
        let mut values: Vec<u64> = runs.iter().map(|run| self.of(run)).collect::<Option<_>>()?;
        values.sort_unstable();
        Some([*values.first()?, *values.get(values.len() / 2)?, *values.last()?])
    }

    /// The value of a run, over its sources at the server that have it.
    fn of(self, run: &Digest) -> Option<u64> {
        let sources = run.header.watched.iter().zip(run.watched());
        let of_server = |side: Side| matches!(side, Side::Server | Side::Both);
        let samples = sources
            .filter(|(source, _)| source.kind == self.kind && of_server(source.side))
            .filter_map(|(_, samples)| samples.as_ref());
        let value = |samples: &dnsdyno_measure::Samples| match self.series {
            Series::Counter(name) => samples.counters.get(name).copied(),
            Series::Gauge(name) => samples.gauges.get(name).copied(),
        };
        samples.filter_map(value).max()
    }
}

impl Beside {
    /// Whether nothing was watched.
    pub fn is_empty(&self) -> bool {
        self.values.iter().all(Option::is_none)
    }

    /// The values as text: `83 (71..90)`.
    pub fn texts(&self) -> [String; COLUMNS.len()] {
        self.values.map(|value| match value {
            None => NOTHING.to_owned(),
            Some([lowest, _, highest]) if lowest == highest => count(lowest),
            Some([lowest, middle, highest]) => {
                format!("{} ({}..{})", count(middle), count(lowest), count(highest))
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_said_with_their_range_and_what_was_not_read_is_no_0() {
        let mut found = Beside::default();
        assert!(found.is_empty());
        found.values[0] = Some([0, 0, 0]);
        found.values[1] = Some([71, 1_083, 2_090]);
        let texts = found.texts();
        assert_eq!(
            (texts[0].as_str(), texts[1].as_str(), texts[2].as_str()),
            ("0", "1,083 (71..2,090)", "-")
        );
    }
}

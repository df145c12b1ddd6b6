//! The intervals of a run as comma-separated values, one line each, for scripts and spreadsheets: the figures that are
//! looked at most ([`Csv`]), or every counter of the record ([`EveryCounter`]).

mod cells;
mod every;

use std::io::{self, Write};

use dnsdyno_record::{Digest, Interval, Row};

use crate::figures::sent;
use cells::{NOTES_TITLE, PARTIAL_TITLE, PLACE_TITLES, latency, latency_titles, notes, place};
pub use every::EveryCounter;

/// Writes lines of comma-separated values (RFC 4180 with LF) under one line of titles, which are the same for each run.
///
/// What is not known, or not carried by the number of queries, is empty.
pub struct Csv<W: Write> {
    out: csv::Writer<W>,
}

impl<W: Write> Csv<W> {
    /// Writes the titles.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn new(out: W) -> io::Result<Self> {
        let mut csv = Csv { out: csv::Writer::from_writer(out) };
        let titles = PLACE_TITLES.iter().chain(&QUERY_TITLES).map(|title| (*title).to_owned());
        csv.out.write_record(
            titles.chain(latency_titles()).chain([NOTES_TITLE, PARTIAL_TITLE].map(str::to_owned)),
        )?;
        Ok(csv)
    }

    /// Writes the line of an interval of this run.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn interval(&mut self, run: &Digest, interval: &Interval) -> io::Result<()> {
        self.row(run, &Row::of(interval))
    }

    /// Writes the line of a row: of a phase, or of several intervals.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn row(&mut self, run: &Digest, row: &Row) -> io::Result<()> {
        let header = &run.header;
        let (tally, ends) = (&row.tally, &row.tally.ends);
        let queries: [u64; QUERY_TITLES.len()] = [
            tally.scheduled,
            sent(tally),
            ends.answered,
            ends.answered_late,
            ends.timed_out,
            ends.refused,
            ends.not_sent.total(),
            ends.interrupted,
            ends.sent_only,
            ends.answered_wrong,
        ];
        let place = place(header, row, row.label.as_deref()).into_iter();
        let latency = latency(header.latency_of(tally), header.timeout_ns);
        let queries = queries.map(|count| count.to_string());
        self.out.write_record(
            place.chain(queries).chain(latency).chain([notes(run, row), row.partial_intervals.to_string()]),
        )?;
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

/// The columns between the place of an interval and its headline latency.
const QUERY_TITLES: [&str; 10] = [
    "scheduled",
    "sent",
    "answered",
    "answered_late",
    "timed_out",
    "refused",
    "not_sent",
    "interrupted",
    "sent_only",
    "answered_wrong",
];

#[cfg(test)]
mod tests {
    use dnsdyno_record::{Event, Header};

    use super::*;
    use crate::sample;

    fn written(intervals: &[Interval]) -> String {
        written_of(&Digest::new(sample::header()), intervals)
    }

    fn written_of(run: &Digest, intervals: &[Interval]) -> String {
        let mut out = Vec::new();
        let mut csv = Csv::new(&mut out).unwrap();
        intervals.iter().for_each(|interval| csv.interval(run, interval).unwrap());
        csv.finish().unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn an_interval_has_the_notes_that_were_given_in_it() {
        let mut run = Digest::new(sample::header());
        for (at_ns, note) in [(999_999_999, "=1+1"), (1_000_000_000, "a, b"), (1_999_999_999, "c")] {
            run.event(&Event::note(at_ns, note.to_owned()));
        }
        run.event(&Event { kind: "link".into(), ..Event::note(0, "not said by anybody".into()) });
        let text = written_of(&run, &[sample::second(0, 100, 0), sample::second(1, 100, 0)]);
        let ends: Vec<_> =
            text.lines().map(|line| line.rsplit_once(",,").map_or("", |(_, end)| end)).collect();
        assert_eq!(ends, ["", "'=1+1,0", "\"a, b; c\",0"], "{text}");
    }

    #[test]
    fn each_interval_is_a_line_with_the_columns_of_the_titles() {
        let text = written(&[sample::second(0, 2_000, 0), sample::second(1, 4_000, 100)]);
        let shown = "run_id,index,phase,from_ns,to_ns,asked_qps,sent_qps,answered_qps,loss_share,scheduled,sent,\
                     answered,answered_late,timed_out,refused,not_sent,interrupted,sent_only,answered_wrong,\
                     min_ns,avg_ns,p50_ns,p90_ns,p95_ns,p99_ns,p99_9_ns,max_ns,beyond_timeout_from,notes,partial\n\
                     sample,0,,0,1000000000,2000,2000,2000,0,2000,2000,2000,0,0,0,0,0,0,0,411000,904000,509951,589823,\
                     602111,610303,,40009000,,,0\n\
                     sample,1,,1000000000,2000000000,4000,4000,3900,0.025,4000,4000,3900,0,100,0,0,0,0,0,411000,904000,\
                     514047,598015,606207,5000000000,,5000000000,p99,,0\n";
        assert_eq!(text, shown);
    }

    #[test]
    fn the_rates_of_an_interval_are_over_the_time_that_the_load_covers() {
        let (mut last, mut drain) = (sample::second(1, 800, 0), sample::second(2, 0, 0));
        (last.covered_ns, last.asked_qps) = (Some(sample::SECOND / 5), 4_000.0);
        (drain.covered_ns, drain.asked_qps) = (Some(0), 0.0);
        let text = written(&[sample::second(0, 4_000, 0), last, drain]);
        let rates: Vec<_> =
            text.lines().skip(1).map(|line| line.split(',').collect::<Vec<_>>()[5..8].join(" ")).collect();
        assert_eq!(rates, ["4000 4000 4000", "4000 4000 4000", " 0 0"]);
    }

    #[test]
    fn a_row_has_the_label_of_its_phase() {
        let digest = sample::stair();
        let mut out = Vec::new();
        let mut csv = Csv::new(&mut out).unwrap();
        digest.rows().iter().for_each(|row| csv.row(&digest, row).unwrap());
        csv.finish().unwrap();
        let text = String::from_utf8(out).unwrap();
        assert!(text.lines().nth(3).unwrap().starts_with("sample,4,\"4,000 q/s\",4000000000,"), "{text}");
    }

    #[test]
    fn a_label_is_not_a_formula_of_a_spreadsheet() {
        let header = Header { run_id: "=1+1".into(), ..sample::header() };
        let text = written_of(&Digest::new(header), &[sample::second(0, 100, 0)]);
        assert!(text.contains("\n'=1+1,0,"), "{text}");
    }
}

//! The intervals of a run as comma-separated values, one line each, for scripts and spreadsheets.

use std::io::{self, Write};

use dnsdyno_measure::{PERCENTILES, Quantile};
use dnsdyno_record::{Header, Interval, Row};

use crate::figures::{judged, longest, lost, row_rate, sent, share};
use crate::foreign::safe;

/// Writes lines of comma-separated values (RFC 4180 with LF) under one line of titles.
///
/// A latency that is beyond the timeout is written as the timeout, and `beyond_timeout_from` names the lowest of which
/// that is true. What is not known, or not carried by the number of queries, is empty.
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
        let percentiles = PERCENTILES.iter().map(|(key, ..)| format!("{key}_ns"));
        let first = FIRST_TITLES.iter().map(|title| (*title).to_owned());
        let last = LAST_TITLES.iter().map(|title| (*title).to_owned());
        csv.out.write_record(first.chain(percentiles).chain(last))?;
        Ok(csv)
    }

    /// Writes the line of an interval.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn interval(&mut self, header: &Header, interval: &Interval) -> io::Result<()> {
        self.row(header, &Row::of(interval))
    }

    /// Writes the line of a row: of a phase, or of several intervals.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn row(&mut self, header: &Header, row: &Row) -> io::Result<()> {
        let (tally, ends) = (&row.tally, &row.tally.ends);
        let latency = header.latency_of(tally);
        let exact = latency.answered.exact();
        let asked_qps = (row.asked_micro > 0).then(|| row.asked_qps());
        let first = [
            safe(&header.run_id),
            row.index.to_string(),
            row.label.as_deref().map(safe).unwrap_or_default(),
            row.from_ns.to_string(),
            row.to_ns.to_string(),
            text(asked_qps),
            row_rate(row, sent(tally)).to_string(),
            row_rate(row, ends.answered).to_string(),
            text(share(lost(tally), judged(tally))),
            tally.scheduled.to_string(),
            sent(tally).to_string(),
            ends.answered.to_string(),
            ends.answered_late.to_string(),
            ends.timed_out.to_string(),
            ends.refused.to_string(),
            ends.not_sent.total().to_string(),
            ends.interrupted.to_string(),
            ends.sent_only.to_string(),
            text(exact.map(|exact| exact.min_ns)),
            text(latency.answered.mean_ns()),
        ];
        let percentiles = PERCENTILES.map(|(key, _, q)| (key, latency.percentile(q)));
        let all = percentiles.into_iter().chain([("max", longest(latency))]);
        let beyond = all.clone().find(|(_, at)| *at == Some(Quantile::BeyondTimeout));
        let beyond = beyond.map_or("", |(key, _)| key).to_owned();
        let figures = all.map(|(_, at)| text(at.map(|at| at.written(header.timeout_ns).ns)));
        self.out.write_record(first.into_iter().chain(figures).chain([beyond]))?;
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

fn text(figure: Option<impl ToString>) -> String {
    figure.map_or(String::new(), |figure| figure.to_string())
}

/// The columns before the percentiles.
const FIRST_TITLES: [&str; 20] = [
    "run_id",
    "index",
    "phase",
    "from_ns",
    "to_ns",
    "asked_qps",
    "sent_qps",
    "answered_qps",
    "loss_share",
    "scheduled",
    "sent",
    "answered",
    "answered_late",
    "timed_out",
    "refused",
    "not_sent",
    "interrupted",
    "sent_only",
    "min_ns",
    "avg_ns",
];

/// The columns after them.
const LAST_TITLES: [&str; 2] = ["max_ns", "beyond_timeout_from"];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    fn written(intervals: &[Interval]) -> String {
        let mut out = Vec::new();
        let mut csv = Csv::new(&mut out).unwrap();
        intervals.iter().for_each(|interval| csv.interval(&sample::header(), interval).unwrap());
        csv.finish().unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn each_interval_is_a_line_with_the_columns_of_the_titles() {
        let text = written(&[sample::second(0, 2_000, 0), sample::second(1, 4_000, 100)]);
        let shown = "run_id,index,phase,from_ns,to_ns,asked_qps,sent_qps,answered_qps,loss_share,scheduled,sent,\
                     answered,answered_late,timed_out,refused,not_sent,interrupted,sent_only,min_ns,avg_ns,p50_ns,\
                     p90_ns,p95_ns,p99_ns,p99_9_ns,max_ns,beyond_timeout_from\n\
                     sample,0,,0,1000000000,2000,2000,2000,0,2000,2000,2000,0,0,0,0,0,0,411000,904000,509951,589823,\
                     602111,610303,,40009000,\n\
                     sample,1,,1000000000,2000000000,4000,4000,3900,0.025,4000,4000,3900,0,100,0,0,0,0,411000,904000,\
                     514047,598015,606207,5000000000,,5000000000,p99\n";
        assert_eq!(text, shown);
    }

    #[test]
    fn a_row_has_the_label_of_its_phase() {
        let digest = sample::stair();
        let mut out = Vec::new();
        let mut csv = Csv::new(&mut out).unwrap();
        digest.rows().iter().for_each(|row| csv.row(&digest.header, row).unwrap());
        csv.finish().unwrap();
        let text = String::from_utf8(out).unwrap();
        assert!(text.lines().nth(3).unwrap().starts_with("sample,4,\"4,000 q/s\",4000000000,"), "{text}");
    }
}

//! The figures of a run in progress, as they change: those of a wall interval, or of several.

use dnsdyno_measure::{Arrivals, Latency, PERCENTILES};
use dnsdyno_text::layout::{flow, flow_after};
use dnsdyno_text::units::{count, rate, seconds};

use crate::figures::{PARTIAL, longest};
use crate::quantile::quantile;

/// The figures of one or several wall intervals.
#[derive(Clone, Copy, Debug)]
pub struct LiveFigures<'a> {
    /// Their end since the start of the run.
    pub to_ns: u64,
    /// Their length.
    pub length_ns: u64,
    /// The time that rates are over: what the load covers of it.
    pub over_ns: u64,
    /// Whether the part of an agent is missing: then there are no rates.
    pub is_partial: bool,
    /// The scheduled rate; `None` in closed loop.
    pub asked_qps: Option<f64>,
    /// The timeout of a query.
    pub timeout_ns: u64,
    /// What passed the sockets.
    pub arrivals: &'a Arrivals,
}

/// A figure and what it is: `answered`, `7,998`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Figure {
    /// What it is.
    pub what: &'static str,
    /// The figure, with its unit.
    pub text: String,
}

impl Figure {
    fn new(what: &'static str, text: String) -> Figure {
        Figure { what, text }
    }

    fn words(&self) -> String {
        format!("{} {}", self.what, self.text)
    }
}

impl LiveFigures<'_> {
    /// As one line, for logs; broken between figures where it is longer than `width`.
    pub fn line(&self, width: usize) -> String {
        let mut out = String::new();
        let lead = format!("{:>6} s  ", seconds(self.to_ns, self.length_ns));
        let figures = self.rates().into_iter().chain(self.carried()).chain(self.losses());
        flow_after(&mut out, &lead, figures.map(|figure| figure.words()), "  ", lead.len(), width);
        out.trim_end().to_owned()
    }

    /// As lines of at most `width` columns, for a small terminal: rates, percentiles, losses.
    pub fn block(&self, width: usize) -> String {
        let mut out = String::new();
        let words = |figures: Vec<Figure>| figures.iter().map(Figure::words).collect::<Vec<_>>();
        let losses = match words(self.losses()) {
            none if none.is_empty() => vec!["no losses".to_owned()],
            losses => losses,
        };
        for parts in [words(self.rates()), words(self.carried()), losses] {
            if !parts.is_empty() {
                flow(&mut out, parts, "  ", 0, 0, width);
            }
        }
        out.trim_end().to_owned()
    }

    /// The rates a second: asked (in an open loop), sent, answered.
    pub fn rates(&self) -> Vec<Figure> {
        let seconds = self.over_ns.max(1) as f64 * 1e-9;
        let of = |qps: f64| if self.is_partial { PARTIAL.to_owned() } else { rate(qps) };
        let per_second = |n: u64| of(n as f64 / seconds);
        let asked = self.asked_qps.map(|qps| Figure::new("asked", of(qps)));
        let sent = Figure::new("sent", per_second(self.arrivals.sent));
        let answered = Figure::new("answered", per_second(self.arrivals.answered));
        asked.into_iter().chain([sent, answered]).collect()
    }

    /// p50, p99 and p99.9, each `None` where the queries do not carry it, and the longest.
    pub fn latencies(&self) -> Vec<(&'static str, Option<String>)> {
        let latency = self.latency();
        let shown = PERCENTILES.iter().filter(|(key, ..)| LIVE.contains(key));
        let percentiles = shown.map(|(_, title, q)| (*title, latency.percentile(*q)));
        let all = percentiles.chain([("max", longest(latency))]);
        all.map(|(title, at)| (title, at.map(|at| quantile(Some(at), self.timeout_ns)))).collect()
    }

    /// The percentiles that the queries carry.
    fn carried(&self) -> Vec<Figure> {
        let latencies = self.latencies().into_iter().filter(|(title, _)| *title != "max");
        latencies.filter_map(|(title, text)| Some(Figure::new(title, text?))).collect()
    }

    fn latency(&self) -> Latency<'_> {
        // In an open loop the response time is meant, in which a query that was not sent has a place.
        let not_sent = self.asked_qps.map_or(0, |_| self.arrivals.not_sent);
        let unanswered = self.arrivals.timed_out + self.arrivals.refused + self.arrivals.wrong + not_sent;
        Latency { answered: &self.arrivals.latency, unanswered }
    }

    /// Losses and anomalies, those that occurred.
    pub fn losses(&self) -> Vec<Figure> {
        let parts = [
            ("timed out", self.arrivals.timed_out),
            ("late", self.arrivals.late),
            ("refused", self.arrivals.refused),
            ("wrong", self.arrivals.wrong),
            ("not sent", self.arrivals.not_sent),
            ("dropped at our own sockets", self.arrivals.socket_drops),
        ];
        let parts = parts.into_iter().chain(self.arrivals.anomalies.unpaired());
        let parts = parts.chain([("signature or cookie not accepted", self.arrivals.rejected())]);
        let seen = parts.filter(|(_, n)| *n > 0);
        seen.map(|(what, n)| Figure::new(what, count(n))).collect()
    }
}

/// The percentiles of a live line.
const LIVE: [&str; 3] = ["p50", "p99", "p99_9"];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    fn figures(arrivals: &Arrivals) -> LiveFigures<'_> {
        LiveFigures {
            to_ns: 12 * sample::SECOND,
            length_ns: sample::SECOND,
            over_ns: sample::SECOND,
            is_partial: false,
            asked_qps: Some(2_000.0),
            timeout_ns: 5 * sample::SECOND,
            arrivals,
        }
    }

    fn arrivals(queries: u64, timed_out: u64) -> Arrivals {
        let answered = queries - timed_out;
        let mut arrivals = Arrivals { sent: queries, answered, timed_out, ..Arrivals::default() };
        (0..answered).for_each(|_| arrivals.latency.record(512_000));
        arrivals
    }

    #[test]
    fn a_line_has_the_percentiles_that_its_queries_carry() {
        let line = figures(&arrivals(2_000, 40)).line(usize::MAX);
        assert_eq!(
            line,
            "    12 s  asked 2,000  sent 2,000  answered 1,960  p50 512 µs  p99 >5 s  timed out 40"
        );
        assert!(
            figures(&arrivals(10_000, 0)).line(usize::MAX).ends_with("p50 512 µs  p99 512 µs  p99.9 512 µs")
        );
        assert_eq!(
            figures(&arrivals(10, 0)).line(usize::MAX),
            "    12 s  asked 2,000  sent 10.0  answered 10.0"
        );
    }

    #[test]
    fn a_query_that_was_not_sent_ranks_beyond_the_timeout_in_an_open_loop() {
        let arrivals = Arrivals { not_sent: 1_900, ..arrivals(100, 0) };
        let p50 =
            |asked_qps| LiveFigures { asked_qps, ..figures(&arrivals) }.line(usize::MAX).contains("p50 >5 s");
        assert!(p50(Some(2_000.0)) && !p50(None));
    }

    #[test]
    fn a_line_on_a_narrow_terminal_is_broken_between_its_figures() {
        let line = figures(&arrivals(2_000, 40)).line(40);
        assert_eq!(
            line,
            "    12 s  asked 2,000  sent 2,000\n          answered 1,960  p50 512 µs\n          p99 >5 s  timed out 40"
        );
    }

    #[test]
    fn a_block_fits_the_terminal_and_breaks_between_figures() {
        let mut arrivals = arrivals(2_000_000, 40);
        (arrivals.socket_drops, arrivals.anomalies.duplicates) = (12, 1_234_567);
        let block = figures(&arrivals).block(40);
        let shown = "asked 2,000  sent 2,000,000
answered 1,999,960
p50 512 µs  p99 512 µs  p99.9 512 µs
timed out 40
dropped at our own sockets 12
duplicates 1,234,567";
        assert_eq!(block, shown);
        assert_eq!(figures(&Arrivals::default()).block(40).lines().last(), Some("no losses"));
    }
}

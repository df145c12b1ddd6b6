//! The figures of a run in progress, as they change: those of the last wall interval.

use dnsdyno_measure::{Arrivals, Latency, PERCENTILES};

use crate::layout::{flow, flow_after};
use crate::rows::quantile;
use crate::units::{count, rate, seconds};

/// The figures of one wall interval.
#[derive(Clone, Copy, Debug)]
pub struct LiveFigures<'a> {
    /// The end of the interval since the start of the run.
    pub to_ns: u64,
    /// Its length.
    pub interval_ns: u64,
    /// The scheduled rate; `None` in closed loop.
    pub asked_qps: Option<f64>,
    /// The timeout of a query.
    pub timeout_ns: u64,
    /// What passed the sockets.
    pub arrivals: &'a Arrivals,
}

impl LiveFigures<'_> {
    /// As one line, for logs; broken between figures where it is longer than `width`.
    pub fn line(&self, width: usize) -> String {
        let mut out = String::new();
        let lead = format!("{:>6} s  ", seconds(self.to_ns, self.interval_ns));
        let figures = self.rates().into_iter().chain(self.percentiles()).chain(self.losses());
        flow_after(&mut out, &lead, figures, "  ", lead.len(), width);
        out.trim_end().to_owned()
    }

    /// As lines of at most `width` columns, for a block on a terminal: rates, percentiles, losses.
    pub fn block(&self, width: usize) -> String {
        let mut out = String::new();
        let losses = match self.losses() {
            none if none.is_empty() => vec!["no losses".to_owned()],
            losses => losses,
        };
        for parts in [self.rates(), self.percentiles(), losses] {
            if !parts.is_empty() {
                flow(&mut out, parts, "  ", 0, 0, width);
            }
        }
        out.trim_end().to_owned()
    }

    fn rates(&self) -> Vec<String> {
        let seconds = self.interval_ns.max(1) as f64 * 1e-9;
        let per_second = |n: u64| rate(n as f64 / seconds);
        let asked = self.asked_qps.map(|qps| format!("asked {}", rate(qps)));
        let sent = format!("sent {}", per_second(self.arrivals.sent));
        let answered = format!("answered {}", per_second(self.arrivals.answered));
        asked.into_iter().chain([sent, answered]).collect()
    }

    /// Those that the queries of the interval carry.
    fn percentiles(&self) -> Vec<String> {
        let unanswered = self.arrivals.timed_out + self.arrivals.refused;
        let latency = Latency { answered: &self.arrivals.latency, unanswered };
        let shown = PERCENTILES.iter().filter(|(key, ..)| LIVE.contains(key));
        let carried = shown.filter_map(|(_, title, q)| Some((title, latency.percentile(*q)?)));
        carried
            .map(|(title, percentile)| format!("{title} {}", quantile(Some(percentile), self.timeout_ns)))
            .collect()
    }

    /// Losses and anomalies of the interval.
    fn losses(&self) -> Vec<String> {
        let Arrivals { anomalies, .. } = self.arrivals;
        let parts = [
            ("timed out", self.arrivals.timed_out),
            ("late", self.arrivals.late),
            ("refused", self.arrivals.refused),
            ("not sent", self.arrivals.not_sent),
            ("dropped at our own sockets", self.arrivals.socket_drops),
            ("duplicates", anomalies.duplicates),
            ("unexpected", anomalies.unexpected),
            ("wrong question", anomalies.wrong_question),
            ("malformed", anomalies.malformed),
        ];
        let seen = parts.iter().filter(|(_, n)| *n > 0);
        seen.map(|(what, n)| format!("{what} {}", count(*n))).collect()
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
            interval_ns: sample::SECOND,
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

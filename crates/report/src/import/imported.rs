//! What another program measured.

use dnsdyno_record::Headline;

use super::buckets::Counted;

/// What another program measured. What its format does not have is `None`.
#[derive(Clone, Debug, PartialEq)]
pub struct Imported {
    /// The program with its version: `dnsperf 2.16.0`.
    pub program: String,
    /// What it was asked, as far as the file says it, without the server; equal texts were asked alike.
    pub asked: Option<String>,
    /// When it was started, nanoseconds since 1970.
    pub started_unix_ns: Option<u64>,
    /// Whether it waits for answers before it sends more, so that its rate is that of the server.
    pub is_closed_loop: bool,
    /// Whether it was ended before its time.
    pub ended_early: bool,
    /// From when a latency counts: as the service time from the sending, or as the response time from when the query
    /// was to be sent.
    pub latency_from: Headline,
    /// Queries that ended, answered or not.
    pub queries: Option<u64>,
    /// Those of them that were answered in time.
    pub answered: Option<u64>,
    /// Queries sent per second.
    pub sent_qps: Option<f64>,
    /// Queries answered per second.
    pub answered_qps: Option<f64>,
    /// The average latency of the answered queries, in nanoseconds.
    pub average_ns: Option<f64>,
    /// The latencies.
    pub latencies: Latencies,
    /// The number of responses of each RCODE, by its mnemonic.
    pub rcodes: Option<Vec<(String, u64)>>,
}

/// The latencies of a result.
#[derive(Clone, Debug, PartialEq)]
pub enum Latencies {
    /// None but an average.
    None,
    /// Percentiles as they were printed: which, from 0 to 1, and nanoseconds.
    Stated(Vec<(f64, f64)>),
    /// A histogram.
    Counted(Counted),
}

impl Imported {
    /// A result of a program, without any figure.
    pub(super) fn of(program: String, latency_from: Headline) -> Imported {
        Imported {
            program,
            asked: None,
            started_unix_ns: None,
            is_closed_loop: false,
            ended_early: false,
            latency_from,
            queries: None,
            answered: None,
            sent_qps: None,
            answered_qps: None,
            average_ns: None,
            latencies: Latencies::None,
            rcodes: None,
        }
    }

    /// Whether each figure is a number.
    pub(super) fn is_finite(&self) -> bool {
        let figures = [self.sent_qps, self.answered_qps, self.average_ns];
        figures.into_iter().flatten().all(f64::is_finite)
    }
}

//! What `-S` prints: the rate of answers in each interval, or with `-O verbose-interval-stats` all of its statistics.

use std::error::Error;
use std::sync::{Arc, Mutex, PoisonError};

use dnsdyno_measure::Histogram;
use dnsdyno_record::{Digest, Header};
use dnsdyno_runner::{How, Live, Note, Observer, QueryEnd, QueryLog, Unpaired};

use crate::console::Console;
use crate::dnsperf::json;
use crate::dnsperf::settings::Settings;
use crate::dnsperf::statistics::{Form, statistics};
use crate::figures::{Connections, Durations, Figures, mean_bytes};
use crate::source_lines::warning_of;
use crate::texts::seconds;

/// What a run prints while it lasts.
pub(super) struct Intervals {
    console: Arc<Console>,
    /// `None` = no interval statistics.
    interval_us: Option<u64>,
    /// The form of detailed statistics; `None` = the rate alone.
    details: Option<Form>,
    /// What has ended in this interval, for the detailed ones.
    counts: Arc<Mutex<Counts>>,
    /// Passes through the file; 0 = no limit.
    passes: u32,
    is_json: bool,
    /// The end of sending, where it is known.
    end_ns: u64,
    /// Queries that are sent after these many are not.
    limit: u64,
    started_unix_ns: u64,
    sent: u64,
}

/// What ended in an interval.
#[derive(Default)]
struct Counts {
    answered: u64,
    lost: u64,
    unexpected: u64,
    rcodes: [u64; 16],
    bytes_answered: u64,
    /// Queries that were sent, and their octets.
    ended: u64,
    bytes_sent: u64,
    histogram: Histogram,
}

impl Intervals {
    pub(super) fn new(
        console: &Arc<Console>,
        interval_us: Option<u64>,
        details: Option<Form>,
        settings: &Settings,
    ) -> Self {
        Intervals {
            console: Arc::clone(console),
            interval_us,
            details,
            counts: Arc::default(),
            passes: settings.passes,
            is_json: settings.is_json,
            end_ns: u64::MAX,
            limit: u64::MAX,
            started_unix_ns: 0,
            sent: 0,
        }
    }

    /// What counts for the detailed statistics, in the logs of the workers.
    pub(super) fn counting(&self) -> Counting {
        Counting(self.details.is_some().then(|| Arc::clone(&self.counts)))
    }

    fn figures(&self, live: &Live<'_>) -> Figures {
        let counts = std::mem::take(&mut *self.counts.lock().unwrap_or_else(PoisonError::into_inner));
        let arrivals = live.arrivals;
        Figures {
            sent: arrivals.sent,
            answered: counts.answered,
            lost: counts.lost,
            interrupted: 0,
            unexpected: counts.unexpected,
            rcodes: counts.rcodes,
            mean_bytes: (
                mean_bytes(counts.bytes_sent, counts.ended),
                mean_bytes(counts.bytes_answered, counts.answered),
            ),
            latency: Durations::of(&counts.histogram),
            histogram: counts.histogram,
            connections: arrivals.connections.as_deref().map(Connections::of).unwrap_or_default(),
        }
    }
}

impl Observer for Intervals {
    fn note(&mut self, note: &Note<'_>) {
        match note {
            Note::SkippedLine(bad) => self.console.warning(&warning_of(bad)),
            Note::SkippedMore(count) => {
                self.console.warning(&format!("{count} more lines of the input are not valid"));
            }
            _ => {}
        }
    }

    fn begins(&mut self, header: &Header, end_ns: Option<u64>) -> Result<(), Box<dyn Error + Send + Sync>> {
        self.started_unix_ns = header.started_unix_ns;
        self.end_ns = end_ns.unwrap_or(u64::MAX);
        if self.passes > 0 {
            self.limit = header.queries.saturating_mul(u64::from(self.passes));
        }
        Ok(())
    }

    fn passed(&mut self, live: &Live<'_>) {
        let Some(interval_us) = self.interval_us else { return };
        self.sent += live.arrivals.sent;
        // Nothing is printed after the last query was sent.
        if live.to_ns >= self.end_ns || self.sent >= self.limit {
            return;
        }
        match self.details {
            None => {
                let now_us = (self.started_unix_ns + live.to_ns) / 1_000;
                let rate_qps = live.arrivals.answered as f64 * 1e6 / interval_us as f64;
                self.console.print(&match self.is_json {
                    true => json::rate(now_us, rate_qps),
                    false => format!("{}: {rate_qps:.6}\n", seconds(now_us)),
                });
            }
            Some(form) => {
                let figures = self.figures(live);
                let write = if self.is_json { json::statistics } else { statistics };
                self.console.print(&write(&figures, live.to_ns / 1_000, form));
            }
        }
        self.console.flush();
    }

    fn idle(&mut self, _: &Digest) {
        self.console.flush();
    }
}

/// Counts for the detailed statistics, where there are any.
pub(super) struct Counting(Option<Arc<Mutex<Counts>>>);

impl Counting {
    /// A log that counts, around another.
    pub(super) fn around(&self, inner: Box<dyn QueryLog>) -> Box<dyn QueryLog> {
        match &self.0 {
            Some(counts) => Box::new(CountingLog { counts: Arc::clone(counts), inner }),
            None => inner,
        }
    }
}

/// Counts what ends in the current interval.
struct CountingLog {
    counts: Arc<Mutex<Counts>>,
    inner: Box<dyn QueryLog>,
}

impl QueryLog for CountingLog {
    fn ended(&mut self, end: &QueryEnd<'_>) {
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        match end.how {
            How::Answered => {
                counts.answered += 1;
                counts.rcodes[usize::from(end.rcode & 0xF)] += 1;
                counts.bytes_answered += end.response.len() as u64;
                counts.histogram.record(end.at_ns.saturating_sub(end.sent_ns));
            }
            How::AnsweredWrong | How::TimedOut | How::Refused => counts.lost += 1,
            How::Interrupted | How::NotSent(_) => {}
        }
        if !matches!(end.how, How::NotSent(_)) {
            counts.ended += 1;
            counts.bytes_sent += end.query.len() as u64;
        }
        drop(counts);
        self.inner.ended(end);
    }

    fn unpaired(&mut self, received: &Unpaired<'_>) {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner).unexpected += 1;
        self.inner.unpaired(received);
    }
}

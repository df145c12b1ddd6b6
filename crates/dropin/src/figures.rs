//! The figures of a run as the originals count them: only answers in time are answers; a query that has no such answer
//! is lost; a query that a signal ended is neither.

use dnsdyno_measure::{ExactFigures, HandshakeKind, Histogram, Statuses, Tally};
use dnsdyno_record::Digest;

/// The sums of a run, or of an interval.
#[derive(Clone, Debug, Default)]
pub(crate) struct Figures {
    pub(crate) sent: u64,
    pub(crate) answered: u64,
    pub(crate) lost: u64,
    pub(crate) interrupted: u64,
    /// Messages that answer no outstanding query: other IDs, second answers, answers after the timeout.
    pub(crate) unexpected: u64,
    /// Answers in time by the RCODE in the header.
    pub(crate) rcodes: [u64; 16],
    /// The mean length of a query and of an answer, in whole octets.
    pub(crate) mean_bytes: (u64, u64),
    /// From sending to the answer.
    pub(crate) latency: Durations,
    pub(crate) histogram: Histogram,
    pub(crate) connections: Connections,
}

/// Connections.
#[derive(Clone, Debug, Default)]
pub(crate) struct Connections {
    pub(crate) attempts: u64,
    pub(crate) successful: u64,
    /// From the first packet to the end of the handshakes.
    pub(crate) latency: Durations,
    pub(crate) histogram: Histogram,
}

/// Durations, summed up.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Durations {
    pub(crate) count: u64,
    pub(crate) sum_ns: u128,
    pub(crate) sum_squares_ns2: u128,
    pub(crate) min_ns: u64,
    pub(crate) max_ns: u64,
}

impl Durations {
    /// Those of a histogram, exactly.
    pub(crate) fn of(histogram: &Histogram) -> Durations {
        let Some(exact) = histogram.exact() else { return Durations::default() };
        let ExactFigures { sum_ns, sum_squares_ns2, min_ns, max_ns } = exact;
        Durations { count: histogram.count(), sum_ns, sum_squares_ns2, min_ns, max_ns }
    }

    /// The average, in whole microseconds.
    pub(crate) fn average_us(&self) -> u64 {
        (self.sum_ns / u128::from(self.count.max(1)) / 1_000) as u64
    }

    /// The standard deviation of the sample in seconds; 0 of fewer than two.
    pub(crate) fn stddev_s(&self) -> f64 {
        if self.count < 2 {
            return 0.0;
        }
        let (count, sum) = (self.count as f64, self.sum_ns as f64);
        let variance = (self.sum_squares_ns2 as f64 - sum * sum / count) / (count - 1.0);
        variance.max(0.0).sqrt() / 1e9
    }

    pub(crate) fn min_us(&self) -> u64 {
        self.min_ns / 1_000
    }

    pub(crate) fn max_us(&self) -> u64 {
        self.max_ns / 1_000
    }
}

impl Figures {
    /// Those of a run.
    pub(crate) fn of(digest: &Digest) -> Figures {
        let tally = digest.tally();
        let ends = &tally.ends;
        let sent = tally.requests.saturating_sub(tally.retried);
        // A connection may refuse queries before they are sent.
        let lost = ends.unanswered_after_sending().min(sent.saturating_sub(ends.answered));
        Figures {
            sent,
            answered: ends.answered,
            lost,
            interrupted: sent.saturating_sub(ends.answered + lost),
            unexpected: digest.arrivals().anomalies.unpaired_total() + ends.answered_late,
            rcodes: in_time(tally),
            mean_bytes: (
                mean_bytes(tally.bytes_sent, tally.requests),
                mean_bytes(tally.bytes_answered, tally.rcodes.total()),
            ),
            latency: Durations::of(&tally.service),
            histogram: tally.service.clone(),
            connections: digest.arrivals().connections.as_deref().map(Connections::of).unwrap_or_default(),
        }
    }
}

impl Figures {
    /// Answers in a second; 0 in no time.
    pub(crate) fn rate_qps(&self, over_us: u64) -> f64 {
        if over_us == 0 { 0.0 } else { self.answered as f64 * 1e6 / over_us as f64 }
    }
}

impl Connections {
    /// Whether any was tried.
    pub(crate) fn is_any(&self) -> bool {
        self.attempts > 0 || self.successful > 0
    }

    pub(crate) fn of(counted: &dnsdyno_measure::Connections) -> Connections {
        let Some(encrypted) = &counted.encrypted else {
            let histogram = counted.connect.clone();
            let (attempts, successful) = (counted.opened, counted.established);
            return Connections { attempts, successful, latency: Durations::of(&histogram), histogram };
        };
        let mut histogram = Histogram::new();
        for kind in HandshakeKind::ALL {
            histogram.merge(encrypted.handshakes.get(kind));
        }
        let mut latency = Durations::of(&histogram);
        // The handshake follows the connection: the averages add up; the extremes do, too, at most.
        let connect = Durations::of(&counted.connect);
        if latency.count > 0 {
            // Each is longer by the mean, which changes nothing of their deviation.
            let (count, mean_ns) =
                (u128::from(latency.count), connect.sum_ns / u128::from(connect.count.max(1)));
            latency.sum_squares_ns2 += 2 * mean_ns * latency.sum_ns + count * mean_ns * mean_ns;
            latency.sum_ns += count * mean_ns;
            latency.min_ns += connect.min_ns;
            latency.max_ns += connect.max_ns;
        }
        Connections { attempts: counted.opened, successful: latency.count, latency, histogram }
    }
}

/// Whole octets of each of so many messages; 0 of none.
pub(crate) fn mean_bytes(bytes: u64, messages: u64) -> u64 {
    bytes.checked_div(messages).unwrap_or(0)
}

/// The answers in time by the four bits of the RCODE in the header.
pub(crate) fn in_time(tally: &Tally) -> [u64; 16] {
    let mut counts = [0; 16];
    for (rcode, count) in tally.rcodes_in_time() {
        counts[usize::from(rcode & 0xF)] += count;
    }
    counts
}

/// The statuses of the HTTP responses of a run.
pub(crate) fn statuses(digest: &Digest) -> Statuses {
    let encrypted = digest.arrivals().connections.as_ref().and_then(|counted| counted.encrypted.as_ref());
    encrypted.map(|encrypted| encrypted.statuses.clone()).unwrap_or_default()
}

/// The sessions of TLS that were resumed in a run.
pub(crate) fn resumed(digest: &Digest) -> u64 {
    let encrypted = digest.arrivals().connections.as_ref().and_then(|counted| counted.encrypted.as_ref());
    let kinds = [HandshakeKind::Resumed, HandshakeKind::Early];
    encrypted.map_or(0, |encrypted| kinds.map(|kind| encrypted.handshakes.get(kind).count()).iter().sum())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_that_came_late_have_no_code_and_count_in_the_mean_size() {
        let mut tally = Tally::new(1);
        (tally.requests, tally.retried, tally.bytes_sent) = (12, 2, 12 * 29);
        (tally.ends.answered, tally.ends.answered_late, tally.bytes_answered) = (6, 4, 10 * 45);
        tally.rcodes.add(0, 10);
        tally.rcodes_late_or_wrong.add(0, 4);
        let mut digest = Digest::new(dnsdyno_record::Header::default());
        digest.sum(&dnsdyno_record::Sum { tally, ..Default::default() });
        let figures = Figures::of(&digest);
        assert_eq!((figures.answered, figures.rcodes[0], figures.mean_bytes), (6, 6, (29, 45)));
    }
}

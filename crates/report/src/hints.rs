//! Hints: figures that have a well-known cause which is not the load.
//!
//! ```text
//!   one connection     query 1 ──► half of response 1      (the server has no TCP_NODELAY, and waits for an ACK)
//!                      query 2 ──► the rest of response 1   (the next query carries the ACK)
//!                      └── clients / rate ──┘
//!                      or, with no query for 40 ms: the delayed ACK of Linux releases the rest
//! ```

use dnsdyno_measure::{Histogram, Quantile, Tsig, TsigFailure};
use dnsdyno_record::{Digest, Headline, Row};
use dnsdyno_text::layout::paragraph;
use dnsdyno_text::units::{counted, duration, percent};
use serde_json::{Value, json};

use crate::figures::sent;

/// A likely cause for figures of the run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Hint {
    /// The median response waited for the next query on its connection.
    WaitsForNextQuery { p50_ns: u64, gap_ns: u64 },
    /// A share of the responses took as long as a delayed ACK.
    DelayedAck { share: f64 },
    /// Signatures were not accepted because of the time at which they were made.
    ClocksDiffer { responses: u64 },
    /// The server does not know the key.
    UnknownKey { responses: u64 },
    /// The server has another secret for the key.
    OtherSecret { responses: u64 },
}

impl Hint {
    fn name(self) -> &'static str {
        match self {
            Hint::WaitsForNextQuery { .. } => "waits_for_next_query",
            Hint::DelayedAck { .. } => "delayed_ack",
            Hint::ClocksDiffer { .. } => "clocks_differ",
            Hint::UnknownKey { .. } => "unknown_key",
            Hint::OtherSecret { .. } => "other_secret",
        }
    }

    /// The figures, the likely cause, and how to make sure.
    fn words(self) -> String {
        match self {
            Hint::WaitsForNextQuery { p50_ns, gap_ns } => format!(
                "the p50 of the service time ({}) is the time between two queries of one client ({}): responses \
                 probably wait for the next query on their connection, because the server handles one query at a time \
                 or waits for an acknowledgement (no TCP_NODELAY). With twice the --clients, such a p50 is twice as \
                 long.",
                duration(p50_ns),
                duration(gap_ns)
            ),
            Hint::DelayedAck { share } => format!(
                "{} of the responses took 39 to 46 ms, as long as Linux delays an acknowledgement: unless the server \
                 needs that time itself, it writes a response in two parts and waits for the acknowledgement of the \
                 first (no TCP_NODELAY).",
                percent(share)
            ),
            Hint::ClocksDiffer { responses } => format!(
                "{}: the clock of the server differs from that of this host by more than 300 s. Set both (NTP).",
                counted(
                    responses,
                    "signature was refused with BADTIME or was not of our time",
                    "signatures were refused with BADTIME or were not of our time"
                )
            ),
            Hint::UnknownKey { responses } => format!(
                "the server answered {} with BADKEY: it has no key with this name and algorithm. Compare both with its \
                 configuration.",
                counted(responses, "query", "queries")
            ),
            Hint::OtherSecret { responses } => format!(
                "the server answered {} with BADSIG: its secret for this key is another one.",
                counted(responses, "query", "queries")
            ),
        }
    }
}

/// The hints that follow from the figures.
pub(crate) fn hints(digest: &Digest) -> Vec<Hint> {
    let signatures = digest.arrivals().tsig.iter().flat_map(|tsig| of_signatures(tsig));
    if digest.arrivals().connections.is_none() || !digest.header.mix.is_empty() {
        return signatures.collect();
    }
    let connections = waits_for_next_query(digest).into_iter().chain(delayed_ack(&digest.tally().service));
    signatures.chain(connections).collect()
}

/// What the errors of signatures mean.
fn of_signatures(tsig: &Tsig) -> Vec<Hint> {
    let [bad_sig, bad_key, bad_time] = [16, 17, 18].map(|error| tsig.errors.of(error));
    let bad_time = bad_time + tsig.failed.of(TsigFailure::BadTime);
    [
        (bad_time, Hint::ClocksDiffer { responses: bad_time }),
        (bad_key, Hint::UnknownKey { responses: bad_key }),
        (bad_sig, Hint::OtherSecret { responses: bad_sig }),
    ]
    .into_iter()
    .filter_map(|(responses, hint)| (responses > 0).then_some(hint))
    .collect()
}

/// The hints as texts.
pub fn hint_texts(digest: &Digest) -> Vec<String> {
    hints(digest).into_iter().map(Hint::words).collect()
}

/// Appends the hints.
pub(crate) fn write(out: &mut String, digest: &Digest, width: usize) {
    let hints = hint_texts(digest);
    if !hints.is_empty() {
        out.push('\n');
    }
    hints.into_iter().for_each(|hint| paragraph(out, &format!("hint: {hint}"), 0, 2, width));
}

/// The hints for programs.
pub(crate) fn as_json(digest: &Digest) -> Value {
    hints(digest).into_iter().map(|hint| json!({ "name": hint.name(), "text": hint.words() })).collect()
}

/// In open loop only: in a closed loop, the average latency is always clients divided by rate (Little's law).
///
/// It must hold for most rows that have enough queries, so that a stair does not have it by chance at one of its steps.
fn waits_for_next_query(digest: &Digest) -> Option<Hint> {
    if digest.header.headline != Headline::Response {
        return None;
    }
    let clients = u64::from(digest.header.clients);
    let (mut found, mut rows) = (Vec::new(), 0);
    for row in digest.rows() {
        let Some(Quantile::At(p50_ns)) = row.tally.service_latency().percentile(0.5) else { continue };
        let gap_ns = gap_ns(row, clients)?;
        rows += 1;
        if gap_ns >= SHORTEST_GAP_NS && p50_ns.abs_diff(gap_ns) * 10 <= gap_ns {
            found.push(Hint::WaitsForNextQuery { p50_ns, gap_ns });
        }
    }
    found.first().copied().filter(|_| found.len() * 2 > rows)
}

/// The average time between two queries of one client in a row.
fn gap_ns(row: &Row, clients: u64) -> Option<u64> {
    row.covered_ns.saturating_mul(clients).checked_div(sent(&row.tally))
}

/// Many responses near 40 ms, and hardly any just below: not the flank of a slow server's latencies.
fn delayed_ack(service: &Histogram) -> Option<Hint> {
    let within = |from_ns: u64, to_ns: u64| {
        let buckets = service.buckets().filter(|bucket| (from_ns..to_ns).contains(&bucket.from_ns));
        buckets.map(|bucket| bucket.count).sum::<u64>()
    };
    let (before, near) = (within(32_000_000, 39_000_000), within(39_000_000, 46_000_000));
    let share = near as f64 / service.count().max(1) as f64;
    (near >= LEAST_RESPONSES && share >= DELAYED_SHARE && before * 4 < near)
        .then_some(Hint::DelayedAck { share })
}

/// Below this gap, a p50 of the same size is that of any server on the network.
const SHORTEST_GAP_NS: u64 = 1_000_000;

/// Fewer responses near 40 ms may have come by chance.
const LEAST_RESPONSES: u64 = 20;

/// A smaller share does not move the percentiles that are looked at.
const DELAYED_SHARE: f64 = 0.01;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{sample, summary};

    #[test]
    fn a_median_of_clients_by_rate_has_a_hint() {
        let digest = sample::tcp_at(&[500, 1_000], 10, |qps| 10 * 1_000_000_000 / qps);
        let text = summary(&digest, 200);
        assert!(text.contains("hint: the p50 of the service time (20.0 ms) is the time between"), "{text}");
        assert_eq!(as_json(&digest)[0]["name"], "waits_for_next_query");
    }

    #[test]
    fn a_median_that_meets_the_gap_at_one_step_only_has_none() {
        assert_eq!(hints(&sample::tcp_at(&[500, 1_000], 10, |_| 20_000_000)), []);
        assert_eq!(hints(&sample::tcp_at(&[500, 1_000], 10, |_| 300_000)), []);
    }

    #[test]
    fn many_responses_near_40_ms_have_a_hint_and_a_slow_server_has_none() {
        let mut service = Histogram::new();
        (0..900).for_each(|n| service.record(400_000 + n * 100));
        (0..100).for_each(|n| service.record(40_000_000 + n * 20_000));
        assert_eq!(delayed_ack(&service), Some(Hint::DelayedAck { share: 0.1 }));
        let mut slow = Histogram::new();
        (0..1_000).for_each(|n| slow.record(20_000_000 + n * 40_000));
        assert_eq!(delayed_ack(&slow), None);
    }

    #[test]
    fn udp_has_no_connections_and_no_hints() {
        assert_eq!(hints(&sample::stair()), []);
    }
}

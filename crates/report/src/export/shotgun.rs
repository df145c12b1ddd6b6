//! The JSON of DNS Shotgun, version 20200527: read by its plot-latency.py, plot-response-rate.py, plot-connections.py
//! and merge-data.py.
//!
//! ```text
//!   {"version":20200527, …, "stats_sum":{…}, "stats_periodic":[{"since_ms":…,"requests":…,"latency":[0,1998,2,…]},…]}
//!                                                                   one count for each millisecond ──┘
//! ```
//!
//! Shotgun counts a request from the instant at which its client wants to send it, as our response time does. A request
//! without an answer in time is in the last count. Of an interval only its histogram is in memory.

use std::io::Write;

use dnsdyno_measure::{Arrivals, ConnectFailure, HandshakeKind, Latency, Rcodes, Tally};
use serde::Serialize;

use crate::export::{ExportError, Run};

pub(crate) fn write(run: &Run, mut out: &mut dyn Write) -> Result<(), ExportError> {
    let digest = &run.digest;
    if digest.intervals == 0 {
        return Err(ExportError::NoInterval { run: run.path().to_owned(), format: "DNS Shotgun's JSON" });
    }
    let clock = Clock { started_unix_ns: digest.header.started_unix_ns };
    // A record can contain any timeout.
    let timeout_ms = digest.header.timeout_ns.div_ceil(NS_PER_MS).clamp(1, LONGEST_TIMEOUT_MS);
    let mut counts = Counts(vec![0; timeout_ms as usize + 1]);
    let mut open = Open::default();
    open.pass(digest.arrivals());
    let stats = Stats::new(
        clock.span(0, digest.to_ns()),
        (run, digest.tally(), digest.arrivals()),
        (0, open.connections),
        &mut counts,
    );
    write!(
        out,
        "{{\"version\":{VERSION},\"merged\":true,\"stats_interval_ms\":{},\"timeout_ms\":{timeout_ms},\
         \"discarded\":0,\"stats_sum\":",
        digest.header.interval_ns.div_ceil(NS_PER_MS)
    )?;
    serde_json::to_writer(&mut out, &stats).map_err(std::io::Error::from)?;
    write!(out, ",\n\"stats_periodic\":")?;
    let (mut open, mut gap) = (Open::default(), "[");
    for interval in run.intervals()? {
        let interval = interval?;
        let ongoing = open.queries;
        open.pass(&interval.arrivals);
        let stats = Stats::new(
            clock.span(interval.from_ns, interval.to_ns),
            (run, &interval.tally, &interval.arrivals),
            (ongoing, open.connections),
            &mut counts,
        );
        writeln!(out, "{gap}")?;
        serde_json::to_writer(&mut out, &stats).map_err(std::io::Error::from)?;
        gap = ",";
    }
    writeln!(out, "\n]}}")?;
    Ok(())
}

/// The figures of an interval or of the run, as Shotgun names them.
#[derive(Serialize)]
struct Stats<'a> {
    since_ms: u64,
    until_ms: u64,
    requests: u64,
    /// Requests that wait for an answer when the interval begins.
    ongoing: u64,
    answers: u64,
    /// Connections that are open when the interval ends.
    conn_active: u64,
    conn_handshakes: u64,
    conn_resumed: u64,
    conn_quic_0rtt_loaded: u64,
    quic_0rtt_sent: u64,
    quic_0rtt_answered: u64,
    conn_handshakes_failed: u64,
    #[serde(flatten)]
    rcodes: ByRcode<'a>,
    latency: &'a [u64],
}

impl<'a> Stats<'a> {
    fn new(
        (since_ms, until_ms): (u64, u64),
        (run, tally, arrivals): (&Run, &'a Tally, &Arrivals),
        (ongoing, conn_active): (u64, u64),
        counts: &'a mut Counts,
    ) -> Stats<'a> {
        let latency = run.latency(tally);
        let connections = arrivals.connections.as_deref();
        let encrypted = connections.and_then(|connections| connections.encrypted.as_deref());
        let done = |kind| encrypted.map_or(0, |encrypted| encrypted.handshake(kind).count());
        let is_quic = matches!(run.digest.header.transport.as_str(), "doq" | "doh3");
        let (early, rejected) =
            (done(HandshakeKind::Early), encrypted.map_or(0, |encrypted| encrypted.early_rejected));
        // A QUIC handshake that failed is in both counts.
        let failed = connections.map_or(0, |connections| {
            connections.failed_total() - connections.failed(ConnectFailure::Handshake)
        });
        Stats {
            since_ms,
            until_ms,
            requests: latency.count(),
            ongoing,
            answers: latency.answered.count(),
            conn_active,
            conn_handshakes: connections.map_or(0, |connections| connections.opened),
            conn_resumed: done(HandshakeKind::Resumed) + early,
            conn_quic_0rtt_loaded: if is_quic { early + rejected } else { 0 },
            // The record counts connections with 0-RTT, not the queries in it.
            quic_0rtt_sent: 0,
            quic_0rtt_answered: 0,
            conn_handshakes_failed: failed + encrypted.map_or(0, |encrypted| encrypted.failed_total()),
            rcodes: ByRcode(&tally.rcodes),
            latency: counts.of(latency),
        }
    }
}

/// Counts by whole milliseconds; the last is that of the requests without an answer in time.
struct Counts(Vec<u64>);

impl Counts {
    fn of(&mut self, latency: Latency<'_>) -> &[u64] {
        let Counts(counts) = self;
        counts.fill(0);
        let last = counts.len() - 1;
        let longest_ns = latency.answered.exact().map_or(0, |exact| exact.max_ns);
        for bucket in latency.answered.buckets() {
            // As in a percentile of the summary, a latency is the upper end of its bucket. An answer in time is never
            // among those that were not.
            let ms = bucket.to_ns.min(longest_ns) / NS_PER_MS;
            counts[usize::try_from(ms).unwrap_or(last).min(last - 1)] += bucket.count;
        }
        counts[last] += latency.unanswered;
        counts
    }
}

/// What is open at an instant of the run: the sum of what has begun and ended before.
#[derive(Default)]
struct Open {
    queries: u64,
    connections: u64,
}

impl Open {
    fn pass(&mut self, arrivals: &Arrivals) {
        let ended = [arrivals.answered, arrivals.wrong, arrivals.timed_out, arrivals.refused];
        let sent = self.queries.saturating_add(arrivals.sent);
        self.queries = ended.iter().fold(sent, |open, n| open.saturating_sub(*n));
        if let Some(connections) = &arrivals.connections {
            let established = self.connections.saturating_add(connections.established);
            self.connections = established.saturating_sub(connections.ended_total());
        }
    }
}

/// Instants of the run by the wall clock.
struct Clock {
    started_unix_ns: u64,
}

impl Clock {
    /// Both ends in milliseconds. The readers divide by the difference, which is never 0.
    fn span(&self, from_ns: u64, to_ns: u64) -> (u64, u64) {
        let [since_ms, until_ms] =
            [from_ns, to_ns].map(|ns| self.started_unix_ns.saturating_add(ns) / NS_PER_MS);
        (since_ms, until_ms.max(since_ms + 1))
    }
}

/// Counts of responses with all names that Shotgun has, also those that are 0.
struct ByRcode<'a>(&'a Rcodes);

impl Serialize for ByRcode<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let named = RCODES.iter().map(|(code, name)| (*name, self.0.of(*code)));
        let known: u64 = named.clone().map(|(_, count)| count).sum();
        serializer.collect_map(named.chain([("rcode_other", self.0.total().saturating_sub(known))]))
    }
}

const RCODES: [(u16, &str); 19] = [
    (0, "rcode_noerror"),
    (1, "rcode_formerr"),
    (2, "rcode_servfail"),
    (3, "rcode_nxdomain"),
    (4, "rcode_notimp"),
    (5, "rcode_refused"),
    (6, "rcode_yxdomain"),
    (7, "rcode_yxrrset"),
    (8, "rcode_nxrrset"),
    (9, "rcode_notauth"),
    (10, "rcode_notzone"),
    (16, "rcode_badvers"),
    (17, "rcode_badkey"),
    (18, "rcode_badtime"),
    (19, "rcode_badmode"),
    (20, "rcode_badname"),
    (21, "rcode_badalg"),
    (22, "rcode_badtrunc"),
    (23, "rcode_badcookie"),
];

/// The version of the format, a date; its readers accept no other.
const VERSION: u32 = 20_200_527;

const NS_PER_MS: u64 = 1_000_000;

/// An hour, which no query waits for an answer.
const LONGEST_TIMEOUT_MS: u64 = 3_600_000;

#[cfg(test)]
mod tests {
    use dnsdyno_measure::{ConnectionEnd, Connections};
    use serde_json::Value;

    use super::*;
    use crate::export::sample;

    fn written(run: &sample::Recorded) -> Value {
        let mut out = Vec::new();
        write(&run.run, &mut out).unwrap();
        serde_json::from_slice(&out).unwrap()
    }

    #[test]
    fn a_query_with_a_wrong_answer_is_not_open() {
        let mut open = Open::default();
        open.pass(&Arrivals { sent: 10, answered: 4, wrong: 3, timed_out: 2, ..Arrivals::default() });
        assert_eq!(open.queries, 1);
    }

    #[test]
    fn the_counts_by_millisecond_add_up_to_the_requests() {
        let seconds = [sample::second(0, 2_000, 0), sample::second(1, 4_000, 100)];
        let json = written(&sample::recorded(&sample::header(), &seconds));
        assert_eq!((&json["version"], &json["discarded"]), (&20_200_527.into(), &0.into()));
        assert_eq!((&json["stats_interval_ms"], &json["timeout_ms"]), (&1_000.into(), &5_000.into()));
        let second = &json["stats_periodic"][1];
        assert_eq!(second["since_ms"], 1_760_000_001_000_u64);
        assert_eq!((&second["requests"], &second["answers"]), (&4_000.into(), &3_900.into()));
        let counts = second["latency"].as_array().unwrap();
        assert_eq!((counts.len(), &counts[0], &counts[5_000]), (5_001, &3_861.into(), &100.into()));
        assert_eq!(counts[40], 39);
        assert_eq!(json["stats_sum"]["requests"], 6_000);
        assert_eq!(json["stats_sum"]["rcode_nxdomain"], 100);
    }

    #[test]
    fn an_answer_just_before_the_timeout_is_not_counted_as_none() {
        let mut second = sample::second(0, 100, 0);
        second.tally.response.record(4_999_999_999);
        second.tally.ends.answered += 1;
        second.tally.scheduled += 1;
        let json = written(&sample::recorded(&sample::header(), &[second]));
        let counts = json["stats_periodic"][0]["latency"].as_array().unwrap();
        assert_eq!((&counts[4_999], &counts[5_000]), (&1.into(), &0.into()));
    }

    #[test]
    fn connections_are_open_until_they_end() {
        let second = |index, established, ended| {
            let mut connections = Connections { opened: 9, established, ..Connections::default() };
            connections.add_ended(ConnectionEnd::ByServer, ended);
            connections.add_failed(ConnectFailure::Refused, 2);
            let mut second = sample::second(index, 100, 0);
            second.arrivals.connections = Some(Box::new(connections));
            second.arrivals.answered -= 10;
            second
        };
        let run = sample::recorded(&sample::header(), &[second(0, 7, 2), second(1, 4, 5)]);
        let json = written(&run);
        let of_each = |key: &str| [0, 1].map(|i| json["stats_periodic"][i][key].as_u64().unwrap());
        assert_eq!(of_each("conn_active"), [5, 4]);
        assert_eq!(of_each("conn_handshakes"), [9, 9]);
        assert_eq!(of_each("conn_handshakes_failed"), [2, 2]);
        assert_eq!(of_each("ongoing"), [0, 10]);
    }
}

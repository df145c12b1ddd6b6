//! The properties of the dns-metrics schema. They are for other tools and are never read back.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;

use dnsdyno_measure::{Arrivals, Histogram, NotSentReason, Tally, bucket_number};
use dnsdyno_wire::rcode_name;
use serde::Serialize;

use crate::Header;

#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct StandardHeader<'a> {
    /// Version of the dns-metrics schema, as a date.
    schema_version: u32,
    /// The program that sent the queries.
    generator: &'static str,
    /// Its version.
    generator_version: &'a str,
    /// The command line.
    generator_params: &'a [String],
    /// All times in properties of dns-metrics are nanoseconds, except the next two.
    time_units_per_sec: u64,
    /// Length of an interval, in seconds.
    stats_interval: f64,
    /// Timeout of a query, in seconds.
    timeout: f64,
}

#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct StandardEvent<'a> {
    /// One sentence.
    pub(crate) msg: &'a str,
    /// The kind: `interrupt`, `link`, `queues`, `record_gap`, `note` ...
    pub(crate) msg_type: &'a str,
}

#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct StandardStats {
    /// First instant of the interval, nanoseconds since 1970.
    since: u64,
    /// First instant after it, nanoseconds since 1970.
    until: u64,
    /// Queries sent.
    queries: u64,
    /// Responses to them, in time or late.
    responses: u64,
    /// Queries without a response.
    timeouts: u64,
    /// Queries cut off by the end of the run.
    interrupted: u64,
    /// Responses with an ID that no outstanding query has.
    unexpected: u64,
    /// Malformed responses, and responses with another question.
    discarded: u64,
    /// Responses by RCODE.
    response_rcodes: BTreeMap<Cow<'static, str>, u64>,
    /// The headline latency of the answered queries.
    response_latency: StandardLatency,
    /// Packets and connections.
    conn_info: StandardConnInfo,
}

#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "ConnInfo"))]
pub(crate) struct StandardConnInfo {
    /// The transport: `udp`, `tcp`, `tls_conn` or `quic_conn`.
    #[serde(rename = "type")]
    kind: &'static str,
    /// Packets sent; over connections: messages.
    packets_sent: u64,
    /// Packets received; over connections: messages.
    packets_received: u64,
    /// Queries refused by the network, or not accepted by the socket.
    socket_errors: u64,
    /// Successful TLS or QUIC handshakes; over TCP: connections established. Over connections only.
    #[serde(skip_serializing_if = "Option::is_none")]
    handshakes: Option<u64>,
    /// Failed handshakes. Over connections only.
    #[serde(skip_serializing_if = "Option::is_none")]
    handshakes_failed: Option<u64>,
}

impl StandardConnInfo {
    /// The dns-metrics name of a transport with connections.
    ///
    /// A mix has one name: that of its encrypted member, if any, because the handshakes in the same object are then
    /// those of TLS and QUIC. It is QUIC only where no member uses TLS.
    fn kind(header: &Header) -> &'static str {
        let in_mix = header.mix.iter().map(|member| member.transport.as_str());
        let has = |names: &[&str]| {
            in_mix.clone().chain([header.transport.as_str()]).any(|name| names.contains(&name))
        };
        match (has(&["dot", "doh"]), has(&["doq", "doh3"])) {
            (true, _) => "tls_conn",
            (false, true) => "quic_conn",
            (false, false) => "tcp",
        }
    }
}

/// Latency of the answered queries; without any, all properties except the buckets are absent.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "Latency"))]
pub(crate) struct StandardLatency {
    /// Average, ns.
    #[serde(skip_serializing_if = "Option::is_none")]
    avg: Option<u64>,
    /// Shortest, ns.
    #[serde(skip_serializing_if = "Option::is_none")]
    min: Option<u64>,
    /// Longest, ns.
    #[serde(skip_serializing_if = "Option::is_none")]
    max: Option<u64>,
    /// Standard deviation, ns.
    #[serde(skip_serializing_if = "Option::is_none")]
    stddev: Option<u64>,
    /// `[from_ns, to_ns, count]`, both ends inclusive, shortest first: in an interval at most 12.5 % of the value wide,
    /// in the sum as wide as those of `dnsdyno`.
    buckets: Vec<[u64; 3]>,
}

impl StandardLatency {
    fn new(histogram: &Histogram, joined: u64) -> Self {
        let exact = histogram.exact();
        StandardLatency {
            avg: histogram.mean_ns(),
            min: exact.map(|e| e.min_ns),
            max: exact.map(|e| e.max_ns),
            stddev: histogram.stddev_ns(),
            buckets: wide_buckets(histogram, joined),
        }
    }
}

impl<'a> StandardHeader<'a> {
    pub(crate) fn new(header: &'a Header) -> Self {
        StandardHeader {
            schema_version: DNS_METRICS_VERSION,
            generator: "dnsdyno",
            generator_version: &header.version,
            generator_params: &header.command_line,
            time_units_per_sec: 1_000_000_000,
            stats_interval: header.interval_ns as f64 * 1e-9,
            timeout: header.timeout_ns as f64 * 1e-9,
        }
    }
}

impl StandardStats {
    /// `span_ns` counts from the start of the run.
    pub(crate) fn new(
        header: &Header,
        tally: &Tally,
        arrivals: &Arrivals,
        span_ns: Range<u64>,
        joined: u64,
    ) -> Self {
        StandardStats {
            since: header.started_unix_ns.saturating_add(span_ns.start),
            until: header.started_unix_ns.saturating_add(span_ns.end),
            queries: tally.types.iter().map(|count| count.sent).sum(),
            responses: tally.ends.answered + tally.ends.answered_late + tally.ends.answered_wrong,
            timeouts: tally.ends.timed_out,
            interrupted: tally.ends.interrupted,
            unexpected: arrivals.anomalies.unexpected + arrivals.anomalies.after_reuse,
            discarded: arrivals.anomalies.malformed + arrivals.anomalies.wrong_question + arrivals.rejected(),
            response_rcodes: tally.rcodes.iter().map(|(code, count)| (rcode_name(code), count)).collect(),
            response_latency: StandardLatency::new(header.headline_of(tally), joined),
            conn_info: StandardConnInfo::new(header, tally, arrivals),
        }
    }
}

impl StandardConnInfo {
    /// Over connections a packet is a message: the schema has no property for messages.
    fn new(header: &Header, tally: &Tally, arrivals: &Arrivals) -> Self {
        let ended_no_query = arrivals.anomalies.unpaired_total() + arrivals.rejected();
        let errors_of_sending = SOCKET_ERRORS.map(|reason| tally.ends.not_sent.of(reason));
        let connections = arrivals.connections.as_deref();
        // Messages after the first one of a query: retries, also over TCP after a truncated response.
        let queries: u64 = tally.types.iter().map(|count| count.sent).sum();
        let retries = tally.requests.saturating_sub(queries);
        let truncated = tally.fallback.as_ref().map_or(0, |fallback| fallback.started);
        StandardConnInfo {
            kind: if connections.is_some() { StandardConnInfo::kind(header) } else { "udp" },
            packets_sent: arrivals.sent + retries,
            packets_received: arrivals.answered + arrivals.wrong + arrivals.late + ended_no_query + truncated,
            socket_errors: tally.ends.refused + errors_of_sending.iter().sum::<u64>(),
            // The handshakes of TLS and QUIC where there are any, else those of TCP.
            handshakes: connections.map(|connections| match &connections.encrypted {
                Some(encrypted) => encrypted.done_total(),
                None => connections.established,
            }),
            handshakes_failed: connections.map(|connections| match &connections.encrypted {
                Some(encrypted) => encrypted.failed_total(),
                None => connections.failed_total(),
            }),
        }
    }
}

/// The buckets in the form of dns-metrics, `[from_ns, to_ns, count]`: each contains `joined` of ours.
///
/// With narrow buckets in each interval, they would be half of a record.
fn wide_buckets(histogram: &Histogram, joined: u64) -> Vec<[u64; 3]> {
    let mut wide: Vec<[u64; 3]> = Vec::new();
    let mut last = None;
    for bucket in histogram.buckets() {
        let place = bucket_number(bucket.from_ns) / joined;
        match wide.last_mut() {
            Some([_, to_ns, count]) if last == Some(place) => {
                *to_ns = bucket.to_ns;
                *count += bucket.count;
            }
            _ => wide.push([bucket.from_ns, bucket.to_ns, bucket.count]),
        }
        last = Some(place);
    }
    wide
}

/// Number of our buckets in one of dns-metrics in an interval, which is at most 12.5 % of its value wide.
pub(crate) const JOINED_IN_INTERVAL: u64 = 16;

/// The version of the dns-metrics schema, a date.
const DNS_METRICS_VERSION: u32 = 20_240_530;

/// The reasons for queries not sent that are errors of a system call on a socket.
const SOCKET_ERRORS: [NotSentReason; 6] = [
    NotSentReason::SendBufferFull,
    NotSentReason::NoRoute,
    NotSentReason::TooLong,
    NotSentReason::Forbidden,
    NotSentReason::NoLocalPort,
    NotSentReason::OtherError,
];

#[cfg(test)]
mod tests {
    use dnsdyno_measure::Connections;

    use super::*;
    use crate::{Headline, MemberInfo};

    fn kind_of(transport: &str, members: &[&str]) -> &'static str {
        let member = |name: &&str| MemberInfo::new(name, 0.5, "[::1]:53".parse().unwrap());
        let header = Header {
            run_id: "r".into(),
            version: "0".into(),
            interval_ns: 1,
            timeout_ns: 1,
            headline: Headline::Response,
            target: "::1".into(),
            address: "[::1]:53".parse().unwrap(),
            transport: transport.into(),
            mix: members.iter().map(member).collect(),
            queries: 1,
            load: "one at a time".into(),
            ..Header::default()
        };
        let connects = !matches!(transport, "udp") && members != ["udp"];
        let connections = connects.then(|| Box::new(Connections::default()));
        let arrivals = Arrivals { connections, ..Arrivals::default() };
        StandardConnInfo::new(&header, &Tally::new(0), &arrivals).kind
    }

    #[test]
    fn a_mix_has_the_name_of_its_encrypted_transport() {
        assert_eq!(kind_of("udp", &[]), "udp");
        assert_eq!(kind_of("udp+tcp", &[]), "tcp");
        assert_eq!(
            (kind_of("dot", &[]), kind_of("doh", &[]), kind_of("doq", &[]), kind_of("doh3", &[])),
            ("tls_conn", "tls_conn", "quic_conn", "quic_conn")
        );
        assert_eq!(kind_of("mix", &["udp", "tcp"]), "tcp");
        assert_eq!(kind_of("mix", &["udp", "tcp", "dot"]), "tls_conn");
        assert_eq!(kind_of("mix", &["udp", "doq"]), "quic_conn");
        assert_eq!(kind_of("mix", &["doq", "doh"]), "tls_conn");
    }
}

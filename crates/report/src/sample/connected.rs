//! Sample runs over connections.

use dnsdyno_measure::{
    ConnectFailure, ConnectionEnd, Connections, Encrypted, Explanation, Fallback, FallbackFailure,
    HandshakeFailure, HandshakeKind, MemberTally, StreamFailure,
};
use dnsdyno_record::{Digest, Header, MemberInfo, Sum};

use super::run::{calm_sum, header, second};

/// Ten clients whose server closes each connection after fifty queries.
pub(crate) fn over_tcp() -> Digest {
    let mut digest = Digest::new(Header { transport: "tcp".into(), phases: Vec::new(), ..header() });
    let mut interval = second(0, 2_000, 0);
    interval.tally.requests += 7;
    interval.tally.retried = 7;
    let mut connections =
        Connections { opened: 60, established: 52, reused: 1_940, open_max: 10, ..Connections::default() };
    connections.add_failed(ConnectFailure::Refused, 8);
    connections.add_ended(ConnectionEnd::ByServer, 40);
    connections.add_ended(ConnectionEnd::ByUs, 12);
    (0..52).for_each(|n| connections.connect.record(34_700 + n * 300));
    (0..52).for_each(|_| connections.first_byte.record(2_000_000));
    interval.arrivals.connections = Some(Box::new(connections));
    digest.interval(&interval);
    digest.sum(&calm_sum(&digest));
    digest
}

/// DoH with resumed sessions and some failures.
pub(crate) fn over_doh() -> Digest {
    let mut digest = Digest::new(Header { transport: "doh".into(), phases: Vec::new(), ..header() });
    let mut interval = second(0, 2_000, 0);
    let mut connections = Connections { opened: 43, established: 43, open_max: 10, ..Connections::default() };
    connections.add_ended(ConnectionEnd::ByUs, 40);
    connections.add_ended(ConnectionEnd::Handshake, 3);
    let mut encrypted = Encrypted { early_rejected: 2, ..Encrypted::default() };
    (0..10).for_each(|_| encrypted.add_handshake(HandshakeKind::Full, 3_000_000));
    (0..30).for_each(|_| encrypted.add_handshake(HandshakeKind::Resumed, 1_010_000));
    encrypted.add_failed(HandshakeFailure::Alert, 3);
    encrypted.add_stream(StreamFailure::Status, 10);
    encrypted.add_stream(StreamFailure::Refused, 4);
    encrypted.statuses.add(200, 1_990);
    encrypted.statuses.add(500, 10);
    connections.encrypted = Some(Box::new(encrypted));
    interval.arrivals.connections = Some(Box::new(connections));
    digest.interval(&interval);
    let explanations = vec![
        Explanation::of_handshake(
            HandshakeFailure::Alert,
            "certificate_required, the server wants a certificate of the client",
        ),
        Explanation::of_stream(StreamFailure::Status, "HTTP status 500"),
        Explanation::of_end(ConnectionEnd::Protocol, "of a counter that is 0"),
    ];
    digest.sum(&Sum { explanations, ..calm_sum(&digest) });
    digest
}

/// A second at each rate over TCP by `clients`; all responses of a rate take the same time.
pub(crate) fn tcp_at(rates_qps: &[u64], clients: u32, service_ns: impl Fn(u64) -> u64) -> Digest {
    let header = Header { transport: "tcp".into(), clients, phases: Vec::new(), ..header() };
    let mut digest = Digest::new(header);
    for (i, qps) in rates_qps.iter().enumerate() {
        let mut interval = second(i as u64, *qps, 0);
        interval.tally.service.clear();
        (0..*qps).for_each(|_| interval.tally.service.record(service_ns(*qps)));
        interval.arrivals.connections = Some(Box::default());
        digest.interval(&interval);
    }
    digest.sum(&calm_sum(&digest));
    digest
}

/// Two sockets and forty clients: a quarter of the responses are truncated, and some retries fail.
pub(crate) fn falling_back() -> Digest {
    let both = Header { transport: "udp+tcp".into(), clients: 40, udp_sockets: Some(2), ..header() };
    let mut digest = Digest::new(Header { phases: Vec::new(), ..both });
    let mut interval = second(0, 2_000, 0);
    let mut fallback = Fallback {
        started: 500,
        answered: 490,
        udp_requests: 2_000,
        tcp_requests: 505,
        ..Fallback::default()
    };
    fallback.add_failed(FallbackFailure::UdpTimedOut, 3);
    fallback.add_failed(FallbackFailure::ConnectRefused, 8);
    fallback.add_failed(FallbackFailure::QueryTimedOut, 2);
    (0..490).for_each(|n| {
        fallback.udp.record(400_000 + n);
        fallback.waiting.record(20_000);
        fallback.connect.record(35_000);
        fallback.query.record(2_000_000);
    });
    interval.tally.fallback = Some(Box::new(fallback));
    digest.interval(&interval);
    digest.sum(&calm_sum(&digest));
    digest
}

/// Three quarters over UDP, a quarter over TCP, of which some are lost.
pub(crate) fn mixed() -> Digest {
    let member = |transport: &str, share| MemberInfo {
        transport: transport.into(),
        share,
        address: "192.0.2.1:53".parse().unwrap(),
    };
    let mix = vec![member("udp", 0.75), member("tcp", 0.25)];
    let mut digest = Digest::new(Header { transport: "mix".into(), mix, phases: Vec::new(), ..header() });
    let mut interval = second(0, 2_000, 0);
    for (scheduled, lost, service_ns) in [(1_499, 0, 400_000), (501, 10, 900_000)] {
        let mut member = MemberTally { scheduled, sent: scheduled, ..MemberTally::default() };
        member.ends.answered = scheduled - lost;
        member.ends.timed_out = lost;
        (0..scheduled - lost).for_each(|_| {
            member.service.record(service_ns);
            member.response.record(service_ns + 100_000);
        });
        interval.tally.members.push(member);
    }
    digest.interval(&interval);
    digest.sum(&calm_sum(&digest));
    digest
}

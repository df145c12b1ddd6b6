//! Sample runs for the tests, built with the calls that a writer makes.

use dnsdyno_measure::{
    Anomalies, Arrivals, ConnectFailure, ConnectionEnd, Connections, Encrypted, Evidence, Explanation,
    Fallback, FallbackFailure, HandshakeFailure, HandshakeKind, MemberTally, NotSentReason, StreamFailure,
    Tally, TypeCount, Warning,
};
use dnsdyno_plan::expect::Expectation;
use dnsdyno_record::{
    AgentInfo, BackendInfo, Check, ClockOffset, Digest, Ended, Event, Header, Headline, InterfaceCounts,
    Interval, Join, MemberInfo, Phase, Sum, TlsCheck, XdpInfo,
};

pub(crate) const SECOND: u64 = 1_000_000_000;

pub(crate) fn expectations(texts: &[&str]) -> Vec<Expectation> {
    texts.iter().map(|text| Expectation::parse(text).unwrap()).collect()
}

pub(crate) fn header() -> Header {
    let step = |n: u64, qps: &str| Phase {
        label: format!("{qps} q/s"),
        from_ns: n * 2 * SECOND,
        to_ns: (n + 1) * 2 * SECOND,
    };
    Header {
        run_id: "sample".into(),
        started_unix_ns: 1_760_000_000_000_000_000,
        command_line: vec!["dnsdyno".into(), "run".into()],
        version: "0.1.0".into(),
        timeout_ns: 5 * SECOND,
        headline: Headline::Response,
        types: vec![1, 28],
        phases: vec![step(0, "2,000"), step(1, "3,000"), step(2, "4,000")],
        target: "ns1.example".into(),
        address: "192.0.2.1:53".parse().unwrap(),
        workers: 2,
        clients: 8,
        queries: 10_000,
        bad_lines: 2,
        load: "stair from 2,000 to 4,000 queries/s, 1,000 a step, each for 2 s".into(),
        ..Header::default()
    }
}

/// A second at `qps`, of which `lost` queries time out; responses take 400 to 600 µs, a hundredth of them 40 ms.
pub(crate) fn second(index: u64, qps: u64, lost: u64) -> Interval {
    let mut tally = Tally::new(2);
    let answered = qps - lost;
    tally.scheduled = qps;
    tally.requests = qps;
    tally.ends.answered = answered;
    tally.ends.timed_out = lost;
    let (denied, other) = (50.min(answered / 2), 500.min(answered / 2));
    tally.rcodes.add(0, answered - denied);
    tally.rcodes.add(3, denied);
    let first = TypeCount { sent: qps - other, answered: answered - other };
    tally.types = vec![first, TypeCount { sent: other, answered: other }];
    (tally.bytes_sent, tally.query_bytes_max) = (qps * 40, 52);
    (tally.bytes_answered, tally.response_bytes_max) = (answered * 110, 1_232);
    for n in 0..answered {
        let service_ns = if n % 100 == 0 { 40_000_000 } else { 400_000 + n % 100 * 2_000 };
        tally.service.record(service_ns);
        tally.response.record(service_ns + 9_000);
    }
    (0..qps).for_each(|n| tally.lateness.record(5_000 + n % 100 * 100));
    let arrivals = Arrivals { sent: qps, answered, timed_out: lost, ..Arrivals::default() };
    let (from_ns, to_ns) = (index * SECOND, (index + 1) * SECOND);
    Interval {
        agents: Vec::new(),
        index,
        from_ns,
        to_ns,
        covered_ns: None,
        asked_qps: qps as f64,
        tally,
        arrivals,
        workers: Vec::new(),
        watched: Vec::new(),
    }
}

/// The sum of `digest`, with a generator that is ok.
pub(crate) fn calm_sum(digest: &Digest) -> Sum {
    Sum {
        to_ns: digest.to_ns(),
        tally: digest.tally().clone(),
        arrivals: digest.arrivals().clone(),
        evidence: Evidence { open_loop: true, sockets: 8, busiest_worker_cpu: 0.31, ..Evidence::default() },
        schedule_ns: digest.schedule_ns(),
        passes: digest.tally().scheduled as f64 / digest.header.queries as f64,
        ..Sum::default()
    }
}

/// A stair whose last step is too high for the server.
pub(crate) fn stair() -> Digest {
    let mut digest = killed();
    digest.sum(&calm_sum(&digest));
    digest
}

/// The same without its last line.
pub(crate) fn killed() -> Digest {
    let mut digest = Digest::new(header());
    let seconds = [(2_000, 0), (2_000, 0), (3_000, 0), (3_000, 2), (4_000, 90), (4_000, 100)];
    seconds
        .into_iter()
        .enumerate()
        .for_each(|(i, (qps, lost))| digest.interval(&second(i as u64, qps, lost)));
    digest
}

/// A run with problems on both sides.
pub(crate) fn doubtful() -> Digest {
    let mut digest = killed();
    digest.event(&Event {
        at_ns: 5 * SECOND,
        kind: "unreachable".into(),
        message: "the server began to refuse queries (ICMP port unreachable)".into(),
        figures: Default::default(),
    });
    let mut sum = calm_sum(&digest);
    sum.tally.ends.timed_out -= 42;
    sum.tally.ends.answered_late += 2;
    sum.tally.ends.refused += 20;
    sum.tally.ends.interrupted += 10;
    sum.tally.ends.not_sent.add(NotSentReason::GeneratorLate, 7);
    sum.tally.ends.not_sent.add(NotSentReason::NoRoute, 3);
    sum.tally.types[0].sent -= 10;
    sum.arrivals.anomalies = Anomalies { duplicates: 4, malformed: 1, truncated: 12, ..Anomalies::default() };
    sum.arrivals.socket_drops = 120;
    sum.warnings = vec![
        Warning::SendsMissing { not_sent: 10, scheduled: 18_000 },
        Warning::SocketDrops { packets: 120, timed_out: 152 },
    ];
    sum.ended = Ended::Interrupted;
    digest.sum(&sum);
    digest
}

/// A closed loop of four seconds, one row per second.
pub(crate) fn closed_loop() -> Digest {
    let load = "closed loop, 100 queries outstanding, for 4 s".to_owned();
    let header = Header {
        headline: Headline::Service,
        phases: Vec::new(),
        types: vec![1, 28],
        load,
        queries_hash: None,
        bad_lines: 0,
        ..header()
    };
    let mut digest = Digest::new(header);
    for (i, qps) in [9_000, 8_000, 9_000, 9_500].into_iter().enumerate() {
        let mut interval = second(i as u64, qps, 0);
        interval.asked_qps = 0.0;
        digest.interval(&interval);
    }
    digest.sum(&calm_sum(&digest));
    digest
}

/// A send-only run at 1,000 queries per second.
pub(crate) fn send_only() -> Digest {
    let load = "1,000 queries/s for 2 s, send only".to_owned();
    let mut digest = Digest::new(Header { send_only: true, phases: Vec::new(), load, ..header() });
    for i in 0..2 {
        let mut interval = second(i, 1_000, 0);
        let lateness = interval.tally.lateness.clone();
        interval.tally = Tally::new(2);
        interval.tally.scheduled = 1_000;
        interval.tally.requests = 1_000;
        interval.tally.ends.sent_only = 1_000;
        interval.tally.lateness = lateness;
        interval.tally.types[0].sent = 1_000;
        interval.arrivals = Arrivals { sent: 1_000, ..Arrivals::default() };
        digest.interval(&interval);
    }
    digest.sum(&calm_sum(&digest));
    digest
}

/// A server that never answered.
pub(crate) fn silent() -> Digest {
    let mut digest = Digest::new(Header {
        phases: Vec::new(),
        target: "::1".into(),
        address: "[::1]:53".parse().unwrap(),
        ..header()
    });
    let mut tally = Tally::new(2);
    tally.scheduled = 600;
    tally.ends.timed_out = 600;
    tally.types[0].sent = 600;
    digest.interval(&Interval { tally, ..second(0, 600, 0) });
    digest.sum(&calm_sum(&digest));
    digest
}

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

/// Steps of two seconds with these rates and losses a second.
pub(crate) fn at_rates(steps: &[(u64, u64)]) -> Digest {
    let phase = |(i, (qps, _)): (usize, &(u64, u64))| {
        let from_ns = i as u64 * 2 * SECOND;
        Phase { label: format!("{qps} q/s"), from_ns, to_ns: from_ns + 2 * SECOND }
    };
    let phases = steps.iter().enumerate().map(phase).collect();
    let mut digest = Digest::new(Header { phases, ..header() });
    let seconds = steps.iter().flat_map(|step| [step, step]);
    seconds.enumerate().for_each(|(i, (qps, lost))| digest.interval(&second(i as u64, *qps, *lost)));
    digest.sum(&calm_sum(&digest));
    digest
}

/// A step of eight seconds in which each response takes 10 ms, and one in which the server answers 5 % too little: each
/// second they take 50 ms longer.
pub(crate) fn growing_queue() -> Digest {
    let phase = |n: u64, qps: &str| Phase {
        label: format!("{qps} q/s"),
        from_ns: n * 8 * SECOND,
        to_ns: (n + 1) * 8 * SECOND,
    };
    let mut digest = Digest::new(Header { phases: vec![phase(0, "1,000"), phase(1, "2,000")], ..header() });
    for index in 0..16 {
        let (qps, response_ns) =
            if index < 8 { (1_000, 10_000_000) } else { (2_000, (index - 7) * 50_000_000) };
        digest.interval(&taking(second(index, qps, 0), response_ns));
    }
    digest.sum(&calm_sum(&digest));
    digest
}

/// The same second, with responses that take so long.
pub(crate) fn taking(mut second: Interval, response_ns: u64) -> Interval {
    let answered = second.tally.ends.answered;
    for latency in [&mut second.tally.response, &mut second.tally.service] {
        latency.clear();
        (0..answered).for_each(|_| latency.record(response_ns));
    }
    second
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

/// The ten queries of a closed loop, which are over in 2 µs.
pub(crate) fn ten_queries() -> Digest {
    let mut digest = Digest::new(Header { headline: Headline::Service, phases: Vec::new(), ..header() });
    let mut tally = Tally::new(2);
    (tally.scheduled, tally.requests, tally.ends.answered) = (10, 10, 10);
    tally.types[0] = TypeCount { sent: 10, answered: 10 };
    tally.rcodes.add(0, 10);
    (tally.bytes_sent, tally.query_bytes_max) = (300, 40);
    (tally.bytes_answered, tally.response_bytes_max) = (990, 99);
    (0..10).for_each(|n| {
        tally.service.record(100_000 + n);
        tally.response.record(100_000 + n);
    });
    digest.interval(&Interval { asked_qps: 0.0, tally, ..second(0, 100, 0) });
    let mut sum = calm_sum(&digest);
    (sum.schedule_ns, sum.to_ns, sum.ended) = (2_000, 220_000, Ended::ByCount);
    sum.evidence.busiest_worker_cpu = 0.0;
    digest.sum(&sum);
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
    let member = |transport, share| MemberInfo::new(transport, share, "192.0.2.1:53".parse().unwrap());
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

/// A run before which the server was asked over two transports.
pub(crate) fn checked() -> Digest {
    let tls = TlsCheck {
        version: "TLS 1.3".into(),
        issuer: "Example CA".into(),
        valid_until: "2027-01-31".into(),
        ..TlsCheck::default()
    };
    let found = Check {
        transport: "dot".into(),
        rcode: Some("NOERROR".into()),
        took_ns: 843_000,
        version: Some("BIND 9.18.28".into()),
        nsid: Some("ns1-ams".into()),
        tls: Some(tls),
        ..Check::default()
    };
    let silent =
        Check { transport: "udp".into(), problem: Some("connection refused".into()), ..Check::default() };
    let mut digest = over_tcp();
    digest.header.checks = vec![found, silent];
    digest
}

/// Sets the title of a terminal, clears it, turns the direction of text, and hides text.
pub(crate) const HOSTILE: &str = "x\u{1b}]0;owned\u{7}\u{1b}[2J\r\n\u{9b}31m\u{202e}\u{200b}\u{e0041}\u{7f}y";

/// Runs with such text wherever a record has text.
pub(crate) fn hostile() -> [Digest; 3] {
    let text = || HOSTILE.to_owned();
    let tls = TlsCheck {
        version: text(),
        cipher_suite: text(),
        alpn: Some(text()),
        subject: text(),
        issuer: text(),
        names: vec![text()],
        valid_until: text(),
    };
    let check = Check {
        transport: text(),
        query: text(),
        rcode: Some(text()),
        version: Some(text()),
        nsid: Some(text()),
        tls: Some(tls),
        ..Check::default()
    };
    let xdp = XdpInfo {
        interface: text(),
        queues: 1,
        mode: text(),
        zero_copy: false,
        injects: false,
        source: "192.0.2.1".parse().unwrap(),
        first_port: 1,
        last_port: 2,
        next_hop: text(),
        vlan: None,
        mtu: 1_500,
    };
    let event = Event { at_ns: 0, kind: text(), message: text(), figures: Default::default() };
    [doubtful(), over_doh(), mixed()].map(|mut digest| {
        let header = &mut digest.header;
        (header.target, header.transport, header.load, header.version) = (text(), text(), text(), text());
        (header.name, header.note, header.run_id) = (Some(text()), Some(text()), text());
        header.command_line = vec![text()];
        header.backend = BackendInfo { why: Some(text()), xdp: Some(xdp.clone()) };
        header.checks = vec![check.clone(), Check { problem: Some(text()), ..Check::default() }];
        header.mix.iter_mut().for_each(|member| (member.name, member.transport) = (text(), text()));
        let failed = Check { transport: text(), problem: Some(text()), ..Check::default() };
        header.checks.push(failed);
        header.phases.iter_mut().for_each(|phase| phase.label = text());
        digest.event(&event);
        let mut digest = with_labels(digest);
        let sum = digest.sum.as_mut().unwrap();
        sum.ended = Ended::Failed { why: text() };
        sum.explanations.iter_mut().for_each(|explanation| explanation.words = text());
        let interface = InterfaceCounts { name: text(), ..InterfaceCounts::default() };
        sum.interface = Some(interface);
        digest
    })
}

/// The same digest with the labels that its header has now.
fn with_labels(digest: Digest) -> Digest {
    let mut again = Digest::new(digest.header.clone());
    let seconds = digest.rows().len() as u64 * 2;
    (0..seconds).for_each(|i| again.interval(&second(i, 2_000, 1)));
    digest.events.iter().for_each(|event| again.event(event));
    digest.sum.iter().for_each(|sum| again.sum(sum));
    again
}

/// Three seconds at 3,000 queries a second, made by two agents; in these intervals the second one is missing.
pub(crate) fn agents(missing: &[u64]) -> Digest {
    let clock = |bound_ns| Some(ClockOffset { bound_ns, ..ClockOffset::default() });
    let agent = |name: &str, workers, first_worker, bound_ns| AgentInfo {
        name: name.into(),
        workers,
        first_worker,
        clock: clock(bound_ns),
        ..AgentInfo::default()
    };
    let agents = vec![agent("lg1", 2, 0, 20_000), agent("lg2", 1, 2, 30_000)];
    let own = [header(), header()];
    let mut digest = Digest::new(Header { phases: Vec::new(), agents, ..header() });
    let mut join = Join::new(&digest.header, &own);
    for index in 0..3 {
        join.interval(0, second(index, 2_000, if index == 2 { 20 } else { 0 }));
        if missing.contains(&index) {
            join.lost(1, "no message for 5 s");
        } else {
            join.found(1);
            join.interval(1, second(index, 1_000, 0));
        }
        join.take_next().iter().for_each(|interval| digest.interval(interval));
    }
    for (agent, late_ns) in [30_000, 230_000].into_iter().enumerate() {
        let calm = calm_sum(&digest);
        let evidence = Evidence { first_send_late_ns: Some(late_ns), ..calm.evidence.clone() };
        join.sum(agent, Sum { evidence, ..calm });
    }
    let sum = join.finish(None);
    let verdict = digest.judge(Some(&sum));
    digest.sum(&sum.judged(verdict));
    digest
}

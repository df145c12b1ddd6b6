//! A computed run that resembles a real one: adjacent figures differ, so that a swap of two figures is detected.

// Each test file uses a part of this.
#![allow(dead_code)]

use std::path::Path;

use dnsdyno_measure::{
    Anomalies, Arrivals, CachingClients, ConnectFailure, ConnectionEnd, Connections, Cookies, Encrypted,
    Evidence, Fallback, FallbackFailure, HandshakeFailure, HandshakeKind, LossBeside, MemberTally, Neighbour,
    NotSentReason, PerClient, ProcedureKind, QuotaUse, Samples, SendStamps, ServerUse, Side, StreamFailure,
    Tally, TestBed, Truncated, TruncatedQuestion, Tsig, TsigFailure, TypeCount, Warning, Watched,
    WatchedKind, merge_samples,
};
use dnsdyno_record::{
    Event, Header, Headline, HostInfo, InterfaceCounts, Interval, MemberInfo, Phase, RunWriter, Sum,
    WorkerUse,
};

pub(crate) const SECOND: u64 = 1_000_000_000;

pub(crate) fn header(headline: Headline, phases: u64) -> Header {
    let phase = |n| Phase {
        label: format!("{} q/s", (n + 1) * 1000),
        from_ns: n * 2 * SECOND,
        to_ns: (n + 1) * 2 * SECOND,
    };
    Header {
        run_id: "0199f0c4-test".into(),
        started_unix_ns: 1_760_000_000_123_456_789,
        command_line: ["dnsdyno", "run", "-s", "::1", "--note", "a \"quoted\"\nnote"]
            .map(str::to_owned)
            .into(),
        version: "0.1.0".into(),
        name: Some("first".into()),
        timeout_ns: 5 * SECOND,
        headline,
        types: vec![1, 28, 65280],
        phases: (0..phases).map(phase).collect(),
        target: "localhost".into(),
        address: "[::1]:5300".parse().unwrap(),
        mix: [("udp", 0.75), ("tcp", 0.25)]
            .map(|(transport, share)| MemberInfo::new(transport, share, "[::1]:5300".parse().unwrap()))
            .into(),
        workers: 2,
        workers_reason: Some("enough for 1k qps".into()),
        udp_sockets: Some(2),
        client_kinds: vec!["MME".into(), "SGSN".into()],
        clients: 8,
        queries: 1_000,
        bad_lines: 2,
        load: "stair from 1,000 to 5,000 queries/s".into(),
        watched: watched(),
        ..Header::default()
    }
}

/// A host of which everything is known, and a server of which nothing is.
fn watched() -> Vec<Watched> {
    let one = |kind, side, label: &str| Watched {
        kind,
        side,
        label: label.into(),
        software: None,
        version: None,
        settings: [].into(),
        unset: Vec::new(),
        missing: Vec::new(),
    };
    let host = Watched {
        software: Some("linux".into()),
        version: Some("6.1".into()),
        settings: [("net.core.rmem_max".to_owned(), "212992".to_owned())].into(),
        unset: Vec::new(),
        missing: vec!["the qdisc statistics need CAP_NET_ADMIN".into()],
        ..one(WatchedKind::Host, Side::Both, "this host")
    };
    vec![host, one(WatchedKind::Server, Side::Server, "BIND at 127.0.0.1:8053")]
}

/// What was read in an interval: the server in every second one only.
fn samples(index: u64) -> Vec<Option<Samples>> {
    let host = Samples {
        counters: [("snmp.Udp.RcvbufErrors".to_owned(), 40 + index)].into(),
        gauges: [("sockstat.TCP.inuse".to_owned(), 9 + index % 3)].into(),
    };
    let server = Samples { counters: [("queries.udp".to_owned(), 900 + index)].into(), ..Samples::default() };
    vec![Some(host), index.is_multiple_of(2).then_some(server)]
}

/// Transactions with a fallback; each reason occurs.
fn fallback(index: u64) -> Fallback {
    let mut fallback = Fallback { answered: 20 + index, udp_requests: 500 + index, ..Fallback::default() };
    for (n, why) in FallbackFailure::ALL.into_iter().enumerate() {
        fallback.add_failed(why, n as u64 + index);
    }
    fallback.started = fallback.answered + fallback.failed_in(dnsdyno_measure::Half::Tcp);
    (fallback.tcp_requests, fallback.tcp_retried) = (fallback.started + 3, 3);
    for (n, part) in [&mut fallback.udp, &mut fallback.waiting, &mut fallback.connect, &mut fallback.query]
        .into_iter()
        .enumerate()
    {
        (0..20 + index).for_each(|i| part.record((n as u64 + 1) * 70_001 + i * 1_003));
    }
    fallback
}

fn member(n: u64) -> MemberTally {
    let mut member = MemberTally { scheduled: 30 + n, sent: 29 + n, ..MemberTally::default() };
    member.ends.answered = 28 + n;
    member.ends.timed_out = 1;
    member.ends.not_sent.add(NotSentReason::NoFreeConnection, 1);
    (0..28 + n).for_each(|i| {
        member.response.record(90_000 + i * 1_009);
        member.service.record(80_000 + i * 1_009);
    });
    member
}

pub(crate) fn interval(index: u64) -> Interval {
    let mut tally = Tally::new(3);
    let answered = 900 + index;
    tally.ends.answered = answered;
    tally.ends.answered_late = 3;
    tally.ends.timed_out = 7 + index;
    tally.ends.refused = 2;
    tally.ends.not_sent.add(NotSentReason::GeneratorLate, 1);
    tally.ends.not_sent.add(NotSentReason::NoRoute, index % 2);
    tally.scheduled = tally.ends.total();
    tally.requests = tally.scheduled - tally.ends.not_sent.total();
    tally.retried = index;
    tally.rcodes.add(0, answered - 10);
    tally.rcodes.add(3, 12);
    tally.rcodes.add(4000, 1);
    tally.types = vec![
        TypeCount { sent: tally.requests - 20, answered: answered - 10 },
        TypeCount { sent: 20, answered: 10 },
        TypeCount::default(),
    ];
    for n in 0..answered {
        tally.service.record(100_000 + n % 20 * 45_007 + index);
        tally.response.record(120_000 + n % 20 * 50_023 + index);
    }
    (0..tally.requests).for_each(|n| tally.lateness.record(1_000 + n % 7 * 3_001));
    tally.fallback = Some(Box::new(fallback(index)));
    tally.members = (0..2).map(|n| member(10 * index + n)).collect();
    tally.bytes_sent = tally.requests * 40;
    tally.bytes_answered = answered * 90;
    let arrivals = Arrivals {
        sent: tally.requests + 1,
        answered: answered - 1,
        wrong: 0,
        late: 2,
        timed_out: 6,
        refused: 2,
        not_sent: tally.ends.not_sent.total(),
        latency: tally.response.clone(),
        anomalies: Anomalies {
            duplicates: 5,
            unexpected: 4,
            wrong_question: 3,
            after_reuse: 6,
            malformed: 2,
            truncated: index,
        },
        socket_drops: index / 3,
        in_flight_max: 17 + index,
        cpu_ns: 300_000_000,
        cpu_wait_ns: 1_000_000,
        send_stamps: index.is_multiple_of(3).then(|| Box::new(send_stamps(index))),
        bed: (!index.is_multiple_of(5)).then(|| Box::new(bed(index))),
        connections: index.is_multiple_of(2).then(|| Box::new(connections(index))),
        tsig: Some(Box::new(tsig(index))),
        cookies: Some(Box::new(Cookies {
            with_server_cookie: 800 + index,
            bad_cookie: 3,
            ..Cookies::default()
        })),
        clients: Some(Box::new(clients(index))),
        client_kinds: vec![clients(index), clients(index + 1)],
    };
    let workers =
        [0, 1].map(|w| WorkerUse { cpu_ns: 150_000_000 + w, cpu_wait_ns: w, sent: 450, answered: 400 + w });
    Interval {
        agents: Vec::new(),
        index,
        from_ns: index * SECOND,
        to_ns: (index + 1) * SECOND,
        covered_ns: None,
        asked_qps: 1000.0 / 3.0 + index as f64 * 0.1,
        tally,
        arrivals,
        workers: workers.into(),
        watched: samples(index),
    }
}

/// A host of which everything is known in most intervals.
fn bed(index: u64) -> TestBed {
    let quota = |n: u64| {
        let throttled_periods = 1 + n;
        Some(Box::new(QuotaUse { periods: 10, throttled_periods, throttled_ns: 40_000_000 + index }))
    };
    let beside = |n: u64| LossBeside { time_ns: SECOND, lossy_ns: SECOND, lost: 2 + n };
    TestBed {
        steal_ns: 10_000_000 * index,
        quota: quota(0),
        server: index.is_multiple_of(2).then(|| {
            Box::new(ServerUse {
                cpu_ns: 500_000_001,
                wait_ns: 300_000_002,
                longest_wait_ns: 200_000_003 + index,
                full_buffers: 4,
                quota: quota(1),
            })
        }),
        lossy_ns: SECOND,
        stolen: beside(0),
        throttled: beside(1),
        server_starved: beside(2),
        server_throttled: beside(3),
    }
}

/// Stamps of sending with different figures.
fn send_stamps(index: u64) -> SendStamps {
    let mut stamps = SendStamps { missing: 3 + index, ..SendStamps::default() };
    (0..200).for_each(|n| stamps.delay.record(2_000 + n % 7 * 301 + index));
    stamps
}

/// Signatures with different figures.
fn tsig(index: u64) -> Tsig {
    let mut tsig = Tsig { verified: 890 + index, unsigned_errors: 2, ..Tsig::default() };
    TsigFailure::ALL.iter().zip(1..).for_each(|(why, n)| tsig.failed.add(*why, n));
    tsig.errors.add(17, 2 + index);
    tsig
}

/// Connections with different figures.
pub(crate) fn connections(index: u64) -> Connections {
    let mut connections = Connections {
        opened: 50 + index,
        established: 40,
        reused: 800 + index,
        open_max: 9 + index,
        ..Connections::default()
    };
    ConnectFailure::ALL.iter().zip(1..).for_each(|(why, n)| connections.add_failed(*why, n));
    ConnectionEnd::ALL.iter().zip(10..).for_each(|(end, n)| connections.add_ended(*end, n));
    (0..40).for_each(|n| connections.connect.record(30_000 + n % 3 * 1_009));
    (0..38).for_each(|n| connections.first_byte.record(90_000 + n % 3 * 1_013));
    (0..700).for_each(|n| connections.query.record(60_000 + n % 3 * 1_019));
    connections.encrypted = index.is_multiple_of(4).then(|| Box::new(encrypted(index)));
    connections
}

/// Handshakes and streams with different figures.
fn encrypted(index: u64) -> Encrypted {
    let mut encrypted = Encrypted { early_rejected: 5 + index, ..Encrypted::default() };
    for (kind, n) in HandshakeKind::ALL.iter().zip(1..) {
        (0..n).for_each(|_| encrypted.add_handshake(*kind, 1_000_000 * n));
    }
    HandshakeFailure::ALL.iter().zip(20..).for_each(|(why, n)| encrypted.add_failed(*why, n));
    StreamFailure::ALL.iter().zip(30..).for_each(|(why, n)| encrypted.add_stream(*why, n));
    [(200, 700), (404, 2 + index), (500, 1)]
        .iter()
        .for_each(|(status, n)| encrypted.statuses.add(*status, *n));
    encrypted
}

pub(crate) fn event(at_ns: u64) -> Event {
    Event {
        at_ns,
        kind: "unreachable".into(),
        message: "the server refused 2 queries (ICMP port unreachable)".into(),
        figures: [("queries".to_owned(), 2.into())].into_iter().collect(),
    }
}

/// The sum of `intervals`, with one more late response.
pub(crate) fn sum(intervals: &[Interval]) -> Sum {
    let mut tally = Tally::new(3);
    let mut arrivals = Arrivals::default();
    let mut workers = vec![WorkerUse::default(); 2];
    let mut watched = Vec::new();
    for interval in intervals {
        tally.merge(&interval.tally);
        arrivals.merge_in_time(&interval.arrivals);
        workers.iter_mut().zip(&interval.workers).for_each(|(sum, one)| sum.merge(one));
        merge_samples(&mut watched, &interval.watched);
    }
    // A series that has not moved is in the sum only.
    for host in watched.iter_mut().take(1).flatten() {
        host.counters.insert("softnet.dropped".to_owned(), 0);
    }
    tally.ends.came_late_after_all(1);
    let to_ns = intervals.last().map_or(0, |last| last.to_ns);
    Sum {
        to_ns: to_ns + 250_000_000,
        tally,
        arrivals,
        warnings: vec![
            Warning::SocketDrops { packets: 3, timed_out: 70 },
            Warning::CpuSaturated { share: 0.1 + 0.2 + 0.63 },
            Warning::ClientsBusy { waits: 8, clients: 4 },
            Warning::PortsExhausted { connects: 6, first_port: 1_024, last_port: 65_535 },
        ],
        notes: vec![Warning::ClockStepped { step_ns: -12_345_678 }],
        evidence: Evidence {
            open_loop: true,
            schedule_ns: to_ns,
            workers: 2,
            window: 3,
            timeout_ns: 4,
            scheduled_until_ns: to_ns,
            socket_drops: 3,
            fragments: 5,
            interface_packets: Some(7),
            interface_send_drops: 2,
            interface_receive_drops: 4,
            datagrams_only: true,
            lasted_ns: to_ns,
            id_waits: 0,
            connection_waits: 8,
            reader_waits: 3,
            reader_waited_ns: 40,
            connects_without_port: 6,
            first_local_port: 1_024,
            last_local_port: 65_535,
            sockets: 8,
            busiest_worker_cpu: 0.1 + 0.2 + 0.63,
            worst_worker_wait: 1.0 / 7.0,
            clock_step_ns: -12_345_678,
            first_send_late_ns: Some(9),
            partial_intervals: 1,
            neighbours: vec![Neighbour {
                pid: Some(4_711),
                name: "named".into(),
                is_server: true,
                cpu_share: 1.0 / 3.0,
            }],
        },
        late_after_settled: 1,
        workers,
        schedule_ns: to_ns,
        passes: 10.0 / 3.0,
        interface: Some(InterfaceCounts { name: "eth0".into(), sent: 7, ..InterfaceCounts::default() }),
        queries_per_client: PerClient::of([3, 3, 700]),
        truncated: Some(Truncated::of(
            [TruncatedQuestion { name: "a.example".into(), rtype: "NAPTR".into(), count: 7 }],
            2,
        )),
        watched,
        ..Sum::default()
    }
}

/// Writes a run of `count` intervals, with an event in the middle; returns its writer.
pub(crate) fn write_run(dir: &Path, header: &Header, count: u64) -> (RunWriter, Vec<Interval>, Sum) {
    let intervals: Vec<_> = (0..count).map(interval).collect();
    let sum = sum(&intervals);
    let mut writer = RunWriter::create(dir, header, "# plan\n", &HostInfo::default()).unwrap();
    for interval in &intervals {
        writer.interval(interval).unwrap();
        if interval.index == count / 2 {
            writer.event(&event(interval.to_ns)).unwrap();
        }
    }
    writer.finish(&sum).unwrap();
    (writer, intervals, sum)
}

fn clients(index: u64) -> CachingClients {
    let mut clients =
        CachingClients { hits: 70 + index, misses: 30, entries: 400 + index, ..Default::default() };
    clients.begun.add(ProcedureKind::Attach, 50 + index);
    clients.attach_time.record(2_000_000 + index);
    clients.evicted_at.add(3, index);
    clients
}

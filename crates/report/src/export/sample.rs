//! Records for the tests, written and read as those of real runs.

use std::fs;
use std::path::Path;

use dnsdyno_measure::{
    Arrivals, ConnectionEnd, Connections, Encrypted, Evidence, Fallback, FallbackFailure, HandshakeKind,
    MemberTally, Tally, TypeCount,
};
use dnsdyno_record::{
    Digest, Ended, Header, Headline, HostInfo, Interval, MemberInfo, Phase, RunWriter, Sum,
};
use tempfile::TempDir;

use crate::export::Run;

pub(crate) const SECOND: u64 = 1_000_000_000;

/// A run with the folder of its record.
pub(crate) struct Recorded {
    pub(crate) run: Run,
    _folder: TempDir,
}

/// An open loop over UDP.
pub(crate) fn header() -> Header {
    Header {
        run_id: "sample".into(),
        started_unix_ns: 1_760_000_000 * SECOND,
        command_line: vec!["dnsdyno".into(), "run".into()],
        version: "0.1.0".into(),
        timeout_ns: 5 * SECOND,
        headline: Headline::Response,
        types: vec![1, 28],
        target: "ns1.example".into(),
        address: "192.0.2.1:53".parse().unwrap(),
        clients: 8,
        queries: 10_000,
        load: "2,000 queries/s".into(),
        ..Header::default()
    }
}

/// The same with steps of a second.
pub(crate) fn with_steps(steps: u64) -> Header {
    let step = |n: u64| Phase { label: format!("step {n}"), from_ns: n * SECOND, to_ns: (n + 1) * SECOND };
    Header { phases: (0..steps).map(step).collect(), ..header() }
}

/// A second at `qps`, of which `lost` queries time out; responses take 409 to 607 µs, a hundredth of them 40 ms.
pub(crate) fn second(index: u64, qps: u64, lost: u64) -> Interval {
    let mut tally = Tally::new(2);
    let answered = qps - lost;
    (tally.scheduled, tally.requests) = (qps, qps);
    (tally.ends.answered, tally.ends.timed_out) = (answered, lost);
    let (denied, other) = (50.min(answered / 2), 500.min(answered / 2));
    tally.rcodes.add(0, answered - denied);
    tally.rcodes.add(3, denied);
    let first = TypeCount { sent: qps - other, answered: answered - other };
    tally.types = vec![first, TypeCount { sent: other, answered: other }];
    for n in 0..answered {
        let service_ns = if n % 100 == 0 { 40_000_000 } else { 400_000 + n % 100 * 2_000 };
        tally.service.record(service_ns);
        tally.response.record(service_ns + 9_000);
    }
    (0..qps).for_each(|n| tally.lateness.record(5_000 + n % 100 * 100));
    let mut arrivals = Arrivals { sent: qps, answered, timed_out: lost, ..Arrivals::default() };
    arrivals.latency = tally.response.clone();
    let (from_ns, to_ns) = (index * SECOND, (index + 1) * SECOND);
    Interval {
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

/// A record of these intervals that has ended.
pub(crate) fn recorded(header: &Header, intervals: &[Interval]) -> Recorded {
    planned("", header, intervals)
}

/// The same with this plan.
pub(crate) fn planned(plan: &str, header: &Header, intervals: &[Interval]) -> Recorded {
    let folder = tempfile::tempdir().unwrap();
    write_planned(folder.path(), plan, header, intervals);
    Recorded { run: Run::read(folder.path()).unwrap(), _folder: folder }
}

/// Writes such a record into a folder.
pub(crate) fn write(folder: &Path, header: &Header, intervals: &[Interval]) {
    write_planned(folder, "", header, intervals);
}

fn write_planned(folder: &Path, plan: &str, header: &Header, intervals: &[Interval]) {
    let mut writer = RunWriter::create(folder, header, plan, &HostInfo::default()).unwrap();
    let mut digest = Digest::new(header.clone());
    for interval in intervals {
        writer.interval(interval).unwrap();
        digest.interval(interval);
    }
    writer.finish(&sum(&digest)).unwrap();
}

/// A record without its last line.
pub(crate) fn cut_short(intervals: &[Interval]) -> Recorded {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), &header(), intervals);
    let file = folder.path().join(dnsdyno_record::RUN_FILE);
    let text = fs::read_to_string(&file).unwrap();
    let is_kept = |line: &&str| !line.contains("\"stats_sum\"");
    fs::write(&file, text.split_inclusive('\n').filter(is_kept).collect::<String>()).unwrap();
    Recorded { run: Run::read(folder.path()).unwrap(), _folder: folder }
}

fn sum(digest: &Digest) -> Sum {
    Sum {
        to_ns: digest.to_ns(),
        tally: digest.tally().clone(),
        arrivals: digest.arrivals().clone(),
        warnings: Vec::new(),
        notes: Vec::new(),
        ended: Ended::ByTime,
        evidence: Evidence { open_loop: true, sockets: 8, ..Evidence::default() },
        late_after_settled: 0,
        last_answer_ns: None,
        workers: Vec::new(),
        schedule_ns: digest.schedule_ns(),
        queries_per_client: Default::default(),
        passes: 1.0,
        interface: None,
        explanations: Vec::new(),
        replay: None,
        answers: None,
        watched: Vec::new(),
    }
}

/// A record of every kind, with its name.
pub(crate) fn runs() -> Vec<(&'static str, Recorded)> {
    let seconds = [second(0, 2_000, 0), second(1, 4_000, 100)];
    let closed = Header { headline: Headline::Service, ..header() };
    let in_closed_loop = |mut second: Interval| {
        second.asked_qps = 0.0;
        second
    };
    let send_only = Header { send_only: true, ..header() };
    let mix =
        Header { transport: "mix".into(), mix: vec![member("udp", 0.75), member("tcp", 0.25)], ..header() };
    let over = |transport: &str| Header { transport: transport.into(), ..header() };
    let hostile = Header {
        run_id: HOSTILE.into(),
        name: Some(HOSTILE.into()),
        note: Some(HOSTILE.into()),
        target: HOSTILE.into(),
        transport: HOSTILE.into(),
        load: HOSTILE.into(),
        version: HOSTILE.into(),
        phases: vec![Phase { label: HOSTILE.into(), from_ns: 0, to_ns: SECOND }],
        ..header()
    };
    vec![
        ("udp", recorded(&header(), &seconds)),
        ("steps", recorded(&with_steps(2), &seconds)),
        ("closed loop", recorded(&closed, &seconds.clone().map(in_closed_loop))),
        ("send only", recorded(&send_only, &[sent_only(0, 1_000)])),
        ("without answers", recorded(&header(), &[second(0, 100, 100)])),
        ("without queries", recorded(&header(), &[second(0, 0, 0)])),
        ("tcp", recorded(&over("tcp"), &[over_connections(0, false)])),
        ("doh", recorded(&over("doh"), &[over_connections(0, true), second(1, 100, 0)])),
        ("doq", recorded(&over("doq"), &[over_connections(0, true)])),
        ("fallback", recorded(&over("udp+tcp"), &[falling_back(0)])),
        ("mix", recorded(&mix, &[of_mix(0)])),
        ("cut short", cut_short(&seconds)),
        ("hostile", recorded(&hostile, &seconds)),
    ]
}

fn member(transport: &str, share: f64) -> MemberInfo {
    MemberInfo::new(transport, share, "192.0.2.1:53".parse().unwrap())
}

fn sent_only(index: u64, qps: u64) -> Interval {
    let mut interval = second(index, qps, 0);
    let lateness = interval.tally.lateness.clone();
    interval.tally = Tally::new(2);
    (interval.tally.scheduled, interval.tally.requests) = (qps, qps);
    interval.tally.ends.sent_only = qps;
    interval.tally.types[0].sent = qps;
    interval.tally.lateness = lateness;
    interval.arrivals = Arrivals { sent: qps, ..Arrivals::default() };
    interval
}

fn over_connections(index: u64, is_encrypted: bool) -> Interval {
    let mut interval = second(index, 2_000, 0);
    let mut connections = Connections { opened: 43, established: 43, open_max: 10, ..Connections::default() };
    connections.add_ended(ConnectionEnd::ByUs, 43);
    (0..43).for_each(|n| connections.connect.record(35_000 + n * 300));
    if is_encrypted {
        let mut encrypted = Encrypted { early_rejected: 2, ..Encrypted::default() };
        (0..13).for_each(|_| encrypted.add_handshake(HandshakeKind::Full, 3_000_000));
        (0..30).for_each(|_| encrypted.add_handshake(HandshakeKind::Resumed, 1_010_000));
        encrypted.statuses.add(200, 2_000);
        connections.encrypted = Some(Box::new(encrypted));
    }
    interval.arrivals.connections = Some(Box::new(connections));
    interval
}

fn falling_back(index: u64) -> Interval {
    let mut interval = second(index, 2_000, 0);
    let mut fallback = Fallback { started: 500, answered: 490, udp_requests: 2_000, ..Fallback::default() };
    fallback.tcp_requests = 500;
    fallback.add_failed(FallbackFailure::QueryTimedOut, 10);
    (0..490).for_each(|n| fallback.udp.record(400_000 + n));
    interval.tally.fallback = Some(Box::new(fallback));
    interval
}

fn of_mix(index: u64) -> Interval {
    let mut interval = second(index, 2_000, 10);
    for (scheduled, lost) in [(1_499, 0), (501, 10)] {
        let mut member = MemberTally { scheduled, sent: scheduled, ..MemberTally::default() };
        (member.ends.answered, member.ends.timed_out) = (scheduled - lost, lost);
        (0..scheduled - lost).for_each(|_| {
            member.service.record(400_000);
            member.response.record(500_000);
        });
        interval.tally.members.push(member);
    }
    interval
}

/// A formula of a spreadsheet, markup, and characters on which a terminal acts.
const HOSTILE: &str = "=1+1<script>|`*\u{1b}]0;owned\u{7}\u{1b}[2J\r\n\u{202e}]]>&amp;\u{200b}";

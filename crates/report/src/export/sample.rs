//! Records for the tests of exports, written and read as those of real runs.

use std::fs;
use std::path::Path;

use dnsdyno_measure::{
    Arrivals, ConnectionEnd, Connections, Encrypted, Evidence, Fallback, FallbackFailure, HandshakeKind,
    MemberTally, Tally,
};
use dnsdyno_record::{Digest, Header, Headline, HostInfo, Interval, MemberInfo, Phase, RunWriter, Sum};
use tempfile::TempDir;

use crate::export::Run;
use crate::sample;
pub(crate) use crate::sample::SECOND;

/// A run with the folder of its record.
pub(crate) struct Recorded {
    pub(crate) run: Run,
    _folder: TempDir,
}

/// An open loop over UDP, without steps.
pub(crate) fn header() -> Header {
    let Header { workers, .. } = Header::default();
    let load = "2,000 queries/s".to_owned();
    Header { phases: Vec::new(), workers, bad_lines: 0, load, ..sample::header() }
}

/// The same with steps of a second.
pub(crate) fn with_steps(steps: u64) -> Header {
    let step = |n: u64| Phase { label: format!("step {n}"), from_ns: n * SECOND, to_ns: (n + 1) * SECOND };
    Header { phases: (0..steps).map(step).collect(), ..header() }
}

/// As [`sample::second`], with the latencies by the instants of the responses.
pub(crate) fn second(index: u64, qps: u64, lost: u64) -> Interval {
    let mut second = sample::second(index, qps, lost);
    second.arrivals.latency = second.tally.response.clone();
    second
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
    let evidence = Evidence { open_loop: true, sockets: 8, ..Evidence::default() };
    Sum { evidence, passes: 1.0, ..sample::calm_sum(digest) }
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

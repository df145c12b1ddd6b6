//! Sample runs for the tests, fed by the calls of a runner.

use dnsdyno_measure::{Arrivals, Connections, MemberTally, Tally, Warning, WorkerUse};
use dnsdyno_record::{Header, Headline, Interval, MemberInfo, Phase};
use dnsdyno_runner::Live;

use crate::state::{Passed, State};

pub(crate) const SECOND: u64 = 1_000_000_000;

/// A stair of four steps of ten seconds.
pub(crate) fn header() -> Header {
    let step = |n: u64| Phase {
        label: format!("{},000 q/s", n + 2),
        from_ns: n * 10 * SECOND,
        to_ns: (n + 1) * 10 * SECOND,
    };
    Header {
        run_id: "sample".into(),
        started_unix_ns: 1_760_000_000_000_000_000,
        version: "0.1.0".into(),
        name: Some("nightly".into()),
        timeout_ns: 5 * SECOND,
        headline: Headline::Response,
        types: vec![1],
        phases: (0..4).map(step).collect(),
        target: "192.0.2.53:53".into(),
        address: "192.0.2.53:53".parse().unwrap(),
        workers: 2,
        clients: 8,
        queries: 10_000,
        load: "stair from 2,000 to 5,000 queries/s".into(),
        ..Header::default()
    }
}

/// What passes in an interval of `sent` queries, of which `lost` time out; responses take 512 µs, a hundredth 20 ms.
pub(crate) fn arrivals(sent: u64, lost: u64) -> Arrivals {
    let answered = sent - lost;
    let mut arrivals = Arrivals { sent, answered, timed_out: lost, in_flight_max: 12, ..Arrivals::default() };
    for n in 0..answered {
        arrivals.latency.record(if n % 100 == 99 && sent > 1_000 { 20_000_000 } else { 512_000 });
    }
    arrivals
}

/// The interval of this number; it asks for what is sent.
pub(crate) fn passed(index: u64, interval_ns: u64, sent: u64, lost: u64) -> Passed {
    let arrivals = arrivals(sent, lost);
    let asked_qps = sent as f64 * 1e9 / interval_ns as f64;
    let (to_ns, covered_ns) = ((index + 1) * interval_ns, interval_ns);
    Passed::of(&Live { index, to_ns, covered_ns, asked_qps, arrivals: &arrivals }, interval_ns)
}

/// The settled interval of the same.
pub(crate) fn settled(index: u64, sent: u64, lost: u64, members: usize) -> Interval {
    let mut tally = Tally::of_mix(1, members);
    tally.scheduled = sent;
    (tally.ends.answered, tally.ends.timed_out) = (sent - lost, lost);
    let denied = (sent - lost) / 20;
    tally.rcodes.add(0, sent - lost - denied);
    tally.rcodes.add(3, denied);
    (0..sent).for_each(|_| tally.lateness.record(42_000));
    for member in &mut tally.members {
        *member = MemberTally { scheduled: sent / 2, sent: sent / 2, ..MemberTally::default() };
        member.ends.answered = sent / 2;
        (0..sent / 2).for_each(|_| member.response.record(512_000));
    }
    let worker =
        |share: u64| WorkerUse { cpu_ns: share * SECOND / 100, sent: sent / 2, ..WorkerUse::default() };
    Interval {
        agents: Vec::new(),
        index,
        from_ns: index * SECOND,
        to_ns: (index + 1) * SECOND,
        covered_ns: None,
        asked_qps: sent as f64,
        tally,
        arrivals: arrivals(sent, lost),
        workers: vec![worker(31), worker(28)],
        watched: Vec::new(),
    }
}

/// A run of `seconds` seconds that this header describes, at 2,000 queries a second with some losses.
pub(crate) fn running(header: &Header, end_ns: Option<u64>, seconds: u64) -> State {
    let mut state = State::new(header, end_ns);
    for index in 0..seconds {
        let lost = if index % 7 == 3 { 40 } else { 0 };
        let mut arrivals = arrivals(2_000, lost);
        if matches!(&*header.transport, "tcp" | "dot") {
            let connections =
                Connections { established: 3, opened: 3, open_max: 10, ..Connections::default() };
            arrivals.connections = Some(Box::new(connections));
        }
        let asked_qps = if header.headline == Headline::Response { 2_000.0 } else { 0.0 };
        let (to_ns, covered_ns) = ((index + 1) * SECOND, SECOND);
        state.passed(&Live { index, to_ns, covered_ns, asked_qps, arrivals: &arrivals });
        state.settled(&settled(index, 2_000, lost, header.mix.len()));
    }
    state
}

/// Text that a terminal would act on, and wide characters.
pub(crate) const HOSTILE: &str =
    "x\u{1b}]0;owned\u{7}\u{1b}[2J\r\n\u{9b}31m\u{202e}\u{200b}日本語のゾーン\u{7f}y";

/// Runs of all kinds, with a name for each.
pub(crate) fn runs() -> Vec<(&'static str, State)> {
    let open = || Header { phases: Vec::new(), load: "2,000 queries/s for 20 s".into(), ..header() };
    let closed = Header { headline: Headline::Service, load: "100 outstanding".into(), ..open() };
    let member = |transport| MemberInfo::new(transport, 0.5, "192.0.2.53:53".parse().unwrap());
    let mix = Header { transport: "mix".into(), mix: ["udp", "dot"].map(member).to_vec(), ..open() };
    let text = || HOSTILE.repeat(5);
    let hostile = Header {
        name: Some(text()),
        target: text(),
        transport: text(),
        load: text(),
        mix: vec![member(&text())],
        phases: vec![Phase { label: text(), from_ns: 0, to_ns: 5 * SECOND }; 2],
        ..header()
    };
    let mut hostile = running(&hostile, None, 9);
    hostile.note(HOSTILE);
    hostile.stopping(dnsdyno_text::safe(HOSTILE));
    hostile.judged(vec![Warning::SocketDrops { packets: 3, timed_out: 12 }]);
    vec![
        ("stair", running(&header(), Some(40 * SECOND), 23)),
        ("open", running(&open(), Some(20 * SECOND), 12)),
        ("closed", running(&closed, None, 100)),
        ("mix", running(&mix, Some(300 * SECOND), 200)),
        ("tcp", running(&Header { transport: "tcp".into(), ..open() }, Some(20 * SECOND), 25)),
        ("send-only", running(&Header { send_only: true, ..open() }, Some(20 * SECOND), 12)),
        ("empty", State::new(&open(), Some(20 * SECOND))),
        ("hostile", hostile),
    ]
}

/// A source with this label.
pub(crate) fn watched(label: &str) -> dnsdyno_measure::Watched {
    dnsdyno_measure::Watched {
        kind: dnsdyno_measure::WatchedKind::Process,
        side: dnsdyno_measure::Side::Server,
        label: label.into(),
        software: None,
        version: None,
        settings: [].into(),
        unset: Vec::new(),
        missing: Vec::new(),
    }
}

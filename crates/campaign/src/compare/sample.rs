//! Synthetic runs for the tests, built with the calls that a writer makes.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use dnsdyno_measure::{Arrivals, Samples, Side, Tally, TypeCount, Watched, WatchedKind, WorkerUse};
use dnsdyno_plan::Draft;
use dnsdyno_record::{Digest, Ended, Header, Headline, HostInfo, Interval, Phase, RunWriter, Sum};

use super::ComparedRun;

pub(crate) const SECOND: u64 = 1_000_000_000;

/// What a synthetic run does.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SyntheticRun {
    /// Latencies are those of the sample times this.
    pub(crate) slower: f64,
    /// Queries without a response, of each second.
    pub(crate) lost: u64,
    /// Queries each second.
    pub(crate) rate: u64,
    /// When it was started.
    pub(crate) started_s: u64,
    pub(crate) headline: Headline,
    /// How long before the end of its last interval the schedule ends.
    pub(crate) ends_before_ns: u64,
}

pub(crate) const MADE: SyntheticRun = SyntheticRun {
    slower: 1.0,
    lost: 0,
    rate: 1_000,
    started_s: 0,
    headline: Headline::Response,
    ends_before_ns: 0,
};

/// A run of two seconds. Two runs of one label and start are the same run.
pub(crate) fn run(label: &str, made: SyntheticRun) -> ComparedRun {
    run_of(label, made, header(label, made))
}

/// The same with a header of its own.
pub(crate) fn run_of(label: &str, made: SyntheticRun, header: Header) -> ComparedRun {
    let mut digest = Digest::new(header);
    (0..2).for_each(|index| digest.interval(&second(index, made)));
    let sum = Sum {
        to_ns: digest.to_ns(),
        tally: digest.tally().clone(),
        schedule_ns: digest.schedule_ns() - made.ends_before_ns,
        passes: 1.0,
        ..Sum::default()
    };
    digest.sum(&sum);
    let path = format!("runs/{label}");
    ComparedRun { label: path.clone(), path: path.into(), digest, plan: Some(Draft::default()) }
}

/// The record of such a run in a folder, with a header of its own.
pub(super) fn write(folder: &Path, change: &dyn Fn(&mut Header)) -> PathBuf {
    write_ended(folder, Ended::ByTime, change)
}

/// The same of a run that ended so.
pub(super) fn write_ended(folder: &Path, ended: Ended, change: &dyn Fn(&mut Header)) -> PathBuf {
    let mut header = header(&folder.display().to_string(), MADE);
    change(&mut header);
    let run = run_of("written", MADE, header.clone());
    let mut writer = RunWriter::create(folder, &header, "", &HostInfo::default()).unwrap();
    (0..2).for_each(|index| writer.interval(&second(index, MADE)).unwrap());
    writer.finish(&Sum { ended, ..run.digest.sum.unwrap() }).unwrap();
    folder.to_owned()
}

pub(crate) fn header(label: &str, made: SyntheticRun) -> Header {
    Header {
        run_id: label.into(),
        started_unix_ns: made.started_s * SECOND,
        version: "0.1.0".into(),
        timeout_ns: 5 * SECOND,
        headline: made.headline,
        types: vec![1],
        target: "::1".into(),
        address: "[::1]:53".parse().unwrap(),
        queries: 100,
        queries_hash: Some("0123456789abcdef".into()),
        load: "1,000 queries/s for 2 s".into(),
        ..Header::default()
    }
}

/// Two steps of a second.
pub(crate) fn steps() -> Vec<Phase> {
    let step = |n: u64| Phase { label: format!("step {n}"), from_ns: n * SECOND, to_ns: (n + 1) * SECOND };
    (0..2).map(step).collect()
}

pub(crate) fn second(index: u64, made: SyntheticRun) -> Interval {
    let mut tally = Tally::new(1);
    let answered = made.rate - made.lost;
    tally.scheduled = made.rate;
    tally.ends.answered = answered;
    tally.ends.timed_out = made.lost;
    tally.rcodes.add(0, answered);
    tally.types = vec![TypeCount { sent: made.rate, answered }];
    for n in 0..answered {
        let latency_ns = (made.slower * (200_000.0 + n as f64 * 1_000.0)) as u64;
        tally.service.record(latency_ns);
        tally.response.record(latency_ns);
    }
    (0..made.rate).for_each(|_| tally.lateness.record(1_000));
    Interval {
        agents: Vec::new(),
        index,
        from_ns: index * SECOND,
        to_ns: (index + 1) * SECOND,
        covered_ns: None,
        asked_qps: if made.headline == Headline::Response { made.rate as f64 } else { 0.0 },
        tally,
        arrivals: Arrivals::default(),
        workers: vec![WorkerUse::default()],
        watched: Vec::new(),
    }
}

/// A source that a run watches.
pub(crate) fn source(kind: WatchedKind, side: Side, software: &str) -> Watched {
    Watched {
        kind,
        side,
        label: software.to_owned(),
        software: Some(software.to_owned()),
        version: None,
        settings: BTreeMap::new(),
        unset: Vec::new(),
        missing: Vec::new(),
    }
}

/// What was read of it.
pub(crate) fn samples(counters: &[(&str, u64)], gauges: &[(&str, u64)]) -> Option<Samples> {
    let map = |of: &[(&str, u64)]| of.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
    Some(Samples { counters: map(counters), gauges: map(gauges) })
}

//! Headers and intervals for the tests of this crate.

use dnsdyno_measure::{Arrivals, Tally};

use crate::{Header, Headline, Interval, Phase};

pub(crate) const SECOND: u64 = 1_000_000_000;

/// A header with `phases` steps of two seconds.
pub(crate) fn header(phases: u64) -> Header {
    let step =
        |n: u64| Phase { label: format!("step {n}"), from_ns: n * 2 * SECOND, to_ns: (n + 1) * 2 * SECOND };
    Header {
        run_id: "r".into(),
        version: "0".into(),
        timeout_ns: SECOND,
        headline: Headline::Response,
        types: vec![1],
        phases: (0..phases).map(step).collect(),
        target: "::1".into(),
        address: "[::1]:53".parse().unwrap(),
        queries: 1,
        load: "10 queries/s".into(),
        ..Header::default()
    }
}

/// A second in which `due` queries were due and `lost` of them timed out; the others took 1 ms.
pub(crate) fn interval(index: u64, due: u64, lost: u64) -> Interval {
    let mut tally = Tally::new(1);
    tally.scheduled = due;
    tally.ends.answered = due - lost;
    tally.ends.timed_out = lost;
    (0..due - lost).for_each(|_| tally.response.record(1_000_000));
    Interval {
        agents: Vec::new(),
        index,
        from_ns: index * SECOND,
        to_ns: (index + 1) * SECOND,
        covered_ns: None,
        asked_qps: due as f64,
        tally,
        arrivals: Arrivals::default(),
        workers: Vec::new(),
        watched: Vec::new(),
    }
}

//! The rates of intervals that the load covers in part, over the simulated link.

use dnsdyno_engine::{Control, Job, Live, Observer, Source, run};
use dnsdyno_plan::StopLimits;
use dnsdyno_plan::schedule::{Curve, Load, Piece};
use dnsdyno_queries::{Queries, QueriesBuilder};
use dnsdyno_record::{Interval, Row, Sum};
use dnsdyno_transport::sim::{SimConfig, SimTransport};
use dnsdyno_wire::QueryForm;

const MS: u64 = 1_000_000;

/// What was told of each interval: when it passed, and when it had settled.
#[derive(Default)]
struct Told<'a> {
    /// The time covered, and the rate asked for.
    passed: Vec<(u64, f64)>,
    settled: Vec<Interval>,
    stops: Option<(u64, &'a Control)>,
}

impl Observer for Told<'_> {
    fn passed(&mut self, live: &Live<'_>) {
        self.passed.push((live.covered_ns / MS, live.asked_qps));
        self.stops.filter(|(index, _)| *index == live.index).iter().for_each(|(_, control)| control.press());
    }

    fn settled(&mut self, interval: &Interval) {
        self.settled.push(interval.clone());
    }

    fn stopping(&mut self, _: u64) {}
}

impl Told<'_> {
    /// The time covered in ms, the rate asked for, and the rate answered, of the intervals with queries.
    fn rates(&self) -> Vec<(u64, f64, f64)> {
        let rows = self.settled.iter().map(Row::of).filter(|row| row.tally.scheduled > 0);
        rows.map(|row| {
            let answered_qps = row.tally.ends.answered as f64 * 1e9 / row.covered_ns as f64;
            (row.covered_ns / MS, row.asked_qps(), answered_qps)
        })
        .collect()
    }
}

/// A rate after a pause.
fn load(pause_ms: u64, rate_qps: f64, for_ms: u64) -> Load {
    let pause = (pause_ms > 0).then(|| Piece::flat(0.0, pause_ms * MS, "pause".to_owned()));
    let pieces = pause.into_iter().chain([Piece::flat(rate_qps, for_ms * MS, "load".to_owned())]);
    Load::Open { curve: Curve::new(pieces.collect()).unwrap(), window: None }
}

fn queries() -> Queries {
    let mut builder = QueriesBuilder::new(QueryForm::default(), 0);
    builder.push(b"\x04host\x07example\0", 1).unwrap();
    builder.finish()
}

/// Runs with intervals of 250 ms; is stopped when the interval of this number has passed.
fn told<'a>(
    load: &Load,
    end_ns: Option<u64>,
    workers: u64,
    stop_after: Option<u64>,
    control: &'a Control,
) -> (Sum, Told<'a>) {
    let queries = queries();
    let job = Job {
        source: Source::Whole(&queries),
        load,
        part: None,
        limit: None,
        end_ns,
        stop_limits: StopLimits::default(),
        timeout_ns: 2_000 * MS,
        interval_ns: 250 * MS,
        send_only: false,
        cpus: &[],
        own_files: false,
        start_unix_ns: 0,
        query_logs: None,
        known_answers: None,
        trace: None,
        strips_edns: false,
    };
    let links = (0..workers).map(|worker| SimTransport::new(SimConfig::default(), worker, 3)).collect();
    let mut told = Told { stops: stop_after.map(|index| (index, control)), ..Told::default() };
    let sum = run(&job, links, 0, &|| 0, control, &mut told);
    (sum, told)
}

#[test]
fn the_rates_of_the_last_interval_are_over_the_part_of_it_in_which_queries_were_due() {
    for workers in [1, 3] {
        let load = load(0, 4_000.0, 2_200);
        let control = Control::default();
        let (_, told) = told(&load, None, workers, None, &control);
        let mut expected = vec![(250, 4_000.0, 4_000.0); 8];
        expected.push((200, 4_000.0, 4_000.0));
        assert_eq!(told.rates(), expected, "{workers} workers");
        let passed: Vec<_> =
            expected.iter().map(|(covered_ms, asked_qps, _)| (*covered_ms, *asked_qps)).collect();
        assert_eq!(told.passed[..9], passed);
        assert!(told.passed[9..].iter().all(|passed| *passed == (0, 0.0)), "{:?}", told.passed);
    }
}

#[test]
fn the_rates_of_the_first_interval_are_over_the_part_of_it_after_a_pause() {
    let load = load(350, 4_000.0, 400);
    let control = Control::default();
    let (_, told) = told(&load, None, 2, None, &control);
    assert_eq!(told.rates(), [(150, 4_000.0, 4_000.0), (250, 4_000.0, 4_000.0)]);
    let passed = told.passed[..3].iter().map(|(covered_ms, asked_qps)| (*covered_ms, asked_qps.round()));
    assert_eq!(passed.collect::<Vec<_>>(), [(0, 0.0), (150, 4_000.0), (250, 4_000.0)]);
}

#[test]
fn the_rates_of_an_interval_in_which_the_user_stops_the_run_are_over_the_time_until_then() {
    let control = Control::default();
    let load = load(0, 4_000.0, 60_000);
    let (sum, told) = told(&load, None, 1, Some(3), &control);
    let (covered_ms, asked_qps, answered_qps) = *told.rates().last().unwrap();
    assert!(sum.tally.scheduled < 240_000 && covered_ms <= 250, "{covered_ms} ms");
    // Of the queries that were due before the stop, few were interrupted.
    assert_eq!(asked_qps, 4_000.0);
    let interrupted = (asked_qps - answered_qps) * covered_ms as f64 / 1_000.0;
    assert!((0.0..=25.0).contains(&interrupted), "{interrupted} of {covered_ms} ms");
}

#[test]
fn a_closed_loop_has_its_rates_over_the_time_in_which_it_sent() {
    let closed = Load::Closed { outstanding: 10 };
    let control = Control::default();
    let (_, told) = told(&closed, Some(2_200 * MS), 1, None, &control);
    let rates = told.rates();
    let (covered_ms, asked_qps, last_qps) = *rates.last().unwrap();
    assert_eq!((rates.len(), covered_ms, asked_qps), (9, 200, 0.0));
    let (_, _, before_qps) = rates[7];
    assert!((last_qps / before_qps - 1.0).abs() < 0.05, "{last_qps} after {before_qps}");
}

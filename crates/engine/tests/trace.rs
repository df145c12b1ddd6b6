//! The trace of a run over the simulated link, compared with the log of its queries.

mod common;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use common::Silence;
use dnsdyno_engine::{
    Control, How, Job, QueryEnd, QueryLog, Source, TraceJob, TraceLog, TraceSample, TraceStep, TracedQuery,
    run,
};
use dnsdyno_plan::StopLimits;
use dnsdyno_plan::schedule::{Constant, Load};
use dnsdyno_queries::{Queries, QueriesBuilder};
use dnsdyno_record::Sum;
use dnsdyno_transport::sim::{SimConfig, SimTransport};
use dnsdyno_wire::QueryForm;

const SECOND_NS: u64 = 1_000_000_000;

/// Ten names.
fn queries() -> Queries {
    let mut builder = QueriesBuilder::new(QueryForm::default(), 0);
    for i in 0..10u16 {
        let mut name = Vec::new();
        dnsdyno_wire::encode_name(format!("host{i}.example.").as_bytes(), &mut name).unwrap();
        builder.push(&name, 1).unwrap();
    }
    builder.finish()
}

type Steps = Arc<Mutex<Vec<TraceStep>>>;

struct Tracer(Steps);

impl TraceLog for Tracer {
    fn step(&mut self, step: TraceStep) {
        self.0.lock().unwrap().push(step);
    }

    fn lost(&mut self) {
        panic!("none is lost");
    }
}

/// By the instant at which each query was due: how it has ended, when it was sent and answered.
type Ends = Arc<Mutex<BTreeMap<u64, (How, u64, u64)>>>;

struct Logger(Ends);

impl QueryLog for Logger {
    fn ended(&mut self, end: &QueryEnd<'_>) {
        self.0.lock().unwrap().insert(end.due_ns, (end.how, end.sent_ns, end.at_ns));
    }
}

struct Traced {
    sum: Sum,
    queries: Vec<TracedQuery>,
    ends: BTreeMap<u64, (How, u64, u64)>,
}

/// A run of two workers.
fn traced(sample: TraceSample, load: &Load, config: SimConfig, send_only: bool) -> Traced {
    let (queries, steps, ends) = (queries(), Steps::default(), Ends::default());
    let trace_log = |_: u32| Box::new(Tracer(steps.clone())) as Box<dyn TraceLog>;
    let query_log = |_: u32| Box::new(Logger(ends.clone())) as Box<dyn QueryLog>;
    let job = Job {
        source: Source::Whole(&queries),
        load,
        part: None,
        limit: None,
        end_ns: load.window().map(|_| SECOND_NS),
        stop_limits: StopLimits::default(),
        timeout_ns: SECOND_NS,
        interval_ns: SECOND_NS,
        send_only,
        cpus: &[],
        own_files: false,
        start_unix_ns: 0,
        query_logs: (!send_only).then_some(&query_log),
        known_answers: None,
        trace: Some(TraceJob { sample, logs: &trace_log }),
        strips_edns: false,
    };
    let links = (0..2).map(|worker| SimTransport::new(config, worker, 3)).collect();
    let sum = run(&job, links, 0, &|| 0, &Control::default(), &mut Silence);
    let steps = std::mem::take(&mut *steps.lock().unwrap());
    let queries = steps.into_iter().map(|step| match step {
        TraceStep::Ended(query) => *query,
        other => panic!("the simulated link has no stamps and no connections: {other:?}"),
    });
    let queries = queries.collect();
    Traced { sum, queries, ends: std::mem::take(&mut *ends.lock().unwrap()) }
}

fn constant(rate_qps: f64, seconds: u64) -> Load {
    let curve = Constant { rate_qps, duration_ns: Some(seconds * SECOND_NS) }.curve().unwrap();
    Load::Open { curve, window: None }
}

#[test]
fn the_trace_has_the_instants_of_the_log_for_each_query_of_the_sample() {
    let sample = TraceSample { every: 10, seed: 7 };
    let config = SimConfig { loss: 0.05, refused: 0.05, ..SimConfig::default() };
    let Traced { sum, queries, ends } = traced(sample, &constant(3_000.0, 3), config, false);
    assert_eq!((sum.tally.scheduled, queries.len()), (9_000, 900));
    let mut hows = BTreeMap::new();
    for query in &queries {
        assert!(sample.takes(query.number));
        let (how, sent_ns, at_ns) = ends[&query.due_ns];
        let sent = query.sent.expect("it was sent");
        assert_eq!((query.how, sent.at_ns), (Some(how), sent_ns));
        assert_eq!(query.received_ns.unwrap_or(0), at_ns);
        assert!(query.due_ns <= sent.at_ns && sent.at_ns <= query.received_ns.unwrap_or(u64::MAX));
        assert!(query.received_ns.unwrap_or(sent.at_ns) <= query.ended_ns);
        assert_eq!(query.question[..5], *b"\x05host");
        *hows.entry(how.word()).or_insert(0) += 1;
    }
    assert!(["answered", "timed_out", "refused"].iter().all(|how| hows[how] > 10), "{hows:?}");
    // Not one question of the ten again and again, though each tenth query is traced.
    let questions: std::collections::BTreeSet<_> = queries.iter().map(|query| &query.question).collect();
    assert_eq!(questions.len(), 10);
}

#[test]
fn the_same_seed_traces_the_same_queries_of_any_load() {
    let numbers = |seed: u64, rate_qps: f64| -> Vec<u64> {
        let sample = TraceSample { every: 100, seed };
        let run = traced(sample, &constant(rate_qps, 2), SimConfig::default(), false);
        let mut numbers: Vec<u64> = run.queries.iter().map(|query| query.number).collect();
        numbers.sort_unstable();
        numbers
    };
    let slow = numbers(1, 1_000.0);
    assert_eq!(slow.len(), 20);
    assert_eq!(numbers(1, 2_000.0)[..20], slow);
    assert_ne!(numbers(2, 1_000.0), slow);
}

#[test]
fn a_closed_loop_and_a_flood_are_traced_too() {
    let sample = TraceSample { every: 1, seed: 0 };
    let closed = traced(sample, &Load::Closed { outstanding: 20 }, SimConfig::default(), false);
    assert!(closed.queries.len() > 1_000);
    assert_eq!(closed.queries.len() as u64, closed.sum.tally.scheduled);
    let flood = traced(sample, &constant(1_000.0, 1), SimConfig::default(), true);
    assert_eq!((flood.queries.len() as u64, flood.sum.tally.ends.sent_only), (1_000, 1_000));
    assert!(flood.queries.iter().all(|query| query.how.is_none() && query.sent.is_some()));
}

#[test]
fn each_query_is_traced_where_the_run_is_ended_at_once() {
    let (queries, steps) = (queries(), Steps::default());
    let trace_log = |_: u32| Box::new(Tracer(steps.clone())) as Box<dyn TraceLog>;
    let load = constant(1_000.0, 2);
    let control = Control::default();
    // Before the first query: those that are due are interrupted.
    control.press();
    control.press();
    let job = Job {
        source: Source::Whole(&queries),
        load: &load,
        part: None,
        limit: None,
        end_ns: None,
        stop_limits: StopLimits::default(),
        timeout_ns: SECOND_NS,
        interval_ns: SECOND_NS,
        send_only: false,
        cpus: &[],
        own_files: false,
        start_unix_ns: 0,
        query_logs: None,
        known_answers: None,
        trace: Some(TraceJob { sample: TraceSample { every: 1, seed: 1 }, logs: &trace_log }),
        strips_edns: false,
    };
    let links = vec![SimTransport::new(SimConfig::default(), 0, 1)];
    let sum = run(&job, links, 0, &|| 0, &control, &mut Silence);
    assert_eq!(steps.lock().unwrap().len() as u64, sum.tally.scheduled);
}

//! The steps of the worker's loop for each query, for `benches/micro.rs`, which measures their time, and
//! `tests/instructions.rs`, which counts their instructions.

mod echo;

use std::hint::black_box;

use dnsdyno_engine::{Control, Job, Live, Observer, Source, run};
use dnsdyno_measure::Histogram;
use dnsdyno_plan::schedule::{Constant, Load, Ramp};
use dnsdyno_queries::{Queries, QueriesBuilder};
use dnsdyno_record::Interval;
use dnsdyno_transport::Transport;
use dnsdyno_transport::sim::{SimConfig, SimTransport};
use dnsdyno_wire::{QueryForm, encode_name, patch_id, peek, same_question};

use echo::{Echo, Kind};

/// One step.
pub(crate) struct Operation {
    /// Its name.
    pub(crate) name: &'static str,
    /// Prepares the step, and executes it this many times.
    pub(crate) repeat: fn(u64),
}

/// All steps.
pub(crate) const OPERATIONS: &[Operation] = &[
    Operation { name: "patch", repeat: patch },
    Operation { name: "pair", repeat: pair },
    Operation { name: "record", repeat: record },
    Operation { name: "due_at", repeat: due_at },
    Operation { name: "next_due", repeat: next_due },
    Operation {
        name: "engine",
        repeat: |times| engine(times, SimTransport::new(SimConfig::default(), 0, 1)),
    },
    Operation { name: "tcp_kept", repeat: |times| engine(times, Echo::<true>::new(Kind::Tcp)) },
    Operation { name: "mix_of_one", repeat: |times| engine(times, Echo::<true>::new(Kind::MixOfOne)) },
    Operation { name: "xdp", repeat: |times| engine(times, Echo::<false>::new(Kind::Xdp)) },
];

/// Copies a query into the batch, and sets its ID.
fn patch(times: u64) {
    let queries = queries();
    let mut batch = Vec::with_capacity(BATCH * queries.message(0).len());
    for n in 0..times {
        if n.is_multiple_of(BATCH as u64) {
            batch.clear();
        }
        let start = batch.len();
        batch.extend_from_slice(queries.message(n as usize % queries.len()));
        patch_id(&mut batch[start..], n as u16);
        black_box(batch.as_slice());
    }
}

/// Parses a response, and compares its question with that of the query.
fn pair(times: u64) {
    let queries = queries();
    let mut response = queries.message(0).to_vec();
    response[2] |= 0x80;
    for _ in 0..times {
        let same = peek(black_box(&response))
            .is_ok_and(|parsed| same_question(parsed.question, queries.question(0)));
        assert!(black_box(same));
    }
}

/// Records a latency in the histogram.
fn record(times: u64) {
    let mut histogram = Histogram::new();
    for n in 0..times {
        histogram.record(black_box(20_000 + n % 1_000 * 977));
    }
    assert_eq!(black_box(&histogram).count(), times);
}

/// Computes when query n of a ramp is due, for any n.
fn due_at(times: u64) {
    let ramp = Ramp { from_qps: 0.0, to_qps: 1e6, over_ns: 1_000 * SECOND_NS, hold_ns: 0 };
    let Ok(curve) = ramp.curve() else { return };
    for n in 0..times {
        black_box(curve.due_at(black_box(n * 17)));
    }
}

/// The same for consecutive queries at a constant rate, as a worker schedules them.
fn next_due(times: u64) {
    let Ok(curve) = constant(times) else { return };
    let mut cursor = curve.cursor(0, 1);
    for _ in 0..times {
        black_box(cursor.next_due());
    }
}

/// The whole loop of one worker: schedules, sends, pairs, counts and settles. Includes the work of the link.
fn engine<T: Transport + Send>(times: u64, link: T) {
    let Ok(curve) = constant(times) else { return };
    let (queries, load) = (queries(), Load::Open { curve, window: None });
    let job = Job {
        source: Source::Whole(&queries),
        load: &load,
        part: None,
        limit: None,
        end_ns: None,
        timeout_ns: SECOND_NS,
        interval_ns: SECOND_NS,
        send_only: false,
        cpus: &[],
        own_files: false,
        start_unix_ns: 0,
        query_logs: None,
        known_answers: None,
        trace: None,
        stop_limits: Default::default(),
        strips_edns: false,
    };
    black_box(run(&job, vec![link], 0, &|| 0, &Control::default(), &mut NoObserver));
}

/// This many queries at a million per second.
fn constant(times: u64) -> Result<dnsdyno_plan::Curve, dnsdyno_plan::schedule::CurveError> {
    Constant { rate_qps: 1e6, duration_ns: Some(times * 1_000) }.curve()
}

/// The query of the test rig, of 33 bytes.
fn queries() -> Queries {
    let mut builder = QueriesBuilder::new(QueryForm::default(), 0);
    let mut name = Vec::new();
    if encode_name(b"ns.dyno.example.", &mut name).is_ok() {
        let _ = builder.push(&name, 1);
    }
    builder.finish()
}

/// Ignores all reports.
struct NoObserver;

impl Observer for NoObserver {
    fn passed(&mut self, _: &Live<'_>) {}
    fn settled(&mut self, _: &Interval) {}
    fn stopping(&mut self, _: u64) {}
}

const SECOND_NS: u64 = 1_000_000_000;

/// Queries in a batch.
const BATCH: usize = 64;

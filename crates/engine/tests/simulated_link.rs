//! The engine over the simulated link: every counter is compared with what the link did.

mod common;

use common::Intercepted;
use dnsdyno_engine::{Asked, Control, Job, Live, Observer, Reached, Source, StopCause, run};
use dnsdyno_measure::{Latency, NotSentReason, Quantile, Tally, verdict};
use dnsdyno_plan::StopLimits;
use dnsdyno_plan::schedule::{Constant, Load};
use dnsdyno_queries::{Queries, QueriesBuilder};
use dnsdyno_record::{Ended, Interval, Sum};
use dnsdyno_transport::sim::{SimConfig, SimTransport, SimTruth};
use dnsdyno_transport::{Sent, Stopped, Transport};
use dnsdyno_wire::QueryForm;

const SECOND_NS: u64 = 1_000_000_000;

/// A hundred names, with types A and AAAA in turn.
fn queries() -> Queries {
    let mut builder = QueriesBuilder::new(QueryForm::default(), 0);
    for i in 0..100u16 {
        let mut name = Vec::new();
        dnsdyno_wire::encode_name(format!("host{i}.example.").as_bytes(), &mut name).unwrap();
        builder.push(&name, if i % 2 == 0 { 1 } else { 28 }).unwrap();
    }
    builder.finish()
}

fn constant(rate_qps: f64, seconds: u64) -> Load {
    Load::Open {
        curve: Constant { rate_qps, duration_ns: Some(seconds * SECOND_NS) }.curve().unwrap(),
        window: None,
    }
}

fn job<'a>(queries: &'a Queries, load: &'a Load) -> Job<'a> {
    Job {
        source: Source::Whole(queries),
        load,
        part: None,
        limit: None,
        end_ns: None,
        stop_limits: StopLimits::default(),
        timeout_ns: 2 * SECOND_NS,
        interval_ns: SECOND_NS,
        send_only: false,
        cpus: &[],
        own_files: false,
        start_unix_ns: 0,
        query_logs: None,
        known_answers: None,
        trace: None,
        strips_edns: false,
    }
}

/// Records the reports of the engine, and requests to stop after the given intervals.
#[derive(Default)]
struct Notes<'a> {
    intervals: Vec<Interval>,
    lives: Vec<u64>,
    press_after: Vec<(u64, &'a Control)>,
    stopping: bool,
}

impl Observer for Notes<'_> {
    fn passed(&mut self, live: &Live<'_>) {
        self.lives.push(live.index);
        self.press_after.iter().filter(|(index, _)| *index == live.index).for_each(|(_, c)| c.press());
    }

    fn settled(&mut self, interval: &Interval) {
        assert_eq!(interval.index as usize, self.intervals.len(), "intervals settle in order");
        assert!(interval.tally.is_settled(), "interval {} was passed on too early", interval.index);
        self.intervals.push(interval.clone());
    }

    fn stopping(&mut self, _: u64) {
        self.stopping = true;
    }
}

/// Runs with this many workers of three channels each.
fn run_on(config: SimConfig, job: &Job<'_>, workers: u64) -> (Sum, Vec<Interval>, SimTruth) {
    let links: Vec<_> = (0..workers).map(|worker| SimTransport::new(config, worker, 3)).collect();
    let truths: Vec<_> = links.iter().map(SimTransport::truth).collect();
    let mut notes = Notes::default();
    let sum = run(job, links, 0, &|| 0, &Control::default(), &mut notes);
    let mut truth = SimTruth::default();
    for part in truths {
        let part = part.lock().unwrap();
        truth.taken += part.taken;
        truth.lost += part.lost;
        truth.duplicated += part.duplicated;
        truth.wrong_questions += part.wrong_questions;
        truth.refused += part.refused;
    }
    (sum, notes.intervals, truth)
}

fn percentile_s(latency: Latency<'_>, q: f64) -> f64 {
    match latency.quantile(q) {
        Some(Quantile::At(ns)) => ns as f64 * 1e-9,
        _ => f64::INFINITY,
    }
}

#[test]
fn the_queries_of_each_client_are_counted_without_retries() {
    let (queries, load) = (queries(), constant(1_000.0, 3));
    let (sum, _, truth) = run_on(SimConfig::default(), &job(&queries, &load), 2);
    // Six channels in turn, in batches of one; the two workers have half of the queries each.
    let of_clients: Vec<_> =
        sum.queries_per_client.iter().map(|one| (one.from_queries, one.clients)).collect();
    assert_eq!(of_clients, [(480, 6)], "500 queries each: the range from 480 to 511");
    assert_eq!((truth.taken, sum.tally.requests), (3_000, 3_000));
}

#[test]
fn the_response_times_without_late_sends_are_those_measured_less_the_delays_of_their_batches() {
    let queries = queries();
    let run_at = |rate_qps| {
        let load = constant(rate_qps, 1);
        run_on(SimConfig { loss: 0.01, ..SimConfig::default() }, &job(&queries, &load), 1).0.tally
    };
    // Each is sent when it is due.
    let even = run_at(3_000.0);
    assert_eq!(even.response_least, even.response);
    // In bursts: the first of a burst is late.
    let dense = run_at(200_000.0);
    let (least, response) = (dense.response_least.exact().unwrap(), dense.response.exact().unwrap());
    let delays = dense.own_delay.exact().unwrap();
    assert_eq!(dense.response_least.count(), dense.response.count());
    assert!(delays.sum_ns > 0 && least.sum_ns < response.sum_ns);
    assert!(response.sum_ns - least.sum_ns <= delays.sum_ns * 9 / 8 + 512 * u128::from(dense.scheduled));
}

#[test]
fn the_same_seed_gives_the_same_record_and_another_seed_another() {
    let (queries, load) = (queries(), constant(3_000.0, 4));
    let job = job(&queries, &load);
    let config = SimConfig { loss: 0.01, duplicates: 0.02, ..SimConfig::default() };
    let (first, second) = (run_on(config, &job, 2), run_on(config, &job, 2));
    assert_eq!(first.0, second.0);
    assert_eq!(first.1, second.1);
    let other = run_on(SimConfig { seed: 2, ..config }, &job, 2);
    assert_ne!(first.0.tally, other.0.tally);
}

#[test]
fn queries_are_sent_at_their_instant_or_in_bursts_at_high_rates() {
    let queries = queries();
    let lateness_max_ns = |rate_qps: f64| {
        let load = constant(rate_qps, 1);
        let (sum, _, _) = run_on(SimConfig::default(), &job(&queries, &load), 1);
        assert_eq!(sum.tally.ends.answered as f64, rate_qps);
        sum.tally.lateness.exact().map(|exact| exact.max_ns)
    };
    // The timer has no error: queries less than 25 us apart are sent every 25 us.
    assert_eq!(lateness_max_ns(30_000.0), Some(0));
    let dense = lateness_max_ns(200_000.0).unwrap();
    assert!((10_000..=25_000).contains(&dense), "{dense} ns late");
}

#[test]
fn each_counter_agrees_with_the_link_and_the_ends_add_up() {
    let (queries, load) = (queries(), constant(5_000.0, 5));
    let config = SimConfig {
        loss: 0.01,
        duplicates: 0.02,
        wrong_questions: 0.03,
        refused: 0.04,
        ..SimConfig::default()
    };
    for workers in [1, 2, 3] {
        let (sum, intervals, truth) = run_on(config, &job(&queries, &load), workers);
        let (ends, anomalies) = (sum.tally.ends, sum.arrivals.anomalies);
        assert_eq!((sum.tally.scheduled, truth.taken, ends.total()), (25_000, 25_000, 25_000));
        assert_eq!(ends.refused, truth.refused);
        assert_eq!(sum.arrivals.send_stamps, None, "no kernel is asked for stamps");
        // A duplicated response with a wrong question counts as two such responses, not as a duplicate.
        assert!(anomalies.wrong_question >= truth.wrong_questions);
        assert_eq!(anomalies.wrong_question - truth.wrong_questions + anomalies.duplicates, truth.duplicated);
        assert_eq!(ends.timed_out, truth.lost + truth.wrong_questions);
        assert_eq!(sum.tally.rcodes.of(0), ends.answered);
        assert_eq!(
            sum.tally.types.iter().map(|t| (t.sent, t.answered)).fold((0, 0), |a, b| (a.0 + b.0, a.1 + b.1)),
            (25_000, ends.answered)
        );
        let mut merged = Tally::new(2);
        intervals.iter().for_each(|interval| merged.merge(&interval.tally));
        assert_eq!((merged.scheduled, merged.ends), (sum.tally.scheduled, sum.tally.ends));
        assert_eq!(merged.response, sum.tally.response);
    }
}

#[test]
fn a_stall_is_in_the_response_time_of_an_open_loop_and_hidden_by_a_closed_one() {
    let queries = queries();
    let stall = SimConfig { stall_ns: Some((4 * SECOND_NS, 5 * SECOND_NS)), ..SimConfig::default() };

    let open = constant(5_000.0, 10);
    let (sum, ..) = run_on(stall, &job(&queries, &open), 2);
    let response = sum.tally.response_latency();
    let (p95, p99) = (percentile_s(response, 0.95), percentile_s(response, 0.99));
    assert!((0.475..0.525).contains(&p95) && (0.855..0.945).contains(&p99), "p95 {p95} s, p99 {p99} s");

    let closed = Load::Closed { outstanding: 10 };
    let job = Job { end_ns: Some(10 * SECOND_NS), ..job(&queries, &closed) };
    let (sum, ..) = run_on(stall, &job, 2);
    let p99 = percentile_s(sum.tally.service_latency(), 0.99);
    assert!(p99 < 0.001, "p99 {p99} s");
    assert_eq!(sum.ended, Ended::ByTime);
}

#[test]
fn responses_that_are_later_than_the_reuse_of_their_id_do_not_answer_wrongly() {
    // Three sockets have 196,608 IDs, which 400,000 queries a second use up in half a second: before the response, once
    // or three times.
    for (delay_ns, least) in [(600_000_000, 300_000), (1_600_000_000, 50_000)] {
        let (queries, load) = (queries(), constant(400_000.0, 2));
        let slow = SimConfig { delay_ns, jitter_ns: 0, ..SimConfig::default() };
        let job = Job { timeout_ns: SECOND_NS / 4, ..job(&queries, &load) };
        let (sum, _, truth) = run_on(slow, &job, 1);
        let (ends, anomalies) = (sum.tally.ends, sum.arrivals.anomalies);
        assert_eq!((truth.taken, ends.answered, ends.timed_out + ends.answered_late), (800_000, 0, 800_000));
        assert_eq!((anomalies.wrong_question, anomalies.unexpected, anomalies.duplicates), (0, 0, 0));
        // Those of the last IDs are late without a later query. The run ends before the last responses.
        let received = anomalies.after_reuse + sum.arrivals.late;
        assert!(
            anomalies.after_reuse > least && received < 800_000,
            "{anomalies:?}, late {}",
            sum.arrivals.late
        );
    }
}

#[test]
fn responses_after_the_timeout_are_late_and_not_unexpected() {
    let (queries, load) = (queries(), constant(1_000.0, 6));
    let slow = SimConfig { delay_ns: 2_500_000_000, jitter_ns: 0, ..SimConfig::default() };
    let (sum, intervals, _) = run_on(slow, &job(&queries, &load), 2);
    let ends = sum.tally.ends;
    assert_eq!((ends.answered, ends.total(), sum.arrivals.anomalies.unexpected), (0, 6_000, 0));
    // Not those due in the last half second: the run ends with the timeout of its last query.
    assert!((5_400..5_600).contains(&ends.answered_late), "{ends:?}");
    assert!(sum.late_after_settled > 0);
    assert_eq!(sum.tally.response_latency().quantile(0.001), Some(Quantile::BeyondTimeout));
    assert!(intervals.iter().all(|interval| interval.tally.is_settled()));
}

#[test]
fn a_count_and_a_window_are_kept_exactly() {
    let (queries, load) = (queries(), Load::Closed { outstanding: 7 });
    let job = Job { limit: Some((10_001, Ended::ByCount)), ..job(&queries, &load) };
    let (sum, ..) = run_on(SimConfig::default(), &job, 3);
    assert_eq!((sum.tally.scheduled, sum.tally.ends.answered), (10_001, 10_001));
    assert_eq!((sum.arrivals.in_flight_max, sum.ended), (7, Ended::ByCount));
}

fn windowed(rate_qps: f64, seconds: u64, window: u32) -> Load {
    let curve = Constant { rate_qps, duration_ns: Some(seconds * SECOND_NS) }.curve().unwrap();
    Load::Open { curve, window: Some(window) }
}

/// Runs with two workers.
fn run_in_window(config: SimConfig, load: &Load) -> Sum {
    let (queries, mut notes) = (queries(), Notes::default());
    let links = (0..2).map(|worker| SimTransport::new(config, worker, 3)).collect();
    let sum = run(&job(&queries, load), links, 0, &|| 0, &Control::default(), &mut notes);
    assert_eq!(sum.tally.ends.total(), sum.tally.scheduled);
    sum
}

#[test]
fn a_stall_is_in_the_response_time_of_a_rate_with_a_window_and_held_back_queries_are_counted() {
    let stall = SimConfig { stall_ns: Some((4 * SECOND_NS, 5 * SECOND_NS)), ..SimConfig::default() };
    let sum = run_in_window(stall, &windowed(5_000.0, 10, 100));
    assert_eq!(
        (sum.tally.scheduled, sum.tally.ends.answered, sum.arrivals.in_flight_max),
        (50_000, 50_000, 100)
    );
    let response = sum.tally.response_latency();
    let (p95, p99) = (percentile_s(response, 0.95), percentile_s(response, 0.99));
    assert!((0.475..0.525).contains(&p95) && (0.855..0.945).contains(&p99), "p95 {p95} s, p99 {p99} s");
    // Those due in the stall except the hundred that were sent, and those that waited behind them.
    let (held_back, mean_ns) = (sum.tally.held_back, sum.tally.held_back_ns / sum.tally.held_back);
    assert!((4_900..5_500).contains(&held_back), "{held_back}");
    assert!((430_000_000..520_000_000).contains(&mean_ns), "{mean_ns}");
    // The server and the window are the cause: this is not lateness of the generator.
    assert!(
        sum.tally.lateness.exact().unwrap().max_ns < 1_000_000 && sum.warnings.is_empty(),
        "{:?}",
        sum.warnings
    );

    let sum = run_in_window(SimConfig::default(), &windowed(5_000.0, 10, 100));
    assert_eq!((sum.tally.ends.answered, sum.tally.held_back), (50_000, 0));
}

#[test]
fn a_rate_with_a_window_ends_on_time_and_sends_little_to_a_dead_server() {
    let dead = SimConfig { loss: 1.0, ..SimConfig::default() };
    let sum = run_in_window(dead, &windowed(1_000.0, 10, 10));
    let ends = sum.tally.ends;
    // Ten at once, for two seconds each.
    assert!((50..=60).contains(&ends.timed_out), "{ends:?}");
    assert_eq!(ends.not_sent.of(NotSentReason::WindowFull), 10_000 - ends.timed_out);
    assert_eq!((sum.arrivals.in_flight_max, sum.ended, &sum.warnings[..]), (10, Ended::ByTime, &[][..]));
    assert!((9_940..=10_000).contains(&sum.tally.held_back), "{}", sum.tally.held_back);
    assert!(sum.to_ns < 14_100_000_000, "ended after {} ns", sum.to_ns);
}

#[test]
fn a_stopped_rate_with_a_window_interrupts_what_it_holds_back() {
    let (queries, load, control) = (queries(), windowed(1_000.0, 100, 10), Control::default());
    let mut notes = Notes { press_after: vec![(1, &control)], ..Notes::default() };
    let link = SimTransport::new(SimConfig { loss: 1.0, ..SimConfig::default() }, 0, 3);
    let sum = run(&job(&queries, &load), vec![link], 0, &|| 0, &control, &mut notes);
    let ends = sum.tally.ends;
    assert_eq!((ends.total(), sum.ended), (sum.tally.scheduled, Ended::Interrupted));
    assert!(notes.stopping && ends.interrupted > 0 && ends.timed_out >= 10, "{ends:?}");
}

#[test]
fn a_full_socket_delays_queries_and_loses_none() {
    let (queries, load) = (queries(), constant(100_000.0, 1));
    let narrow = SimConfig { capacity: 1, ..SimConfig::default() };
    let (sum, ..) = run_on(narrow, &job(&queries, &load), 1);
    // One query per 200 µs is 5,000 per second: the others are sent late, or after 2 s not at all.
    let ends = sum.tally.ends;
    assert_eq!((sum.tally.scheduled, ends.total()), (100_000, 100_000));
    assert!(ends.not_sent.of(dnsdyno_measure::NotSentReason::SendBufferFull) > 80_000, "{ends:?}");
    let warnings = verdict(&sum.tally, &sum.arrivals, &sum.evidence).doubts;
    let names: Vec<_> = warnings.iter().map(|warning| warning.name()).collect();
    assert_eq!(names, ["sends_behind", "sends_missing"]);
}

#[test]
fn queries_wait_for_ids_when_a_dead_server_holds_them_all() {
    let (queries, load) = (queries(), constant(200_000.0, 2));
    let dead = SimConfig { loss: 1.0, ..SimConfig::default() };
    let (sum, ..) = run_on(dead, &job(&queries, &load), 1);
    let ends = sum.tally.ends;
    assert_eq!((ends.total(), ends.answered), (400_000, 0));
    assert!(ends.timed_out >= 3 * 65_536, "{ends:?}");
    assert!(ends.not_sent.of(dnsdyno_measure::NotSentReason::NoFreeId) > 0, "{ends:?}");
    let verdict = verdict(&sum.tally, &sum.arrivals, &sum.evidence);
    assert!(verdict.notes.iter().any(|warning| warning.name() == "ids_exhausted"));
    assert!(verdict.doubts.iter().any(|warning| warning.name() == "sends_missing"));
}

#[test]
fn a_send_only_run_does_not_wait_and_counts_what_was_sent() {
    let (queries, load) = (queries(), constant(10_000.0, 2));
    let job = Job { send_only: true, ..job(&queries, &load) };
    let (sum, ..) = run_on(SimConfig { loss: 1.0, ..SimConfig::default() }, &job, 2);
    assert_eq!(
        (sum.tally.ends.sent_only, sum.tally.requests, sum.tally.ends.total()),
        (20_000, 20_000, 20_000)
    );
    assert!(sum.to_ns < 2 * SECOND_NS + SECOND_NS / 10, "it ended at {} ns", sum.to_ns);
}

#[test]
fn a_send_only_load_beyond_the_capacity_of_the_link_ends_with_its_schedule() {
    let (queries, load) = (queries(), constant(1_000.0, 1));
    let job = Job { send_only: true, timeout_ns: 60 * SECOND_NS, ..job(&queries, &load) };
    // The link accepts a hundred queries, and is then full.
    let (sum, ..) =
        run_on(SimConfig { capacity: 100, delay_ns: 90 * SECOND_NS, ..SimConfig::default() }, &job, 1);
    let ends = sum.tally.ends;
    assert_eq!((ends.sent_only, ends.not_sent.total(), ends.total()), (100, 900, 1_000));
    assert!(sum.to_ns < SECOND_NS + SECOND_NS / 10, "it ended at {} ns", sum.to_ns);
}

/// Runs 10 s at 1,000 qps over such a link, with this many requests to stop before the start, and one after each of the
/// given intervals.
fn interrupted(config: SimConfig, before: usize, after: &[u64]) -> Sum {
    let (queries, load) = (queries(), constant(1_000.0, 10));
    let control = Control::default();
    (0..before).for_each(|_| control.press());
    let press_after = after.iter().map(|index| (*index, &control)).collect();
    let mut notes = Notes { press_after, ..Notes::default() };
    let links = (0..2).map(|worker| SimTransport::new(config, worker, 1)).collect();
    run(&job(&queries, &load), links, 0, &|| 0, &control, &mut notes)
}

#[test]
fn a_run_that_is_stopped_at_its_start_schedules_what_is_due_or_nothing() {
    let dead = SimConfig { loss: 1.0, ..SimConfig::default() };
    let once = interrupted(dead, 1, &[]);
    assert_eq!((once.tally.scheduled, once.tally.ends.interrupted, once.ended), (1, 1, Ended::Interrupted));
    let twice = interrupted(dead, 2, &[]);
    assert_eq!((twice.tally.scheduled, twice.tally.ends.total(), twice.ended), (0, 0, Ended::Interrupted));
}

#[test]
fn the_counters_of_an_interrupted_run_add_up() {
    // Responses that wait to be read, responses after the timeout, no responses.
    let slow = SimConfig { delay_ns: 300_000_000, ..SimConfig::default() };
    let late = SimConfig { delay_ns: 2_100_000_000, ..SimConfig::default() };
    let dead = SimConfig { loss: 1.0, ..SimConfig::default() };
    for config in [slow, late, dead] {
        for after in [&[0, 1][..], &[0, 0], &[2, 3], &[1]] {
            let sum = interrupted(config, 0, after);
            assert_eq!(sum.tally.ends.total(), sum.tally.scheduled, "{:?}", sum.tally.ends);
            assert_eq!(sum.tally.requests, sum.arrivals.sent, "no interval went missing");
        }
    }
}

/// A link that takes no message from an instant on, for this reason; without one, it makes its worker panic.
fn cut(worker: u64, from_ns: u64, stopped: Option<Stopped>) -> Intercepted {
    let link = SimTransport::new(SimConfig::default(), worker, 3);
    Intercepted::new(link, move |link, channel, batch| {
        if link.now_ns() < from_ns {
            return link.send(channel, batch);
        }
        assert!(stopped.is_some(), "the link broke");
        Sent { accepted: 0, stopped }
    })
}

#[test]
fn a_window_over_a_failed_link_tries_at_a_bounded_rate() {
    let (queries, load) = (queries(), Load::Closed { outstanding: 10 });
    let job = Job { end_ns: Some(4 * SECOND_NS), ..job(&queries, &load) };
    let stopped = Some(Stopped::Failed(NotSentReason::NoRoute));
    let cut = cut(0, 2 * SECOND_NS, stopped);
    let sum = run(&job, vec![cut], 0, &|| 0, &Control::default(), &mut Notes::default());
    let not_sent = sum.tally.ends.not_sent.total();
    assert!((1_000..=2_100).contains(&not_sent), "{not_sent} were not sent in two seconds");
    assert!(sum.tally.ends.answered > 50_000);
    assert_eq!(sum.ended, Ended::ByTime);
    assert!(sum.to_ns < 5 * SECOND_NS, "ended after {} ns", sum.to_ns);
}

#[test]
fn a_worker_that_panics_ends_the_run_at_once_and_as_failed() {
    // The other worker would run for minutes.
    let (queries, load) = (queries(), constant(50_000.0, 3_600));
    let (control, mut notes) = (Control::default(), Notes::default());
    let links = vec![cut(0, SECOND_NS, None), cut(1, u64::MAX, None)];
    let sum = run(&job(&queries, &load), links, 0, &|| 0, &control, &mut notes);
    assert!(matches!(&sum.ended, Ended::Failed { why } if why.contains("the link broke")), "{:?}", sum.ended);
    assert!(sum.tally.scheduled < 50_000 * 3_600 / 20, "{}", sum.tally.scheduled);
    // It does not count as ended by the user.
    assert!(control.asked() == Asked::Nothing && !notes.stopping);
}

/// Runs one worker with these limits, and returns the sum and the control that it was stopped by.
fn run_to_limit(config: SimConfig, load: &Load, stop_limits: StopLimits, workers: u64) -> (Sum, Control) {
    let (queries, control) = (queries(), Control::default());
    let job = Job { stop_limits, ..job(&queries, load) };
    let links = (0..workers).map(|worker| SimTransport::new(config, worker, 3)).collect();
    let sum = run(&job, links, 0, &|| 0, &control, &mut Notes::default());
    (sum, control)
}

#[test]
fn a_run_stops_when_a_query_is_due_while_as_many_as_the_limit_are_outstanding() {
    // A second of delay at 1,000 queries per second: a thousand are outstanding unless the limit ends the run.
    let config = SimConfig { delay_ns: SECOND_NS, jitter_ns: 0, ..SimConfig::default() };
    let load = constant(1_000.0, 10);
    let limit = |queries| StopLimits { outstanding: Some(queries), behind: None };
    let (sum, control) = run_to_limit(config, &load, limit(500), 1);
    // Query 500 is due at 500 ms, while 500 are outstanding; it was due, and is interrupted.
    let reached = Reached { at_ns: SECOND_NS / 2, queries: 500 };
    assert_eq!((control.cause(), control.reached()), (Some(StopCause::Outstanding), Some(reached)));
    assert_eq!((sum.tally.requests, sum.tally.ends.answered), (500, 500), "the outstanding are waited for");
    assert_eq!((sum.tally.scheduled, sum.tally.ends.interrupted), (501, 1));
    assert_eq!((sum.arrivals.in_flight_max, sum.ended), (500, Ended::Interrupted));
    let (sum, control) = run_to_limit(config, &load, limit(1_100), 1);
    assert_eq!((control.cause(), sum.ended, sum.tally.ends.answered), (None, Ended::ByTime, 10_000));
}

#[test]
fn a_run_stops_when_it_is_behind_its_schedule_and_says_by_how_much() {
    let (queries, load, control) = (queries(), constant(1_000.0, 10), Control::default());
    let stop_limits = StopLimits { behind: Some(200), outstanding: None };
    let job = Job { stop_limits, ..job(&queries, &load) };
    // From 2 s on no socket takes a message. Query 2,000 is due at 2 s, so 200 are at 2.199 s.
    let stopped = Some(Stopped::Full);
    let cut = cut(0, 2 * SECOND_NS, stopped);
    let sum = run(&job, vec![cut], 0, &|| 0, &control, &mut Notes::default());
    let reached = control.reached().unwrap();
    assert_eq!((control.cause(), sum.tally.requests), (Some(StopCause::Behind), 2_000));
    assert_eq!(reached.queries, 200);
    assert!((2_199_000_000..2_200_000_000).contains(&reached.at_ns), "{} ns", reached.at_ns);
    let ends = &sum.tally.ends;
    assert_eq!((ends.answered, ends.interrupted, ends.not_sent.total()), (2_000, 200, 0));
    assert_eq!((sum.tally.scheduled, sum.ended), (2_200, Ended::Interrupted));
}

#[test]
fn a_run_that_keeps_to_its_schedule_does_not_end_at_a_limit() {
    let stop_limits = StopLimits { behind: Some(10), outstanding: Some(50_000) };
    let (sum, control) = run_to_limit(SimConfig::default(), &constant(20_000.0, 3), stop_limits, 2);
    assert_eq!((control.cause(), sum.ended, sum.tally.requests), (None, Ended::ByTime, 60_000));
}

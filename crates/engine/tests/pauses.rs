//! Clients whose connections fail again and again, over simulated clients whose time advances only while the worker
//! waits.

use std::collections::VecDeque;

use dnsdyno_engine::{Control, Job, Live, Observer, Source, run};
use dnsdyno_measure::{ConnectFailure, ConnectionEnd, NotSentReason};
use dnsdyno_plan::schedule::{Constant, Load};
use dnsdyno_queries::{Queries, QueriesBuilder};
use dnsdyno_record::{Interval, Sum};
use dnsdyno_transport::{Batch, ConnectionEvent, NextClient, Resources, Sent, Sink, Transport, Wake};
use dnsdyno_wire::QueryForm;

const SECOND_NS: u64 = 1_000_000_000;
const MS: u64 = 1_000_000;

/// Clients with a connection for each query. It is refused at once, or answered after a millisecond.
struct Clients {
    now_ns: u64,
    /// Those that are free, the next one first.
    free: VecDeque<usize>,
    clients: usize,
    /// So many, the last ones, are refused, until this instant.
    refused: usize,
    until_ns: u64,
    /// In the order of their times.
    responses: VecDeque<(u64, usize, Vec<u8>)>,
    reports: Vec<(usize, ConnectionEvent)>,
}

impl Clients {
    fn new(clients: usize, refused: usize, until_ns: u64) -> Self {
        let (responses, reports) = (VecDeque::new(), Vec::new());
        Clients { now_ns: 0, free: (0..clients).collect(), clients, refused, until_ns, responses, reports }
    }
}

impl Transport for Clients {
    const CONNECTS: bool = true;

    fn begin(&mut self, _: u64) {}

    fn channels(&self) -> usize {
        self.clients
    }

    fn now_ns(&self) -> u64 {
        self.now_ns
    }

    fn next_client(&mut self) -> Result<NextClient, NotSentReason> {
        let next = self.free.front().map(|channel| NextClient { channel: *channel, capacity: 1 });
        next.ok_or(NotSentReason::NoFreeConnection)
    }

    fn pass(&mut self, channel: usize) {
        assert_eq!(self.free.front(), Some(&channel));
        self.free.rotate_left(1);
    }

    fn send(&mut self, channel: usize, batch: &Batch) -> Sent {
        self.free.retain(|free| *free != channel);
        self.reports.push((channel, ConnectionEvent::Opened));
        if channel + self.refused >= self.clients && self.now_ns < self.until_ns {
            self.reports.push((channel, ConnectionEvent::Failed(ConnectFailure::Refused)));
        } else {
            self.reports.push((channel, ConnectionEvent::Established { opened_ns: self.now_ns }));
            let mut response = batch.iter().next().unwrap().to_vec();
            response[2] |= 0x80;
            self.responses.push_back((self.now_ns + MS, channel, response));
        }
        Sent { accepted: batch.len(), stopped: None }
    }

    fn receive(&mut self, sink: &mut impl Sink) {
        for (channel, event) in std::mem::take(&mut self.reports) {
            if matches!(event, ConnectionEvent::Failed(_)) {
                self.free.push_back(channel);
            }
            sink.connection(channel, self.now_ns, event);
        }
        while self.responses.front().is_some_and(|(at_ns, ..)| *at_ns <= self.now_ns) {
            let Some((at_ns, channel, response)) = self.responses.pop_front() else { return };
            sink.answer(channel, at_ns, 0, None, &response);
            self.free.push_back(channel);
            sink.connection(channel, at_ns, ConnectionEvent::Ended { end: ConnectionEnd::ByUs, answers: 1 });
        }
    }

    fn wait(&mut self, until_ns: u64, _: Wake) {
        let next_ns = self.responses.front().map_or(u64::MAX, |(at_ns, ..)| *at_ns);
        if self.reports.is_empty() {
            self.now_ns = self.now_ns.max(until_ns.min(next_ns));
        }
    }

    fn resources(&mut self) -> Resources {
        Resources::default()
    }
}

struct Nobody;

impl Observer for Nobody {
    fn passed(&mut self, _: &Live<'_>) {}
    fn settled(&mut self, _: &Interval) {}
    fn stopping(&mut self, _: u64) {}
}

fn queries() -> Queries {
    let mut builder = QueriesBuilder::new(QueryForm::default(), 0);
    builder.push(b"\x03www\x07example\x00", 1).unwrap();
    builder.finish()
}

/// Four seconds of this load over these clients.
fn run_over(clients: Clients, load: &Load) -> Sum {
    let job = Job {
        source: Source::Whole(&queries()),
        load,
        part: None,
        limit: None,
        end_ns: Some(4 * SECOND_NS),
        timeout_ns: 2 * SECOND_NS,
        interval_ns: SECOND_NS,
        send_only: false,
        stop_limits: Default::default(),
        strips_edns: false,
        cpus: &[],
        own_files: false,
        start_unix_ns: 0,
        query_logs: None,
        known_answers: None,
        trace: None,
    };
    let sum = run(&job, vec![clients], 0, &|| 0, &Control::default(), &mut Nobody);
    assert_eq!(sum.tally.ends.total(), sum.tally.scheduled);
    sum
}

/// 1,000 queries a second.
fn open() -> Load {
    let curve = Constant { rate_qps: 1_000.0, duration_ns: Some(4 * SECOND_NS) }.curve().unwrap();
    Load::Open { curve, window: None }
}

#[test]
fn clients_that_fail_slow_no_other_client() {
    let sum = run_over(Clients::new(6, 3, u64::MAX), &open());
    let (ends, connections) = (sum.tally.ends, sum.arrivals.connections.unwrap());
    let refused = connections.failed(ConnectFailure::Refused);
    assert_eq!((ends.refused, ends.answered), (refused, 4_000 - refused));
    // Each of the three: twice at once, and then after a quarter of the time that it has failed for.
    assert!((3 * 20..3 * 50).contains(&refused), "{refused}");
    assert_eq!(connections.pauses, refused - 3);
    assert!(sum.tally.response.exact().unwrap().max_ns < 3 * MS, "{:?}", sum.tally.response.exact());
}

#[test]
fn while_all_clients_pause_queries_of_an_open_loop_end_as_refused_without_a_request() {
    let sum = run_over(Clients::new(2, 2, u64::MAX), &open());
    assert_eq!((sum.tally.ends.refused, sum.tally.scheduled), (4_000, 4_000));
    assert!((2 * 20..2 * 50).contains(&sum.tally.requests), "{}", sum.tally.requests);
    assert_eq!(sum.tally.requests, sum.arrivals.connections.unwrap().opened);
}

#[test]
fn a_closed_loop_waits_while_all_clients_pause() {
    let sum = run_over(Clients::new(2, 2, u64::MAX), &Load::Closed { outstanding: 5 });
    assert!(sum.tally.scheduled < 2 * 50 + 5, "{}", sum.tally.scheduled);
    assert_eq!(sum.tally.ends.not_sent.total(), 0, "{:?}", sum.tally.ends);
}

#[test]
fn a_recovery_is_noticed_within_a_quarter_of_the_outage_and_ends_all_pauses() {
    let sum = run_over(Clients::new(3, 3, 2 * SECOND_NS), &open());
    let ends = sum.tally.ends;
    assert_eq!(ends.answered + ends.refused, 4_000, "{ends:?}");
    assert!((2_000..2_510).contains(&ends.refused), "{ends:?}");
}

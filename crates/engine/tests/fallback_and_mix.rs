//! Fallback transactions, and members of a mix, over simulated channels whose time advances only while the worker
//! waits.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use dnsdyno_engine::{Control, Job, Live, Observer, Source, run};
use dnsdyno_measure::{
    ConnectFailure, ConnectionEnd, Fallback, FallbackFailure, Half, NotSentReason, OwnPart, Quantile, Tally,
    Verdict, verdict,
};
use dnsdyno_plan::schedule::{Constant, Load};
use dnsdyno_queries::{Queries, QueriesBuilder};
use dnsdyno_record::{Interval, Sum};
use dnsdyno_transport::{
    Batch, ConnectionEvent, Expired, Group, NeverSent, NextClient, Resources, Sent, Sink, Transport, Wake,
};
use dnsdyno_wire::{HEADER_LEN, QueryForm};

const SECOND_NS: u64 = 1_000_000_000;
const MS: u64 = 1_000_000;

/// The behaviour of the simulated server.
#[derive(Clone, Copy)]
struct Behaviour {
    clients: usize,
    udp_ns: u64,
    /// One of this many queries over UDP gets no response; 0 = all get one.
    udp_lost_each: u64,
    /// One of this many responses over UDP is complete, the others are truncated.
    whole_each: u64,
    connect: StepResult,
    query: StepResult,
    /// A truncated response is received again after this time; 0 = it is not.
    duplicate_ns: u64,
    /// Whether a query without a response has never left its client.
    is_held_back: bool,
}

/// The result of a step over TCP.
#[derive(Clone, Copy, PartialEq)]
enum StepResult {
    /// Success after this time to twice this time.
    Success(u64),
    Refused,
    Closed,
    Never,
}

const NORMAL: Behaviour = Behaviour {
    clients: 1_000,
    udp_ns: 300_000,
    udp_lost_each: 0,
    whole_each: u64::MAX,
    connect: StepResult::Success(100_000),
    query: StepResult::Success(700_000),
    duplicate_ns: 0,
    is_held_back: false,
};

#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum EventKind {
    Packet(Vec<u8>),
    Refused,
    Established,
    Response(Vec<u8>),
    Closed,
}

#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Event {
    at_ns: u64,
    number: u64,
    channel: usize,
    /// Its connection.
    generation: u64,
    what: EventKind,
}

#[derive(Clone, Copy, Default)]
struct Client {
    is_busy: bool,
    generation: u64,
    opened_ns: u64,
    ready_ns: Option<u64>,
}

/// Channel 0 is UDP; the others are clients with one connection per query.
struct SimulatedChannels {
    behaviour: Behaviour,
    now_ns: u64,
    events: BinaryHeap<Reverse<Event>>,
    number: u64,
    clients: Vec<Client>,
    reports: Vec<(usize, ConnectionEvent)>,
    udp_queries: u64,
    /// Whether the clients are a second member, not the fallback of UDP.
    is_mix: bool,
    drawn: u64,
}

impl SimulatedChannels {
    fn new(behaviour: Behaviour, is_mix: bool) -> Self {
        SimulatedChannels {
            behaviour,
            now_ns: 0,
            events: BinaryHeap::new(),
            number: 0,
            clients: vec![Client::default(); behaviour.clients],
            reports: Vec::new(),
            udp_queries: 0,
            is_mix,
            drawn: 0,
        }
    }

    fn schedule(&mut self, at_ns: u64, channel: usize, what: EventKind) {
        self.number += 1;
        let generation = if channel == 0 { 0 } else { self.clients[channel - 1].generation };
        self.events.push(Reverse(Event { at_ns, number: self.number, channel, generation, what }));
    }

    /// Varies the time of a step in a repeatable way.
    fn spread(&self, ns: u64) -> u64 {
        ns + self.number * 7_919 % ns.max(1)
    }

    fn take_udp(&mut self, message: &[u8]) {
        self.udp_queries += 1;
        let Behaviour { udp_ns, udp_lost_each, whole_each, duplicate_ns, .. } = self.behaviour;
        if udp_lost_each > 0 && self.udp_queries.is_multiple_of(udp_lost_each) {
            return;
        }
        let mut response = message.to_vec();
        response[2] |= 0x80;
        if !self.udp_queries.is_multiple_of(whole_each) && !self.is_mix {
            response[2] |= 0x02;
        }
        let at_ns = self.now_ns + self.spread(udp_ns);
        if duplicate_ns > 0 {
            self.schedule(at_ns + duplicate_ns, 0, EventKind::Packet(response.clone()));
        }
        self.schedule(at_ns, 0, EventKind::Packet(response));
    }

    fn take_tcp(&mut self, channel: usize, message: &[u8]) {
        let now_ns = self.now_ns;
        let client = &mut self.clients[channel - 1];
        *client =
            Client { is_busy: true, generation: client.generation + 1, opened_ns: now_ns, ready_ns: None };
        self.reports.push((channel, ConnectionEvent::Opened));
        let connected_ns = match self.behaviour.connect {
            StepResult::Success(ns) => now_ns + self.spread(ns),
            StepResult::Refused => return self.schedule(now_ns + 1_000, channel, EventKind::Refused),
            StepResult::Closed | StepResult::Never => return,
        };
        self.schedule(connected_ns, channel, EventKind::Established);
        match self.behaviour.query {
            StepResult::Success(ns) => {
                let mut response = message.to_vec();
                response[2] |= 0x80;
                let at_ns = connected_ns + self.spread(ns);
                self.schedule(at_ns, channel, EventKind::Response(response));
            }
            StepResult::Closed => self.schedule(connected_ns + 1_000, channel, EventKind::Closed),
            StepResult::Refused | StepResult::Never => {}
        }
    }

    fn end(&mut self, channel: usize, answers: u64, end: ConnectionEnd, sink: &mut impl Sink) {
        self.clients[channel - 1].is_busy = false;
        sink.connection(channel, self.now_ns, ConnectionEvent::Ended { end, answers });
    }

    fn report(&mut self, sink: &mut impl Sink) {
        for (channel, reports) in std::mem::take(&mut self.reports) {
            if !matches!(reports, ConnectionEvent::Opened) {
                self.clients[channel - 1].is_busy = false;
            }
            sink.connection(channel, self.now_ns, reports);
        }
    }
}

impl Transport for SimulatedChannels {
    const CONNECTS: bool = true;

    fn begin(&mut self, _: u64) {}

    fn channels(&self) -> usize {
        1 + self.clients.len()
    }

    fn now_ns(&self) -> u64 {
        self.now_ns
    }

    fn groups(&self) -> Vec<Group> {
        let udp = Group {
            channels: 1,
            connects: false,
            most_outstanding: None,
            at_once: 64,
            member: 0,
            is_fallback: false,
        };
        let tcp = Group {
            channels: self.clients.len(),
            connects: true,
            most_outstanding: Some(1),
            at_once: 64,
            member: u8::from(self.is_mix),
            is_fallback: !self.is_mix,
        };
        vec![udp, tcp]
    }

    /// A mix of equal shares.
    fn next_member(&mut self) -> u8 {
        self.drawn += 1;
        if self.is_mix { (self.drawn % 2) as u8 } else { 0 }
    }

    fn next_client_of(&mut self, group: usize) -> Result<NextClient, NotSentReason> {
        if group == 0 {
            return Ok(NextClient { channel: 0, capacity: usize::MAX });
        }
        let free = self.clients.iter().position(|client| !client.is_busy);
        free.map(|client| NextClient { channel: client + 1, capacity: 1 })
            .ok_or(NotSentReason::NoFreeConnection)
    }

    fn send(&mut self, channel: usize, batch: &Batch) -> Sent {
        for message in batch.iter() {
            match channel {
                0 => self.take_udp(message),
                _ => self.take_tcp(channel, message),
            }
        }
        Sent { accepted: batch.len(), stopped: None }
    }

    fn receive(&mut self, sink: &mut impl Sink) {
        self.report(sink);
        while self.events.peek().is_some_and(|Reverse(event)| event.at_ns <= self.now_ns) {
            let Some(Reverse(Event { at_ns, channel, generation, what, .. })) = self.events.pop() else {
                return;
            };
            let client = channel.checked_sub(1).map(|client| self.clients[client]).unwrap_or_default();
            if channel > 0 && (!client.is_busy || client.generation != generation) {
                continue;
            }
            match what {
                EventKind::Packet(bytes) => sink.packet(0, at_ns, &bytes),
                EventKind::Refused => {
                    self.clients[channel - 1].is_busy = false;
                    sink.connection(channel, at_ns, ConnectionEvent::Failed(ConnectFailure::Refused));
                }
                EventKind::Established => {
                    self.clients[channel - 1].ready_ns = Some(at_ns);
                    let opened_ns = client.opened_ns;
                    sink.connection(channel, at_ns, ConnectionEvent::Established { opened_ns });
                }
                EventKind::Response(bytes) => {
                    sink.answer(channel, at_ns, client.ready_ns.unwrap(), None, &bytes);
                    self.end(channel, 1, ConnectionEnd::ByUs, sink);
                }
                EventKind::Closed => self.end(channel, 0, ConnectionEnd::ByServer, sink),
            }
        }
    }

    fn wait(&mut self, until_ns: u64, _: Wake) {
        let next_ns = self.events.peek().map_or(u64::MAX, |Reverse(event)| event.at_ns);
        if self.reports.is_empty() {
            self.now_ns = self.now_ns.max(until_ns.min(next_ns));
        }
    }

    fn expired(&mut self, channel: usize, _id: u16) -> Expired {
        let Some(number) = channel.checked_sub(1) else { return Expired::Sent };
        let client = self.clients[number];
        let event = match client.ready_ns {
            Some(_) => ConnectionEvent::Ended { end: ConnectionEnd::ByUs, answers: 0 },
            None => ConnectionEvent::Failed(ConnectFailure::TimedOut),
        };
        if client.is_busy {
            self.reports.push((channel, event));
        }
        let never_sent = NeverSent { why: NotSentReason::NoStream, bytes: queries().message(0).len() };
        if self.behaviour.is_held_back { Expired::NeverSent(never_sent) } else { Expired::Sent }
    }

    fn finish(&mut self, sink: &mut impl Sink) {
        self.report(sink);
    }

    fn resources(&mut self) -> Resources {
        Resources::default()
    }
}

#[derive(Default)]
struct Notes<'a> {
    intervals: Vec<Interval>,
    press_after: Vec<(u64, &'a Control)>,
}

impl Observer for Notes<'_> {
    fn passed(&mut self, live: &Live<'_>) {
        self.press_after.iter().filter(|(index, _)| *index == live.index).for_each(|(_, c)| c.press());
    }

    fn settled(&mut self, interval: &Interval) {
        assert!(interval.tally.is_settled());
        self.intervals.push(interval.clone());
    }

    fn stopping(&mut self, _: u64) {}
}

fn queries() -> Queries {
    let form = QueryForm { edns_size: Some(1_232), ..QueryForm::default() };
    let mut builder = QueriesBuilder::new(form, 0);
    for i in 0..10u16 {
        let mut name = Vec::new();
        dnsdyno_wire::encode_name(format!("host{i}.example.").as_bytes(), &mut name).unwrap();
        builder.push(&name, 35).unwrap();
    }
    builder.finish()
}

fn constant(rate_qps: f64, seconds: u64) -> Load {
    Load::Open {
        curve: Constant { rate_qps, duration_ns: Some(seconds * SECOND_NS) }.curve().unwrap(),
        window: None,
    }
}

/// Runs with one worker and a timeout of 200 ms.
fn run_in(
    behaviour: Behaviour,
    load: &Load,
    is_mix: bool,
    control: &Control,
    presses: u64,
) -> (Sum, Vec<Interval>) {
    let queries = queries();
    let job = Job {
        source: Source::Whole(&queries),
        load,
        part: None,
        limit: None,
        end_ns: Some(SECOND_NS),
        timeout_ns: 200 * MS,
        interval_ns: SECOND_NS / 4,
        send_only: false,
        stop_limits: Default::default(),
        strips_edns: true,
        cpus: &[],
        own_files: false,
        start_unix_ns: 0,
        query_logs: None,
        known_answers: None,
        trace: None,
    };
    let press_after = (0..presses).map(|_| (1, control)).collect();
    let mut notes = Notes { press_after, ..Notes::default() };
    let sum = run(&job, vec![SimulatedChannels::new(behaviour, is_mix)], 0, &|| 0, control, &mut notes);
    (sum, notes.intervals)
}

/// A second of fallback at 2,000 queries per second.
fn fallback_in(behaviour: Behaviour) -> (Tally, Fallback) {
    let (sum, _) = run_in(behaviour, &constant(2_000.0, 1), false, &Control::default(), 0);
    let fallback = *sum.tally.fallback.clone().unwrap();
    check_sums(&sum.tally, &fallback);
    (sum.tally, fallback)
}

/// Checks what is true for every run with a fallback.
fn check_sums(tally: &Tally, fallback: &Fallback) {
    let ends = &tally.ends;
    assert_eq!(ends.total(), tally.scheduled);
    assert_eq!(fallback.started, fallback.answered + fallback.failed_in(Half::Tcp));
    // Each query sent was answered, or failed in one of its parts.
    assert_eq!(fallback.udp_requests, ends.answered + fallback.failed.total());
    assert_eq!(tally.requests, fallback.udp_requests + fallback.tcp_requests);
    for part in [&fallback.udp, &fallback.waiting, &fallback.connect, &fallback.query] {
        assert_eq!(part.count(), fallback.answered);
    }
}

fn sum_ns(histogram: &dnsdyno_measure::Histogram) -> u128 {
    histogram.exact().map_or(0, |exact| exact.sum_ns)
}

#[test]
fn the_parts_of_transactions_add_up_to_their_service_time() {
    for behaviour in [NORMAL, Behaviour { clients: 2, query: StepResult::Success(600_000), ..NORMAL }] {
        let (tally, fallback) = fallback_in(behaviour);
        assert_eq!((fallback.started, fallback.udp_requests), (2_000, 2_000));
        assert!(fallback.answered > 1_000, "{:?}", fallback.failed);
        let parts = [&fallback.udp, &fallback.waiting, &fallback.connect, &fallback.query].map(sum_ns);
        assert_eq!(parts.iter().sum::<u128>(), sum_ns(&tally.service));
        assert!(parts[0] > 0 && parts[2] > 0 && parts[3] > 0);
        // Two clients have too little capacity, so the waiting time grows.
        assert_eq!(parts[1] > parts[3], behaviour.clients == 2, "{parts:?}");
    }
}

#[test]
fn the_parts_of_one_transaction_agree_with_the_server() {
    let (sum, _) = run_in(NORMAL, &constant(1.0, 1), false, &Control::default(), 0);
    let fallback = sum.tally.fallback.unwrap();
    assert_eq!(sum_ns(&fallback.udp), 300_000);
    assert_eq!(sum_ns(&fallback.waiting), 0);
    let (connect, query) = (sum_ns(&fallback.connect), sum_ns(&fallback.query));
    assert!((100_000..200_000).contains(&connect) && (700_000..1_400_000).contains(&query));
    assert_eq!(sum_ns(&sum.tally.service), 300_000 + connect + query);
    let connections = sum.arrivals.connections.unwrap();
    assert_eq!((sum_ns(&connections.connect), sum_ns(&connections.query)), (connect, query));
}

#[test]
fn complete_responses_end_their_transactions_over_udp() {
    let (tally, fallback) = fallback_in(Behaviour { whole_each: 4, ..NORMAL });
    assert_eq!((tally.ends.answered, fallback.started, fallback.answered), (2_000, 1_500, 1_500));
    assert_eq!(tally.requests, 3_500);
}

#[test]
fn a_second_truncated_response_is_a_duplicate() {
    let (sum, _) = run_in(
        Behaviour { duplicate_ns: 100_000, ..NORMAL },
        &constant(500.0, 1),
        false,
        &Control::default(),
        0,
    );
    let anomalies = sum.arrivals.anomalies;
    assert_eq!((anomalies.duplicates, anomalies.unexpected, anomalies.wrong_question), (500, 0, 0));
    assert_eq!((sum.tally.ends.answered, anomalies.truncated), (500, 500));
}

#[test]
fn the_timeout_covers_both_parts_and_starts_at_the_first_sending() {
    let behaviour = Behaviour { udp_ns: 70 * MS, query: StepResult::Never, ..NORMAL };
    let (tally, fallback) = fallback_in(behaviour);
    assert_eq!((tally.ends.timed_out, fallback.failed(FallbackFailure::QueryTimedOut)), (2_000, 2_000));
    let (sum, _) = run_in(behaviour, &constant(1.0, 1), false, &Control::default(), 0);
    // The timeout is checked a little late, for responses that arrived in time but were not read yet.
    assert!((200 * MS..203 * MS).contains(&sum.to_ns), "{} ns", sum.to_ns);
}

#[test]
fn each_failure_of_a_transaction_is_counted_by_its_cause() {
    let all = |behaviour, why| {
        let (tally, fallback) = fallback_in(behaviour);
        assert_eq!(fallback.failed(why), 2_000, "{why:?}: {:?}", fallback.failed);
        tally
    };
    let tally = all(Behaviour { connect: StepResult::Refused, ..NORMAL }, FallbackFailure::ConnectRefused);
    assert_eq!(tally.ends.refused, 2_000);
    let tally = all(Behaviour { connect: StepResult::Never, ..NORMAL }, FallbackFailure::ConnectTimedOut);
    assert_eq!(tally.ends.timed_out, 2_000);
    // Retried on a new connection, but not where the last three of the client were closed.
    let tally = all(Behaviour { query: StepResult::Closed, ..NORMAL }, FallbackFailure::Closed);
    assert_eq!(tally.ends.refused, 2_000);
    assert!((2..4_000).contains(&tally.retried), "{}", tally.retried);
    let (tally, fallback) = fallback_in(Behaviour { udp_lost_each: 4, ..NORMAL });
    assert_eq!((fallback.failed(FallbackFailure::UdpTimedOut), tally.ends.timed_out), (500, 500));
    assert_eq!((fallback.started, tally.ends.answered), (1_500, 1_500));
}

#[test]
fn a_query_without_a_client_waits_until_its_timeout_and_the_cause_is_counted() {
    let (tally, fallback) = fallback_in(Behaviour { clients: 1, query: StepResult::Never, ..NORMAL });
    // They are sent in the order of their first sending, so most get a client too late.
    let no_client = fallback.failed(FallbackFailure::NoClient);
    assert!((100..1_900).contains(&no_client), "{:?}", fallback.failed);
    assert_eq!((fallback.tcp_requests, tally.ends.timed_out), (2_000 - no_client, 2_000));
}

#[test]
fn an_interrupted_run_ends_outstanding_and_waiting_transactions() {
    let behaviour = Behaviour { clients: 3, query: StepResult::Success(150 * MS), ..NORMAL };
    let control = Control::default();
    // Long enough to be stopped in the middle: simulated time costs little.
    let long = constant(2_000.0, 2_400);
    let (sum, _) = run_in(behaviour, &long, false, &control, 2);
    let fallback = sum.tally.fallback.clone().unwrap();
    check_sums(&sum.tally, &fallback);
    assert!(
        fallback.failed(FallbackFailure::Interrupted) > 100 && sum.tally.scheduled < 4_800_000,
        "{:?}",
        fallback.failed
    );
    // After the first request to stop, outstanding queries are still answered.
    let control = Control::default();
    let (sum, _) = run_in(NORMAL, &long, false, &control, 1);
    let fallback = sum.tally.fallback.clone().unwrap();
    check_sums(&sum.tally, &fallback);
    assert_eq!((fallback.answered, fallback.failed_in(Half::Tcp)), (fallback.started, 0));
    assert!(sum.tally.ends.interrupted <= 2 && sum.tally.scheduled < 4_800_000);
}

#[test]
fn a_window_includes_queries_between_their_udp_and_tcp_parts() {
    let behaviour = Behaviour { clients: 4, ..NORMAL };
    let (sum, _) = run_in(behaviour, &Load::Closed { outstanding: 10 }, false, &Control::default(), 0);
    let fallback = sum.tally.fallback.clone().unwrap();
    check_sums(&sum.tally, &fallback);
    assert_eq!((sum.arrivals.in_flight_max, sum.tally.ends.answered), (10, sum.tally.scheduled));
}

#[test]
fn a_wait_for_a_busy_client_is_in_the_response_time_and_not_in_the_lateness() {
    // Two clients answer about 1,300 of 5,000 queries a second.
    let behaviour = Behaviour { clients: 2, ..NORMAL };
    let (sum, _) = run_in(behaviour, &constant(10_000.0, 1), true, &Control::default(), 0);
    let tcp = &sum.tally.members[1];
    let (response, service) = (tcp.response.exact().unwrap(), tcp.service.exact().unwrap());
    assert!(response.max_ns > 100 * MS && service.max_ns < 5 * MS, "{response:?} {service:?}");
    assert_eq!(sum.tally.lateness.count(), sum.arrivals.sent);
    assert!(sum.tally.lateness.exact().unwrap().max_ns < MS, "{:?}", sum.tally.lateness);
    let Verdict { doubts, notes } = verdict(&sum.tally, &sum.arrivals, &sum.evidence);
    let names: Vec<_> = doubts.iter().chain(&notes).map(|warning| warning.name()).collect();
    assert!(names.contains(&"clients_busy") && !names.contains(&"sends_late"), "{names:?}");
    // The response time contains the wait, its lower end does not.
    let bounds = OwnPart::of(&sum.evidence, &sum.arrivals).percentiles(&sum.tally).at(0.9).unwrap();
    assert!(bounds.upper > Quantile::At(100 * MS) && bounds.lower < Quantile::At(5 * MS), "{bounds:?}");
}

#[test]
fn a_stalled_member_does_not_delay_the_others() {
    let behaviour = Behaviour { clients: 2, query: StepResult::Never, ..NORMAL };
    let (sum, intervals) = run_in(behaviour, &constant(1_000.0, 1), true, &Control::default(), 0);
    let [udp, tcp] = &sum.tally.members[..] else { panic!("two members") };
    assert_eq!((udp.scheduled, udp.sent, udp.ends.answered), (500, 500, 500));
    assert_eq!((tcp.scheduled, tcp.ends.answered), (500, 0));
    assert_eq!(tcp.ends.total(), 500);
    assert!(tcp.ends.not_sent.of(NotSentReason::NoFreeConnection) > 480, "{:?}", tcp.ends);
    assert!(udp.response.exact().unwrap().max_ns < MS);
    for interval in intervals.iter().filter(|interval| interval.tally.scheduled > 0) {
        assert_eq!(
            interval.tally.members.iter().map(|member| member.scheduled).collect::<Vec<_>>(),
            [125, 125]
        );
    }
    assert!(sum.tally.fallback.is_none());
}

#[test]
fn a_query_that_has_never_left_its_client_counts_as_not_sent_and_as_no_request() {
    let behaviour = Behaviour { query: StepResult::Never, is_held_back: true, ..NORMAL };
    let (sum, _) = run_in(behaviour, &constant(1_000.0, 1), true, &Control::default(), 0);
    let tally = &sum.tally;
    let [udp, tcp] = &tally.members[..] else { panic!("two members") };
    assert_eq!((udp.ends.answered, tcp.ends.not_sent.of(NotSentReason::NoStream)), (500, 500));
    assert_eq!((udp.sent, tcp.sent, tcp.ends.timed_out, tcp.ends.total()), (500, 0, 0, 500));
    assert_eq!((tally.requests, tally.ends.total()), (500, 1_000));
    assert_eq!(tally.bytes_sent, 500 * queries().message(0).len() as u64);
    assert_eq!(tally.types.iter().map(|count| count.sent).sum::<u64>(), 500);
}

#[test]
fn a_fallback_query_is_sent_without_edns_if_configured() {
    let queries = queries();
    assert!(queries.message(0).len() > HEADER_LEN + queries.question(0).len());
    let (tally, fallback) = fallback_in(NORMAL);
    let (complete, stripped) =
        (queries.message(0).len() as u64, (HEADER_LEN + queries.question(0).len()) as u64);
    assert_eq!(tally.bytes_sent, fallback.udp_requests * complete + fallback.tcp_requests * stripped);
}

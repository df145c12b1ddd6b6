//! Transactions of two halves, and members of a mix, over imaginary channels whose time stands still
//! while the worker works.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use dnsdyno_engine::{Control, Job, Live, Observer, run};
use dnsdyno_measure::{ConnectFailure, ConnectionEnd, Fallback, FallbackFailure, Half, NotSentReason, Tally};
use dnsdyno_plan::schedule::{Constant, Load};
use dnsdyno_plan::source::{Queries, QueriesBuilder};
use dnsdyno_record::{Interval, Sum};
use dnsdyno_transport::{Batch, ConnectionEvent, Group, NextClient, Resources, Sent, Sink, Transport, Wake};
use dnsdyno_wire::{HEADER_LEN, QueryForm};

const SECOND_NS: u64 = 1_000_000_000;
const MS: u64 = 1_000_000;

/// How the imaginary server behaves.
#[derive(Clone, Copy)]
struct World {
    clients: usize,
    udp_ns: u64,
    /// Of each so many queries over UDP one gets no answer; 0 = all do.
    udp_lost_each: u64,
    /// Of each so many answers over UDP one is whole, the others are truncated.
    whole_each: u64,
    connect: Fate,
    query: Fate,
    /// A truncated answer comes a second time so much later; 0 = it does not.
    duplicate_ns: u64,
}

/// What becomes of a step over TCP.
#[derive(Clone, Copy, PartialEq)]
enum Fate {
    /// Done after this time, and up to as much again for some.
    Done(u64),
    Refused,
    Closed,
    Never,
}

const CALM: World = World {
    clients: 1_000,
    udp_ns: 300_000,
    udp_lost_each: 0,
    whole_each: u64::MAX,
    connect: Fate::Done(100_000),
    query: Fate::Done(700_000),
    duplicate_ns: 0,
};

#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Happens {
    Packet(Vec<u8>),
    Refused,
    Established,
    Answer(Vec<u8>),
    Closed,
}

#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Event {
    at_ns: u64,
    number: u64,
    channel: usize,
    /// The connection it belongs to.
    generation: u64,
    what: Happens,
}

#[derive(Clone, Copy, Default)]
struct Client {
    is_busy: bool,
    generation: u64,
    opened_ns: u64,
    since_ns: Option<u64>,
}

/// Channel 0 is UDP; the others are clients with a connection for each query.
struct Imaginary {
    world: World,
    now_ns: u64,
    events: BinaryHeap<Reverse<Event>>,
    number: u64,
    clients: Vec<Client>,
    news: Vec<(usize, ConnectionEvent)>,
    udp_queries: u64,
    /// Where the clients are a member of their own, and not the second half of UDP's.
    is_mix: bool,
    drawn: u64,
}

impl Imaginary {
    fn new(world: World, is_mix: bool) -> Self {
        Imaginary {
            world,
            now_ns: 0,
            events: BinaryHeap::new(),
            number: 0,
            clients: vec![Client::default(); world.clients],
            news: Vec::new(),
            udp_queries: 0,
            is_mix,
            drawn: 0,
        }
    }

    fn happens(&mut self, at_ns: u64, channel: usize, what: Happens) {
        self.number += 1;
        let generation = if channel == 0 { 0 } else { self.clients[channel - 1].generation };
        self.events.push(Reverse(Event { at_ns, number: self.number, channel, generation, what }));
    }

    /// Some steps take longer than others, without a pattern.
    fn spread(&self, ns: u64) -> u64 {
        ns + self.number * 7_919 % ns.max(1)
    }

    fn take_udp(&mut self, message: &[u8]) {
        self.udp_queries += 1;
        let World { udp_ns, udp_lost_each, whole_each, duplicate_ns, .. } = self.world;
        if udp_lost_each > 0 && self.udp_queries.is_multiple_of(udp_lost_each) {
            return;
        }
        let mut answer = message.to_vec();
        answer[2] |= 0x80;
        if !self.udp_queries.is_multiple_of(whole_each) && !self.is_mix {
            answer[2] |= 0x02;
        }
        let at_ns = self.now_ns + self.spread(udp_ns);
        if duplicate_ns > 0 {
            self.happens(at_ns + duplicate_ns, 0, Happens::Packet(answer.clone()));
        }
        self.happens(at_ns, 0, Happens::Packet(answer));
    }

    fn take_tcp(&mut self, channel: usize, message: &[u8]) {
        let now_ns = self.now_ns;
        let client = &mut self.clients[channel - 1];
        *client =
            Client { is_busy: true, generation: client.generation + 1, opened_ns: now_ns, since_ns: None };
        self.news.push((channel, ConnectionEvent::Opened));
        let connected_ns = match self.world.connect {
            Fate::Done(ns) => now_ns + self.spread(ns),
            Fate::Refused => return self.happens(now_ns + 1_000, channel, Happens::Refused),
            Fate::Closed | Fate::Never => return,
        };
        self.happens(connected_ns, channel, Happens::Established);
        match self.world.query {
            Fate::Done(ns) => {
                let mut answer = message.to_vec();
                answer[2] |= 0x80;
                let at_ns = connected_ns + self.spread(ns);
                self.happens(at_ns, channel, Happens::Answer(answer));
            }
            Fate::Closed => self.happens(connected_ns + 1_000, channel, Happens::Closed),
            Fate::Refused | Fate::Never => {}
        }
    }

    fn end(&mut self, channel: usize, answers: u64, end: ConnectionEnd, sink: &mut impl Sink) {
        self.clients[channel - 1].is_busy = false;
        sink.connection(channel, self.now_ns, ConnectionEvent::Ended { end, answers });
    }

    fn tell(&mut self, sink: &mut impl Sink) {
        for (channel, news) in std::mem::take(&mut self.news) {
            if !matches!(news, ConnectionEvent::Opened) {
                self.clients[channel - 1].is_busy = false;
            }
            sink.connection(channel, self.now_ns, news);
        }
    }
}

impl Transport for Imaginary {
    const CONNECTS: bool = true;

    fn begin(&mut self, _: u64) {}

    fn channels(&self) -> usize {
        1 + self.clients.len()
    }

    fn now_ns(&self) -> u64 {
        self.now_ns
    }

    fn groups(&self) -> Vec<Group> {
        let udp =
            Group { channels: 1, connects: false, most_outstanding: None, member: 0, is_fallback: false };
        let tcp = Group {
            channels: self.clients.len(),
            connects: true,
            most_outstanding: Some(1),
            member: u8::from(self.is_mix),
            is_fallback: !self.is_mix,
        };
        vec![udp, tcp]
    }

    /// A mix of halves.
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
        self.tell(sink);
        while self.events.peek().is_some_and(|Reverse(event)| event.at_ns <= self.now_ns) {
            let Some(Reverse(Event { at_ns, channel, generation, what, .. })) = self.events.pop() else {
                return;
            };
            let client = channel.checked_sub(1).map(|client| self.clients[client]).unwrap_or_default();
            if channel > 0 && (!client.is_busy || client.generation != generation) {
                continue;
            }
            match what {
                Happens::Packet(bytes) => sink.packet(0, at_ns, &bytes),
                Happens::Refused => {
                    self.clients[channel - 1].is_busy = false;
                    sink.connection(channel, at_ns, ConnectionEvent::Failed(ConnectFailure::Refused));
                }
                Happens::Established => {
                    self.clients[channel - 1].since_ns = Some(at_ns);
                    let opened_ns = client.opened_ns;
                    sink.connection(channel, at_ns, ConnectionEvent::Established { opened_ns });
                }
                Happens::Answer(bytes) => {
                    sink.answer(channel, at_ns, client.since_ns.unwrap(), &bytes);
                    self.end(channel, 1, ConnectionEnd::ByUs, sink);
                }
                Happens::Closed => self.end(channel, 0, ConnectionEnd::ByServer, sink),
            }
        }
    }

    fn wait(&mut self, until_ns: u64, _: Wake) {
        let next_ns = self.events.peek().map_or(u64::MAX, |Reverse(event)| event.at_ns);
        if self.news.is_empty() {
            self.now_ns = self.now_ns.max(until_ns.min(next_ns));
        }
    }

    fn expired(&mut self, channel: usize) {
        let Some(client) = channel.checked_sub(1).map(|client| self.clients[client]) else { return };
        let fate = match client.since_ns {
            Some(_) => ConnectionEvent::Ended { end: ConnectionEnd::ByUs, answers: 0 },
            None => ConnectionEvent::Failed(ConnectFailure::TimedOut),
        };
        if client.is_busy {
            self.news.push((channel, fate));
        }
    }

    fn finish(&mut self, sink: &mut impl Sink) {
        self.tell(sink);
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

/// Runs on one worker; the answers are waited for 200 ms.
fn run_in(world: World, load: &Load, is_mix: bool, control: &Control, presses: u64) -> (Sum, Vec<Interval>) {
    let queries = queries();
    let job = Job {
        queries: &queries,
        load,
        limit: None,
        end_ns: Some(SECOND_NS),
        timeout_ns: 200 * MS,
        interval_ns: SECOND_NS / 4,
        send_only: false,
        strips_edns: true,
        cpus: &[],
        own_files: false,
    };
    let press_after = (0..presses).map(|_| (1, control)).collect();
    let mut notes = Notes { press_after, ..Notes::default() };
    let sum = run(&job, vec![Imaginary::new(world, is_mix)], 0, &|| 0, control, &mut notes);
    (sum, notes.intervals)
}

/// A second of fallback at 2,000 queries a second.
fn fallback_in(world: World) -> (Tally, Fallback) {
    let (sum, _) = run_in(world, &constant(2_000.0, 1), false, &Control::default(), 0);
    let fallback = *sum.tally.fallback.clone().unwrap();
    holds(&sum.tally, &fallback);
    (sum.tally, fallback)
}

/// What holds of every run with transactions of two halves.
fn holds(tally: &Tally, fallback: &Fallback) {
    let ends = &tally.ends;
    assert_eq!(ends.total(), tally.scheduled);
    assert_eq!(fallback.started, fallback.answered + fallback.failed_in(Half::Tcp));
    // What left was answered, or failed in one of its halves.
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
    for world in [CALM, World { clients: 2, query: Fate::Done(600_000), ..CALM }] {
        let (tally, fallback) = fallback_in(world);
        assert_eq!((fallback.started, fallback.udp_requests), (2_000, 2_000));
        assert!(fallback.answered > 1_000, "{:?}", fallback.failed);
        let parts = [&fallback.udp, &fallback.waiting, &fallback.connect, &fallback.query].map(sum_ns);
        assert_eq!(parts.iter().sum::<u128>(), sum_ns(&tally.service));
        assert!(parts[0] > 0 && parts[2] > 0 && parts[3] > 0);
        // With two clients for more than they can carry, it is the waiting that grows.
        assert_eq!(parts[1] > parts[3], world.clients == 2, "{parts:?}");
    }
}

#[test]
fn one_transaction_is_made_of_what_the_server_did() {
    let (sum, _) = run_in(CALM, &constant(1.0, 1), false, &Control::default(), 0);
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
fn whole_answers_end_their_transactions_over_udp() {
    let (tally, fallback) = fallback_in(World { whole_each: 4, ..CALM });
    assert_eq!((tally.ends.answered, fallback.started, fallback.answered), (2_000, 1_500, 1_500));
    assert_eq!(tally.requests, 3_500);
}

#[test]
fn a_second_truncated_answer_is_a_duplicate() {
    let (sum, _) =
        run_in(World { duplicate_ns: 100_000, ..CALM }, &constant(500.0, 1), false, &Control::default(), 0);
    let anomalies = sum.arrivals.anomalies;
    assert_eq!((anomalies.duplicates, anomalies.unexpected, anomalies.wrong_question), (500, 0, 0));
    assert_eq!((sum.tally.ends.answered, anomalies.truncated), (500, 500));
}

#[test]
fn the_timeout_runs_over_both_halves_from_the_first_sending() {
    let world = World { udp_ns: 70 * MS, query: Fate::Never, ..CALM };
    let (tally, fallback) = fallback_in(world);
    assert_eq!((tally.ends.timed_out, fallback.failed(FallbackFailure::QueryTimedOut)), (2_000, 2_000));
    let (sum, _) = run_in(world, &constant(1.0, 1), false, &Control::default(), 0);
    // Looked at a little late, so that what came in time and was not read yet counts.
    assert!((200 * MS..203 * MS).contains(&sum.to_ns), "{} ns", sum.to_ns);
}

#[test]
fn where_a_transaction_failed_has_a_name() {
    let all = |world, why| {
        let (tally, fallback) = fallback_in(world);
        assert_eq!(fallback.failed(why), 2_000, "{why:?}: {:?}", fallback.failed);
        tally
    };
    let tally = all(World { connect: Fate::Refused, ..CALM }, FallbackFailure::ConnectRefused);
    assert_eq!(tally.ends.refused, 2_000);
    let tally = all(World { connect: Fate::Never, ..CALM }, FallbackFailure::ConnectTimedOut);
    assert_eq!(tally.ends.timed_out, 2_000);
    // Asked again on a new connection, as long as there is hope.
    let tally = all(World { query: Fate::Closed, ..CALM }, FallbackFailure::Closed);
    assert_eq!((tally.ends.refused, tally.retried), (2_000, 4_000));
    let (tally, fallback) = fallback_in(World { udp_lost_each: 4, ..CALM });
    assert_eq!((fallback.failed(FallbackFailure::UdpTimedOut), tally.ends.timed_out), (500, 500));
    assert_eq!((fallback.started, tally.ends.answered), (1_500, 1_500));
}

#[test]
fn what_finds_no_client_waits_within_its_timeout_and_then_says_so() {
    let (tally, fallback) = fallback_in(World { clients: 1, query: Fate::Never, ..CALM });
    // They are asked in the order of their first sending, so most get a client when it is too late.
    let no_client = fallback.failed(FallbackFailure::NoClient);
    assert!((100..1_900).contains(&no_client), "{:?}", fallback.failed);
    assert_eq!((fallback.tcp_requests, tally.ends.timed_out), (2_000 - no_client, 2_000));
}

#[test]
fn an_interrupted_run_ends_the_halves_under_way_and_those_that_wait() {
    let world = World { clients: 3, query: Fate::Done(150 * MS), ..CALM };
    let control = Control::default();
    // Long enough to be stopped in the middle: the time of a run is no time here.
    let long = constant(2_000.0, 2_400);
    let (sum, _) = run_in(world, &long, false, &control, 2);
    let fallback = sum.tally.fallback.clone().unwrap();
    holds(&sum.tally, &fallback);
    assert!(
        fallback.failed(FallbackFailure::Interrupted) > 100 && sum.tally.scheduled < 4_800_000,
        "{:?}",
        fallback.failed
    );
    // Who only asks to stop gets what is under way.
    let control = Control::default();
    let (sum, _) = run_in(CALM, &long, false, &control, 1);
    let fallback = sum.tally.fallback.clone().unwrap();
    holds(&sum.tally, &fallback);
    assert_eq!((fallback.answered, fallback.failed_in(Half::Tcp)), (fallback.started, 0));
    assert!(sum.tally.ends.interrupted <= 2 && sum.tally.scheduled < 4_800_000);
}

#[test]
fn a_window_counts_what_is_between_its_halves() {
    let world = World { clients: 4, ..CALM };
    let (sum, _) = run_in(world, &Load::Closed { outstanding: 10 }, false, &Control::default(), 0);
    let fallback = sum.tally.fallback.clone().unwrap();
    holds(&sum.tally, &fallback);
    assert_eq!((sum.arrivals.in_flight_max, sum.tally.ends.answered), (10, sum.tally.scheduled));
}

#[test]
fn a_member_that_stands_still_holds_up_nobody_else() {
    let world = World { clients: 2, query: Fate::Never, ..CALM };
    let (sum, intervals) = run_in(world, &constant(1_000.0, 1), true, &Control::default(), 0);
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
fn what_is_asked_again_goes_without_edns_where_that_is_wanted() {
    let queries = queries();
    assert!(queries.message(0).len() > HEADER_LEN + queries.question(0).len());
    let (tally, fallback) = fallback_in(CALM);
    let (whole, stripped) =
        (queries.message(0).len() as u64, (HEADER_LEN + queries.question(0).len()) as u64);
    assert_eq!(tally.bytes_sent, fallback.udp_requests * whole + fallback.tcp_requests * stripped);
}

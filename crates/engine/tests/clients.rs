//! Queries of clients that ask the next one when the one before has ended, over simulated links.

mod common;

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex};

use common::{Intercepted, Silence};
use dnsdyno_engine::{ClientModel, ClientModels, Control, Job, Source, Upcoming, run};
use dnsdyno_measure::Arrivals;
use dnsdyno_plan::schedule::Load;
use dnsdyno_record::Sum;
use dnsdyno_transport::Transport;
use dnsdyno_transport::sim::{SimConfig, SimTransport};
use dnsdyno_wire::{HEADER_LEN, QueryForm};

const MS: u64 = 1_000_000;
const WORKERS: u32 = 2;
const END_NS: u64 = 1_000 * MS;
const PAUSE_NS: u64 = 10 * MS;

/// What the clients of a worker have seen.
#[derive(Default)]
struct Seen {
    asked: u64,
    answered: u64,
    unanswered: u64,
    /// Responses that had another question than their query.
    wrong: u64,
    /// By client: the instants at which its queries were due.
    due: BTreeMap<u32, Vec<u64>>,
}

/// Five clients, each of which asks 10 ms after its query has ended. All use few numbers again and again.
struct Chains {
    worker: u32,
    /// Instant and client of the next query of each client that waits.
    waiting: VecDeque<(u64, u32)>,
    asked: Vec<Option<(u32, Vec<u8>)>>,
    next: u64,
    /// How many of its queries were counted.
    counted: u64,
    seen: Arc<Mutex<Seen>>,
}

impl ClientModel for Chains {
    fn upcoming(&mut self, now_ns: u64) -> Upcoming {
        if now_ns >= END_NS {
            return Upcoming::Over;
        }
        match self.waiting.front() {
            Some((due_ns, _)) if *due_ns < END_NS => Upcoming::Query { due_ns: *due_ns, number: self.next },
            _ => Upcoming::NotYet { known_to_ns: END_NS },
        }
    }

    fn take_next(&mut self) -> u32 {
        let (due_ns, client) = self.waiting.pop_front().unwrap();
        let mut name = Vec::new();
        let text = format!("q{}-{}.example.", self.next, self.worker);
        dnsdyno_wire::encode_name(text.as_bytes(), &mut name).unwrap();
        let mut message = Vec::new();
        QueryForm::default().encode(&name, [1, 28][client as usize / 2 % 2], &mut message);
        self.next += 1;
        let mut seen = self.seen.lock().unwrap();
        seen.asked += 1;
        seen.due.entry(client).or_default().push(due_ns);
        let free = self.asked.iter().position(Option::is_none).unwrap();
        self.asked[free] = Some((client, message));
        free as u32
    }

    fn message(&self, query: u32) -> &[u8] {
        &self.asked[query as usize].as_ref().unwrap().1
    }

    fn question(&self, query: u32) -> &[u8] {
        let message = self.message(query);
        let name = message[HEADER_LEN..].iter().position(|octet| *octet == 0).unwrap();
        &message[HEADER_LEN..HEADER_LEN + name + 5]
    }

    fn client(&self, query: u32) -> u32 {
        self.asked[query as usize].as_ref().unwrap().0
    }

    fn type_slot(&self, query: u32) -> u8 {
        (self.client(query) / 2 % 2) as u8
    }

    fn count(&mut self, counts: &mut Arrivals, _: u64, _: bool) {
        let seen = self.seen.lock().unwrap();
        counts.clients_mut().misses += seen.asked - std::mem::replace(&mut self.counted, seen.asked);
    }

    fn ended(&mut self, query: u32, at_ns: u64, response: Option<&[u8]>) {
        let question = self.question(query).to_vec();
        let (client, _) = self.asked[query as usize].take().unwrap();
        let mut seen = self.seen.lock().unwrap();
        match response {
            Some(response) => {
                seen.answered += 1;
                seen.wrong += u64::from(response[HEADER_LEN..HEADER_LEN + question.len()] != question);
            }
            None => seen.unanswered += 1,
        }
        let place = self.waiting.iter().filter(|(due_ns, _)| *due_ns <= at_ns + PAUSE_NS).count();
        self.waiting.insert(place, (at_ns + PAUSE_NS, client));
    }
}

fn run_chains(link: SimConfig, timeout_ns: u64) -> (Sum, Vec<Arc<Mutex<Seen>>>, BTreeMap<u32, u64>) {
    let seen: Vec<Arc<Mutex<Seen>>> = (0..WORKERS).map(|_| Arc::default()).collect();
    let of_worker = {
        let seen = seen.clone();
        move |worker: u32| -> Box<dyn ClientModel> {
            let waiting = (0..5).map(|i| (u64::from(i) * MS, worker + i * WORKERS)).collect();
            let seen = seen[worker as usize].clone();
            Box::new(Chains { worker, waiting, asked: vec![None; 5], next: 0, counted: 0, seen })
        }
    };
    let models = ClientModels::new(vec![1, 28], of_worker);
    let job = Job {
        source: Source::Clients(&models),
        load: &Load::OfSource,
        part: None,
        limit: None,
        end_ns: Some(END_NS),
        timeout_ns,
        interval_ns: 100 * MS,
        send_only: false,
        strips_edns: false,
        cpus: &[],
        own_files: false,
        start_unix_ns: 0,
        query_logs: None,
        known_answers: None,
        trace: None,
        stop_limits: Default::default(),
    };
    let by_channel = Arc::new(Mutex::new(BTreeMap::new()));
    let transport = |worker: u32| {
        let by_channel = by_channel.clone();
        Intercepted::new(SimTransport::new(link, u64::from(worker), 5), move |link, channel, batch| {
            let sent = link.send(channel, batch);
            *by_channel.lock().unwrap().entry(channel as u32 * WORKERS + worker).or_default() +=
                sent.accepted as u64;
            sent
        })
    };
    let transports = (0..WORKERS).map(transport).collect();
    let sum = run(&job, transports, 0, &|| 0, &Control::default(), &mut Silence);
    let by_channel = by_channel.lock().unwrap().clone();
    (sum, seen, by_channel)
}

#[test]
fn a_client_asks_when_its_response_has_come_and_each_query_ends_once() {
    let link = SimConfig { delay_ns: 4 * MS, jitter_ns: 0, ..SimConfig::default() };
    let (sum, seen, by_channel) = run_chains(link, 200 * MS);
    let seen: Vec<_> = seen.iter().map(|seen| seen.lock().unwrap()).collect();
    let total = |of: fn(&Seen) -> u64| seen.iter().map(|seen| of(seen)).sum::<u64>();
    assert_eq!((sum.tally.scheduled, sum.tally.ends.answered), (total(|s| s.asked), total(|s| s.answered)));
    assert_eq!((total(|s| s.unanswered), total(|s| s.wrong)), (0, 0));
    assert_eq!(sum.tally.ends.total(), sum.tally.scheduled);
    for (client, due) in seen.iter().flat_map(|seen| &seen.due) {
        // 4 ms there and back, 10 ms of pause. No query waits for one of another client.
        let distances: Vec<u64> = due.windows(2).map(|two| two[1] - two[0]).collect();
        assert!(
            distances.iter().all(|ns| (14 * MS..14 * MS + MS / 20).contains(ns)),
            "client {client}: {distances:?}"
        );
        assert!(due.len() >= 66, "client {client}: {} queries", due.len());
        assert_eq!(by_channel.get(client), Some(&(due.len() as u64)), "client {client} has its own socket");
    }
    assert!(sum.evidence.open_loop);
    assert_eq!(sum.arrivals.clients.map(|clients| clients.misses), Some(total(|s| s.asked)));
}

#[test]
fn a_query_that_is_not_answered_is_told_once_and_a_late_response_is_no_other_querys() {
    // Every response comes after the timeout, when the number of its query is that of another one.
    let link = SimConfig { delay_ns: 30 * MS, jitter_ns: 0, ..SimConfig::default() };
    let (sum, seen, _) = run_chains(link, 20 * MS);
    let seen: Vec<_> = seen.iter().map(|seen| seen.lock().unwrap()).collect();
    let (asked, unanswered): (u64, u64) =
        seen.iter().fold((0, 0), |(asked, not), seen| (asked + seen.asked, not + seen.unanswered));
    assert!(asked > 200, "{asked} queries");
    assert_eq!((sum.tally.scheduled, sum.tally.ends.total(), unanswered), (asked, asked, asked));
    assert_eq!((sum.tally.ends.answered, sum.arrivals.anomalies.wrong_question), (0, 0));
    assert!(sum.arrivals.late > 0, "late responses are recognised");
}

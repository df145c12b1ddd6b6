//! Sources that give their queries a time, a client, a tail or a changed label, over simulated links that record what
//! is sent.

mod common;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

use common::{Intercepted, Silence};
use dnsdyno_engine::{Control, Job, Source, run};
use dnsdyno_measure::NotSentReason;
use dnsdyno_plan::schedule::{Constant, Load, Replay};
use dnsdyno_queries::{Maker, Own, Queries, QueriesBuilder, QueryToMake, WorkerMaker, WorkerShare};
use dnsdyno_record::Sum;
use dnsdyno_transport::Transport;
use dnsdyno_transport::sim::{SimConfig, SimTransport};
use dnsdyno_wire::{HEADER_LEN, QueryForm, peek};

const SECOND_NS: u64 = 1_000_000_000;

/// A message that was sent.
struct Recorded {
    worker: usize,
    channel: usize,
    at_ns: u64,
    message: Vec<u8>,
}

fn name(label: &str) -> Vec<u8> {
    let mut name = Vec::new();
    dnsdyno_wire::encode_name(format!("{label}.example.").as_bytes(), &mut name).unwrap();
    name
}

/// Query `i`, followed by a tail whose length depends on `i`.
fn message(i: usize) -> Vec<u8> {
    let mut message = Vec::new();
    QueryForm::default().encode(&name(&format!("host{i}")), 1 + (i % 2) as u16 * 27, &mut message);
    message.resize(message.len() + i % 7 * 11, 0xAA);
    message
}

fn queries(count: usize, own: impl Fn(usize) -> Own) -> Queries {
    let mut builder = QueriesBuilder::new(QueryForm::default(), 0);
    for i in 0..count {
        builder.push_message(&message(i), own(i)).unwrap();
    }
    builder.finish()
}

fn rate(rate_qps: f64) -> Load {
    Load::Open { curve: Constant { rate_qps, duration_ns: Some(SECOND_NS) }.curve().unwrap(), window: None }
}

/// Two workers of three channels each.
fn run_on(
    queries: &Queries,
    load: &Load,
    config: SimConfig,
    channel_1_opens_ns: u64,
) -> (Sum, Vec<Recorded>) {
    let job = Job {
        source: Source::Whole(queries),
        load,
        part: None,
        limit: None,
        end_ns: Some(SECOND_NS),
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
    let recorded = Arc::<Mutex<Vec<Recorded>>>::default();
    // Channel 1 accepts one query at a time, and none before an instant.
    let capacity_of = move |now_ns: u64, channel: usize| match channel {
        1 if now_ns < channel_1_opens_ns => Err(NotSentReason::NoLocalPort),
        1 => Ok(1),
        _ => Ok(usize::MAX),
    };
    let link = |worker: usize| {
        let recorded = recorded.clone();
        let link = SimTransport::new(config, worker as u64, 3);
        let link = Intercepted::new(link, move |link, channel, batch| {
            assert!(channel_1_opens_ns == 0 || channel != 1 || batch.len() == 1);
            let at_ns = link.now_ns();
            let one = |message: &[u8]| Recorded { worker, channel, at_ns, message: message.to_vec() };
            recorded.lock().unwrap().extend(batch.iter().map(one));
            link.send(channel, batch)
        });
        link.with_capacity(capacity_of)
    };
    let sum = run(&job, (0..2).map(link).collect(), 0, &|| 0, &Control::default(), &mut Silence);
    assert_eq!(sum.tally.ends.total(), sum.tally.scheduled);
    let recorded = std::mem::take(&mut *recorded.lock().unwrap());
    (sum, recorded)
}

#[test]
fn messages_with_different_tails_are_sent_completely_and_paired() {
    let queries = queries(100, |_| Own::default());
    let (sum, recorded) = run_on(&queries, &rate(1_000.0), SimConfig::default(), 0);
    assert_eq!(sum.tally.ends.answered, 1_000);
    let mut sent = BTreeMap::new();
    recorded.iter().for_each(|recorded| *sent.entry(recorded.message[2..].to_vec()).or_insert(0) += 1);
    assert!((0..100).all(|i| sent[&message(i)[2..]] == 10));
    assert_eq!(sum.tally.bytes_sent, (0..100).map(|i| message(i).len() as u64 * 10).sum::<u64>());
    assert_eq!(Some(sum.tally.query_bytes_max), (0..100).map(|i| message(i).len() as u64).max());
}

#[test]
fn queries_are_sent_at_the_instants_of_the_source() {
    let at_ns = |i: usize| (i as u64 / 3) * 7_000_000 + 30_000;
    let queries = queries(300, |i| Own { at_ns: Some(at_ns(i)), client: None });
    let curve = Replay { instants: queries.instants().into() }.curve().unwrap();
    let (sum, recorded) = run_on(&queries, &Load::Open { curve, window: None }, SimConfig::default(), 0);
    assert_eq!((sum.tally.scheduled, sum.tally.ends.answered, recorded.len()), (300, 300, 300));
    for recorded in &recorded {
        let i = (0..300).find(|i| message(*i)[2..] == recorded.message[2..]).unwrap();
        assert_eq!(recorded.at_ns, at_ns(i), "query {i}");
    }
    assert_eq!(sum.tally.lateness.exact().unwrap().max_ns, 0);
}

#[test]
fn a_client_of_the_source_always_uses_the_same_channel_of_the_same_worker() {
    let queries = queries(70, |i| Own { at_ns: None, client: Some(i as u32 % 10) });
    for load in [rate(1_000.0), Load::Closed { outstanding: 20 }] {
        let (sum, recorded) = run_on(&queries, &load, SimConfig::default(), 0);
        assert_eq!(sum.tally.ends.answered, sum.tally.scheduled);
        assert_eq!(sum.tally.scheduled as usize, recorded.len());
        assert!(sum.tally.scheduled >= 1_000);
        let mut places = BTreeMap::<usize, BTreeSet<_>>::new();
        for recorded in &recorded {
            let i = (0..70).find(|i| message(*i)[2..] == recorded.message[2..]).unwrap();
            places.entry(i % 10).or_default().insert((recorded.worker, recorded.channel));
        }
        assert!(places.len() == 10 && places.values().all(|places| places.len() == 1), "{places:?}");
        assert_eq!(places.values().flatten().collect::<BTreeSet<_>>().len(), 6, "all channels are used");
    }
    // With one client, the other worker has no queries, and ends.
    let one = self::queries(5, |_| Own { at_ns: None, client: Some(0) });
    let (sum, recorded) = run_on(&one, &Load::Closed { outstanding: 4 }, SimConfig::default(), 0);
    assert!(sum.tally.ends.answered > 1_000 && recorded.iter().all(|recorded| recorded.worker == 0));
}

#[test]
fn queries_wait_for_a_blocked_client_and_its_capacity_is_respected() {
    // Client 2 of worker 0 is its channel 1.
    let queries = queries(4, |i| Own { at_ns: None, client: Some([0, 2, 2, 4][i]) });
    let (sum, recorded) = run_on(&queries, &rate(1_000.0), SimConfig::default(), SECOND_NS / 2);
    assert_eq!(sum.tally.ends.answered, 1_000);
    let of_channel = |channel: usize| recorded.iter().filter(move |recorded| recorded.channel == channel);
    assert_eq!([0, 1, 2].map(|channel| of_channel(channel).count()), [250, 500, 250]);
    assert!(of_channel(1).all(|recorded| recorded.at_ns >= SECOND_NS / 2));
}

/// Replaces the first label by a random one that depends only on the number.
#[derive(Debug)]
struct NewLabel;

impl Maker for NewLabel {
    fn begin(&self, _: WorkerShare) -> Box<dyn WorkerMaker> {
        Box::new(NewLabel)
    }
}

impl WorkerMaker for NewLabel {
    fn make(&mut self, query: &QueryToMake, message: &mut Vec<u8>) {
        let length = usize::from(message[HEADER_LEN]);
        let mut random = query.number.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
        for letter in &mut message[HEADER_LEN + 1..=HEADER_LEN + length] {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            *letter = b'a' + ((random >> 33) % 26) as u8;
        }
        message.extend_from_slice(b"made");
    }
}

#[test]
fn a_response_with_the_generated_label_is_paired_and_another_one_is_a_wrong_question() {
    let mut builder = QueriesBuilder::new(QueryForm::default(), 0);
    builder.push(&name("abcdefghijkl"), 1).unwrap();
    let queries = builder.finish().made_by(Arc::new(NewLabel));
    let wrong = SimConfig { wrong_questions: 0.1, ..SimConfig::default() };
    let (sum, recorded) = run_on(&queries, &rate(2_000.0), wrong, 0);
    let names: BTreeSet<_> =
        recorded.iter().map(|recorded| peek(&recorded.message).unwrap().qname().to_vec()).collect();
    assert_eq!((recorded.len(), names.len()), (2_000, 2_000));
    let (ends, anomalies) = (sum.tally.ends, sum.arrivals.anomalies);
    assert!((150..250).contains(&ends.timed_out), "{ends:?}");
    assert_eq!((anomalies.wrong_question, anomalies.unexpected), (ends.timed_out, 0));
    assert_eq!(ends.answered, 2_000 - ends.timed_out);
    assert!(recorded.iter().all(|recorded| recorded.message.ends_with(b"made")));
    assert_eq!(sum.tally.bytes_sent, 2_000 * recorded[0].message.len() as u64);
}

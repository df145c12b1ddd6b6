//! Queries that are given to the workers in chunks while they run, over simulated links.

mod common;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

use common::{Intercepted, Silence};
use dnsdyno_engine::{Control, FeedConfig, FeedIn, Feeds, Job, Source, run};
use dnsdyno_measure::NotSentReason;
use dnsdyno_plan::schedule::Load;
use dnsdyno_queries::{Chunk, ChunkBuilder, Own, Streamed};
use dnsdyno_record::Sum;
use dnsdyno_transport::Transport;
use dnsdyno_transport::sim::{SimConfig, SimTransport};
use dnsdyno_wire::QueryForm;

const SECOND_NS: u64 = 1_000_000_000;
const WORKERS: u64 = 2;

/// What was sent: worker, channel, instant, and the number of the query, which is its name.
type Recorded = Arc<Mutex<Vec<(usize, usize, u64, u64)>>>;

fn message(number: u64) -> Vec<u8> {
    let mut name = Vec::new();
    dnsdyno_wire::encode_name(format!("{number:010}.example.").as_bytes(), &mut name).unwrap();
    let mut message = Vec::new();
    QueryForm::default().encode(&name, 1, &mut message);
    message
}

/// Gives the workers queries 0 to `count`; the client of a query is its number modulo 10, and even clients belong to
/// worker 0. Returns how many chunks were made.
fn feed(mut ins: Vec<FeedIn>, count: u64, at_ns: impl Fn(u64) -> Option<u64>) -> usize {
    let mut builders = [ChunkBuilder::new(&[1]), ChunkBuilder::new(&[1])];
    let mut made = 0;
    let mut push = |input: &mut FeedIn, builder: &mut ChunkBuilder, known_to_ns| {
        let spent = input.spent();
        made += usize::from(spent.numbers.capacity() == 0);
        let mut chunk = builder.take(known_to_ns, spent);
        while let Err(full) = input.push(chunk) {
            if input.is_abandoned() {
                return;
            }
            chunk = full;
            std::thread::yield_now();
        }
    };
    for number in 0..count {
        let (worker, at_ns) = ((number % WORKERS) as usize, at_ns(number));
        if builders[worker].is_full() {
            push(&mut ins[worker], &mut builders[worker], at_ns.unwrap_or(0));
        }
        let own = Own { at_ns, client: Some((number % 10) as u32) };
        let message = message(number);
        let query = Streamed { number, own, member: None, message: &message, expected: None };
        builders[worker].push(&query).unwrap();
    }
    for (input, builder) in ins.iter_mut().zip(&mut builders) {
        push(input, builder, 0);
    }
    made
}

/// Worker, channel, number of the query and instant of a message that was sent.
type SentMessage = (usize, usize, u64, u64);

fn run_fed(
    load: &Load,
    end_ns: Option<u64>,
    link: SimConfig,
    stops_time: bool,
    feeder: impl FnOnce(Vec<FeedIn>) -> usize + Send,
) -> (Sum, Vec<SentMessage>, usize) {
    let config = FeedConfig { types: vec![1], has_clients: true, maker: None, stops_time };
    let (feeds, ins) = Feeds::new(config, WORKERS as usize);
    let job = Job {
        source: Source::Fed(&feeds),
        load,
        part: None,
        limit: None,
        end_ns,
        timeout_ns: SECOND_NS / 5,
        interval_ns: SECOND_NS / 10,
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
    let recorded = Recorded::default();
    let transport = |worker: usize| {
        let recorded = recorded.clone();
        Intercepted::new(SimTransport::new(link, worker as u64, 3), move |link, channel, batch| {
            let number = |message: &[u8]| std::str::from_utf8(&message[13..23]).unwrap().parse().unwrap();
            let one = |message: &[u8]| (worker, channel, link.now_ns(), number(message));
            recorded.lock().unwrap().extend(batch.iter().map(one));
            link.send(channel, batch)
        })
    };
    let transports = (0..WORKERS as usize).map(transport).collect();
    let (sum, made) = std::thread::scope(|scope| {
        let feeder = scope.spawn(move || feeder(ins));
        let sum = run(&job, transports, 0, &|| 0, &Control::default(), &mut Silence);
        (sum, feeder.join().unwrap())
    });
    assert_eq!(sum.tally.ends.total(), sum.tally.scheduled);
    let recorded = std::mem::take(&mut *recorded.lock().unwrap());
    (sum, recorded, made)
}

const OF_SOURCE: Load = Load::OfSource;

#[test]
fn each_query_is_sent_once_at_its_instant_over_the_channel_of_its_client_and_chunks_are_used_again() {
    let count = 100_000;
    let at_ns = |number: u64| number / 10 * 30_000;
    let (sum, recorded, made) =
        run_fed(&OF_SOURCE, None, SimConfig::default(), true, |ins| feed(ins, count, |n| Some(at_ns(n))));
    assert_eq!((sum.tally.scheduled, sum.tally.ends.answered), (count, count));
    assert_eq!(recorded.iter().map(|one| one.3).collect::<BTreeSet<_>>(), (0..count).collect());
    let mut places = BTreeMap::<u64, BTreeSet<_>>::new();
    for (worker, channel, sent_ns, number) in &recorded {
        assert_eq!(*sent_ns, at_ns(*number), "query {number}");
        places.entry(number % 10).or_default().insert((*worker, *channel));
    }
    assert!(places.iter().all(|(client, at)| at.len() == 1 && at.iter().all(|at| at.0 as u64 == client % 2)));
    assert_eq!(places.values().flatten().collect::<BTreeSet<_>>().len(), 6, "all channels are used");
    // 26 chunks in all: those that are queued, being sent or outstanding are held, and no others.
    assert!(made <= 2 * (16 + 4), "{made} chunks");
    assert!(sum.evidence.open_loop && sum.evidence.reader_waits == 0);
}

#[test]
fn a_window_alone_sends_the_queries_as_fast_as_they_are_answered() {
    let load = Load::Closed { outstanding: 20 };
    let (sum, recorded, _) =
        run_fed(&load, None, SimConfig::default(), true, |ins| feed(ins, 20_000, |_| None));
    assert_eq!((sum.tally.ends.answered, recorded.len()), (20_000, 20_000));
    let (sum, recorded, _) = run_fed(&load, Some(SECOND_NS / 50), SimConfig::default(), true, |ins| {
        feed(ins, 10_000_000, |_| None)
    });
    assert_eq!(sum.tally.ends.answered as usize, recorded.len());
    assert!(recorded.iter().all(|one| one.2 < SECOND_NS / 50) && !recorded.is_empty());
}

#[test]
fn responses_are_recognised_as_late_after_their_chunk_was_freed() {
    // Each answer takes longer than the timeout of 200 ms.
    let link = SimConfig { delay_ns: SECOND_NS / 4, ..SimConfig::default() };
    let (sum, ..) = run_fed(&OF_SOURCE, None, link, true, |ins| feed(ins, 20_000, |n| Some(n * 50_000)));
    let (ends, anomalies) = (sum.tally.ends, sum.arrivals.anomalies);
    assert_eq!(ends.answered, 0);
    assert!(ends.answered_late + sum.late_after_settled > 10_000, "{ends:?}");
    assert_eq!((anomalies.unexpected, anomalies.wrong_question, anomalies.duplicates), (0, 0, 0));
}

#[test]
fn a_reader_that_is_behind_is_counted_and_its_queries_are_sent_late_but_sent() {
    let feeder = |mut ins: Vec<FeedIn>| {
        let mut builder = ChunkBuilder::new(&[1]);
        for number in [0, 2] {
            // The second chunk is given only when the first has been sent and has ended.
            let mut spent = Chunk::default();
            while number > 0 && spent.numbers.is_empty() {
                spent = ins[0].spent();
                std::thread::yield_now();
            }
            let own = Own { at_ns: Some(1_000), client: Some(0) };
            let message = message(number);
            let query = Streamed { number, own, member: None, message: &message, expected: None };
            builder.push(&query).unwrap();
            ins[0].push(builder.take(2_000, spent)).unwrap();
        }
        0
    };
    let (sum, recorded, _) = run_fed(&OF_SOURCE, None, SimConfig::default(), false, feeder);
    // The time of the link goes on while the reader waits, perhaps beyond the timeout.
    let not_sent = sum.tally.ends.not_sent.of(NotSentReason::GeneratorLate);
    assert_eq!((sum.tally.scheduled, recorded.len() as u64 + not_sent), (2, 2));
    assert!(sum.evidence.reader_waits > 0 && sum.evidence.reader_waited_ns > 0);
    assert!(not_sent > 0 || sum.tally.lateness.exact().unwrap().max_ns > 0);
}

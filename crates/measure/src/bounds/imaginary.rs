//! The bounds held against a thousand imaginary runs, of which the ideal percentile is known: the same queries and the
//! same server, asked exactly when the schedule says.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::*;
use crate::{OwnDelay, PERCENTILES, ShortDelay};

/// Random numbers that are the same in each test run.
struct Random(u64);

impl Random {
    /// From 0 to 1.
    fn share(&mut self) -> f64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Between the two, as many in each octave.
    fn log(&mut self, from: f64, to: f64) -> f64 {
        from * (to / from).powf(self.share())
    }

    fn exponential(&mut self, mean: f64) -> f64 {
        -mean * (1.0 - self.share()).ln()
    }
}

/// A server with one queue: threads, a time for each query, a way there and back, and times at which it stands still.
struct Server {
    threads: usize,
    service_ns: Vec<u64>,
    way_ns: u64,
    stops: Vec<(u64, u64)>,
}

impl Server {
    /// When each query is answered that was sent at these instants, which do not go back.
    fn answers(&self, sent_ns: &[u64]) -> Vec<u64> {
        let mut free: BinaryHeap<Reverse<u64>> = (0..self.threads).map(|_| Reverse(0)).collect();
        let answer = |(sent_ns, service_ns): (&u64, &u64)| {
            let Reverse(free_ns) = free.pop().unwrap();
            let mut start_ns = free_ns.max(sent_ns + self.way_ns / 2);
            for (from_ns, to_ns) in &self.stops {
                start_ns = if (*from_ns..*to_ns).contains(&start_ns) { *to_ns } else { start_ns };
            }
            free.push(Reverse(start_ns + service_ns));
            start_ns + service_ns + self.way_ns / 2
        };
        sent_ns.iter().zip(&self.service_ns).map(answer).collect()
    }
}

/// The schedule, the server, and when a generator with its jitter and its stops has sent.
fn imagined(random: &mut Random) -> (Vec<u64>, Vec<u64>, Server) {
    let rate = random.log(1e3, 5e4);
    let queries = (rate * (0.3 + random.share())).min(20_000.0) as usize;
    let is_even = random.share() < 0.7;
    let mut next_s = 0.0;
    let due_ns: Vec<u64> = (0..queries)
        .map(|_| {
            next_s += if is_even { 1.0 / rate } else { random.exponential(1.0 / rate) };
            (next_s * 1e9) as u64
        })
        .collect();
    let server = server(random, rate, queries, next_s);
    let sent_ns = sent(random, &due_ns, next_s);
    (due_ns, sent_ns, server)
}

fn server(random: &mut Random, rate: f64, queries: usize, lasts_s: f64) -> Server {
    let threads = 1 + (random.share() * 4.0) as usize;
    let load = 0.02 + 0.83 * random.share();
    let mut mean_s = load * threads as f64 / rate;
    if random.share() < 0.5 {
        mean_s = mean_s.min(100e-6);
    }
    let kind = (random.share() * 3.0) as u32;
    let one_s = |random: &mut Random| match kind {
        0 => mean_s,
        1 => random.exponential(mean_s),
        _ if random.share() < 0.05 => mean_s * 10.0,
        _ => mean_s * 0.5,
    };
    let service_ns = (0..queries).map(|_| (one_s(random) * 1e9) as u64).collect();
    let stops = if random.share() < 0.3 { 1 + (random.share() * 3.0) as usize } else { 0 };
    let stop = |random: &mut Random| {
        let from_s = random.share() * lasts_s;
        ((from_s * 1e9) as u64, ((from_s + random.share() * 0.1) * 1e9) as u64)
    };
    let way_ns = random.log(20e3, 10e6) as u64;
    Server { threads, service_ns, way_ns, stops: (0..stops).map(|_| stop(random)).collect() }
}

/// A generator that wakes up some microseconds late, and at times has no CPU.
fn sent(random: &mut Random, due_ns: &[u64], lasts_s: f64) -> Vec<u64> {
    let (jitter_ns, stop_s) = (random.log(1e3, 30e3), random.log(10e-6, 30e-3));
    let stops_per_s = if random.share() < 0.2 { 0.0 } else { random.log(1.0, 1_000.0) };
    let (mut stops, mut at_s) = (Vec::new(), 0.0);
    while stops_per_s > 0.0 && at_s < lasts_s {
        at_s += random.exponential(1.0 / stops_per_s);
        let length_s = random.exponential(stop_s);
        stops.push(((at_s * 1e9) as u64, ((at_s + length_s) * 1e9) as u64));
        at_s += length_s;
    }
    let (mut stops, mut last_ns) = (stops.into_iter().peekable(), 0);
    let send = |due_ns: &u64| {
        let mut at_ns = due_ns + random.exponential(jitter_ns) as u64;
        while stops.next_if(|(_, to_ns)| *to_ns <= *due_ns).is_some() {}
        if let Some((_, to_ns)) = stops.peek().filter(|(from_ns, _)| *from_ns <= at_ns) {
            at_ns = at_ns.max(*to_ns);
        }
        last_ns = at_ns.max(last_ns + 500);
        last_ns
    };
    due_ns.iter().map(send).collect()
}

/// What dnsdyno counts of it.
fn counted(due_ns: &[u64], sent_ns: &[u64], answered_ns: &[u64]) -> Tally {
    let mut tally = Tally::new(1);
    let (mut own, mut outstanding) = (OwnDelay::default(), BinaryHeap::new());
    for ((due_ns, sent_ns), answered_ns) in due_ns.iter().zip(sent_ns).zip(answered_ns) {
        while outstanding.peek().is_some_and(|Reverse(end_ns)| end_ns < sent_ns) {
            outstanding.pop();
        }
        let late_ns = sent_ns - due_ns;
        tally.lateness.record(late_ns);
        let delay_ns = own.at_send(*sent_ns, late_ns, outstanding.is_empty());
        tally.own_delay.record(delay_ns);
        tally.response.record(answered_ns - due_ns);
        tally.response_least.record(ShortDelay::of(delay_ns).less(answered_ns - due_ns));
        tally.service.record(answered_ns - sent_ns);
        tally.ends.answered += 1;
        outstanding.push(Reverse(*answered_ns));
    }
    tally
}

#[test]
fn of_a_thousand_imaginary_runs_nearly_all_have_the_ideal_latencies_within_their_bounds() {
    let mut random = Random(0x9E37_79B9_7F4A_7C15);
    let part =
        OwnPart { open_loop: true, workers: 1, has_waited: false, loses_answers: false, departure: None };
    let (mut within, mut narrow, mut judged) = (0, 0, 0);
    for _ in 0..RUNS {
        let (due_ns, sent_ns, server) = imagined(&mut random);
        let tally = counted(&due_ns, &sent_ns, &server.answers(&sent_ns));
        let mut ideal = Histogram::new();
        due_ns.iter().zip(server.answers(&due_ns)).for_each(|(due_ns, at_ns)| ideal.record(at_ns - due_ns));
        let ideal = Latency { answered: &ideal, unanswered: 0 };
        let percentiles = part.percentiles(&tally);
        let known = PERCENTILES.iter().filter_map(|(.., q)| Some((percentiles.at(*q)?, ideal.quantile(*q)?)));
        let exact = ideal.answered.exact().unwrap();
        let others = [
            (percentiles.longest().unwrap(), Quantile::At(exact.max_ns)),
            (percentiles.shortest().unwrap(), Quantile::At(exact.min_ns)),
            (percentiles.mean().unwrap(), Quantile::At(ideal.answered.mean_ns().unwrap())),
        ];
        let mut is_within = true;
        for (bounds, ideal) in known.chain(others) {
            let Quantile::At(ideal_ns) = ideal else { panic!("each query is answered") };
            let Bounds { upper: Quantile::At(upper_ns), lower: Quantile::At(lower_ns) } = bounds else {
                panic!("{bounds:?}")
            };
            // Both histograms are exact to 1 % and a microsecond.
            is_within &= lower_ns <= ideal_ns + ideal_ns / 100 + 1_000;
            is_within &= ideal_ns <= upper_ns + upper_ns / 100 + 1_000;
            judged += 1;
            narrow += u32::from(!bounds.is_wide());
        }
        within += u32::from(is_within);
    }
    println!("{within} of {RUNS} runs within their bounds; {narrow} of {judged} latencies narrow");
    assert!(within >= RUNS * 98 / 100, "{within} of {RUNS}");
    // Bounds that hold because they say nothing would be no bounds.
    assert!(narrow * 2 > judged, "{narrow} of {judged}");
}

const RUNS: u32 = 1_000;

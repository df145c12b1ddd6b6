//! Imaginary servers with a known limit. They give the records of trials without sending anything, thousands a second.

use dnsdyno_measure::{Arrivals, Bucket, Evidence, ExactFigures, Histogram, Tally, TypeCount, Warning};
use dnsdyno_plan::units::{parse_duration_ns, parse_rate_qps};
use dnsdyno_record::{Digest, Ended, Header, Headline, Interval, Sum};
use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution, Exp1, StandardNormal};

use crate::step::Request;

/// A server that exists in numbers only.
pub(super) struct Imaginary {
    pub(super) kind: Kind,
    /// Its limit, in queries per second, before the first trial.
    pub(super) limit: f64,
    rng: Xoshiro256PlusPlus,
    /// Trials made.
    made: u32,
    /// Whether it is still overloaded from an earlier trial.
    overloaded: bool,
    /// The highest load that the generator can send.
    pub(super) ours: f64,
    /// The share of trials in which it is in doubt, whatever their load.
    pub(super) in_doubt: f64,
    /// The share of trials in which its sends are late, which changes nothing else.
    pub(super) late: f64,
    /// The trial of this number, from 0, is disturbed: it passes, or fails, whatever its load.
    pub(super) disturbed: Option<(u32, bool)>,
}

/// What the limit is made of.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Kind {
    /// It answers so many queries a second, and loses the others.
    Hard,
    /// The limit differs by so much from trial to trial (standard deviation).
    Noise(f64),
    /// Beyond its limit it answers fewer: half as many at twice the limit.
    Collapse,
    /// After an overload it holds this share of the limit only, until a load is below that.
    Hysteresis(f64),
    /// The limit changes by this share in each trial.
    Drift(f64),
    /// A receive queue of so many seconds of answers absorbs what is too much, until it is full.
    Queue(f64),
    /// This share of trials has a bad second, in which a tenth of the queries is lost.
    BadSeconds(f64),
    /// Answers nothing within 100 ms, at any load.
    Slow,
    /// Cold: its first trials are slower.
    Cold,
    /// M/M/1: `limit` is the rate at which p99 is so many seconds.
    Mm1(f64),
    /// M/D/c with four servers and this service time in seconds.
    Mdc(f64),
}

impl Imaginary {
    pub(super) fn new(kind: Kind, limit: f64, seed: u64) -> Imaginary {
        let rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        Imaginary {
            kind,
            limit,
            rng,
            made: 0,
            overloaded: false,
            ours: f64::INFINITY,
            in_doubt: 0.0,
            late: 0.0,
            disturbed: None,
        }
    }

    /// The limit now.
    fn limit_now(&self) -> f64 {
        self.limit_at(f64::from(self.made))
    }

    /// The limit of a trial, by its number from 0.
    pub(super) fn limit_at(&self, trial: f64) -> f64 {
        match self.kind {
            Kind::Drift(share) => self.limit * (1.0 + share).powf(trial),
            _ => self.limit,
        }
    }

    /// The record of a trial.
    pub(super) fn trial(&mut self, request: &Request) -> Digest {
        let load = parse_rate_qps(request.draft.rate.as_deref().unwrap()).unwrap();
        let seconds = parse_duration_ns(request.draft.duration.as_deref().unwrap()).unwrap() as f64 * 1e-9;
        let limit = self.limit_now();
        self.made += 1;
        let second = |answered: f64, lost: f64, latency_ns: f64| Part::even(answered, lost, latency_ns);
        let whole = |answered: f64, latency_ns: f64| {
            vec![second(answered * seconds, (load - answered).max(0.0) * seconds, latency_ns)]
        };
        let disturbed = self.disturbed.filter(|(number, _)| number + 1 == self.made);
        let disturbed = disturbed.map(|(_, passes)| if passes { load } else { load / 2.0 });
        let parts = match self.kind {
            _ if disturbed.is_some() => whole(disturbed.unwrap_or(load), MS),
            Kind::Hard | Kind::Drift(_) => whole(load.min(limit), MS),
            Kind::Noise(width) => {
                let by: f64 = StandardNormal.sample(&mut self.rng);
                whole(load.min(limit * (width * by).exp()), MS)
            }
            Kind::Collapse if load > limit => whole(limit * limit / load, 20.0 * MS),
            Kind::Collapse => whole(load, MS),
            Kind::Hysteresis(share) => {
                let held = if self.overloaded { limit * share } else { limit };
                self.overloaded = load > held;
                whole(load.min(held), MS)
            }
            Kind::Queue(depth_s) => queue(load, limit, seconds, depth_s),
            Kind::BadSeconds(share) => {
                let is_bad = self.rng.random::<f64>() < share;
                let answered = load.min(limit) * if is_bad { 1.0 - 0.1 / seconds } else { 1.0 };
                whole(answered, MS)
            }
            Kind::Slow => whole(load, 150.0 * MS),
            Kind::Cold => whole(load.min(limit), MS * (41.0 / f64::from(self.made.min(3)).powi(4)).max(1.0)),
            Kind::Mm1(p99_s) => {
                let rate = self.limit + 100f64.ln() / p99_s;
                vec![queued(load, seconds, 1, &mut self.rng, &mut |rng| {
                    let drawn: f64 = Exp1.sample(rng);
                    drawn / rate
                })]
            }
            Kind::Mdc(service_s) => vec![queued(load, seconds, 4, &mut self.rng, &mut |_| service_s)],
        };
        let mut is_one_of = |share: f64| share > 0.0 && self.rng.random::<f64>() < share;
        let (in_doubt, is_late) = (is_one_of(self.in_doubt) || load > self.ours, is_one_of(self.late));
        digest(load, seconds, parts, (in_doubt, is_late))
    }
}

/// A part of a trial.
struct Part {
    answered: u64,
    lost: u64,
    latency: Histogram,
}

impl Part {
    /// Latencies around one, all of them counted in a few buckets.
    fn even(answered: f64, lost: f64, latency_ns: f64) -> Part {
        let (answered, lost) = (answered.round() as u64, lost.round() as u64);
        let shares = [(0.5, 0.9), (0.4, 1.0), (0.09, 1.2), (0.01, 1.5)];
        let mut left = answered;
        let mut buckets = Vec::new();
        for (share, factor) in shares {
            let count = ((answered as f64 * share).ceil() as u64).min(left);
            left -= count;
            let ns = (latency_ns * factor) as u64;
            if count > 0 {
                buckets.push(Bucket { from_ns: ns, to_ns: ns, count });
            }
        }
        let sum_ns = buckets.iter().map(|bucket| u128::from(bucket.to_ns) * u128::from(bucket.count)).sum();
        let ends =
            (buckets.first().map_or(0, |first| first.to_ns), buckets.last().map_or(0, |last| last.to_ns));
        let exact = ExactFigures { sum_ns, sum_squares_ns2: 0, min_ns: ends.0, max_ns: ends.1 };
        Part { answered, lost, latency: Histogram::from_parts(buckets, exact) }
    }
}

/// A queue that fills by what is too much, in ten parts.
fn queue(load: f64, limit: f64, seconds: f64, depth_s: f64) -> Vec<Part> {
    let part_s = seconds / 10.0;
    let mut waiting = 0.0;
    let part = |_| {
        let before = waiting;
        let offered = load * part_s;
        let answered_at_most = limit * part_s;
        let held = (waiting + offered - answered_at_most).max(0.0);
        let lost = (held - depth_s * limit).max(0.0);
        waiting = held - lost;
        Part::even(offered - lost, lost, MS + (before + waiting) / 2.0 / limit * 1e9)
    };
    (0..10).map(part).collect()
}

/// Queries that arrive at random (Poisson) and are served in turn by `servers`, each in a time that is drawn.
fn queued(
    load: f64,
    seconds: f64,
    servers: usize,
    rng: &mut Xoshiro256PlusPlus,
    service_s: &mut dyn FnMut(&mut Xoshiro256PlusPlus) -> f64,
) -> Part {
    let mut latency = Histogram::new();
    // With equal service times, queries leave in the order in which they came: each waits for the one that came so
    // many before it as there are servers.
    let mut free_at = vec![0.0_f64; servers];
    let (mut now, mut at, mut answered) = (0.0, 0, 0);
    loop {
        let gap: f64 = Exp1.sample(rng);
        now += gap / load;
        if now > seconds {
            break;
        }
        let begins = free_at[at].max(now);
        free_at[at] = begins + service_s(rng);
        latency.record(((free_at[at] - now) * 1e9) as u64);
        at = (at + 1) % servers;
        answered += 1;
    }
    Part { answered, lost: 0, latency }
}

/// The record of a trial; one in doubt had drops at our sockets, or late sends.
fn digest(load: f64, seconds: f64, parts: Vec<Part>, (in_doubt, is_late): (bool, bool)) -> Digest {
    let length_ns = (seconds * 1e9) as u64 / parts.len() as u64;
    let header = Header {
        run_id: "imaginary".into(),
        interval_ns: length_ns,
        headline: Headline::Response,
        types: vec![1],
        ..Header::default()
    };
    let has_rows = parts.len() > 1;
    let mut digest = Digest::new(header);
    let mut sum = Tally::default();
    let schedule_ns = length_ns * parts.len() as u64;
    for (index, part) in (0..).zip(parts) {
        let mut tally = Tally { response: part.latency, ..Tally::default() };
        tally.scheduled = part.answered + part.lost;
        tally.ends.answered = part.answered;
        tally.ends.timed_out = part.lost;
        tally.rcodes.add(0, part.answered);
        tally.types = vec![TypeCount { sent: tally.scheduled, answered: part.answered }];
        if !has_rows {
            sum = tally;
            continue;
        }
        sum.merge(&tally);
        digest.interval(&Interval {
            index,
            from_ns: index * length_ns,
            to_ns: (index + 1) * length_ns,
            covered_ns: None,
            asked_qps: load,
            tally,
            arrivals: Arrivals::default(),
            workers: Vec::new(),
            watched: Vec::new(),
        });
    }
    let timed_out = sum.ends.timed_out;
    let drops = in_doubt.then_some(Warning::SocketDrops { packets: 100, timed_out });
    let warnings = drops.into_iter().chain(is_late.then(late)).collect();
    digest.sum(&Sum {
        to_ns: schedule_ns,
        tally: sum,
        arrivals: Arrivals::default(),
        warnings,
        notes: Vec::new(),
        ended: Ended::ByTime,
        evidence: Evidence::default(),
        late_after_settled: 0,
        last_answer_ns: None,
        workers: Vec::new(),
        schedule_ns,
        passes: 1.0,
        interface: None,
        queries_per_client: Vec::new(),
        explanations: Vec::new(),
        replay: None,
        answers: None,
        watched: Vec::new(),
    });
    digest
}

fn late() -> Warning {
    Warning::SendsLate { p99_lateness_ns: 2_000_000, longest_ns: 3_000_000 }
}

const MS: f64 = 1e6;

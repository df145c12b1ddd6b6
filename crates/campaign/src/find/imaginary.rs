//! Imaginary servers with a known limit. They give the records of trials without sending anything, thousands a second.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use dnsdyno_measure::{
    Arrivals, Bucket, Evidence, ExactFigures, Histogram, OwnDelay, ShortDelay, Tally, TypeCount, Verdict,
    verdict,
};
use dnsdyno_plan::Draft;
use dnsdyno_plan::expect::{Bound, StopCondition};
use dnsdyno_record::{Digest, Header, Headline, Interval, Sum};
use dnsdyno_text::notation::{parse_duration_ns, parse_rate_qps};
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
    /// The highest load that the generator can take the responses of; it loses the others.
    pub(super) ours: f64,
    /// The share of trials in which it loses a hundred responses, whatever their load.
    pub(super) loses: f64,
    /// The share of trials in which the generator has no CPU at times, and its sends are late.
    pub(super) late: f64,
    /// How long it has none then, on average, in seconds.
    pub(super) stop_s: f64,
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
            loses: 0.0,
            late: 0.0,
            stop_s: 0.003,
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
        let planned_s = parse_duration_ns(request.draft.duration.as_deref().unwrap()).unwrap() as f64 * 1e-9;
        let limit = self.limit_now();
        self.made += 1;
        let is_one_of = |share: f64, rng: &mut Xoshiro256PlusPlus| share > 0.0 && rng.random::<f64>() < share;
        let (loses, is_late) = (is_one_of(self.loses, &mut self.rng), is_one_of(self.late, &mut self.rng));
        let stop_s = is_late.then_some(self.stop_s);
        let lasts = Lasts::of(&request.draft, load, planned_s);
        let whole = |answered: f64, latency_ns: f64| {
            let seconds = lasts.seconds(answered, 0.0);
            let lost = (load - answered).max(0.0) * seconds;
            (seconds, vec![Part::even(answered * seconds, lost, latency_ns, is_late)])
        };
        let disturbed = self.disturbed.filter(|(number, _)| number + 1 == self.made);
        let disturbed = disturbed.map(|(_, passes)| if passes { load } else { load / 2.0 });
        let (seconds, parts) = match self.kind {
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
            Kind::Queue(depth_s) => {
                let full_s = if load > limit { depth_s * limit / (load - limit) } else { f64::INFINITY };
                let seconds = lasts.seconds(limit.min(load), full_s);
                (seconds, queue(load, limit, seconds, depth_s))
            }
            Kind::BadSeconds(share) => {
                let seconds = lasts.seconds(load.min(limit), 0.0);
                let is_bad = self.rng.random::<f64>() < share;
                let answered = load.min(limit) * if is_bad { 1.0 - 0.1 / seconds } else { 1.0 };
                let lost = (load - answered) * seconds;
                (seconds, vec![Part::even(answered * seconds, lost, MS, is_late)])
            }
            Kind::Slow => whole(load, 150.0 * MS),
            Kind::Cold => whole(load.min(limit), MS * (41.0 / f64::from(self.made.min(3)).powi(4)).max(1.0)),
            Kind::Mm1(p99_s) => {
                let rate = self.limit + 100f64.ln() / p99_s;
                let part = queued(load, planned_s, (1, stop_s), &mut self.rng, &mut |rng| {
                    let drawn: f64 = Exp1.sample(rng);
                    drawn / rate
                });
                (planned_s, vec![part])
            }
            Kind::Mdc(service_s) => {
                let part = queued(load, planned_s, (4, stop_s), &mut self.rng, &mut |_| service_s);
                (planned_s, vec![part])
            }
        };
        let beyond = ((load - self.ours).max(0.0) * seconds) as u64;
        digest(load, seconds, parts, beyond + if loses { 100 } else { 0 })
    }
}

/// How long a trial lasts: as planned, or until the condition that ends it has held for its time. A query is lost, and
/// an interval known, when the timeout has passed.
struct Lasts {
    load: f64,
    planned_s: f64,
    /// The shares of lost queries that end it, and for how long.
    stop: Vec<(f64, f64)>,
    timeout_s: f64,
}

impl Lasts {
    fn of(draft: &Draft, load: f64, planned_s: f64) -> Lasts {
        let seconds = |text: &str| parse_duration_ns(text).unwrap() as f64 * 1e-9;
        let stop = draft.stop_when.iter().flatten().map(|text| {
            let condition = StopCondition::parse(text).unwrap();
            let Bound::Share(share) = condition.holds.bound else { panic!("{text}") };
            (share, condition.for_ns as f64 * 1e-9)
        });
        Lasts {
            load,
            planned_s,
            stop: stop.collect(),
            timeout_s: draft.timeout.as_deref().map_or(5.0, seconds),
        }
    }

    /// Of a trial in which so many queries a second are answered from an instant on.
    fn seconds(&self, answered: f64, from_s: f64) -> f64 {
        let is_met = |(share, _): &&(f64, f64)| 1.0 - answered / self.load > *share;
        let ends = self.stop.iter().filter(is_met).map(|(_, for_s)| from_s + for_s + self.timeout_s + ROW_S);
        ends.fold(self.planned_s, f64::min)
    }
}

/// A part of a trial.
#[derive(Default)]
struct Part {
    answered: u64,
    lost: u64,
    /// From the instant that a query was due.
    response: Histogram,
    /// From the instant that it was sent.
    service: Histogram,
    /// Response time less what late sends have added.
    response_least: Histogram,
    lateness: Histogram,
    own_delay: Histogram,
}

impl Part {
    /// Latencies around one, all of them counted in a few buckets. Where sends are late, one in twenty is, by 2 ms.
    fn even(answered: f64, lost: f64, latency_ns: f64, is_late: bool) -> Part {
        let (answered, lost) = (answered.round() as u64, lost.round() as u64);
        let late = if is_late { answered / 20 } else { 0 };
        let shares = [(0.5, 0.9), (0.4, 1.0), (0.09, 1.2), (0.01, 1.5)];
        let of = |count: u64, later_ns: f64| {
            let mut left = count;
            let buckets = shares.into_iter().map(|(share, factor)| {
                let some = ((count as f64 * share).ceil() as u64).min(left);
                left -= some;
                (some, (latency_ns * factor + later_ns) as u64)
            });
            histogram(buckets.collect())
        };
        let mut response = of(answered - late, 0.0);
        response.merge(&of(late, LATE_NS));
        let lateness = histogram(vec![(answered - late + lost, 1_000), (late, LATE_NS as u64)]);
        let (service, own_delay) = (of(answered, 0.0), lateness.clone());
        Part { answered, lost, response, response_least: service.clone(), service, own_delay, lateness }
    }
}

/// So many durations of each length, the shortest first.
fn histogram(all: Vec<(u64, u64)>) -> Histogram {
    let counts = || all.iter().filter(|(count, _)| *count > 0);
    let sum_ns = counts().map(|(count, ns)| u128::from(*ns) * u128::from(*count)).sum();
    let [min_ns, max_ns] = [counts().next(), counts().next_back()].map(|end| end.map_or(0, |(_, ns)| *ns));
    let exact = ExactFigures { sum_ns, sum_squares_ns2: 0, min_ns, max_ns };
    let bucket = |(count, ns): &(u64, u64)| Bucket { from_ns: *ns, to_ns: *ns, count: *count };
    Histogram::from_parts(counts().map(bucket).collect::<Vec<_>>(), exact)
}

/// The same without so many of them.
fn without(durations: &Histogram, mut count: u64) -> Histogram {
    let kept = durations.buckets().map(|bucket| {
        let gone = bucket.count.min(count);
        count -= gone;
        (bucket.count - gone, bucket.to_ns)
    });
    histogram(kept.collect())
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
        Part::even(offered - lost, lost, MS + (before + waiting) / 2.0 / limit * 1e9, false)
    };
    (0..10).map(part).collect()
}

/// Queries that are due at random (Poisson) and are served in turn by `servers`, each in a time that is drawn. Where
/// sends are late, the generator has no CPU for some milliseconds, ten times a second.
fn queued(
    load: f64,
    seconds: f64,
    (servers, stop_s): (usize, Option<f64>),
    rng: &mut Xoshiro256PlusPlus,
    service_s: &mut dyn FnMut(&mut Xoshiro256PlusPlus) -> f64,
) -> Part {
    let mut part = Part::default();
    let (mut own, mut outstanding) = (OwnDelay::default(), BinaryHeap::new());
    // With equal service times, queries leave in the order in which they came: each waits for the one that came so
    // many before it as there are servers.
    let mut free_at = vec![0.0_f64; servers];
    let (mut now, mut at, mut stop) = (0.0, 0, (0.0, 0.0));
    let ns = |seconds: f64| (seconds * 1e9) as u64;
    loop {
        let gap: f64 = Exp1.sample(rng);
        now += gap / load;
        if now > seconds {
            break;
        }
        while let Some(stop_s) = stop_s.filter(|_| stop.1 < now) {
            let (wait, length): (f64, f64) = (Exp1.sample(rng), Exp1.sample(rng));
            let from = stop.1 + wait * STOPS_APART_S;
            stop = (from, from + length * stop_s);
        }
        let sent = if (stop.0..stop.1).contains(&now) { stop.1 } else { now };
        let begins = free_at[at].max(sent);
        free_at[at] = begins + service_s(rng);
        part.response.record(ns(free_at[at] - now));
        part.service.record(ns(free_at[at] - sent));
        part.lateness.record(ns(sent - now));
        while outstanding.peek().is_some_and(|Reverse(end_ns)| *end_ns < ns(sent)) {
            outstanding.pop();
        }
        let delay_ns = own.at_send(ns(sent), ns(sent - now), outstanding.is_empty());
        part.own_delay.record(delay_ns);
        part.response_least.record(ShortDelay::of(delay_ns).less(ns(free_at[at] - now)));
        outstanding.push(Reverse(ns(free_at[at])));
        at = (at + 1) % servers;
        part.answered += 1;
    }
    part
}

/// The record of a run of which these queries are known, and when the last one was sent.
pub(crate) fn record_of(tally: Tally, schedule_ns: u64, sent_until_ns: u64) -> Digest {
    let mut digest = Digest::new(Header { interval_ns: schedule_ns, types: vec![1], ..Header::default() });
    let mut sum = sum_of(tally, schedule_ns, 0);
    sum.evidence.scheduled_until_ns = sent_until_ns;
    digest.sum(&sum);
    digest
}

/// The record of a trial, in which the generator's sockets have dropped some responses.
fn digest(load: f64, seconds: f64, parts: Vec<Part>, dropped: u64) -> Digest {
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
        let tally = tally_of(part);
        if !has_rows {
            sum = tally;
            continue;
        }
        sum.merge(&tally);
        digest.interval(&Interval {
            agents: Vec::new(),
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
    let dropped = dropped.min(sum.ends.answered);
    lose(&mut sum, dropped);
    digest.sum(&sum_of(sum, schedule_ns, dropped));
    digest
}

/// What is counted of a part.
fn tally_of(part: Part) -> Tally {
    let Part { response, response_least, service, lateness, own_delay, .. } = part;
    let mut tally = Tally { response, response_least, service, lateness, own_delay, ..Tally::default() };
    tally.scheduled = part.answered + part.lost;
    tally.ends.answered = part.answered;
    tally.ends.timed_out = part.lost;
    tally.rcodes.add(0, part.answered);
    tally.types = vec![TypeCount { sent: tally.scheduled, answered: part.answered }];
    tally
}

/// Some responses do not reach the generator.
fn lose(sum: &mut Tally, dropped: u64) {
    if dropped == 0 {
        return;
    }
    sum.ends.answered -= dropped;
    sum.ends.timed_out += dropped;
    for durations in [&mut sum.response, &mut sum.response_least, &mut sum.service] {
        *durations = without(durations, dropped);
    }
}

/// The end of the record.
fn sum_of(tally: Tally, schedule_ns: u64, dropped: u64) -> Sum {
    let evidence = Evidence {
        open_loop: true,
        schedule_ns,
        scheduled_until_ns: schedule_ns,
        workers: 1,
        socket_drops: dropped,
        ..Evidence::default()
    };
    let arrivals = Arrivals { socket_drops: dropped, ..Arrivals::default() };
    let Verdict { doubts: warnings, notes } = verdict(&tally, &arrivals, &evidence);
    Sum {
        to_ns: schedule_ns,
        tally,
        arrivals,
        warnings,
        notes,
        evidence,
        schedule_ns,
        passes: 1.0,
        ..Sum::default()
    }
}

const MS: f64 = 1e6;

/// The longest row of a trial: a condition is looked at once in each.
const ROW_S: f64 = 1.0;

/// How late a send is that is late.
const LATE_NS: f64 = 2.0 * MS;

/// How long the generator has a CPU before it has none.
const STOPS_APART_S: f64 = 0.1;

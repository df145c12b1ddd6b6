//! What the metrics of a run are made from: counts since its start, and the figures of its last interval.
//!
//! All of it is of bounded size, whatever a plan or a server brings: members are those of the plan, RCODEs without
//! a name are one, and of a load with very many parts the later ones are one.

use std::collections::BTreeMap;

use dnsdyno_measure::series::is_raw;
use dnsdyno_measure::{Arrivals, Counter, Ends, NotSent, PERCENTILES, Quantile, Rcodes, Samples, Tally};
use dnsdyno_record::{Digest, Header, Interval};
use dnsdyno_runner::Live;

use super::buckets::Buckets;

/// The metrics of a run so far.
#[derive(Clone, Debug, Default)]
pub(crate) struct State {
    /// `None` before the run begins.
    pub(crate) header: Option<Header>,
    pub(crate) stage: Stage,
    /// Length of the schedule, where the plan limits it.
    pub(crate) schedule_ns: Option<u64>,
    /// The end of the last wall interval.
    pub(crate) to_ns: u64,
    /// The scheduled rate of the last wall interval; `None` in closed loop.
    pub(crate) asked_qps: Option<f64>,
    /// Largest number of outstanding queries in the last wall interval.
    pub(crate) in_flight_max: u64,
    /// Largest number of established connections in the last wall interval; `None` where there are none.
    pub(crate) connections_max: Option<u64>,
    /// What passed the sockets in all wall intervals.
    pub(crate) arrivals: Arrivals,
    pub(crate) requests: u64,
    pub(crate) retried: u64,
    pub(crate) bytes_sent: u64,
    pub(crate) bytes_answered: u64,
    pub(crate) rcodes: Rcodes,
    pub(crate) not_sent: NotSent,
    pub(crate) lateness: Buckets,
    pub(crate) parts: BTreeMap<Part, OfPart>,
    /// The percentiles of the headline latency in the last settled interval, with their names: "99.9".
    pub(crate) percentiles: Vec<(&'static str, u64)>,
    /// What was read beside the load, by source: the rises of counters together, the last values of gauges.
    pub(crate) watched: Vec<Samples>,
    /// Names of the warnings that the intervals give so far.
    pub(crate) doubts: Vec<&'static str>,
    judged_intervals: u64,
}

/// Where a run is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Stage {
    /// Its source is loaded, its server is asked for the first time.
    #[default]
    Preparing,
    Running,
    /// Nothing more is sent; outstanding queries are waited for.
    Stopping,
    Ended,
}

impl Stage {
    pub(crate) const EACH: [(Stage, &str); 4] = [
        (Stage::Preparing, "preparing"),
        (Stage::Running, "running"),
        (Stage::Stopping, "stopping"),
        (Stage::Ended, "ended"),
    ];
}

/// A member of a mix and a part of the load, as labels.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Part {
    pub(crate) transport: String,
    /// The name of the member; in a run of one, the transport.
    pub(crate) member: String,
    /// Empty where the load has no parts, or the interval is after the last one.
    pub(crate) phase: String,
}

/// How the queries of a member ended in a part of the load.
#[derive(Clone, Debug, Default)]
pub(crate) struct OfPart {
    pub(crate) ends: Ends,
    pub(crate) response: Buckets,
    pub(crate) service: Buckets,
}

impl State {
    pub(crate) fn begin(&mut self, header: &Header, schedule_ns: Option<u64>) {
        self.header = Some(header.clone());
        self.schedule_ns = schedule_ns;
        self.stage = Stage::Running;
    }

    /// Adds a wall interval.
    pub(crate) fn pass(&mut self, live: &Live<'_>) {
        self.to_ns = live.to_ns;
        self.asked_qps = self.is_open_loop().then_some(live.asked_qps);
        self.in_flight_max = live.arrivals.in_flight_max;
        self.connections_max = live.arrivals.connections.as_ref().map(|connections| connections.open_max);
        self.arrivals.merge_in_time(live.arrivals);
    }

    /// Adds a settled interval.
    pub(crate) fn settle(&mut self, interval: &Interval) {
        let Some(header) = &self.header else { return };
        let (timeout_ns, tally) = (header.timeout_ns, &interval.tally);
        self.requests = self.requests.saturating_add(tally.requests);
        self.retried = self.retried.saturating_add(tally.retried);
        self.bytes_sent = self.bytes_sent.saturating_add(tally.bytes_sent);
        self.bytes_answered = self.bytes_answered.saturating_add(tally.bytes_answered);
        self.rcodes.merge(&tally.rcodes);
        self.not_sent.merge(&tally.ends.not_sent);
        self.lateness.add(&tally.lateness);
        self.percentiles = percentiles_of(header, tally);
        let phase = phase_label(header, interval.from_ns);
        let of_run = (
            &header.transport,
            &*header.transport,
            &tally.ends,
            tally.response_latency(),
            tally.service_latency(),
        );
        let members = tally.members.iter().zip(&header.mix);
        let of_members = members.map(|(member, info)| {
            (&info.transport, info.label(), &member.ends, member.response_latency(), member.service_latency())
        });
        let parts: Vec<_> = if header.mix.is_empty() { vec![of_run] } else { of_members.collect() };
        for (transport, member, ends, response, service) in parts {
            let part = Part { transport: transport.clone(), member: member.to_owned(), phase: phase.clone() };
            let of_part = self.parts.entry(part).or_default();
            of_part.ends.merge(ends);
            of_part.response.add_latency(response, timeout_ns);
            of_part.service.add_latency(service, timeout_ns);
        }
    }

    /// Adds what was read beside the load in an interval. A server's own names are left out: the common ones repeat
    /// them.
    pub(crate) fn sample(&mut self, interval: &Interval) {
        let sources = interval.watched.len();
        self.watched.resize_with(sources.max(self.watched.len()), Samples::default);
        for (known, samples) in self.watched.iter_mut().zip(&interval.watched) {
            let Some(samples) = samples else { continue };
            for (name, rise) in samples.counters.iter().filter(|(name, _)| !is_raw(name)) {
                if known.counters.len() < MOST_SERIES || known.counters.contains_key(name) {
                    let sum = known.counters.entry(name.clone()).or_default();
                    *sum = sum.saturating_add(*rise);
                }
            }
            let gauges = samples.gauges.iter().filter(|(name, _)| !is_raw(name));
            known.gauges = gauges.take(MOST_SERIES).map(|(name, value)| (name.clone(), *value)).collect();
        }
    }

    /// Whether [`judge`](Self::judge) would find anything new in the digest.
    pub(crate) fn is_behind(&self, digest: &Digest) -> bool {
        self.judged_intervals != digest.intervals
    }

    /// Takes the doubts over the generator from the summary so far.
    pub(crate) fn judge(&mut self, digest: &Digest) {
        self.judged_intervals = digest.intervals;
        self.doubts = digest.warnings().iter().map(|warning| warning.name()).collect();
        self.doubts.dedup();
    }

    /// The run has ended, and this is its summary.
    pub(crate) fn end(&mut self, digest: &Digest) {
        self.stage = Stage::Ended;
        self.judge(digest);
    }

    /// The counts so far; the state goes on from 0.
    pub(crate) fn take(&mut self) -> State {
        let next = State {
            header: self.header.clone(),
            stage: self.stage,
            schedule_ns: self.schedule_ns,
            to_ns: self.to_ns,
            asked_qps: self.asked_qps,
            in_flight_max: self.in_flight_max,
            connections_max: self.connections_max,
            watched: self.watched.iter().map(gauges_of).collect(),
            doubts: self.doubts.clone(),
            judged_intervals: self.judged_intervals,
            ..State::default()
        };
        std::mem::replace(self, next)
    }

    /// The part of the load at the end of the last wall interval.
    pub(crate) fn phase(&self) -> Option<String> {
        let header = self.header.as_ref().filter(|_| self.stage == Stage::Running)?;
        Some(phase_label(header, self.to_ns.saturating_sub(1))).filter(|label| !label.is_empty())
    }

    fn is_open_loop(&self) -> bool {
        self.header.as_ref().is_some_and(|header| header.headline == dnsdyno_record::Headline::Response)
    }
}

/// The levels stay where the counts go on from 0.
fn gauges_of(samples: &Samples) -> Samples {
    Samples { gauges: samples.gauges.clone(), ..Samples::default() }
}

/// Counters, and gauges, of one source that are told.
const MOST_SERIES: usize = 1_000;

fn percentiles_of(header: &Header, tally: &Tally) -> Vec<(&'static str, u64)> {
    let latency = header.latency_of(tally);
    let of = |(name, quantile): (&'static str, f64)| {
        let ns = match latency.percentile(quantile)? {
            Quantile::At(ns) => ns,
            Quantile::BeyondTimeout => header.timeout_ns,
        };
        Some((name, ns))
    };
    let names = PERCENTILES.iter().map(|(name, .., quantile)| (name.trim_start_matches('p'), *quantile));
    names.filter_map(of).collect()
}

/// The label of the part of the load in which an interval begins.
fn phase_label(header: &Header, from_ns: u64) -> String {
    match header.phase_at(from_ns) {
        Some(phase) if phase < MOST_PHASES => header.phases[phase].label.clone(),
        Some(_) => "other".to_owned(),
        None => String::new(),
    }
}

/// Parts of a load with labels of their own, as many as a summary shows as rows.
const MOST_PHASES: usize = dnsdyno_record::MAX_PHASE_ROWS;

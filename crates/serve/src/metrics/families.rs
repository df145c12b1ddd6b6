//! What is exposed: every family of metrics, with its meaning and its samples in a state.
//!
//! The one list of them: texts and OTLP are made from it, and `docs/metrics.md` and the dashboard are held against it
//! by tests.

use std::borrow::Cow;

use dnsdyno_measure::{Group, Histogram, Visitor};
use dnsdyno_wire::rcode_name;

use super::buckets::{Buckets, seconds};
use super::state::{OfPart, Part, Stage, State};

/// Samples with one name and one meaning.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Family {
    /// Without the suffix that a text format gives it: `_total` of a counter, `_info`.
    pub(crate) name: &'static str,
    pub(crate) help: &'static str,
    pub(crate) samples: Samples,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Samples {
    Counter(Vec<(Labels, u64)>),
    /// A time that grows, in seconds.
    Seconds(f64),
    Gauge(Vec<(Labels, f64)>),
    Histogram(Vec<(Labels, Buckets)>),
    /// Facts, as labels.
    Info(Labels),
}

/// The labels of one sample.
pub(crate) type Labels = Vec<(&'static str, String)>;

/// The families that have samples in this state.
pub(crate) fn families(state: &State) -> Vec<Family> {
    let mut families = Families(Vec::new());
    families.run(state);
    families.live(state);
    families.settled(state);
    families.connections(state);
    families.generator(state);
    families.watched(state);
    families.0
}

struct Families(Vec<Family>);

impl Families {
    fn run(&mut self, state: &State) {
        if let Some(header) = &state.header {
            let labels = [
                ("run_id", &header.run_id),
                ("name", header.name.as_ref().unwrap_or(&header.run_id)),
                ("server", &header.target),
                ("transport", &header.transport),
                ("load", &header.load),
                ("version", &header.version),
            ]
            .map(|(key, value)| (key, value.clone()));
            self.info("dnsdyno_run", "The run that is measured", labels.to_vec());
            self.gauge(
                "dnsdyno_timeout_seconds",
                "Timeout of a query",
                [(vec![], seconds(header.timeout_ns))],
            );
            self.gauge(
                "dnsdyno_workers",
                "Threads that send and receive",
                [(vec![], f64::from(header.workers))],
            );
        }
        let stages = Stage::EACH
            .map(|(stage, name)| (label("state", name), f64::from(u8::from(stage == state.stage))));
        self.gauge("dnsdyno_run_state", "1 for the state in which the run is", stages);
        self.gauge(
            "dnsdyno_run_elapsed_seconds",
            "Time since the start of the run, in whole intervals",
            [(vec![], seconds(state.to_ns))],
        );
        let schedule = state.schedule_ns.map(|ns| (vec![], seconds(ns)));
        self.gauge("dnsdyno_run_schedule_seconds", "When the last query is due", schedule);
        let phase = state.phase().map(|phase| (label("phase", &phase), 1.0));
        self.gauge("dnsdyno_phase_active", "1 for the part of the load in which the run is", phase);
    }

    /// What is read beside the load.
    fn watched(&mut self, state: &State) {
        let sources = || state.header.iter().flat_map(|header| &header.watched).zip(&state.watched);
        let labels = |watched: &dnsdyno_measure::Watched, series: &String| {
            let (kind, source) = (watched.kind.word().to_owned(), watched.label.clone());
            vec![("kind", kind), ("source", source), ("series", series.clone())]
        };
        let counters = sources().flat_map(|(watched, samples)| {
            samples.counters.iter().map(move |(name, rise)| (labels(watched, name), *rise))
        });
        self.counter(
            "dnsdyno_watched_rise",
            "By how much a watched counter rose since the start, in the unit at the end of its name",
            counters,
        );
        let gauges = sources().flat_map(|(watched, samples)| {
            samples.gauges.iter().map(move |(name, value)| (labels(watched, name), *value as f64))
        });
        self.gauge(
            "dnsdyno_watched_value",
            "The highest value of a watched gauge in the last interval, in the unit at the end of its name",
            gauges,
        );
    }

    /// What is counted when it happens.
    fn live(&mut self, state: &State) {
        let asked = state.asked_qps.map(|qps| (vec![], qps));
        self.gauge(
            "dnsdyno_asked_queries_per_second",
            "Rate that the schedule asks for, in the last interval; absent in closed loop",
            asked,
        );
        self.gauge(
            "dnsdyno_in_flight_queries",
            "Largest number of outstanding queries in the last interval",
            [(vec![], state.in_flight_max as f64)],
        );
        let arrivals = &state.arrivals;
        let events = [
            ("sent", arrivals.sent),
            ("answered", arrivals.answered),
            ("answered_late", arrivals.late),
            ("answered_wrong", arrivals.wrong),
            ("timed_out", arrivals.timed_out),
            ("refused", arrivals.refused),
            ("not_sent", arrivals.not_sent),
        ];
        self.counter(
            "dnsdyno_live_queries",
            "Queries by what happened to them, counted when it happened",
            events.map(|(event, count)| (label("event", event), count)),
        );
        self.counter(
            "dnsdyno_response_anomalies",
            "Responses that ended no query, and truncated responses",
            counts(&arrivals.anomalies).into_iter().map(|(kind, count)| (label("kind", &kind), count)),
        );
    }

    /// What is counted when each query that was due in an interval has ended.
    fn settled(&mut self, state: &State) {
        let ends = state.parts.iter().flat_map(|(part, of)| {
            let labels = |end: String| [labels_of(part), label("end", &end)].concat();
            counts(&of.ends).into_iter().map(move |(end, count)| (labels(end), count))
        });
        self.counter(
            "dnsdyno_queries",
            "Queries by how they ended, counted when all queries of their interval have ended",
            ends,
        );
        let transport = state.header.as_ref().map(|header| header.transport.as_str()).unwrap_or_default();
        self.counter(
            "dnsdyno_responses",
            "Queries answered, in time or late, by RCODE",
            rcodes_of(state).into_iter().map(|(rcode, count)| {
                ([label("transport", transport), label("rcode", &rcode)].concat(), count)
            }),
        );
        let not_sent = counts(&state.not_sent).into_iter();
        self.counter(
            "dnsdyno_queries_not_sent",
            "Queries that the generator did not send, by reason",
            not_sent.map(|(reason, count)| (label("reason", &reason), count)),
        );
        self.counter(
            "dnsdyno_requests",
            "DNS messages sent: a query may be more than one",
            [(vec![], state.requests)],
        );
        self.counter(
            "dnsdyno_requests_retried",
            "DNS messages sent again after their connection was lost",
            [(vec![], state.retried)],
        );
        self.counter("dnsdyno_sent_bytes", "Bytes of DNS messages sent", [(vec![], state.bytes_sent)]);
        self.counter(
            "dnsdyno_answered_bytes",
            "Bytes of DNS messages in the responses that ended a query",
            [(vec![], state.bytes_answered)],
        );
        let by_part = |of: fn(&OfPart) -> &Buckets| {
            state.parts.iter().map(move |(part, counts)| (labels_of(part), of(counts).clone()))
        };
        self.histogram(
            "dnsdyno_response_seconds",
            "Response minus intended instant; an unanswered query counts beyond all bounds",
            by_part(|part| &part.response),
        );
        self.histogram(
            "dnsdyno_service_seconds",
            "Response minus send; an unanswered query counts beyond all bounds",
            by_part(|part| &part.service),
        );
        self.gauge(
            "dnsdyno_interval_latency_seconds",
            "Exact percentiles of the headline latency in the last settled interval; the timeout where it is reached",
            state.percentiles.iter().map(|(name, ns)| (label("percentile", name), seconds(*ns))),
        );
    }

    fn connections(&mut self, state: &State) {
        let Some(connections) = &state.arrivals.connections else { return };
        let reasons = |group: &dyn Group| {
            counts(group).into_iter().map(|(reason, count)| (label("reason", &reason), count))
        };
        self.counter("dnsdyno_connections_opened", "Connections started", [(vec![], connections.opened)]);
        self.counter(
            "dnsdyno_connections_established",
            "Connections established",
            [(vec![], connections.established)],
        );
        self.counter(
            "dnsdyno_connections_failed",
            "Connections not established, by reason",
            reasons(&connections.failed),
        );
        self.counter(
            "dnsdyno_connections_ended",
            "Established connections that ended, by reason",
            reasons(&connections.ended),
        );
        self.gauge(
            "dnsdyno_connections_open",
            "Largest number of established connections in the last interval",
            state.connections_max.map(|open| (vec![], open as f64)),
        );
        self.histogram(
            "dnsdyno_connect_seconds",
            "From the SYN to the established connection",
            [(vec![], buckets_of(&connections.connect))],
        );
        let Some(encrypted) = &connections.encrypted else { return };
        self.histogram(
            "dnsdyno_handshake_seconds",
            "TLS and QUIC handshakes done, by kind",
            encrypted
                .handshakes
                .iter()
                .map(|(kind, histogram)| (label("kind", kind.key()), buckets_of(histogram))),
        );
        self.counter(
            "dnsdyno_handshakes_failed",
            "TLS and QUIC handshakes that failed, by reason",
            reasons(&encrypted.failed),
        );
    }

    /// Whether the generator itself was the limit.
    fn generator(&mut self, state: &State) {
        self.histogram(
            "dnsdyno_lateness_seconds",
            "Send minus intended instant, of all queries sent",
            [(vec![], state.lateness.clone())],
        );
        self.seconds(
            "dnsdyno_generator_cpu_seconds",
            "CPU time of the workers",
            seconds(state.arrivals.cpu_ns),
        );
        self.seconds(
            "dnsdyno_generator_cpu_wait_seconds",
            "Time that the workers waited for a CPU",
            seconds(state.arrivals.cpu_wait_ns),
        );
        self.counter(
            "dnsdyno_socket_drops",
            "Packets that the kernel dropped at our sockets, because they were not read fast enough",
            [(vec![], state.arrivals.socket_drops)],
        );
        self.gauge(
            "dnsdyno_generator_doubts",
            "Number of reasons why the figures may not be those of the server; 0 is a generator that is ok",
            [(vec![], state.doubts.len() as f64)],
        );
        self.gauge(
            "dnsdyno_generator_doubt",
            "1 for each reason why the figures may not be those of the server",
            state.doubts.iter().map(|name| (label("warning", name), 1.0)),
        );
    }
}

/// Answers by the name of their RCODE; those without a name together, because a server can send any of 4,096.
fn rcodes_of(state: &State) -> Vec<(String, u64)> {
    let mut named: Vec<(String, u64)> = Vec::new();
    let mut others = 0_u64;
    for (rcode, count) in state.rcodes.iter() {
        match rcode_name(rcode) {
            Cow::Borrowed(name) => named.push((name.to_owned(), count)),
            Cow::Owned(_) => others = others.saturating_add(count),
        }
    }
    named.extend((others > 0).then(|| ("other".to_owned(), others)));
    named
}

fn label(key: &'static str, value: &str) -> Labels {
    vec![(key, value.to_owned())]
}

fn labels_of(part: &Part) -> Labels {
    vec![
        ("transport", part.transport.clone()),
        ("member", part.member.clone()),
        ("phase", part.phase.clone()),
    ]
}

fn buckets_of(histogram: &Histogram) -> Buckets {
    let mut buckets = Buckets::default();
    buckets.add(histogram);
    buckets
}

/// A family without a sample is left out.
impl Families {
    fn counter(
        &mut self,
        name: &'static str,
        help: &'static str,
        samples: impl IntoIterator<Item = (Labels, u64)>,
    ) {
        let samples: Vec<_> = samples.into_iter().collect();
        if !samples.is_empty() {
            self.0.push(Family { name, help, samples: Samples::Counter(samples) });
        }
    }

    fn seconds(&mut self, name: &'static str, help: &'static str, seconds: f64) {
        self.0.push(Family { name, help, samples: Samples::Seconds(seconds) });
    }

    fn gauge(
        &mut self,
        name: &'static str,
        help: &'static str,
        samples: impl IntoIterator<Item = (Labels, f64)>,
    ) {
        let samples: Vec<_> = samples.into_iter().collect();
        if !samples.is_empty() {
            self.0.push(Family { name, help, samples: Samples::Gauge(samples) });
        }
    }

    fn histogram(
        &mut self,
        name: &'static str,
        help: &'static str,
        samples: impl IntoIterator<Item = (Labels, Buckets)>,
    ) {
        let samples: Vec<_> = samples.into_iter().collect();
        if !samples.is_empty() {
            self.0.push(Family { name, help, samples: Samples::Histogram(samples) });
        }
    }

    fn info(&mut self, name: &'static str, help: &'static str, labels: Labels) {
        self.0.push(Family { name, help, samples: Samples::Info(labels) });
    }
}

/// The counters of a group with their keys; a group within it counts as its sum.
fn counts(group: &dyn Group) -> Vec<(String, u64)> {
    let mut visitor = Counts(Vec::new());
    group.visit_each(&mut visitor);
    visitor.0
}

struct Counts(Vec<(String, u64)>);

impl Visitor for Counts {
    fn count(&mut self, key: &str, count: u64) {
        self.0.push((key.to_owned(), count));
    }

    fn histogram(&mut self, _key: &str, _histogram: &Histogram) {}

    fn group(&mut self, key: &str, group: Option<&dyn Group>) {
        let inner = group.map(counts).unwrap_or_default();
        self.0.push((key.to_owned(), inner.iter().fold(0, |sum, (_, count)| sum.saturating_add(*count))));
    }
}

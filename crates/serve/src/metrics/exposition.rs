//! The metrics of a run as text: OpenMetrics 1.0, or the older format of Prometheus for clients that do not ask for it.
//!
//! The families below are the one list of what is exposed; `docs/metrics.md` and the dashboard are held against it by
//! tests.

use std::fmt;
use std::fmt::Write;
use std::sync::Arc;

use dnsdyno_measure::{Group, Histogram, Visitor};
use dnsdyno_wire::rcode_name;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, text};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::exemplar::Exemplar;
use prometheus_client::registry::Registry;

use super::buckets::{BOUNDS_NS, Buckets, seconds};
use super::state::{OfPart, Part, Stage, State};

/// The text of OpenMetrics 1.0.
pub(crate) fn open_metrics(state: &Arc<State>) -> Result<String, fmt::Error> {
    let mut registry = Registry::default();
    registry.register_collector(Box::new(Snapshot(Arc::clone(state))));
    let mut text = String::new();
    text::encode(&mut text, &registry)?;
    Ok(text)
}

/// The text format 0.0.4 of Prometheus: the same samples, under comments that name each family as its samples are
/// named.
pub(crate) fn prometheus_text(open_metrics: &str) -> String {
    let mut text = String::with_capacity(open_metrics.len());
    let mut help = "";
    for line in open_metrics.lines() {
        let comment = line.strip_prefix("# ").and_then(|comment| comment.split_once(' '));
        let (suffix, kind) = match comment {
            Some(("HELP", named)) => {
                help = named.split_once(' ').map_or("", |(_, help)| help);
                continue;
            }
            Some(("TYPE", named)) if named.ends_with(" counter") => ("_total", "counter"),
            Some(("TYPE", named)) if named.ends_with(" info") => ("_info", "gauge"),
            Some(("TYPE", named)) => ("", named.rsplit(' ').next().unwrap_or_default()),
            Some(("UNIT", _)) => continue,
            _ if line == "# EOF" => continue,
            _ => {
                text.push_str(line);
                text.push('\n');
                continue;
            }
        };
        let name = comment.and_then(|(_, named)| named.split(' ').next()).unwrap_or_default();
        // Writing to a text cannot fail.
        let _ = write!(text, "# HELP {name}{suffix} {help}\n# TYPE {name}{suffix} {kind}\n");
    }
    text
}

/// What one scrape sees, without holding up the run.
#[derive(Debug)]
struct Snapshot(Arc<State>);

impl Collector for Snapshot {
    fn encode(&self, encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let mut families = Families(encoder);
        self.run(&mut families)?;
        self.live(&mut families)?;
        self.settled(&mut families)?;
        self.connections(&mut families)?;
        self.generator(&mut families)
    }
}

impl Snapshot {
    fn run(&self, families: &mut Families<'_>) -> fmt::Result {
        let state = &*self.0;
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
            families.info("dnsdyno_run", "The run that is measured", labels.to_vec())?;
            families.gauge(
                "dnsdyno_timeout_seconds",
                "Timeout of a query",
                [(vec![], seconds(header.timeout_ns))],
            )?;
            families.gauge(
                "dnsdyno_workers",
                "Threads that send and receive",
                [(vec![], f64::from(header.workers))],
            )?;
        }
        let stages = Stage::EACH
            .map(|(stage, name)| (label("state", name), f64::from(u8::from(stage == state.stage))));
        families.gauge("dnsdyno_run_state", "1 for the state in which the run is", stages)?;
        families.gauge(
            "dnsdyno_run_elapsed_seconds",
            "Time since the start of the run, in whole intervals",
            [(vec![], seconds(state.to_ns))],
        )?;
        let schedule = state.schedule_ns.map(|ns| (vec![], seconds(ns)));
        families.gauge("dnsdyno_run_schedule_seconds", "When the last query is due", schedule)?;
        let phase = state.phase().map(|phase| (label("phase", &phase), 1.0));
        families.gauge("dnsdyno_phase_active", "1 for the part of the load in which the run is", phase)
    }

    /// What is counted when it happens.
    fn live(&self, families: &mut Families<'_>) -> fmt::Result {
        let state = &*self.0;
        let asked = state.asked_qps.map(|qps| (vec![], qps));
        families.gauge(
            "dnsdyno_asked_queries_per_second",
            "Rate that the schedule asks for, in the last interval; absent in closed loop",
            asked,
        )?;
        families.gauge(
            "dnsdyno_in_flight_queries",
            "Largest number of outstanding queries in the last interval",
            [(vec![], state.in_flight_max as f64)],
        )?;
        let arrivals = &state.arrivals;
        let events = [
            ("sent", arrivals.sent),
            ("answered", arrivals.answered),
            ("answered_late", arrivals.late),
            ("timed_out", arrivals.timed_out),
            ("refused", arrivals.refused),
            ("not_sent", arrivals.not_sent),
        ];
        families.counter(
            "dnsdyno_live_queries",
            "Queries by what happened to them, counted when it happened",
            events.map(|(event, count)| (label("event", event), count)),
        )?;
        families.counter(
            "dnsdyno_response_anomalies",
            "Responses that ended no query, and truncated responses",
            counts(&arrivals.anomalies).into_iter().map(|(kind, count)| (label("kind", &kind), count)),
        )
    }

    /// What is counted when each query that was due in an interval has ended.
    fn settled(&self, families: &mut Families<'_>) -> fmt::Result {
        let state = &*self.0;
        let ends = state.parts.iter().flat_map(|(part, of)| {
            let labels = |end: String| [labels_of(part), label("end", &end)].concat();
            counts(&of.ends).into_iter().map(move |(end, count)| (labels(end), count))
        });
        families.counter(
            "dnsdyno_queries",
            "Queries by how they ended, counted when all queries of their interval have ended",
            ends,
        )?;
        let transport = state.header.as_ref().map(|header| header.transport.as_str()).unwrap_or_default();
        families.counter(
            "dnsdyno_responses",
            "Queries answered, in time or late, by RCODE",
            self.rcodes().into_iter().map(|(rcode, count)| {
                ([label("transport", transport), label("rcode", &rcode)].concat(), count)
            }),
        )?;
        let not_sent = counts(&state.not_sent).into_iter();
        families.counter(
            "dnsdyno_queries_not_sent",
            "Queries that the generator did not send, by reason",
            not_sent.map(|(reason, count)| (label("reason", &reason), count)),
        )?;
        families.counter(
            "dnsdyno_requests",
            "DNS messages sent: a query may be more than one",
            [(vec![], state.requests)],
        )?;
        families.counter(
            "dnsdyno_requests_retried",
            "DNS messages sent again after their connection was lost",
            [(vec![], state.retried)],
        )?;
        families.counter("dnsdyno_sent_bytes", "Bytes of DNS messages sent", [(vec![], state.bytes_sent)])?;
        families.counter(
            "dnsdyno_answered_bytes",
            "Bytes of DNS messages in the responses that ended a query",
            [(vec![], state.bytes_answered)],
        )?;
        let by_part = |of: fn(&OfPart) -> &Buckets| {
            state.parts.iter().map(move |(part, counts)| (labels_of(part), of(counts).clone()))
        };
        families.histogram(
            "dnsdyno_response_seconds",
            "Response minus intended instant; an unanswered query counts beyond all bounds",
            by_part(|part| &part.response),
        )?;
        families.histogram(
            "dnsdyno_service_seconds",
            "Response minus send; an unanswered query counts beyond all bounds",
            by_part(|part| &part.service),
        )?;
        families.gauge(
            "dnsdyno_interval_latency_seconds",
            "Exact percentiles of the headline latency in the last settled interval; the timeout where it is reached",
            state.percentiles.iter().map(|(name, ns)| (label("percentile", name), seconds(*ns))),
        )
    }

    fn connections(&self, families: &mut Families<'_>) -> fmt::Result {
        let Some(connections) = &self.0.arrivals.connections else { return Ok(()) };
        let reasons = |group: &dyn Group| {
            counts(group).into_iter().map(|(reason, count)| (label("reason", &reason), count))
        };
        families.counter("dnsdyno_connections_opened", "Connections started", [(
            vec![],
            connections.opened,
        )])?;
        families.counter("dnsdyno_connections_established", "Connections established", [(
            vec![],
            connections.established,
        )])?;
        families.counter(
            "dnsdyno_connections_failed",
            "Connections not established, by reason",
            reasons(&connections.failed),
        )?;
        families.counter(
            "dnsdyno_connections_ended",
            "Established connections that ended, by reason",
            reasons(&connections.ended),
        )?;
        families.gauge(
            "dnsdyno_connections_open",
            "Largest number of established connections in the last interval",
            self.0.connections_max.map(|open| (vec![], open as f64)),
        )?;
        families.histogram("dnsdyno_connect_seconds", "From the SYN to the established connection", [(
            vec![],
            buckets_of(&connections.connect),
        )])?;
        let Some(encrypted) = &connections.encrypted else { return Ok(()) };
        families.histogram(
            "dnsdyno_handshake_seconds",
            "TLS and QUIC handshakes done, by kind",
            encrypted
                .handshakes
                .iter()
                .map(|(kind, histogram)| (label("kind", kind.key()), buckets_of(histogram))),
        )?;
        families.counter(
            "dnsdyno_handshakes_failed",
            "TLS and QUIC handshakes that failed, by reason",
            reasons(&encrypted.failed),
        )
    }

    /// Whether the generator itself was the limit.
    fn generator(&self, families: &mut Families<'_>) -> fmt::Result {
        let state = &*self.0;
        families.histogram(
            "dnsdyno_lateness_seconds",
            "Send minus intended instant, of all queries sent",
            [(vec![], state.lateness.clone())],
        )?;
        families.seconds_counter(
            "dnsdyno_generator_cpu_seconds",
            "CPU time of the workers",
            seconds(state.arrivals.cpu_ns),
        )?;
        families.seconds_counter(
            "dnsdyno_generator_cpu_wait_seconds",
            "Time that the workers waited for a CPU",
            seconds(state.arrivals.cpu_wait_ns),
        )?;
        families.counter(
            "dnsdyno_socket_drops",
            "Packets that the kernel dropped at our sockets, because they were not read fast enough",
            [(vec![], state.arrivals.socket_drops)],
        )?;
        families.gauge(
            "dnsdyno_generator_doubts",
            "Number of reasons why the figures may not be those of the server; 0 is a generator that is ok",
            [(vec![], state.doubts.len() as f64)],
        )?;
        families.gauge(
            "dnsdyno_generator_doubt",
            "1 for each reason why the figures may not be those of the server",
            state.doubts.iter().map(|name| (label("warning", name), 1.0)),
        )
    }

    /// Answers by the name of their RCODE; those without a name together, because a server can send any of 4,096.
    fn rcodes(&self) -> Vec<(String, u64)> {
        let mut named: Vec<(String, u64)> = Vec::new();
        let mut others = 0_u64;
        for (rcode, count) in self.0.rcodes.iter() {
            match rcode_name(rcode) {
                std::borrow::Cow::Borrowed(name) => named.push((name.to_owned(), count)),
                std::borrow::Cow::Owned(_) => others = others.saturating_add(count),
            }
        }
        named.extend((others > 0).then(|| ("other".to_owned(), others)));
        named
    }
}

/// The labels of one sample.
type Labels = Vec<(&'static str, String)>;

fn label(key: &'static str, value: &str) -> Labels {
    vec![(key, value.to_owned())]
}

fn labels_of(part: &Part) -> Labels {
    vec![("transport", part.transport.clone()), ("phase", part.phase.clone())]
}

fn buckets_of(histogram: &Histogram) -> Buckets {
    let mut buckets = Buckets::default();
    buckets.add(histogram);
    buckets
}

/// Writes families of samples; a family without a sample is not written.
struct Families<'a>(DescriptorEncoder<'a>);

impl Families<'_> {
    fn counter(
        &mut self,
        name: &str,
        help: &str,
        samples: impl IntoIterator<Item = (Labels, u64)>,
    ) -> fmt::Result {
        let mut samples = samples.into_iter().peekable();
        if samples.peek().is_none() {
            return Ok(());
        }
        let mut family = self.0.encode_descriptor(name, help, None, MetricType::Counter)?;
        samples.try_for_each(|(labels, count)| {
            family.encode_family(&labels)?.encode_counter(&count, None::<&Exemplar<Labels, f64>>)
        })
    }

    /// A counter that is a time.
    fn seconds_counter(&mut self, name: &str, help: &str, seconds: f64) -> fmt::Result {
        let mut family = self.0.encode_descriptor(name, help, None, MetricType::Counter)?;
        family.encode_counter(&seconds, None::<&Exemplar<Labels, f64>>)
    }

    fn gauge(
        &mut self,
        name: &str,
        help: &str,
        samples: impl IntoIterator<Item = (Labels, f64)>,
    ) -> fmt::Result {
        let mut samples = samples.into_iter().peekable();
        if samples.peek().is_none() {
            return Ok(());
        }
        let mut family = self.0.encode_descriptor(name, help, None, MetricType::Gauge)?;
        samples.try_for_each(|(labels, value)| family.encode_family(&labels)?.encode_gauge(&value))
    }

    fn histogram(
        &mut self,
        name: &str,
        help: &str,
        samples: impl IntoIterator<Item = (Labels, Buckets)>,
    ) -> fmt::Result {
        let mut samples = samples.into_iter().peekable();
        if samples.peek().is_none() {
            return Ok(());
        }
        let mut family = self.0.encode_descriptor(name, help, None, MetricType::Histogram)?;
        samples.try_for_each(|(labels, buckets)| {
            let bounds = BOUNDS_NS.iter().map(|ns| seconds(*ns)).chain([f64::INFINITY]);
            let counts: Vec<(f64, u64)> = bounds.zip(buckets.counts).collect();
            family.encode_family(&labels)?.encode_histogram(
                buckets.sum_seconds(),
                buckets.count(),
                &counts,
                None::<&std::collections::HashMap<usize, Exemplar<Labels, f64>>>,
            )
        })
    }

    fn info(&mut self, name: &str, help: &str, labels: Labels) -> fmt::Result {
        self.0.encode_descriptor(name, help, None, MetricType::Info)?.encode_info(&labels)
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

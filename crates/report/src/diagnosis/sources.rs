//! The sources of a run: what was watched, and the generator's own figures as series of one more source.

use std::collections::BTreeMap;

use dnsdyno_measure::{Arrivals, ConnectFailure, Latency, Quantile, Samples, Side, Tally, WatchedKind};
use dnsdyno_record::{Digest, Header, Headline, Interval};
use dnsdyno_text::safe;

use super::rules::{Kind, Whose};

/// A source, with its series over the run.
pub(super) struct Source {
    pub(super) kind: Kind,
    pub(super) side: Side,
    /// Safe to print.
    pub(super) label: String,
    pub(super) software: Option<String>,
    pub(super) settings: BTreeMap<String, String>,
    /// Parameters that its configuration does not set.
    pub(super) unset: Vec<String>,
    pub(super) totals: Samples,
}

/// What was watched, in the order of the record, and the generator as the last one.
pub(super) struct Sources(Vec<Source>);

impl Sources {
    pub(super) fn of(digest: &Digest) -> Sources {
        let totals = digest.watched();
        let watched = digest.header.watched.iter().enumerate().map(|(number, watched)| Source {
            kind: match watched.kind {
                WatchedKind::Host => Kind::Host,
                WatchedKind::Process => Kind::Process,
                WatchedKind::Server => Kind::Server,
            },
            side: watched.side,
            label: safe(&watched.label),
            software: watched.software.clone(),
            settings: watched.settings.clone(),
            unset: watched.unset.clone(),
            totals: totals.get(number).cloned().flatten().unwrap_or_default(),
        });
        let load = Source {
            kind: Kind::Load,
            side: Side::Generator,
            label: "the generator".to_owned(),
            software: None,
            settings: BTreeMap::new(),
            unset: Vec::new(),
            totals: load_samples(&digest.header, digest.tally(), digest.arrivals(), true),
        };
        Sources(watched.chain([load]).collect())
    }

    /// Whether anything but the generator is known.
    pub(super) fn is_watched(&self) -> bool {
        self.0.len() > 1
    }

    /// The samples of each over the run.
    pub(super) fn totals(&self) -> Vec<Samples> {
        self.0.iter().map(|source| source.totals.clone()).collect()
    }

    pub(super) fn get(&self, number: usize) -> Option<&Source> {
        self.0.get(number)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Source> {
        self.0.iter()
    }

    /// The sources that a sign is about, with their numbers.
    pub(super) fn with(&self, kind: Kind, whose: Whose) -> impl Iterator<Item = (usize, &Source)> {
        self.0.iter().enumerate().filter(move |(_, source)| source.is(kind, whose))
    }

    /// The host of the server; of two the one that the server has for itself.
    pub(super) fn server_host(&self) -> Option<(usize, &Source)> {
        let host = |side| {
            self.0
                .iter()
                .enumerate()
                .find(move |(_, source)| source.kind == Kind::Host && source.side == side)
        };
        host(Side::Server).or_else(|| host(Side::Both))
    }

    /// The samples of an interval, by the number of their source.
    pub(super) fn samples(&self, header: &Header, interval: &Interval) -> Vec<Samples> {
        let mut samples: Vec<_> =
            interval.watched.iter().map(|samples| samples.clone().unwrap_or_default()).collect();
        samples.resize(self.0.len().saturating_sub(1), Samples::default());
        samples.push(load_samples(header, &interval.tally, &interval.arrivals, false));
        samples
    }
}

impl Source {
    fn is(&self, kind: Kind, whose: Whose) -> bool {
        if self.kind == Kind::Load {
            return kind == Kind::Load;
        }
        let is_side = match (whose, self.side) {
            // What is beside the server, such as its database, has lost nothing of the load.
            (_, Side::Other) => false,
            (Whose::Any, _) | (_, Side::Both) => true,
            (Whose::Server, side) => side == Side::Server,
            (Whose::Generator, side) => side == Side::Generator,
        };
        (kind == Kind::Any || kind == self.kind) && is_side
    }

    /// A setting that is a number.
    pub(super) fn number(&self, setting: &str) -> Option<u64> {
        self.settings.get(setting)?.trim().parse().ok()
    }

    /// Whether its configuration is known not to set this parameter, which then has its default.
    pub(super) fn is_unset(&self, setting: &str) -> bool {
        self.unset.iter().any(|unset| unset == setting)
    }

    /// CPUs of a host.
    pub(super) fn cpus(&self) -> Option<u64> {
        let counted = || {
            let is_cpu = |name: &&String| name.starts_with("cpu") && name.ends_with(".idle_ns");
            let cpus = self.totals.counters.keys().filter(is_cpu).filter(|name| *name != "cpu.idle_ns");
            Some(cpus.count() as u64).filter(|cpus| *cpus > 0)
        };
        self.number("cpus").or_else(counted)
    }
}

/// The generator's own figures as series: of an interval, or the sum of a run.
fn load_samples(header: &Header, tally: &Tally, arrivals: &Arrivals, is_sum: bool) -> Samples {
    let mut samples = Samples::default();
    let counters = &mut samples.counters;
    counters.insert("socket_drops".into(), arrivals.socket_drops);
    counters.insert("rcode.SERVFAIL".into(), tally.rcodes.of(SERVFAIL));
    counters.insert("truncated".into(), arrivals.anomalies.truncated);
    let not_sent = tally.ends.not_sent.by_reason();
    counters.extend(not_sent.map(|(why, queries)| (format!("not_sent.{}", why.key()), queries)));
    // Over connections a query is refused with its connection, which may also have ended for a reason of the server.
    // In the sum of a run there are both; which intervals have refused connections only, their own counts say.
    let is_by_network = arrivals.connections.as_ref().is_none_or(|connections| {
        (is_sum || connections.established == 0) && connections.failed.of(ConnectFailure::Refused) > 0
    });
    if is_by_network {
        counters.insert("refused".into(), tally.ends.refused);
    }
    if let Some(connections) = &arrivals.connections {
        let failed = connections.failed.by_reason();
        counters.extend(failed.map(|(why, failed)| (format!("connections.failed.{}", why.key()), failed)));
    }
    if let Some(permille) = lateness_permille(header, tally) {
        samples.gauges.insert("lateness_permille".into(), permille);
    }
    samples
}

/// How much of the response time at p99 the generator itself has caused.
fn lateness_permille(header: &Header, tally: &Tally) -> Option<u64> {
    if header.headline != Headline::Response || header.send_only {
        return None;
    }
    let lateness = Latency { answered: &tally.lateness, unanswered: 0 };
    let (late_ns, response_ns) = (at(lateness)?, at(answered(header, tally))?);
    late_ns.saturating_mul(1_000).checked_div(response_ns).map(|permille| permille.min(1_000))
}

/// The latency of the queries that were answered in time.
pub(super) fn answered<'a>(header: &Header, tally: &'a Tally) -> Latency<'a> {
    Latency { unanswered: 0, ..header.latency_of(tally) }
}

/// The 99th percentile; `None` of so few queries that fewer than three are beyond it.
pub(super) fn at(latency: Latency<'_>) -> Option<u64> {
    match latency.quantile(0.99) {
        Some(Quantile::At(ns)) if latency.count() >= QUERIES_OF_P99 => Some(ns),
        _ => None,
    }
}

/// The RCODE of a server that could not find an answer.
pub(super) const SERVFAIL: u16 = 2;

/// Queries of an interval whose 99th percentile is looked at: summaries want more, but look at one figure, not at many.
const QUERIES_OF_P99: u64 = 300;

//! The left-hand side of an expectation: what is measured.

use std::fmt;

use dnsdyno_measure::{Latency, Quantile};
use dnsdyno_record::{Digest, Headline};
use dnsdyno_wire::rcode_name;

use super::bound::Unit;
use crate::figures::{
    headline, judged, latency, lateness, longest, lost, rate_qps, sent, share, socket_drops,
};
use crate::units;

/// What an expectation is on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Metric {
    /// Queries by their end, of those that count for the server.
    Queries(QueryCount),
    /// Responses of a kind, of all responses.
    Responses(ResponseCount),
    /// Transactions retried over TCP, of those over UDP.
    Fallback,
    /// Packets that did not end a query.
    Packets(PacketCount),
    Duration(Durations, Figure),
    AnsweredRate,
    SentRate,
    Generator,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum QueryCount {
    Lost,
    Answered,
    Late,
    TimedOut,
    Unreachable,
    NotSent,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ResponseCount {
    Truncated,
    Rcode(u16),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PacketCount {
    Duplicates,
    Unexpected,
    WrongQuestion,
    Malformed,
    SocketDrops,
}

/// A set of durations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Durations {
    /// The latency that is first in the summary.
    Headline,
    Latency(Headline),
    Lateness,
}

/// A figure of a set of durations.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Figure {
    /// 0 to 1.
    Quantile(f64),
    Average,
    Shortest,
    Longest,
}

/// The measured figure of a metric.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Measured {
    Part { part: u64, whole: u64 },
    Count(u64),
    Duration(u64),
    BeyondTimeout { timeout_ns: u64 },
    Rate(f64),
    Generator { is_ok: bool, text: String },
    Nothing(&'static str),
}

impl Metric {
    /// The metric of that name, in any case; `None` where there is none.
    pub(crate) fn parse(name: &str) -> Option<Metric> {
        let name = name.to_lowercase();
        Some(match name.as_str() {
            "loss" => Metric::Queries(QueryCount::Lost),
            "answered" => Metric::Queries(QueryCount::Answered),
            "late" => Metric::Queries(QueryCount::Late),
            "timeouts" => Metric::Queries(QueryCount::TimedOut),
            "unreachable" => Metric::Queries(QueryCount::Unreachable),
            "not_sent" => Metric::Queries(QueryCount::NotSent),
            "truncated" => Metric::Responses(ResponseCount::Truncated),
            "fallback" => Metric::Fallback,
            "duplicates" => Metric::Packets(PacketCount::Duplicates),
            "unexpected" => Metric::Packets(PacketCount::Unexpected),
            "wrong_question" => Metric::Packets(PacketCount::WrongQuestion),
            "malformed" => Metric::Packets(PacketCount::Malformed),
            "socket_drops" => Metric::Packets(PacketCount::SocketDrops),
            "rate" | "qps" => Metric::AnsweredRate,
            "sent_rate" => Metric::SentRate,
            "generator" => Metric::Generator,
            _ => return duration_metric(&name).or_else(|| rcode_metric(&name)),
        })
    }

    pub(crate) fn unit(self) -> Unit {
        match self {
            Metric::Queries(_) | Metric::Responses(_) | Metric::Fallback => Unit::ShareOrCount,
            Metric::Packets(_) => Unit::Count,
            Metric::Duration(..) => Unit::Duration,
            Metric::AnsweredRate | Metric::SentRate => Unit::Rate,
            Metric::Generator => Unit::Verdict,
        }
    }

    pub(crate) fn measure(self, digest: &Digest) -> Measured {
        let tally = digest.tally();
        match self {
            Metric::Queries(which) => match judged(tally) {
                0 => Measured::Nothing("no query was sent that waits for a response"),
                whole => Measured::Part { part: which.of(digest), whole },
            },
            Metric::Responses(which) => match tally.rcodes.total() {
                0 => Measured::Nothing(NOTHING_ANSWERED),
                whole => Measured::Part { part: which.of(digest), whole },
            },
            Metric::Fallback => match tally.fallback.as_deref() {
                Some(fallback) if fallback.udp_requests > 0 => {
                    Measured::Part { part: fallback.started, whole: fallback.udp_requests }
                }
                _ => Measured::Nothing("no query could be retried over TCP: see --transport udp+tcp"),
            },
            Metric::Packets(which) => Measured::Count(which.of(digest)),
            Metric::Duration(durations, figure) => figure.of(durations.of(digest), digest.header.timeout_ns),
            Metric::AnsweredRate if tally.ends.answered == 0 => Measured::Nothing(NOTHING_ANSWERED),
            Metric::AnsweredRate => Measured::Rate(rate_qps(tally.ends.answered, digest.schedule_ns())),
            Metric::SentRate => match sent(tally) {
                0 => Measured::Nothing("no query was sent"),
                count => Measured::Rate(rate_qps(count, digest.schedule_ns())),
            },
            Metric::Generator => generator(digest),
        }
    }
}

/// `p99`, `response.p99.9`, `lateness.max`.
fn duration_metric(name: &str) -> Option<Metric> {
    let sets = [
        ("response.", Durations::Latency(Headline::Response)),
        ("service.", Durations::Latency(Headline::Service)),
        ("lateness.", Durations::Lateness),
    ];
    let found =
        sets.into_iter().find_map(|(prefix, durations)| Some((name.strip_prefix(prefix)?, durations)));
    let (figure, durations) = found.unwrap_or((name, Durations::Headline));
    let figure = match figure {
        "avg" => Figure::Average,
        "min" => Figure::Shortest,
        "max" => Figure::Longest,
        _ => {
            let number = figure.strip_prefix('p')?;
            let is_plain = number.bytes().all(|b| b.is_ascii_digit() || b == b'.');
            let percent: f64 = number.parse().ok().filter(|_| is_plain)?;
            (percent > 0.0 && percent <= 100.0).then_some(Figure::Quantile(percent / 100.0))?
        }
    };
    Some(Metric::Duration(durations, figure))
}

/// Any RCODE by its name, or as `rcode3841`.
fn rcode_metric(name: &str) -> Option<Metric> {
    let code = (0..LAST_RCODE + 1).find(|code| rcode_name(*code).eq_ignore_ascii_case(name))?;
    Some(Metric::Responses(ResponseCount::Rcode(code)))
}

impl QueryCount {
    fn of(self, digest: &Digest) -> u64 {
        let ends = &digest.tally().ends;
        match self {
            QueryCount::Lost => lost(digest.tally()),
            QueryCount::Answered => ends.answered,
            QueryCount::Late => ends.answered_late,
            QueryCount::TimedOut => ends.timed_out,
            QueryCount::Unreachable => ends.refused,
            QueryCount::NotSent => ends.not_sent.total(),
        }
    }
}

impl ResponseCount {
    fn of(self, digest: &Digest) -> u64 {
        match self {
            ResponseCount::Truncated => digest.arrivals().anomalies.truncated,
            ResponseCount::Rcode(code) => digest.tally().rcodes.of(code),
        }
    }
}

impl PacketCount {
    fn of(self, digest: &Digest) -> u64 {
        let anomalies = &digest.arrivals().anomalies;
        match self {
            PacketCount::Duplicates => anomalies.duplicates,
            PacketCount::Unexpected => anomalies.unexpected,
            PacketCount::WrongQuestion => anomalies.wrong_question,
            PacketCount::Malformed => anomalies.malformed,
            PacketCount::SocketDrops => socket_drops(digest),
        }
    }
}

impl Durations {
    fn of(self, digest: &Digest) -> Latency<'_> {
        match self {
            Durations::Headline => headline(digest, digest.tally()),
            Durations::Latency(which) => latency(which, digest.tally()),
            Durations::Lateness => lateness(digest.tally()),
        }
    }
}

impl Figure {
    fn of(self, latency: Latency<'_>, timeout_ns: u64) -> Measured {
        // Without any response nothing was measured, not even "at least the timeout".
        let Some(exact) = latency.answered.exact() else { return Measured::Nothing(NOTHING_ANSWERED) };
        let quantile = match self {
            Figure::Quantile(q) => latency.quantile(q),
            Figure::Longest => longest(latency),
            Figure::Shortest => Some(Quantile::At(exact.min_ns)),
            Figure::Average => latency.answered.mean_ns().map(Quantile::At),
        };
        match quantile {
            Some(Quantile::At(ns)) => Measured::Duration(ns),
            Some(Quantile::BeyondTimeout) => Measured::BeyondTimeout { timeout_ns },
            None => Measured::Nothing(NOTHING_ANSWERED),
        }
    }
}

fn generator(digest: &Digest) -> Measured {
    let names: Vec<_> = digest.warnings().iter().map(|warning| warning.name()).collect();
    let text = match (&digest.sum, names.is_empty()) {
        (Some(_), true) => "ok".to_owned(),
        (None, true) => "no verdict: the run did not end normally".to_owned(),
        (_, false) => format!("in doubt: {}", names.join(", ")),
    };
    Measured::Generator { is_ok: digest.sum.is_some() && names.is_empty(), text }
}

impl fmt::Display for Measured {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Measured::Part { part, whole } => {
                let percent = units::percent(share(*part, *whole).unwrap_or(0.0));
                write!(f, "{percent} ({} of {})", units::count(*part), units::count(*whole))
            }
            Measured::Count(count) => f.write_str(&units::count(*count)),
            Measured::Duration(ns) => f.write_str(&units::duration(*ns)),
            Measured::BeyondTimeout { timeout_ns } => write!(f, ">{}", units::setting(*timeout_ns)),
            Measured::Rate(qps) => write!(f, "{}/s", units::rate(*qps)),
            Measured::Generator { text, .. } => f.write_str(text),
            Measured::Nothing(why) => write!(f, "not measured: {why}"),
        }
    }
}

const NOTHING_ANSWERED: &str = "no query was answered";

/// The extended RCODE has 12 bits.
const LAST_RCODE: u16 = 4095;

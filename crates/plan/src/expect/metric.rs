//! The left-hand side of an expectation: what is measured.

use dnsdyno_measure::Latency;
use dnsdyno_wire::rcode_name;

use super::bound::Unit;

/// What an expectation is on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Metric {
    /// Queries by their end, of those that count for the server.
    Queries(QueryCount),
    /// Responses of a kind, of all responses.
    Responses(ResponseCount),
    /// Transactions retried over TCP, of those over UDP.
    Fallback,
    /// Answers that differ from the recorded ones, of those compared.
    Answers(AnswerCount),
    /// Packets that did not end a query.
    Packets(PacketCount),
    /// A figure of a set of durations.
    Duration(Durations, Figure),
    /// Queries answered per second.
    AnsweredRate,
    /// Queries sent per second.
    SentRate,
    /// The verdict on the generator.
    Generator,
}

/// Queries by their end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueryCount {
    /// Not answered in time, for any reason.
    Lost,
    /// Answered in time.
    Answered,
    /// Answered after the timeout.
    Late,
    /// Answered in time, and wrongly.
    Wrong,
    /// Not answered.
    TimedOut,
    /// Refused by the network, or lost with their connection.
    Unreachable,
    /// Never sent.
    NotSent,
}

/// Responses of a kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResponseCount {
    /// With the TC bit.
    Truncated,
    /// With this extended RCODE.
    Rcode(u16),
}

/// Answers that differ from the recorded ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnswerCount {
    /// In any way.
    Differing,
    /// Usable instead of an error.
    Better,
    /// An error instead of a usable answer.
    Worse,
}

/// Packets that did not end a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PacketCount {
    /// Further responses to an answered query.
    Duplicates,
    /// Responses to no query.
    Unexpected,
    /// Responses with another question.
    WrongQuestion,
    /// Not DNS messages.
    Malformed,
    /// Dropped by our own sockets.
    SocketDrops,
}

/// A set of durations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durations {
    /// The latency that is first in the summary.
    Headline,
    /// Response − intended instant.
    Response,
    /// Response − actual send.
    Service,
    /// Actual send − intended instant.
    Lateness,
}

/// A figure of a set of durations.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Figure {
    /// A quantile, 0 to 1.
    Quantile(f64),
    /// The mean.
    Average,
    /// The minimum.
    Shortest,
    /// The maximum.
    Longest,
    /// The maximum of the answered queries: the others are left out.
    Slowest,
}

/// A group of metrics, for help, errors and documents.
#[derive(Clone, Copy, Debug)]
pub struct MetricGroup {
    /// Their names, as a list.
    pub names: &'static str,
    /// What they are, and with what they are compared.
    pub meaning: &'static str,
}

/// Every metric. A test reads each name in it.
pub const METRICS: &[MetricGroup] = &[
    MetricGroup {
        names: "loss, answered, late, wrong, timeouts, unreachable, not_sent",
        meaning: "percent of the queries, or a count",
    },
    MetricGroup {
        names: "p50, p90, p95, p99, p99.9 (any percentile), avg, min, max, slowest",
        meaning: "a duration; with response., service. or lateness. before the name, that of these times; slowest \
                  is max without the unanswered queries",
    },
    MetricGroup { names: "rate (or qps), sent_rate", meaning: "queries answered or sent per second" },
    MetricGroup {
        names: "noerror, servfail, nxdomain, refused (any RCODE), truncated",
        meaning: "percent of the responses, or a count",
    },
    MetricGroup {
        names: "fallback",
        meaning: "retried over TCP: percent of the queries over UDP, or a count",
    },
    MetricGroup {
        names: "duplicates, unexpected, wrong_question, malformed, socket_drops",
        meaning: "a count of packets",
    },
    MetricGroup {
        names: "drift",
        meaning: "a duration: how late a query of a replay was sent at the most, the same as lateness.max",
    },
    MetricGroup {
        names: "answers_differ, answers_better, answers_worse",
        meaning: "percent of the answers compared by --check-answers, or a count; of the whole run only",
    },
    MetricGroup { names: "generator", meaning: "only generator=ok" },
];

impl Metric {
    /// The metric of that name, in any case; `None` where there is none.
    pub(super) fn parse(name: &str) -> Option<Metric> {
        let name = name.to_lowercase();
        Some(match name.as_str() {
            "loss" => Metric::Queries(QueryCount::Lost),
            "answered" => Metric::Queries(QueryCount::Answered),
            "late" => Metric::Queries(QueryCount::Late),
            "wrong" => Metric::Queries(QueryCount::Wrong),
            "timeouts" => Metric::Queries(QueryCount::TimedOut),
            "unreachable" => Metric::Queries(QueryCount::Unreachable),
            "not_sent" => Metric::Queries(QueryCount::NotSent),
            "answers_differ" => Metric::Answers(AnswerCount::Differing),
            "answers_better" => Metric::Answers(AnswerCount::Better),
            "answers_worse" => Metric::Answers(AnswerCount::Worse),
            "drift" => Metric::Duration(Durations::Lateness, Figure::Longest),
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

    /// The quantile of a percentile, and the queries that it needs to be measured; `None` of any other metric.
    pub fn queries_needed(self) -> Option<(f64, u64)> {
        match self {
            Metric::Duration(_, Figure::Quantile(q)) => Some((q, Latency::needed(q))),
            _ => None,
        }
    }

    /// The kind of bound that it is compared with.
    pub fn unit(self) -> Unit {
        match self {
            Metric::Queries(_) | Metric::Responses(_) | Metric::Fallback | Metric::Answers(_) => {
                Unit::ShareOrCount
            }
            Metric::Packets(_) => Unit::Count,
            Metric::Duration(..) => Unit::Duration,
            Metric::AnsweredRate | Metric::SentRate => Unit::Rate,
            Metric::Generator => Unit::Verdict,
        }
    }
}

/// `p99`, `response.p99.9`, `lateness.max`.
fn duration_metric(name: &str) -> Option<Metric> {
    let sets = [
        ("response.", Durations::Response),
        ("service.", Durations::Service),
        ("lateness.", Durations::Lateness),
    ];
    let found =
        sets.into_iter().find_map(|(prefix, durations)| Some((name.strip_prefix(prefix)?, durations)));
    let (figure, durations) = found.unwrap_or((name, Durations::Headline));
    let figure = match figure {
        "avg" => Figure::Average,
        "min" => Figure::Shortest,
        "max" => Figure::Longest,
        "slowest" => Figure::Slowest,
        _ => {
            let number = figure.strip_prefix('p')?;
            let is_plain = number.bytes().all(|b| b.is_ascii_digit() || b == b'.');
            let percent: f64 = number.parse().ok().filter(|_| is_plain)?;
            match percent {
                // No query is beyond it.
                100.0 => Figure::Longest,
                _ => (percent > 0.0 && percent < 100.0).then_some(Figure::Quantile(percent / 100.0))?,
            }
        }
    };
    Some(Metric::Duration(durations, figure))
}

/// Any RCODE by its name, or as `rcode3841`.
fn rcode_metric(name: &str) -> Option<Metric> {
    let code = (0..LAST_RCODE + 1).find(|code| rcode_name(*code).eq_ignore_ascii_case(name))?;
    Some(Metric::Responses(ResponseCount::Rcode(code)))
}

/// The extended RCODE has 12 bits.
const LAST_RCODE: u16 = 4095;

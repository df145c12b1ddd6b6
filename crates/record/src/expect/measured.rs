//! The figure of a metric, of a whole run or of a part of it, with its two ends: as measured, and without what may be
//! the generator's.

use dnsdyno_measure::{Bounds, Latency, Quantile, Tally};
use dnsdyno_plan::expect::{AnswerCount, Durations, Figure, Metric, PacketCount, QueryCount, ResponseCount};

use super::part::Part;
use crate::figures::{judged, lateness, lost, rate_qps, sent};
use crate::{Digest, Headline, Row};

/// The measured figure of a metric.
#[derive(Clone, Debug, PartialEq)]
pub enum Measured {
    /// Some of a whole.
    Part {
        /// How many.
        part: u64,
        /// Of how many.
        whole: u64,
    },
    /// A count.
    Count(u64),
    /// In nanoseconds.
    Duration(u64),
    /// A percentile among the unanswered queries.
    BeyondTimeout {
        /// The timeout of the run.
        timeout_ns: u64,
    },
    /// Per second.
    RateQps(f64),
    /// The verdict.
    Generator {
        /// Whether there is no warning.
        is_ok: bool,
        /// The verdict in words.
        text: String,
    },
    /// A percentile that too few queries are beyond.
    TooFew {
        /// Which, 0 to 1.
        q: f64,
        /// The queries that it needs.
        needed: u64,
        /// The queries that there are.
        judged: u64,
    },
    /// What the part of an agent, which is missing, would make of it: not known.
    Partial {
        /// Intervals that lack it.
        intervals: u64,
    },
    /// Not measured, for this reason.
    Nothing(&'static str),
}

/// A measured figure with its two ends.
#[derive(Clone, Debug, PartialEq)]
pub struct Ends {
    /// As measured and printed.
    pub measured: Measured,
    /// What it may have been without the generator's part, at the other extreme; equal where there is no such part.
    pub without_ours: Measured,
}

impl From<Measured> for Ends {
    fn from(measured: Measured) -> Ends {
        Ends { without_ours: measured.clone(), measured }
    }
}

/// The figure of a metric of a whole run.
pub fn measure_run(metric: Metric, digest: &Digest) -> Ends {
    match metric {
        Metric::Generator => generator(digest).into(),
        Metric::Answers(which) => answers(which, digest).into(),
        _ => measure(metric, &Part::of_run(digest)),
    }
}

/// The figure of a metric of a row of its summary.
pub fn measure_row(metric: Metric, digest: &Digest, row: &Row) -> Ends {
    measure(metric, &Part::of_row(digest, row))
}

/// The figure of a metric of a part of a run. Where an agent's part is missing, one end is not known, and of a rate
/// neither.
pub(super) fn measure(metric: Metric, part: &Part<'_>) -> Ends {
    let partial = Measured::Partial { intervals: part.partial_intervals };
    match metric {
        _ if part.partial_intervals == 0 => of_whole(metric, part),
        Metric::AnsweredRate | Metric::SentRate => partial.into(),
        _ => Ends { without_ours: partial, ..of_whole(metric, part) },
    }
}

/// The figure of a metric where every query is in the counters.
fn of_whole(metric: Metric, part: &Part<'_>) -> Ends {
    let tally = part.tally;
    match metric {
        Metric::Queries(which) => match judged(tally) {
            0 => Measured::Nothing("no query was sent that waits for a response").into(),
            whole => queries(which, part, whole),
        },
        Metric::Responses(which) => match tally.rcodes.total() {
            0 => Measured::Nothing(NOTHING_ANSWERED),
            whole => Measured::Part { part: responses(which, part), whole },
        }
        .into(),
        Metric::Fallback => match tally.fallback.as_deref() {
            Some(fallback) if fallback.udp_requests > 0 => {
                Measured::Part { part: fallback.started, whole: fallback.udp_requests }
            }
            _ => Measured::Nothing("no query could be retried over TCP: see --transport udp+tcp"),
        }
        .into(),
        Metric::Packets(which) => Measured::Count(packets(which, part)).into(),
        Metric::Duration(which, figure) => duration(which, figure, part),
        Metric::AnsweredRate if tally.ends.answered == 0 => Measured::Nothing(NOTHING_ANSWERED).into(),
        Metric::AnsweredRate => Ends {
            measured: Measured::RateQps(rate_qps(tally.ends.answered, part.over_ns)),
            without_ours: Measured::RateQps(part.rate_without_ours()),
        },
        // What was sent is what was sent.
        Metric::SentRate => match sent(tally) {
            0 => Measured::Nothing("no query was sent"),
            count => Measured::RateQps(rate_qps(count, part.over_ns)),
        }
        .into(),
        Metric::Answers(_) => Measured::Nothing("answers are compared for the whole run only").into(),
        // The plan refuses it for parts.
        Metric::Generator => Measured::Nothing("the generator is judged for the whole run only").into(),
    }
}

/// Answers of a replay that differ from the recorded ones.
fn answers(which: AnswerCount, digest: &Digest) -> Measured {
    let counts = digest.sum.as_ref().and_then(|sum| sum.answers);
    let Some(counts) = counts.filter(|counts| counts.compared() > 0) else {
        return Measured::Nothing("no answer was compared: see --check-answers");
    };
    let part = match which {
        AnswerCount::Differing => counts.differing(),
        AnswerCount::Better => counts.better,
        AnswerCount::Worse => counts.worse,
    };
    Measured::Part { part, whole: counts.compared() }
}

/// Queries by their end, of `whole`. Those that may be lost by us would have been answered.
fn queries(which: QueryCount, part: &Part<'_>, whole: u64) -> Ends {
    let (ends, ours) = (&part.tally.ends, part.loss.ours);
    let (count, without_ours) = match which {
        QueryCount::Lost => (lost(part.tally), lost(part.tally).saturating_sub(ours)),
        QueryCount::Answered => (ends.answered, ends.answered + ours),
        QueryCount::Late => (ends.answered_late, ends.answered_late.saturating_sub(ours)),
        // Each is an answer of the server's.
        QueryCount::Wrong => (ends.answered_wrong, ends.answered_wrong),
        QueryCount::TimedOut => (ends.timed_out, ends.timed_out.saturating_sub(ours)),
        // These are facts of the path and of this host.
        QueryCount::Unreachable => (ends.refused, ends.refused),
        QueryCount::NotSent => (ends.not_sent.total(), ends.not_sent.total()),
    };
    let of = |part| Measured::Part { part, whole };
    Ends { measured: of(count), without_ours: of(without_ours) }
}

fn responses(which: ResponseCount, part: &Part<'_>) -> u64 {
    match which {
        ResponseCount::Truncated => part.arrivals.anomalies.truncated,
        ResponseCount::Rcode(code) => part.tally.rcodes.of(code),
    }
}

fn packets(which: PacketCount, part: &Part<'_>) -> u64 {
    let anomalies = &part.arrivals.anomalies;
    match which {
        PacketCount::Duplicates => anomalies.duplicates,
        PacketCount::Unexpected => anomalies.unexpected,
        PacketCount::WrongQuestion => anomalies.wrong_question,
        PacketCount::Malformed => anomalies.malformed,
        PacketCount::SocketDrops => part.socket_drops,
    }
}

fn duration(which: Durations, figure: Figure, part: &Part<'_>) -> Ends {
    let tally: &Tally = part.tally;
    let latency = match which {
        Durations::Headline => part.header.latency_of(tally),
        Durations::Response => tally.response_latency(),
        Durations::Service => tally.service_latency(),
        Durations::Lateness => lateness(tally),
    };
    // Without any response nothing was measured, not even "at least the timeout".
    if latency.answered.exact().is_none() {
        return Measured::Nothing(NOTHING_ANSWERED).into();
    }
    if let Figure::Quantile(q) = figure
        && latency.percentile(q).is_none()
    {
        return Measured::TooFew { q, needed: Latency::needed(q), judged: latency.count() }.into();
    }
    let bounded = part.own.bounded(tally, latency);
    let bounds = match figure {
        Figure::Quantile(q) => bounded.at(q),
        Figure::Longest => bounded.longest(),
        Figure::Slowest => bounded.slowest(),
        Figure::Shortest => bounded.shortest(),
        Figure::Average => bounded.mean(),
    };
    let Some(Bounds { upper, lower }) = bounds else { return Measured::Nothing(NOTHING_ANSWERED).into() };
    let of = |end| match end {
        Quantile::At(ns) => Measured::Duration(ns),
        Quantile::BeyondTimeout => Measured::BeyondTimeout { timeout_ns: part.header.timeout_ns },
    };
    // Lateness is ours as a whole, and in a closed loop the response time is what the window made of it.
    let is_exact = match which {
        Durations::Lateness => true,
        Durations::Response => part.header.headline == Headline::Service,
        Durations::Headline | Durations::Service => false,
    };
    Ends { measured: of(upper), without_ours: of(if is_exact { upper } else { lower }) }
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

const NOTHING_ANSWERED: &str = "no query was answered";

//! The figure of a metric, of a whole run or of a part of it.

use dnsdyno_measure::{Arrivals, Latency, Quantile, Tally};
use dnsdyno_plan::expect::{AnswerCount, Durations, Figure, Metric, PacketCount, QueryCount, ResponseCount};

use crate::figures::{judged, latency, lateness, longest, lost, rate_qps, sent};
use crate::{Digest, Header, Headline, Row};

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
    /// Not measured, for this reason.
    Nothing(&'static str),
}

/// The figures of a run, of a step or of an interval.
#[derive(Clone, Copy)]
pub(super) struct Part<'a> {
    pub(super) tally: &'a Tally,
    pub(super) arrivals: &'a Arrivals,
    pub(super) socket_drops: u64,
    pub(super) headline: Headline,
    pub(super) timeout_ns: u64,
    /// The divisor of rates.
    pub(super) over_ns: u64,
}

impl<'a> Part<'a> {
    /// The part of a run whose queries were due within `over_ns`.
    pub(super) fn new(header: &Header, tally: &'a Tally, arrivals: &'a Arrivals, over_ns: u64) -> Part<'a> {
        let (headline, timeout_ns) = (header.headline, header.timeout_ns);
        Part { tally, arrivals, socket_drops: arrivals.socket_drops, headline, timeout_ns, over_ns }
    }
}

/// The figure of a metric of a whole run.
pub fn measure_run(metric: Metric, digest: &Digest) -> Measured {
    if metric == Metric::Generator {
        return generator(digest);
    }
    if let Metric::Answers(which) = metric {
        return answers(which, digest);
    }
    let part = Part::new(&digest.header, digest.tally(), digest.arrivals(), digest.schedule_ns());
    let in_evidence = digest.sum.as_ref().map_or(0, |sum| sum.evidence.socket_drops);
    measure(metric, Part { socket_drops: part.socket_drops.max(in_evidence), ..part })
}

/// The figure of a metric of a row of its summary.
pub fn measure_row(metric: Metric, header: &Header, row: &Row) -> Measured {
    measure(metric, Part::new(header, &row.tally, &row.arrivals, row.covered_ns))
}

/// The figure of a metric of a part of a run.
pub(super) fn measure(metric: Metric, part: Part<'_>) -> Measured {
    let tally = part.tally;
    match metric {
        Metric::Queries(which) => match judged(tally) {
            0 => Measured::Nothing("no query was sent that waits for a response"),
            whole => Measured::Part { part: queries(which, tally), whole },
        },
        Metric::Responses(which) => match tally.rcodes.total() {
            0 => Measured::Nothing(NOTHING_ANSWERED),
            whole => Measured::Part { part: responses(which, part), whole },
        },
        Metric::Fallback => match tally.fallback.as_deref() {
            Some(fallback) if fallback.udp_requests > 0 => {
                Measured::Part { part: fallback.started, whole: fallback.udp_requests }
            }
            _ => Measured::Nothing("no query could be retried over TCP: see --transport udp+tcp"),
        },
        Metric::Packets(which) => Measured::Count(packets(which, part)),
        Metric::Duration(which, figure) => duration(figure, durations(which, part), part.timeout_ns),
        Metric::AnsweredRate if tally.ends.answered == 0 => Measured::Nothing(NOTHING_ANSWERED),
        Metric::AnsweredRate => Measured::RateQps(rate_qps(tally.ends.answered, part.over_ns)),
        Metric::SentRate => match sent(tally) {
            0 => Measured::Nothing("no query was sent"),
            count => Measured::RateQps(rate_qps(count, part.over_ns)),
        },
        Metric::Answers(_) => Measured::Nothing("answers are compared for the whole run only"),
        // The plan refuses it for parts.
        Metric::Generator => Measured::Nothing("the generator is judged for the whole run only"),
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

fn queries(which: QueryCount, tally: &Tally) -> u64 {
    let ends = &tally.ends;
    match which {
        QueryCount::Lost => lost(tally),
        QueryCount::Answered => ends.answered,
        QueryCount::Late => ends.answered_late,
        QueryCount::TimedOut => ends.timed_out,
        QueryCount::Unreachable => ends.refused,
        QueryCount::NotSent => ends.not_sent.total(),
    }
}

fn responses(which: ResponseCount, part: Part<'_>) -> u64 {
    match which {
        ResponseCount::Truncated => part.arrivals.anomalies.truncated,
        ResponseCount::Rcode(code) => part.tally.rcodes.of(code),
    }
}

fn packets(which: PacketCount, part: Part<'_>) -> u64 {
    let anomalies = &part.arrivals.anomalies;
    match which {
        PacketCount::Duplicates => anomalies.duplicates,
        PacketCount::Unexpected => anomalies.unexpected,
        PacketCount::WrongQuestion => anomalies.wrong_question,
        PacketCount::Malformed => anomalies.malformed,
        PacketCount::SocketDrops => part.socket_drops,
    }
}

fn durations(which: Durations, part: Part<'_>) -> Latency<'_> {
    match which {
        Durations::Headline => latency(part.headline, part.tally),
        Durations::Response => latency(Headline::Response, part.tally),
        Durations::Service => latency(Headline::Service, part.tally),
        Durations::Lateness => lateness(part.tally),
    }
}

fn duration(figure: Figure, latency: Latency<'_>, timeout_ns: u64) -> Measured {
    // Without any response nothing was measured, not even "at least the timeout".
    let Some(exact) = latency.answered.exact() else { return Measured::Nothing(NOTHING_ANSWERED) };
    let quantile = match figure {
        Figure::Quantile(q) => latency.quantile(q),
        Figure::Longest => longest(latency),
        Figure::Slowest => Some(Quantile::At(exact.max_ns)),
        Figure::Shortest => Some(Quantile::At(exact.min_ns)),
        Figure::Average => latency.answered.mean_ns().map(Quantile::At),
    };
    match quantile {
        Some(Quantile::At(ns)) => Measured::Duration(ns),
        Some(Quantile::BeyondTimeout) => Measured::BeyondTimeout { timeout_ns },
        None => Measured::Nothing(NOTHING_ANSWERED),
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

const NOTHING_ANSWERED: &str = "no query was answered";

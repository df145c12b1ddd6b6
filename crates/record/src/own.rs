//! The shapes of our own property, `"dnsdyno"`, in the lines of a record.
//!
//! dns-metrics has no words for a schedule, for the ways in which a query ends, or for a second
//! latency; they all stand here. Each shape turns into the type of `measure` that it carries
//! and back without loss. `docs/formats/run.md` explains every property to a user.

use std::collections::BTreeMap;

use dnsdyno_measure::{
    Arrivals, Beside, Bucket, Ends, ExactFigures, Histogram, NotSent, NotSentReason, Rcodes, Tally, TypeCount,
};
use dnsdyno_wire::{parse_type, rcode_name, type_name};
use serde::{Deserialize, Serialize};

use crate::connected::ConnectionsShape;
use crate::doubt::{EvidenceShape, WarningShape};
use crate::fallback::{FallbackShape, MemberShape};
use crate::{Ended, InterfaceCounts, WorkerUse};

/// Our property on a line of statistics; those of an interval first, those of a sum last.
#[derive(Serialize, Deserialize)]
pub(crate) struct StatsShape {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) index: Option<u64>,
    pub(crate) from_ns: u64,
    pub(crate) to_ns: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) asked_qps: Option<f64>,
    pub(crate) scheduled: u64,
    pub(crate) requests: u64,
    #[serde(default)]
    pub(crate) asked_again: u64,
    pub(crate) ends: EndsShape,
    pub(crate) beside: BesideShape,
    pub(crate) rcodes: Vec<RcodeShape>,
    pub(crate) types: Vec<TypeShape>,
    pub(crate) response: HistogramShape,
    pub(crate) service: HistogramShape,
    pub(crate) lateness: HistogramShape,
    pub(crate) bytes_sent: u64,
    pub(crate) bytes_answered: u64,
    #[serde(default)]
    pub(crate) fallback: Option<FallbackShape>,
    #[serde(default)]
    pub(crate) members: Vec<MemberShape>,
    pub(crate) arrivals: ArrivalsShape,
    pub(crate) workers: Vec<WorkerUse>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) ended: Option<Ended>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) warnings: Option<Vec<WarningShape>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) evidence: Option<EvidenceShape>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) late_after_settled: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) schedule_ns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) passes: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    // Of a sum, and null there where it is not known.
    pub(crate) interface: Option<Option<InterfaceCounts>>,
}

#[derive(Serialize, Deserialize)]
pub(crate) struct EndsShape {
    answered: u64,
    answered_late: u64,
    timed_out: u64,
    refused: u64,
    not_sent: BTreeMap<String, u64>,
    interrupted: u64,
    sent_only: u64,
}

#[derive(Serialize, Deserialize)]
pub(crate) struct BesideShape {
    duplicates: u64,
    unexpected: u64,
    wrong_question: u64,
    malformed: u64,
    truncated: u64,
}

#[derive(Serialize, Deserialize)]
pub(crate) struct RcodeShape {
    rcode: u16,
    name: String,
    count: u64,
}

#[derive(Serialize, Deserialize)]
pub(crate) struct TypeShape {
    #[serde(rename = "type")]
    name: String,
    sent: u64,
    answered: u64,
}

#[derive(Serialize, Deserialize)]
pub(crate) struct HistogramShape {
    count: u64,
    sum_ns: u128,
    // An empty histogram has none of these three.
    #[serde(skip_serializing_if = "Option::is_none")]
    min_ns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_ns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stddev_ns: Option<u64>,
    /// `[from_ns, to_ns, count]`, shortest first.
    buckets: Vec<[u64; 3]>,
}

#[derive(Serialize, Deserialize)]
pub(crate) struct ArrivalsShape {
    sent: u64,
    answered: u64,
    late: u64,
    timed_out: u64,
    refused: u64,
    not_sent: u64,
    latency: HistogramShape,
    socket_drops: u64,
    in_flight_max: u64,
    cpu_ns: u64,
    cpu_wait_ns: u64,
    #[serde(default)]
    connections: Option<ConnectionsShape>,
}

/// What makes a line of the right shape impossible: it was not written by dnsdyno as it is.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ShapeError {
    #[error("unknown reason {0:?} under \"not_sent\"")]
    UnknownReason(String),
    #[error("unknown end of a connection, handshake or stream {0:?}")]
    UnknownEnd(String),
    #[error("unknown failure of a transaction {0:?}")]
    UnknownFailure(String),
    #[error("query type {0:?} is not in the header's list")]
    UnknownType(String),
    #[error("unknown warning {0:?}, or a figure of it is missing")]
    UnknownWarning(String),
    #[error("the buckets of a histogram do not add up to its count, {0}")]
    BucketsDoNotAddUp(u64),
    #[error("property \"{0}\" is missing")]
    Missing(&'static str),
}

impl From<&Ends> for EndsShape {
    fn from(ends: &Ends) -> Self {
        EndsShape {
            answered: ends.answered,
            answered_late: ends.answered_late,
            timed_out: ends.timed_out,
            refused: ends.refused,
            not_sent: NotSentReason::ALL
                .map(|reason| (reason.key().to_owned(), ends.not_sent.of(reason)))
                .into(),
            interrupted: ends.interrupted,
            sent_only: ends.sent_only,
        }
    }
}

impl TryFrom<EndsShape> for Ends {
    type Error = ShapeError;

    fn try_from(shape: EndsShape) -> Result<Self, ShapeError> {
        let mut not_sent = NotSent::default();
        for (key, count) in shape.not_sent {
            let known = NotSentReason::ALL.into_iter().find(|reason| reason.key() == key);
            not_sent.add(known.ok_or(ShapeError::UnknownReason(key))?, count);
        }
        Ok(Ends {
            answered: shape.answered,
            answered_late: shape.answered_late,
            timed_out: shape.timed_out,
            refused: shape.refused,
            not_sent,
            interrupted: shape.interrupted,
            sent_only: shape.sent_only,
        })
    }
}

impl From<&Beside> for BesideShape {
    fn from(beside: &Beside) -> Self {
        let &Beside { duplicates, unexpected, wrong_question, malformed, truncated } = beside;
        BesideShape { duplicates, unexpected, wrong_question, malformed, truncated }
    }
}

impl From<BesideShape> for Beside {
    fn from(shape: BesideShape) -> Self {
        let BesideShape { duplicates, unexpected, wrong_question, malformed, truncated } = shape;
        Beside { duplicates, unexpected, wrong_question, malformed, truncated }
    }
}

impl From<&Histogram> for HistogramShape {
    fn from(histogram: &Histogram) -> Self {
        let exact = histogram.exact();
        HistogramShape {
            count: histogram.count(),
            sum_ns: exact.map_or(0, |e| e.sum_ns),
            min_ns: exact.map(|e| e.min_ns),
            max_ns: exact.map(|e| e.max_ns),
            stddev_ns: exact.map(|e| e.stddev_ns),
            buckets: triples(histogram),
        }
    }
}

impl TryFrom<HistogramShape> for Histogram {
    type Error = ShapeError;

    fn try_from(shape: HistogramShape) -> Result<Self, ShapeError> {
        if shape.count == 0 && shape.buckets.is_empty() {
            return Ok(Histogram::new());
        }
        let exact = ExactFigures {
            sum_ns: shape.sum_ns,
            min_ns: shape.min_ns.ok_or(ShapeError::Missing("min_ns"))?,
            max_ns: shape.max_ns.ok_or(ShapeError::Missing("max_ns"))?,
            stddev_ns: shape.stddev_ns.ok_or(ShapeError::Missing("stddev_ns"))?,
        };
        let buckets = shape.buckets.iter().map(|&[from_ns, to_ns, count]| Bucket { from_ns, to_ns, count });
        let histogram = Histogram::from_parts(buckets, exact);
        if histogram.count() != shape.count {
            return Err(ShapeError::BucketsDoNotAddUp(shape.count));
        }
        Ok(histogram)
    }
}

impl From<&Arrivals> for ArrivalsShape {
    fn from(arrivals: &Arrivals) -> Self {
        ArrivalsShape {
            sent: arrivals.sent,
            answered: arrivals.answered,
            late: arrivals.late,
            timed_out: arrivals.timed_out,
            refused: arrivals.refused,
            not_sent: arrivals.not_sent,
            latency: (&arrivals.latency).into(),
            socket_drops: arrivals.socket_drops,
            in_flight_max: arrivals.in_flight_max,
            cpu_ns: arrivals.cpu_ns,
            cpu_wait_ns: arrivals.cpu_wait_ns,
            connections: arrivals.connections.as_deref().map(Into::into),
        }
    }
}

impl ArrivalsShape {
    /// The arrivals, with the counts that stand beside them in the line.
    pub(crate) fn with(self, beside: BesideShape) -> Result<Arrivals, ShapeError> {
        Ok(Arrivals {
            sent: self.sent,
            answered: self.answered,
            late: self.late,
            timed_out: self.timed_out,
            refused: self.refused,
            not_sent: self.not_sent,
            latency: self.latency.try_into()?,
            beside: beside.into(),
            socket_drops: self.socket_drops,
            in_flight_max: self.in_flight_max,
            cpu_ns: self.cpu_ns,
            cpu_wait_ns: self.cpu_wait_ns,
            connections: self.connections.map(|shape| shape.try_into().map(Box::new)).transpose()?,
        })
    }
}

/// Counts of a tally in the shapes of a line.
pub(crate) struct TallyShapes {
    pub(crate) ends: EndsShape,
    pub(crate) rcodes: Vec<RcodeShape>,
    pub(crate) types: Vec<TypeShape>,
}

impl TallyShapes {
    /// `types` are those of the header, which `tally.types` follows.
    pub(crate) fn new(tally: &Tally, types: &[u16]) -> Self {
        let rcodes = tally.rcodes.iter().map(|(rcode, count)| RcodeShape {
            rcode,
            name: rcode_name(rcode).into_owned(),
            count,
        });
        let typed = types.iter().zip(&tally.types).filter(|(_, count)| **count != TypeCount::default());
        TallyShapes {
            ends: (&tally.ends).into(),
            rcodes: rcodes.collect(),
            types: typed
                .map(|(rtype, count)| TypeShape {
                    name: type_name(*rtype).into_owned(),
                    sent: count.sent,
                    answered: count.answered,
                })
                .collect(),
        }
    }
}

impl StatsShape {
    /// The tally and the arrivals of a line; the rest of it is taken before.
    pub(crate) fn into_books(self, types: &[u16]) -> Result<(Tally, Arrivals), ShapeError> {
        let mut rcodes = Rcodes::default();
        self.rcodes.iter().for_each(|shape| rcodes.add(shape.rcode, shape.count));
        let mut counts = vec![TypeCount::default(); types.len()];
        for TypeShape { name, sent, answered } in self.types {
            let place = parse_type(&name).and_then(|rtype| types.iter().position(|known| *known == rtype));
            counts[place.ok_or(ShapeError::UnknownType(name))?] = TypeCount { sent, answered };
        }
        let tally = Tally {
            scheduled: self.scheduled,
            requests: self.requests,
            asked_again: self.asked_again,
            ends: self.ends.try_into()?,
            rcodes,
            types: counts,
            response: self.response.try_into()?,
            service: self.service.try_into()?,
            lateness: self.lateness.try_into()?,
            bytes_sent: self.bytes_sent,
            bytes_answered: self.bytes_answered,
            fallback: self.fallback.map(|shape| shape.try_into().map(Box::new)).transpose()?,
            members: self.members.into_iter().map(TryInto::try_into).collect::<Result<_, _>>()?,
        };
        Ok((tally, self.arrivals.with(self.beside)?))
    }
}

/// The buckets of a histogram as dns-metrics wants them: `[from_ns, to_ns, count]`.
pub(crate) fn triples(histogram: &Histogram) -> Vec<[u64; 3]> {
    histogram.buckets().map(|bucket| [bucket.from_ns, bucket.to_ns, bucket.count]).collect()
}

/// JSON has no word for what is no number.
pub(crate) fn finite(figure: f64) -> f64 {
    if figure.is_finite() { figure } else { 0.0 }
}

/// Query types by name, for serde.
pub(crate) mod type_names {
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    use super::{parse_type, type_name};

    pub(crate) fn serialize<S: Serializer>(types: &[u16], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(types.iter().map(|rtype| type_name(*rtype)))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u16>, D::Error> {
        let names = Vec::<String>::deserialize(deserializer)?;
        let unknown = |name: &String| D::Error::custom(format!("unknown query type {name:?}"));
        names.iter().map(|name| parse_type(name).ok_or_else(|| unknown(name))).collect()
    }
}

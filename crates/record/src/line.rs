//! One line of `run.ndjson`: a dns-metrics object to text, and text to one of our types.
//!
//! ```text
//!   {"runid":…,"type":"stats_periodic","since":…,"queries":…, …   what dns-metrics has words for
//!    "dnsdyno":{…}}                                               all the rest, and all we read
//! ```
//!
//! The standard properties are there for other tools. We read back only our own, which hold
//! every figure again that we need: one truth for one reader.

use std::borrow::Cow;

use dnsdyno_measure::{Arrivals, Tally};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::own::{ShapeError, StatsShape, TallyShapes, finite};
use crate::standard::{StandardEvent, StandardHeader, StandardStats};
use crate::{Event, FORMAT, Header, Interval, Sum, WorkerUse};

/// A line of a record after its header.
#[derive(Clone, Debug, PartialEq)]
pub enum Line {
    /// A settled interval.
    Interval(Box<Interval>),
    /// Something that happened.
    Event(Event),
    /// The whole run; the last line of a complete record.
    Sum(Box<Sum>),
}

/// Why a line cannot be read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LineError {
    #[error("{0}")]
    Json(#[from] serde_json::Error),
    #[error("{0}")]
    Shape(#[from] ShapeError),
    #[error("it has no \"dnsdyno\" property: another program wrote it")]
    NotOurs,
    #[error("it is a {0:?}, where the header should be")]
    NoHeader(String),
    #[error("unknown type of line {0:?}")]
    UnknownType(String),
    #[error("format {0}")]
    Newer(u32),
}

/// The text of a header, with the newline.
pub(crate) fn encode_header(header: &Header) -> Vec<u8> {
    to_line(&Object {
        runid: &header.run_id,
        kind: HEADER,
        standard: StandardHeader::new(header),
        dnsdyno: HeaderShape { format: FORMAT, header },
    })
}

/// The text of an interval, with the newline.
pub(crate) fn encode_interval(header: &Header, interval: &Interval) -> Vec<u8> {
    let books = Books { header, tally: &interval.tally, arrivals: &interval.arrivals };
    let shape = StatsShape {
        index: Some(interval.index),
        asked_qps: Some(finite(interval.asked_qps)),
        ..books.own(interval.from_ns, interval.to_ns, &interval.workers)
    };
    books.to_line(STATS_PERIODIC, shape)
}

/// The text of a sum, with the newline.
pub(crate) fn encode_sum(header: &Header, sum: &Sum) -> Vec<u8> {
    let books = Books { header, tally: &sum.tally, arrivals: &sum.arrivals };
    let shape = StatsShape {
        ended: Some(sum.ended.clone()),
        warnings: Some(sum.warnings.iter().map(Into::into).collect()),
        evidence: Some((&sum.evidence).into()),
        late_after_settled: Some(sum.late_after_settled),
        schedule_ns: Some(sum.schedule_ns),
        passes: Some(finite(sum.passes)),
        interface: Some(sum.interface.clone()),
        ..books.own(0, sum.to_ns, &sum.workers)
    };
    books.to_line(STATS_SUM, shape)
}

/// The text of an event, with the newline.
pub(crate) fn encode_event(header: &Header, event: &Event) -> Vec<u8> {
    to_line(&Object {
        runid: &header.run_id,
        kind: EVENT,
        standard: StandardEvent { msg: &event.message, msg_type: &event.kind },
        dnsdyno: EventShape { at_ns: event.at_ns, figures: Cow::Borrowed(&event.figures) },
    })
}

/// Reads a header.
pub(crate) fn decode_header(text: &[u8]) -> Result<Header, LineError> {
    let tag: Tag = serde_json::from_slice(text)?;
    if tag.kind != HEADER {
        return Err(LineError::NoHeader(tag.kind.into_owned()));
    }
    // The version before the rest: a newer header may have any shape.
    let Some(Version { format }) = serde_json::from_slice::<Ours<Version>>(text)?.dnsdyno else {
        return Err(LineError::NotOurs);
    };
    if format > FORMAT {
        return Err(LineError::Newer(format));
    }
    let standard: ReadHeader = serde_json::from_slice(text)?;
    let own: Option<Header> = serde_json::from_slice::<Ours<Header>>(text)?.dnsdyno;
    Ok(Header {
        run_id: standard.runid,
        version: standard.generator_version,
        command_line: standard.generator_params,
        ..own.ok_or(LineError::NotOurs)?
    })
}

/// Reads any line after the header.
pub(crate) fn decode(text: &[u8], header: &Header) -> Result<Line, LineError> {
    let tag: Tag = serde_json::from_slice(text)?;
    match &*tag.kind {
        STATS_PERIODIC => decode_interval(own(text)?, header),
        STATS_SUM => decode_sum(own(text)?, header),
        EVENT => decode_event(text),
        other => Err(LineError::UnknownType(other.to_owned())),
    }
}

fn decode_interval(mut shape: StatsShape, header: &Header) -> Result<Line, LineError> {
    let index = shape.index.ok_or(ShapeError::Missing("index"))?;
    let asked_qps = shape.asked_qps.ok_or(ShapeError::Missing("asked_qps"))?;
    let (from_ns, to_ns) = (shape.from_ns, shape.to_ns);
    let workers = std::mem::take(&mut shape.workers);
    let (tally, arrivals) = shape.into_books(&header.types)?;
    Ok(Line::Interval(Box::new(Interval { index, from_ns, to_ns, asked_qps, tally, arrivals, workers })))
}

fn decode_sum(mut shape: StatsShape, header: &Header) -> Result<Line, LineError> {
    let ended = shape.ended.take().ok_or(ShapeError::Missing("ended"))?;
    let warnings = shape.warnings.take().ok_or(ShapeError::Missing("warnings"))?;
    let evidence = shape.evidence.take().ok_or(ShapeError::Missing("evidence"))?;
    let late_after_settled = shape.late_after_settled.ok_or(ShapeError::Missing("late_after_settled"))?;
    let schedule_ns = shape.schedule_ns.ok_or(ShapeError::Missing("schedule_ns"))?;
    let passes = shape.passes.ok_or(ShapeError::Missing("passes"))?;
    let to_ns = shape.to_ns;
    let interface = shape.interface.take().flatten();
    let workers = std::mem::take(&mut shape.workers);
    let warnings = warnings.into_iter().map(TryInto::try_into).collect::<Result<_, _>>()?;
    let (tally, arrivals) = shape.into_books(&header.types)?;
    Ok(Line::Sum(Box::new(Sum {
        to_ns,
        tally,
        arrivals,
        warnings,
        ended,
        evidence: evidence.into(),
        late_after_settled,
        workers,
        schedule_ns,
        passes,
        interface,
    })))
}

fn decode_event(text: &[u8]) -> Result<Line, LineError> {
    let standard: ReadEvent = serde_json::from_slice(text)?;
    let own: EventShape = own(text)?;
    Ok(Line::Event(Event {
        at_ns: own.at_ns,
        kind: standard.msg_type,
        message: standard.msg,
        figures: own.figures.into_owned(),
    }))
}

/// Our property of a line.
fn own<T: for<'de> Deserialize<'de>>(text: &[u8]) -> Result<T, LineError> {
    serde_json::from_slice::<Ours<T>>(text)?.dnsdyno.ok_or(LineError::NotOurs)
}

/// The two books of an interval or of a run, on their way into a line.
struct Books<'a> {
    header: &'a Header,
    tally: &'a Tally,
    arrivals: &'a Arrivals,
}

impl Books<'_> {
    fn own(&self, from_ns: u64, to_ns: u64, workers: &[WorkerUse]) -> StatsShape {
        let TallyShapes { ends, rcodes, types } = TallyShapes::new(self.tally, &self.header.types);
        StatsShape {
            index: None,
            from_ns,
            to_ns,
            asked_qps: None,
            scheduled: self.tally.scheduled,
            requests: self.tally.requests,
            asked_again: self.tally.asked_again,
            ends,
            beside: (&self.arrivals.beside).into(),
            rcodes,
            types,
            response: (&self.tally.response).into(),
            service: (&self.tally.service).into(),
            lateness: (&self.tally.lateness).into(),
            bytes_sent: self.tally.bytes_sent,
            bytes_answered: self.tally.bytes_answered,
            fallback: self.tally.fallback.as_deref().map(Into::into),
            members: self.tally.members.iter().map(Into::into).collect(),
            arrivals: self.arrivals.into(),
            workers: workers.to_vec(),
            ended: None,
            warnings: None,
            evidence: None,
            late_after_settled: None,
            schedule_ns: None,
            passes: None,
            interface: None,
        }
    }

    fn to_line(&self, kind: &'static str, own: StatsShape) -> Vec<u8> {
        let span_ns = own.from_ns..own.to_ns;
        let standard = StandardStats::new(self.header, self.tally, self.arrivals, span_ns);
        to_line(&Object { runid: &self.header.run_id, kind, standard, dnsdyno: own })
    }
}

/// A line: the standard's properties beside ours.
#[derive(Serialize)]
struct Object<'a, S, T> {
    runid: &'a str,
    #[serde(rename = "type")]
    kind: &'static str,
    #[serde(flatten)]
    standard: S,
    dnsdyno: T,
}

#[derive(Serialize)]
struct HeaderShape<'a> {
    format: u32,
    #[serde(flatten)]
    header: &'a Header,
}

#[derive(Serialize, Deserialize)]
struct EventShape<'a> {
    at_ns: u64,
    figures: Cow<'a, serde_json::Map<String, Value>>,
}

#[derive(Deserialize)]
struct Tag<'a> {
    #[serde(rename = "type", borrow)]
    kind: Cow<'a, str>,
}

#[derive(Deserialize)]
struct Ours<T> {
    dnsdyno: Option<T>,
}

#[derive(Deserialize)]
struct Version {
    format: u32,
}

#[derive(Deserialize)]
struct ReadHeader {
    runid: String,
    generator_version: String,
    #[serde(default)]
    generator_params: Vec<String>,
}

#[derive(Deserialize)]
struct ReadEvent {
    msg: String,
    #[serde(default)]
    msg_type: String,
}

/// One object, one line.
fn to_line(object: &impl Serialize) -> Vec<u8> {
    let mut line = Vec::with_capacity(LINE_CAPACITY);
    // Cannot fail: the map keys are strings, and a Vec takes every byte.
    let written = serde_json::to_writer(&mut line, object);
    debug_assert!(written.is_ok(), "{written:?}");
    line.push(b'\n');
    line
}

const HEADER: &str = "header";
const STATS_PERIODIC: &str = "stats_periodic";
const STATS_SUM: &str = "stats_sum";
const EVENT: &str = "event";

/// The line of a quiet interval fits; a busy one grows a few times.
const LINE_CAPACITY: usize = 16 * 1024;

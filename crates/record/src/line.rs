//! One line of `run.ndjson`: encodes it as a dns-metrics object, and decodes it.
//!
//! ```text
//!   {"runid":…,"type":"stats_periodic","since":…,"queries":…, …   the properties of dns-metrics
//!    "dnsdyno":{…}}                                               all figures; only these are read back
//! ```
//!
//! The standard properties are for other tools. We read back only `dnsdyno`, which repeats every figure.

use std::borrow::Cow;

use dnsdyno_measure::{Changes, Percentiles, bounded};
use dnsdyno_text::shown;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::limits::{
    LONGEST_EVENT_BYTES, LONGEST_LINE_BYTES, LONGEST_OLD_LINE_BYTES, LONGEST_QUOTE, MOST_WORDS,
};
use crate::standard::{JOINED_IN_INTERVAL, StandardEvent, StandardHeader, StandardStats};
use crate::{Event, FORMAT, Header, Interval, Sum, v1};

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
pub enum LineError {
    /// It is no JSON, or not that of a line.
    #[error("{}", without_place(.0))]
    Json(#[from] serde_json::Error),
    /// Another program wrote it.
    #[error("it has no \"dnsdyno\" property: another program wrote it")]
    NotOurs,
    /// The differences of a histogram do not fit.
    #[error("the buckets of \"arrival_changes\" do not add up to their count")]
    Changes,
    /// It is of another type.
    #[error("it is a \"{}\", where the header should be", shown(.0, LONGEST_QUOTE))]
    NoHeader(String),
    /// It is of a newer format.
    #[error("format {0}")]
    Newer(u32),
    /// It is longer than a line of its kind can be.
    #[error("it has {found} bytes, and the limit is {most}")]
    TooLong {
        /// Its length.
        found: usize,
        /// The limit.
        most: usize,
    },
    /// There was a header before.
    #[error("it is a second header, and a file contains one run")]
    SecondHeader,
}

impl Header {
    /// The line of the record, with its newline.
    pub fn encoded(&self) -> Vec<u8> {
        encode_header(self)
    }

    /// Reads the line of a record of the current format.
    ///
    /// # Errors
    /// It is not such a line.
    pub fn decode(line: &[u8]) -> Result<Header, LineError> {
        match decode_header(line)? {
            (header, FORMAT) => Ok(header),
            (_, older) => Err(LineError::Newer(older)),
        }
    }
}

impl Interval {
    /// The line of the record with this header, with its newline.
    pub fn encoded(&self, header: &Header) -> Vec<u8> {
        encode_interval(header, self)
    }
}

impl Event {
    /// The line of the record with this header, with its newline.
    pub fn encoded(&self, header: &Header) -> Vec<u8> {
        encode_event(header, self)
    }
}

impl Sum {
    /// The line of the record with this header, with its newline.
    pub fn encoded(&self, header: &Header) -> Vec<u8> {
        encode_sum(header, self)
    }
}

impl Line {
    /// Reads a line after this header, of the current format; `None` where its type is not known.
    ///
    /// # Errors
    /// It is not a line of a record.
    pub fn decode(line: &[u8], header: &Header) -> Result<Option<Line>, LineError> {
        decode(line, header, FORMAT)
    }
}

/// The text of a header, with the newline. Of a load with very many parts, of which a summary shows none, it has no
/// phases: they would make it longer than a line can be.
pub(crate) fn encode_header(header: &Header) -> Vec<u8> {
    let line = header_line(header);
    if (line.len() as u64) < LONGEST_LINE_BYTES || header.rows_are_phases() {
        return line;
    }
    header_line(&Header { phases: Vec::new(), ..header.clone() })
}

fn header_line(header: &Header) -> Vec<u8> {
    let own = HeaderOfFormat { format: FORMAT, header: Cow::Borrowed(header) };
    to_line(&Object {
        runid: &header.run_id,
        kind: HEADER,
        standard: StandardHeader::new(header),
        dnsdyno: own,
    })
}

/// The text of an interval, with the newline.
pub(crate) fn encode_interval(header: &Header, interval: &Interval) -> Vec<u8> {
    let span_ns = interval.from_ns..interval.to_ns;
    let standard =
        StandardStats::new(header, &interval.tally, &interval.arrivals, span_ns, JOINED_IN_INTERVAL);
    // Almost all queries due in a second are answered in it: their latencies are written once.
    let headline = header.headline_of(&interval.tally);
    let arrival_changes = Changes::between(headline, &interval.arrivals.latency);
    let mut interval = Cow::Borrowed(interval);
    if arrival_changes.is_some() {
        interval.to_mut().arrivals.latency.clear();
    }
    let percentiles = header.latency_of(&interval.tally).percentiles(header.timeout_ns);
    let dnsdyno = StoredInterval { interval, arrival_changes, percentiles };
    to_line(&Object { runid: &header.run_id, kind: STATS_PERIODIC, standard, dnsdyno })
}

/// The text of a sum, with the newline.
pub(crate) fn encode_sum(header: &Header, sum: &Sum) -> Vec<u8> {
    let standard = StandardStats::new(header, &sum.tally, &sum.arrivals, 0..sum.to_ns, 1);
    to_line(&Object { runid: &header.run_id, kind: STATS_SUM, standard, dnsdyno: sum })
}

/// The text of an event, with the newline.
pub(crate) fn encode_event(header: &Header, event: &Event) -> Vec<u8> {
    let standard = StandardEvent { msg: &event.message, msg_type: &event.kind };
    to_line(&Object { runid: &header.run_id, kind: EVENT, standard, dnsdyno: event })
}

/// Reads a header and its format.
pub(crate) fn decode_header(text: &[u8]) -> Result<(Header, u32), LineError> {
    let tag: Tag = serde_json::from_slice(text)?;
    if tag.kind != HEADER {
        return Err(LineError::NoHeader(tag.kind.into_owned()));
    }
    // The version first: the rest of a newer header is unknown.
    let Version { format } = own(text)?;
    if format > FORMAT {
        return Err(LineError::Newer(format));
    }
    let standard: ReadHeader = serde_json::from_slice(text)?;
    let header = Header {
        run_id: standard.runid,
        version: standard.generator_version,
        command_line: standard.generator_params,
        ..own(text)?
    };
    Ok((header, format))
}

/// Reads a line after the header; `None` where its type is unknown.
pub(crate) fn decode(text: &[u8], header: &Header, format: u32) -> Result<Option<Line>, LineError> {
    let tag: Tag = serde_json::from_slice(text)?;
    match tag.kind.as_ref() {
        HEADER => return Err(LineError::SecondHeader),
        EVENT => is_not_longer(text, LONGEST_EVENT_BYTES)?,
        _ => {}
    }
    if format == 1 {
        is_not_longer(text, LONGEST_OLD_LINE_BYTES)?;
        let mut value: Map<String, Value> = serde_json::from_slice(text)?;
        v1::translate(&mut value, &header.types);
        return decode_kind(&tag.kind, &Source::Value(&value.into()), header);
    }
    decode_kind(&tag.kind, &Source::Text(text), header)
}

fn is_not_longer(text: &[u8], most: usize) -> Result<(), LineError> {
    if text.len() <= most { Ok(()) } else { Err(LineError::TooLong { found: text.len(), most }) }
}

/// The message of the library, which may repeat a part of the line, with the column only: the line is that of the file.
fn without_place(error: &serde_json::Error) -> String {
    let (line, column) = (error.line(), error.column());
    let message = error.to_string();
    let message = message.strip_suffix(&format!(" at line {line} column {column}")).unwrap_or(&message);
    format!("{}, column {column}", shown(message, LONGEST_QUOTE))
}

fn decode_kind(kind: &str, source: &Source<'_>, header: &Header) -> Result<Option<Line>, LineError> {
    Ok(Some(match kind {
        STATS_PERIODIC => {
            // The tally's properties are read separately: with `flatten`, serde would buffer each number first, in a
            // type that is too small for the sums of squares.
            let mut interval = Box::new(Interval { tally: source.own()?, ..source.own()? });
            if let Some(changes) = source.own::<ReadChanges>()?.arrival_changes {
                let latency = changes.onto(header.headline_of(&interval.tally));
                interval.arrivals.latency = latency.ok_or(LineError::Changes)?;
            }
            Line::Interval(interval)
        }
        STATS_SUM => Line::Sum(Box::new(Sum { tally: source.own()?, ..source.own()? })),
        EVENT => Line::Event(source.own()?),
        _ => return Ok(None),
    }))
}

/// A line to be read.
enum Source<'a> {
    /// The text in the file.
    Text(&'a [u8]),
    /// Translated from an older format.
    Value(&'a Value),
}

impl Source<'_> {
    /// Our property of the line.
    fn own<T: DeserializeOwned>(&self) -> Result<T, LineError> {
        match self {
            Source::Text(text) => own(text),
            Source::Value(value) => Ok(T::deserialize(&value["dnsdyno"])?),
        }
    }
}

fn own<T: DeserializeOwned>(text: &[u8]) -> Result<T, LineError> {
    serde_json::from_slice::<Ours<T>>(text)?.dnsdyno.ok_or(LineError::NotOurs)
}

/// A line: the standard properties, and ours.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct Object<'a, S, T> {
    /// Name of the run, the same on each line.
    runid: &'a str,
    /// The kind of line.
    #[serde(rename = "type")]
    kind: &'static str,
    #[serde(flatten)]
    standard: S,
    /// Every figure of this line, also those that dns-metrics does not have.
    dnsdyno: T,
}

/// An interval as it is written.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "Interval"))]
pub(crate) struct StoredInterval<'a> {
    #[serde(flatten)]
    interval: Cow<'a, Interval>,
    /// Where `arrivals.latency` is absent: its difference from the headline latency, `response` or `service`.
    #[serde(skip_serializing_if = "Option::is_none")]
    arrival_changes: Option<Changes>,
    /// Percentiles of the headline latency, timeouts included, for scripts; never read back.
    #[serde(skip_serializing_if = "Percentiles::is_empty")]
    percentiles: Percentiles,
}

#[derive(Deserialize)]
struct ReadChanges {
    arrival_changes: Option<Changes>,
}

#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "Header"))]
pub(crate) struct HeaderOfFormat<'a> {
    /// Version of this format: 2. A program should refuse a newer one.
    format: u32,
    #[serde(flatten)]
    header: Cow<'a, Header>,
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
    #[serde(default, deserialize_with = "bounded::list::<_, _, MOST_WORDS>")]
    generator_params: Vec<String>,
}

/// Writes an object as one line.
fn to_line(object: &impl Serialize) -> Vec<u8> {
    let mut line = Vec::with_capacity(LINE_CAPACITY);
    // Cannot fail: the map keys are strings, and the target is a Vec.
    let written = serde_json::to_writer(&mut line, object);
    debug_assert!(written.is_ok(), "{written:?}");
    line.push(b'\n');
    line
}

pub(crate) const HEADER: &str = "header";
pub(crate) const STATS_PERIODIC: &str = "stats_periodic";
pub(crate) const STATS_SUM: &str = "stats_sum";
pub(crate) const EVENT: &str = "event";

/// Fits an interval with few distinct latencies; others grow a few times.
const LINE_CAPACITY: usize = 16 * 1024;

//! Files of queries with one query per line.
//!
//! Spaces and tabs may precede and separate words. Empty lines and lines whose first character is `;` are skipped.
//! Lines may end with CRLF, the last one without a newline. What a line says depends on the format (see
//! [`QueriesFormat`]); in the usual one it is `name type`, with placeholders in the name and options after the type.
//! Files of ten million lines are usual, so a line is parsed in the read buffer, and only its message is allocated.

use std::borrow::Cow;
use std::io::{self, BufRead};

use dnsdyno_text::shown;
use dnsdyno_wire::{HEADER_LEN, MAX_NAME_LEN, QueryForm, encode_name, parse_type_bytes, type_name};

use super::arranged::arranged;
use super::error::{BadLine, BadReason, SourceError};
use super::idn::to_ascii;
use super::kind::{ZONE, is_zone_directive, is_zone_record};
use super::line_options::LineOptions;
use super::list::{ListColumn, is_list};
use super::queries::{Full, Own, Queries, QueriesBuilder};
use super::reading::{BadLines, QueriesFormat, Reading};
use super::template::{Placeholders, read_template};
use super::words::{MAX_SHOWN, is_blank, next_word, shorten};

/// How many malformed lines are kept for messages; the rest is only counted.
pub const MAX_BAD_LINES_KEPT: usize = 20;

/// What was read, and what was skipped.
#[derive(Debug, Clone)]
pub struct Loaded {
    /// The queries, at least one.
    pub queries: Queries,
    /// The number of lines that were skipped because they are malformed.
    pub bad_lines: u64,
    /// The first of them, [`MAX_BAD_LINES_KEPT`] at most.
    pub first_bad: Vec<BadLine>,
    /// The number of internationalized names that are sent as A-labels.
    pub idn_names: u64,
    /// The first of them, and what is sent.
    pub first_idn: Option<(String, String)>,
    /// The hash of the queries in the order of their source (see [`Queries::hash`]).
    pub hash: String,
}

/// Reads queries from `input` to its end. `origin` names it in messages; `bytes_hint` is its length if
/// known, otherwise 0.
pub fn read_text(
    mut input: impl BufRead,
    origin: &str,
    bytes_hint: usize,
    reading: &Reading,
) -> Result<Loaded, SourceError> {
    let mut lines = Lines::new(origin, bytes_hint, reading);
    // The start of a line that continues in the next buffer.
    let mut carry: Vec<u8> = Vec::new();
    // Its length so far, of which not all is kept.
    let mut carried = 0;
    loop {
        let buffer = match input.fill_buf() {
            Ok([]) => break,
            Ok(buffer) => buffer,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(source) => return Err(SourceError::Read { origin: origin.to_owned(), source }),
        };
        lines.has_braces |= buffer.contains(&b'{');
        let mut rest = buffer;
        while let Some(end) = rest.iter().position(|&byte| byte == b'\n') {
            if carry.is_empty() {
                lines.take(&rest[..end])?;
            } else {
                extend_to_limit(&mut carry, &rest[..end]);
                lines.take(&carry)?;
                carry.clear();
            }
            carried = 0;
            rest = &rest[end + 1..];
        }
        extend_to_limit(&mut carry, rest);
        carried += rest.len();
        if carried > MAX_LINE_BYTES {
            return Err(SourceError::LongLine { origin: origin.to_owned(), line: lines.line + 1 });
        }
        let used = buffer.len();
        input.consume(used);
    }
    if !carry.is_empty() {
        lines.take(&carry)?;
    }
    lines.finish()
}

/// The state between lines.
struct Lines<'a> {
    origin: &'a str,
    reading: &'a Reading,
    format: QueriesFormat,
    /// Whether a line may have a placeholder.
    has_braces: bool,
    /// Where a list has its names.
    column: ListColumn,
    line: u64,
    name_wire: Vec<u8>,
    builder: QueriesBuilder,
    good_lines: u64,
    bad_lines: u64,
    /// Malformed lines that are records of a zone.
    zone_lines: u64,
    first_bad: Vec<BadLine>,
    idn: IdnNames,
}

/// The internationalized names that were converted.
#[derive(Default)]
pub(super) struct IdnNames {
    pub(super) count: u64,
    pub(super) first: Option<(String, String)>,
}

impl<'a> Lines<'a> {
    fn new(origin: &'a str, bytes_hint: usize, reading: &'a Reading) -> Lines<'a> {
        Lines {
            origin,
            reading,
            format: reading.selection.format,
            has_braces: false,
            column: ListColumn::default(),
            line: 0,
            name_wire: Vec::with_capacity(MAX_NAME_LEN),
            builder: QueriesBuilder::of(reading, bytes_hint),
            good_lines: 0,
            bad_lines: 0,
            zone_lines: 0,
            first_bad: Vec::new(),
            idn: IdnNames::default(),
        }
    }

    /// Parses one line without its newline.
    #[inline]
    fn take(&mut self, line: &[u8]) -> Result<(), SourceError> {
        self.line += 1;
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let line = if self.line == 1 { line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(line) } else { line };
        let (name, rest) = next_word(line);
        if name.is_empty() || name[0] == b';' {
            return Ok(());
        }
        if self.format != QueriesFormat::Text {
            return self.take_other(line);
        }
        let (type_word, more) = next_word(rest);
        if self.has_braces || !more.is_empty() {
            return self.take_extended(line, Words { name, qtype: type_word, more });
        }
        self.name_wire.clear();
        match read_query(name, type_word, &mut self.name_wire, &mut self.idn) {
            Ok(qtype) => self.push(qtype),
            Err(reason) => self.skip(line, name, reason),
        }
    }

    /// Adds the query for the name that was read.
    #[inline]
    fn push(&mut self, qtype: u16) -> Result<(), SourceError> {
        self.good_lines += 1;
        self.builder.push(&self.name_wire, qtype).map_err(|full: Full| SourceError::TooLarge {
            origin: self.origin.to_owned(),
            line: self.line,
            most_bytes: full.most_bytes,
        })
    }

    /// Parses a line of another format than the usual one.
    fn take_other(&mut self, line: &[u8]) -> Result<(), SourceError> {
        let (name, rest) = next_word(line);
        let is_directive = self.format == QueriesFormat::Queryperf && name.starts_with(b"#");
        match self.format {
            QueriesFormat::Auto => {
                let has_types = self.reading.selection.types.is_some();
                self.format = if is_list(line) {
                    QueriesFormat::Csv
                } else if has_types && rest.iter().all(|byte| is_blank(*byte)) {
                    QueriesFormat::Names
                } else {
                    QueriesFormat::Text
                };
                self.line -= 1;
                self.take(line)
            }
            _ if is_directive => Ok(()),
            QueriesFormat::Csv => match self.column.name_in(line) {
                Ok(Some(name)) => self.take_name(line, &name),
                Ok(None) => Ok(()),
                Err(reason) => self.skip(line, name, reason),
            },
            QueriesFormat::Names => self.take_name(line, name),
            _ => {
                let (type_word, _) = next_word(rest);
                self.name_wire.clear();
                match read_plain_query(name, type_word, &mut self.name_wire) {
                    Ok(qtype) => self.push(qtype),
                    Err(reason) => self.skip(line, name, reason),
                }
            }
        }
    }

    /// Adds a query for the address of a name.
    fn take_name(&mut self, line: &[u8], name: &[u8]) -> Result<(), SourceError> {
        self.take_extended(line, Words { name, qtype: TYPE_OF_LISTS, more: b"" })
    }

    /// Parses a line of the usual format that may have placeholders or options.
    fn take_extended(&mut self, line: &[u8], words: Words<'_>) -> Result<(), SourceError> {
        match read_extended(&words, self.reading.form, &mut self.name_wire, &mut self.idn) {
            Ok(query) => {
                self.good_lines += 1;
                let too_large = |full: Full| SourceError::TooLarge {
                    origin: self.origin.to_owned(),
                    line: self.line,
                    most_bytes: full.most_bytes,
                };
                query.push(&self.name_wire, &mut self.builder).map_err(too_large)
            }
            Err(reason) => self.skip(line, words.name, reason),
        }
    }

    /// Counts a malformed line, and keeps it if it is among the first.
    #[cold]
    fn skip(&mut self, line: &[u8], name: &[u8], reason: BadReason) -> Result<(), SourceError> {
        self.bad_lines += 1;
        self.zone_lines += u64::from(is_zone_record(line));
        if self.reading.bad_lines != BadLines::SkipAll && is_zone_directive(name) {
            return Err(SourceError::NotQueries { origin: self.origin.to_owned(), kind: ZONE });
        }
        if self.first_bad.len() == MAX_BAD_LINES_KEPT {
            // What has no queries may have no end either.
            let is_hopeless = self.bad_lines >= MANY_BAD_LINES
                && self.bad_lines / 2 > self.good_lines
                && self.reading.bad_lines != BadLines::SkipAll;
            return if is_hopeless { Err(self.mostly_bad()) } else { Ok(()) };
        }
        let bad = BadLine { origin: self.origin.to_owned(), line: self.line, reason, text: shorten(line) };
        if self.reading.bad_lines == BadLines::Refuse {
            return Err(SourceError::BadLine(Box::new(bad)));
        }
        self.first_bad.push(bad);
        Ok(())
    }

    /// The error of a source whose lines are no queries.
    fn mostly_bad(&self) -> SourceError {
        let (origin, bad_lines) = (self.origin.to_owned(), self.bad_lines);
        match self.first_bad.first().cloned().map(Box::new) {
            _ if self.zone_lines * 2 > bad_lines && self.reading.bad_lines != BadLines::SkipAll => {
                SourceError::NotQueries { origin, kind: ZONE }
            }
            Some(first) if self.builder.is_empty() => SourceError::OnlyBadLines { origin, first },
            Some(first) => {
                SourceError::MostlyBad { origin, bad_lines, lines: self.good_lines + bad_lines, first }
            }
            None => SourceError::Empty { origin },
        }
    }

    fn finish(self) -> Result<Loaded, SourceError> {
        let are_most_bad = self.bad_lines > self.good_lines && self.reading.bad_lines != BadLines::SkipAll;
        if self.builder.is_empty() || are_most_bad {
            return Err(self.mostly_bad());
        }
        let Lines { builder, reading, bad_lines, first_bad, idn, .. } = self;
        let loaded = Loaded::new(builder, self.origin.to_owned(), idn, reading)?;
        Ok(Loaded { bad_lines, first_bad, ..loaded })
    }
}

impl Loaded {
    /// Of what was read without malformed lines.
    pub(super) fn new(
        builder: QueriesBuilder,
        origin: String,
        idn: IdnNames,
        reading: &Reading,
    ) -> Result<Loaded, SourceError> {
        let (queries, hash) = arranged(builder, reading).map_err(|full: Full| SourceError::TooLarge {
            origin,
            line: 0,
            most_bytes: full.most_bytes,
        })?;
        let (bad_lines, first_bad) = (0, Vec::new());
        Ok(Loaded { queries, bad_lines, first_bad, idn_names: idn.count, first_idn: idn.first, hash })
    }
}

/// The words of a line.
pub(super) struct Words<'a> {
    pub(super) name: &'a [u8],
    pub(super) qtype: &'a [u8],
    /// What follows the type.
    pub(super) more: &'a [u8],
}

/// A query that may have placeholders and options.
pub(super) struct ExtendedQuery {
    qtype: u16,
    placeholders: Placeholders,
    /// The message, where it is not like all others.
    message: Option<Vec<u8>>,
}

impl ExtendedQuery {
    /// Adds it to the queries.
    pub(super) fn push(self, name_wire: &[u8], builder: &mut QueriesBuilder) -> Result<(), Full> {
        match &self.message {
            Some(message) => builder.push_message(message, Own::default())?,
            None => builder.push(name_wire, self.qtype)?,
        }
        builder.set_placeholders(self.placeholders);
        Ok(())
    }
}

/// Reads a query with placeholders and options; `name_wire` gets its name.
pub(super) fn read_extended(
    words: &Words<'_>,
    form: QueryForm,
    name_wire: &mut Vec<u8>,
    idn: &mut IdnNames,
) -> Result<ExtendedQuery, BadReason> {
    name_wire.clear();
    let options = LineOptions::read(words.more)?;
    let (name, placeholders) = match words.name.contains(&b'{') {
        true => read_template(&to_ascii(words.name)?, HEADER_LEN)?,
        false => (words.name.to_vec(), Vec::new()),
    };
    let qtype = read_query(&name, words.qtype, name_wire, idn)?;
    let message = match options.is_empty() {
        true => None,
        false => Some(options.encode(form, name_wire, qtype)?),
    };
    Ok(ExtendedQuery { qtype, placeholders, message })
}

/// Reads name and type as dnsperf does: the name as it is, and a type that may be cut short.
fn read_plain_query(name: &[u8], qtype: &[u8], name_wire: &mut Vec<u8>) -> Result<u16, BadReason> {
    encode_name(name, name_wire)?;
    if qtype.is_empty() {
        return Err(BadReason::NoType);
    }
    let starts = |number: &u16| {
        let name = type_name(*number);
        name.get(..qtype.len()).is_some_and(|start| start.as_bytes().eq_ignore_ascii_case(qtype))
    };
    let cut_short = || (1..=LAST_NAMED_TYPE).find(starts);
    parse_type_bytes(qtype).or_else(cut_short).ok_or_else(|| BadReason::UnknownType(shorten(qtype)))
}

/// Reads name and type of one query. Appends the name to `name_wire`, which is empty; returns the type.
#[inline]
pub(super) fn read_query(
    name: &[u8],
    qtype: &[u8],
    name_wire: &mut Vec<u8>,
    idn: &mut IdnNames,
) -> Result<u16, BadReason> {
    if qtype.is_empty() {
        return Err(BadReason::NoType);
    }
    let number = parse_type_bytes(qtype).ok_or_else(|| BadReason::UnknownType(shorten(qtype)))?;
    let ascii = to_ascii(name)?;
    encode_name(&ascii, name_wire)?;
    if let Cow::Owned(sent) = &ascii {
        idn.count += 1;
        let text = |bytes: &[u8]| shown(&String::from_utf8_lossy(bytes), MAX_SHOWN).into_owned();
        idn.first.get_or_insert_with(|| (text(name), text(sent)));
    }
    Ok(number)
}

/// Appends up to the longest useful line: a file without newlines must not fill the memory.
fn extend_to_limit(carry: &mut Vec<u8>, more: &[u8]) {
    let room = MAX_LINE_KEPT.saturating_sub(carry.len());
    carry.extend_from_slice(&more[..more.len().min(room)]);
}

/// The byte order mark that some editors put at the start of a UTF-8 file.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// How much of a line is kept where it crosses the read buffer: far more than any name and type need; the rest is
/// ignored anyway.
const MAX_LINE_KEPT: usize = 64 * 1024;

/// Malformed lines after which a source is not read to its end, if they are two in three of its lines.
pub(super) const MANY_BAD_LINES: u64 = 1_000_000;

/// The longest line: input without newlines is read no further.
const MAX_LINE_BYTES: usize = 16 << 20;

/// The last type of the first 256 and their neighbours that has a name; dnsperf has few beyond.
const LAST_NAMED_TYPE: u16 = 260;

/// The type of queries for the names of a list.
const TYPE_OF_LISTS: &[u8] = b"A";

#[cfg(test)]
mod tests;

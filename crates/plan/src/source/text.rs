//! The query file as dnsperf reads it: one `name type` per line.
//!
//! Spaces and tabs may precede and separate them; text after the type is ignored. Empty lines and
//! lines whose first character is `;` are skipped. Lines may end with CRLF, the last one without a newline.
//! Files of ten million lines are usual, so a line is parsed in the read buffer, and only its message is
//! allocated.

use std::borrow::Cow;
use std::io::{self, BufRead};

use dnsdyno_measure::shown;
use dnsdyno_wire::{MAX_NAME_LEN, QueryForm, encode_name, parse_type_bytes};

use super::error::{BadLine, BadReason, SourceError};
use super::idn::to_ascii;
use super::kind::{ZONE, is_zone_directive, is_zone_record, recognise};
use super::queries::{Queries, QueriesBuilder};

/// How many malformed lines are kept for messages; the rest is only counted.
pub const MAX_BAD_LINES_KEPT: usize = 20;

/// What was read, and what was skipped.
#[derive(Debug, Clone)]
pub struct Loaded {
    /// The queries, at least one.
    pub queries: Queries,
    /// The number of lines that were skipped because they are not `name type`.
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

/// What is done with malformed lines.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum BadLines {
    /// The first is an error.
    Refuse,
    /// They are skipped and counted; if they are the most, it is an error.
    #[default]
    SkipFew,
    /// They are skipped and counted.
    SkipAll,
}

/// Reads queries from `input` to its end. `origin` names it in messages; `bytes_hint` is its length if
/// known, otherwise 0.
pub fn read_text(
    mut input: impl BufRead,
    origin: &str,
    bytes_hint: usize,
    form: QueryForm,
    bad_lines: BadLines,
) -> Result<Loaded, SourceError> {
    let mut lines = Lines::new(origin, bytes_hint, form, bad_lines);
    let mut is_start = true;
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
        if std::mem::replace(&mut is_start, false)
            && let Some(kind) = recognise(buffer)
        {
            return Err(SourceError::NotQueries { origin: origin.to_owned(), kind });
        }
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
    rule: BadLines,
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
    fn new(origin: &'a str, bytes_hint: usize, form: QueryForm, rule: BadLines) -> Lines<'a> {
        Lines {
            origin,
            rule,
            line: 0,
            name_wire: Vec::with_capacity(MAX_NAME_LEN),
            builder: QueriesBuilder::new(form, bytes_hint),
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
        let (type_word, _) = next_word(rest);
        self.name_wire.clear();
        match read_query(name, type_word, &mut self.name_wire, &mut self.idn) {
            Ok(qtype) => {
                self.good_lines += 1;
                self.builder
                    .push(&self.name_wire, qtype)
                    .map_err(|_| SourceError::TooLarge { origin: self.origin.to_owned(), line: self.line })
            }
            Err(reason) => self.skip(line, name, reason),
        }
    }

    /// Counts a malformed line, and keeps it if it is among the first.
    #[cold]
    fn skip(&mut self, line: &[u8], name: &[u8], reason: BadReason) -> Result<(), SourceError> {
        self.bad_lines += 1;
        self.zone_lines += u64::from(is_zone_record(line));
        if self.rule != BadLines::SkipAll && is_zone_directive(name) {
            return Err(SourceError::NotQueries { origin: self.origin.to_owned(), kind: ZONE });
        }
        if self.first_bad.len() == MAX_BAD_LINES_KEPT {
            return Ok(());
        }
        let bad = BadLine { origin: self.origin.to_owned(), line: self.line, reason, text: shorten(line) };
        if self.rule == BadLines::Refuse {
            return Err(SourceError::BadLine(Box::new(bad)));
        }
        self.first_bad.push(bad);
        Ok(())
    }

    fn finish(self) -> Result<Loaded, SourceError> {
        let Lines { builder, good_lines, bad_lines, first_bad, .. } = self;
        let origin = || self.origin.to_owned();
        let are_most_bad = bad_lines > good_lines && self.rule != BadLines::SkipAll;
        if are_most_bad && self.zone_lines * 2 > bad_lines {
            return Err(SourceError::NotQueries { origin: origin(), kind: ZONE });
        }
        let first = || first_bad.first().cloned().map(Box::new);
        match (builder.is_empty(), first()) {
            (true, None) => Err(SourceError::Empty { origin: origin() }),
            (true, Some(first)) => Err(SourceError::OnlyBadLines { origin: origin(), first }),
            (false, Some(first)) if are_most_bad => {
                let lines = good_lines + bad_lines;
                Err(SourceError::MostlyBad { origin: origin(), bad_lines, lines, first })
            }
            _ => Ok(Loaded::new(builder.finish(), bad_lines, first_bad, self.idn)),
        }
    }
}

impl Loaded {
    pub(super) fn new(queries: Queries, bad_lines: u64, first_bad: Vec<BadLine>, idn: IdnNames) -> Loaded {
        let hash = queries.hash();
        Loaded { queries, bad_lines, first_bad, idn_names: idn.count, first_idn: idn.first, hash }
    }
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

/// The first word of `text` and the rest; the word is empty if there is none.
#[inline]
pub(super) fn next_word(text: &[u8]) -> (&[u8], &[u8]) {
    let is_blank = |byte: &u8| *byte == b' ' || *byte == b'\t';
    let start = text.iter().position(|byte| !is_blank(byte)).unwrap_or(text.len());
    let text = &text[start..];
    text.split_at(text.iter().position(is_blank).unwrap_or(text.len()))
}

/// The start of a line, printable on a terminal.
fn shorten(line: &[u8]) -> String {
    let shown = &line[..line.len().min(MAX_SHOWN)];
    let dots = if shown.len() < line.len() { "..." } else { "" };
    format!("{}{dots}", shown.escape_ascii())
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

/// The longest line: input without newlines is read no further.
const MAX_LINE_BYTES: usize = 16 << 20;

/// How many bytes of a malformed line are shown.
const MAX_SHOWN: usize = 60;

#[cfg(test)]
mod tests;

//! Dynamic updates (RFC 2136) in the form that dnsperf reads with `-u`: one message a block.
//!
//! ```text
//! example.com                         the zone
//! require www A                       prerequisites: require NAME [TYPE [DATA]], prohibit NAME [TYPE]
//! delete www A                        updates: add NAME TTL TYPE DATA, delete NAME [TYPE [DATA]]
//! add www 3600 A 192.0.2.1
//! send
//! ```
//!
//! Names without a final dot are relative to the zone. Empty lines and lines that start with `;` are skipped. A block
//! with a mistake is skipped as a whole, and counted as one malformed line.

mod command;
mod message;
pub(crate) mod mistake;
mod name;

use std::io::{self, BufRead, Read};

use dnsdyno_text::shown;

use self::command::Command;
use self::message::UpdateMessage;
use self::mistake::UpdateMistake;
use super::error::{BadLine, BadReason, SourceError};
use super::queries::{Full, Own, QueriesBuilder};
use super::reading::{BadLines, Reading};
use super::text::{IdnNames, Loaded, MAX_BAD_LINES_KEPT};

/// Reads updates from `input` to its end. `origin` names it in messages; `bytes_hint` is its length if known.
pub(super) fn read_updates(
    mut input: impl BufRead,
    origin: &str,
    bytes_hint: usize,
    reading: &Reading,
) -> Result<Loaded, SourceError> {
    let mut blocks = Blocks::new(origin, bytes_hint, reading);
    let mut line = Vec::new();
    loop {
        line.clear();
        let read = (&mut input).take(MAX_LINE_BYTES).read_until(b'\n', &mut line);
        match read {
            Ok(0) => break,
            Ok(length) if length as u64 == MAX_LINE_BYTES => {
                return Err(SourceError::LongLine { origin: origin.to_owned(), line: blocks.line + 1 });
            }
            Ok(_) => blocks.take(line.trim_ascii_end())?,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(source) => return Err(SourceError::Read { origin: origin.to_owned(), source }),
        }
    }
    blocks.finish()
}

/// The state between lines.
struct Blocks<'a> {
    origin: &'a str,
    reading: &'a Reading,
    builder: QueriesBuilder,
    line: u64,
    state: State,
    /// The line with the zone of the present block.
    zone_line: (u64, String),
    good: u64,
    bad: u64,
    first_bad: Vec<BadLine>,
}

/// Where in a block the next line is.
enum State {
    /// Before its first line.
    Outside,
    /// After its zone.
    Inside(Box<UpdateMessage>),
    /// After a mistake, before its end.
    Skipped,
}

impl<'a> Blocks<'a> {
    fn new(origin: &'a str, bytes_hint: usize, reading: &'a Reading) -> Blocks<'a> {
        Blocks {
            origin,
            reading,
            builder: QueriesBuilder::of(reading, bytes_hint),
            line: 0,
            state: State::Outside,
            zone_line: (0, String::new()),
            good: 0,
            bad: 0,
            first_bad: Vec::new(),
        }
    }

    /// Reads one line without its end.
    fn take(&mut self, line: &[u8]) -> Result<(), SourceError> {
        self.line += 1;
        if line.trim_ascii().is_empty() || line[0] == b';' {
            return Ok(());
        }
        let is_end = line.eq_ignore_ascii_case(b"send");
        match std::mem::replace(&mut self.state, State::Outside) {
            State::Outside => {
                self.zone_line = (self.line, text_of(line));
                match UpdateMessage::begin(line.trim_ascii(), self.reading.form) {
                    Ok(message) => self.state = State::Inside(Box::new(message)),
                    Err(mistake) => {
                        self.state = State::Skipped;
                        self.note(self.line, text_of(line), mistake)?;
                    }
                }
            }
            State::Inside(message) if is_end => self.end(*message)?,
            State::Inside(mut message) => match Command::read(line).and_then(|command| message.add(&command))
            {
                Ok(()) => self.state = State::Inside(message),
                Err(mistake) => {
                    self.state = State::Skipped;
                    self.note(self.line, text_of(line), mistake)?;
                }
            },
            State::Skipped => self.state = if is_end { State::Outside } else { State::Skipped },
        }
        Ok(())
    }

    /// The block is whole.
    fn end(&mut self, message: UpdateMessage) -> Result<(), SourceError> {
        match message.finish() {
            Ok(message) => {
                self.good += 1;
                let too_large = |full: Full| SourceError::TooLarge {
                    origin: self.origin.to_owned(),
                    line: self.line,
                    most_bytes: full.most_bytes,
                };
                self.builder.push_message(&message, Own::default()).map_err(too_large)
            }
            Err(mistake) => {
                let (line, text) = self.zone_line.clone();
                self.note(line, text, mistake)
            }
        }
    }

    /// Counts a block with a mistake, and keeps the line if it is among the first.
    fn note(&mut self, line: u64, text: String, mistake: UpdateMistake) -> Result<(), SourceError> {
        self.bad += 1;
        let bad = BadLine { origin: self.origin.to_owned(), line, reason: BadReason::Update(mistake), text };
        if self.reading.bad_lines == BadLines::Refuse {
            return Err(SourceError::BadLine(Box::new(bad)));
        }
        if self.first_bad.len() < MAX_BAD_LINES_KEPT {
            self.first_bad.push(bad);
        }
        Ok(())
    }

    fn finish(mut self) -> Result<Loaded, SourceError> {
        if let State::Inside(_) = self.state {
            let (line, text) = self.zone_line.clone();
            self.note(line, text, UpdateMistake::Incomplete)?;
        }
        let Blocks { builder, reading, good, bad, first_bad, .. } = self;
        let origin = self.origin.to_owned();
        let first = || first_bad.first().cloned().map(Box::new);
        match (builder.is_empty(), first()) {
            (true, None) => Err(SourceError::Empty { origin }),
            (true, Some(_)) => Err(SourceError::NoGoodLine { origin, bad_lines: bad, first_bad }),
            (false, Some(first)) if bad > good && reading.bad_lines != BadLines::SkipAll => {
                Err(SourceError::MostlyBad { origin, bad_lines: bad, lines: good + bad, first })
            }
            _ => {
                let loaded = Loaded::new(builder, origin, IdnNames::default(), reading)?;
                Ok(Loaded { bad_lines: bad, first_bad, ..loaded })
            }
        }
    }
}

fn text_of(line: &[u8]) -> String {
    shown(&String::from_utf8_lossy(line), MOST_SHOWN).into_owned()
}

/// Far more than a message can hold.
const MAX_LINE_BYTES: u64 = 1 << 20;

/// Characters of a malformed line that are kept.
const MOST_SHOWN: usize = 400;

#[cfg(test)]
mod tests;

//! One line of an update: a prerequisite or a change.

use dnsdyno_wire::{NameError, parse_type_bytes};

/// What is wrong with an update.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UpdateMistake {
    /// The first line is not a name.
    #[error("the first line of an update is not the name of a zone: {0}")]
    Zone(NameError),
    /// The first word is no command.
    #[error("not a command of an update: write require, prohibit, add, delete or send")]
    Command,
    /// The owner is not a name.
    #[error(transparent)]
    Name(#[from] NameError),
    /// The TTL is not a number.
    #[error("the TTL is not a number of seconds: write `add NAME TTL TYPE DATA`")]
    Ttl,
    /// No type, where one is needed.
    #[error("no record type: write `add NAME TTL TYPE DATA`")]
    NoType,
    /// The type does not exist.
    #[error("not a record type: write a name like AAAA, or TYPEnnn")]
    Type,
    /// No data, where it is needed.
    #[error("no data of the record: write `add NAME TTL TYPE DATA`")]
    NoData,
    /// The data is not of its type.
    #[error(
        "the data is not that of a record of this type; of a rare type, write it as `\\# LENGTH HEX` (RFC 3597)"
    )]
    Data,
    /// A prerequisite after an update.
    #[error("prerequisites (require, prohibit) must precede the updates (add, delete)")]
    Order,
    /// No `send`.
    #[error("the update is incomplete: end it with `send`")]
    Incomplete,
    /// The message is longer than 65,535 octets.
    #[error("the update is longer than a DNS message, 65535 bytes: divide it")]
    Long,
}

impl UpdateMistake {
    /// The warning that dnsperf gives for this mistake in `line`; for an incomplete update `line` has its zone.
    pub fn in_words_of_dnsperf(&self, line: &str) -> String {
        let invalid = |why: &str| format!("invalid update command, {why}: {line}");
        match self {
            UpdateMistake::Zone(_) => format!("Unable to parse domain name {line}"),
            UpdateMistake::Command => format!("invalid update command: {line}"),
            UpdateMistake::Name(_) => invalid("invalid name or out of memory"),
            UpdateMistake::Ttl => invalid("TTL invalid"),
            UpdateMistake::NoType => invalid("TYPE required"),
            UpdateMistake::Type => invalid("TYPE invalid"),
            UpdateMistake::NoData => invalid("RDATA required"),
            UpdateMistake::Data => invalid("invalid RDATA or out of memory"),
            UpdateMistake::Order => "prereqs must precede updates".to_owned(),
            UpdateMistake::Incomplete => format!("incomplete update: {line}"),
            UpdateMistake::Long => "out of space in message buffer".to_owned(),
        }
    }
}

/// A line of an update.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Command<'a> {
    pub(super) kind: Kind,
    /// The owner of the record as text.
    pub(super) owner: &'a [u8],
    /// Of `add`; otherwise 0.
    pub(super) ttl_s: u32,
    /// `None` stands for all types.
    pub(super) rtype: Option<u16>,
    /// The data of the record as text; empty stands for all data.
    pub(super) data: &'a [u8],
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Require,
    Prohibit,
    Add,
    Delete,
}

impl Command<'_> {
    /// Reads a line.
    pub(super) fn read(line: &[u8]) -> Result<Command<'_>, UpdateMistake> {
        let (word, rest) = next_word(line);
        let kind = match word.to_ascii_lowercase().as_slice() {
            b"require" => Kind::Require,
            b"prohibit" => Kind::Prohibit,
            b"add" => Kind::Add,
            b"delete" => Kind::Delete,
            _ => return Err(UpdateMistake::Command),
        };
        let (owner, mut rest) = next_word(rest);
        if owner.is_empty() {
            return Err(UpdateMistake::Name(NameError::Empty));
        }
        let mut ttl_s = 0;
        if kind == Kind::Add {
            let (word, after) = next_word(rest);
            let is_number = !word.is_empty() && word.iter().all(u8::is_ascii_digit);
            let number = str::from_utf8(word).ok().filter(|_| is_number);
            ttl_s = number.and_then(|number| number.parse().ok()).ok_or(UpdateMistake::Ttl)?;
            rest = after;
        }
        let (word, data) = next_word(rest);
        let rtype = if word.is_empty() { None } else { Some(type_of(word)?) };
        // What dnsperf ignores after the type of a prohibition.
        let data = if kind == Kind::Prohibit { &[][..] } else { data.trim_ascii() };
        match (kind, rtype, data) {
            (Kind::Add, None, _) => Err(UpdateMistake::NoType),
            (Kind::Add, Some(_), []) => Err(UpdateMistake::NoData),
            _ => Ok(Command { kind, owner, ttl_s, rtype, data }),
        }
    }
}

/// The first word, and what follows it.
fn next_word(text: &[u8]) -> (&[u8], &[u8]) {
    let text = text.trim_ascii_start();
    let end = text.iter().position(|byte| byte.is_ascii_whitespace()).unwrap_or(text.len());
    text.split_at(end)
}

fn type_of(word: &[u8]) -> Result<u16, UpdateMistake> {
    parse_type_bytes(word).filter(|rtype| *rtype != 0).ok_or(UpdateMistake::Type)
}

//! One line of an update: a prerequisite or a change.

use dnsdyno_wire::{NameError, parse_type_bytes, ttl_seconds};

use super::mistake::UpdateMistake;

/// A line of an update.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Command<'a> {
    pub(super) kind: CommandWord,
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
pub(super) enum CommandWord {
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
            b"require" => CommandWord::Require,
            b"prohibit" => CommandWord::Prohibit,
            b"add" => CommandWord::Add,
            b"delete" => CommandWord::Delete,
            _ => return Err(UpdateMistake::Command),
        };
        let (owner, mut rest) = next_word(rest);
        if owner.is_empty() {
            return Err(UpdateMistake::Name(NameError::Empty));
        }
        let mut ttl_s = 0;
        if kind == CommandWord::Add {
            let (word, after) = next_word(rest);
            ttl_s = ttl_seconds(word).ok_or(UpdateMistake::Ttl)?;
            rest = after;
        }
        let (word, data) = next_word(rest);
        let rtype = if word.is_empty() { None } else { Some(type_of(word)?) };
        // What dnsperf ignores after the type of a prohibition.
        let data = if kind == CommandWord::Prohibit { &[][..] } else { data.trim_ascii() };
        match (kind, rtype, data) {
            (CommandWord::Add, None, _) => Err(UpdateMistake::NoType),
            (CommandWord::Add, Some(_), []) => Err(UpdateMistake::NoData),
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

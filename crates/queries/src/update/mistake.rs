//! What can be wrong with an update.

use dnsdyno_wire::NameError;

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

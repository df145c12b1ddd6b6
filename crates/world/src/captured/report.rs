//! What a world has kept of the answers of a capture, and why not the others.

use std::collections::BTreeMap;

use dnsdyno_text::units::{count, counted};
use serde::Serialize;

/// Each query of a capture has one end here: its answer is kept, is not for one reason, or cannot be compared.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct CaptureReport {
    /// The captures.
    pub captures: Vec<String>,
    /// Queries, as a replay sends them.
    pub queries: u64,
    /// Those without an answer in the capture, which says nothing of their names.
    pub unanswered: u64,
    /// Answers that a resolver gives again.
    pub kept: u64,
    /// Answers that it gives otherwise, by reason.
    pub not_kept: BTreeMap<NotKept, u64>,
    /// Answers of which it is not known, by reason.
    pub not_compared: BTreeMap<NotCompared, u64>,
    /// Of those not kept, how many are an error now and were none, were one and are none, or are another answer.
    pub worse: u64,
    /// See `worse`.
    pub better: u64,
    /// See `worse`.
    pub different: u64,
    /// Responses of the capture that showed something, whether their queries are in it or not.
    pub responses_used: u64,
    /// Responses of which nothing could be taken.
    pub responses_unused: u64,
    /// Names that are there or fail.
    pub names: u64,
    /// What they take of the memory, in octets.
    pub octets: u64,
    /// Names and records that were left out because there was no room.
    pub over_bound: u64,
    /// Why captures could not be read to their ends.
    pub errors: Vec<String>,
}

/// Why an answer is not kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum NotKept {
    /// Other answers to the same question were given.
    Changes,
    /// The answer is for the subnet of the client (RFC 7871).
    ClientSubnet,
    /// It has NS records, or no NS records where the world has a zone.
    NameServers,
    /// It is of a type that signing makes.
    Keys,
    /// Only its signatures differ.
    Signatures,
    /// REFUSED and its like.
    Refused,
    /// It has a DNAME record.
    Dname,
    /// There are names below one that was said not to be there.
    NamesBelow,
    /// Its name cannot be held.
    Name,
    /// It cannot be read.
    Malformed,
    /// There was no room.
    NoRoom,
    /// None of these.
    Other,
}

/// Why an answer cannot be compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum NotCompared {
    /// It was truncated.
    Truncated,
    /// It was asked for all types, or for a type that no zone has.
    AnyType,
    /// Another class or opcode.
    Class,
    /// More aliases than each resolver follows.
    Aliases,
    /// A name server gave it, and not a resolver.
    NameServer,
}

impl NotKept {
    /// For a person.
    pub fn words(self) -> &'static str {
        match self {
            NotKept::Changes => "another answer to the same question came more often",
            NotKept::ClientSubnet => "for the subnet of the client (ECS), and another one was kept",
            NotKept::NameServers => "NS records: a world has name servers of its own",
            NotKept::Keys => "keys and proofs (DS, DNSKEY, NSEC …): a world has its own",
            NotKept::Signatures => "the same records with other signatures, or without",
            NotKept::Refused => "REFUSED and the like: a rule of the resolver, and not of a zone",
            NotKept::Dname => "with a DNAME record, which is not made; the alias from it is",
            NotKept::NamesBelow => "no such name, but there are names below it",
            NotKept::Name => "a name that cannot be held: `*`, an octet 0, a name server of the world",
            NotKept::Malformed => "an answer that cannot be read",
            NotKept::NoRoom => "no room: the captures have more than is kept",
            NotKept::Other => "for another reason",
        }
    }
}

impl NotCompared {
    /// For a person.
    pub fn words(self) -> &'static str {
        match self {
            NotCompared::Truncated => "truncated",
            NotCompared::AnyType => "for ANY or a type that no zone has",
            NotCompared::Class => "of another class or opcode",
            NotCompared::Aliases => "over more aliases than each resolver follows",
            NotCompared::NameServer => "of name servers, and not of a resolver",
        }
    }
}

impl CaptureReport {
    /// As a table.
    pub fn to_text(&self) -> String {
        let answers = self.queries - self.unanswered;
        let mut lines = vec![format!(
            "{} of {} are kept; {} with what they hold take {} kB",
            count(self.kept),
            counted(answers, "answer", "answers"),
            counted(self.names, "name", "names"),
            count(self.octets.div_ceil(1_000)),
        )];
        let row = |(number, words): (u64, &str)| format!("  {:>9}  {words}", count(number));
        let rows = |title: &str, rows: Vec<(u64, &str)>| {
            let title = (!rows.is_empty()).then(|| title.to_owned());
            title.into_iter().chain(rows.into_iter().map(row)).collect::<Vec<_>>()
        };
        let not_kept = self.not_kept.iter().map(|(reason, number)| (*number, reason.words()));
        lines.extend(rows("not kept:", not_kept.collect()));
        let not_compared = self.not_compared.iter().map(|(reason, number)| (*number, reason.words()));
        lines.extend(rows("not compared:", not_compared.collect()));
        let also = [
            (self.unanswered, "queries without an answer: nothing is known of their names"),
            (self.responses_unused, "responses of which nothing was taken"),
            (self.over_bound, "names or records left out for want of room"),
        ];
        lines.extend(rows("in the capture:", also.into_iter().filter(|(number, _)| *number > 0).collect()));
        lines.extend(self.errors.iter().map(|error| format!("used up to its error: {error}")));
        lines.join("\n")
    }
}

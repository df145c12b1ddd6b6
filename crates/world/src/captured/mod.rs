//! What the answers of a capture show of the Internet: names with their records, those that fail, and where zones are.
//!
//! ```text
//!  capture ──► response ──► Votes ──► Captured ◄── tree, records, answer: what a zone has at a name
//!     │        one read     of each question the answer that most responses had
//!     └──► held: each answer of the capture against what the world says, with the reason where it differs
//! ```
//!
//! A stranger may have made the capture: whatever it has in it, it makes no reader panic, and no more than
//! [`MOST_OCTETS`] are kept.

mod held;
mod key;
mod report;
mod response;
mod votes;

use std::collections::HashSet;
use std::path::PathBuf;

use bytes::Bytes;
use dnsdyno_capture::{CaptureError, CaptureReader, Merge, ReadSettings};
use dnsdyno_queries::replay::CapturedServer;
use domain::base::iana::Rtype;
use domain::base::name::FlattenInto;
use domain::base::rdata::UnknownRecordData;
use domain::base::{ParseRecordData, ParsedName};
use domain::dep::octseq::Parser;
use domain::rdata::ZoneRecordData;

use crate::WorldError;
use crate::list::{NameList, key_of};
use crate::name::{Name, below, labels};
use crate::rrset::{Data, PLACEHOLDER, RrSet};

pub use report::{CaptureReport, NotCompared, NotKept};
use votes::{NameKind, Value, Votes};

/// What a capture shows.
#[derive(Debug)]
pub(crate) struct Captured {
    /// The names that are there, or that fail.
    pub(crate) names: NameList,
    /// Names that no zone of the root is above.
    pub(crate) outside_of_zones: u64,
    about: Vec<About>,
    questions: Vec<Question>,
    /// Record sets: of each record its length in two octets, and its data.
    values: Bytes,
    /// Names that are not there, because most answers said so, although others showed them.
    outvoted: HashSet<Box<[u8]>>,
    /// What was read.
    pub(crate) read: ReadCounts,
    /// For the second reading.
    files: Vec<PathBuf>,
    servers: Vec<CapturedServer>,
}

#[derive(Clone, Copy, Debug)]
struct About {
    is_alias: bool,
    is_apex: bool,
    /// Whether there were answers that showed the name otherwise.
    has_others: bool,
    first: u32,
}

/// What is said of a name and a type.
#[derive(Clone, Copy, Debug)]
struct Question {
    rtype: u16,
    ttl_s: u32,
    value: Value,
    /// Whether there were other answers to it.
    has_others: bool,
}

/// What was read of captures.
#[derive(Clone, Debug, Default)]
pub(crate) struct ReadCounts {
    /// Responses of which something was taken.
    pub(crate) used: u64,
    /// Responses of which nothing was taken: truncated, malformed, refused, of another class.
    pub(crate) unused: u64,
    /// Names and records for which there was no room.
    pub(crate) over_bound: u64,
    /// Why captures could not be read to their ends.
    pub(crate) errors: Vec<String>,
}

impl Captured {
    /// Reads captures.
    ///
    /// # Errors
    /// One cannot be opened or is no capture, or is not a file: it is read again later.
    pub(crate) fn read(files: &[PathBuf], servers: &[CapturedServer]) -> Result<Captured, WorldError> {
        if let Some(path) = files.iter().find(|path| !path.is_file() && (path.exists() || is_stdin(path))) {
            return Err(WorldError::Option(format!(
                "--capture {}: a world reads its capture twice, so it has to be a file: write it to one first",
                path.display()
            )));
        }
        let mut settings = ReadSettings::default();
        settings.ports.extend(servers.iter().filter_map(|server| server.port));
        let open = |path: &PathBuf| CaptureReader::open_with(path, &settings);
        let readers = files.iter().map(open).collect::<Result<Vec<_>, CaptureError>>()?;
        let mut merge = Merge::new(readers);
        let mut votes = Votes::new(MOST_OCTETS);
        let mut read = ReadCounts::default();
        while let Some(message) = merge.next() {
            let is_of_server = servers.is_empty() || servers.iter().any(|server| server.is(message.server()));
            if message.is_response() && is_of_server {
                match response::take(message.bytes, &mut votes) {
                    true => read.used += 1,
                    false => read.unused += 1,
                }
            }
        }
        read.errors = merge.errors().iter().map(ToString::to_string).collect();
        read.over_bound = votes.over_bound();
        Ok(Captured { files: files.to_vec(), servers: servers.to_vec(), ..Captured::of(votes, read) })
    }

    /// What most responses have shown.
    pub(crate) fn of(votes: Votes, read: ReadCounts) -> Captured {
        let (mut about, mut questions, mut keys) = (Vec::new(), Vec::new(), Vec::new());
        let mut outvoted = HashSet::new();
        for mut node in votes.sorted() {
            if node.kind == Some(NameKind::Absent) && !node.is_apex {
                let is_other = |entry: votes::VotedEntry| entry.has_others || entry.value != Value::ByName;
                if node.has_others || node.entries.any(is_other) {
                    outvoted.insert(node.key.into());
                }
                continue;
            }
            let is_root = node.key.is_empty();
            about.push(About {
                is_alias: node.kind == Some(NameKind::Alias) && !is_root,
                is_apex: node.is_apex,
                has_others: node.has_others,
                first: questions.len() as u32,
            });
            let first = questions.len();
            questions.extend(node.entries.map(|entry| Question {
                rtype: entry.rtype,
                ttl_s: entry.ttl_s,
                value: entry.value,
                has_others: entry.has_others,
            }));
            questions[first..].sort_unstable_by_key(|question: &Question| question.rtype);
            keys.push(node.key);
        }
        let names = NameList::of_keys(keys);
        let is_outside = |number: &usize| {
            names.labels(*number).next().is_some_and(|label| {
                let tld = names.find(&key_of([label]));
                tld.is_some_and(|tld| about[tld].is_alias)
            })
        };
        let outside_of_zones = (0..names.len()).filter(is_outside).count() as u64;
        let values = Bytes::from(votes.into_values());
        let (files, servers) = (Vec::new(), Vec::new());
        Captured { names, outside_of_zones, about, questions, values, outvoted, read, files, servers }
    }

    /// What a name that no zone begins at holds: `None` where it is not there.
    pub(crate) fn node(&self, name: &Name, key: &[u8]) -> Option<Vec<RrSet>> {
        let Some(number) = self.names.find(key) else {
            return self.names.has(key).then(Vec::new);
        };
        let is_alias = self.about[number].is_alias;
        let is_here = |question: &&Question| (question.rtype == Rtype::CNAME.to_int()) == is_alias;
        let here = self.questions_of(number).iter().filter(is_here);
        let mut sets: Vec<RrSet> = here.filter_map(|question| self.records(name, question)).collect();
        // A name without records would be there only because of names below it.
        if sets.is_empty() && self.names.first_after(key) == number + 1 {
            let nothing = UnknownRecordData::from_octets(PLACEHOLDER, Bytes::new()).map(Data::Unknown);
            sets.push(RrSet::new(name, PLACEHOLDER, PLACEHOLDER_TTL_S, nothing.into_iter().collect()));
        }
        Some(sets)
    }

    /// The records of one type that answers have shown at a name.
    pub(crate) fn set(&self, name: &Name, key: &[u8], rtype: Rtype) -> Option<RrSet> {
        self.records(name, self.question_at(self.names.find(key)?, rtype)?)
    }

    /// Whether all servers of a name fail for this type.
    pub(crate) fn fails(&self, name: &Name, rtype: Rtype) -> bool {
        let found = self.names.find(&key_of(labels(name)));
        let question = found.and_then(|number| self.question_at(number, rtype));
        question.is_some_and(|question| question.value == Value::Fails)
    }

    /// The types that fail at a name.
    pub(crate) fn failing_types(&self, name: &Name) -> impl Iterator<Item = Rtype> + '_ {
        let found = self.names.find(&key_of(labels(name)));
        let questions = found.map_or(&[][..], |number| self.questions_of(number)).iter();
        questions
            .filter(|question| question.value == Value::Fails)
            .map(|question| Rtype::from_int(question.rtype))
    }

    pub(crate) fn is_alias(&self, key: &[u8]) -> bool {
        self.names.find(key).is_some_and(|number| self.about[number].is_alias)
    }

    /// Whether a zone begins at a name.
    pub(crate) fn is_apex(&self, key: &[u8]) -> bool {
        self.names.find(key).is_some_and(|number| self.about[number].is_apex && !self.about[number].is_alias)
    }

    /// The question with this number, counted through all names that are there, and then again.
    pub(crate) fn question(&self, number: u64) -> (Name, Rtype) {
        let at = (number % self.questions.len().max(1) as u64) as u32;
        let of_name = self.about.partition_point(|about| about.first <= at).saturating_sub(1);
        let name = self.names.labels(of_name).fold(Name::root_bytes(), |parent, label| below(label, &parent));
        (name, self.questions.get(at as usize).map_or(Rtype::A, |question| Rtype::from_int(question.rtype)))
    }

    /// Whether answers differed in what they said of a name and a type.
    fn is_disputed(&self, key: &[u8], rtype: Rtype) -> bool {
        let is_other = |number: usize| {
            let question = self.question_at(number, rtype);
            self.about[number].has_others || question.is_some_and(|question| question.has_others)
        };
        self.outvoted.contains(key) || self.names.find(key).is_some_and(is_other)
    }

    fn questions_of(&self, number: usize) -> &[Question] {
        let end = self.about.get(number + 1).map_or(self.questions.len(), |next| next.first as usize);
        &self.questions[self.about[number].first as usize..end]
    }

    fn question_at(&self, number: usize, rtype: Rtype) -> Option<&Question> {
        self.questions_of(number).iter().find(|question| question.rtype == rtype.to_int())
    }

    fn records(&self, name: &Name, question: &Question) -> Option<RrSet> {
        let Value::Records { start, length } = question.value else { return None };
        let rtype = Rtype::from_int(question.rtype);
        let mut rest = self.values.slice(start as usize..(start + length) as usize);
        let mut data = Vec::new();
        while rest.len() > 2 || (rest.len() == 2 && data.is_empty()) {
            let end = 2 + usize::from(u16::from_be_bytes([rest[0], rest[1]]));
            let record = rest.split_to(end.min(rest.len())).slice(2..);
            data.extend(data_of(rtype, record));
        }
        (!data.is_empty()).then(|| RrSet::new(name, rtype, question.ttl_s, data))
    }

    /// How much memory it takes, in octets.
    fn octets(&self) -> u64 {
        let of_name = size_of::<About>() + size_of::<u32>() + size_of::<u16>();
        let names = (0..self.names.len()).map(|number| self.names.key(number).len() + of_name).sum::<usize>();
        (names + self.questions.len() * size_of::<Question>() + self.values.len()) as u64
    }
}

/// Record data from octets without compression.
fn data_of(rtype: Rtype, octets: Bytes) -> Option<Data> {
    let mut parser = Parser::from_ref(&octets);
    let data = ZoneRecordData::<Bytes, ParsedName<Bytes>>::parse_rdata(rtype, &mut parser).ok()??;
    data.try_flatten_into().ok()
}

fn is_stdin(path: &std::path::Path) -> bool {
    path.as_os_str() == "-"
}

const PLACEHOLDER_TTL_S: u32 = 300;

/// What names and records take at most while they are read.
const MOST_OCTETS: usize = 1 << 30;

#[cfg(test)]
mod tests;

//! What a response says, as far as a client needs it: its sets of records, with their TTLs.
//!
//! Each read is bounded by the message. Aliases (CNAME) are followed inside of the response, in the order in which they
//! stand there.

use dnsdyno_measure::CachingClients;
use dnsdyno_wire::{
    CLASS_IN, CanonicalName, HEADER_LEN, Malformed, Peek, TYPE_A, TYPE_AAAA, TYPE_CNAME, TYPE_NAPTR,
    TYPE_SOA, TYPE_SRV, peek,
};

use crate::description::Lookups;
use crate::ids::{BundleId, NameId, QuestionId, SetId};
use crate::service::gateways;
use crate::sets::{Known, Record, RecordKind};

const RCODE_NXDOMAIN: u16 = 3;

/// The largest TTL; a larger one has its highest bit set, and counts as 0 (RFC 2181 §8).
const MOST_TTL_S: u32 = i32::MAX as u32;

/// A set of records of a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Held {
    pub(crate) question: QuestionId,
    pub(crate) set: SetId,
    pub(crate) ttl_s: u32,
    /// How many records of the response are in it, also those of which nothing is needed.
    pub(crate) records: u32,
}

/// Why a response is of no use. What a client makes of it: it asks again by its timetable, as if no response had come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Useless {
    Malformed,
    Truncated,
    /// Any RCODE but NOERROR and NXDOMAIN.
    Refused,
    /// There is no memory for what was never said before.
    Excess,
}

impl From<Malformed> for Useless {
    fn from(_: Malformed) -> Self {
        Useless::Malformed
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Row {
    question: QuestionId,
    record: Record,
    ttl_s: u32,
}

/// What a response that can be used says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Said {
    Records,
    /// NXDOMAIN.
    NoName,
    /// There are none of the type.
    NoData,
}

/// Reads responses; its memory is used again.
#[derive(Debug, Default)]
pub(crate) struct Reader {
    rows: Vec<Row>,
    records: Vec<Record>,
    members: Vec<SetId>,
    held: Vec<Held>,
}

/// A record of a message, with its owner.
struct At {
    owner: CanonicalName,
    rtype: u16,
    class: u16,
    ttl_s: u32,
    data: usize,
    end: usize,
}

/// What the clients want of a response.
#[derive(Debug, Clone)]
pub(crate) enum Wanted {
    /// NAPTR, SRV and addresses.
    Gateways(Lookups),
    /// That there are records.
    Presence,
}

impl Wanted {
    fn additional(&self) -> bool {
        matches!(self, Wanted::Gateways(lookups) if lookups.additional)
    }
}

impl Reader {
    /// Reads a response to the question `asked`. After it [`held`](Self::held) has its sets.
    pub(crate) fn read(
        &mut self,
        message: &[u8],
        asked: QuestionId,
        wanted: &Wanted,
        known: &mut Known,
        counts: &mut CachingClients,
    ) -> Result<(BundleId, Said), Useless> {
        let head = usable(message)?;
        if known.is_full() {
            return Err(Useless::Excess);
        }
        self.rows.clear();
        let word =
            |at: usize| message.get(at..at + 2).map_or(0, |pair| u16::from_be_bytes([pair[0], pair[1]]));
        let mut at = HEADER_LEN + head.question.len();
        let qtype = known.names.type_of(asked);
        let mut target = known.names.name_of(asked);
        let mut alias_ttl_s = MOST_TTL_S;
        for _ in 0..word(6) {
            let record = record_at(message, at)?;
            at = record.end;
            if record.class != CLASS_IN || known.names.name(record.owner.wire()) != target {
                continue;
            }
            if record.rtype == qtype {
                let content = self.content(message, &record, wanted, known, counts)?;
                self.rows.push(Row { question: asked, record: content, ttl_s: record.ttl_s });
            } else if record.rtype == TYPE_CNAME {
                let (name, _) = CanonicalName::read(message, record.data)?;
                target = known.names.name(name.wire());
                alias_ttl_s = alias_ttl_s.min(record.ttl_s);
            }
        }
        self.rows.iter_mut().for_each(|row| row.ttl_s = row.ttl_s.min(alias_ttl_s));
        let mut negative_ttl_s = 0;
        for _ in 0..word(8) {
            let record = record_at(message, at)?;
            at = record.end;
            if record.rtype == TYPE_SOA {
                negative_ttl_s = negative_ttl(message, &record)?.min(alias_ttl_s);
            }
        }
        let answered = !self.rows.is_empty();
        if wanted.additional() {
            for _ in 0..word(10) {
                let record = record_at(message, at)?;
                at = record.end;
                if record.class == CLASS_IN && is_needed(record.rtype) {
                    let content = self.content(message, &record, wanted, known, counts)?;
                    let owner = known.names.name(record.owner.wire());
                    let question = known.names.question(owner, record.rtype);
                    if question != asked {
                        self.rows.push(Row { question, record: content, ttl_s: record.ttl_s });
                    }
                }
            }
        }
        let said = match head.rcode {
            _ if answered => Said::Records,
            RCODE_NXDOMAIN => Said::NoName,
            _ => Said::NoData,
        };
        Ok((self.gather(asked, (!answered).then_some(negative_ttl_s), known), said))
    }

    /// The sets of the response that was read last, with that of the question at its end: so it is stored last, and the
    /// others of the response do not evict it from a small cache.
    pub(crate) fn held(&self) -> &[Held] {
        &self.held
    }

    /// Puts the rows together by question. `negative_ttl_s` is how long it holds that there is no answer.
    fn gather(&mut self, asked: QuestionId, negative_ttl_s: Option<u32>, known: &mut Known) -> BundleId {
        // In the order of their content: a server may give records in any order, and it is the same set.
        self.rows.sort_unstable();
        self.held.clear();
        for rows in self.rows.chunk_by(|a, b| a.question == b.question) {
            let Some(first) = rows.first() else { continue };
            self.records.clear();
            self.records.extend(rows.iter().map(|row| row.record));
            self.records.dedup();
            let ttl_s = rows.iter().map(|row| row.ttl_s).min().unwrap_or(0);
            let set = known.sets.set(first.question, &self.records);
            let records = u32::try_from(rows.len()).unwrap_or(u32::MAX);
            self.held.push(Held { question: first.question, set, ttl_s, records });
        }
        if let Some(ttl_s) = negative_ttl_s {
            let set = known.sets.set(asked, &[]);
            let at = self.held.partition_point(|held| held.question < asked);
            self.held.insert(at, Held { question: asked, set, ttl_s, records: 0 });
        }
        self.members.clear();
        self.members.extend(self.held.iter().map(|held| held.set));
        if let Some(at) = self.held.iter().position(|held| held.question == asked) {
            let answer = self.held.remove(at);
            self.held.push(answer);
        }
        known.sets.bundle(&self.members)
    }

    /// What is needed of a record.
    fn content(
        &self,
        message: &[u8],
        record: &At,
        wanted: &Wanted,
        known: &mut Known,
        counts: &mut CachingClients,
    ) -> Result<Record, Useless> {
        let Wanted::Gateways(lookups) = wanted else { return Ok(Record::OTHER) };
        let data = message.get(record.data..record.end).ok_or(Useless::Malformed)?;
        match record.rtype {
            TYPE_NAPTR => naptr(message, record, data, lookups, known, counts),
            TYPE_SRV => {
                let [order, preference, _port] = words(data)?;
                let target = name_within(message, record.data + 6, record.end, known)?;
                Ok(Record { order, preference, kind: RecordKind::Server, gateways: 0, target })
            }
            _ => Ok(Record::OTHER),
        }
    }
}

/// The head of a response that says something of its question.
fn usable(message: &[u8]) -> Result<Peek<'_>, Useless> {
    let head = peek(message)?;
    if !head.is_response() {
        return Err(Useless::Malformed);
    }
    if head.is_truncated() {
        return Err(Useless::Truncated);
    }
    if !matches!(head.rcode, 0 | RCODE_NXDOMAIN) {
        return Err(Useless::Refused);
    }
    Ok(head)
}

/// The content of NAPTR (RFC 3403 §4.1):
///
/// ```text
/// order 2 | preference 2 | flags 1+n | services 1+n | regular expression 1+n | replacement
/// ```
fn naptr(
    message: &[u8],
    record: &At,
    data: &[u8],
    lookups: &Lookups,
    known: &mut Known,
    counts: &mut CachingClients,
) -> Result<Record, Useless> {
    let [order, preference] = words(data)?;
    let (flags, at) = text(data, 4)?;
    let (services, at) = text(data, at)?;
    let (expression, at) = text(data, at)?;
    let kind = match flags {
        [] => RecordKind::Next,
        [b's' | b'S'] => RecordKind::Service,
        [b'a' | b'A'] => RecordKind::Host,
        _ => RecordKind::Other,
    };
    if kind == RecordKind::Other || !expression.is_empty() {
        counts.ignored += 1;
        return Ok(Record::OTHER);
    }
    let gateways = gateways(services, lookups);
    if gateways == 0 {
        return Ok(Record::OTHER);
    }
    let target = name_within(message, record.data + at, record.end, known)?;
    Ok(Record { order, preference, kind, gateways, target })
}

fn is_needed(rtype: u16) -> bool {
    matches!(rtype, TYPE_A | TYPE_AAAA | TYPE_SRV | TYPE_NAPTR)
}

/// How long a negative answer holds: the TTL of the SOA record, or its last field if that is less (RFC 2308 §5).
fn negative_ttl(message: &[u8], record: &At) -> Result<u32, Useless> {
    const NUMBERS_LEN: usize = 20;
    let (_, at) = CanonicalName::read(message, record.data)?;
    let (_, at) = CanonicalName::read(message, at)?;
    let numbers: &[u8; NUMBERS_LEN] =
        message.get(at..record.end).and_then(|rest| rest.first_chunk()).ok_or(Useless::Malformed)?;
    let minimum = u32::from_be_bytes([numbers[16], numbers[17], numbers[18], numbers[19]]);
    Ok(bounded_ttl(minimum).min(record.ttl_s))
}

fn bounded_ttl(ttl_s: u32) -> u32 {
    if ttl_s > MOST_TTL_S { 0 } else { ttl_s }
}

/// The record that starts at `start`: owner | type 2 | class 2 | TTL 4 | length 2 | data.
fn record_at(message: &[u8], start: usize) -> Result<At, Useless> {
    const FIXED_LEN: usize = 10;
    let (owner, at) = CanonicalName::read(message, start)?;
    let fixed: &[u8; FIXED_LEN] =
        message.get(at..).and_then(|rest| rest.first_chunk()).ok_or(Useless::Malformed)?;
    let [rtype, class, ttl_high, ttl_low, length] = words(fixed)?;
    let data = at + FIXED_LEN;
    let end = data + usize::from(length);
    if end > message.len() {
        return Err(Useless::Malformed);
    }
    let ttl_s = bounded_ttl(u32::from(ttl_high) << 16 | u32::from(ttl_low));
    Ok(At { owner, rtype, class, ttl_s, data, end })
}

/// The first 16-bit numbers.
fn words<const N: usize>(data: &[u8]) -> Result<[u16; N], Useless> {
    let mut words = [0; N];
    let (pairs, _) = data.as_chunks::<2>();
    if pairs.len() < N {
        return Err(Useless::Malformed);
    }
    words.iter_mut().zip(pairs).for_each(|(word, pair)| *word = u16::from_be_bytes(*pair));
    Ok(words)
}

/// A text with its length in front, and what follows it.
fn text(data: &[u8], at: usize) -> Result<(&[u8], usize), Useless> {
    let length = *data.get(at).ok_or(Useless::Malformed)?;
    let end = at + 1 + usize::from(length);
    Ok((data.get(at + 1..end).ok_or(Useless::Malformed)?, end))
}

/// The name at `at`, which ends within the data of its record.
fn name_within(message: &[u8], at: usize, end: usize, known: &mut Known) -> Result<NameId, Useless> {
    let (name, after) = CanonicalName::read(message, at)?;
    if after > end {
        return Err(Useless::Malformed);
    }
    Ok(known.names.name(name.wire()))
}

#[cfg(test)]
mod tests;

//! A zone file, laid out so that answering copies bytes and allocates nothing.
//!
//! Names are kept in lower case in wire format; each record set is kept as it is copied into a response,
//! its owners being pointers to the question:
//!
//! ```text
//!   "\3www\7example\0" ──► A:    [C00C|A|IN|ttl|4|192.0.2.1] [C00C|A|IN|ttl|4|192.0.2.2]
//!                          AAAA: [C00C|AAAA|IN|ttl|16|2001:db8::1]
//!   "\7example\0"      ──► SOA, NS ...
//! ```
//!
//! The zone is authoritative for all that lies under its SOA: exact names, names that exist only
//! because something lies under them, wildcards (RFC 4592), CNAME chains within the zone, NODATA
//! and NXDOMAIN with the SOA. It makes no referrals (what lies under an NS record is answered
//! like the rest), adds no glue, and gives DNSSEC records only where their type is asked for.

mod file;
mod record;

use std::collections::HashMap;

use dnsdyno_wire::{MAX_NAME_LEN, TYPE_CNAME};

use crate::message::{CLASS_ANY, Content, NXDOMAIN, Query, REFUSED};

pub use file::ZoneError;
use record::{Record, is_under, parent};

/// The records of one zone.
#[derive(Clone, Debug)]
pub struct Zone {
    /// The name of the SOA record.
    apex: Box<[u8]>,
    names: HashMap<Box<[u8]>, Node>,
    /// The SOA record for the authority section, without its owner.
    negative_soa: Box<[u8]>,
}

/// The record sets of one name; none where the name exists only for what lies under it.
#[derive(Clone, Debug, Default)]
struct Node {
    sets: Vec<RecordSet>,
}

#[derive(Clone, Debug)]
struct RecordSet {
    rtype: u16,
    /// Records one after the other, each starting with the pointer `C00C`.
    bytes: Vec<u8>,
    /// Where each record starts in `bytes`.
    starts: Vec<u32>,
}

impl Zone {
    /// How many names exist in the zone, those included that exist only for what lies under them.
    pub fn name_count(&self) -> usize {
        self.names.len()
    }

    /// The name of the SOA record, in lower case on the wire.
    pub(crate) fn apex(&self) -> &[u8] {
        &self.apex
    }

    /// Every name that exists, in lower case on the wire, in no order.
    pub(crate) fn names(&self) -> impl Iterator<Item = &[u8]> {
        self.names.keys().map(|name| &name[..])
    }

    /// Whether a name has an alias record.
    pub(crate) fn is_alias(&self, name: &[u8]) -> bool {
        self.names.get(name).is_some_and(|node| node.alias().is_some())
    }

    /// Whether a wildcard lies directly below a name.
    pub(crate) fn has_wildcard(&self, name: &[u8]) -> bool {
        self.names.contains_key(&[b"\x01*", name].concat()[..])
    }

    /// The types of a name and of all that it is an alias of: for any other the zone has one
    /// response.
    pub(crate) fn types_along(&self, name: &[u8]) -> Vec<u16> {
        let mut types = Vec::new();
        let mut name = name.to_vec();
        for _ in 0..=MOST_ALIASES {
            let Some(node) = self.find_under_apex(&name) else { break };
            types.extend(node.sets.iter().map(|set| set.rtype));
            let Some(alias) = node.alias() else { break };
            name = LowerName::of(&alias.bytes[RECORD_HEAD_LEN..]).bytes().to_vec();
        }
        types
    }

    fn find_under_apex(&self, name: &[u8]) -> Option<&Node> {
        if is_under(name, &self.apex) { self.find(name) } else { None }
    }

    fn add(&mut self, record: &Record) {
        // Every name between the apex and this one exists too.
        let mut name = &record.owner[..];
        while name.len() > self.apex.len() && !self.names.contains_key(name) {
            self.names.insert(name.into(), Node::default());
            name = parent(name);
        }
        let node = self.names.entry(record.owner.clone().into()).or_default();
        let bytes = [&OWNER_IS_QUESTION[..], &record.after_owner(record.ttl_s)].concat();
        match node.sets.iter_mut().find(|set| set.rtype == record.rtype) {
            Some(set) => set.add(&bytes),
            None => node.sets.push(RecordSet { rtype: record.rtype, bytes, starts: vec![0] }),
        }
    }

    /// Appends the records that answer `query` to the message that starts at `start` in `out`.
    pub(crate) fn fill(&self, query: &Query<'_>, start: usize, out: &mut Vec<u8>) -> Content {
        let mut content = Content::default();
        let mut name = LowerName::of(query.qname);
        // The position in the message of the name that is looked up, for pointers to it.
        let mut name_at = dnsdyno_wire::HEADER_LEN;
        if !is_under(name.bytes(), &self.apex) {
            return Content { rcode: REFUSED, ..content };
        }
        for _ in 0..=MOST_ALIASES {
            let Some(node) = self.find(name.bytes()) else {
                content.rcode = NXDOMAIN;
                self.push_soa(name_at + name.len - self.apex.len(), &mut content, out);
                return content;
            };
            let before = content.answers;
            for set in node.sets.iter().filter(|set| query.qtype == CLASS_ANY || set.rtype == query.qtype) {
                content.answers = content.answers.saturating_add(set.push(name_at, out));
            }
            if content.answers > before {
                return content;
            }
            let Some(alias) = node.alias() else {
                self.push_soa(name_at + name.len - self.apex.len(), &mut content, out);
                return content;
            };
            let target_at = out.len() - start + RECORD_HEAD_LEN;
            content.answers += alias.push_first(name_at, out);
            name = LowerName::of(&out[start + target_at..]);
            name_at = target_at;
            if !is_under(name.bytes(), &self.apex) {
                return content;
            }
        }
        content
    }

    /// The node that answers for a name under the apex: its own, or the wildcard that covers it.
    fn find(&self, name: &[u8]) -> Option<&Node> {
        if let Some(node) = self.names.get(name) {
            return Some(node);
        }
        let mut encloser = parent(name);
        while !self.names.contains_key(encloser) {
            if encloser.len() <= self.apex.len() {
                return None;
            }
            encloser = parent(encloser);
        }
        let mut wildcard = [0; MAX_NAME_LEN + 2];
        wildcard[..2].copy_from_slice(b"\x01*");
        wildcard[2..2 + encloser.len()].copy_from_slice(encloser);
        self.names.get(&wildcard[..2 + encloser.len()])
    }

    fn push_soa(&self, apex_at: usize, content: &mut Content, out: &mut Vec<u8>) {
        out.extend_from_slice(&pointer(apex_at));
        out.extend_from_slice(&self.negative_soa);
        content.authorities = 1;
    }
}

impl Node {
    fn alias(&self) -> Option<&RecordSet> {
        self.sets.iter().find(|set| set.rtype == TYPE_CNAME)
    }
}

impl RecordSet {
    /// Adds a record, unless the set has it.
    fn add(&mut self, record: &[u8]) {
        let ends = self.starts.iter().skip(1).map(|start| *start as usize).chain([self.bytes.len()]);
        let is_there =
            self.starts.iter().zip(ends).any(|(start, end)| self.bytes[*start as usize..end] == *record);
        if !is_there {
            self.starts.push(self.bytes.len() as u32);
            self.bytes.extend_from_slice(record);
        }
    }

    /// Appends all records with the owner at `owner_at`; returns how many.
    fn push(&self, owner_at: usize, out: &mut Vec<u8>) -> u16 {
        let begin = out.len();
        out.extend_from_slice(&self.bytes);
        if owner_at != dnsdyno_wire::HEADER_LEN {
            for start in &self.starts {
                out[begin + *start as usize..][..2].copy_from_slice(&pointer(owner_at));
            }
        }
        self.starts.len().min(usize::from(u16::MAX)) as u16
    }

    fn push_first(&self, owner_at: usize, out: &mut Vec<u8>) -> u16 {
        let end = self.starts.get(1).map_or(self.bytes.len(), |start| *start as usize);
        out.extend_from_slice(&pointer(owner_at));
        out.extend_from_slice(&self.bytes[2..end]);
        1
    }
}

/// A name in lower case, on the stack.
struct LowerName {
    bytes: [u8; MAX_NAME_LEN],
    len: usize,
}

impl LowerName {
    /// The uncompressed name at the start of `wire`, which has been checked before.
    fn of(wire: &[u8]) -> LowerName {
        let mut name = LowerName { bytes: [0; MAX_NAME_LEN], len: 1 };
        let mut at = 0;
        while let Some(length) = wire.get(at).filter(|length| **length != 0) {
            at += 1 + usize::from(*length);
        }
        if at < MAX_NAME_LEN && at < wire.len() {
            name.len = at + 1;
            name.bytes[..=at].copy_from_slice(&wire[..=at]);
            // Length octets are at most 63, below every letter: this leaves them as they are.
            name.bytes[..=at].make_ascii_lowercase();
        }
        name
    }

    fn bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

/// A pointer to a place in the message; chains are kept so short that 14 bits suffice.
fn pointer(at: usize) -> [u8; 2] {
    (0xC000 | at as u16).to_be_bytes()
}

/// A pointer to the name of the question, which follows the header.
const OWNER_IS_QUESTION: [u8; 2] = [0xC0, 0x0C];

/// Owner pointer, type, class, TTL and data length.
const RECORD_HEAD_LEN: usize = 12;

/// Aliases followed in one response. More are a loop, or nearly one: the response then ends with
/// what was found. 16 of the longest stay within reach of a pointer (16,383 bytes).
const MOST_ALIASES: usize = 16;

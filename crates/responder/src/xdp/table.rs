//! Makes the responses of the program in the kernel in advance.
//!
//! ```text
//!   (hash of name, type) ──► slot { name, records }      a type of the name
//!   (hash of name, other)──► slot { name, negative }     any other type of it
//!   (hash of parent, type | wildcard) ──► slot           of names that the wildcard covers
//! ```
//!
//! The program knows responses, not zones. The table asks the responder's own zone for every possible
//! response, and lays the records out in two BPF arrays: slots that are found by one hash of (name,
//! type), and bytes. Records contain no byte of the question, only pointers to it, so one copy serves
//! every spelling, and the program only looks up, copies and adds checksums. An array with our own hash
//! is filled once and read without a call, unlike a BPF hash map.

use std::collections::HashMap;
use std::net::SocketAddr;

use dnsdyno_sys::xdp::{Address, Chunk, Records, RecordsKind, Settings, Slot};
use dnsdyno_wire::{CLASS_IN, HEADER_LEN, QUESTION_FIXED_LEN, TYPE_A, TYPE_AAAA};

use crate::answer::EDNS_SIZE;
use crate::message::{CLASS_ANY, Content, Query};
use crate::{Echo, Rule, Zone};

/// The data that the program is loaded with.
#[derive(Debug)]
pub(super) struct Table {
    pub(super) settings: Settings,
    pub(super) slots: Vec<Slot>,
    pub(super) chunks: Vec<Chunk>,
}

/// The responses, before their slots are chosen.
#[derive(Default)]
struct Draft {
    settings: Settings,
    entries: Vec<Entry>,
    chunks: Vec<Chunk>,
    /// Where equal bytes were stored already: many names have equal responses.
    kept: HashMap<Vec<u8>, u32>,
}

struct Entry {
    /// In lower case.
    name: Box<[u8]>,
    /// With [`WILDCARD`] where it is for the names below.
    rtype: u32,
    name_at: u32,
    records: Records,
}

impl Table {
    /// The table of a rule; `None` where its responses depend on the question.
    pub(super) fn of(rule: &Rule) -> Option<Table> {
        let mut draft = Draft::default();
        match rule {
            Rule::Echo(echo) => draft.add_echo(echo),
            Rule::Zone(zone) => draft.add_zone(zone),
            Rule::Truncate(_) => draft.add_truncation(),
            Rule::FixedSize { .. } => return None,
        }
        draft.settings.edns_size = EDNS_SIZE;
        Some(draft.place())
    }

    /// Sets the addresses (at most `ADDRESSES_MAX`) and the MTU.
    pub(super) fn set_place(&mut self, addresses: &[SocketAddr], mtu: usize) {
        self.settings.mtu = mtu.min(usize::from(u16::MAX)) as u16;
        self.settings.address_count = addresses.len().min(Settings::ADDRESSES_MAX) as u16;
        for (place, address) in self.settings.addresses.iter_mut().zip(addresses) {
            *place = Address::from(*address);
        }
    }
}

impl Draft {
    fn add_echo(&mut self, echo: &Echo) {
        self.settings.any_name = 1;
        // Type 0 stands for all types without an address.
        for (asked, key) in [(TYPE_A, u32::from(TYPE_A)), (TYPE_AAAA, u32::from(TYPE_AAAA)), (0, OTHER)] {
            let mut image = Vec::new();
            let content = crate::answer::fill_echo(echo, asked, &mut image);
            let records = self.copied(content, &image);
            self.add(&[], key, records);
        }
    }

    /// A response longer than any limit is always truncated.
    fn add_truncation(&mut self) {
        self.settings.any_name = 1;
        let endless = Records { length: u16::MAX, kind: RecordsKind::Passed as u8, ..Records::default() };
        self.add(&[], OTHER, endless);
    }

    fn add_zone(&mut self, zone: &Zone) {
        self.settings.apex_length = zone.apex().len() as u16;
        let (content, image) = records_of(zone, zone.apex(), unused(&zone.types_along(zone.apex())));
        self.settings.negative = self.copied(content, &image);
        for name in zone.names() {
            let has_wildcard = zone.has_wildcard(name);
            for (rtype, mut records) in self.answers_of(zone, name) {
                records.flags = u8::from(has_wildcard);
                self.add(name, rtype, records);
            }
            let Some(parent) = name.strip_prefix(b"\x01*") else { continue };
            self.settings.has_wildcards = 1;
            if zone.is_alias(name) {
                // The target's records point to the alias, whose position depends on the
                // question.
                let passed = Records { kind: RecordsKind::Passed as u8, ..Records::default() };
                self.add(parent, OTHER | WILDCARD, passed);
                continue;
            }
            for (rtype, records) in self.answers_of(zone, name) {
                self.add(parent, rtype | WILDCARD, records);
            }
        }
    }

    /// The responses of a name: one for each of its types and those of its alias targets, and one for
    /// all other types.
    fn answers_of(&mut self, zone: &Zone, name: &[u8]) -> Vec<(u32, Records)> {
        let mut types = zone.types_along(name);
        if !types.is_empty() {
            types.push(CLASS_ANY);
        }
        types.sort_unstable();
        types.dedup();
        let other = (unused(&types), OTHER);
        let answer = |(asked, key)| {
            let (content, image) = records_of(zone, name, asked);
            (key, self.copied(content, &image))
        };
        types.into_iter().map(|rtype| (rtype, u32::from(rtype))).chain([other]).map(answer).collect()
    }

    fn copied(&mut self, content: Content, image: &[u8]) -> Records {
        let is_nodata = (content.rcode, content.answers, content.authorities) == (0, 0, 1);
        let length = image.len().min(usize::from(u16::MAX)) as u16;
        let counts = Records {
            length,
            answers: content.answers.to_be_bytes(),
            authorities: content.authorities.to_be_bytes(),
            rcode: content.rcode,
            ..Records::default()
        };
        // The position of the apex depends on the name: its pointer is filled in for each
        // response.
        let mut blank = image.to_vec();
        if is_nodata {
            blank[..2].fill(0);
        }
        if image.len() > Records::LONGEST {
            return Records { kind: RecordsKind::Passed as u8, ..counts };
        }
        Records {
            last: blank.last_chunk().copied().unwrap_or_default(),
            at: self.keep(&blank),
            sum: checksum(&blank),
            kind: if is_nodata { RecordsKind::Negative as u8 } else { RecordsKind::Copied as u8 },
            ..counts
        }
    }

    fn add(&mut self, name: &[u8], rtype: u32, records: Records) {
        let name_at = self.keep(name);
        let records = Records { name_length: name.len() as u8, ..records };
        self.entries.push(Entry { name: name.into(), rtype, name_at, records });
    }

    /// Puts bytes into chunks of their own, and returns the number of the first.
    fn keep(&mut self, bytes: &[u8]) -> u32 {
        if bytes.is_empty() {
            return 0;
        }
        if let Some(at) = self.kept.get(bytes) {
            return *at;
        }
        let at = self.chunks.len() as u32;
        for piece in bytes.chunks(size_of::<Chunk>()) {
            let mut chunk = [0; size_of::<Chunk>()];
            chunk[..piece.len()].copy_from_slice(piece);
            self.chunks.push(chunk);
        }
        self.kept.insert(bytes.to_vec(), at);
        at
    }

    /// Finds a seed with which all keys differ, and places all entries within reach.
    fn place(self) -> Table {
        let mut size = (2 * self.entries.len()).next_power_of_two().max(2);
        for seed in 1.. {
            if let Some(slots) = place(&self.entries, seed, size) {
                let settings = Settings { seed, slot_mask: (size - 1) as u32, ..self.settings };
                return Table { settings, slots, chunks: self.chunks };
            }
            if seed % SEEDS_A_SIZE == 0 {
                size *= 2;
            }
        }
        unreachable!("a large enough table has a place for everything")
    }
}

/// Places each entry in one of the first slots from its own on; `None` where two have the same key, or
/// too many collide.
///
/// The entry that is farther from its own slot gets the slot (Robin Hood hashing): the largest distance
/// is then much smaller than with first come, first served, so a large zone needs a small table.
fn place(entries: &[Entry], seed: u64, size: usize) -> Option<Vec<Slot>> {
    let mut slots = vec![Slot::default(); size];
    for entry in entries {
        let key = key_of(hash_of(seed, &entry.name), entry.rtype);
        place_one(&mut slots, Slot { key, name_at: entry.name_at, unused: 0, records: entry.records })?;
    }
    Some(slots)
}

fn place_one(slots: &mut [Slot], mut slot: Slot) -> Option<()> {
    let mask = slots.len() - 1;
    let own = |key: u64| (key >> 32) as usize & mask;
    let mut at = own(slot.key);
    let mut steps = 0;
    while steps < Slot::PROBES as usize {
        let there = &mut slots[at];
        if there.key == 0 {
            *there = slot;
            return Some(());
        }
        if there.key == slot.key {
            return None;
        }
        let its_steps = at.wrapping_sub(own(there.key)) & mask;
        if its_steps < steps {
            std::mem::swap(there, &mut slot);
            steps = its_steps;
        }
        at = (at + 1) & mask;
        steps += 1;
    }
    None
}

/// The records that answer a question of class IN, as they follow the question.
fn records_of(zone: &Zone, qname: &[u8], qtype: u16) -> (Content, Vec<u8>) {
    let question_end = HEADER_LEN + qname.len() + QUESTION_FIXED_LEN;
    let query = Query { qname, qtype, qclass: CLASS_IN, question_end, edns: None };
    let mut message = vec![0; question_end];
    message[HEADER_LEN..][..qname.len()].copy_from_slice(qname);
    let content = zone.fill(&query, 0, &mut message);
    (content, message.split_off(question_end))
}

/// A type that is not in the list.
fn unused(types: &[u16]) -> u16 {
    (1..CLASS_ANY).find(|rtype| !types.contains(rtype)).unwrap_or(0)
}

/// The hash of a name in lower case; the program computes the same.
fn hash_of(seed: u64, name: &[u8]) -> u64 {
    let word = |piece: &[u8]| {
        let mut word = [0; 8];
        word[..piece.len()].copy_from_slice(piece);
        u64::from_ne_bytes(word)
    };
    name.chunks(8).fold(seed ^ name.len() as u64, |hash, piece| mixed(hash, word(piece)))
}

fn key_of(hash: u64, rtype: u32) -> u64 {
    mixed(hash, u64::from(rtype)) | 1
}

fn mixed(hash: u64, word: u64) -> u64 {
    let hash = (hash ^ word).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    hash ^ hash >> 32
}

/// The Internet checksum (RFC 1071), not inverted.
fn checksum(bytes: &[u8]) -> [u8; 2] {
    let pairs = bytes.chunks(2).map(|pair| [pair[0], pair.get(1).copied().unwrap_or(0)]);
    let mut sum: u64 = pairs.map(|pair| u64::from(u16::from_be_bytes(pair))).sum();
    while sum > 0xFFFF {
        sum = (sum & 0xFFFF) + (sum >> 16);
    }
    (sum as u16).to_be_bytes()
}

/// Stands for every type that has no slot of its own.
const OTHER: u32 = 0x2_0000;

/// Added to a type: the response is that of the wildcard below the name.
const WILDCARD: u32 = 0x1_0000;

/// Seeds tried before the table grows: nearly each seed places some hundred thousand entries in a table
/// that is a third full, and with more entries each attempt takes long.
const SEEDS_A_SIZE: u64 = 2;

#[cfg(test)]
mod tests {
    use super::*;

    /// Finds a slot as the program does.
    fn find(table: &Table, name: &[u8], rtype: u32) -> Option<u32> {
        let key = key_of(hash_of(table.settings.seed, name), rtype);
        let places = (0..Slot::PROBES).map(|step| ((key >> 32) as u32).wrapping_add(step));
        let mut slots = places.map(|place| table.slots[(place & table.settings.slot_mask) as usize]);
        slots
            .find(|slot| slot.key == key || slot.key == 0)
            .filter(|slot| slot.key == key)
            .map(|slot| slot.name_at)
    }

    #[test]
    fn a_large_table_is_small_and_each_entry_is_found_where_the_program_looks() {
        let name = |i: u32| [&[4][..], &i.to_be_bytes(), b"\x07example\x00"].concat();
        let mut draft = Draft::default();
        for i in 0..60_000 {
            [1, 255, OTHER].into_iter().for_each(|rtype| draft.add(&name(i), rtype, Records::default()));
        }
        let places_of = draft.entries.iter().map(|entry| entry.name_at).collect::<Vec<_>>();
        let table = draft.place();
        assert!(table.slots.len() <= 6 * places_of.len(), "{} slots", table.slots.len());
        for (i, name_at) in (0..).zip(places_of) {
            let rtype = [1, 255, OTHER][i as usize % 3];
            assert_eq!(find(&table, &name(i / 3), rtype), Some(name_at));
        }
        assert_eq!(find(&table, &name(60_000), 1), None);
    }

    #[test]
    fn two_entries_with_one_key_have_no_place() {
        let mut draft = Draft::default();
        draft.add(b"\x03www\x00", 1, Records::default());
        draft.add(b"\x03www\x00", 1, Records::default());
        assert!(place(&draft.entries, 1, 8).is_none());
    }
}

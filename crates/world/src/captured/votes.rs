//! Of each name and question the answer that more than half of the responses had, in one reading and without a count
//! for each different answer (Boyer and Moore): an answer is kept with a number, which the same answer raises and
//! another one lowers; at 0 another one takes its place. Where no answer has more than half, one of them is kept.

use std::hash::{BuildHasher, RandomState};

use hashbrown::HashTable;

/// An answer to a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Value {
    /// Records, by their place in the values.
    Records { start: u32, length: u32 },
    /// The name is there without the type.
    Nothing,
    /// What holds for all types of the name: it is an alias, or not there.
    ByName,
    /// SERVFAIL.
    Fails,
}

/// What a name is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NameKind {
    Absent,
    Alias,
    /// There, and no alias.
    There,
}

/// What a response says of a question.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Seen<'a> {
    /// Records as [`Value::Records`] has them, sorted, with their TTL.
    Records(&'a [u8], u32),
    Nothing,
    ByName,
    Fails,
}

/// What was said of names.
#[derive(Debug)]
pub(crate) struct Votes {
    keys: Vec<u8>,
    nodes: Vec<Node>,
    entries: Vec<Entry>,
    values: Vec<u8>,
    /// Numbers of nodes by their keys.
    places: HashTable<u32>,
    hasher: RandomState,
    most_octets: usize,
    over_bound: u64,
}

#[derive(Debug)]
struct Node {
    start: u32,
    length: u8,
    is_apex: bool,
    /// What it is, once a response has said so.
    kind: Option<NameKind>,
    votes: u32,
    has_others: bool,
    /// The number of the first of its entries, and of an entry the next one.
    first: Option<u32>,
}

#[derive(Debug)]
struct Entry {
    rtype: u16,
    value: Value,
    votes: u32,
    ttl_s: u32,
    has_others: bool,
    next: Option<u32>,
}

/// A name as it was voted for.
pub(super) struct Voted<'a, E> {
    pub(super) key: &'a [u8],
    pub(super) kind: Option<NameKind>,
    pub(super) is_apex: bool,
    /// Whether a response showed the name otherwise.
    pub(super) has_others: bool,
    pub(super) entries: E,
}

/// A question as it was voted for.
pub(super) struct VotedEntry {
    pub(super) rtype: u16,
    pub(super) value: Value,
    pub(super) ttl_s: u32,
    pub(super) has_others: bool,
}

impl Votes {
    /// None yet; names and records take at most so many octets.
    pub(crate) fn new(most_octets: usize) -> Votes {
        Votes {
            keys: Vec::new(),
            nodes: Vec::new(),
            entries: Vec::new(),
            values: Vec::new(),
            places: HashTable::new(),
            hasher: RandomState::new(),
            most_octets: most_octets.min(u32::MAX as usize / 2),
            over_bound: 0,
        }
    }

    /// What was left out because there was no room.
    pub(crate) fn over_bound(&self) -> u64 {
        self.over_bound
    }

    /// A zone begins at a name.
    pub(crate) fn apex(&mut self, key: &[u8]) {
        if let Some(node) = self.node(key) {
            self.nodes[node].is_apex = true;
        }
    }

    /// A name is something.
    pub(crate) fn name(&mut self, key: &[u8], kind: NameKind) {
        let Some(at) = self.node(key) else { return };
        let node = &mut self.nodes[at];
        let is_same = node.kind == Some(kind);
        if vote(&mut node.votes, &mut node.has_others, is_same, node.kind.is_none()) {
            node.kind = Some(kind);
        }
    }

    /// A response says something of a name and a type.
    pub(crate) fn question(&mut self, key: &[u8], rtype: u16, seen: Seen<'_>) {
        let Some(node) = self.node(key) else { return };
        let Some(at) = self.entry(node, rtype) else { return };
        let entry = &self.entries[at];
        let is_same = match (seen, entry.value) {
            (Seen::Records(records, _), Value::Records { start, length }) => {
                self.values[start as usize..(start + length) as usize] == *records
            }
            (Seen::Nothing, Value::Nothing) | (Seen::ByName, Value::ByName) | (Seen::Fails, Value::Fails) => {
                true
            }
            _ => false,
        };
        let entry = &mut self.entries[at];
        let is_first = entry.votes == 0 && !entry.has_others;
        if let Seen::Records(_, ttl_s) = seen {
            entry.ttl_s = entry.ttl_s.max(ttl_s);
        }
        if vote(&mut entry.votes, &mut entry.has_others, is_same, is_first) {
            let value = match seen {
                Seen::Records(records, _) => self.stored(at, records),
                Seen::Nothing => Some(Value::Nothing),
                Seen::ByName => Some(Value::ByName),
                Seen::Fails => Some(Value::Fails),
            };
            match value {
                Some(value) => self.entries[at].value = value,
                None => self.over_bound += 1,
            }
        }
    }

    /// All names in canonical order.
    pub(super) fn sorted(
        &self,
    ) -> impl Iterator<Item = Voted<'_, impl Iterator<Item = VotedEntry> + '_>> + '_ {
        let mut order: Vec<u32> = (0..self.nodes.len() as u32).collect();
        order.sort_unstable_by_key(|number| self.key(*number));
        order.into_iter().map(|number| {
            let node = &self.nodes[number as usize];
            Voted {
                key: self.key(number),
                kind: node.kind,
                is_apex: node.is_apex,
                has_others: node.has_others,
                entries: self.entries_of(node),
            }
        })
    }

    pub(super) fn into_values(self) -> Vec<u8> {
        self.values
    }

    fn entries_of(&self, node: &Node) -> impl Iterator<Item = VotedEntry> + '_ {
        let entry = |number: u32| &self.entries[number as usize];
        let numbers = std::iter::successors(node.first, move |number| entry(*number).next);
        numbers.map(entry).map(|entry| VotedEntry {
            rtype: entry.rtype,
            value: entry.value,
            ttl_s: entry.ttl_s,
            has_others: entry.has_others,
        })
    }

    fn key(&self, number: u32) -> &[u8] {
        key_of_node(&self.keys, &self.nodes[number as usize])
    }

    /// The number of a name, which is added where it is new; `None` where there is no room.
    fn node(&mut self, key: &[u8]) -> Option<usize> {
        let hash = self.hasher.hash_one(key);
        let (keys, nodes) = (&self.keys, &self.nodes);
        let is_it = |number: &u32| key_of_node(keys, &nodes[*number as usize]) == key;
        if let Some(found) = self.places.find(hash, is_it) {
            return Some(*found as usize);
        }
        // No key is longer than a name of 255 octets.
        let length = u8::try_from(key.len()).ok()?;
        if !self.has_room(key.len() + size_of::<Node>() + size_of::<u32>()) {
            self.over_bound += 1;
            return None;
        }
        let number = self.nodes.len();
        let start = self.keys.len() as u32;
        self.keys.extend_from_slice(key);
        self.nodes.push(Node {
            start,
            length,
            is_apex: false,
            kind: None,
            votes: 0,
            has_others: false,
            first: None,
        });
        let (keys, nodes, hasher) = (&self.keys, &self.nodes, &self.hasher);
        let rehash = |number: &u32| hasher.hash_one(key_of_node(keys, &nodes[*number as usize]));
        self.places.insert_unique(hash, number as u32, rehash);
        Some(number)
    }

    /// The number of the entry of a name for a type, which is added where it is new.
    fn entry(&mut self, node: usize, rtype: u16) -> Option<usize> {
        let mut next = self.nodes[node].first;
        while let Some(at) = next {
            let entry = &self.entries[at as usize];
            if entry.rtype == rtype {
                return Some(at as usize);
            }
            next = entry.next;
        }
        if !self.has_room(size_of::<Entry>()) {
            self.over_bound += 1;
            return None;
        }
        let number = self.entries.len();
        let next = self.nodes[node].first.replace(number as u32);
        let value = Value::ByName;
        self.entries.push(Entry { rtype, value, votes: 0, ttl_s: 0, has_others: false, next });
        Some(number)
    }

    /// Stores records, in the place of those of the entry where they fit.
    fn stored(&mut self, entry: usize, records: &[u8]) -> Option<Value> {
        let length = records.len() as u32;
        if let Value::Records { start, length: room } = self.entries[entry].value
            && length <= room
        {
            self.values[start as usize..(start + length) as usize].copy_from_slice(records);
            return Some(Value::Records { start, length });
        }
        if !self.has_room(records.len()) {
            return None;
        }
        let start = self.values.len() as u32;
        self.values.extend_from_slice(records);
        Some(Value::Records { start, length })
    }

    fn has_room(&self, octets: usize) -> bool {
        let of_nodes = self.nodes.len() * (size_of::<Node>() + size_of::<u32>());
        let of_entries = self.entries.len() * size_of::<Entry>();
        self.keys.len() + self.values.len() + of_nodes + of_entries + octets <= self.most_octets
    }
}

fn key_of_node<'a>(keys: &'a [u8], node: &Node) -> &'a [u8] {
    &keys[node.start as usize..node.start as usize + usize::from(node.length)]
}

/// Counts a vote; returns whether it takes the place of what was kept.
fn vote(votes: &mut u32, has_others: &mut bool, is_same: bool, is_first: bool) -> bool {
    if is_same && !is_first {
        *votes = votes.saturating_add(1);
        return false;
    }
    *has_others |= !is_first;
    if *votes == 0 {
        *votes = 1;
        return true;
    }
    *votes -= 1;
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is kept of a question after these answers, and whether there were others.
    fn kept(answers: &[&str]) -> (String, u32, bool) {
        let mut votes = Votes::new(1 << 20);
        for (at, answer) in answers.iter().enumerate() {
            let seen = match *answer {
                "nothing" => Seen::Nothing,
                "fails" => Seen::Fails,
                records => Seen::Records(records.as_bytes(), at as u32),
            };
            votes.question(b"com\0a\0", 1, seen);
        }
        let mut found: Vec<_> = votes.sorted().flat_map(|voted| voted.entries).collect();
        let entry = found.pop().unwrap();
        assert!(found.is_empty());
        let text = match entry.value {
            Value::Records { start, length } => {
                String::from_utf8_lossy(&votes.values[start as usize..(start + length) as usize]).into_owned()
            }
            other => format!("{other:?}"),
        };
        (text, entry.ttl_s, entry.has_others)
    }

    #[test]
    fn the_answer_of_more_than_half_is_kept_in_whatever_order_they_come() {
        assert_eq!(kept(&["a", "a"]), ("a".into(), 1, false));
        assert_eq!(kept(&["longer", "a", "a"]), ("a".into(), 2, true));
        assert_eq!(kept(&["a", "longer", "b", "longer", "longer"]), ("longer".into(), 4, true));
        assert_eq!(kept(&["a", "fails", "fails"]), ("Fails".into(), 0, true));
        assert_eq!(kept(&["nothing", "a", "nothing"]), ("Nothing".into(), 1, true));
        assert_eq!(kept(&["nothing"]), ("Nothing".into(), 0, false));
    }

    #[test]
    fn what_has_no_room_is_counted_and_nothing_that_is_there_is_lost() {
        let mut votes = Votes::new(1_000);
        for number in 0..100u8 {
            votes.name(&[b'n', number.max(1), 0], NameKind::There);
            votes.question(&[b'n', number.max(1), 0], 1, Seen::Records(&[number; 40], 60));
        }
        let kept = votes.sorted().count();
        assert!((3..20).contains(&kept) && votes.over_bound() > 80, "{kept} {}", votes.over_bound());
        votes.name(&[b'n', 1, 0], NameKind::Alias);
        assert!(votes.sorted().any(|voted| voted.has_others));
    }
}

//! What responses say, each thing kept once for all clients of a worker: sets of records, and bundles of sets.
//!
//! Responses to one question say the same nearly always, so a cache entry is no more than a number and an instant.

use hashbrown::{DefaultHashBuilder, HashTable};
use std::hash::BuildHasher;

use crate::ids::{BundleId, NameId, QuestionId, SetId};
use crate::names::Names;

/// What a client needs of a record. The order is that in which its records are tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Record {
    /// The order of NAPTR, the priority of SRV: the smallest first.
    pub(crate) order: u16,
    /// The preference of NAPTR, the smallest first; the weight of SRV.
    pub(crate) preference: u16,
    pub(crate) kind: RecordKind,
    /// For which gateways of which users a NAPTR record is: bits of [`of_users`].
    pub(crate) gateways: u8,
    /// The replacement of NAPTR, the target of SRV.
    pub(crate) target: NameId,
}

/// The bit of serving gateways.
pub(crate) const SGW: u8 = 1;
/// The bit of gateways to the packet network.
pub(crate) const PGW: u8 = 2;

/// The most kinds of users that are told apart.
pub(crate) const MOST_USERS: usize = 4;

/// The bits of gateways for users of this kind: 0 are those of [`Lookups`](crate::Lookups) itself, then come its
/// `others`.
pub(crate) fn of_users(gateways: u8, users: u8) -> u8 {
    gateways << (2 * users)
}

/// What kind of record it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum RecordKind {
    /// NAPTR without flags: NAPTR records of the replacement follow.
    Next,
    /// NAPTR with the flag `s`: SRV records of the replacement follow.
    Service,
    /// NAPTR with the flag `a`: the replacement is a host.
    Host,
    /// SRV.
    Server,
    /// Any other that is there, and of which nothing else is needed.
    Other,
}

impl Record {
    /// A record of which only is needed that it is there.
    pub(crate) const OTHER: Record =
        Record { order: 0, preference: 0, kind: RecordKind::Other, gateways: 0, target: NameId(0) };
}

#[derive(Debug)]
struct Set {
    question: QuestionId,
    from: u32,
    length: u32,
}

#[derive(Debug)]
struct Bundle {
    from: u32,
    length: u32,
}

/// All sets and bundles.
#[derive(Debug, Default)]
pub(crate) struct Sets {
    records: Vec<Record>,
    sets: Vec<Set>,
    by_records: HashTable<SetId>,
    members: Vec<SetId>,
    bundles: Vec<Bundle>,
    by_members: HashTable<BundleId>,
    hasher: DefaultHashBuilder,
}

impl Sets {
    /// The number of a set; its records are in order and each is there once. Without a record: there are none.
    pub(crate) fn set(&mut self, question: QuestionId, records: &[Record]) -> SetId {
        let hash = self.hasher.hash_one((question, records));
        let (all, sets) = (&self.records, &self.sets);
        let same = |id: &SetId| {
            let known = &sets[id.0 as usize];
            known.question == question && records_of(all, known) == records
        };
        if let Some(known) = self.by_records.find(hash, same) {
            return *known;
        }
        let id = SetId(self.sets.len() as u32);
        self.sets.push(Set { question, from: self.records.len() as u32, length: records.len() as u32 });
        self.records.extend_from_slice(records);
        let (all, sets, hasher) = (&self.records, &self.sets, &self.hasher);
        let rehash = |id: &SetId| {
            let known = &sets[id.0 as usize];
            hasher.hash_one((known.question, records_of(all, known)))
        };
        self.by_records.insert_unique(hash, id, rehash);
        id
    }

    /// The number of a bundle; its sets are in the order of their questions, one of each.
    pub(crate) fn bundle(&mut self, members: &[SetId]) -> BundleId {
        let hash = self.hasher.hash_one(members);
        let (all, bundles) = (&self.members, &self.bundles);
        if let Some(known) =
            self.by_members.find(hash, |id| members_of(all, &bundles[id.0 as usize]) == members)
        {
            return *known;
        }
        let id = BundleId(self.bundles.len() as u32);
        self.bundles.push(Bundle { from: self.members.len() as u32, length: members.len() as u32 });
        self.members.extend_from_slice(members);
        let (all, bundles, hasher) = (&self.members, &self.bundles, &self.hasher);
        let rehash = |id: &BundleId| hasher.hash_one(members_of(all, &bundles[id.0 as usize]));
        self.by_members.insert_unique(hash, id, rehash);
        id
    }

    /// The records of a set, those that are tried first in front.
    pub(crate) fn records(&self, set: SetId) -> &[Record] {
        records_of(&self.records, &self.sets[set.0 as usize])
    }

    /// What a bundle says to a question.
    pub(crate) fn find(&self, bundle: BundleId, question: QuestionId) -> Option<SetId> {
        let members = members_of(&self.members, &self.bundles[bundle.0 as usize]);
        let at = members.binary_search_by_key(&question, |set| self.question(*set)).ok()?;
        members.get(at).copied()
    }

    /// The question that a set answers.
    pub(crate) fn question(&self, set: SetId) -> QuestionId {
        self.sets[set.0 as usize].question
    }

    /// About how many octets of memory all of it takes.
    pub(crate) fn memory(&self) -> usize {
        self.records.len() * size_of::<Record>()
            + self.sets.len() * (size_of::<Set>() + 8)
            + self.members.len() * size_of::<SetId>()
            + self.bundles.len() * (size_of::<Bundle>() + 8)
    }
}

fn records_of<'a>(all: &'a [Record], set: &Set) -> &'a [Record] {
    &all[set.from as usize..(set.from + set.length) as usize]
}

fn members_of<'a>(all: &'a [SetId], bundle: &Bundle) -> &'a [SetId] {
    &all[bundle.from as usize..(bundle.from + bundle.length) as usize]
}

/// Names and sets together: what the responses of a worker have said.
#[derive(Debug, Default)]
pub(crate) struct Known {
    pub(crate) names: Names,
    pub(crate) sets: Sets,
    /// Memory for what the description names and the responses to it, in octets.
    described: usize,
}

/// How much memory responses may fill with what was not said before, in octets. A zone with 100,000 gateways takes a
/// tenth; a server that says something new each time must not fill the machine.
const MOST_OCTETS: usize = 256 << 20;

impl Known {
    /// All that the description names is known: a response to each has room. It takes less than three times as much.
    pub(crate) fn end_of_description(&mut self) {
        self.described = 4 * self.names.memory();
    }

    /// Whether there is no room for another response.
    pub(crate) fn is_full(&self) -> bool {
        self.names.memory() + self.sets.memory() > self.described + MOST_OCTETS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_and_a_bundle_have_one_number() {
        let mut sets = Sets::default();
        let record = |order| Record { order, ..Record::OTHER };
        let (one, two) = (QuestionId(1), QuestionId(2));
        let a = sets.set(one, &[record(1), record(2)]);
        let b = sets.set(two, &[]);
        assert_eq!(sets.set(one, &[record(1), record(2)]), a);
        assert_ne!(sets.set(two, &[record(1), record(2)]), a);
        assert_ne!(sets.set(one, &[record(1)]), a);
        assert_eq!(sets.records(a), [record(1), record(2)]);
        assert_eq!(sets.records(b), []);

        let both = sets.bundle(&[a, b]);
        assert_eq!(sets.bundle(&[a, b]), both);
        assert_ne!(sets.bundle(&[a]), both);
        assert_eq!((sets.find(both, one), sets.find(both, two)), (Some(a), Some(b)));
        assert_eq!(sets.find(both, QuestionId(3)), None);
    }
}

//! What a zone has at its names, and where it has nothing.

use std::collections::{HashMap, HashSet};

use dnsdyno_wire::MAX_NAME_LEN;

use super::record_set::{RecordSet, WILDCARD};

/// The names of a zone, in wire form and lower case.
pub(super) struct Names<'a> {
    apex: &'a [u8],
    /// Names with records in the zone, and names above them: those exist, too (RFC 8020).
    existing: HashSet<&'a [u8]>,
    /// Delegations.
    cuts: HashSet<&'a [u8]>,
    /// Names with a DNAME record, which answers for every name below it.
    renamed: HashSet<&'a [u8]>,
    /// The lengths of the labels directly below a name, as bits.
    label_lengths: HashMap<&'a [u8], u64>,
}

impl<'a> Names<'a> {
    /// Of the records of a zone; `None` without a SOA record.
    pub(super) fn of(sets: &'a [RecordSet]) -> Option<Names<'a>> {
        let apex = sets.iter().find(|set| set.rtype == SOA)?.owner.as_slice();
        let mut names = Names {
            apex,
            existing: HashSet::new(),
            cuts: HashSet::new(),
            renamed: HashSet::new(),
            label_lengths: HashMap::new(),
        };
        for RecordSet { owner, rtype } in sets.iter().filter(|set| is_in(&set.owner, apex)) {
            match *rtype {
                NS if owner != apex => drop(names.cuts.insert(owner)),
                DNAME => drop(names.renamed.insert(owner)),
                _ => {}
            }
            let mut name = owner.as_slice();
            while names.existing.insert(name) && name != apex {
                let above = parent(name);
                *names.label_lengths.entry(above).or_default() |= 1 << (name[0] & 63);
                name = above;
            }
        }
        Some(names)
    }

    /// Whether a set is asked for.
    pub(super) fn is_asked_for(&self, set: &RecordSet) -> bool {
        let RecordSet { owner, rtype } = set;
        is_in(owner, self.apex)
            && !NEVER_ASKED.contains(rtype)
            && !self.is_below_another(owner)
            && (matches!(*rtype, NS | DS) || !self.cuts.contains(owner.as_slice()))
            && (!owner.starts_with(WILDCARD) || owner.len() + MOST_WIDTH <= MAX_NAME_LEN)
    }

    /// Names below which a new label does not exist.
    pub(super) fn parents_of_nothing(&self) -> Vec<&'a [u8]> {
        let has_wildcard = |name: &[u8]| self.existing.contains([WILDCARD, name].concat().as_slice());
        let is_parent = |name: &&&[u8]| {
            !self.cuts.contains(**name)
                && !self.renamed.contains(**name)
                && !self.is_below_another(name)
                && !name.starts_with(WILDCARD)
                && !has_wildcard(name)
                && name.len() + MOST_WIDTH < MAX_NAME_LEN
        };
        let mut parents: Vec<&[u8]> = self.existing.iter().filter(is_parent).copied().collect();
        // The order of a set changes from run to run.
        parents.sort_unstable();
        parents
    }

    /// A length of at least 10 that no label below this name has.
    pub(super) fn free_width(&self, name: &[u8]) -> usize {
        let taken = self.label_lengths.get(name).copied().unwrap_or(0);
        (USUAL_WIDTH..MOST_WIDTH).find(|width| taken & 1 << width == 0).unwrap_or(USUAL_WIDTH)
    }

    /// Whether a name is below a delegation or a DNAME record.
    fn is_below_another(&self, name: &[u8]) -> bool {
        let mut name = name;
        while name != self.apex && name.len() > 1 {
            name = parent(name);
            if self.cuts.contains(name) || self.renamed.contains(name) {
                return true;
            }
        }
        false
    }
}

/// Whether `name` is `apex` or below it.
fn is_in(name: &[u8], apex: &[u8]) -> bool {
    let mut name = name;
    while name.len() > apex.len() {
        name = parent(name);
    }
    name == apex
}

/// The name without its first label; the root is its own.
fn parent(name: &[u8]) -> &[u8] {
    let length = usize::from(name.first().copied().unwrap_or(0));
    if length == 0 { name } else { name.get(length + 1..).unwrap_or(&[]) }
}

const NS: u16 = 2;
const SOA: u16 = 6;
const DNAME: u16 = 39;
const DS: u16 = 43;

/// RRSIG, NSEC, NSEC3: they are sent with other records.
const NEVER_ASKED: [u16; 3] = [46, 47, 50];

/// The lengths of new labels.
const USUAL_WIDTH: usize = 10;
const MOST_WIDTH: usize = 62;

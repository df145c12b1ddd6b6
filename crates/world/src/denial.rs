//! Proofs that a name or a type is not there: NSEC (RFC 4034) and NSEC3 without salt and iterations (RFC 9276).
//!
//! A zone of up to [`MOST_CHAINED`] names has the chain that a signer would have written: each record leads from one
//! name to the next. A larger one, which only registries are, is answered as by a server that signs online: records
//! that cover no more than what is asked (RFC 4470; for NSEC3 RFC 7129, appendix B). A resolver that answers from such
//! proofs by itself (RFC 8198) has nothing from them.

use std::sync::Arc;

use bytes::Bytes;
use dnsdyno_wire::MAX_LABEL_LEN;
use domain::base::iana::{Nsec3HashAlgorithm, Rtype};
use domain::rdata::dnssec::RtypeBitmap;
use domain::rdata::nsec3::{Nsec3Salt, OwnerHash};
use domain::rdata::{Nsec, Nsec3, Nsec3param};
use domain::utils::base32;
use sha1::{Digest, Sha1};

use crate::answer::Proof;
use crate::kept::Kept;
use crate::list::key_of;
use crate::name::{Name, below, labels, suffix};
use crate::rrset::{Data, RrSet};
use crate::tree::{Hierarchy, Kind, Zone};

/// Makes proofs, and keeps the chains of zones.
#[derive(Debug)]
pub(crate) struct Denial {
    chains: Kept<Name, Arc<Chain>>,
}

/// The names of a zone in the order of its proofs.
#[derive(Debug)]
pub(crate) enum Chain {
    /// NSEC: in canonical order, without those that are there only because of names below them.
    Names(Vec<Name>),
    /// NSEC3: by hash.
    Hashes(Vec<(Hash, Name)>),
    /// The zone is large: with NSEC3, or with NSEC.
    Online { has_hashes: bool },
}

type Hash = [u8; 20];

/// What makes the records of one zone.
struct Maker<'a> {
    hierarchy: &'a Hierarchy,
    zone: &'a Zone,
    ttl_s: u32,
    /// For a zone file, in which each type of a proof has records.
    is_for_file: bool,
}

impl Denial {
    pub(crate) fn new() -> Denial {
        Denial { chains: Kept::new(CHAINS) }
    }

    /// The records that prove something of a zone, each once.
    pub(crate) fn prove(&self, hierarchy: &Hierarchy, zone: &Zone, proofs: &[Proof]) -> Vec<RrSet> {
        let chain = self.chains.get(&zone.apex, || Arc::new(Chain::of(hierarchy, zone)));
        let maker = Maker::new(hierarchy, zone);
        let mut sets: Vec<RrSet> = Vec::new();
        for set in proofs.iter().flat_map(|proof| chain.prove(&maker, proof)) {
            if !sets.iter().any(|known| known.owner == set.owner) {
                sets.push(set);
            }
        }
        sets
    }
}

impl Chain {
    /// The chain of a zone.
    pub(crate) fn of(hierarchy: &Hierarchy, zone: &Zone) -> Chain {
        let has_hashes = hierarchy.has_nsec3(zone);
        if hierarchy.most_names(zone) > MOST_CHAINED {
            return Chain::Online { has_hashes };
        }
        let mut names = hierarchy.names(zone);
        if has_hashes {
            let mut hashes: Vec<_> = names.into_iter().map(|name| (hash(&name), name)).collect();
            hashes.sort_unstable();
            return Chain::Hashes(hashes);
        }
        names.retain(|name| hierarchy.node(zone, name).is_some_and(|sets| !sets.is_empty()));
        Chain::Names(names)
    }

    /// All records of the chain; `None` where the zone is too large for one.
    pub(crate) fn records(&self, hierarchy: &Hierarchy, zone: &Zone) -> Option<Vec<RrSet>> {
        let maker = Maker { is_for_file: true, ..Maker::new(hierarchy, zone) };
        match self {
            Chain::Names(names) => Some(names.iter().map(|name| self.link(&maker, name, name)).collect()),
            Chain::Hashes(hashes) => {
                Some(hashes.iter().map(|(_, name)| self.link(&maker, name, name)).collect())
            }
            Chain::Online { .. } => None,
        }
    }

    fn prove(&self, maker: &Maker<'_>, proof: &Proof) -> Vec<RrSet> {
        let at = |name: &Name| match self {
            Chain::Online { has_hashes } => maker.online_at(name, *has_hashes),
            _ => self.link(maker, name, name),
        };
        let over = |name: &Name, encloser: &Name| {
            let closer = suffix(name, labels(encloser).len() + 1);
            match self {
                Chain::Online { has_hashes } => maker.online_over(&closer, *has_hashes),
                _ => self.link(maker, name, &closer),
            }
        };
        let has_hashes = matches!(self, Chain::Hashes(_) | Chain::Online { has_hashes: true });
        let wildcard = |encloser: &Name| below("*", encloser);
        // Hashes do not show which names are above others: the closest encloser has a record of its own.
        let closest = |encloser: &Name| has_hashes.then(|| at(encloser));
        match proof {
            Proof::NoType(name) => vec![at(name)],
            Proof::Delegation(child) => vec![at(&child.apex)],
            Proof::NoName { name, encloser } => {
                let both = [over(name, encloser), over(&wildcard(encloser), encloser)];
                closest(encloser).into_iter().chain(both).collect()
            }
            Proof::Wildcard { name, encloser } => vec![over(name, encloser)],
            Proof::WildcardNoType { name, encloser } => {
                let both = [over(name, encloser), at(&wildcard(encloser))];
                closest(encloser).into_iter().chain(both).collect()
            }
        }
    }

    /// The record of a chain that is at a name or leads over it: by the order of names, or by the hash of its ancestor
    /// next to what exists.
    fn link(&self, maker: &Maker<'_>, name: &Name, closer: &Name) -> RrSet {
        match self {
            Chain::Hashes(hashes) => {
                let wanted = hash(closer);
                let after = hashes.partition_point(|(known, _)| *known <= wanted);
                let from = after.checked_sub(1).and_then(|at| hashes.get(at)).or(hashes.last());
                let to = hashes.get(after).or(hashes.first()).map_or(wanted, |row| row.0);
                from.map_or_else(|| maker.nsec3(wanted, to, None), |row| maker.nsec3(row.0, to, Some(&row.1)))
            }
            Chain::Names(names) => {
                let after = names.partition_point(|known| known <= name);
                // The apex is before all names of its zone.
                let from = names.get(after.saturating_sub(1)).unwrap_or(name);
                maker.nsec(from, names.get(after).or(names.first()).unwrap_or(name))
            }
            Chain::Online { has_hashes } => maker.online_at(name, *has_hashes),
        }
    }
}

impl<'a> Maker<'a> {
    fn new(hierarchy: &'a Hierarchy, zone: &'a Zone) -> Self {
        let soa = hierarchy.soa(zone);
        // RFC 9077: the lesser of the TTL of SOA and its last field, which are equal here.
        Maker { hierarchy, zone, ttl_s: soa.ttl_s, is_for_file: false }
    }

    /// A record at a name that covers nothing after it.
    fn online_at(&self, name: &Name, has_hashes: bool) -> RrSet {
        if has_hashes {
            let from = hash(name);
            return self.nsec3(from, next_hash(from), Some(name));
        }
        // What is below a delegation is not of this zone, so the next name is after all of that.
        let is_cut = self.hierarchy.cut(self.zone, name).is_some();
        let to = if is_cut { after_subtree(name) } else { below([0], name) };
        self.nsec(name, &to)
    }

    /// A record that covers a name that is not there, with all that would be below it.
    fn online_over(&self, closer: &Name, has_hashes: bool) -> RrSet {
        if has_hashes {
            let covered = hash(closer);
            return self.nsec3(previous_hash(covered), next_hash(covered), None);
        }
        self.nsec(&before(closer), &after_subtree(closer))
    }

    fn nsec(&self, from: &Name, to: &Name) -> RrSet {
        let types = self.types(from, false);
        RrSet::new(from, Rtype::NSEC, self.ttl_s, vec![Data::Nsec(Nsec::new(to.clone(), types))])
    }

    /// A record at a hash; of the name there, if there is one.
    fn nsec3(&self, from: Hash, to: Hash, at: Option<&Name>) -> RrSet {
        let types = at.map_or_else(|| bitmap(&[]), |name| self.types(name, true));
        let next = OwnerHash::from_octets(Bytes::copy_from_slice(&to));
        let record =
            next.map(|next| Nsec3::new(Nsec3HashAlgorithm::SHA1, 0, 0, Nsec3Salt::empty(), next, types));
        let owner = below(base32::encode_string_hex(&from).to_ascii_lowercase(), &self.zone.apex);
        RrSet::new(&owner, Rtype::NSEC3, self.ttl_s, record.into_iter().map(Data::Nsec3).collect())
    }

    /// The types at a name, with those that signing adds.
    fn types(&self, name: &Name, has_hashes: bool) -> RtypeBitmap<Bytes> {
        let sets = self.hierarchy.node(self.zone, name).unwrap_or_default();
        let mut types: Vec<Rtype> = sets.iter().map(|set| set.rtype).collect();
        // What fails must be asked for: a resolver that answers from proofs would say that it is not there.
        let captured = self.hierarchy.population.captured().filter(|_| !self.is_for_file);
        types.extend(captured.iter().flat_map(|captured| captured.failing_types(name)));
        if *name == self.zone.apex {
            types.push(Rtype::DNSKEY);
            types.extend(has_hashes.then_some(Rtype::NSEC3PARAM));
        }
        let cut = self.hierarchy.cut(self.zone, name);
        let is_signed_cut = cut.as_ref().is_some_and(|cut| self.hierarchy.is_signed(cut));
        types.extend(is_signed_cut.then_some(Rtype::DS));
        // An NSEC record is signed itself; of NSEC3 the signatures are at the hash.
        let has_signature = !has_hashes || is_signed_cut || (cut.is_none() && !types.is_empty());
        types.extend(has_signature.then_some(Rtype::RRSIG));
        types.extend((!has_hashes).then_some(Rtype::NSEC));
        bitmap(&types)
    }
}

impl Hierarchy {
    /// How many names a zone has at most.
    pub(crate) fn most_names(&self, zone: &Zone) -> u64 {
        let listed = self.population.names().map_or(0, |names| {
            let key = key_of(labels(&zone.apex));
            (names.first_after(&key) - names.first_from(&key)) as u64
        });
        let by_rule = match zone.kind {
            Kind::Root => self.population.tld_count().into(),
            Kind::Tld(tld) => self.population.zones_of(tld) + self.hosters_of(tld).count() as u64,
            _ => 0,
        };
        let of_root = self.population.captured().map_or(0, |captured| captured.outside_of_zones);
        by_rule + if zone.kind == Kind::Root { of_root } else { listed }
    }
}

/// The NSEC3PARAM record of a zone.
pub(crate) fn nsec3param() -> Nsec3param<Bytes> {
    Nsec3param::new(Nsec3HashAlgorithm::SHA1, 0, 0, Nsec3Salt::empty())
}

fn bitmap(types: &[Rtype]) -> RtypeBitmap<Bytes> {
    let mut builder = RtypeBitmap::<Bytes>::builder();
    for rtype in types {
        let Ok(()) = builder.add(*rtype);
    }
    builder.finalize()
}

/// The hash of a name in lower case (RFC 5155 §5).
fn hash(name: &Name) -> Hash {
    Sha1::digest(name.as_slice()).into()
}

fn next_hash(mut hash: Hash) -> Hash {
    for octet in hash.iter_mut().rev() {
        *octet = octet.wrapping_add(1);
        if *octet != 0 {
            break;
        }
    }
    hash
}

fn previous_hash(mut hash: Hash) -> Hash {
    for octet in hash.iter_mut().rev() {
        *octet = octet.wrapping_sub(1);
        if *octet != u8::MAX {
            break;
        }
    }
    hash
}

/// A name before another one and its like, after all names that a zone has before it: no label of a zone is as long
/// or has such octets.
fn before(name: &Name) -> Name {
    with_first_label(name, |label| match label.pop() {
        None | Some(0) => {}
        // Of octets that are letters in upper case, others are the lower ones.
        Some(last) => {
            label.push(if last == b'Z' + 1 { b'A' - 1 } else { last - 1 });
            if label.len() < MAX_LABEL_LEN {
                label.push(u8::MAX);
            }
        }
    })
}

/// The first name after another one and all below it.
fn after_subtree(name: &Name) -> Name {
    with_first_label(name, |label| {
        if label.len() < MAX_LABEL_LEN {
            label.push(0);
        } else if let Some(last) = label.last_mut() {
            *last = if *last == b'A' - 1 { b'Z' + 1 } else { last.saturating_add(1) };
        }
    })
}

fn with_first_label(name: &Name, change: impl FnOnce(&mut Vec<u8>)) -> Name {
    let mut label = name.first().as_slice().to_vec();
    change(&mut label);
    let parent = suffix(name, labels(name).len().saturating_sub(1));
    if label.is_empty() { parent } else { below(label, &parent) }
}

/// Names of a zone that has its chain; making one takes a millisecond at most.
pub(crate) const MOST_CHAINED: u64 = 2_000;

/// Zones whose chains are kept, at least; a usual one has thirty names of thirty octets.
const CHAINS: usize = 4_096;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::tests::name;

    #[test]
    fn names_before_and_after_are_next_to_a_name_and_what_is_below_it() {
        for text in ["nope.com", "a.com", "*.com", "0.com", "[.com", "x.y.com"] {
            let at = name(text);
            let (before, after) = (before(&at), after_subtree(&at));
            assert!(before < at && at < after, "{text}");
            assert!(below("zzzz", &below([255], &at)) < after, "{text}");
            let sibling = |label: &str| below(label, &suffix(&at, labels(&at).len() - 1));
            for other in ["nopd", "nopdz", "nopf", "nopea", "b", "1", "-", "z"] {
                let other = sibling(other);
                assert!(other == at || other < before || other >= after, "{text}");
            }
        }
        let long = name(&format!("{}.com", "x".repeat(63)));
        assert!(before(&long) < long && below("zz", &long) < after_subtree(&long));
    }

    #[test]
    fn hashes_count_over_octets() {
        let mut low = [0; 20];
        assert_eq!(previous_hash(low), [255; 20]);
        low[19] = 255;
        assert_eq!((next_hash(low)[18], next_hash(low)[19]), (1, 0));
        assert_eq!(previous_hash(next_hash(low)), low);
    }
}

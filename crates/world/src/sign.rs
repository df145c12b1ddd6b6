//! Signatures, made when they are asked for. That takes microseconds, so none is kept.
//!
//! What is signed are the octets of RFC 4034 §3.1.8.1. Signatures are valid from 2020 to 2037, whatever the time is:
//! the same seed gives the same octets.

use bytes::Bytes;
use domain::base::iana::{Class, Rtype};
use domain::base::rdata::ComposeRecordData;
use domain::base::{Record, Ttl};
use domain::rdata::dnssec::{ProtoRrsig, Timestamp};

use crate::answer::{Proof, Reply, ReplyKind};
use crate::curves::Nonces;
use crate::denial::{Denial, nsec3param};
use crate::keys::{Key, Keys, algorithm};
use crate::name::{Name, labels};
use crate::rrset::{Data, RrSet};
use crate::tree::{Hierarchy, Zone};

/// Adds keys, proofs and signatures to answers.
#[derive(Debug)]
pub(crate) struct Signer {
    keys: Keys,
    nonces: Nonces,
    denial: Denial,
}

impl Signer {
    /// The signer of a world, by its seed.
    pub(crate) fn new(seed: u64) -> Signer {
        Signer { keys: Keys::new(seed), nonces: Nonces::new(seed), denial: Denial::new() }
    }

    /// Completes an answer: records that only signed zones have, and where the client wants them, proofs and
    /// signatures.
    pub(crate) fn complete(
        &self,
        hierarchy: &Hierarchy,
        reply: &mut Reply,
        (name, rtype): (&Name, Rtype),
        dnssec_ok: bool,
    ) {
        let Some(zone) = reply.zone.clone().filter(|zone| hierarchy.is_signed(zone)) else { return };
        let delegation = reply.proofs.iter().find_map(|proof| match proof {
            Proof::Delegation(child) => Some(child.clone()),
            _ => None,
        });
        let is_asked = reply.kind == ReplyKind::Answer;
        match &delegation {
            Some(child) if hierarchy.is_signed(child) => {
                let ds = self.ds(hierarchy, child);
                if is_asked {
                    reply.answer.push(ds);
                } else if dnssec_ok {
                    reply.authority.push(ds);
                }
                reply.proofs.clear();
            }
            _ if is_asked && *name == zone.apex && rtype == Rtype::DNSKEY => {
                reply.answer.push(self.dnskey(hierarchy, &zone));
            }
            _ if is_asked
                && *name == zone.apex
                && rtype == Rtype::NSEC3PARAM
                && hierarchy.has_nsec3(&zone) =>
            {
                reply.answer.push(param(&zone));
            }
            _ => {}
        }
        if let Some(owner) = reply.signed_name.take() {
            match rtype {
                Rtype::NSEC => {
                    reply.answer.extend(self.denial.prove(hierarchy, &zone, &[Proof::NoType(owner)]))
                }
                Rtype::RRSIG => {
                    let first = hierarchy.node(&zone, &owner).and_then(|sets| sets.into_iter().next());
                    reply.answer.extend(first.and_then(|set| self.signature(hierarchy, &zone, &set)));
                }
                _ => {}
            }
        }
        if dnssec_ok {
            let proofs = std::mem::take(&mut reply.proofs);
            if !proofs.is_empty() {
                reply.authority.extend(self.denial.prove(hierarchy, &zone, &proofs));
            }
            for section in [&mut reply.answer, &mut reply.authority] {
                *section = self.with_signatures(hierarchy, &zone, std::mem::take(section));
            }
        }
    }

    /// The sets, each that the zone signs followed by its signature.
    pub(crate) fn with_signatures(&self, hierarchy: &Hierarchy, zone: &Zone, sets: Vec<RrSet>) -> Vec<RrSet> {
        let mut signed = Vec::with_capacity(sets.len() * 2);
        for set in sets {
            // The NS records of a delegation are of the zone below.
            let is_of_zone = set.rtype != Rtype::NS || set.owner == zone.apex;
            let is_signed = is_of_zone && set.rtype != Rtype::RRSIG;
            let signature = if is_signed { self.signature(hierarchy, zone, &set) } else { None };
            signed.push(set);
            signed.extend(signature);
        }
        signed
    }

    /// The record of a child in its parent.
    pub(crate) fn ds(&self, hierarchy: &Hierarchy, child: &Zone) -> RrSet {
        let ds = self.keys.of(hierarchy, child).and_then(|keys| keys.ds(&child.apex));
        RrSet::new(&child.apex, Rtype::DS, DS_TTL_S, ds.map(Data::Ds).into_iter().collect())
    }

    /// The keys of a zone.
    pub(crate) fn dnskey(&self, hierarchy: &Hierarchy, zone: &Zone) -> RrSet {
        let keys = self.keys.of(hierarchy, zone);
        let mut records: Vec<_> = keys.iter().flat_map(|keys| keys.records()).collect();
        if hierarchy.has_large_keys(zone) {
            records.extend(self.keys.idle(algorithm(hierarchy, zone)).cloned());
        }
        RrSet::new(&zone.apex, Rtype::DNSKEY, DNSKEY_TTL_S, records.into_iter().map(Data::Dnskey).collect())
    }

    /// The RRSIG records of a set.
    fn signature(&self, hierarchy: &Hierarchy, zone: &Zone, set: &RrSet) -> Option<RrSet> {
        let keys = self.keys.of(hierarchy, zone)?;
        let key = if set.rtype == Rtype::DNSKEY { keys.key_signing } else { keys.for_records() };
        let (head, octets) = signed_octets(zone, key, set)?;
        let signature = self.nonces.sign(&key.secret, &octets);
        let record = head.into_rrsig(Bytes::copy_from_slice(&signature)).ok()?;
        Some(RrSet::new(&set.owner, Rtype::RRSIG, set.ttl_s, vec![Data::Rrsig(record)]))
    }
}

/// The NSEC3PARAM record of a zone.
pub(crate) fn param(zone: &Zone) -> RrSet {
    RrSet::new(&zone.apex, Rtype::NSEC3PARAM, 0, vec![Data::Nsec3param(nsec3param())])
}

/// What is signed: the RRSIG record without its signature, and the records in canonical form and order.
fn signed_octets(zone: &Zone, key: &Key, set: &RrSet) -> Option<(ProtoRrsig<Name>, Vec<u8>)> {
    let owner = set.wildcard.as_ref().unwrap_or(&set.owner);
    let parts = labels(owner);
    // Without that of a wildcard, which is the leftmost (RFC 4034, 3.1.3).
    let depth = parts.len() as u8 - u8::from(parts.last().is_some_and(|label| *label == b"*"));
    let head = ProtoRrsig::new(
        set.rtype,
        key.record.algorithm(),
        depth,
        Ttl::from_secs(set.ttl_s),
        Timestamp::from(EXPIRATION),
        Timestamp::from(INCEPTION),
        key.tag,
        zone.apex.clone(),
    );
    let mut octets = Vec::new();
    head.compose_canonical(&mut octets).ok()?;
    let mut records: Vec<(Vec<u8>, &Data)> = Vec::with_capacity(set.data.len());
    for data in &set.data {
        let mut canonical = Vec::new();
        data.compose_canonical_rdata(&mut canonical).ok()?;
        records.push((canonical, data));
    }
    records.sort_unstable_by(|(a, _), (b, _)| a.cmp(b));
    for (_, data) in records {
        let record = Record::new(owner, Class::IN, Ttl::from_secs(set.ttl_s), data);
        record.compose_canonical(&mut octets).ok()?;
    }
    Some((head, octets))
}

/// 2020-01-01 and 2037-12-31, both 00:00 UTC, in seconds since 1970.
const INCEPTION: u32 = 1_577_836_800;
const EXPIRATION: u32 = 2_145_830_400;

const DS_TTL_S: u32 = 86_400;
const DNSKEY_TTL_S: u32 = 3_600;

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use domain::base::iana::SecurityAlgorithm;
    use domain::base::{Message, ParsedName};
    use domain::crypto::common::PublicKey;
    use domain::rdata::{AllRecordData, Dnskey, Ds, Nsec, Nsec3, Rrsig};
    use ring::digest::{SHA256, digest};

    use super::*;
    use crate::keys::IDLE_KEYS;
    use crate::name::{below, lower, suffix, text};
    use crate::options::tests::options;
    use crate::resolver::{ParsedRecord, Resolver, answer, records};
    use crate::world::World;

    type Any = AllRecordData<Bytes, ParsedName<Bytes>>;

    /// A validator for tests: from the DS records of the root down, by what the answers hold.
    struct Validator<'a> {
        world: &'a World,
        /// Keys of the zones that have a chain of trust; an empty list of those that are proved to have none.
        keys: BTreeMap<String, Vec<Dnskey<Bytes>>>,
        /// What was proved, by kind.
        seen: BTreeMap<&'static str, u32>,
    }

    impl Validator<'_> {
        /// Resolves a name and validates all that is used.
        fn check(&mut self, name: &Name, rtype: Rtype) {
            let mut resolver = Resolver::new(self.world);
            resolver.dnssec_ok = true;
            resolver.resolve(name, rtype).unwrap();
            for (child, message) in resolver.referrals {
                self.check_referral(&child, &message);
            }
            for (name, rtype, message) in resolver.answers {
                self.check_answer(&name, rtype, &message);
            }
        }

        /// The keys of the closest zone above a name that was referred to.
        fn zone_of(&mut self, name: &Name) -> (Name, Vec<Dnskey<Bytes>>) {
            if self.keys.is_empty() {
                let hierarchy = &self.world.hierarchy;
                let ds = self.world.signer.ds(hierarchy, &hierarchy.root());
                let Data::Ds(ds) = &ds.data[0] else { panic!() };
                self.add_keys(&Name::root_bytes(), std::slice::from_ref(ds));
            }
            let depths = (0..=labels(name).len()).rev().map(|depth| suffix(name, depth));
            let apex = depths.into_iter().find(|apex| self.keys.contains_key(&text(apex))).unwrap();
            (apex.clone(), self.keys[&text(&apex)].clone())
        }

        /// Asks a zone for its keys, and takes them where one has the digest of the parent and signs them all.
        fn add_keys(&mut self, apex: &Name, ds: &[Ds<Bytes>]) {
            let mut resolver = Resolver::new(self.world);
            resolver.dnssec_ok = true;
            resolver.resolve(apex, Rtype::DNSKEY).unwrap();
            let message = resolver.answers.pop().unwrap().2;
            let found = answer(&message);
            let keys: Vec<Dnskey<Bytes>> = found
                .iter()
                .filter_map(|record| match record.data() {
                    AllRecordData::Dnskey(key) => Some(key.clone()),
                    _ => None,
                })
                .collect();
            let trusted: Vec<_> =
                keys.iter().filter(|key| ds.iter().any(|ds| is_digest(apex, key, ds))).cloned().collect();
            assert!(!trusted.is_empty(), "no key of {} has the digest of its parent", text(apex));
            verify_set(apex, &trusted, &found, apex, Rtype::DNSKEY);
            self.keys.insert(text(apex), keys);
        }

        fn check_referral(&mut self, child: &Name, message: &Message<Bytes>) {
            if self.keys.contains_key(&text(child)) {
                return;
            }
            let (apex, keys) = self.zone_of(child);
            if keys.is_empty() {
                self.keys.insert(text(child), Vec::new());
                return;
            }
            let authority = records(message.authority().unwrap());
            let ds: Vec<Ds<Bytes>> = authority
                .iter()
                .filter_map(|record| match record.data() {
                    AllRecordData::Ds(ds) if *record.owner() == *child => Some(ds.clone()),
                    _ => None,
                })
                .collect();
            if ds.is_empty() {
                self.verify_all(&apex, &keys, &authority);
                let proof = Denials::of(&authority);
                let types =
                    proof.types_at(child).unwrap_or_else(|| panic!("{}: no proof of no DS", text(child)));
                assert!(
                    types.contains(&Rtype::NS) && !types.contains(&Rtype::DS) && !types.contains(&Rtype::SOA)
                );
                self.keys.insert(text(child), Vec::new());
                self.note("unsigned delegation");
            } else {
                verify_set(&apex, &keys, &authority, child, Rtype::DS);
                self.add_keys(child, &ds);
                self.note("signed delegation");
            }
        }

        fn check_answer(&mut self, name: &Name, rtype: Rtype, message: &Message<Bytes>) {
            let (apex, keys) = self.zone_of(name);
            let (found, authority) = (answer(message), records(message.authority().unwrap()));
            let has_signatures = found.iter().chain(&authority).any(|record| record.rtype() == Rtype::RRSIG);
            if keys.is_empty() {
                assert!(!has_signatures, "{} is not signed", text(&apex));
                return;
            }
            self.verify_all(&apex, &keys, &found);
            self.verify_all(&apex, &keys, &authority);
            let proof = Denials::of(&authority);
            for record in &found {
                if let AllRecordData::Rrsig(rrsig) = record.data()
                    && usize::from(rrsig.labels()) < labels(record.owner()).len()
                {
                    proof.assert_covers(record.owner(), &suffix(record.owner(), rrsig.labels().into()));
                    self.note("wildcard");
                }
            }
            let mut end = name.clone();
            while let Some(AllRecordData::Cname(cname)) = found
                .iter()
                .find(|record| *record.owner() == end && record.rtype() == Rtype::CNAME)
                .filter(|_| rtype != Rtype::CNAME)
                .map(|record| record.data())
            {
                end = lower(cname.cname());
            }
            let is_negative = authority.iter().any(|record| record.rtype() == Rtype::SOA);
            if !is_negative {
                return;
            }
            if message.header().rcode() == domain::base::iana::Rcode::NXDOMAIN {
                proof.assert_no_name(&end, &apex);
                self.note("no name");
            } else if let Some(types) = proof.types_at(&end) {
                assert!(
                    !types.contains(&rtype) && !types.contains(&Rtype::CNAME),
                    "{}: {types:?}",
                    text(&end)
                );
                self.note("no type");
            } else {
                proof.assert_no_type_below_wildcard(&end, &apex, rtype);
                self.note("no type at a wildcard or between names");
            }
        }

        fn verify_all(&self, apex: &Name, keys: &[Dnskey<Bytes>], found: &[ParsedRecord]) {
            let sets: std::collections::BTreeSet<_> = found
                .iter()
                .filter(|record| record.rtype() != Rtype::RRSIG)
                .filter(|record| record.rtype() != Rtype::NS || record.owner() == apex)
                .map(|record| (record.owner().clone(), record.rtype()))
                .collect();
            sets.iter().for_each(|(owner, rtype)| verify_set(apex, keys, found, owner, *rtype));
        }

        fn note(&mut self, what: &'static str) {
            *self.seen.entry(what).or_default() += 1;
        }
    }

    fn is_digest(apex: &Name, key: &Dnskey<Bytes>, ds: &Ds<Bytes>) -> bool {
        let mut octets = apex.as_slice().to_vec();
        key.compose_rdata(&mut octets).unwrap();
        ds.key_tag() == key.key_tag() && ds.digest().as_ref() == digest(&SHA256, &octets).as_ref()
    }

    /// Puts together what was signed from the records of a message, and verifies it, with `ring`.
    fn verify_set(apex: &Name, keys: &[Dnskey<Bytes>], found: &[ParsedRecord], owner: &Name, rtype: Rtype) {
        let of_owner = || found.iter().filter(|record| record.owner() == owner);
        let signature = of_owner().find_map(|record| match record.data() {
            AllRecordData::Rrsig(rrsig) if rrsig.type_covered() == rtype => Some(rrsig.clone()),
            _ => None,
        });
        let signature: Rrsig<Bytes, ParsedName<Bytes>> =
            signature.unwrap_or_else(|| panic!("{} {rtype} is not signed", text(owner)));
        assert_eq!(lower(signature.signer_name()), *apex);
        let mut octets = Vec::new();
        signature.compose_canonical_rdata(&mut octets).unwrap();
        octets.truncate(octets.len() - signature.signature().len());
        let skipped = labels(owner).len() - usize::from(signature.labels());
        let source = match skipped {
            _ if owner.first().as_slice() == b"*" => owner.clone(),
            0 => owner.clone(),
            _ => below("*", &suffix(owner, signature.labels().into())),
        };
        let mut rows: Vec<Vec<u8>> = of_owner()
            .filter(|record| record.rtype() == rtype)
            .map(|record| {
                assert_eq!(record.ttl(), signature.original_ttl());
                let mut row = Vec::new();
                let data: &Any = record.data();
                Record::new(&source, Class::IN, record.ttl(), data).compose_canonical(&mut row).unwrap();
                row
            })
            .collect();
        // Equal up to their data, but for the length before it.
        rows.sort_by(|a, b| a[source.len() + 10..].cmp(&b[source.len() + 10..]));
        rows.iter().for_each(|row| octets.extend_from_slice(row));
        let is_valid = keys.iter().filter(|key| key.key_tag() == signature.key_tag()).any(|key| {
            PublicKey::from_dnskey(key).unwrap().verify(&octets, signature.signature().as_ref()).is_ok()
        });
        assert!(is_valid, "{} {rtype}: the signature of {} is not valid", text(owner), text(apex));
    }

    /// The NSEC and NSEC3 records of a message.
    struct Denials {
        names: Vec<(Name, Nsec<Bytes, ParsedName<Bytes>>)>,
        hashes: Vec<(String, Nsec3<Bytes>)>,
    }

    impl Denials {
        fn of(authority: &[ParsedRecord]) -> Denials {
            let mut denials = Denials { names: Vec::new(), hashes: Vec::new() };
            for record in authority {
                match record.data() {
                    AllRecordData::Nsec(nsec) => denials.names.push((record.owner().clone(), nsec.clone())),
                    AllRecordData::Nsec3(nsec3) => {
                        let label =
                            String::from_utf8(labels(record.owner()).last().unwrap().to_vec()).unwrap();
                        denials.hashes.push((label, nsec3.clone()));
                    }
                    _ => {}
                }
            }
            denials
        }

        /// The types of a record at a name.
        fn types_at(&self, name: &Name) -> Option<Vec<Rtype>> {
            let by_name = self
                .names
                .iter()
                .find(|(owner, _)| owner == name)
                .map(|(_, nsec)| nsec.types().iter().collect());
            let by_hash = || {
                let found = self.hashes.iter().find(|(hash, _)| *hash == hashed(name));
                found.map(|(_, nsec3)| nsec3.types().iter().collect())
            };
            by_name.or_else(by_hash)
        }

        fn covers(&self, name: &Name, closer: &Name) -> bool {
            let by_name = self.names.iter().any(|(owner, nsec)| {
                let next = lower(nsec.next_name());
                if *owner < next { owner < name && *name < next } else { owner < name || *name < next }
            });
            let wanted = hashed(closer);
            by_name
                || self.hashes.iter().any(|(hash, nsec3)| {
                    let next = nsec3.next_owner().to_string().to_ascii_lowercase();
                    if *hash < next {
                        *hash < wanted && wanted < next
                    } else {
                        *hash < wanted || wanted < next
                    }
                })
        }

        fn assert_covers(&self, name: &Name, encloser: &Name) {
            let closer = suffix(name, labels(encloser).len() + 1);
            assert!(self.covers(name, &closer), "{} is not covered", text(name));
        }

        /// The closest name above one that is proved to be there.
        fn encloser(&self, name: &Name, apex: &Name) -> Name {
            let depths = (labels(apex).len()..labels(name).len()).rev().map(|depth| suffix(name, depth));
            let is_shown = |above: &Name| {
                self.types_at(above).is_some()
                    || self.names.iter().any(|(owner, nsec)| {
                        owner.ends_with(above) || lower(nsec.next_name()).ends_with(above)
                    })
            };
            depths.into_iter().find(is_shown).unwrap_or_else(|| panic!("{}: no encloser", text(name)))
        }

        fn assert_no_name(&self, name: &Name, apex: &Name) {
            assert!(self.types_at(name).is_none());
            let encloser = self.encloser(name, apex);
            self.assert_covers(name, &encloser);
            let wildcard = below("*", &encloser);
            assert!(self.covers(&wildcard, &wildcard), "a wildcard could stand for {}", text(name));
        }

        fn assert_no_type_below_wildcard(&self, name: &Name, apex: &Name, rtype: Rtype) {
            // With NSEC a name that is there only because of names below it has no record, and the next is below it.
            if self.names.iter().any(|(_, nsec)| lower(nsec.next_name()).ends_with(name)) {
                return self.assert_covers(name, &suffix(name, labels(name).len() - 1));
            }
            let encloser = self.encloser(name, apex);
            self.assert_covers(name, &encloser);
            let types = self.types_at(&below("*", &encloser)).unwrap();
            assert!(!types.contains(&rtype) && !types.contains(&Rtype::CNAME));
        }
    }

    fn hashed(name: &Name) -> String {
        // By `ring`: the zone's are by `sha1`.
        let hash = digest(&ring::digest::SHA1_FOR_LEGACY_USE_ONLY, name.as_slice());
        domain::utils::base32::encode_string_hex(hash.as_ref()).to_ascii_lowercase()
    }

    fn validate(flags: &str, zones: u64) -> BTreeMap<&'static str, u32> {
        let world = World::new(&options(flags)).unwrap();
        let mut validator = Validator { world: &world, keys: BTreeMap::new(), seen: BTreeMap::new() };
        let labels = ["www", "mail", "api", "e3", "txt", "many", "sip", "nothing", "dept", "ns1", "_udp"];
        for number in 0..zones {
            let zone = world.hierarchy.population.drawn_zone(world.hierarchy.rules.draw.nth(number));
            let host = below(labels[number as usize % labels.len()], &zone);
            validator.check(&host, Rtype::A);
            validator.check(&below("x.y".replace('.', "-"), &host), Rtype::A);
            validator.check(&below("none", &zone), Rtype::MX);
            validator.check(&below("none", &suffix(&zone, 1)), Rtype::A);
            validator.check(&zone, Rtype::AAAA);
        }
        validator.check(&below("no-such-tld", &Name::root_bytes()), Rtype::A);
        validator.seen
    }

    #[test]
    fn every_answer_of_a_signed_world_validates_with_chains() {
        for flags in ["nsec3=0%", "nsec3=100%"] {
            let flags = format!(
                "--zones 400 --tlds 4 --signed=60% --share wildcard=40%,naptr=60%,child=40%,ed25519=50%,{flags}"
            );
            let seen = validate(&flags, 25);
            assert!(seen.len() == 6 && seen.values().all(|count| *count > 0), "{flags}: {seen:?}");
        }
    }

    #[test]
    fn every_answer_of_a_large_registry_validates() {
        for flags in ["nsec3=0%", "nsec3=100%"] {
            let seen = validate(&format!("--zones 5M --tlds 3 --signed=50% --share {flags},ed25519=90%"), 10);
            assert!(
                ["no name", "unsigned delegation", "signed delegation"].iter().all(|what| seen[what] > 0),
                "{seen:?}"
            );
        }
    }

    #[test]
    fn the_same_seed_gives_the_same_keys_and_signatures() {
        let octets = |seed: u32, share: u32| {
            let flags = format!("--zones 300 --tlds 2 --signed --seed {seed} --share ed25519={share}%");
            let world = World::new(&options(&flags)).unwrap();
            let mut resolver = Resolver::new(&world);
            resolver.dnssec_ok = true;
            resolver.resolve(&world.hierarchy.population.nth_zone(3), Rtype::SOA).unwrap();
            resolver.answers.pop().unwrap().2.as_slice().to_vec()
        };
        for share in [0, 100] {
            assert_eq!(octets(1, share), octets(1, share));
            assert_ne!(octets(1, share), octets(2, share));
        }
    }

    #[test]
    fn keys_by_fault_do_not_fit_into_a_usual_response() {
        let world = World::new(&options("--zones 300 --tlds 2 --signed --fault large-dnskey=100%")).unwrap();
        let hierarchy = &world.hierarchy;
        let zone = hierarchy.path(&hierarchy.population.nth_zone(0)).pop().unwrap();
        let mut resolver = Resolver::new(&world);
        let found = resolver.resolve(&zone.apex, Rtype::DNSKEY).unwrap();
        let length = resolver.answers.pop().unwrap().2.as_slice().len();
        assert!(found.count == 1 + usize::from(IDLE_KEYS) && length > 1_232, "{length}");
        assert!(!hierarchy.has_large_keys(&hierarchy.root()));
        for key in Keys::new(1).idle(SecurityAlgorithm::ECDSAP256SHA256) {
            let point = [&[4], key.public_key().as_ref()].concat();
            assert!(p256::PublicKey::from_sec1_bytes(&point).is_ok(), "it is not of the curve");
        }
    }
}

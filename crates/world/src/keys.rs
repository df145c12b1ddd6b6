//! Keys of signed zones, derived from the seed: ECDSA P-256 and Ed25519.
//!
//! They protect nothing: whoever has the seed has them. Making one takes longer than an answer, so a world has some
//! hundred of each kind, and a zone has one of them, as the zones of one operator may share one.

use std::fmt;
use std::sync::OnceLock;

use bytes::Bytes;
use domain::base::iana::{DigestAlgorithm, SecurityAlgorithm};
use domain::base::rdata::ComposeRecordData;
use domain::rdata::{Dnskey, Ds};

use crate::curves::{Secret, derived};
use crate::draw::Purpose;
use crate::name::Name;
use crate::shares::Share;
use crate::tree::{Hierarchy, Zone};

/// The keys of all zones, made when they are first used.
pub(crate) struct Keys {
    seed: u64,
    /// By [`Kind`].
    made: [Box<[OnceLock<Option<Key>>]>; KINDS.len()],
}

/// The keys of a zone.
pub(crate) struct ZoneKeys<'a> {
    /// Signs the keys; its digest is in the parent.
    pub(crate) key_signing: &'a Key,
    /// Signs everything else; where it is `None`, the other key does.
    zone_signing: Option<&'a Key>,
}

/// A key, with its record.
pub(crate) struct Key {
    pub(crate) record: Dnskey<Bytes>,
    pub(crate) tag: u16,
    pub(crate) secret: Secret,
}

/// What keys are alike in.
type Kind = (SecurityAlgorithm, u16);

impl Keys {
    pub(crate) fn new(seed: u64) -> Keys {
        Keys { seed, made: KINDS.map(|_| (0..KEYS).map(|_| OnceLock::new()).collect()) }
    }

    /// The keys of a zone: registries and the root have two, as is usual, the others one.
    pub(crate) fn of(&self, hierarchy: &Hierarchy, zone: &Zone) -> Option<ZoneKeys<'_>> {
        let algorithm = algorithm(hierarchy, zone);
        let key = |flags: u16| {
            self.key((algorithm, flags), zone.draw.at(Purpose::Key).below((KEYS - IDLE_KEYS).into()) as u16)
        };
        let zone_signing = if zone.is_registry() { Some(key(ZONE_KEY)?) } else { None };
        Some(ZoneKeys { key_signing: key(ZONE_KEY | ENTRY_POINT)?, zone_signing })
    }

    /// Keys that sign nothing: they make the answers of a zone large. All zones have the same. They are keys of the
    /// curve, as those of any zone: where BIND cannot read one, it does not look at those after it.
    pub(crate) fn idle(&self, algorithm: SecurityAlgorithm) -> impl Iterator<Item = &Dnskey<Bytes>> {
        (KEYS - IDLE_KEYS..KEYS)
            .filter_map(move |number| Some(&self.key((algorithm, ZONE_KEY), number)?.record))
    }

    fn key(&self, kind: Kind, number: u16) -> Option<&Key> {
        let place = KINDS.iter().position(|one| *one == kind)?;
        let make = || Key::derive(self.seed, kind, place as u16 * KEYS + number);
        self.made[place].get(usize::from(number))?.get_or_init(make).as_ref()
    }
}

impl ZoneKeys<'_> {
    /// The key that signs records.
    pub(crate) fn for_records(&self) -> &Key {
        self.zone_signing.unwrap_or(self.key_signing)
    }

    /// The records of the keys.
    pub(crate) fn records(&self) -> impl Iterator<Item = Dnskey<Bytes>> {
        [Some(self.key_signing), self.zone_signing].into_iter().flatten().map(|key| key.record.clone())
    }

    /// The record that the parent has of them: SHA-256.
    pub(crate) fn ds(&self, apex: &Name) -> Option<Ds<Bytes>> {
        let mut octets = apex.as_slice().to_vec();
        let Key { record, tag, .. } = self.key_signing;
        record.compose_canonical_rdata(&mut octets).ok()?;
        let digest = Bytes::copy_from_slice(ring::digest::digest(&ring::digest::SHA256, &octets).as_ref());
        Ds::new(*tag, record.algorithm(), DigestAlgorithm::SHA256, digest).ok()
    }
}

/// The algorithm of the keys of a zone.
pub(crate) fn algorithm(hierarchy: &Hierarchy, zone: &Zone) -> SecurityAlgorithm {
    match zone.draw.at(Purpose::Algorithm).is(hierarchy.rules.share(Share::Ed25519)) {
        true => SecurityAlgorithm::ED25519,
        false => SecurityAlgorithm::ECDSAP256SHA256,
    }
}

impl Key {
    /// A key by its number among all of a world. `None` where its record cannot be, which no key is.
    fn derive(seed: u64, (algorithm, flags): Kind, number: u16) -> Option<Key> {
        let octets = derived(b"key", seed, number);
        let (secret, public) = match algorithm {
            SecurityAlgorithm::ED25519 => {
                let (secret, public) = Secret::ed25519(octets);
                (secret, Bytes::copy_from_slice(&public))
            }
            _ => {
                let (secret, public) = Secret::p256(octets);
                (secret, Bytes::copy_from_slice(&public))
            }
        };
        let record = Dnskey::new(flags, PROTOCOL, algorithm, public).ok()?;
        let tag = record.key_tag();
        Some(Key { record, tag, secret })
    }
}

impl fmt::Debug for Keys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Keys({})", self.seed)
    }
}

/// Of each kind, those that sign nothing among them.
const KEYS: u16 = 256;

/// Keys that sign nothing in a zone with the fault of too many: with 32 octets each they are more than 1,232.
pub(crate) const IDLE_KEYS: u16 = 30;

/// Flags of DNSKEY records (RFC 4034 §2.1.1).
const ZONE_KEY: u16 = 256;
const ENTRY_POINT: u16 = 1;
const PROTOCOL: u8 = 3;

const KINDS: [Kind; 4] = [
    (SecurityAlgorithm::ECDSAP256SHA256, ZONE_KEY),
    (SecurityAlgorithm::ECDSAP256SHA256, ZONE_KEY | ENTRY_POINT),
    (SecurityAlgorithm::ED25519, ZONE_KEY),
    (SecurityAlgorithm::ED25519, ZONE_KEY | ENTRY_POINT),
];

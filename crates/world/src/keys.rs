//! Keys of signed zones, derived from the seed: ECDSA P-256 and Ed25519.
//!
//! They protect nothing: whoever has the seed has them. Signing must give the same octets for the same seed, so ECDSA
//! is that of RFC 6979 (`p256`; `ring` draws its nonces), and Ed25519 (`ring`) is so by its definition.

use std::fmt;

use bytes::Bytes;
use domain::base::iana::{DigestAlgorithm, SecurityAlgorithm};
use domain::base::rdata::ComposeRecordData;
use domain::rdata::{Dnskey, Ds};
use p256::ecdsa::signature::Signer as _;
use p256::ecdsa::{Signature, SigningKey};
use ring::digest::{Context, SHA256};
use ring::signature::{Ed25519KeyPair, KeyPair};

use crate::draw::Purpose;
use crate::name::{Name, below};
use crate::shares::Share;
use crate::tree::{Hierarchy, Zone};

/// The keys of a zone.
#[derive(Debug)]
pub(crate) struct ZoneKeys {
    /// Signs the keys; its digest is in the parent.
    pub(crate) key_signing: Key,
    /// Signs everything else; where it is `None`, the other key does.
    zone_signing: Option<Key>,
}

/// A key, with its record.
pub(crate) struct Key {
    pub(crate) record: Dnskey<Bytes>,
    pub(crate) tag: u16,
    secret: Secret,
}

enum Secret {
    P256(Box<SigningKey>),
    Ed25519(Box<Ed25519KeyPair>),
}

impl ZoneKeys {
    /// The keys of a zone: registries and the root have two, as is usual, the others one.
    pub(crate) fn derive(hierarchy: &Hierarchy, zone: &Zone) -> Option<ZoneKeys> {
        let is_edwards = algorithm(hierarchy, zone) == SecurityAlgorithm::ED25519;
        let seed = hierarchy.rules.options.seed;
        let key = |flags: u16| Key::derive(seed, &zone.apex, flags, is_edwards);
        let zone_signing = if zone.is_registry() { Some(key(ZONE_KEY)?) } else { None };
        Some(ZoneKeys { key_signing: key(ZONE_KEY | ENTRY_POINT)?, zone_signing })
    }

    /// The key that signs records.
    pub(crate) fn for_records(&self) -> &Key {
        self.zone_signing.as_ref().unwrap_or(&self.key_signing)
    }

    /// The records of the keys.
    pub(crate) fn records(&self) -> impl Iterator<Item = Dnskey<Bytes>> + '_ {
        [Some(&self.key_signing), self.zone_signing.as_ref()]
            .into_iter()
            .flatten()
            .map(|key| key.record.clone())
    }

    /// The record that the parent has of them: SHA-256.
    pub(crate) fn ds(&self, apex: &Name) -> Option<Ds<Bytes>> {
        let mut octets = apex.as_slice().to_vec();
        let Key { record, tag, .. } = &self.key_signing;
        record.compose_canonical_rdata(&mut octets).ok()?;
        let digest = Bytes::copy_from_slice(ring::digest::digest(&SHA256, &octets).as_ref());
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
    fn derive(seed: u64, apex: &Name, flags: u16, is_edwards: bool) -> Option<Key> {
        let (algorithm, public, secret) = match is_edwards {
            true => {
                let pair = Ed25519KeyPair::from_seed_unchecked(&derived(seed, apex, flags, 0)).ok()?;
                let public = Bytes::copy_from_slice(pair.public_key().as_ref());
                (SecurityAlgorithm::ED25519, public, Secret::Ed25519(Box::new(pair)))
            }
            false => {
                // A number that is no secret of the curve is one in 2^32: the next is taken.
                let key = (0..8)
                    .find_map(|n| SigningKey::from_bytes(&derived(seed, apex, flags, n).into()).ok())?;
                let point = key.verifying_key().to_sec1_point(false);
                // Without the octet that says that it is not compressed (RFC 6605 §4).
                let public = Bytes::copy_from_slice(point.as_bytes().get(1..)?);
                (SecurityAlgorithm::ECDSAP256SHA256, public, Secret::P256(Box::new(key)))
            }
        };
        let record = Dnskey::new(flags, PROTOCOL, algorithm, public).ok()?;
        let tag = record.key_tag();
        Some(Key { record, tag, secret })
    }

    /// The signature of octets.
    pub(crate) fn sign(&self, octets: &[u8]) -> Bytes {
        match &self.secret {
            Secret::P256(key) => {
                let signature: Signature = key.sign(octets);
                Bytes::copy_from_slice(&signature.to_bytes())
            }
            Secret::Ed25519(pair) => Bytes::copy_from_slice(pair.sign(octets).as_ref()),
        }
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Key({})", self.tag)
    }
}

/// Keys that sign nothing: they make the answers of a zone large. All zones have the same. They are keys of the curve,
/// as those of any zone: where BIND cannot read one, it does not look at those after it.
pub(crate) fn idle_keys(seed: u64, algorithm: SecurityAlgorithm, count: u8) -> Vec<Dnskey<Bytes>> {
    let is_edwards = algorithm == SecurityAlgorithm::ED25519;
    let owner = |number: u8| below(format!("idle-{number}"), &Name::root_bytes());
    let keys = (0..count).filter_map(|number| Key::derive(seed, &owner(number), ZONE_KEY, is_edwards));
    keys.map(|key| key.record).collect()
}

/// 32 octets for a purpose.
fn derived(seed: u64, apex: &Name, flags: u16, number: u8) -> [u8; 32] {
    let mut context = Context::new(&SHA256);
    context.update(b"dnsdyno world key");
    context.update(&seed.to_be_bytes());
    context.update(&flags.to_be_bytes());
    context.update(&[number]);
    context.update(apex.as_slice());
    let mut octets = [0; 32];
    octets.copy_from_slice(context.finish().as_ref());
    octets
}

/// Flags of DNSKEY records (RFC 4034 §2.1.1).
const ZONE_KEY: u16 = 256;
const ENTRY_POINT: u16 = 1;
const PROTOCOL: u8 = 3;

//! Secrets and signatures of ECDSA P-256 (RFC 6605) and Ed25519 (RFC 8080), with nonces from a list.
//!
//! Most of the time of a signature goes into a multiple of the curve's base point, which depends on the nonce alone.
//! So a world has a list of nonces, and each signature takes one by what it signs: it is made in microseconds, and the
//! same octets get the same signature. Two signatures with one nonce give a secret away, and here whoever has the seed
//! has the secrets anyway. Whoever verifies a signature cannot see how its nonce was chosen.

use std::fmt;
use std::sync::OnceLock;

use curve25519_dalek::edwards::EdwardsPoint;
use curve25519_dalek::scalar::{self, Scalar as EdwardsScalar};
use p256::elliptic_curve::Group;
use p256::elliptic_curve::ops::{Reduce, ReduceNonZero};
use p256::elliptic_curve::point::AffineCoordinates;
use p256::elliptic_curve::sec1::ToSec1Point;
use p256::{FieldBytes, ProjectivePoint, Scalar};
use ring::digest::{Context, SHA256, SHA512};

/// A secret key.
pub(crate) enum Secret {
    P256(Scalar),
    Ed25519 { secret: EdwardsScalar, public: [u8; 32] },
}

impl Secret {
    /// A key of P-256, with its public key as DNSKEY records have it: both coordinates.
    pub(crate) fn p256(octets: [u8; 32]) -> (Secret, [u8; 64]) {
        let secret = Scalar::reduce_nonzero(&FieldBytes::from(octets));
        let point = ProjectivePoint::mul_by_generator(&secret).to_affine().to_sec1_point(false);
        let mut public = [0; 64];
        // Without the octet that says that it is not compressed.
        public.copy_from_slice(&point.as_bytes()[1..]);
        (Secret::P256(secret), public)
    }

    /// A key of Ed25519, with its public key.
    pub(crate) fn ed25519(octets: [u8; 32]) -> (Secret, [u8; 32]) {
        let secret = EdwardsScalar::from_bytes_mod_order(scalar::clamp_integer(octets));
        let public = EdwardsPoint::mul_base(&secret).compress().to_bytes();
        (Secret::Ed25519 { secret, public }, public)
    }
}

/// The nonces of a world, made when they are first used.
pub(crate) struct Nonces {
    seed: u64,
    p256: Box<[OnceLock<EcdsaNonce>]>,
    ed25519: Box<[OnceLock<EdwardsNonce>]>,
}

/// `r` of a signature of ECDSA, and the inverse of the nonce.
struct EcdsaNonce {
    r: Scalar,
    inverse: Scalar,
}

/// A nonce of Ed25519, and `R` of its signatures.
struct EdwardsNonce {
    nonce: EdwardsScalar,
    point: [u8; 32],
}

impl Nonces {
    pub(crate) fn new(seed: u64) -> Nonces {
        Nonces {
            seed,
            p256: (0..NONCES).map(|_| OnceLock::new()).collect(),
            ed25519: (0..NONCES).map(|_| OnceLock::new()).collect(),
        }
    }

    /// The signature of octets.
    pub(crate) fn sign(&self, secret: &Secret, octets: &[u8]) -> [u8; 64] {
        let mut context = Context::new(&SHA256);
        context.update(octets);
        let digest: [u8; 32] = digest_of(context);
        let number = u16::from_be_bytes([digest[30], digest[31]]) % NONCES;
        match secret {
            Secret::P256(secret) => {
                let nonce = self.p256[usize::from(number)].get_or_init(|| EcdsaNonce::new(self.seed, number));
                let hash = Scalar::reduce(&FieldBytes::from(digest));
                joined(
                    nonce.r.to_bytes().into(),
                    (nonce.inverse * (hash + nonce.r * secret)).to_bytes().into(),
                )
            }
            Secret::Ed25519 { secret, public } => {
                let nonce =
                    self.ed25519[usize::from(number)].get_or_init(|| EdwardsNonce::new(self.seed, number));
                let mut context = Context::new(&SHA512);
                [&nonce.point[..], public, octets].iter().for_each(|part| context.update(part));
                let hash = EdwardsScalar::from_bytes_mod_order_wide(&digest_of(context));
                joined(nonce.point, (nonce.nonce + hash * secret).to_bytes())
            }
        }
    }
}

impl fmt::Debug for Nonces {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Nonces({})", self.seed)
    }
}

impl EcdsaNonce {
    fn new(seed: u64, number: u16) -> EcdsaNonce {
        let nonce = Scalar::reduce_nonzero(&FieldBytes::from(derived(b"ecdsa nonce", seed, number)));
        let point = ProjectivePoint::mul_by_generator(&nonce).to_affine();
        // A number that is not 0 has an inverse.
        let inverse = nonce.invert().unwrap_or(Scalar::ONE);
        EcdsaNonce { r: Scalar::reduce(&point.x()), inverse }
    }
}

impl EdwardsNonce {
    fn new(seed: u64, number: u16) -> EdwardsNonce {
        let nonce = EdwardsScalar::from_bytes_mod_order(derived(b"ed25519 nonce", seed, number));
        EdwardsNonce { nonce, point: EdwardsPoint::mul_base(&nonce).compress().to_bytes() }
    }
}

fn joined(first: [u8; 32], second: [u8; 32]) -> [u8; 64] {
    let mut signature = [0; 64];
    signature[..32].copy_from_slice(&first);
    signature[32..].copy_from_slice(&second);
    signature
}

/// 32 octets for a purpose.
pub(crate) fn derived(purpose: &[u8], seed: u64, number: u16) -> [u8; 32] {
    let mut context = Context::new(&SHA256);
    context.update(b"dnsdyno world ");
    context.update(purpose);
    context.update(&seed.to_be_bytes());
    context.update(&number.to_be_bytes());
    digest_of(context)
}

fn digest_of<const N: usize>(context: Context) -> [u8; N] {
    let mut octets = [0; N];
    octets.copy_from_slice(context.finish().as_ref());
    octets
}

/// Of each algorithm.
const NONCES: u16 = 1_024;

#[cfg(test)]
mod tests {
    use ring::signature::{ECDSA_P256_SHA256_FIXED, ED25519, UnparsedPublicKey, VerificationAlgorithm};

    use super::*;

    fn verifies(
        algorithm: &'static dyn VerificationAlgorithm,
        public: &[u8],
        octets: &[u8],
        found: &[u8],
    ) -> bool {
        UnparsedPublicKey::new(algorithm, public).verify(octets, found).is_ok()
    }

    #[test]
    fn another_implementation_verifies_what_is_signed_and_nothing_else() {
        let nonces = Nonces::new(7);
        let (p256, public) = Secret::p256([3; 32]);
        let p256_public = [&[4][..], &public].concat();
        let (ed25519, ed_public) = Secret::ed25519([3; 32]);
        for number in 0..300_u32 {
            let octets = [b"set".as_slice(), &number.to_be_bytes()].concat();
            for (algorithm, secret, public) in [
                (&ECDSA_P256_SHA256_FIXED as &'static dyn VerificationAlgorithm, &p256, &p256_public[..]),
                (&ED25519, &ed25519, &ed_public[..]),
            ] {
                let signature = nonces.sign(secret, &octets);
                assert!(verifies(algorithm, public, &octets, &signature));
                assert!(!verifies(algorithm, public, b"other", &signature));
                assert_eq!(Nonces::new(7).sign(secret, &octets), signature);
                assert_ne!(Nonces::new(8).sign(secret, &octets), signature);
            }
        }
    }

    /// Octets beyond the order of a curve are a key of it, too.
    #[test]
    fn all_octets_are_a_secret() {
        let octets = b"x";
        for secret in [[0; 32], [255; 32]] {
            let ((p256, public), (ed25519, ed_public)) = (Secret::p256(secret), Secret::ed25519(secret));
            let nonces = Nonces::new(1);
            let public = [&[4][..], &public].concat();
            let signature = nonces.sign(&p256, octets);
            assert!(verifies(&ECDSA_P256_SHA256_FIXED, &public, octets, &signature));
            assert!(verifies(&ED25519, &ed_public, octets, &nonces.sign(&ed25519, octets)));
        }
    }
}

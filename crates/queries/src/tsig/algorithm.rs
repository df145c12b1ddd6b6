//! The algorithms of TSIG (RFC 8945 §6), as users and key files name them.

use std::fmt;

use hmac::{Hmac, KeyInit, Mac};
use md5::Md5;
use sha1::Sha1;
use sha2::{Sha224, Sha256, Sha384, Sha512};

use super::error::TsigError;

/// An algorithm, and how many octets of its MAC are sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TsigAlgorithm {
    hash: Hash,
    mac_len: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Hash {
    Md5,
    Sha1,
    Sha224,
    Sha256,
    Sha384,
    Sha512,
}

/// Each with its name for users, its name on the wire, and the length of its MAC in octets.
const HASHES: [(Hash, &str, &[u8], usize); 6] = [
    (Hash::Md5, "hmac-md5", b"\x08hmac-md5\x07sig-alg\x03reg\x03int\0", 16),
    (Hash::Sha1, "hmac-sha1", b"\x09hmac-sha1\0", 20),
    (Hash::Sha224, "hmac-sha224", b"\x0bhmac-sha224\0", 28),
    (Hash::Sha256, "hmac-sha256", b"\x0bhmac-sha256\0", 32),
    (Hash::Sha384, "hmac-sha384", b"\x0bhmac-sha384\0", 48),
    (Hash::Sha512, "hmac-sha512", b"\x0bhmac-sha512\0", 64),
];

/// The longest MAC in octets.
pub(super) const LONGEST_MAC: usize = 64;

impl TsigAlgorithm {
    /// `hmac-sha256`, or `hmac-sha256-128` for a MAC truncated to so many bits (RFC 8945 §5.2.2.1: at least half of
    /// the hash and 80 bits), in any case.
    pub(super) fn parse(text: &str) -> Result<TsigAlgorithm, TsigError> {
        let lower = text.to_ascii_lowercase();
        let unknown = || TsigError::Algorithm(text.to_owned());
        // The long name of MD5, as on the wire and in old key files.
        let lower = lower.trim_end_matches('.').trim_end_matches(".sig-alg.reg.int");
        let matches =
            |name: &str| lower == name || lower.strip_prefix(name).is_some_and(|rest| rest.starts_with('-'));
        let (hash, name, _, full) = *HASHES.iter().find(|(_, name, ..)| matches(name)).ok_or_else(unknown)?;
        let mac_len = match lower.strip_prefix(name).and_then(|rest| rest.strip_prefix('-')) {
            None => full,
            Some(bits) => {
                let bits: usize = bits.parse().map_err(|_| unknown())?;
                let shortest = shortest_mac(full);
                if !bits.is_multiple_of(8) || !(shortest..=full).contains(&(bits / 8)) {
                    return Err(TsigError::Truncation { name, shortest: shortest * 8, longest: full * 8 });
                }
                bits / 8
            }
        };
        Ok(TsigAlgorithm { hash, mac_len })
    }

    /// The default: that of `tsig-keygen`, `kdig` and `nsupdate`.
    pub(super) const SHA256: TsigAlgorithm = TsigAlgorithm { hash: Hash::Sha256, mac_len: 32 };

    /// Its name on the wire.
    pub(super) fn wire(self) -> &'static [u8] {
        HASHES[self.hash as usize].2
    }

    /// The octets of its MAC that are sent.
    pub(super) fn mac_len(self) -> usize {
        self.mac_len
    }

    /// The fewest octets of its MAC that mean anything.
    pub(super) fn shortest_mac(self) -> usize {
        shortest_mac(HASHES[self.hash as usize].3)
    }
}

fn shortest_mac(full: usize) -> usize {
    (full / 2).max(10)
}

impl fmt::Display for TsigAlgorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (_, name, _, full) = HASHES[self.hash as usize];
        match self.mac_len {
            whole if whole == full => f.write_str(name),
            truncated => write!(f, "{name}-{}", truncated * 8),
        }
    }
}

/// A MAC with its key: the state after the key is copied for each message, which costs less than starting anew.
#[derive(Clone)]
pub(super) enum Keyed {
    Md5(Hmac<Md5>),
    Sha1(Hmac<Sha1>),
    Sha224(Hmac<Sha224>),
    Sha256(Hmac<Sha256>),
    Sha384(Hmac<Sha384>),
    Sha512(Hmac<Sha512>),
}

impl Keyed {
    /// `None` never happens: HMAC takes a key of any length.
    pub(super) fn new(algorithm: TsigAlgorithm, secret: &[u8]) -> Option<Keyed> {
        Some(match algorithm.hash {
            Hash::Md5 => Keyed::Md5(Hmac::new_from_slice(secret).ok()?),
            Hash::Sha1 => Keyed::Sha1(Hmac::new_from_slice(secret).ok()?),
            Hash::Sha224 => Keyed::Sha224(Hmac::new_from_slice(secret).ok()?),
            Hash::Sha256 => Keyed::Sha256(Hmac::new_from_slice(secret).ok()?),
            Hash::Sha384 => Keyed::Sha384(Hmac::new_from_slice(secret).ok()?),
            Hash::Sha512 => Keyed::Sha512(Hmac::new_from_slice(secret).ok()?),
        })
    }

    /// Writes the MAC of the parts, one after the other, to the start of `mac`; the rest of `mac` is left as it is.
    #[inline]
    pub(super) fn mac(&self, parts: &[&[u8]], mac: &mut [u8; LONGEST_MAC]) {
        match self {
            Keyed::Md5(state) => finish(state, parts, mac),
            Keyed::Sha1(state) => finish(state, parts, mac),
            Keyed::Sha224(state) => finish(state, parts, mac),
            Keyed::Sha256(state) => finish(state, parts, mac),
            Keyed::Sha384(state) => finish(state, parts, mac),
            Keyed::Sha512(state) => finish(state, parts, mac),
        }
    }
}

fn finish<M: Mac + Clone>(state: &M, parts: &[&[u8]], mac: &mut [u8; LONGEST_MAC]) {
    let mut state = state.clone();
    parts.iter().for_each(|part| state.update(part));
    let whole = state.finalize().into_bytes();
    mac[..whole.len()].copy_from_slice(&whole);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn algorithms_have_the_names_of_key_files_and_may_be_truncated() {
        for name in
            ["hmac-md5", "hmac-sha1", "hmac-sha224", "hmac-sha256-128", "hmac-sha384-192", "hmac-sha512"]
        {
            assert_eq!(TsigAlgorithm::parse(name).map(|it| it.to_string()), Ok(name.to_owned()));
        }
        let md5 = TsigAlgorithm::parse("HMAC-MD5.SIG-ALG.REG.INT.").expect("its name on the wire");
        assert_eq!(md5.to_string(), "hmac-md5");
        assert_eq!(TsigAlgorithm::parse("hmac-sha256"), Ok(TsigAlgorithm::SHA256));
        assert_eq!(TsigAlgorithm::parse("hmac-sha512-256").map(TsigAlgorithm::mac_len), Ok(32));
    }

    #[test]
    fn an_algorithm_that_does_not_exist_or_is_truncated_too_far_is_refused() {
        for name in ["", "sha256", "hmac-sha3", "hmac-sha256x", "hmac-sha256-x"] {
            assert_eq!(TsigAlgorithm::parse(name), Err(TsigError::Algorithm(name.to_owned())));
        }
        for name in ["hmac-sha256-120", "hmac-sha256-264", "hmac-md5-72", "hmac-sha1-81"] {
            let error = TsigAlgorithm::parse(name).expect_err("too far");
            assert!(matches!(error, TsigError::Truncation { .. }), "{name}: {error}");
        }
    }

    /// RFC 2202 and RFC 4231, test case 2: the key `Jefe`.
    #[test]
    fn macs_are_those_of_the_rfcs() {
        let parts: [&[u8]; 2] = [b"what do ya want ", b"for nothing?"];
        for (name, start) in [
            ("hmac-md5", [0x75, 0x0c, 0x78, 0x3e]),
            ("hmac-sha1", [0xef, 0xfc, 0xdf, 0x6a]),
            ("hmac-sha224", [0xa3, 0x0e, 0x01, 0x09]),
            ("hmac-sha256", [0x5b, 0xdc, 0xc1, 0x46]),
            ("hmac-sha384", [0xaf, 0x45, 0xd2, 0xe3]),
            ("hmac-sha512", [0x16, 0x4b, 0x7a, 0x7b]),
        ] {
            let algorithm = TsigAlgorithm::parse(name).expect("an algorithm");
            let mut mac = [0; LONGEST_MAC];
            Keyed::new(algorithm, b"Jefe").expect("a key").mac(&parts, &mut mac);
            assert_eq!(mac[..4], start, "{name}");
            assert!(mac[algorithm.mac_len()..].iter().all(|octet| *octet == 0), "{name}");
        }
    }
}

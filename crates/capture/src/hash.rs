//! Hashes of what captures have: always the same ones, and cheap beside the reading of a packet.

use std::hash::Hasher;
use std::net::IpAddr;

/// The finalizer of SplitMix64.
pub(crate) fn mixed(n: u64) -> u64 {
    let n = n.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let n = (n ^ (n >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let n = (n ^ (n >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    n ^ (n >> 31)
}

/// A hash with an address.
pub(crate) fn with_address(hash: u64, address: IpAddr) -> u64 {
    match address {
        IpAddr::V4(ip) => with(hash, &ip.octets()),
        IpAddr::V6(ip) => with(hash, &ip.octets()),
    }
}

/// A hash with further octets, eight at a time: that of the standard library takes as long as all other reading.
pub(crate) fn with(hash: u64, octets: &[u8]) -> u64 {
    let mut words = octets.chunks_exact(8);
    let step = |hash: u64, word: u64| (hash ^ word).wrapping_mul(ODD).rotate_left(29);
    let mut hash = step(hash, octets.len() as u64);
    for word in &mut words {
        hash = step(hash, word.first_chunk().map_or(0, |word| u64::from_le_bytes(*word)));
    }
    let last = words.remainder().iter().fold(0, |word, octet| word << 8 | u64::from(*octet));
    step(hash, last)
}

/// For tables whose keys are hashes already.
#[derive(Default)]
pub(crate) struct KeyHasher(u64);

impl Hasher for KeyHasher {
    fn write(&mut self, octets: &[u8]) {
        self.0 = with(self.0, octets);
    }

    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

/// That of SplitMix64.
const ODD: u64 = 0x9e37_79b9_7f4a_7c15;

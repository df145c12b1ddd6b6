//! A number for each client, by which a share of the clients is chosen: always the same ones for the same seed.

use std::net::IpAddr;

/// A number of 64 bits that is as good as random, and the same for the same address and seed.
pub(crate) fn number(client: IpAddr, seed: u64) -> u64 {
    match client {
        IpAddr::V4(ip) => mixed(u64::from(ip.to_bits()) ^ mixed(seed)),
        IpAddr::V6(ip) => {
            let bits = ip.to_bits();
            mixed(bits as u64 ^ mixed((bits >> 64) as u64 ^ mixed(!seed)))
        }
    }
}

/// The finalizer of SplitMix64.
fn mixed(n: u64) -> u64 {
    let n = n.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let n = (n ^ (n >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let n = (n ^ (n >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    n ^ (n >> 31)
}

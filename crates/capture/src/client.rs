//! A number for each client, by which a share of the clients is chosen: always the same ones for the same seed.

use std::net::IpAddr;

use crate::hash::mixed;

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

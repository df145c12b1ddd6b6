//! Makes a plan from a draft, with the facts of this host.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs, UdpSocket};

use dnsdyno_plan::{Draft, Host, Plan};
use dnsdyno_sys::thread;

use crate::error::RunError;

/// Makes a plan from a draft on this host.
///
/// # Errors
/// The draft is not valid, or the current folder cannot be found.
pub fn validate(draft: &Draft) -> Result<Plan, RunError> {
    let working_dir = std::env::current_dir().map_err(RunError::WorkingDir)?;
    let cores = thread::allowed_cpus().map_or(1, |cpus| cpus.len().max(1));
    // The hash maps of the standard library have a random seed: a random number without a dependency.
    let fresh_seed = RandomState::new().hash_one(std::process::id());
    let host = Host { cores, working_dir: &working_dir, fresh_seed, resolve: &resolve, is_local: &is_local };
    Ok(draft.validate(&host)?)
}

/// Resolves a name with the system's resolver.
fn resolve(name: &str, port: u16) -> Result<Vec<SocketAddr>, String> {
    match (name, port).to_socket_addrs() {
        Ok(addresses) => Ok(addresses.collect()),
        Err(error) => Err(error.to_string()),
    }
}

/// Whether an address is one of this host, seen from this network namespace: then a socket can be bound to it.
pub(crate) fn is_local(address: IpAddr) -> bool {
    address.is_loopback() || address.is_unspecified() || UdpSocket::bind((address, 0)).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_this_host_are_told_from_others() {
        for address in ["127.0.0.1", "127.9.9.9", "::1", "0.0.0.0"] {
            assert!(is_local(address.parse().unwrap()), "{address}");
        }
        for address in ["192.0.2.1", "2001:db8::1"] {
            assert!(!is_local(address.parse().unwrap()), "{address}");
        }
    }
}

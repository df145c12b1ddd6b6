//! A plan from a draft, with what only this host knows.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::net::{SocketAddr, ToSocketAddrs};

use dnsdyno_plan::{Draft, Host, Plan};
use dnsdyno_sys::thread;

use crate::error::RunError;

/// Makes a plan of a draft on this host.
///
/// # Errors
/// Where the draft breaks a rule, or the system does not tell the working folder.
pub fn validate(draft: &Draft) -> Result<Plan, RunError> {
    let working_dir = std::env::current_dir().map_err(RunError::WorkingDir)?;
    let cores = thread::allowed_cpus().map_or(1, |cpus| cpus.len().max(1));
    // The standard library's hash maps are seeded by the system: a fresh number without a dependency for it.
    let fresh_seed = RandomState::new().hash_one(std::process::id());
    let host = Host { cores, working_dir: &working_dir, fresh_seed, resolve: &resolve };
    Ok(draft.validate(&host)?)
}

/// Asks the system's resolver.
fn resolve(name: &str, port: u16) -> Result<Vec<SocketAddr>, String> {
    match (name, port).to_socket_addrs() {
        Ok(addresses) => Ok(addresses.collect()),
        Err(error) => Err(error.to_string()),
    }
}

//! A task with its signature, and what an agent gives for one.

use ring::digest::{SHA256, digest};
use serde::{Deserialize, Serialize};

/// What an agent gives for one signature.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Nonce {
    pub(crate) nonce: String,
    /// The time at the agent: its clock need not be that of the coordinator.
    pub(crate) unix_s: u64,
}

/// A task with its signature.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Signed {
    pub(crate) agent: String,
    pub(crate) session: String,
    pub(crate) nonce: String,
    pub(crate) expires_unix_s: u64,
    /// JSON, in the octets that were signed.
    pub(crate) task: String,
    /// The public half of the key.
    pub(crate) key: String,
    pub(crate) signature: String,
}

impl Signed {
    /// What the signature is of. Agent, session and nonce are compared with those that are known here, which have no
    /// line feed: so nothing can be read as another field.
    pub(crate) fn statement(&self) -> Vec<u8> {
        let hash = hexadecimal(digest(&SHA256, self.task.as_bytes()).as_ref());
        let Signed { agent, session, nonce, expires_unix_s, .. } = self;
        format!("dnsdyno task 1\n{agent}\n{session}\n{nonce}\n{expires_unix_s}\n{hash}\n").into_bytes()
    }
}

pub(crate) fn hexadecimal(octets: &[u8]) -> String {
    octets.iter().map(|octet| format!("{octet:02x}")).collect()
}

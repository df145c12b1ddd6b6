//! What is looked for, and what was found.

use std::net::SocketAddr;

use crate::source::Source;

/// Where the load goes: what is looked for where `--watch` does not say it.
#[derive(Clone, Debug, Default)]
pub struct Targets {
    /// The addresses of the servers.
    pub addresses: Vec<SocketAddr>,
}

/// What `--watch` has found.
#[derive(Default)]
pub struct Opened {
    /// The sources, in the order of the record.
    pub sources: Vec<Box<dyn Source>>,
    /// What was found without being told, and how to get more: sentences for the user.
    pub notes: Vec<String>,
}

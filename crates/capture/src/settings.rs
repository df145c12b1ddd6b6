//! What of a capture is read.

use crate::dnstap::DnstapKind;

/// What of a capture is read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadSettings {
    /// The ports of UDP and TCP that carry DNS, without encryption.
    pub ports: Vec<u16>,
    /// The kinds of dnstap messages; all, where none is named.
    pub kinds: Vec<DnstapKind>,
}

impl Default for ReadSettings {
    fn default() -> Self {
        ReadSettings { ports: vec![53], kinds: Vec::new() }
    }
}

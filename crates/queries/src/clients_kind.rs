//! The kinds of simulated clients, by the words of `--source`.

use std::fmt;

/// What simulated clients are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClientsKind {
    /// The mobility management of a mobile core.
    Epc,
    /// Hosts that look names up.
    Stub,
}

impl fmt::Display for ClientsKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ClientsKind::Epc => "epc",
            ClientsKind::Stub => "stub",
        })
    }
}

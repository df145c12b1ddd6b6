//! What a keeper and its client say to each other: one JSON object a line.
//!
//! ```text
//!   client                                              keeper
//!                                        ◄──  {"greeting": {"protocol": 2, "restored": []}}
//!   {"write": {"item": …, "value": "1"}} ──►  journal, write, journal
//!                                        ◄──  {"written": {"old": "0", "became": "1"}}
//!   "alive"                              ──►  (each 5 s; no answer)
//!   end of the input                     ──►  everything is restored
//! ```

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::item::Item;
use crate::restored::Restored;

/// What a client asks for.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum Request {
    Read {
        item: Item,
    },
    Write {
        item: Item,
        value: String,
    },
    Run {
        command: String,
        within_ms: u64,
    },
    Undo,
    /// The sign of life.
    Alive,
}

/// What a keeper answers.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Answer {
    Greeting {
        protocol: u32,
        restored: Vec<Restored>,
    },
    Value(Option<String>),
    Written(Written),
    Ended(CommandEnd),
    Undone(Vec<Restored>),
    Refused(String),
    /// A write that was refused because the journal cannot be written.
    NoJournal(String),
}

/// A value that was written.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Written {
    /// The value just before.
    pub old: String,
    /// What the kernel has made of the new value: it rounds some.
    pub became: String,
}

/// Values may be files of configuration with secrets, so that only their lengths are shown.
impl fmt::Debug for Written {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Written {{ old: {} octets, became: {} octets }}", self.old.len(), self.became.len())
    }
}

/// How a command has ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandEnd {
    /// Its exit code; `None` where a signal ended it, or where it had not ended in time and was ended.
    pub status: Option<i32>,
    /// The end of what it has printed, to both outputs.
    pub printed: String,
}

/// The version of these messages. A client does not use a keeper of another one.
pub(crate) const PROTOCOL: u32 = 2;

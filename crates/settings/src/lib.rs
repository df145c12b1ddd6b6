//! Values of a host that are changed for a while, and always restored: by whoever changed them, by a process beside it
//! when that one dies or its link is lost, and by the next one after a power cut.
//!
//! ```text
//!   Keeper (client) ── lines of JSON over pipes, or over ssh ──► keep, the keeper: a process of its own on the host
//!                                                                  │ before each write, synced
//!                                                                  ▼
//!   undo_left ◄───────────────────────────────────── STATE/changes/PID-N.ndjson, the journal
//! ```
//!
//! - `item` says where a value is; `kernel`, `file` and `device` read and write the three kinds; `host` is all of them.
//! - `journal` keeps what is changed, `changes` decides what is written and restored.
//! - `keep` is the keeper and `keeper` its client; `messages` is what they say. `left` restores after killed keepers.
#![forbid(unsafe_code)]

mod changes;
mod command;
mod device;
mod error;
mod file;
mod host;
mod item;
mod journal;
mod keep;
mod keeper;
mod kernel;
mod left;
mod messages;
mod namespace;
mod restored;

pub use error::{KeepError, KeeperError, UndoError};
pub use item::Item;
pub use keep::{KeeperOptions, Kept, RESTART_WITHIN, keep};
pub use keeper::Keeper;
pub use left::{state_folder, undo_left};
pub use messages::{CommandEnd, Written};
pub use restored::{Restored, RestoredOutcome};

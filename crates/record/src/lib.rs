//! The record of a run: written by the generator, read by reports.
//!
//! A run is a folder of three files (and an index, where it is compressed):
//!
//! ```text
//!   runs/NAME/
//!     run.ndjson   the measurements: one JSON object per line, written during the run; run.ndjson.zst of a long run
//!     plan.toml    the plan, to repeat the run
//!     host.json    the host that made the run
//! ```
//!
//! [`RunWriter`] writes it, [`RunReader`] reads it line by line. Both build a [`Digest`], a summary of bounded size,
//! so that the summary of a run and that of its file are equal. The format is described in `docs/formats/run.md` and
//! in [`schema::RUN_SCHEMA`].
#![forbid(unsafe_code)]

mod agent;
mod check;
mod counts;
mod digest;
pub mod expect;
pub mod figures;
mod files;
mod fit;
mod frames;
pub mod held;
mod host;
mod index;
mod input;
mod interface;
mod join;
mod limits;
mod line;
mod lock;
mod merge;
mod names;
mod note;
mod peak;
mod queue;
mod reader;
mod regular;
pub mod route;
mod row;
mod run;
#[cfg(test)]
mod sample;
pub mod schema;
#[cfg(test)]
mod small_disk;
mod standard;
mod store;
mod trend;
mod v1;
mod worst;
mod writer;

pub use agent::{AgentEnd, AgentInfo, ClockOffset, missing_words};
pub use check::{Check, TlsCheck};
pub use digest::Digest;
pub use dnsdyno_measure::WorkerUse;
pub use files::{FORMAT, HOST_FILE, INDEX_FILE, PACKED_FILE, PLAN_FILE, RUN_FILE};
pub use fit::Misfit;
pub use host::{HostInfo, InterfaceInfo, command_line};
pub use interface::InterfaceCounts;
pub use join::{Join, join_headers};
pub use line::{Line, LineError};
pub use lock::is_in_progress;
pub use merge::{MergeError, Merged, has_agents, merge_agents, merge_parts};
pub use note::{
    GivenNote, LONGEST_NOTE, LONGEST_NOTE_BYTES, NoteError, NoteIntake, PENDING_FILE, check_note, give_note,
    run_in_progress,
};
pub use peak::Peak;
pub use queue::Unsaved;
pub use reader::{ReadError, RunReader};
pub use regular::{open_regular, read_regular};
pub use row::{MAX_EVENTS, MAX_PHASE_ROWS, MAX_ROWS, Row};
pub use run::{
    BackendInfo, Ended, Event, HELD_UNTIL, Header, Headline, Interval, MemberInfo, MembersBy, Phase, Sum,
    XdpInfo,
};
pub use trend::Trend;
pub use worst::{Longest, MostLost, Worst};
pub use writer::{RunWriter, WriteError};

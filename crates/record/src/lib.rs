//! The record of a run: the one place where measuring and reporting meet.
//!
//! A run is a folder of three files:
//!
//! ```text
//!   runs/NAME/
//!     run.ndjson   what happened: one JSON object a line, written while running
//!     plan.toml    what was asked, so that it can be asked again
//!     host.json    the machine it ran on
//! ```
//!
//! [`RunWriter`] writes it, [`RunReader`] reads it line by line, and [`Digest`] is the bounded
//! summary that both of them build, so that a live summary and one from the file are the same.
//! The format is described in `docs/formats/run.md` and in [`schema::RUN_SCHEMA`].
#![forbid(unsafe_code)]

mod connected;
mod digest;
mod doubt;
mod fallback;
mod finished;
mod host;
mod interface;
mod line;
mod own;
mod reader;
mod route;
mod run;
pub mod schema;
#[cfg(test)]
mod small_disk;
mod standard;
mod unsaved;
mod writer;

pub use digest::{Digest, MAX_EVENTS, MAX_PHASE_ROWS, MAX_ROWS, Row};
pub use finished::{FinishedRun, PlanRunner};
pub use host::{HostInfo, InterfaceInfo};
pub use interface::InterfaceCounts;
pub use line::Line;
pub use reader::{ReadError, RunReader};
pub use run::{
    BackendInfo, Ended, Event, Header, Headline, Interval, MemberInfo, Phase, Sum, WorkerUse, XdpInfo,
};
pub use unsaved::Unsaved;
pub use writer::{RunWriter, WriteError};

/// The file of measurements in a run's folder.
pub const RUN_FILE: &str = "run.ndjson";

/// The plan in a run's folder.
pub const PLAN_FILE: &str = "plan.toml";

/// The facts about the machine in a run's folder.
pub const HOST_FILE: &str = "host.json";

/// Version of the record that this crate writes, and the newest that it reads.
///
/// It grows when a reader of the old one would misread the new one: a property that changed its
/// meaning, a new kind of warning or of end. A run of each older format lies under `tests/old/`.
pub const FORMAT: u32 = 1;

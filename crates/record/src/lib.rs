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

mod digest;
mod finished;
mod host;
mod index;
mod interface;
mod line;
mod names;
mod queue;
mod reader;
mod route;
mod row;
mod run;
pub mod schema;
#[cfg(test)]
mod small_disk;
mod standard;
mod store;
mod v1;
mod writer;

pub use digest::{Digest, MAX_EVENTS, MAX_ROWS};
pub use dnsdyno_measure::WorkerUse;
pub use finished::{FinishedRun, PlanRunner};
pub use host::{HostInfo, InterfaceInfo};
pub use interface::InterfaceCounts;
pub use line::Line;
pub use queue::Unsaved;
pub use reader::{ReadError, RunReader};
pub use row::{MAX_PHASE_ROWS, Row};
pub use run::{BackendInfo, Ended, Event, Header, Headline, Interval, MemberInfo, Phase, Sum, XdpInfo};
pub use writer::{RunWriter, WriteError};

/// The file of measurements in a run's folder.
pub const RUN_FILE: &str = "run.ndjson";

/// The same, compressed: of a run that has grown long. `zstd -dc` gives the lines.
pub const PACKED_FILE: &str = "run.ndjson.zst";

/// Anomalies it the roll-ups of its intervals, and where in the file each of them stands.
pub const INDEX_FILE: &str = "run.index.zst";

/// The plan in a run's folder.
pub const PLAN_FILE: &str = "plan.toml";

/// The facts about the machine in a run's folder.
pub const HOST_FILE: &str = "host.json";

/// Version of the record that this crate writes, and the newest that it reads.
///
/// It grows when a reader of the old one would misread the new one: a property that changed its
/// meaning, a new kind of warning or of end. A run of each older format lies under `tests/old/`.
pub const FORMAT: u32 = 2;

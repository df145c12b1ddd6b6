//! The record of a run: written by the generator, read by reports.
//!
//! A run is a folder of three files:
//!
//! ```text
//!   runs/NAME/
//!     run.ndjson   the measurements: one JSON object per line, written during the run
//!     plan.toml    the plan, to repeat the run
//!     host.json    the host that made the run
//! ```
//!
//! [`RunWriter`] writes it, [`RunReader`] reads it line by line. Both build a [`Digest`], a summary of bounded size,
//! so that the summary of a run and that of its file are equal. The format is described in `docs/formats/run.md` and
//! in [`schema::RUN_SCHEMA`].
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

pub use digest::Digest;
pub use dnsdyno_measure::WorkerUse;
pub use finished::{FinishedRun, PlanRunner};
pub use host::{HostInfo, InterfaceInfo};
pub use interface::InterfaceCounts;
pub use line::Line;
pub use queue::Unsaved;
pub use reader::{ReadError, RunReader};
pub use row::{MAX_EVENTS, MAX_PHASE_ROWS, MAX_ROWS, Row};
pub use run::{BackendInfo, Ended, Event, Header, Headline, Interval, MemberInfo, Phase, Sum, XdpInfo};
pub use writer::{RunWriter, WriteError};

/// The file of measurements in a run's folder.
pub const RUN_FILE: &str = "run.ndjson";

/// The same of a long run, compressed. `zstd -dc` prints the lines.
pub const PACKED_FILE: &str = "run.ndjson.zst";

/// The index of a compressed run: the roll-ups of its groups of intervals, and their positions in the file.
pub const INDEX_FILE: &str = "run.index.zst";

/// The plan in a run's folder.
pub const PLAN_FILE: &str = "plan.toml";

/// The facts about the host in a run's folder.
pub const HOST_FILE: &str = "host.json";

/// Version of the format that this crate writes, and the newest that it reads.
///
/// It is incremented when a reader of the old format would misread the new one: a property with another meaning, a new
/// kind of warning or of end. `tests/old/` has a run of each older format.
pub const FORMAT: u32 = 2;

//! Makes runs, for any caller: a job in, a finished run with its record and its verdict out.
//!
//! ```text
//!   Plans ── describe ──► Description ── open ──► transports ──► engine ──► Recorder ──► FinishedRun
//!                                                                  │
//!                                             Observer ◄───────────┘  notes, ended intervals
//! ```
//!
//! [`LocalRunner`] makes runs on this host, [`SimulatedRunner`] on a simulated link. Both implement [`Runner`], the
//! only interface that code which wants runs needs: it does not know which of them it has. Nothing here uses a
//! terminal: messages for the user go to the [`Observer`], and a run is stopped by its [`Control`].
#![forbid(unsafe_code)]

mod answers;
mod check;
mod clients;
mod description;
mod error;
mod facts;
mod feeder;
mod files;
mod finished;
mod first_pass;
mod header;
mod host;
mod idle;
mod job;
mod judge;
mod load;
mod local;
mod memory;
mod neighbours;
mod notes;
mod observer;
mod recorder;
mod recording;
mod replay;
mod rights;
mod run;
mod simulated;
mod sockets;
mod trace;
mod watch;
mod watch_runner;
mod watched_here;
mod watching;

pub use dnsdyno_engine::{
    Asked, Control, How, Live, QueryEnd, QueryLog, QueryLogs, Reached, StopCause, Unpaired, Why,
};
pub use dnsdyno_transport::sim::SimConfig;
pub use error::{CheckFailed, RunError};
pub use facts::host_facts;
pub use finished::FinishedRun;
pub use host::validate_watch;
pub use job::{Plans, RunJob, Runner, StartLine};
pub use local::LocalRunner;
pub use observer::{Note, Observer};
pub use recorder::{Keep, LineCopy};
pub use recording::{Beginning, Parties, Recording};
pub use rights::rights_of_a_run;
pub use simulated::SimulatedRunner;
pub use trace::Traced;
pub use watch_runner::WatchRunner;
pub use watched_here::{OpenHere, WatchedHere, is_here};

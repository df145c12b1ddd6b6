//! A run that anything can start: a validated plan in, a finished run with its record and its verdict out.
//!
//! ```text
//!   Plan ── describe ──► Description ── open ──► transports ──► engine ──► Recorder ──► FinishedRun
//!                                                                 │
//!                                            Observer ◄───────────┘  notes, passed intervals
//! ```
//!
//! [`LocalRunner`] makes runs on this host, [`ImaginaryRunner`] on an imaginary link in no time; both are a
//! [`PlanRunner`], which is all that whatever decides need know. Nothing here knows a terminal: what a person
//! should hear goes to the [`Observer`], and who wants to stop a run presses its [`Control`].
#![forbid(unsafe_code)]

mod description;
mod error;
mod files;
mod header;
mod host;
mod imaginary;
mod local;
mod observer;
mod recorder;
mod run;
mod watch;

pub use dnsdyno_engine::{Control, Live};
pub use dnsdyno_record::{FinishedRun, PlanRunner};
pub use dnsdyno_transport::sim::SimConfig;
pub use error::RunError;
pub use host::validate;
pub use imaginary::ImaginaryRunner;
pub use local::LocalRunner;
pub use observer::{Note, Observer};
pub use recorder::Keep;

//! Carries out what a campaign decides: makes its runs one after another, keeps its folder, and resumes it.
//!
//! ```text
//!   Campaign ── next ──► carry_out ── job ──► a Runner ──► record in FOLDER/runs/NNN
//!       ▲                    │
//!       └────── learn ───────┴──► FOLDER/journal.ndjson      what began, what ended: read again to resume
//! ```
#![forbid(unsafe_code)]

mod carry_out;
mod diagnose;
pub mod experiment;
pub mod find;
mod journal;
mod make;
pub mod qualify;
mod results;
mod undo;
mod workers;

pub use carry_out::{CarriedOut, Progress, carry_out};
pub use diagnose::{DiagnoseError, Diagnosed, diagnose};
pub use journal::{FORMAT as JOURNAL_FORMAT, Journal, JournalError};
pub use make::MakeError;
pub use results::ResultsError;
pub use workers::find_workers;

//! The live screen of a run on a terminal, and plain lines elsewhere.
//!
//! ```text
//!   runner ──► Screen ──► State ──► View ──► picture ──► terminal
//!   events     observer   counts    a copy   5 a second, on a thread of its own
//! ```
//!
//! The observer only counts. A thread of its own draws, so that a terminal that takes nothing delays neither the
//! record nor a worker.
#![forbid(unsafe_code)]

mod draw;
mod history;
mod lines;
mod moving;
mod options;
mod palette;
mod place;
mod recent;
mod screen;
mod show;
mod span;
mod state;
mod terminal;
mod watch;

#[cfg(test)]
mod sample;

pub use place::{Leave, Progress};
pub use screen::{Program, Screen};
pub use watch::{WatchForm, WatchProgram, WatchScreen};

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
mod palette;
mod recent;
mod screen;
mod show;
mod state;
mod terminal;

#[cfg(test)]
mod sample;

pub use screen::{Leave, Program, Progress, Screen};

/// Text of the user, of a server or of a file, as it can be shown on one line.
fn foreign(text: &str) -> String {
    dnsdyno_measure::shown(text, LONGEST_TEXT).into_owned()
}

/// Characters of a text that is shown: more than a line has.
const LONGEST_TEXT: usize = 300;

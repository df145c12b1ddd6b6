//! Carries experiments out: starts the servers, makes the runs, makes the events happen, and leaves the host as it was.
//!
//! ```text
//!   file ──► Setup ──► Design ──► campaign::experiment ── next ──► a cell
//!                                        ▲                          │ rest, start the servers (Standing)
//!                                        │ learn                    │ run, events beside it
//!                                        └──── journal ◄── record ──┘ end the servers
//!   all runs made ──► results.md, results.csv, results.json, index.html
//! ```

mod able;
mod carry_out;
mod cpus;
mod error;
mod facts;
mod file;
mod found;
mod generator;
mod given;
mod happen;
mod keys;
mod kind;
mod load_file;
mod loads;
mod output;
mod path;
mod place;
mod replay;
mod servers;
mod setup;
mod stop;
mod subjects;
mod summary;
mod text;
mod timetable;
pub mod tune;
mod values;
mod watcher;
mod way;
mod written;

pub use carry_out::{Carried, carry_out};
pub use error::ExperimentError;
pub use file::FORMAT;
pub use given::Given;
pub use output::write_results;
pub use setup::{NamespaceUse, Setup};
pub use stop::Stop;
pub use summary::{LONGEST_NS, START_NS, summary};
pub use watcher::Watcher;

#[cfg(test)]
mod tests;

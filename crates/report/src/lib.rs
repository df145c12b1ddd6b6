//! Reports on a record, for people, programs and pass/fail checks.
//!
//! Everything here reads a [`Digest`](dnsdyno_record::Digest) or the lines of a record and nothing else, so that a run
//! that has just ended and an old one are reported in the same way.
#![forbid(unsafe_code)]

mod check;
mod connections;
pub mod expect;
mod fallback;
mod figures;
mod foreign;
mod hints;
mod intervals;
mod json;
mod layout;
mod live;
mod objects;
mod rows;
mod steps;
mod text;
mod workers;

pub use check::{check_line, refusal};
pub use dnsdyno_measure::units;
pub use intervals::Csv;
pub use json::{summary_json, write_json};
pub use live::{Figure, LiveFigures};
pub use text::summary;
pub use workers::workers;

#[cfg(test)]
mod sample;

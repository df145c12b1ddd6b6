//! Reports on a record, for people, programs and pass/fail checks.
//!
//! Everything here reads a [`Digest`](dnsdyno_record::Digest) and nothing else, so that a run
//! that has just ended and an old one are reported in the same way.
#![forbid(unsafe_code)]

mod check;
mod connections;
pub mod expect;
mod fallback;
mod figures;
mod json;
mod layout;
mod objects;
mod rows;
mod text;
pub mod units;
mod workers;

pub use check::{check_line, refusal};
pub use json::summary_json;
pub use text::summary;
pub use workers::workers;

#[cfg(test)]
mod sample;

//! Decides from records: whether two sets of runs differ.
//!
//! ```text
//!   records ──► compare: figures, alike, verdict ──► Comparison ──► report, page
//!                  ▲
//!   statistics: permutations, intervals, effect, power: numbers only
//! ```
//!
//! Nothing here reads a clock, and random numbers have a seed: the same records give the same verdict.
#![forbid(unsafe_code)]

pub mod compare;
pub mod statistics;

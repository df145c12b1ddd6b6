//! Decides from records: whether two sets of runs differ, and which run is made next; and says so, as text, Markdown,
//! JSON and CSV (`report` of each verb).
//!
//! ```text
//!   records ──► compare: figures, alike, verdict ──► Comparison ──► its report, page
//!                  ▲
//!   statistics: permutations, intervals, effect, power: numbers only
//!
//!   records ──► a Campaign ──► the next run, or the result
//!   records ──► experiment: which server and load is next, which runs count, what they show
//!   records ──► history: where the figures of one kind of run have changed over time or versions
//!   records ──► workers: the fewest workers with which a load is made
//!   figures ──► tune: which parameters are changed next, and what they gain
//! ```
//!
//! Nothing here reads a clock, and random numbers have a seed: the same records give the same verdict.
#![forbid(unsafe_code)]

mod commands;
pub mod compare;
mod doubts;
pub mod experiment;
pub mod find;
pub mod history;
pub mod qualify;
pub mod statistics;
mod step;
pub mod tune;
pub mod workers;

pub use commands::{CommandOutcome, CommandResult};
pub use step::{Campaign, Request, Step};

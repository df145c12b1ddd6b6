//! An experiment: servers and variants of them under the same loads, in turn, several times; what is made next, which
//! runs count, and what they show.
//!
//! ```text
//!              load 1          load 2
//!   round 0   A  B  C         A  B  C        dropped: caches fill, programs are read from the disk
//!   round 1   A  B  C         A  B✗ C   B    a run in doubt is discarded, and made again at the end of its round
//!   round 2   A  B  C         A  B  C
//!   …                 │
//!                     └──► figures of each cell (subject × load), differences with intervals
//! ```
//!
//! A subject is a server as it is configured: the server itself, or a variant of it. The schedule is kept by nothing
//! but the outcomes so far, so that an experiment that was stopped goes on as if it had not been.

mod behind;
mod column;
mod course;
mod design;
mod figures;
mod found;
mod judge;
pub mod report;
mod results;
mod schedule;
mod seconds;
mod steps;

pub use behind::columns_of_hierarchy;
pub use column::{Column, MOST_COLUMNS};
pub use course::{Moment, steady_from_ns};
pub use design::{Cell, Design, LoadKind, LoadOf, Order, Subject};
pub(crate) use figures::cpu_of_answer;
pub use figures::{Percentiles, RunFigures, Spread};
pub use found::{Found, FoundFigure};
pub(crate) use judge::loss;
pub use judge::{Doubt, Strictness, doubts};
pub use results::{CellResult, CellState, Difference, Discarded, ExperimentResult, ReadRun, results};
pub use schedule::{Experiment, Next, Outcome};
pub use seconds::Seconds;
pub use steps::Step;

#[cfg(test)]
mod tests;

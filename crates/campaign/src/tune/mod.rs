//! Tuning: which parameters of a host or server make it hold more, from trials with some of them changed.
//!
//! ```text
//!   Night ──► Tuner ── next ──► Trial (changes) ──► (whoever makes it) ──► Shown ──► learn ──► … ──► Answer
//! ```
//!
//! Everything is compared in logarithms, so that gains multiply: two changes of 10 % are 21 % where they do not act on
//! each other.

mod answer;
mod compare;
mod confidence;
mod confirm;
mod design;
mod evidence;
mod look;
mod memory;
mod night;
pub mod report;
mod screen;
mod tuner;

pub use answer::{Answer, Gain, Gains, Part, Row, RowState, Verdict};
pub use evidence::{Acting, Judge, figures};
pub use night::{Changes, FEWEST_PAIRS, Figures, Night, Parameter, Phase, Shown, Trial};
pub use tuner::{Next, Tuner};

#[cfg(test)]
mod imaginary;
#[cfg(test)]
mod tests;

//! The clients of a replay and the instants of its queries, as the mix and the load of the plan say.

mod roster;
mod timing;

pub use roster::{Roster, Seat};
pub use timing::{Due, Timing};

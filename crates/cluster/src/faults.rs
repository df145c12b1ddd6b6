//! What is done when something is wrong with an agent.

/// What is done when something is wrong with an agent of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Faults {
    /// Whether a run goes on with the other agents when one is lost.
    pub goes_on: bool,
    /// How well the clocks must be known for a start, in nanoseconds.
    pub start_within_ns: u64,
}

impl Default for Faults {
    fn default() -> Self {
        Faults { goes_on: false, start_within_ns: 1_000_000 }
    }
}

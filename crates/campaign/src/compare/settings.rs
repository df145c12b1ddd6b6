//! How runs are compared: what a caller chooses, and the accepted risks of a false alarm.

use dnsdyno_plan::expect::{ChangeBound, ComparedMetric};

use crate::statistics::RESAMPLES;
use crate::statistics::permutation::RELABELLINGS;

/// How runs are compared.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The metric that is judged first; `None` = the usual one of the load.
    pub by: Option<ComparedMetric>,
    /// The changes that make the comparison fail.
    pub fail_if: Vec<ChangeBound>,
    /// Of the random numbers.
    pub seed: u64,
    /// Draws of a bootstrap interval.
    pub resamples: u32,
    /// Random labels that a difference is held against, where the runs are too many to try all.
    pub relabellings: u32,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings { by: None, fail_if: Vec::new(), seed: 1, resamples: RESAMPLES, relabellings: RELABELLINGS }
    }
}

/// With fewer runs on each side no difference can be told from noise.
pub const FEWEST_RUNS: usize = 4;

/// The accepted risk of a false alarm of the metric that is judged first.
pub const FIRST_LEVEL: f64 = 0.04;

/// That of all other metrics together, where the first does not differ.
pub const OTHERS_LEVEL: f64 = 0.01;

/// That of a comparison.
pub const ALL_LEVEL: f64 = 0.05;

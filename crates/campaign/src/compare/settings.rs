//! How runs are compared: what a caller chooses, and the accepted risks of a false alarm.

use dnsdyno_plan::expect::{ChangeBound, ComparedMetric};

use crate::statistics::RESAMPLES;
use crate::statistics::permutation::{RELABELLINGS, smallest};

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
    /// Comparisons that share the accepted risk of a false alarm; at least 1.
    pub family: u32,
}

impl Settings {
    /// With fewer runs on each side no difference can be told from noise.
    pub fn fewest_runs(&self) -> usize {
        (FEWEST_RUNS..MOST_RUNS)
            .find(|runs| smallest(*runs, *runs) <= self.level(FIRST_LEVEL))
            .unwrap_or(MOST_RUNS)
    }

    /// The part of an accepted risk that is that of one comparison.
    pub(super) fn level(&self, of_family: f64) -> f64 {
        of_family / f64::from(self.family.max(1))
    }
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            by: None,
            fail_if: Vec::new(),
            seed: 1,
            resamples: RESAMPLES,
            relabellings: RELABELLINGS,
            family: 1,
        }
    }
}

/// With fewer runs on each side no difference can be told from noise, where one comparison is made.
pub const FEWEST_RUNS: usize = 4;

/// So many are enough for any family.
const MOST_RUNS: usize = 20;

/// The accepted risk of a false alarm of the metric that is judged first.
pub const FIRST_LEVEL: f64 = 0.04;

/// That of all other metrics together, where the first does not differ.
pub const OTHERS_LEVEL: f64 = 0.01;

/// That of a comparison.
pub const ALL_LEVEL: f64 = 0.05;

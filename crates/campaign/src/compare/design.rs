//! How the figures of two sides are held against each other.
//!
//! ```text
//!   runs made for the comparison   ○ ● ○ ● ○ ● ○ ●    any label is as good as another: permutations, a bootstrap
//!   the past and what is new       ○○ ○○ ○○ ○○ … ●●   a session is one figure, and so is all that is new: prediction
//! ```
//!
//! New runs are made within minutes, and those of the past on other days: what changes from day to day is in none of
//! the differences between the new runs. So a session of the past is one unit, the new runs together are another, and
//! the spread is that between the units of the past.

use super::settings::{FIRST_LEVEL, Settings};
use crate::statistics::permutation::{self, Probability, smallest};
use crate::statistics::prediction::{Population, ROBUST};
use crate::statistics::{Shift, median, power, shift, spread};

/// How the figures of two sides are held against each other.
pub(super) struct Design<'a> {
    /// Runs of the baseline; those after them are the candidate's.
    pub(super) runs: usize,
    /// The units of the baseline, where it is the past.
    pub(super) past: Option<&'a Units>,
    pub(super) settings: &'a Settings,
}

/// The runs of the past in units: those of a session, or single ones.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Units {
    /// The places of the runs of each among those of the baseline.
    pub(super) runs: Vec<Vec<usize>>,
    /// Whether a unit is a session of several runs, or may be.
    pub(super) are_sessions: bool,
}

impl Units {
    /// The same units, where their runs alone are those of the baseline.
    pub(super) fn renumbered(&self) -> Units {
        let mut places = 0..;
        let runs = self.runs.iter().map(|unit| places.by_ref().take(unit.len()).collect()).collect();
        Units { runs, are_sessions: self.are_sessions }
    }
}

impl Design<'_> {
    /// The smallest probability that a difference can have: a larger level shows nothing.
    pub(super) fn smallest(&self, candidate: usize) -> f64 {
        match self.past {
            None => smallest(self.runs, candidate),
            Some(units) if units.runs.len() < fewest_units(candidate) => 1.0,
            Some(_) => 0.0,
        }
    }

    /// By how much the candidate is above the baseline, of the figures of a row.
    pub(super) fn shift(&self, figures: &[f64], resamples: u32) -> Option<Shift> {
        match self.past {
            None => shift(&figures[..self.runs], &figures[self.runs..], resamples, self.settings.seed),
            Some(_) => {
                let found = self.population(figures)?.shift();
                Some(Shift { interval: found.interval.filter(|_| resamples > 0), ..found })
            }
        }
    }

    /// Of differences as large, if there are none, of rows that are tested together.
    pub(super) fn test(&self, rows: &[Vec<f64>]) -> Vec<Probability> {
        if self.past.is_none() {
            return permutation::test(rows, self.runs, self.settings.relabellings, self.settings.seed);
        }
        let varies = |row: &&Vec<f64>| row.iter().any(|figure| *figure != row[0]);
        let tests = rows.iter().filter(varies).count().max(1) as f64;
        let one = |row: &Vec<f64>| {
            let alone = self.population(row).map_or(1.0, |population| population.probability());
            Probability { alone, together: (alone * tests).min(1.0) }
        };
        rows.iter().map(one).collect()
    }

    /// What the past says of a row, and where the new runs are in it.
    pub(super) fn population(&self, figures: &[f64]) -> Option<Population> {
        let units = self.past?;
        let new = &figures[self.runs..];
        // A session of more runs than are new would be known better than they are.
        let unit = |runs: &Vec<usize>| {
            let figures = runs.iter().take(new.len()).filter_map(|run| figures.get(*run).copied());
            median(&mut figures.collect::<Vec<_>>())
        };
        let earlier: Vec<f64> = units.runs.iter().map(unit).collect();
        Population::new(&earlier, median(&mut new.to_vec()), new.len())
    }

    /// The spread that a difference is held against.
    pub(super) fn spread(&self, figures: &[f64]) -> Option<f64> {
        spread(&figures[..self.runs], &figures[self.runs..])
    }

    /// The difference that such runs show 9 times in 10.
    pub(super) fn shown(&self, figures: &[f64]) -> Option<f64> {
        let level = self.settings.level(FIRST_LEVEL);
        match self.past {
            None => {
                power::difference_shown(self.runs, figures.len() - self.runs, self.spread(figures)?, level)
            }
            Some(_) => self.population(figures).map(|population| population.shown(level)),
        }
    }

    /// The runs on each side that show a difference 9 times in 10; of the past, its units are told of a bound only.
    pub(super) fn runs_needed(&self, figures: &[f64], difference: f64) -> Option<u32> {
        let spread = self.spread(figures).filter(|_| self.past.is_none())?;
        power::runs_needed(difference, spread, self.settings.level(FIRST_LEVEL))
    }
}

/// With fewer units of the past no difference is told. The numbers are measured: `outside.rs` has the test.
pub(super) fn fewest_units(new_runs: usize) -> usize {
    if new_runs >= ROBUST { FEWEST_UNITS } else { FEWEST_UNITS_OF_ONE }
}

/// Where the new runs have a median that leaves a disturbed one out.
const FEWEST_UNITS: usize = 8;

/// Where they have none: how far a disturbed run is must be known from the past.
const FEWEST_UNITS_OF_ONE: usize = 20;

//! What an experiment measures, and how often.

use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt, SeedableRng};

use super::judge::Strictness;

/// What is measured, and how often.
#[derive(Clone, Debug, PartialEq)]
pub struct Design {
    /// The servers and their variants.
    pub subjects: Vec<Subject>,
    /// The loads.
    pub loads: Vec<LoadOf>,
    /// Runs of each cell that count.
    pub repeats: u32,
    /// Runs of each cell before them that do not.
    pub dropped: u32,
    /// How the runs of different cells alternate.
    pub order: Order,
    /// Of the random order, and of the intervals.
    pub seed: u64,
    /// How many runs of a cell may be discarded before it is given up.
    pub retries: u32,
    /// How long no load is sent before each run, in ns.
    pub rest_ns: u64,
}

/// A server as it is configured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subject {
    /// Its name: `nsd`, or `nsd/reuseport`.
    pub name: String,
    /// The subject that it is compared with; `None` = it is the first one.
    pub against: Option<usize>,
    /// What differs from that, for people.
    pub differs: String,
}

/// A load.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoadOf {
    /// Its name.
    pub name: String,
    /// What makes a run of it doubtful.
    pub strictness: Strictness,
    /// How long a run lasts, in ns; `None` where the server decides it.
    pub lasts_ns: Option<u64>,
}

/// A subject under a load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cell {
    /// The number of the subject.
    pub subject: usize,
    /// The number of the load.
    pub load: usize,
}

/// How the runs of different cells alternate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// A B A B: each round in the same order.
    InTurn,
    /// Each round in an order of its own: randomised blocks.
    RandomBlocks,
}

impl Design {
    /// All cells: the subjects under one load follow each other.
    pub fn cells(&self) -> impl Iterator<Item = Cell> + '_ {
        let of_load = |load| (0..self.subjects.len()).map(move |subject| Cell { subject, load });
        (0..self.loads.len()).flat_map(of_load)
    }

    /// The number of a cell among all.
    pub fn number(&self, cell: Cell) -> usize {
        cell.load * self.subjects.len() + cell.subject
    }

    /// Rounds, if no run is discarded.
    pub fn rounds(&self) -> u32 {
        self.dropped.saturating_add(self.repeats)
    }

    /// Runs, if none is discarded.
    pub fn runs(&self) -> u64 {
        u64::from(self.rounds()) * (self.subjects.len() * self.loads.len()) as u64
    }

    /// How long all runs and rests take, in ns, if none is discarded; `starts_ns` is what a start of a server takes.
    /// Loads whose length the server decides are not in it.
    pub fn lasts_ns(&self, starts_ns: u64) -> u64 {
        let around = self.rest_ns.saturating_add(starts_ns);
        let of_load = |load: &LoadOf| load.lasts_ns.unwrap_or(0).saturating_add(around);
        let round = self.loads.iter().map(of_load).fold(0_u64, u64::saturating_add);
        let of_subjects = round.saturating_mul(self.subjects.len() as u64);
        of_subjects.saturating_mul(u64::from(self.rounds()))
    }

    /// The cells of a round in their order.
    pub(super) fn round(&self, number: u32) -> Vec<Cell> {
        let mut cells: Vec<Cell> = self.cells().collect();
        if self.order == Order::RandomBlocks {
            let seed = self.seed.wrapping_mul(ODD).wrapping_add(number.into());
            let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
            // Fisher and Yates.
            for last in (1..cells.len()).rev() {
                cells.swap(last, random.random_range(0..=last));
            }
        }
        cells
    }
}

/// Keeps the rounds of one seed away from those of the next.
const ODD: u64 = 0x9e37_79b9_7f4a_7c15;

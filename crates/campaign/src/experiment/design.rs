//! What an experiment measures, and how often.

use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt, SeedableRng};

use super::column::Column;
use super::judge::Strictness;

/// What is measured, and how often.
#[derive(Clone, Debug, PartialEq)]
pub struct Design {
    /// The servers and their variants.
    pub subjects: Vec<Subject>,
    /// The loads.
    pub loads: Vec<LoadOf>,
    /// How the runs of different cells alternate.
    pub order: Order,
    /// Of the random order, and of the intervals.
    pub seed: u64,
    /// How many runs of a cell may be discarded before it is given up.
    pub retries: u32,
    /// How long no load is sent before each run, in ns.
    pub rest_ns: u64,
    /// Further columns of the results, of what was watched.
    pub columns: Vec<Column>,
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
    /// What puts it on the servers.
    pub kind: LoadKind,
    /// What makes a run of it doubtful.
    pub strictness: Strictness,
    /// How long a run lasts, in ns, of a search and of a program at most; `None` where the server decides it.
    pub lasts_ns: Option<u64>,
    /// The numbers of the subjects that it is put on; `None` = all.
    pub on: Option<Vec<usize>>,
    /// Whether the results show the course of its runs, interval by interval.
    pub has_course: bool,
    /// Runs of each server under it that count.
    pub repeats: u32,
    /// Runs of each server before them that do not.
    pub dropped: u32,
}

/// What puts a load on the servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoadKind {
    /// Our generator, once: a run.
    Run,
    /// Our generator, many times: a search for the limit.
    Search,
    /// Another program.
    Program,
}

impl LoadOf {
    /// Whether it is put on a subject.
    pub fn is_on(&self, subject: usize) -> bool {
        self.on.as_ref().is_none_or(|on| on.contains(&subject))
    }

    /// Runs of each server, if none is discarded.
    pub fn rounds(&self) -> u32 {
        self.dropped.saturating_add(self.repeats)
    }
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
        let of_load = |(load, of): (usize, &LoadOf)| {
            let subjects: Vec<usize> =
                (0..self.subjects.len()).filter(|subject| of.is_on(*subject)).collect();
            subjects.into_iter().map(move |subject| Cell { subject, load })
        };
        self.loads.iter().enumerate().flat_map(of_load)
    }

    /// Subjects that a load is put on.
    fn subjects_of(&self, load: &LoadOf) -> u64 {
        load.on.as_ref().map_or(self.subjects.len(), Vec::len) as u64
    }

    /// The number of a cell among all.
    pub fn number(&self, cell: Cell) -> usize {
        cell.load * self.subjects.len() + cell.subject
    }

    /// Rounds, if no run is discarded.
    pub fn rounds(&self) -> u32 {
        self.loads.iter().map(LoadOf::rounds).max().unwrap_or(0)
    }

    /// Runs, if none is discarded.
    pub fn runs(&self) -> u64 {
        self.loads.iter().map(|load| u64::from(load.rounds()) * self.subjects_of(load)).sum()
    }

    /// Loads whose runs are compared.
    pub fn compared_loads(&self) -> u32 {
        let compared = self.loads.iter().filter(|load| load.kind == LoadKind::Run).count();
        u32::try_from(compared).unwrap_or(u32::MAX)
    }

    /// How long all runs and rests take, in ns, if none is discarded; `starts_ns` is what a start of a server takes.
    /// Loads whose length the server decides are not in it; searches and programs are, as long as they may take.
    pub fn lasts_ns(&self, starts_ns: u64) -> u64 {
        let around = self.rest_ns.saturating_add(starts_ns);
        let of_load = |load: &LoadOf| {
            let runs = u64::from(load.rounds()).saturating_mul(self.subjects_of(load));
            load.lasts_ns.unwrap_or(0).saturating_add(around).saturating_mul(runs)
        };
        self.loads.iter().map(of_load).fold(0_u64, u64::saturating_add)
    }

    /// The cells of a round in their order.
    pub(super) fn round(&self, number: u32) -> Vec<Cell> {
        let has_round = |cell: &Cell| self.loads.get(cell.load).is_some_and(|load| number < load.rounds());
        let mut cells: Vec<Cell> = self.cells().filter(has_round).collect();
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

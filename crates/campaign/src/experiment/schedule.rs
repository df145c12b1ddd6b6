//! Which run is made next, from the outcomes of those before.

use std::collections::VecDeque;

use dnsdyno_record::Digest;

use super::design::{Cell, Design};
use super::judge::{Doubt, doubts};

/// An experiment, as far as it has come.
#[derive(Clone, Debug)]
pub struct Experiment {
    design: Design,
    outcomes: Vec<(Cell, Outcome)>,
    /// By number of the cell.
    cells: Vec<Progress>,
    round: u32,
    /// The cells of this round that are still to be run; the first one is next.
    queue: VecDeque<Cell>,
}

/// What became of a run.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// It counts.
    Counted,
    /// It was one of the first of its cell.
    Dropped,
    /// It does not count, for these reasons, and was made again if there were retries left.
    Discarded(Vec<Doubt>),
}

/// What is to be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Next {
    /// A run of this cell.
    Run {
        /// The cell.
        cell: Cell,
        /// Which of the cell's runs it is, for people: "nsd under 5k, 2 of 5".
        why: String,
    },
    /// All runs are made.
    Done,
}

/// How far a cell has come.
#[derive(Clone, Copy, Debug, Default)]
struct Progress {
    dropped: u32,
    counted: u32,
    discarded: u32,
    is_given_up: bool,
}

impl Experiment {
    /// The experiment before its first run.
    pub fn new(design: Design) -> Experiment {
        let cells = vec![Progress::default(); design.subjects.len() * design.loads.len()];
        let queue = design.round(0).into();
        Experiment { design, outcomes: Vec::new(), cells, round: 0, queue }
    }

    /// What it measures.
    pub fn design(&self) -> &Design {
        &self.design
    }

    /// What became of the runs so far, in the order in which they were made.
    pub fn outcomes(&self) -> &[(Cell, Outcome)] {
        &self.outcomes
    }

    /// Whether the runs of a cell were given up.
    pub fn is_given_up(&self, cell: Cell) -> bool {
        self.cells.get(self.design.number(cell)).is_some_and(|progress| progress.is_given_up)
    }

    /// Runs that are left if none is discarded.
    pub fn left(&self) -> u64 {
        let of = |progress: &Progress| match progress.is_given_up {
            true => 0,
            false => {
                let made = progress.dropped + progress.counted;
                u64::from(self.design.rounds().saturating_sub(made))
            }
        };
        self.cells.iter().map(of).sum()
    }

    /// What to do next. It is the same until an outcome is learned.
    pub fn next(&self) -> Next {
        let Some(cell) = self.queue.front().copied() else { return Next::Done };
        let progress = self.progress(cell);
        let (subject, load) = self.names(cell);
        let which = match progress.dropped < self.design.dropped {
            true => "first run, dropped".to_owned(),
            false => format!("{} of {}", progress.counted + 1, self.design.repeats),
        };
        let again = if progress.discarded > 0 {
            format!(", {} discarded", progress.discarded)
        } else {
            String::new()
        };
        Next::Run { cell, why: format!("{subject} under {load}, {which}{again}") }
    }

    /// The names of a cell's subject and load.
    pub fn names(&self, cell: Cell) -> (&str, &str) {
        let subject = self.design.subjects.get(cell.subject).map_or("", |subject| &subject.name);
        let load = self.design.loads.get(cell.load).map_or("", |load| &load.name);
        (subject, load)
    }

    /// Takes the record of the run that was requested last, and returns what became of it.
    pub fn learn(&mut self, run: &Digest) -> Outcome {
        let Some(cell) = self.queue.front().copied() else { return Outcome::Discarded(Vec::new()) };
        let strictness = self.design.loads.get(cell.load).map(|load| load.strictness);
        let found = strictness.map_or_else(Vec::new, |strictness| doubts(run, strictness));
        let is_first = self.progress(cell).dropped < self.design.dropped;
        // The first runs need not be good, but they must be runs of this server.
        let is_good = found.is_empty() || (is_first && found.iter().all(Doubt::has_figures));
        self.settle(match (is_good, is_first) {
            (true, true) => Outcome::Dropped,
            (true, false) => Outcome::Counted,
            (false, _) => Outcome::Discarded(found),
        })
    }

    /// Learns that the run that was requested last has failed, because of its server.
    pub fn learn_failed(&mut self, why: &str) -> Outcome {
        self.settle(Outcome::Discarded(vec![Doubt::Failed(why.to_owned())]))
    }

    fn settle(&mut self, outcome: Outcome) -> Outcome {
        let Some(cell) = self.queue.pop_front() else { return outcome };
        let number = self.design.number(cell);
        let retries = self.design.retries;
        if let Some(progress) = self.cells.get_mut(number) {
            match &outcome {
                Outcome::Counted => progress.counted += 1,
                Outcome::Dropped => progress.dropped += 1,
                Outcome::Discarded(_) => {
                    progress.discarded += 1;
                    progress.is_given_up = progress.discarded > retries;
                    if !progress.is_given_up {
                        self.queue.push_back(cell);
                    }
                }
            }
        }
        self.outcomes.push((cell, outcome.clone()));
        while self.queue.is_empty() && self.round + 1 < self.design.rounds() {
            self.round += 1;
            let cells = self.design.round(self.round);
            self.queue = cells.into_iter().filter(|cell| !self.is_given_up(*cell)).collect();
        }
        outcome
    }

    fn progress(&self, cell: Cell) -> Progress {
        self.cells.get(self.design.number(cell)).copied().unwrap_or_default()
    }
}

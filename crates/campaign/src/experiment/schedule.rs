//! Which run is made next, from the outcomes of those before.

use std::collections::{BTreeMap, VecDeque};

use dnsdyno_record::Digest;

use super::design::{Cell, Design, LoadKind};
use super::found::Found;
use super::judge::{Doubt, doubts};

/// An experiment, as far as it has come.
#[derive(Clone, Debug)]
pub struct Experiment {
    design: Design,
    outcomes: Vec<(Cell, Outcome)>,
    /// By number of the run, from 1: what searches and programs have found.
    found: BTreeMap<u32, Found>,
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
        Experiment { design, outcomes: Vec::new(), found: BTreeMap::new(), cells, round: 0, queue }
    }

    /// What it measures.
    pub fn design(&self) -> &Design {
        &self.design
    }

    /// What became of the runs so far, in the order in which they were made.
    pub fn outcomes(&self) -> &[(Cell, Outcome)] {
        &self.outcomes
    }

    /// What the run of this number has found, if it was a search or a program.
    pub fn found(&self, number: u32) -> Option<&Found> {
        self.found.get(&number)
    }

    /// What makes the next run; `None` where all are made.
    pub fn next_kind(&self) -> Option<LoadKind> {
        let cell = self.queue.front()?;
        self.design.loads.get(cell.load).map(|load| load.kind)
    }

    /// Whether the runs of a cell were given up.
    pub fn is_given_up(&self, cell: Cell) -> bool {
        self.cells.get(self.design.number(cell)).is_some_and(|progress| progress.is_given_up)
    }

    /// Runs that are left if none is discarded.
    pub fn left(&self) -> u64 {
        let of = |cell: Cell| {
            let progress = self.progress(cell);
            let made = progress.dropped + progress.counted;
            let rounds = self.design.loads.get(cell.load).map_or(0, |load| load.rounds());
            if progress.is_given_up { 0 } else { u64::from(rounds.saturating_sub(made)) }
        };
        self.design.cells().map(of).sum()
    }

    /// What to do next. It is the same until an outcome is learned.
    pub fn next(&self) -> Next {
        let Some(cell) = self.queue.front().copied() else { return Next::Done };
        let progress = self.progress(cell);
        let (subject, load) = self.names(cell);
        let repeats = self.design.loads.get(cell.load).map_or(0, |load| load.repeats);
        let which = match self.is_first(cell) {
            true => "first run, dropped".to_owned(),
            false => format!("{} of {repeats}", progress.counted + 1),
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
        let is_first = self.is_first(cell);
        // The first runs need not be good, but they must be runs of this server.
        let is_good = found.is_empty() || (is_first && found.iter().all(Doubt::has_figures));
        self.settle(match (is_good, is_first) {
            (true, true) => Outcome::Dropped,
            (true, false) => Outcome::Counted,
            (false, _) => Outcome::Discarded(found),
        })
    }

    /// Takes what the search or the program has found that was requested last, and returns what became of it.
    pub fn learn_found(&mut self, found: Found) -> Outcome {
        let Some(cell) = self.queue.front().copied() else { return Outcome::Discarded(Vec::new()) };
        let keeps = self.design.loads.get(cell.load).is_some_and(|load| load.strictness.keeps_doubtful);
        let outcome = match found.doubt.clone().filter(|_| !keeps) {
            _ if self.is_first(cell) => Outcome::Dropped,
            Some(doubt) => Outcome::Discarded(vec![Doubt::Unsure(doubt)]),
            None => Outcome::Counted,
        };
        let number = u32::try_from(self.outcomes.len()).unwrap_or(u32::MAX).saturating_add(1);
        self.found.insert(number, found);
        self.settle(outcome)
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

    /// Whether the next run of a cell is one of the first, which are dropped.
    fn is_first(&self, cell: Cell) -> bool {
        let dropped = self.design.loads.get(cell.load).map_or(0, |load| load.dropped);
        self.progress(cell).dropped < dropped
    }

    fn progress(&self, cell: Cell) -> Progress {
        self.cells.get(self.design.number(cell)).copied().unwrap_or_default()
    }
}

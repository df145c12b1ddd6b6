//! The confirmation: what was found against the base, on fresh data, and with each of its parts taken away once.
//!
//! ```text
//!   block 1   all  base  all-but-b  all-but-a  …      each block has each cell once, in a random order
//!   block 2   all-but-a  all  base  all-but-b  …
//! ```
//!
//! Nothing of this was seen before, so its intervals need no correction for the search that led here: a night without
//! any gain reports one in 2.5 of 100 cases at most, whatever the search has chosen.

use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt, SeedableRng};

use super::night::{Changes, Night, Phase, Trial, Without};
use crate::statistics::{Shift, signed_rank};

/// A confirmation of some changes.
#[derive(Clone, Debug)]
pub(super) struct Confirm {
    /// The changes, in the order in which they were found.
    pub(super) parts: Vec<(usize, usize)>,
    cells: Vec<Cell>,
    pairs: u32,
    seed: u64,
    /// The least difference that is worth a change, in logarithms.
    least: f64,
    /// By block, then by cell: the figure in logarithms.
    blocks: Vec<Vec<Option<f64>>>,
    /// Why the last trial without a figure has none.
    without: Option<String>,
}

/// What is changed in a trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cell {
    Base,
    All,
    /// All but this part.
    Without(usize),
    /// This part alone.
    Alone(usize),
}

/// What it has shown, in logarithms.
#[derive(Clone, Debug)]
pub(super) struct Confirmed {
    /// Of all parts together.
    pub(super) whole: Option<Shift>,
    /// What each part adds to the others.
    pub(super) adds: Vec<Option<Shift>>,
    /// What each part gains alone, where that was tried.
    pub(super) alone: Vec<Option<Shift>>,
    /// The parts that matter: without each of them it is certainly less, and by as much as is worth a change.
    pub(super) matter: Vec<bool>,
}

impl Confirm {
    pub(super) fn new(parts: Vec<(usize, usize)>, night: &Night, round: u64) -> Confirm {
        let mut cells = vec![Cell::Base, Cell::All];
        if parts.len() > 1 {
            cells.extend((0..parts.len()).map(Cell::Without));
        }
        // Of two parts, each is alone where the other is taken away.
        if parts.len() > 2 {
            cells.extend((0..parts.len()).map(Cell::Alone));
        }
        let seed = night.seed.wrapping_add(round.wrapping_mul(ODD));
        let (pairs, least) = (night.pairs.max(super::night::FEWEST_PAIRS), night.smallest_gain.ln_1p());
        Confirm { parts, cells, pairs, seed, least, blocks: Vec::new(), without: None }
    }

    /// Trials of such a confirmation of so many parts.
    pub(super) fn trials(parts: usize, night: &Night) -> u32 {
        let parts = u32::try_from(parts).unwrap_or(u32::MAX);
        let pairs = night.pairs.max(super::night::FEWEST_PAIRS);
        let without = if parts > 1 { parts } else { 0 };
        let alone = if parts > 2 { parts * BLOCKS_ALONE.min(pairs) } else { 0 };
        pairs.saturating_mul(2 + without).saturating_add(alone)
    }

    /// The next trial; `None` where all are made.
    pub(super) fn next(&self) -> Option<Trial> {
        let (block, cell) = self.place()?;
        let parts = || self.parts.iter().copied().enumerate();
        let changes: Changes = match self.cells.get(cell)? {
            Cell::Base => Changes::new(),
            Cell::All => parts().map(|(_, part)| part).collect(),
            Cell::Without(gone) => parts().filter(|(at, _)| at != gone).map(|(_, part)| part).collect(),
            Cell::Alone(only) => parts().filter(|(at, _)| at == only).map(|(_, part)| part).collect(),
        };
        let why = format!("{}, block {} of {}", Phase::Confirm.name(), block + 1, self.pairs);
        Some(Trial { changes, phase: Phase::Confirm, why })
    }

    /// Takes the figure of the last trial, in logarithms, or the reason why it was given up.
    pub(super) fn learn(&mut self, figure: Result<f64, Without>) {
        let Some((block, _)) = self.place() else { return };
        if let Err(without) = &figure {
            self.without = Some(without.why().to_owned());
        }
        if self.blocks.len() <= block {
            self.blocks.push(Vec::new());
        }
        if let Some(figures) = self.blocks.get_mut(block) {
            // In the order in which they are made, which is that of `order`.
            figures.push(figure.ok());
        }
    }

    /// What it has shown so far.
    pub(super) fn shown(&self) -> Confirmed {
        let whole = self.difference(Cell::All, Cell::Base, LEVEL);
        let count = self.parts.len();
        let is_one = count == 1;
        let adds = (0..count).map(|part| match is_one {
            true => whole,
            false => self.difference(Cell::All, Cell::Without(part), LEVEL),
        });
        let adds: Vec<Option<Shift>> = adds.collect();
        // All parts together are wrongly found to matter in one night of twenty at most.
        let strict = 1.0 - (1.0 - LEVEL) / count.max(1) as f64;
        let matters = |part: usize| match is_one {
            true => true,
            false => {
                let adds = self.difference(Cell::All, Cell::Without(part), strict);
                adds.is_some_and(|adds| is_above(adds) && adds.estimate >= self.least)
            }
        };
        let alone = |part: usize| match count {
            0 | 1 => whole,
            2 => self.difference(Cell::Without(1 - part), Cell::Base, LEVEL),
            _ => self.difference(Cell::Alone(part), Cell::Base, LEVEL),
        };
        let (matter, alone) = ((0..count).map(matters).collect(), (0..count).map(alone).collect());
        Confirmed { whole, adds, alone, matter }
    }

    /// Why a gain of all parts together, which was seen before, may be there although it was not confirmed: pairs are
    /// missing, and those that are there do not exclude it. `None` where they do.
    pub(super) fn not_confirmed(&self) -> Option<String> {
        let differences = self.differences(Cell::All, Cell::Base);
        let whole = signed_rank::of_pairs(&differences, LEVEL);
        let is_excluded =
            whole.and_then(|whole| whole.interval).is_some_and(|interval| interval.to < self.least);
        let why =
            self.without.as_ref().filter(|_| !is_excluded && differences.len() < self.pairs as usize)?;
        Some(format!("of {} pairs of trials {} count: {why}", self.pairs, differences.len()))
    }

    /// The difference between two cells over the blocks that have both.
    fn difference(&self, cell: Cell, from: Cell, level: f64) -> Option<Shift> {
        signed_rank::of_pairs(&self.differences(cell, from), level)
    }

    fn differences(&self, cell: Cell, from: Cell) -> Vec<f64> {
        let of = |block: usize, cell: Cell| {
            let at = self.order(block).into_iter().position(|of| self.cells.get(of) == Some(&cell))?;
            *self.blocks.get(block)?.get(at)?
        };
        (0..self.blocks.len()).filter_map(|block| Some(of(block, cell)? - of(block, from)?)).collect()
    }

    /// The block and the cell of the next trial.
    fn place(&self) -> Option<(usize, usize)> {
        let last = self.blocks.len().saturating_sub(1);
        let in_last = self.blocks.get(last).map_or(0, Vec::len);
        let (block, made) = match in_last < self.order(last).len() {
            true => (last, in_last),
            false => (last + 1, 0),
        };
        (block < self.pairs as usize).then(|| self.order(block).get(made).map(|cell| (block, *cell)))?
    }

    /// The cells of a block, by number, in the order in which they are tried.
    fn order(&self, block: usize) -> Vec<usize> {
        let is_in = |cell: &Cell| !matches!(cell, Cell::Alone(_)) || block < BLOCKS_ALONE as usize;
        let cells = self.cells.iter().enumerate().filter(|(_, cell)| is_in(cell));
        let mut order: Vec<usize> = cells.map(|(at, _)| at).collect();
        let mut random = Xoshiro256PlusPlus::seed_from_u64(self.seed.wrapping_add(block as u64));
        // Fisher and Yates.
        for last in (1..order.len()).rev() {
            order.swap(last, random.random_range(0..=last));
        }
        order
    }
}

/// Whether a difference is certainly above 0.
pub(super) fn is_above(shift: Shift) -> bool {
    shift.interval.is_some_and(|interval| interval.from > 0.0)
}

/// Of every interval that is reported.
const LEVEL: f64 = 0.95;

/// Blocks with each part alone: the fewest with an interval. They show how the parts act on each other.
const BLOCKS_ALONE: u32 = 6;

/// Keeps the orders of one confirmation away from those of the next.
const ODD: u64 = 0x9e37_79b9_7f4a_7c15;

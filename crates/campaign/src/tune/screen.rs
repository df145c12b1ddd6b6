//! Screening: many parameters in few trials, by a design in which each is changed in half of them.

use super::design::{effects, plackett_burman, spread_of_none};
use super::night::{Changes, Night, Phase, Trial, Without};
use crate::statistics::median;

/// A screening of some parameters, on top of what is changed already.
#[derive(Clone, Debug)]
pub(super) struct Screen {
    base: Changes,
    /// The parameters, by number.
    parameters: Vec<usize>,
    design: Vec<Vec<bool>>,
    /// Those of them that cannot be set: their columns of the design stay empty.
    left_out: Vec<usize>,
    /// By trial of the design: what each of its passes gave, in logarithms, or why that is nothing.
    figures: Vec<Vec<Result<f64, Without>>>,
    /// Passes over the design that are to be made.
    passes: usize,
}

/// What a screening has shown of a parameter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Screened {
    pub(super) parameter: usize,
    /// Its effect in logarithms.
    pub(super) effect: f64,
    /// The spread of an effect that is none.
    pub(super) spread: f64,
}

impl Screen {
    pub(super) fn new(base: Changes, parameters: Vec<usize>) -> Screen {
        let design = plackett_burman(parameters.len());
        let figures = vec![Vec::new(); design.len()];
        Screen { base, parameters, design, left_out: Vec::new(), figures, passes: 1 }
    }

    /// Asks for another pass over the design, so that each trial is the median of more; false where there were enough.
    pub(super) fn repeat(&mut self, base: &Changes) -> bool {
        let may = self.base == *base && self.passes < MOST_PASSES && self.has_some();
        self.passes += usize::from(may);
        may
    }

    /// Leaves a parameter out that cannot be set; the others keep their places in the design.
    pub(super) fn leave_out(&mut self, parameter: usize) {
        self.left_out.push(parameter);
    }

    /// Whether a parameter is left that can be set.
    fn has_some(&self) -> bool {
        self.left_out.len() < self.parameters.len()
    }

    /// How many trials a pass has.
    pub(super) fn trials(&self) -> usize {
        self.design.len()
    }

    /// The next trial; `None` where all are made, or where it is known that the server does not run with some
    /// parameter.
    pub(super) fn next(&self, night: &Night) -> Option<Trial> {
        let row = self.place().filter(|_| self.failing().is_empty() && self.has_some())?;
        let changed =
            self.parameters.iter().zip(self.design.get(row)?).filter(|(_, is_changed)| **is_changed);
        let mut changes = self.base.clone();
        // A value of its own: the first step beyond what is set already.
        let changed = changed.filter(|(parameter, _)| !self.left_out.contains(parameter));
        changes.extend(changed.filter_map(|(parameter, _)| {
            let value = self.base.get(parameter).map_or(0, |value| value + 1);
            night.parameters.get(*parameter)?.has(value).then_some((*parameter, value))
        }));
        let made: usize = self.figures.iter().map(Vec::len).sum();
        let all = self.design.len() * self.passes;
        let why = format!(
            "{} of {} parameters, {} of {all}",
            Phase::Screen.name(),
            self.parameters.len(),
            made + 1
        );
        Some(Trial { changes, phase: Phase::Screen, why })
    }

    /// The figure of the last trial, in logarithms, or why there is none.
    pub(super) fn learn(&mut self, figure: Result<f64, Without>) {
        if let Some(row) = self.place() {
            self.figures.iter_mut().skip(row).take(1).for_each(|of| of.push(figure.clone()));
        }
    }

    /// The parameters with which the server never ran, with what it said.
    pub(super) fn failing(&self) -> Vec<(usize, String)> {
        let of = |(at, parameter): (usize, &usize)| {
            let with = self.design.iter().zip(&self.figures).filter(|(row, _)| row.get(at) == Some(&true));
            let tried: Vec<&Result<f64, Without>> = with.flat_map(|(_, figures)| figures).collect();
            // In a trial that is in doubt the server has run.
            let has_run = tried.iter().any(|figure| !matches!(figure, Err(Without::Failed(_))));
            let why = tried.iter().find_map(|figure| figure.as_ref().err())?.why();
            (!has_run && tried.len() >= FEWEST_FAILED.min(self.design.len() / 2))
                .then(|| (*parameter, why.to_owned()))
        };
        let is_in = |(_, parameter): &(usize, &usize)| !self.left_out.contains(parameter);
        self.parameters.iter().enumerate().filter(is_in).filter_map(of).collect()
    }

    /// What it has shown, the greatest effect first.
    pub(super) fn shown(&self) -> Vec<Screened> {
        let of_row = |figures: &Vec<Result<f64, Without>>| {
            let mut known: Vec<f64> =
                figures.iter().filter_map(|figure| figure.as_ref().ok().copied()).collect();
            (!known.is_empty()).then(|| median(&mut known))
        };
        let figures: Vec<Option<f64>> = self.figures.iter().map(of_row).collect();
        let effects = effects(&self.design, &figures);
        let spread = spread_of_none(&effects);
        let of =
            |(parameter, effect): (&usize, &f64)| Screened { parameter: *parameter, effect: *effect, spread };
        let is_in = |(parameter, _): &(&usize, &f64)| !self.left_out.contains(parameter);
        let mut shown: Vec<Screened> = self.parameters.iter().zip(&effects).filter(is_in).map(of).collect();
        shown.sort_by(|a, b| b.effect.total_cmp(&a.effect));
        shown
    }

    /// The row of the design that is tried next.
    fn place(&self) -> Option<usize> {
        (0..self.passes).find_map(|pass| self.figures.iter().position(|of| of.len() <= pass))
    }
}

/// Of three passes one may be disturbed in each trial.
const MOST_PASSES: usize = 3;

/// So many trials with a parameter fail by chance hardly ever where another one is to blame: that is changed in half of
/// them.
const FEWEST_FAILED: usize = 5;

//! Screening: many parameters in few trials, by a design in which each is changed in half of them.

use super::design::{effects, plackett_burman, spread_of_none};
use super::night::{Changes, Night, Phase, Trial};
use crate::statistics::median;

/// A screening of some parameters, on top of what is changed already.
#[derive(Clone, Debug)]
pub(super) struct Screen {
    base: Changes,
    /// The parameters, by number.
    parameters: Vec<usize>,
    design: Vec<Vec<bool>>,
    /// By trial of the design: what each of its passes gave, in logarithms, or why the server does not run.
    figures: Vec<Vec<Result<f64, String>>>,
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
        Screen { base, parameters, design, figures, passes: 1 }
    }

    /// Asks for another pass over the design, so that each trial is the median of more; false where there were enough.
    pub(super) fn repeat(&mut self, base: &Changes) -> bool {
        let may = self.base == *base && self.passes < MOST_PASSES;
        self.passes += usize::from(may);
        may
    }

    /// How many trials a pass has.
    pub(super) fn trials(&self) -> usize {
        self.design.len()
    }

    /// The next trial; `None` where all are made, or where it is known that the server does not run with some
    /// parameter.
    pub(super) fn next(&self, night: &Night) -> Option<Trial> {
        let row = self.place().filter(|_| self.failing().is_empty())?;
        let changed =
            self.parameters.iter().zip(self.design.get(row)?).filter(|(_, is_changed)| **is_changed);
        let mut changes = self.base.clone();
        // A value of its own: the first step beyond what is set already.
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

    /// The figure of the last trial, in logarithms, or why the server does not run with all of its changes.
    pub(super) fn learn(&mut self, figure: Result<f64, String>) {
        if let Some(row) = self.place() {
            self.figures.iter_mut().skip(row).take(1).for_each(|of| of.push(figure.clone()));
        }
    }

    /// The parameters with which the server never ran, with what it said.
    pub(super) fn failing(&self) -> Vec<(usize, String)> {
        let of = |(at, parameter): (usize, &usize)| {
            let with = self.design.iter().zip(&self.figures).filter(|(row, _)| row.get(at) == Some(&true));
            let tried: Vec<&Result<f64, String>> = with.flat_map(|(_, figures)| figures).collect();
            let has_run = tried.iter().any(|figure| figure.is_ok());
            let why = tried.iter().find_map(|figure| figure.as_ref().err())?;
            (!has_run && tried.len() >= FEWEST_FAILED.min(self.design.len() / 2))
                .then(|| (*parameter, why.clone()))
        };
        self.parameters.iter().enumerate().filter_map(of).collect()
    }

    /// What it has shown, the greatest effect first.
    pub(super) fn shown(&self) -> Vec<Screened> {
        let of_row = |figures: &Vec<Result<f64, String>>| {
            let mut known: Vec<f64> =
                figures.iter().filter_map(|figure| figure.as_ref().ok().copied()).collect();
            (!known.is_empty()).then(|| median(&mut known))
        };
        let figures: Vec<Option<f64>> = self.figures.iter().map(of_row).collect();
        let effects = effects(&self.design, &figures);
        let spread = spread_of_none(&effects);
        let of =
            |(parameter, effect): (&usize, &f64)| Screened { parameter: *parameter, effect: *effect, spread };
        let mut shown: Vec<Screened> = self.parameters.iter().zip(&effects).map(of).collect();
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

//! What the trials of the confirmation show beside gains: memory, and whether the load was answered whole.

use super::night::{Changes, Figures};

/// The memory of these trials, without and with all changes.
#[derive(Clone, Debug, Default)]
pub(super) struct Memory {
    base: Vec<f64>,
    all: Vec<f64>,
    /// Trials with all changes in which the server has answered all of the load.
    saturated: u32,
}

impl Memory {
    pub(super) fn see(&mut self, figures: &Figures, changes: &Changes, all: &Changes) {
        let of = match () {
            () if changes.is_empty() => &mut self.base,
            () if changes == all => {
                self.saturated += u32::from(figures.is_saturated);
                &mut self.all
            }
            () => return,
        };
        of.extend(figures.memory_bytes.map(|bytes| bytes as f64));
    }

    /// Whether it has in most of them, so that the gain may be greater than such a load shows.
    pub(super) fn is_saturated(&self) -> bool {
        self.saturated as usize * 2 > self.all.len().max(1)
    }

    pub(super) fn difference(&self) -> Option<i64> {
        let middle = |of: &[f64]| (!of.is_empty()).then(|| crate::statistics::median(&mut of.to_vec()));
        Some((middle(&self.all)? - middle(&self.base)?) as i64)
    }
}

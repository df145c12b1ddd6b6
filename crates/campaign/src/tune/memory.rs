//! What the trials of the confirmation show beside gains: memory, and whether the load was answered whole.

use super::night::{Changes, Figures};

/// The memory of these trials, without and with all changes.
#[derive(Clone, Debug, Default)]
pub(super) struct Memory {
    base: Vec<f64>,
    all: Vec<f64>,
    /// Trials with all changes, and those of them in which the server has answered all of the load.
    made: u32,
    saturated: u32,
}

impl Memory {
    pub(super) fn see(&mut self, figures: &Figures, changes: &Changes, all: &Changes) {
        let of = match () {
            () if changes.is_empty() => &mut self.base,
            () if changes == all => {
                self.made += 1;
                self.saturated += u32::from(figures.is_saturated);
                &mut self.all
            }
            () => return,
        };
        of.extend(figures.memory_bytes.map(|bytes| bytes as f64));
    }

    /// Whether it has in most of them, so that the gain may be greater than such a load shows.
    pub(super) fn is_saturated(&self) -> bool {
        self.saturated * 2 > self.made
    }

    pub(super) fn difference(&self) -> Option<i64> {
        let middle = |of: &[f64]| (!of.is_empty()).then(|| crate::statistics::median(&mut of.to_vec()));
        Some((middle(&self.all)? - middle(&self.base)?) as i64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_saturated_trial_of_ten_is_not_most_of_them_where_no_memory_was_read() {
        let all: Changes = [(0, 0)].into();
        let mut memory = Memory::default();
        for trial in 0..10 {
            let figures = Figures {
                gain: 1.0,
                moved: Vec::new(),
                accounts_for: Vec::new(),
                is_saturated: trial == 0,
                memory_bytes: None,
            };
            memory.see(&figures, &all, &all);
            assert_eq!(memory.is_saturated(), trial == 0, "{trial}");
        }
        assert_eq!(memory.difference(), None);
    }
}

//! Turns and ratios: the programs run A B A B, and each round gives one ratio.
//!
//! The speed of a machine changes (other guests, heat, the host's scheduler). Two runs in a row see about the same
//! conditions, so the ratio within a round is stable where absolute figures are not, and the median ignores outliers.

use std::fmt;

/// The median of a few values, with the smallest and the largest.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Spread {
    pub(crate) median: f64,
    pub(crate) min: f64,
    pub(crate) max: f64,
}

impl Spread {
    /// Of one value or more; `None` of none.
    pub(crate) fn of(values: &[f64]) -> Option<Self> {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let (min, max) = (*sorted.first()?, *sorted.last()?);
        let middle = sorted.len() / 2;
        let median =
            if sorted.len() % 2 == 1 { sorted[middle] } else { (sorted[middle - 1] + sorted[middle]) / 2.0 };
        Some(Self { median, min, max })
    }

    /// `median (min..max)` with `decimals` digits behind the point.
    pub(crate) fn show(&self, decimals: usize) -> String {
        let Self { median, min, max } = self;
        format!("{median:.decimals$} ({min:.decimals$}..{max:.decimals$})")
    }
}

impl fmt::Display for Spread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.show(2))
    }
}

/// Runs every program once a round, in order. Returns the results by program, then by round.
pub(crate) fn in_turn<P, T, E>(
    rounds: usize,
    programs: &[P],
    mut run: impl FnMut(usize, &P) -> Result<T, E>,
) -> Result<Vec<Vec<T>>, E> {
    let mut outcomes: Vec<Vec<T>> = programs.iter().map(|_| Vec::with_capacity(rounds)).collect();
    for round in 0..rounds {
        for (program, outcomes) in programs.iter().zip(&mut outcomes) {
            outcomes.push(run(round, program)?);
        }
    }
    Ok(outcomes)
}

/// The spread of ours / theirs, round by round.
pub(crate) fn ratio(ours: &[f64], theirs: &[f64]) -> Option<Spread> {
    let ratios: Vec<f64> = ours.iter().zip(theirs).map(|(ours, theirs)| ours / theirs).collect();
    Spread::of(&ratios)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_programs_take_turns() {
        let mut order = Vec::new();
        let outcomes = in_turn(3, &["A", "B"], |round, program| {
            order.push(*program);
            Ok::<_, ()>(format!("{program}{round}"))
        });
        assert_eq!(order, ["A", "B", "A", "B", "A", "B"]);
        assert_eq!(outcomes.unwrap(), [["A0", "A1", "A2"], ["B0", "B1", "B2"]]);
    }

    #[test]
    fn the_first_failure_ends_the_turns() {
        let mut turns = 0;
        let outcome = in_turn(3, &["A", "B"], |round, program| {
            turns += 1;
            if (round, *program) == (1, "A") { Err("broken") } else { Ok(()) }
        });
        assert_eq!((outcome, turns), (Err("broken"), 3));
    }

    #[test]
    fn the_median_of_an_even_number_lies_between_the_two_in_the_middle() {
        assert_eq!(Spread::of(&[4.0, 1.0, 3.0, 2.0]), Some(Spread { median: 2.5, min: 1.0, max: 4.0 }));
        assert_eq!(Spread::of(&[9.0, 1.0, 3.0]), Some(Spread { median: 3.0, min: 1.0, max: 9.0 }));
        assert_eq!(Spread::of(&[]), None);
    }

    #[test]
    fn the_ratio_is_taken_within_a_round_not_between_medians() {
        // The machine was three times faster in the second round, for both programs.
        let (ours, theirs) = ([20.0, 60.0, 22.0], [10.0, 30.0, 10.0]);
        assert_eq!(ratio(&ours, &theirs), Some(Spread { median: 2.0, min: 2.0, max: 2.2 }));
    }
}

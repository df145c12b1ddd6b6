//! Figures of a turn: each has a name for `raw.csv` and a way to get it; here are the things done with all of them.

use crate::pairs::{Spread, ratio};
use crate::report::Sample;

/// A figure of a turn of type `T`: its name in `raw.csv`, with its unit, and how to get it.
pub(crate) type Figure<T> = (&'static str, fn(&T) -> f64);

/// The figure of each turn, in their order.
pub(crate) fn values<T>(turns: &[T], figure: Figure<T>) -> Vec<f64> {
    turns.iter().map(figure.1).collect()
}

/// The spread of a figure over the turns; `None` without turns.
pub(crate) fn spread<T>(turns: &[T], figure: Figure<T>) -> Option<Spread> {
    Spread::of(&values(turns, figure))
}

/// The spread as text, `median (min..max)`; nothing without turns.
pub(crate) fn shown<T>(turns: &[T], figure: Figure<T>, decimals: usize) -> String {
    spread(turns, figure).map_or(String::new(), |spread| spread.show(decimals))
}

/// The spread of ours / theirs, round by round.
pub(crate) fn against<T>(ours: &[T], theirs: &[T], figure: Figure<T>) -> Option<Spread> {
    ratio(&values(ours, figure), &values(theirs, figure))
}

/// Every figure of every turn, for `raw.csv`.
pub(crate) fn samples<T, L: AsRef<str>>(
    labels: &[L],
    turns: &[Vec<T>],
    figures: &[Figure<T>],
) -> Vec<Sample> {
    let mut samples = Vec::new();
    for (label, turns) in labels.iter().zip(turns) {
        // The label's comma would be a column.
        let program = label.as_ref().replace(", ", " with ");
        for (n, turn) in turns.iter().enumerate() {
            samples.extend(figures.iter().map(|(figure, get)| Sample {
                program: program.clone(),
                round: n + 1,
                figure,
                value: get(turn),
            }));
        }
    }
    samples
}

/// The lines, each once.
pub(crate) fn once(lines: impl IntoIterator<Item = String>) -> Vec<String> {
    let mut kept: Vec<String> = Vec::new();
    for line in lines {
        if !kept.contains(&line) {
            kept.push(line);
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    const DOUBLE: Figure<u32> = ("double", |n| f64::from(2 * n));

    #[test]
    fn a_figure_is_taken_from_each_turn_and_compared_round_by_round() {
        assert_eq!(shown(&[1, 3, 2], DOUBLE, 1), "4.0 (2.0..6.0)");
        assert_eq!(shown(&[], DOUBLE, 1), "");
        assert_eq!(against(&[1, 4], &[1, 2], DOUBLE).map(|ratio| ratio.median), Some(1.5));
    }

    #[test]
    fn a_comma_in_a_label_is_no_column_of_the_raw_file() {
        let samples = samples(&["us, twice"], &[vec![5]], &[DOUBLE]);
        assert_eq!((samples[0].program.as_str(), samples[0].value), ("us with twice", 10.0));
    }

    #[test]
    fn the_same_line_is_kept_once() {
        assert_eq!(once(["a", "b", "a"].map(str::to_owned)), ["a", "b"]);
    }
}

//! What all charts that are drawn here have in common: their size and their frame, the shapes of points, and axes of
//! rates and shares.

use dnsdyno_text::svg::{Axis, Place, polygon, round_step};
use dnsdyno_text::units::rate;

/// A point: a circle, a square, a triangle or a rhombus, and so on.
pub(crate) fn shape(number: usize, (x, y): Place) -> String {
    match number % SHAPES {
        0 => format!("<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"4.5\"/>"),
        1 => format!("<rect x=\"{:.1}\" y=\"{:.1}\" width=\"8.4\" height=\"8.4\"/>", x - 4.2, y - 4.2),
        2 => polygon([(x, y - 5.5), (x + 5.2, y + 4.0), (x - 5.2, y + 4.0)]),
        _ => polygon([(x, y - 5.8), (x + 5.8, y), (x, y + 5.8), (x - 5.8, y)]),
    }
}

/// Over a figure that is at least so high.
pub(crate) fn arrow((x, y): Place) -> String {
    polygon([(x, y - 14.0), (x + 4.0, y - 8.0), (x - 4.0, y - 8.0)])
}

/// `5k`, `1.5M`, `250`.
pub(crate) fn short(value: f64) -> String {
    let with = |value: f64, unit: &str| format!("{}{unit}", (value * 100.0).round() / 100.0);
    match value {
        value if value >= 1e6 => with(value / 1e6, "M"),
        value if value >= 1e3 => with(value / 1e3, "k"),
        value if value >= 1.0 || value == 0.0 => with(value, ""),
        value => rate(value),
    }
}

/// A power of ten in ms.
pub(crate) fn decade(power: i32) -> String {
    match power {
        ..-3 => format!("{} ns", 10_f64.powi(power + 6).round()),
        -3..0 => format!("{} µs", 10_f64.powi(power + 3).round()),
        0..3 => format!("{} ms", 10_f64.powi(power).round()),
        _ => format!("{} s", 10_f64.powi(power - 3).round()),
    }
}

/// Figures by their ratios, with ticks at round ones; `least` is above 0.
pub(crate) fn ratios(least: f64, most: f64) -> Axis {
    let (from, to) = (least / ROOM, most * ROOM);
    let powers = from.log10().floor() as i32..=to.log10().ceil() as i32;
    let of_power = |factors: &'static [f64]| {
        let powers = powers.clone();
        let values =
            powers.flat_map(move |power| factors.iter().map(move |factor| factor * 10_f64.powi(power)));
        values
            .filter(|value| (from..=to).contains(value))
            .map(|value| (value, short(value)))
            .collect::<Vec<_>>()
    };
    let ticks = [&[1.0, 2.0, 5.0][..], &[1.0, 3.0], &[1.0]].map(of_power);
    let ticks = ticks.into_iter().find(|ticks| ticks.len() <= MOST_TICKS).unwrap_or_default();
    Axis { from, to, is_logarithmic: true, ticks }
}

/// Shares from a round one that is below all of them, to 1.
pub(crate) fn shares(values: impl Iterator<Item = f64>) -> Axis {
    let lost = 1.0 - values.fold(1.0, f64::min).clamp(0.0, 1.0);
    // Some more than is needed, so that no point stands on the axis.
    let step = round_step((lost * 1.1).max(LEAST_LOST), 4);
    let parts = (lost * 1.1 / step).ceil().clamp(1.0, 4.0);
    let from = (1.0 - step * parts).max(0.0);
    // As many as tell a step of 0.025 % from one of 0.03 %.
    let is_exact = |digits: &i32| {
        let steps = step * 100.0 * 10_f64.powi(*digits);
        (steps - steps.round()).abs() < 1e-6
    };
    let digits = (0..=MOST_DIGITS).find(is_exact).unwrap_or(MOST_DIGITS) as usize;
    let ticks = (0..=4).map(|nth| 1.0 - step * f64::from(nth)).filter(|share| *share >= from - 1e-9);
    let ticks = ticks.map(|share| (share, format!("{:.digits$} %", share * 100.0))).collect();
    Axis { from, to: 1.0, is_logarithmic: false, ticks }
}

/// Of a percentage.
const MOST_DIGITS: i32 = 6;

/// Beyond the lowest and the highest figure.
pub(crate) const ROOM: f64 = 1.12;
const MOST_TICKS: usize = 9;

/// The share of lost queries that fills the chart at least.
const LEAST_LOST: f64 = 0.001;

const SHAPES: usize = 4;

/// The size of a chart.
pub(crate) const WIDTH: f64 = 460.0;
pub(crate) const HEIGHT: f64 = 290.0;

/// The frame in it; left of it is room for `100.000 %`.
pub(crate) const LEFT: f64 = 76.0;
pub(crate) const RIGHT: f64 = 448.0;
pub(crate) const TOP: f64 = 16.0;
pub(crate) const BOTTOM: f64 = 240.0;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_have_round_ticks_and_shares_begin_at_a_round_one_below_all() {
        let axis = ratios(42.0, 161_142.0);
        let labels: Vec<&str> = axis.ticks.iter().map(|(_, label)| label.as_str()).collect();
        assert_eq!(labels, ["100", "300", "1k", "3k", "10k", "30k", "100k"]);
        assert!(axis.is_logarithmic && axis.from < 42.0 && axis.to > 161_142.0);
        let from = |values: &[f64]| shares(values.iter().copied()).from;
        assert!((from(&[0.9991, 1.0]) - 0.999).abs() < 1e-9, "{}", from(&[0.9991, 1.0]));
        assert!((from(&[0.52]) - 0.4).abs() < 1e-9 && from(&[0.0]) == 0.0, "{}", from(&[0.52]));
        assert_eq!(shares([1.0].into_iter()).ticks[0].1, "100.000 %");
    }

    #[test]
    fn ticks_are_round_figures() {
        assert_eq!([0.0, 250.0, 5_000.0, 1_500_000.0].map(short), ["0", "250", "5k", "1.5M"]);
        assert_eq!([-4, -3, -1, 0, 2, 3].map(decade), ["100 ns", "1 µs", "100 µs", "1 ms", "100 ms", "1 s"]);
    }
}

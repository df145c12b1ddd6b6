//! What all charts that are drawn here have in common: their size and their frame, the shapes of points, and the labels
//! of axes.

use dnsdyno_text::svg::{Place, polygon};
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

const SHAPES: usize = 4;

/// The size of a chart.
pub(crate) const WIDTH: f64 = 460.0;
pub(crate) const HEIGHT: f64 = 290.0;

/// The frame in it.
pub(crate) const LEFT: f64 = 58.0;
pub(crate) const RIGHT: f64 = 448.0;
pub(crate) const TOP: f64 = 16.0;
pub(crate) const BOTTOM: f64 = 240.0;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_figures() {
        assert_eq!([0.0, 250.0, 5_000.0, 1_500_000.0].map(short), ["0", "250", "5k", "1.5M"]);
        assert_eq!([-4, -3, -1, 0, 2, 3].map(decade), ["100 ns", "1 µs", "100 µs", "1 ms", "100 ms", "1 s"]);
    }
}

//! Charts as SVG: axes with round steps, a frame that has a place for each pair of values, and what is drawn there.
//! The look of a shape is the attributes that its caller gives, `stroke="#ddd"` or the class of a style sheet.

use crate::escaped;

/// Values along a side of a frame.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    /// The value at its beginning.
    pub from: f64,
    /// The value at its end.
    pub to: f64,
    /// Whether equal distances are equal ratios.
    pub is_logarithmic: bool,
    /// Values with their labels.
    pub ticks: Vec<(f64, String)>,
}

impl Axis {
    /// From 0 to `to`, with ticks at multiples of `step`; one that is just beyond the end is still there.
    pub fn linear(to: f64, step: f64, label: impl Fn(f64) -> String) -> Axis {
        // Each caller has a handful; bounded, because a figure of a file may be infinite.
        let values = (0..20).map(|nth| f64::from(nth) * step).filter(|value| *value <= to * LONGEST);
        let ticks = values.map(|value| (value, label(value))).collect();
        Axis { from: 0.0, to, is_logarithmic: false, ticks }
    }

    /// From 0 to 1, as percentages.
    pub fn share() -> Axis {
        Axis::linear(1.0, 0.25, |share| format!("{:.0} %", share * 100.0))
    }

    /// The powers of ten around values from `least` to `most`, which are above 0; `label` is given the power.
    pub fn logarithmic(least: f64, most: f64, label: impl Fn(i32) -> String) -> Axis {
        let from = least.log10().floor() as i32;
        let to = (most.log10().ceil() as i32).max(from + 1);
        let ticks = (from..=to).map(|power| (10_f64.powi(power), label(power))).collect();
        Axis { from: 10_f64.powi(from), to: 10_f64.powi(to), is_logarithmic: true, ticks }
    }

    /// Where a value is: 0 at the beginning, 1 at the end.
    fn part(&self, value: f64) -> f64 {
        let of = |value: f64| if self.is_logarithmic { value.max(self.from).log10() } else { value };
        let (from, to) = (of(self.from), of(self.to));
        let part = if to > from { (of(value) - from) / (to - from) } else { 0.0 };
        part.clamp(0.0, LONGEST)
    }
}

/// A round step, 1, 2, 2.5 or 5 times a power of ten, so that at most `parts` of them reach `most`.
pub fn round_step(most: f64, parts: u32) -> f64 {
    let most = if most > 0.0 && most.is_finite() { most } else { 1.0 };
    let least = most / f64::from(parts);
    let power = 10_f64.powf(least.log10().floor());
    // What is round already may be a little above itself.
    let is_enough = |step: &f64| *step >= least * 0.999_999;
    [1.0, 2.0, 2.5, 5.0, 10.0].map(|factor| factor * power).into_iter().find(is_enough).unwrap_or(least)
}

/// A place in a chart, in pixels from its upper left corner.
pub type Place = (f64, f64);

/// The part of a chart that has the curves, with its axes.
#[derive(Clone, Debug, PartialEq)]
pub struct Frame {
    left: f64,
    right: f64,
    top: f64,
    bottom: f64,
    across: Axis,
    up: Axis,
}

impl Frame {
    /// From its upper left corner to its lower right one, with its horizontal and its vertical axis.
    pub fn new((left, top): Place, (right, bottom): Place, across: Axis, up: Axis) -> Frame {
        Frame { left, right, top, bottom, across, up }
    }

    /// Its left side, in pixels.
    pub fn left(&self) -> f64 {
        self.left
    }

    /// Its right side, in pixels.
    pub fn right(&self) -> f64 {
        self.right
    }

    /// The place of a pair of values.
    pub fn place(&self, across: f64, up: f64) -> Place {
        let x = self.left + self.across.part(across) * (self.right - self.left);
        (x, self.bottom - self.up.part(up) * (self.bottom - self.top))
    }

    /// A line across for each tick of the vertical axis, with its label.
    pub fn rows(&self, look: &str) -> String {
        let row = |(value, label): &(f64, String)| {
            let (x, y) = self.place(self.across.from, *value);
            line((x, y), (self.right, y), look) + &text((x - 8.0, y + 4.0), "text-anchor=\"end\"", label)
        };
        self.up.ticks.iter().map(row).collect()
    }

    /// A line up for each tick of the horizontal axis.
    pub fn columns(&self, look: &str) -> String {
        let places = self.across.ticks.iter().map(|(value, _)| self.place(*value, self.up.from));
        places.map(|(x, y)| line((x, y), (x, self.top), look)).collect()
    }

    /// The labels of the horizontal axis, below it; slanted where they are long.
    pub fn labels(&self, are_slanted: bool) -> String {
        let label = |(value, label): &(f64, String)| {
            let (x, bottom) = self.place(*value, self.up.from);
            match are_slanted {
                true => {
                    let y = bottom + 14.0;
                    let look = format!("text-anchor=\"end\" transform=\"rotate(-35 {x:.1} {y:.1})\"");
                    text((x, y), &look, label)
                }
                false => text((x, bottom + 18.0), CENTRED, label),
            }
        };
        self.across.ticks.iter().map(label).collect()
    }
}

/// A line from one place to another.
pub fn line((x1, y1): Place, (x2, y2): Place, look: &str) -> String {
    format!("<line x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\" {look}/>\n")
}

/// A line through places.
pub fn polyline(places: impl IntoIterator<Item = Place>, look: &str) -> String {
    format!("<polyline points=\"{}\" {look}/>\n", points(places))
}

/// A surface with these corners.
pub fn polygon(corners: impl IntoIterator<Item = Place>) -> String {
    format!("<polygon points=\"{}\"/>", points(corners))
}

/// A text, which is no markup.
pub fn text((x, y): Place, look: &str, text: &str) -> String {
    format!("<text x=\"{x:.1}\" y=\"{y:.1}\" {look}>{}</text>\n", escaped(text))
}

/// The look of a text in the middle of its place.
pub const CENTRED: &str = "text-anchor=\"middle\"";

fn points(places: impl IntoIterator<Item = Place>) -> String {
    let points: Vec<String> = places.into_iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
    points.join(" ")
}

/// How far beyond its end an axis still has ticks and values, in lengths of it.
const LONGEST: f64 = 1.05;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_axis_has_round_steps_that_reach_its_largest_value() {
        let steps =
            [0.0, 1.0, 9.0, 10.0, 12.0, 60.0, 1_750.0, 23_000.0, 0.000_04].map(|most| round_step(most, 5));
        let expected = [0.2, 0.2, 2.0, 2.0, 2.5, 20.0, 500.0, 5_000.0, 0.000_01];
        assert!(
            steps.iter().zip(expected).all(|(step, round)| (step / round - 1.0).abs() < 1e-9),
            "{steps:?}"
        );
    }

    #[test]
    fn a_value_has_its_place_on_each_kind_of_axis() {
        let values = |axis: &Axis| axis.ticks.iter().map(|(value, _)| *value).collect::<Vec<_>>();
        let across = Axis::linear(9.6, 2.0, |value| value.to_string());
        assert_eq!(values(&across), [0.0, 2.0, 4.0, 6.0, 8.0, 10.0]);
        let up = Axis::logarithmic(0.3, 70.0, |power| power.to_string());
        assert_eq!((values(&up).len(), up.from, up.to), (4, 0.1, 100.0));
        assert_eq!(Axis::share().ticks[1].1, "25 %");
        let frame = Frame::new((10.0, 20.0), (970.0, 50.0), across, up);
        assert_eq!((frame.place(4.8, 0.0), frame.place(99.0, 100.0)), ((490.0, 50.0), (1_018.0, 20.0)));
        let nothing = Axis::linear(0.0, 1.0, |_| "<0>".to_owned());
        let frame = Frame { across: nothing.clone(), up: nothing, ..frame };
        assert_eq!(frame.place(0.0, 0.0), (10.0, 50.0));
        assert!(
            frame.rows("").contains(">&lt;0&gt;</text>")
                && frame.labels(true).contains("rotate(-35 10.0 64.0)")
        );
    }
}

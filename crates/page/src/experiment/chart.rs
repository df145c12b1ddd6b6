//! A chart as SVG: a curve for each server, told apart by colour, by the shape of its points and by its dashes.
//!
//! ```text
//!   ┌ top ────────────────┐
//!   │        ●────●       │   a point is the median of the runs, the line through it goes from the lowest run to
//!   │   ■────■    │       │   the highest one; △ above it: at least that, because it is beyond the timeout
//!   └─────────────────────┘
//!     2k    4k    6k
//! ```

use dnsdyno_text::units::rate;

use super::document::escaped;

/// A chart.
pub(super) struct Chart {
    pub(super) title: String,
    pub(super) unit: String,
    pub(super) scale: Scale,
    pub(super) curves: Vec<Curve>,
    /// The names of the places 0, 1, 2 … of the horizontal axis; `None` = it has rates. Lines between such places are
    /// faint: they guide the eye, and there is nothing between two loads.
    pub(super) ticks: Option<Vec<String>>,
}

/// How far beside its place the point of a curve stands, so that the points of `curves` do not hide each other.
pub(super) fn beside(number: usize, curves: usize) -> f64 {
    let middle = (curves.max(1) - 1) as f64 / 2.0;
    (number as f64 - middle) / curves.max(1) as f64 * WIDTH_OF_PLACE
}

/// The vertical axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scale {
    /// From 0.
    Linear,
    /// From 0 to 1, as percentages.
    Share,
    /// Decades.
    Logarithmic,
}

/// A curve.
pub(super) struct Curve {
    /// Which, for its look.
    pub(super) number: usize,
    pub(super) points: Vec<Point>,
}

/// A point of a curve.
pub(super) struct Point {
    pub(super) x: f64,
    pub(super) y: f64,
    pub(super) low: f64,
    pub(super) high: f64,
    /// Whether it is at least that.
    pub(super) is_bound: bool,
    /// What a pointer over it says.
    pub(super) name: String,
}

impl Chart {
    /// The figure with its caption.
    pub(super) fn svg(&self) -> String {
        let (x_axis, y_axis) = (self.x_axis(), self.y_axis());
        let mut inside = String::new();
        for (value, label) in &y_axis.ticks {
            let y = y_axis.at(*value);
            inside.push_str(&format!(
                "<line class=\"grid-line\" x1=\"{LEFT}\" x2=\"{RIGHT}\" y1=\"{y:.1}\" y2=\"{y:.1}\"/>\
                 <text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>\n",
                LEFT - 8.0,
                y + 4.0,
                escaped(label)
            ));
        }
        let room = self.room_for_names();
        for (value, label) in &x_axis.ticks {
            let (x, y) = (x_axis.at(*value), BOTTOM + if room > 0.0 { 14.0 } else { 18.0 });
            let look = if room > 0.0 {
                format!("text-anchor=\"end\" transform=\"rotate(-35 {x:.1} {y})\"")
            } else {
                "text-anchor=\"middle\"".to_owned()
            };
            inside.push_str(&format!("<text x=\"{x:.1}\" y=\"{y}\" {look}>{}</text>\n", escaped(label)));
        }
        inside.push_str(&format!(
            "<line class=\"axis-line\" x1=\"{LEFT}\" x2=\"{RIGHT}\" y1=\"{BOTTOM}\" y2=\"{BOTTOM}\"/>\n"
        ));
        let faint = if self.ticks.is_some() { " faint" } else { "" };
        self.curves.iter().for_each(|curve| inside.push_str(&curve.svg(&x_axis, &y_axis, faint)));
        let under = if self.ticks.is_some() { "load" } else { "asked, queries/s" };
        let height = HEIGHT + room;
        let title = escaped(&self.title);
        format!(
            "<figure>\n<figcaption>{title}<span class=\"unit\">{}</span></figcaption>\n\
             <svg viewBox=\"0 0 {WIDTH} {height:.0}\" role=\"img\" aria-label=\"{title} of each server against the \
             load; the table of figures has the same\">\n{inside}<text x=\"{RIGHT}\" y=\"{}\" \
             text-anchor=\"end\">{under}</text>\n\
             </svg>\n</figure>\n",
            escaped(&self.unit),
            height - 4.0
        )
    }

    /// How much higher the chart is because the names of its places stand slanted: 0 if they fit side by side.
    fn room_for_names(&self) -> f64 {
        let Some(names) = &self.ticks else { return 0.0 };
        let longest =
            names.iter().map(|name| name.chars().count()).max().unwrap_or(0) as f64 * WIDTH_OF_LETTER;
        let fits = longest * names.len() as f64 <= RIGHT - LEFT;
        if fits { 0.0 } else { longest * 0.6 - 12.0 }
    }

    fn values(&self) -> impl Iterator<Item = f64> + '_ {
        let points = self.curves.iter().flat_map(|curve| &curve.points);
        points.flat_map(|point| [point.low, point.y, point.high])
    }

    fn x_axis(&self) -> Axis {
        let xs = || self.curves.iter().flat_map(|curve| &curve.points).map(|point| point.x);
        if let Some(names) = &self.ticks {
            let last = names.len() as f64 - 0.5;
            let ticks = names.iter().enumerate().map(|(at, name)| (at as f64, name.clone())).collect();
            return Axis { from: -0.5, to: last, first: LEFT, last: RIGHT, is_logarithmic: false, ticks };
        }
        let most = xs().fold(0.0, f64::max);
        let step = nice_step(most, 4);
        let ticks =
            (0..=4).map(|at| f64::from(at) * step).filter(|x| *x <= most * 1.02).map(|x| (x, short(x)));
        Axis {
            from: 0.0,
            to: most,
            first: LEFT,
            last: RIGHT - 24.0,
            is_logarithmic: false,
            ticks: ticks.collect(),
        }
    }

    fn y_axis(&self) -> Axis {
        let most = self.values().fold(0.0, f64::max);
        let axis = |from, to, is_logarithmic, ticks| Axis {
            from,
            to,
            first: BOTTOM,
            last: TOP,
            is_logarithmic,
            ticks,
        };
        match self.scale {
            Scale::Share => {
                let ticks =
                    [0.0, 0.25, 0.5, 0.75, 1.0].map(|share| (share, format!("{:.0} %", share * 100.0)));
                axis(0.0, 1.0, false, ticks.into())
            }
            Scale::Linear => {
                let step = nice_step(most, 5);
                let ticks: Vec<_> = (0..=6)
                    .map(|at| f64::from(at) * step)
                    .filter(|y| *y <= most * 1.05)
                    .map(|y| (y, short(y)))
                    .collect();
                axis(0.0, most.max(f64::MIN_POSITIVE), false, ticks)
            }
            Scale::Logarithmic => {
                let above_zero = self.values().filter(|value| *value > 0.0);
                let least = above_zero.fold(f64::INFINITY, f64::min).min(most.max(1e-3));
                let (from, to) = (least.log10().floor() as i32, most.max(1e-3).log10().ceil() as i32);
                let to = to.max(from + 1);
                let ticks = (from..=to).map(|power| (10_f64.powi(power), decade(power))).collect();
                axis(10_f64.powi(from), 10_f64.powi(to), true, ticks)
            }
        }
    }
}

impl Curve {
    fn svg(&self, x_axis: &Axis, y_axis: &Axis, faint: &str) -> String {
        let style = self.number % STYLES;
        let dashes = DASHES.get(self.number % DASHES.len()).copied().unwrap_or_default();
        let at = |point: &Point| (x_axis.at(point.x), y_axis.at(point.y));
        let line: Vec<String> = self
            .points
            .iter()
            .map(|point| {
                let (x, y) = at(point);
                format!("{x:.1},{y:.1}")
            })
            .collect();
        let mut out =
            format!("<polyline class=\"curve s{style}{faint}\"{dashes} points=\"{}\"/>\n", line.join(" "));
        for point in &self.points {
            let (x, y) = at(point);
            let (low, high) = (y_axis.at(point.low), y_axis.at(point.high));
            out.push_str(&format!(
                "<line class=\"range s{style}\" x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{low:.1}\" y2=\"{high:.1}\"/>\
                 <g class=\"point f{style}\"><title>{}</title>{}{}</g>\n",
                escaped(&point.name),
                shape(self.number, x, y),
                if point.is_bound { arrow(x, y) } else { String::new() },
            ));
        }
        out
    }
}

/// The names of the curves with their looks.
pub(super) fn legend(names: &[String]) -> String {
    let item = |(number, name): (usize, &String)| {
        let (style, dashes) =
            (number % STYLES, DASHES.get(number % DASHES.len()).copied().unwrap_or_default());
        format!(
            "<li><svg viewBox=\"0 0 34 12\" aria-hidden=\"true\"><line class=\"curve s{style}\"{dashes} \
            x1=\"0\" x2=\"34\" \
             y1=\"6\" y2=\"6\"/><g class=\"point f{style}\">{}</g></svg>{}</li>\n",
            shape(number, 17.0, 6.0),
            escaped(name)
        )
    };
    let items: String = names.iter().enumerate().map(item).collect();
    format!("<ul class=\"legend\">\n{items}</ul>\n")
}

/// An axis: from a figure to a place.
struct Axis {
    from: f64,
    to: f64,
    first: f64,
    last: f64,
    is_logarithmic: bool,
    ticks: Vec<(f64, String)>,
}

impl Axis {
    fn at(&self, value: f64) -> f64 {
        let of = |value: f64| if self.is_logarithmic { value.max(self.from).log10() } else { value };
        let (from, to) = (of(self.from), of(self.to));
        let part = if to > from { (of(value) - from) / (to - from) } else { 0.0 };
        self.first + part.clamp(0.0, 1.05) * (self.last - self.first)
    }
}

/// The point of a curve.
fn shape(number: usize, x: f64, y: f64) -> String {
    match number % SHAPES {
        0 => format!("<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"4.5\"/>"),
        1 => format!("<rect x=\"{:.1}\" y=\"{:.1}\" width=\"8.4\" height=\"8.4\"/>", x - 4.2, y - 4.2),
        2 => polygon(&[(x, y - 5.5), (x + 5.2, y + 4.0), (x - 5.2, y + 4.0)]),
        _ => polygon(&[(x, y - 5.8), (x + 5.8, y), (x, y + 5.8), (x - 5.8, y)]),
    }
}

/// Over a figure that is at least so high.
fn arrow(x: f64, y: f64) -> String {
    polygon(&[(x, y - 14.0), (x + 4.0, y - 8.0), (x - 4.0, y - 8.0)])
}

fn polygon(corners: &[(f64, f64)]) -> String {
    let corners: Vec<String> = corners.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
    format!("<polygon points=\"{}\"/>", corners.join(" "))
}

/// 1, 2 or 5 times a power of ten, at most `parts` times up to `most`.
fn nice_step(most: f64, parts: u32) -> f64 {
    if most <= 0.0 {
        return 1.0;
    }
    let rough = most / f64::from(parts);
    let power = 10_f64.powf(rough.log10().floor());
    let factor = [1.0, 2.0, 5.0, 10.0].into_iter().find(|factor| factor * power >= rough * 0.999);
    factor.unwrap_or(10.0) * power
}

/// `5k`, `1.5M`, `250`.
fn short(value: f64) -> String {
    let with = |value: f64, unit: &str| format!("{}{unit}", (value * 100.0).round() / 100.0);
    match value {
        value if value >= 1e6 => with(value / 1e6, "M"),
        value if value >= 1e3 => with(value / 1e3, "k"),
        value if value >= 1.0 || value == 0.0 => with(value, ""),
        value => rate(value),
    }
}

/// A power of ten in ms.
fn decade(power: i32) -> String {
    match power {
        ..-3 => format!("{} ns", 10_f64.powi(power + 6).round()),
        -3..0 => format!("{} µs", 10_f64.powi(power + 3).round()),
        0..3 => format!("{} ms", 10_f64.powi(power).round()),
        _ => format!("{} s", 10_f64.powi(power - 3).round()),
    }
}

const WIDTH: f64 = 460.0;
const HEIGHT: f64 = 290.0;
const LEFT: f64 = 58.0;
const RIGHT: f64 = 448.0;
const TOP: f64 = 16.0;
const BOTTOM: f64 = 240.0;
/// Of the letters of a label, on average.
const WIDTH_OF_LETTER: f64 = 6.6;
/// The part of a place in which the points of all curves stand.
const WIDTH_OF_PLACE: f64 = 0.7;

/// Colours, shapes and dashes: with them, 24 curves differ.
const STYLES: usize = 8;
const SHAPES: usize = 4;
const DASHES: [&str; 3] = ["", " stroke-dasharray=\"7 4\"", " stroke-dasharray=\"2 4\""];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_figures() {
        assert_eq!([9.0, 10.0, 23_000.0, 0.0].map(|most| nice_step(most, 5)), [2.0, 2.0, 5_000.0, 1.0]);
        assert_eq!([0.0, 250.0, 5_000.0, 1_500_000.0].map(short), ["0", "250", "5k", "1.5M"]);
        assert_eq!([-4, -3, -1, 0, 2, 3].map(decade), ["100 ns", "1 µs", "100 µs", "1 ms", "100 ms", "1 s"]);
    }

    #[test]
    fn a_chart_has_a_point_for_each_figure_and_no_markup_of_its_names() {
        let point =
            |x: f64, y: f64| Point { x, y, low: y, high: y * 1.1, is_bound: false, name: "<b>".to_owned() };
        let curve =
            |number: usize| Curve { number, points: vec![point(1000.0, 990.0), point(2000.0, 1500.0)] };
        let title = "answered & more".to_owned();
        let chart = Chart {
            title,
            unit: String::new(),
            scale: Scale::Linear,
            curves: vec![curve(0), curve(1)],
            ticks: None,
        };
        let svg = chart.svg();
        assert_eq!(svg.matches("&lt;b&gt;").count(), 4);
        assert!(!svg.contains("<b>") && svg.contains("answered &amp; more") && !svg.contains("NaN"), "{svg}");
    }

    #[test]
    fn points_stand_side_by_side_in_their_place_and_long_names_are_slanted() {
        let shifts: Vec<f64> = (0..4).map(|number| beside(number, 4)).collect();
        assert!(
            shifts.windows(2).all(|two| two[0] < two[1]) && shifts[0] > -0.5 && shifts[3] < 0.5,
            "{shifts:?}"
        );
        assert_eq!((beside(0, 1), shifts.iter().sum::<f64>()), (0.0, 0.0));

        let chart = |names: &[&str]| {
            let point = Point { x: 0.0, y: 1.0, low: 1.0, high: 1.0, is_bound: false, name: String::new() };
            let curves = vec![Curve { number: 0, points: vec![point] }];
            let ticks = Some(names.iter().map(|name| (*name).to_owned()).collect());
            Chart { title: String::new(), unit: String::new(), scale: Scale::Linear, curves, ticks }.svg()
        };
        assert!(!chart(&["still", "1-zone"]).contains("rotate"));
        assert!(
            chart(&["window-5000"; 7]).contains("rotate") && chart(&["window-5000"; 7]).contains("faint")
        );
    }
}

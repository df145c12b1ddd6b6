//! A chart as SVG: a curve for each server, told apart by colour, by the shape of its points and by its dashes; under
//! one load a point for each, beside each other.
//!
//! ```text
//!   ┌ top ────────────────┐
//!   │        ●────●       │   a point is the median of the runs, the line through it goes from the lowest run to
//!   │   ■────■    │       │   the highest one; △ above it: at least that, because it is beyond the timeout
//!   └─────────────────────┘
//!     2k    4k    6k
//! ```

use dnsdyno_text::escaped;
use dnsdyno_text::svg::{Axis, Frame, Place, line, polyline, round_step, text};

use crate::marks::{BOTTOM, HEIGHT, LEFT, RIGHT, TOP, WIDTH, arrow, decade, shape, short};

/// A chart.
pub(super) struct Chart {
    pub(super) title: String,
    pub(super) unit: String,
    pub(super) scale: Scale,
    pub(super) curves: Vec<Curve>,
    pub(super) across: Across,
}

/// The horizontal axis. Where it has names, these are the places 0, 1, 2 …
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Across {
    /// Rates.
    Rates,
    /// The names of loads. Lines between them are faint: they guide the eye, and there is nothing between two loads.
    Loads(Vec<String>),
    /// The names of servers, under one load.
    Servers(Vec<String>),
}

impl Across {
    fn names(&self) -> Option<&[String]> {
        match self {
            Across::Rates => None,
            Across::Loads(names) | Across::Servers(names) => Some(names),
        }
    }

    fn title(&self) -> &'static str {
        match self {
            Across::Rates => "asked, queries/s",
            Across::Loads(_) => "load",
            Across::Servers(_) => "server",
        }
    }
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
        let frame = Frame::new((LEFT, TOP), (RIGHT, BOTTOM), self.axis(), self.up());
        let room = self.room_for_names();
        let axis = line((LEFT, BOTTOM), (RIGHT, BOTTOM), "class=\"axis-line\"");
        let mut inside = frame.rows("class=\"grid-line\"") + &frame.labels(room > 0.0) + &axis;
        let faint = if self.across.names().is_some() { " faint" } else { "" };
        self.curves.iter().for_each(|curve| inside.push_str(&curve.svg(&frame, faint)));
        let height = HEIGHT + room;
        inside += &text((RIGHT, height - 4.0), "text-anchor=\"end\"", self.across.title());
        let title = escaped(&self.title);
        let against = if matches!(self.across, Across::Servers(_)) { "" } else { " against the load" };
        format!(
            "<figure>\n<figcaption>{title}<span class=\"unit\">{}</span></figcaption>\n\
             <svg viewBox=\"0 0 {WIDTH} {height:.0}\" role=\"img\" aria-label=\"{title} of each server{against}; \
             the table of figures has the same\">\n{inside}</svg>\n</figure>\n",
            escaped(&self.unit),
        )
    }

    /// How much higher the chart is because the names of its places stand slanted: 0 if they fit side by side.
    fn room_for_names(&self) -> f64 {
        let Some(names) = self.across.names() else { return 0.0 };
        let longest =
            names.iter().map(|name| name.chars().count()).max().unwrap_or(0) as f64 * WIDTH_OF_LETTER;
        let fits = longest * names.len() as f64 <= RIGHT - LEFT;
        if fits { 0.0 } else { longest * 0.6 - 12.0 }
    }

    fn values(&self) -> impl Iterator<Item = f64> + '_ {
        let points = self.curves.iter().flat_map(|curve| &curve.points);
        points.flat_map(|point| [point.low, point.y, point.high])
    }

    fn axis(&self) -> Axis {
        if let Some(names) = self.across.names() {
            let ticks = names.iter().enumerate().map(|(at, name)| (at as f64, name.clone())).collect();
            return Axis { from: -0.5, to: names.len() as f64 - 0.5, is_logarithmic: false, ticks };
        }
        let most =
            self.curves.iter().flat_map(|curve| &curve.points).map(|point| point.x).fold(0.0, f64::max);
        // The last point stands a little before the end of the frame.
        let to = most * (RIGHT - LEFT) / (RIGHT - LEFT - 24.0);
        Axis { to, ..Axis::linear(most, round_step(most, 4), short) }
    }

    fn up(&self) -> Axis {
        let most = self.values().fold(0.0, f64::max);
        match self.scale {
            Scale::Share => Axis::share(),
            Scale::Linear => Axis::linear(most, round_step(most, 5), short),
            Scale::Logarithmic => {
                let most = most.max(1e-3);
                let above_zero = self.values().filter(|value| *value > 0.0);
                Axis::logarithmic(above_zero.fold(most, f64::min), most, decade)
            }
        }
    }
}

impl Curve {
    fn svg(&self, frame: &Frame, faint: &str) -> String {
        let style = self.number % STYLES;
        let places = self.points.iter().map(|point| frame.place(point.x, point.y));
        let mut out = polyline(places, &format!("class=\"curve s{style}{faint}\"{}", dashes(self.number)));
        for point in &self.points {
            let place = frame.place(point.x, point.y);
            let [low, high] = [point.low, point.high].map(|value| frame.place(point.x, value));
            out.push_str(&interval(low, high, &format!("class=\"range s{style}\"")));
            out.push_str(&format!(
                "<g class=\"point f{style}\"><title>{}</title>{}{}</g>\n",
                escaped(&point.name),
                shape(self.number, place),
                if point.is_bound { arrow(place) } else { String::new() },
            ));
        }
        out
    }
}

/// From the lowest to the highest run, with its ends.
fn interval(low: Place, high: Place, look: &str) -> String {
    let end = |(x, y): Place| line((x - WIDTH_OF_END / 2.0, y), (x + WIDTH_OF_END / 2.0, y), look);
    if low == high { String::new() } else { line(low, high, look) + &end(low) + &end(high) }
}

/// The names of the curves with their looks.
pub(super) fn legend(names: &[String]) -> String {
    let item = |(number, name): (usize, &String)| {
        let style = number % STYLES;
        let look = format!("class=\"curve s{style}\"{}", dashes(number));
        format!(
            "<li><svg viewBox=\"0 0 34 12\" aria-hidden=\"true\">{}<g class=\"point f{style}\">{}</g></svg>{}</li>\n",
            line((0.0, 6.0), (34.0, 6.0), &look),
            shape(number, (17.0, 6.0)),
            escaped(name)
        )
    };
    let items: String = names.iter().enumerate().map(item).collect();
    format!("<ul class=\"legend\">\n{items}</ul>\n")
}

fn dashes(number: usize) -> &'static str {
    DASHES[number % DASHES.len()]
}

/// Of the letters of a label, on average.
const WIDTH_OF_LETTER: f64 = 6.6;
/// The part of a place in which the points of all curves stand.
const WIDTH_OF_PLACE: f64 = 0.7;

/// Of the ends of an interval.
const WIDTH_OF_END: f64 = 7.0;

/// Colours, and with shapes and dashes: 24 curves differ.
const STYLES: usize = 8;
const DASHES: [&str; 3] = ["", " stroke-dasharray=\"7 4\"", " stroke-dasharray=\"2 4\""];

#[cfg(test)]
mod tests {
    use super::*;

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
            across: Across::Rates,
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

        let chart = |across: fn(Vec<String>) -> Across, names: &[&str]| {
            let point = Point { x: 0.0, y: 1.0, low: 1.0, high: 1.0, is_bound: false, name: String::new() };
            let curves = vec![Curve { number: 0, points: vec![point] }];
            let across = across(names.iter().map(|name| (*name).to_owned()).collect());
            Chart { title: String::new(), unit: String::new(), scale: Scale::Linear, curves, across }.svg()
        };
        assert!(!chart(Across::Loads, &["still", "1-zone"]).contains("rotate"));
        let loads = chart(Across::Loads, &["window-5000"; 7]);
        assert!(loads.contains("rotate") && loads.contains("faint") && loads.contains(">load<"), "{loads}");
        let servers = chart(Across::Servers, &["knot", "nsd"]);
        assert!(servers.contains(">server<") && !servers.contains("against the load"), "{servers}");
    }

    #[test]
    fn an_interval_has_ends_and_one_run_has_none() {
        assert_eq!(interval((10.0, 90.0), (10.0, 40.0), "class=\"range s0\"").matches("<line").count(), 3);
        assert_eq!(interval((10.0, 90.0), (10.0, 90.0), "class=\"range s0\""), "");
    }
}

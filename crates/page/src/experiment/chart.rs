//! A chart as SVG: a curve for each server, told apart by colour, by the shape of its points and by its dashes. Loads
//! with a rate stand at their rates; closed loops, which have none, beside them at places of their own.
//!
//! ```text
//!   ┌ top ────────────────┐ ┌──────────┐
//!   │        ●────●       │ │  ●       │   a point is the median of the runs, the line through it goes from the lowest
//!   │   ■────■    │       │ │     ■    │   run to the highest one; △ above it: at least that, because it is beyond the
//!   └─────────────────────┘ └──────────┘   timeout
//!     2k    4k    6k           100
//!          asked, queries/s       load
//! ```

use dnsdyno_text::escaped;
use dnsdyno_text::svg::{Axis, Frame, Place, line, polyline, round_step, text};

use crate::marks::{
    BOTTOM, HEIGHT, LEFT, RIGHT, ROOM, TOP, WIDTH, arrow, decade, ratios, shape, shares, short,
};

/// A chart.
pub(super) struct Chart {
    pub(super) title: String,
    pub(super) unit: String,
    pub(super) scale: Scale,
    pub(super) curves: Vec<Curve>,
    pub(super) along: Along,
    pub(super) places: Places,
}

/// What the numbers of the horizontal axis are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Along {
    /// Rates that were asked for; by ratios where they span more than two decades.
    Rates,
    /// Seconds since the start of a run.
    Seconds,
}

/// What stands at places with a name: 0, 1, 2 … Lines between them are faint: they guide the eye, and there is nothing
/// between two of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Places {
    /// The names of loads; none where each load has a rate.
    Loads(Vec<String>),
    /// The names of servers, under one load.
    Servers(Vec<String>),
}

impl Places {
    fn names(&self) -> &[String] {
        match self {
            Places::Loads(names) | Places::Servers(names) => names,
        }
    }

    fn title(&self) -> &'static str {
        match self {
            Places::Loads(_) => "load",
            Places::Servers(_) => "server",
        }
    }
}

impl Along {
    fn title(self) -> &'static str {
        match self {
            Along::Rates => "asked, queries/s",
            Along::Seconds => "since the start, s",
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
    /// From 0; by ratios where the values span more than two decades.
    Rates,
    /// From a round share below all values to 1.
    Shares,
    /// Decades of durations in ms.
    Durations,
}

/// A curve.
pub(super) struct Curve {
    /// Which, for its look.
    pub(super) number: usize,
    pub(super) points: Vec<Point>,
    /// Whether its points are the rates of one load, and not loads.
    pub(super) is_of_steps: bool,
}

/// Where a point stands on the horizontal axis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Across {
    /// At a rate, or at so many seconds.
    Rate(f64),
    /// At a place with a name, or a little beside it.
    Place(f64),
}

/// A point of a curve.
pub(super) struct Point {
    pub(super) across: Across,
    pub(super) y: f64,
    pub(super) low: f64,
    pub(super) high: f64,
    /// Whether it is at least that.
    pub(super) is_bound: bool,
    /// What a pointer over it says.
    pub(super) name: String,
}

/// The two parts of a chart; each may be missing.
struct Frames {
    rates: Option<Frame>,
    places: Option<Frame>,
}

impl Frames {
    fn place(&self, across: Across, y: f64) -> Option<Place> {
        match across {
            Across::Rate(rate) => self.rates.as_ref().map(|frame| frame.place(rate, y)),
            Across::Place(place) => self.places.as_ref().map(|frame| frame.place(place, y)),
        }
    }
}

impl Chart {
    /// The figure with its caption.
    pub(super) fn svg(&self) -> String {
        let room = self.room_for_names();
        let height = HEIGHT + room;
        let frames = self.frames();
        let mut inside = String::new();
        for (frame, title, slanted) in
            [(&frames.rates, self.along.title(), false), (&frames.places, self.places.title(), room > 0.0)]
        {
            let Some(frame) = frame else { continue };
            let (left, right) = (frame.left(), frame.right());
            inside += &(frame.rows("class=\"grid-line\"") + &frame.labels(slanted));
            inside += &line((left, BOTTOM), (right, BOTTOM), "class=\"axis-line\"");
            inside += &text((right, height - 4.0), "text-anchor=\"end\"", title);
        }
        self.curves.iter().for_each(|curve| inside.push_str(&curve.svg(&frames)));
        let title = escaped(&self.title);
        let against = match (&self.places, self.along) {
            (Places::Servers(_), _) => "",
            (Places::Loads(_), Along::Rates) => " against the load",
            (Places::Loads(_), Along::Seconds) => " over time",
        };
        format!(
            "<figure>\n<figcaption>{title}<span class=\"unit\">{}</span></figcaption>\n\
             <svg viewBox=\"0 0 {WIDTH} {height:.0}\" role=\"img\" aria-label=\"{title} of each server{against}; \
             the table of figures has the same\">\n{inside}</svg>\n</figure>\n",
            escaped(&self.unit_with_scale()),
        )
    }

    /// The unit, with what is not usual of the axis.
    fn unit_with_scale(&self) -> String {
        let up = self.up();
        match self.scale {
            Scale::Rates if up.is_logarithmic => format!("{}, logarithmic", self.unit),
            Scale::Shares if up.from > 0.0 => {
                let from = up.ticks.last().map_or("", |(_, label)| label.as_str());
                format!("{}; the axis begins at {from}", self.unit)
            }
            Scale::Durations => format!("{}logarithmic", self.unit),
            Scale::Rates | Scale::Shares => self.unit.clone(),
        }
    }

    /// The rates on the left, the places on the right; one of them alone has the whole chart.
    fn frames(&self) -> Frames {
        let up = self.up();
        let bare =
            Axis { ticks: up.ticks.iter().map(|(at, _)| (*at, String::new())).collect(), ..up.clone() };
        let frame = |from: f64, to: f64, across: Axis, up: &Axis| {
            Frame::new((from, TOP), (to, BOTTOM), across, up.clone())
        };
        let (rates, names) = (self.rates(), self.places.names());
        let places = || Axis {
            from: -0.5,
            to: names.len() as f64 - 0.5,
            is_logarithmic: false,
            ticks: names.iter().enumerate().map(|(at, name)| (at as f64, name.clone())).collect(),
        };
        match (rates, names.is_empty()) {
            (Some(rates), true) => Frames { rates: Some(frame(LEFT, RIGHT, rates, &up)), places: None },
            (None, _) => Frames { rates: None, places: Some(frame(LEFT, RIGHT, places(), &up)) },
            (Some(rates), false) => {
                let to = RIGHT - self.width_of_places() - GAP;
                Frames {
                    rates: Some(frame(LEFT, to, rates, &up)),
                    places: Some(frame(to + GAP, RIGHT, places(), &bare)),
                }
            }
        }
    }

    /// The width of the places, where there are rates beside them.
    fn width_of_places(&self) -> f64 {
        (self.places.names().len() as f64 * 62.0).clamp(80.0, (RIGHT - LEFT) / 2.0)
    }

    /// How much higher the chart is because the names of its places stand slanted: 0 if they fit side by side.
    fn room_for_names(&self) -> f64 {
        let names = self.places.names();
        let longest =
            names.iter().map(|name| name.chars().count()).max().unwrap_or(0) as f64 * WIDTH_OF_LETTER;
        let width = if self.rates().is_some() { self.width_of_places() } else { RIGHT - LEFT };
        let fits = longest * names.len() as f64 <= width;
        if fits { 0.0 } else { longest * 0.6 - 12.0 }
    }

    fn points(&self) -> impl Iterator<Item = &Point> {
        self.curves.iter().flat_map(|curve| &curve.points)
    }

    fn values(&self) -> impl Iterator<Item = f64> + '_ {
        self.points().flat_map(|point| [point.low, point.y, point.high])
    }

    /// The axis of rates; `None` where no point has one.
    fn rates(&self) -> Option<Axis> {
        let rate = |point: &Point| match point.across {
            Across::Rate(rate) => Some(rate),
            Across::Place(_) => None,
        };
        let rates: Vec<f64> = self.points().filter_map(rate).filter(|rate| *rate > 0.0).collect();
        let most = rates.iter().copied().reduce(f64::max)?;
        let least = rates.iter().copied().fold(most, f64::min);
        Some(match most > least * TWO_DECADES && self.along == Along::Rates {
            true => ratios(least, most),
            // The last point stands a little before the end of the frame.
            false => Axis { to: most * 1.065, ..Axis::linear(most, round_step(most, 4), short) },
        })
    }

    fn up(&self) -> Axis {
        let most = self.values().fold(0.0, f64::max);
        let above_zero = || self.values().filter(|value| *value > 0.0);
        match self.scale {
            Scale::Shares => shares(self.values()),
            Scale::Rates => {
                let least = above_zero().fold(most, f64::min);
                match least > 0.0 && most > least * TWO_DECADES {
                    true => ratios(least, most),
                    false => {
                        Axis { to: most * ROOM.sqrt(), ..Axis::linear(most, round_step(most, 5), short) }
                    }
                }
            }
            Scale::Durations => {
                let most = most.max(1e-3);
                Axis::logarithmic(above_zero().fold(most, f64::min), most, decade)
            }
        }
    }
}

impl Curve {
    fn svg(&self, frames: &Frames) -> String {
        let style = self.number % STYLES;
        let mut out = String::new();
        let at_rates = |point: &&Point| matches!(point.across, Across::Rate(_));
        for (is_at_rates, look) in [(true, if self.is_of_steps { " steps" } else { "" }), (false, " faint")] {
            let points = self.points.iter().filter(|point| at_rates(point) == is_at_rates);
            let places: Vec<Place> = points.filter_map(|point| frames.place(point.across, point.y)).collect();
            if places.len() > 1 {
                out += &polyline(places, &format!("class=\"curve s{style}{look}\"{}", dashes(self.number)));
            }
        }
        for point in &self.points {
            let place = |value: f64| frames.place(point.across, value);
            let (Some(at), Some(low), Some(high)) = (place(point.y), place(point.low), place(point.high))
            else {
                continue;
            };
            out.push_str(&interval(low, high, &format!("class=\"range s{style}\"")));
            out.push_str(&format!(
                "<g class=\"point f{style}\"><title>{}</title>{}{}</g>\n",
                escaped(&point.name),
                shape(self.number, at),
                if point.is_bound { arrow(at) } else { String::new() },
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

/// The names of the curves with their looks, each with its number.
pub(super) fn legend(names: impl Iterator<Item = (usize, String)>) -> String {
    let item = |(number, name): (usize, String)| {
        let style = number % STYLES;
        let look = format!("class=\"curve s{style}\"{}", dashes(number));
        format!(
            "<li><svg viewBox=\"0 0 34 12\" aria-hidden=\"true\">{}<g class=\"point f{style}\">{}</g></svg>{}</li>\n",
            line((0.0, 6.0), (34.0, 6.0), &look),
            shape(number, (17.0, 6.0)),
            escaped(&name)
        )
    };
    let items: String = names.map(item).collect();
    format!("<ul class=\"legend\">\n{items}</ul>\n")
}

fn dashes(number: usize) -> &'static str {
    DASHES[number % DASHES.len()]
}

/// Where the highest value is so many times the lowest one, an axis has ratios.
const TWO_DECADES: f64 = 100.0;

/// Between the rates and the places.
const GAP: f64 = 22.0;

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

    fn point(across: Across, y: f64) -> Point {
        Point { across, y, low: y, high: y * 1.1, is_bound: false, name: "<b>".to_owned() }
    }

    fn chart(scale: Scale, places: Places, curves: Vec<Vec<Point>>) -> Chart {
        let curve = |(number, points)| Curve { number, points, is_of_steps: false };
        let curves = curves.into_iter().enumerate().map(curve).collect();
        let (title, unit) = ("answered & more".to_owned(), "queries/s".to_owned());
        Chart { title, unit, scale, curves, along: Along::Rates, places }
    }

    fn none() -> Places {
        Places::Loads(Vec::new())
    }

    #[test]
    fn a_chart_has_a_point_for_each_figure_and_no_markup_of_its_names() {
        let curve = || vec![point(Across::Rate(1000.0), 990.0), point(Across::Rate(2000.0), 1500.0)];
        let svg = chart(Scale::Rates, none(), vec![curve(), curve()]).svg();
        assert_eq!(svg.matches("&lt;b&gt;").count(), 4);
        assert!(!svg.contains("<b>") && svg.contains("answered &amp; more") && !svg.contains("NaN"), "{svg}");
        assert!(!svg.contains("logarithmic") && svg.contains(">2k</text>"), "{svg}");
    }

    #[test]
    fn points_stand_side_by_side_in_their_place_and_long_names_are_slanted() {
        let shifts: Vec<f64> = (0..4).map(|number| beside(number, 4)).collect();
        assert!(
            shifts.windows(2).all(|two| two[0] < two[1]) && shifts[0] > -0.5 && shifts[3] < 0.5,
            "{shifts:?}"
        );
        assert_eq!((beside(0, 1), shifts.iter().sum::<f64>()), (0.0, 0.0));

        let of = |places: fn(Vec<String>) -> Places, names: &[&str]| {
            let places = places(names.iter().map(|name| (*name).to_owned()).collect());
            let points = vec![point(Across::Place(0.0), 1.0), point(Across::Place(1.0), 2.0)];
            chart(Scale::Rates, places, vec![points]).svg()
        };
        assert!(!of(Places::Loads, &["still", "1-zone"]).contains("rotate"));
        let loads = of(Places::Loads, &["window-5000"; 7]);
        assert!(loads.contains("rotate") && loads.contains("faint") && loads.contains(">load<"), "{loads}");
        let servers = of(Places::Servers, &["knot", "nsd"]);
        assert!(servers.contains(">server<") && !servers.contains("against the load"), "{servers}");
    }

    #[test]
    fn closed_loops_stand_beside_the_rates_and_no_line_leads_to_them() {
        let points = vec![
            point(Across::Rate(1000.0), 990.0),
            point(Across::Rate(2000.0), 1900.0),
            point(Across::Place(0.0), 2500.0),
        ];
        let places = Places::Loads(vec!["window-100".to_owned()]);
        let svg = chart(Scale::Rates, places, vec![points]).svg();
        assert!(svg.contains(">asked, queries/s<") && svg.contains(">load<") && svg.contains(">window-100<"));
        assert_eq!((svg.matches("<polyline").count(), svg.matches("class=\"point").count()), (1, 3));
        // The line has the two points of rates.
        let line = svg.split("<polyline points=\"").nth(1).and_then(|rest| rest.split('"').next()).unwrap();
        assert_eq!(line.split(' ').count(), 2, "{line}");
    }

    #[test]
    fn seconds_stand_evenly_however_many_they_are() {
        let points = [0.5, 1.5, 99.5].map(|second| point(Across::Rate(second), 10.0)).into();
        let svg = Chart { along: Along::Seconds, ..chart(Scale::Rates, none(), vec![points]) };
        assert!(!svg.rates().unwrap().is_logarithmic);
        assert!(svg.svg().contains(">since the start, s<") && svg.svg().contains("over time"));
    }

    #[test]
    fn values_that_span_more_than_two_decades_have_ratios() {
        let wide = |across: [f64; 2], up: [f64; 2]| {
            let points = across.iter().zip(up).map(|(rate, y)| point(Across::Rate(*rate), y)).collect();
            chart(Scale::Rates, none(), vec![points])
        };
        let near = wide([1e3, 5e4], [1e3, 5e4]);
        assert_eq!((near.up().is_logarithmic, near.rates().unwrap().is_logarithmic), (false, false));
        assert_eq!(near.up().from, 0.0);
        let far = wide([100.0, 5e4], [42.0, 161_142.0]);
        assert!(far.up().is_logarithmic && far.rates().unwrap().is_logarithmic);
        assert!(far.svg().contains("queries/s, logarithmic"));
    }

    #[test]
    fn shares_near_all_have_an_axis_that_begins_near_them() {
        let points = vec![point(Across::Rate(1e3), 0.9991), point(Across::Rate(2e3), 0.9999)];
        let shares =
            Chart { unit: "of the queries".to_owned(), ..chart(Scale::Shares, none(), vec![points]) };
        assert!(shares.svg().contains("of the queries; the axis begins at 99.900 %"), "{}", shares.svg());
    }

    #[test]
    fn an_interval_has_ends_and_one_run_has_none() {
        assert_eq!(interval((10.0, 90.0), (10.0, 40.0), "class=\"range s0\"").matches("<line").count(), 3);
        assert_eq!(interval((10.0, 90.0), (10.0, 90.0), "class=\"range s0\""), "");
    }
}

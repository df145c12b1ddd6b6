//! A graph of lines over time, as an SVG image: the same two as of the original, without gnuplot.

use dnsdyno_text::svg::{Axis, CENTRED, Frame, line, polyline, round_step, text};

/// A graph.
pub(super) struct Graph<'a> {
    pub(super) title: &'a str,
    pub(super) lines: Vec<Line<'a>>,
}

/// A line, with its points as (time in seconds, value).
pub(super) struct Line<'a> {
    pub(super) title: &'a str,
    pub(super) points: Vec<(f64, f64)>,
}

impl Graph<'_> {
    /// The image.
    pub(super) fn svg(&self) -> String {
        let points = || self.lines.iter().flat_map(|line| &line.points);
        let [across, up] = [
            points().map(|point| point.0).fold(0.0, f64::max),
            points().map(|point| point.1).fold(0.0, f64::max),
        ]
        .map(|most| {
            let step = round_step(most, STEPS);
            Axis::linear(step * f64::from(STEPS), step, number)
        });
        let frame = Frame::new((80.0, 40.0), (620.0, 430.0), across, up);
        let grid = "stroke=\"#ddd\"";
        let mut drawn = text((320.0, 24.0), CENTRED, self.title)
            + &text((320.0, 470.0), CENTRED, "Time (seconds)")
            + &frame.rows(grid)
            + &frame.columns(grid)
            + &frame.labels(false);
        for (nth, (curve, colour)) in self.lines.iter().zip(COLOURS).enumerate() {
            let (x, y) = (90.0, 40.0 + 18.0 * (nth as f64 + 1.0));
            let look = |width: f64| format!("fill=\"none\" stroke=\"{colour}\" stroke-width=\"{width}\"");
            let places = curve.points.iter().map(|(time, value)| frame.place(*time, *value));
            drawn += &polyline(places, &look(1.5));
            drawn += &line((x, y - 4.0), (x + 24.0, y - 4.0), &look(2.0));
            drawn += &text((x + 30.0, y), "", curve.title);
        }
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"640\" height=\"480\" font-family=\"sans-serif\" \
             font-size=\"12\">\n<rect width=\"640\" height=\"480\" fill=\"#fff\"/>\n{drawn}</svg>\n"
        )
    }
}

/// A number at an axis, without the noise of its last bits.
fn number(value: f64) -> String {
    let text = format!("{value:.6}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// The steps of an axis.
const STEPS: u32 = 5;

const COLOURS: [&str; 3] = ["#9400d3", "#009e73", "#c05000"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_axis_has_round_steps_that_reach_its_largest_value() {
        assert_eq!(
            [0.0, 1.0, 60.0, 1_750.0, 0.000_041].map(|most| number(round_step(most, STEPS))),
            ["0.2", "0.2", "20", "500", "0.00001"]
        );
    }

    #[test]
    fn each_line_is_drawn_from_its_points() {
        let line = |title, points| Line { title, points };
        let graph = Graph {
            title: "Latency",
            lines: vec![line("a", vec![(0.0, 0.0), (10.0, 5.0)]), line("b", vec![])],
        };
        let svg = graph.svg();
        assert!(svg.contains("<polyline points=\"80.0,430.0 620.0,40.0\""), "{svg}");
        assert!(svg.contains(">Latency</text>") && svg.contains(">b</text>") && svg.ends_with("</svg>\n"));
    }
}

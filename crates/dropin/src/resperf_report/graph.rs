//! A graph of lines over time, as an SVG image: the same two as of the original, without gnuplot.

use std::fmt::Write;

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
        let all = || self.lines.iter().flat_map(|line| &line.points);
        let step_x = step(all().map(|point| point.0).fold(0.0, f64::max));
        let step_y = step(all().map(|point| point.1).fold(0.0, f64::max));
        let (most_x, most_y) = (step_x * STEPS, step_y * STEPS);
        let x = |value: f64| LEFT + value / most_x * WIDTH;
        let y = |value: f64| TOP + HEIGHT - value / most_y * HEIGHT;
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"640\" height=\"480\" font-family=\"sans-serif\" \
             font-size=\"12\">\n<rect width=\"640\" height=\"480\" fill=\"#fff\"/>\n\
             <text x=\"320\" y=\"24\" text-anchor=\"middle\">{}</text>\n\
             <text x=\"320\" y=\"470\" text-anchor=\"middle\">Time (seconds)</text>\n",
            self.title
        );
        for nth in 0..=STEPS as u32 {
            let (at_x, at_y) = (f64::from(nth) * step_x, f64::from(nth) * step_y);
            let _ = writeln!(
                svg,
                "<path d=\"M{:.1} {TOP}v{HEIGHT}M{LEFT} {:.1}h{WIDTH}\" stroke=\"#ddd\"/>\
                 <text x=\"{:.1}\" y=\"448\" text-anchor=\"middle\">{}</text>\
                 <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
                x(at_x),
                y(at_y),
                x(at_x),
                number(at_x),
                LEFT - 6.0,
                y(at_y) + 4.0,
                number(at_y),
            );
        }
        for (nth, (line, colour)) in self.lines.iter().zip(COLOURS).enumerate() {
            let mut points = String::new();
            for (time, value) in &line.points {
                let _ = write!(points, "{:.1},{:.1} ", x(*time), y(*value));
            }
            let below = TOP + 18.0 * (nth as f64 + 1.0);
            let _ = writeln!(
                svg,
                "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"1.5\"/>\
                 <path d=\"M{:.0} {:.0}h24\" stroke=\"{colour}\" stroke-width=\"2\"/>\
                 <text x=\"{:.0}\" y=\"{:.0}\">{}</text>",
                points.trim_end(),
                LEFT + 10.0,
                below - 4.0,
                LEFT + 40.0,
                below,
                line.title,
            );
        }
        svg + "</svg>\n"
    }
}

/// A round step, so that a few of them reach the largest value.
fn step(most: f64) -> f64 {
    let least = if most > 0.0 && most.is_finite() { most / STEPS } else { 1.0 / STEPS };
    let power = 10f64.powf(least.log10().floor());
    [1.0, 2.0, 2.5, 5.0, 10.0]
        .map(|factor| factor * power)
        .into_iter()
        .find(|step| *step >= least * 0.999_999)
        .unwrap_or(least)
}

/// A number at an axis, without the noise of its last bits.
fn number(value: f64) -> String {
    let text = format!("{value:.6}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// The steps of an axis.
const STEPS: f64 = 5.0;

/// The frame of the lines, in pixels.
const LEFT: f64 = 80.0;
const TOP: f64 = 40.0;
const WIDTH: f64 = 540.0;
const HEIGHT: f64 = 390.0;

const COLOURS: [&str; 3] = ["#9400d3", "#009e73", "#c05000"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_axis_has_round_steps_that_reach_its_largest_value() {
        assert_eq!(
            [0.0, 1.0, 60.0, 1_750.0, 0.000_041].map(|most| number(step(most))),
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

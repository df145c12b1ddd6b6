//! The chart of a figure over the runs of a row.
//!
//! ```text
//!   ┌─────────────▒──────────┐   ● a run   ○ disturbed
//!   │ ●_●●_●_●●_●_▒          │   _ the level of a segment
//!   │        ○    ▒●_●●__●_● │   ▒ where the step may have begun: ▼ worse, ▲ better, ✓ accepted
//!   └─────────────▒──────────┘
//!     03-09    03-12    03-15
//! ```

use dnsdyno_campaign::compare::Kind;
use dnsdyno_campaign::history::report::words::{change, figure, metric_name, sentences, step_word};
use dnsdyno_campaign::history::{Axis as Order, HistoryRun, Judged, Row};
use dnsdyno_text::svg::{Axis, CENTRED, Frame, line, polyline, round_step, text};
use dnsdyno_text::units::{duration, percent, rate};
use dnsdyno_text::{escaped, safe};

use crate::made::utc;
use crate::marks::{BOTTOM, HEIGHT, LEFT, RIGHT, TOP, WIDTH, arrow, shape, short};

/// The chart, as a figure.
pub(super) fn svg(
    order: &Order,
    row: &Row,
    judged: &Judged,
    link: &dyn Fn(&HistoryRun) -> Option<String>,
) -> String {
    let frame = Frame::new((LEFT, TOP), (RIGHT, BOTTOM), across(order, row, judged), up(judged));
    let mut inside = steps(judged, &frame) + &frame.rows("class=\"grid-line\"") + &frame.labels(false);
    inside += &line((LEFT, BOTTOM), (RIGHT, BOTTOM), "class=\"axis-line\"");
    inside += &levels(judged, &frame);
    let first = judged.runs.len().saturating_sub(MOST_POINTS);
    if first > 0 {
        let places = judged.figures.iter().enumerate().map(|(at, value)| frame.place(at as f64, *value));
        inside += &polyline(places.take(first), "class=\"curve faint s0\"");
    }
    // Those that are not judged have no place among the others.
    (first..judged.runs.len()).for_each(|at| inside += &point(row, judged, at, &frame, link));
    inside += &text((RIGHT, HEIGHT - 4.0), "text-anchor=\"end\"", &format!("runs by {}", safe(order.word())));
    let title = escaped(&metric_name(judged.metric, row));
    let unit = match judged.metric.less_is_better {
        true => "less is better",
        false => "more is better",
    };
    let said = escaped(&sentences(row, judged).join("; "));
    format!(
        "<figure>\n<figcaption>{title}<span class=\"unit\">{unit}</span></figcaption>\n\
         <svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"group\" aria-label=\"{title}: {said}\">\n{inside}</svg>\n\
         </figure>\n"
    )
}

/// What the signs mean.
pub(super) fn legend() -> String {
    let item = |inside: &str, name: &str| {
        format!("<li><svg viewBox=\"0 0 34 12\" aria-hidden=\"true\">{inside}</svg>{name}</li>\n")
    };
    let band = |word: &str| {
        let sign = text((17.0, 10.0), CENTRED, sign(word));
        format!("<rect class=\"step {word}\" x=\"4\" y=\"0\" width=\"26\" height=\"12\"/>{sign}")
    };
    let point =
        |class: &str, number: usize| format!("<g class=\"point {class}\">{}</g>", shape(number, (17.0, 6.0)));
    let items = [
        item(&point("passed", 0), "a run"),
        item(&point("undecided", 3), "disturbed"),
        item(&band("worse"), "a step, worse"),
        item(&band("better"), "better"),
        item(&band("accepted"), "accepted"),
    ];
    format!("<ul class=\"legend\">\n{}</ul>\n", items.concat())
}

/// The runs one after the other, with some days or versions.
fn across(order: &Order, row: &Row, judged: &Judged) -> Axis {
    let last = judged.runs.len().saturating_sub(1);
    // The last one leaves room for its label.
    let places = (0..TICKS).map(|nth| last * nth * 2 / 7);
    let mut ticks: Vec<(f64, String)> = Vec::new();
    for place in places {
        let Some(run) = judged.runs.get(place).and_then(|at| row.runs.get(*at)) else { continue };
        let name: String = place_name(order, run).chars().take(LONGEST_TICK).collect();
        if ticks.last().is_none_or(|(_, last)| *last != name) {
            ticks.push((place as f64, name));
        }
    }
    Axis { from: -0.5, to: last as f64 + 0.5, is_logarithmic: false, ticks }
}

/// From below the least figure to above the greatest.
fn up(judged: &Judged) -> Axis {
    let (least, most) = judged
        .figures
        .iter()
        .fold((f64::INFINITY, 0.0_f64), |(least, most), value| (least.min(*value), most.max(*value)));
    let spread = (most - least).max(most.abs() * NARROWEST).max(f64::MIN_POSITIVE);
    let step = round_step(spread, 4);
    let from = ((least / step).floor() * step).max(0.0);
    let to = from + ((most - from) / step).ceil().max(1.0) * step;
    let count = ((to - from) / step).round().clamp(1.0, 8.0) as u32;
    let ticks = (0..=count).map(|nth| from + f64::from(nth) * step);
    // Rates that are near each other would be the same with two digits after thousands or millions.
    let is_short = step * 100.0 >= if to >= 1e6 { 1e6 } else { 1e3 };
    let label = |value: f64| match judged.metric.kind {
        Kind::Duration => duration(value.round().max(0.0) as u64),
        Kind::Rate if is_short => short(value),
        Kind::Rate => rate(value),
        Kind::Share => percent(value),
    };
    Axis { from, to, is_logarithmic: false, ticks: ticks.map(|value| (value, label(value))).collect() }
}

/// Where each step may have begun.
fn steps(judged: &Judged, frame: &Frame) -> String {
    let step = |(place, step): (usize, &dnsdyno_campaign::statistics::steps::Step)| {
        let word = step_word(judged, place);
        let (left, _) = frame.place(step.earliest as f64 - 1.0, 0.0);
        let (right, _) = frame.place(step.latest as f64, 0.0);
        let (left, width) = (left.max(frame.left()), (right - left.max(frame.left())).max(4.0));
        let title = escaped(&format!("{word}: {}", change(judged.metric, judged.metric.change(step.size))));
        format!(
            "<g><title>{title}</title><rect class=\"step {word}\" x=\"{left:.1}\" y=\"{TOP}\" width=\"{width:.1}\" \
             height=\"{}\"/>{}</g>\n",
            BOTTOM - TOP,
            text((left + width / 2.0, TOP - 3.0), CENTRED, sign(word))
        )
    };
    judged.found.steps.iter().enumerate().map(step).collect()
}

/// The level of each segment: the median of its figures.
fn levels(judged: &Judged, frame: &Frame) -> String {
    let level = |segment: &dnsdyno_campaign::statistics::steps::Segment| {
        let mut figures = judged.figures.get(segment.from..segment.to)?.to_vec();
        let level = dnsdyno_campaign::statistics::median(&mut figures);
        let end = (segment.to as f64 - 0.5).max(segment.from as f64);
        Some(line(
            frame.place(segment.from as f64 - 0.5, level),
            frame.place(end, level),
            "class=\"level-line\"",
        ))
    };
    judged.found.segments.iter().filter_map(level).collect()
}

fn point(
    row: &Row,
    judged: &Judged,
    at: usize,
    frame: &Frame,
    link: &dyn Fn(&HistoryRun) -> Option<String>,
) -> String {
    let Some(run) = judged.runs.get(at).and_then(|at| row.runs.get(*at)) else { return String::new() };
    let Some(value) = run.entry.figures.get(judged.metric.key) else { return String::new() };
    let is_disturbed = judged.found.disturbed.get(at) == Some(&true);
    let place = frame.place(at as f64, value.value);
    let version =
        run.entry.labels.get("version").map_or(String::new(), |version| format!(", {}", safe(version)));
    let name = format!(
        "{}{version}: {}{}",
        safe(&run.folder),
        figure(judged.metric, value.value, value.at_least),
        if is_disturbed { ", disturbed" } else { "" }
    );
    let (class, number) = if is_disturbed { ("undecided", 3) } else { ("passed", 0) };
    let mark = format!(
        "<g class=\"point {class}\"><title>{}</title>{}{}</g>",
        escaped(&name),
        shape(number, place),
        if value.at_least { arrow(place) } else { String::new() }
    );
    match link(run) {
        Some(address) => {
            format!("<a href=\"{}\" aria-label=\"{}\">{mark}</a>\n", escaped(&address), escaped(&name))
        }
        None => mark + "\n",
    }
}

/// What runs are ordered by, of one run: its version, or its day.
fn place_name(order: &Order, run: &HistoryRun) -> String {
    match order {
        Order::Time => utc(run.entry.started_unix_ns).chars().take(DAY).collect(),
        Order::Label(key) => run.entry.labels.get(key).map_or(String::new(), |value| safe(value)),
    }
}

/// So that a step is not told by its colour alone.
fn sign(word: &str) -> &'static str {
    match word {
        "worse" => "▼",
        "better" => "▲",
        _ => "✓",
    }
}

/// Of longer histories the earlier runs are a line.
const MOST_POINTS: usize = 400;

/// Characters of `2026-03-09`.
const DAY: usize = 10;

const TICKS: usize = 4;
const LONGEST_TICK: usize = 12;

/// The least that a vertical axis spans, as a share of the greatest figure.
const NARROWEST: f64 = 0.02;

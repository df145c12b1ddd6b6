//! The charts of a search: a point for each trial, over its load.
//!
//! ```text
//!   ┌──────────────▒▒─────┐   ● passed   ▲ failed   ◇ undecided
//!   │ ●  ●   ●  ●●●▒▒     │   ▒ the interval of the limit, with its middle as a line
//!   │- - - - - - - ▒▒▲- - │   - the bound of a criterion
//!   │              ▒▒   ▲ │
//!   └──────────────▒▒─────┘
//!     2k   5k   10k   20k     loads by their ratios, because a search doubles them
//! ```

use dnsdyno_campaign::find::report::{FoundOutcome, FoundTrial, FoundVerdict, ReadFinding};
use dnsdyno_text::svg::{Axis, Frame, line, polyline, round_step, text};
use dnsdyno_text::units::{duration, percent, rate};
use dnsdyno_text::{escaped, safe};

use super::words::{slow, word};
use crate::marks::{
    BOTTOM, HEIGHT, LEFT, RIGHT, ROOM, TOP, WIDTH, arrow, decade, ratios, shape, shares, short,
};

/// What a trial has on a vertical axis.
struct Height {
    value: f64,
    /// At least that.
    is_bound: bool,
}

/// A chart of trials.
struct Chart<'a> {
    title: &'a str,
    unit: &'a str,
    across: Axis,
    up: Axis,
    height: &'a dyn Fn(&FoundTrial) -> Option<Height>,
    /// The bound of a criterion, with its label.
    bound: Option<(f64, String)>,
    /// A curve behind the points.
    curve: Vec<(f64, f64)>,
}

/// The charts, as figures; those that have nothing to show are left out.
pub(super) fn all(found: &ReadFinding, unit: &str) -> Vec<String> {
    if found.trials.is_empty() {
        return Vec::new();
    }
    let (across, limits) = (loads(found), found.limits());
    let share = |trial: &FoundTrial| Some(Height { value: trial.answered()?, is_bound: false });
    let answered = Chart {
        title: "Answered in time",
        unit: "of the queries",
        across: across.clone(),
        up: shares(found.trials.iter().filter_map(FoundTrial::answered).chain(limits.answered)),
        height: &share,
        bound: limits.answered.map(|least| (least, percent(least))),
        curve: Vec::new(),
    };
    let in_ms = |ns: u64| (ns as f64 * 1e-6).max(1e-4);
    let p99 = |trial: &FoundTrial| {
        let found = trial.slow().0?;
        Some(Height { value: in_ms(found.ns), is_bound: found.beyond_timeout })
    };
    let limit = limits.p99_ns.map(in_ms);
    let slow: Vec<f64> =
        found.trials.iter().filter_map(p99).map(|height| height.value).chain(limit).collect();
    let latency = (!slow.is_empty()).then(|| Chart {
        title: "p99 of the response time",
        unit: "logarithmic",
        across,
        up: Axis::logarithmic(
            slow.iter().copied().fold(f64::INFINITY, f64::min),
            slow.iter().copied().fold(1e-3, f64::max),
            decade,
        ),
        height: &p99,
        bound: limits.p99_ns.map(|ns| (in_ms(ns), duration(ns))),
        curve: Vec::new(),
    });
    let charts = [Some(answered), latency].into_iter().flatten().map(|chart| chart.svg(found, unit));
    charts.chain(belief(found, unit)).collect()
}

/// Where the limit is believed to be, near it: the curve is the probability that it is below a load. Trials that passed
/// stand at the bottom, those that failed at the top, as the curve would be if each told the truth alone.
fn belief(found: &ReadFinding, unit: &str) -> Option<String> {
    let (first, last) = (found.belief.first()?.load, found.belief.last()?.load);
    let middle = (first * last).sqrt();
    let around = (last / first).sqrt().max(NARROWEST) * 1.05;
    let (from, to) = (middle / around, middle * around);
    let is_near = |trial: &FoundTrial| (from..=to).contains(&trial.load);
    let height = |trial: &FoundTrial| {
        let value = match trial.verdict {
            FoundVerdict::Passed => 0.0,
            FoundVerdict::Failed => 1.0,
            FoundVerdict::Undecided => 0.5,
        };
        is_near(trial).then_some(Height { value, is_bound: false })
    };
    let step = round_step(to - from, 6);
    let ticks = (0..8).map(|nth| ((from / step).ceil() + f64::from(nth)) * step).filter(|load| *load <= to);
    let ticks = ticks.map(|load| (load, exact(load))).collect();
    let ends =
        [(from, 0.0)].into_iter().chain(found.belief.iter().map(|at| (at.load, at.below))).chain([(to, 1.0)]);
    let chart = Chart {
        title: "Where the limit is",
        unit: "probability that it is below a load",
        across: Axis { from, to, is_logarithmic: false, ticks },
        up: Axis::share(),
        height: &height,
        bound: None,
        curve: ends.filter(|(load, _)| (from..=to).contains(load)).collect(),
    };
    Some(chart.svg(found, unit))
}

impl Chart<'_> {
    fn svg(&self, found: &ReadFinding, unit: &str) -> String {
        let frame = Frame::new((LEFT, TOP), (RIGHT, BOTTOM), self.across.clone(), self.up.clone());
        let mut inside = self.limit(found, &frame) + &frame.rows("class=\"grid-line\"");
        inside += &frame.labels(false);
        inside += &line((LEFT, BOTTOM), (RIGHT, BOTTOM), "class=\"axis-line\"");
        if let Some((value, label)) = &self.bound {
            let ((_, y), look) =
                (frame.place(self.across.from, *value), "class=\"bound\" text-anchor=\"end\"");
            inside += &line((LEFT, y), (RIGHT, y), "class=\"bound-line\"");
            inside += &text((RIGHT, y - 4.0), look, label);
        }
        if !self.curve.is_empty() {
            let places = self.curve.iter().map(|(load, below)| frame.place(*load, *below));
            inside += &polyline(places, "class=\"belief\"");
        }
        // What is rarer stands in front.
        for verdict in [FoundVerdict::Passed, FoundVerdict::Failed, FoundVerdict::Undecided] {
            let trials = found.trials.iter().filter(|trial| trial.verdict == verdict);
            trials.for_each(|trial| inside += &self.point(trial, &frame));
        }
        inside += &text((RIGHT, HEIGHT - 4.0), "text-anchor=\"end\"", &format!("load, {}", safe(unit)));
        let title = escaped(self.title);
        format!(
            "<figure>\n<figcaption>{title}<span class=\"unit\">{}</span></figcaption>\n\
             <svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"{title} of each trial against its load; \
             the table of trials has the same\">\n{inside}</svg>\n</figure>\n",
            escaped(self.unit),
        )
    }

    fn point(&self, trial: &FoundTrial, frame: &Frame) -> String {
        let Some(height) = (self.height)(trial) else { return String::new() };
        let place = frame.place(trial.load, height.value);
        let why = trial.why();
        let answered =
            trial.answered().map_or(String::new(), |share| format!(", {} answered", percent(share)));
        let name = format!(
            "trial {} at {}{answered}, p99 {}: {}{}",
            trial.number,
            rate(trial.load),
            slow(trial),
            word(trial.verdict),
            if why.is_empty() { String::new() } else { format!(": {}", safe(&why)) },
        );
        format!(
            "<g class=\"point {}\"><title>{}</title>{}{}</g>\n",
            word(trial.verdict),
            escaped(&name),
            shape(look(trial.verdict), place),
            if height.is_bound { arrow(place) } else { String::new() },
        )
    }

    /// The interval of the limit as a band, and the limit as a line; of a limit that is at least so high, the line.
    fn limit(&self, found: &ReadFinding, frame: &Frame) -> String {
        match found.has_names() {
            true => found.goals.iter().map(|goal| self.limit_of(&goal.outcome, frame)).collect(),
            false => self.limit_of(&found.outcome, frame),
        }
    }

    fn limit_of(&self, outcome: &FoundOutcome, frame: &Frame) -> String {
        let mut out = String::new();
        if outcome.kind != "capacity" && outcome.kind != "at_least" {
            return out;
        }
        let x_of = |load: f64| frame.place(load.clamp(self.across.from, self.across.to), self.up.from).0;
        if let (Some(from), Some(to)) = (outcome.from, outcome.to) {
            let (left, right) = (x_of(from), x_of(to));
            let width = (right - left).max(2.0);
            let height = BOTTOM - TOP;
            out += &format!(
                "<rect class=\"limit-band\" x=\"{left:.1}\" y=\"{TOP}\" width=\"{width:.1}\" height=\"{height}\"/>\n"
            );
        }
        if let Some(load) = outcome.load {
            let x = x_of(load);
            out += &line((x, TOP), (x, BOTTOM), "class=\"limit-line\"");
        }
        out
    }
}

/// The shapes of the verdicts that there are, with their names.
pub(super) fn legend(found: &ReadFinding) -> String {
    let verdicts = [FoundVerdict::Passed, FoundVerdict::Failed, FoundVerdict::Undecided];
    let is_there = |verdict: &FoundVerdict| found.trials.iter().any(|trial| trial.verdict == *verdict);
    let item = |verdict: FoundVerdict| {
        let (word, shape) = (word(verdict), shape(look(verdict), (17.0, 6.0)));
        format!(
            "<li><svg viewBox=\"0 0 34 12\" aria-hidden=\"true\"><g class=\"point {word}\">{shape}</g></svg>{word}\
             </li>\n"
        )
    };
    let mut items: String = verdicts.into_iter().filter(is_there).map(item).collect();
    if found.outcome.kind == "capacity" {
        items += "<li><svg viewBox=\"0 0 34 12\" aria-hidden=\"true\"><rect class=\"limit-band\" x=\"4\" y=\"0\" \
                  width=\"26\" height=\"12\"/><line class=\"limit-line\" x1=\"17\" y1=\"0\" x2=\"17\" y2=\"12\"/></svg>\
                  the limit</li>\n";
    }
    if found.limits() != Default::default() {
        items += "<li><svg viewBox=\"0 0 34 12\" aria-hidden=\"true\"><line class=\"bound-line\" x1=\"0\" y1=\"6\" \
                  x2=\"34\" y2=\"6\"/></svg>a criterion</li>\n";
    }
    format!("<ul class=\"legend\">\n{items}</ul>\n")
}

/// The number of the shape of a verdict.
fn look(verdict: FoundVerdict) -> usize {
    match verdict {
        FoundVerdict::Passed => 0,
        FoundVerdict::Failed => 2,
        FoundVerdict::Undecided => 3,
    }
}

/// The loads: by their ratios where they span octaves, with ticks at round figures.
fn loads(found: &ReadFinding) -> Axis {
    let loads = || found.trials.iter().map(|trial| trial.load).filter(|load| *load > 0.0);
    let (least, most) = (loads().fold(f64::INFINITY, f64::min), loads().fold(0.0, f64::max));
    if !least.is_finite() || most <= least * 4.0 {
        let most = most.max(1.0);
        return Axis { to: most * ROOM, ..Axis::linear(most, round_step(most, 4), short) };
    }
    ratios(least, most)
}

/// A load near others: with as many figures as tell them apart.
fn exact(load: f64) -> String {
    let text = short(load);
    if text.len() <= 5 { text } else { rate(load) }
}

/// The least that is shown around the limit, as a ratio on each side.
const NARROWEST: f64 = 1.02;

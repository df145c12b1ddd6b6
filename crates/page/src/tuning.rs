//! The page of a night of tuning: the answer, what each change gains with its interval, how every parameter fared, and
//! what to install.
//!
//! ```text
//!   together           ├──●──┤           gain in percent; 0 is the server as it was
//!   tcp-clients     ├──●──┤
//!   rmem_max     ├●┤
//!   somaxconn  ├─●─┤                     not part of the answer: as seen on the way, not confirmed
//! ```

use dnsdyno_campaign::tune::report::{ParameterReport, TuneReport, words};
use dnsdyno_campaign::tune::{Gain, Gains, Row, RowState, Verdict};
use dnsdyno_text::svg::{Axis, Frame, line, round_step, text};
use dnsdyno_text::units::{count, length};
use dnsdyno_text::{escaped, safe};

use crate::Options;
use crate::document::{self, Document, table, table_with_links};
use crate::marks::shape;

/// The page of a night, as an HTML file.
pub fn tuning(report: &TuneReport<'_>, options: &Options) -> Vec<u8> {
    let mut page = Document::new(report.title, options);
    page.heading(options.title.as_deref().unwrap_or(report.title), &state(report));
    page.answer(&words::sentence(report), &figures(report));
    page.list(&report.answer.notes, "notes");
    if let Verdict::Gains(gains) = &report.answer.verdict {
        page.section("changes", "What to change", &changes(report, gains));
    }
    if let Some(chart) = chart(report) {
        page.section("gains", "What each change gains", &chart);
    }
    page.section("parameters", "How each parameter fared", &parameters(report));
    if !report.not_here.is_empty() {
        page.section("left", "What could not be changed here", &not_here(report));
    }
    for (id, title, files) in
        [("install", "To install", &report.install), ("undo", "To take it back", &report.undo)]
    {
        if !files.is_empty() {
            page.section(id, title, &texts(files));
        }
    }
    page.section("judged", "How it was judged", &document::list(&judged(report), "conditions"));
    page.finish()
}

fn state(report: &TuneReport<'_>) -> String {
    format!("Tuning of {}, {}", safe(report.server), length(report.took_ns))
}

fn figures(report: &TuneReport<'_>) -> Vec<(String, String)> {
    let figure = |name: &str, value: String| (name.to_owned(), value);
    let mut figures = Vec::new();
    if let Verdict::Gains(gains) = &report.answer.verdict {
        figures.push(figure("together", format!("{} %", words::signed(gains.together.estimate))));
        figures.push(figure("changes", count(gains.parts.len() as u64)));
    }
    figures.push(figure("parameters", count(report.answer.rows.len() as u64)));
    figures.push(figure("trials", count(u64::from(report.answer.trials_made()))));
    figures
}

fn changes(report: &TuneReport<'_>, gains: &Gains) -> String {
    let rows: Vec<Vec<String>> = words::changes(report, gains).into_iter().map(Vec::from).collect();
    let titles = ["parameter", "from", "to", "adds to the others", "alone", "costs"];
    let help = "Each gain is against the server as it was, with its 95 % interval. What a change adds is seen by \
                 taking it away from all of them; what it gains alone, without the others.";
    let memory = words::memory(gains).map_or_else(String::new, |memory| format!(" {memory}."));
    format!(
        "<p class=\"help\">{}</p>\n{}",
        escaped(&format!("{help}{memory}")),
        table("The changes that gain", &titles, 3, &rows)
    )
}

/// A row of the chart.
struct Bar {
    name: String,
    gain: Gain,
    /// Whether it was confirmed.
    is_sure: bool,
}

fn chart(report: &TuneReport<'_>) -> Option<String> {
    let bars = bars(report);
    let least = bars.iter().map(|bar| bar.gain.from).fold(0.0, f64::min).max(-1.0);
    let most = bars.iter().map(|bar| bar.gain.to).fold(0.0, f64::max).min(MOST_SHOWN);
    if bars.is_empty() || most - least <= 0.0 {
        return None;
    }
    let step = round_step((most - least).max(0.01), 6);
    let (from, to) = ((least / step).floor() * step, (most / step).ceil() * step);
    let count = ((to - from) / step).round() as u32;
    let ticks = (0..=count).map(|nth| from + f64::from(nth) * step);
    let label = |value: f64| match (value * 1e3).round() / 10.0 {
        0.0 => "0".to_owned(),
        percent => format!("{percent:+} %"),
    };
    let ticks = ticks.map(|value| (value, label(value))).collect();
    let across = Axis { from, to, is_logarithmic: false, ticks };
    let bottom = TOP + bars.len() as f64 * ROW;
    let up = Axis { from: 0.0, to: bars.len() as f64, is_logarithmic: false, ticks: Vec::new() };
    let frame = Frame::new((LEFT, TOP), (RIGHT, bottom), across, up);
    let mut inside = frame.columns("class=\"grid-line\"") + &frame.labels(false);
    let (zero, _) = frame.place(0.0, 0.0);
    inside += &line((zero, TOP), (zero, bottom), "class=\"axis-line\"");
    for (nth, bar) in bars.iter().enumerate() {
        let height = bars.len() as f64 - nth as f64 - 0.5;
        let place = |value: f64| frame.place(value.clamp(from, to), height);
        let look = if bar.is_sure { "class=\"gain-line\"" } else { "class=\"seen-line\"" };
        let (_, y) = place(0.0);
        inside += &text((LEFT - 8.0, y + 4.0), "text-anchor=\"end\"", &bar.name);
        inside += &line(place(bar.gain.from), place(bar.gain.to), look);
        let class = if bar.is_sure { "point passed" } else { "point undecided" };
        let title = escaped(&format!("{}: {}", bar.name, words::gain(Some(bar.gain))));
        let mark = shape(if bar.is_sure { 0 } else { 3 }, place(bar.gain.estimate));
        inside += &format!("<g class=\"{class}\"><title>{title}</title>{mark}</g>\n");
    }
    let height = bottom + FOOT;
    let help = "Circles: confirmed on fresh data, what each change adds to the others. Rhombi: as seen on the way, not \
                confirmed; an interval that holds 0 shows no gain.";
    Some(format!(
        "<p class=\"help\">{help}</p>\n<div class=\"drawn-charts\">\n<figure class=\"wide\">\n\
         <svg viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" aria-label=\"Gain of each change with its interval; the \
         tables have the same\">\n{inside}</svg>\n</figure>\n</div>\n"
    ))
}

fn bars(report: &TuneReport<'_>) -> Vec<Bar> {
    let mut bars = Vec::new();
    let name = |at: usize| report.parameters.get(at).map_or_else(String::new, |of| safe(&of.id));
    if let Verdict::Gains(gains) = &report.answer.verdict {
        if gains.parts.len() > 1 {
            bars.push(Bar { name: "all together".to_owned(), gain: gains.together, is_sure: true });
        }
        let part = |part: &dnsdyno_campaign::tune::Part| {
            Some(Bar { name: name(part.parameter), gain: part.adds?, is_sure: true })
        };
        bars.extend(gains.parts.iter().filter_map(part));
    }
    let is_other = |row: &Row| !matches!(row.state, RowState::Gain | RowState::NoEffectPossible);
    let seen = report.answer.rows.iter().enumerate().filter(|(_, row)| is_other(row));
    let mut seen: Vec<Bar> =
        seen.filter_map(|(at, row)| Some(Bar { name: name(at), gain: row.seen?, is_sure: false })).collect();
    seen.sort_by(|a, b| b.gain.estimate.total_cmp(&a.gain.estimate));
    bars.extend(seen.into_iter().take(MOST_BARS));
    bars
}

fn parameters(report: &TuneReport<'_>) -> String {
    let titles = ["parameter", "how it fared", "seen on the way", "trials", "was", "tried", "list", "why"];
    let row = |(at, (row, of)): (usize, (&Row, &ParameterReport))| {
        vec![
            safe(&of.id),
            words::state(row),
            if row.state == RowState::NoEffectPossible { String::new() } else { words::gain(row.seen) },
            count(u64::from(row.trials)),
            of.present.as_deref().map_or("not set".to_owned(), safe),
            of.values.iter().map(|value| safe(value)).collect::<Vec<_>>().join(", "),
            words::numbers(&of.numbers),
            words::why(report, at, row),
        ]
    };
    let rows = report.answer.rows.iter().zip(&report.parameters).enumerate().map(row);
    // Trials, values and gains are figures.
    let is_text = |column: usize| !(2..=5).contains(&column);
    let help = "What was seen on the way chose what was tried next; it is not confirmed.";
    format!(
        "<p class=\"help\">{help}</p>\n{}",
        table_with_links("How each parameter fared", &titles, &is_text, &rows.collect::<Vec<_>>(), &|_| None)
    )
}

fn not_here(report: &TuneReport<'_>) -> String {
    let row = |one: &dnsdyno_campaign::tune::report::NotHereReport| {
        vec![safe(&one.id), words::numbers(&one.numbers), safe(&one.why)]
    };
    let rows: Vec<Vec<String>> = report.not_here.iter().map(row).collect();
    table("Parameters that could not be changed here", &["parameter", "list", "why"], 3, &rows)
}

fn texts(files: &[(String, String)]) -> String {
    let file = |(path, text): &(String, String)| {
        let lines: Vec<String> = text.lines().map(|line| escaped(&safe(line))).collect();
        format!(
            "<details open><summary>{}</summary>\n<pre>{}</pre></details>\n",
            escaped(&safe(path)),
            lines.join("\n")
        )
    };
    files.iter().map(file).collect()
}

fn judged(report: &TuneReport<'_>) -> Vec<String> {
    let by = match report.judge {
        "answered" => {
            "Each trial is one load beyond what the server holds, judged by its answers per second."
                .to_owned()
        }
        percentile => format!("Each trial is one load, judged by {percentile} of its latency."),
    };
    vec![
        by,
        "Parameters whose counters did not move under this load are not tried. The others are screened together (a \
         Plackett-Burman design), then compared one at a time with a trial of the base before and after each."
            .to_owned(),
        format!(
            "The answer is confirmed by {} pairs on fresh data. A night on a host where nothing helps reports a gain \
             in one of twenty cases at most.",
            count(u64::from(report.pairs))
        ),
        format!("{}.", words::cost(report)),
    ]
}

/// The size of the chart; its height follows from the rows.
const WIDTH: f64 = 760.0;
const LEFT: f64 = 250.0;
const RIGHT: f64 = 724.0;
const TOP: f64 = 10.0;
const ROW: f64 = 24.0;
/// For the labels of the axis.
const FOOT: f64 = 40.0;

/// More are in the table.
const MOST_BARS: usize = 16;

/// A gain of ten times and more is as wide as the chart.
const MOST_SHOWN: f64 = 10.0;

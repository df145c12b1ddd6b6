//! A comparison for a terminal.

use dnsdyno_text::layout::{NARROWEST, NOTHING, Table, flow_after, paragraph, words};
use dnsdyno_text::safe;
use dnsdyno_text::units::counted;

use super::bounds::bound;
use super::words::{figure, interval, labels, note, probability, sentence, signed, verdict_words};
use crate::compare::{Compared, Comparison, Mismatch, Verdict};

/// The comparison in lines of at most `width` columns (40 at least).
pub fn comparison(comparison: &Comparison, width: usize) -> String {
    let width = width.max(NARROWEST);
    let mut out = String::new();
    let mut entry = |key: &str, text: &str| {
        flow_after(&mut out, &format!("{key:<HEAD_INDENT$}"), words(text), " ", HEAD_INDENT, width);
    };
    entry("asked", &safe(&comparison.asked));
    for (key, runs) in [("candidate", &comparison.candidate), ("baseline", &comparison.baseline)] {
        entry(key, &format!("{}: {}", counted(runs.len() as u64, "run", "runs"), labels(runs)));
    }
    out.push('\n');
    table(&mut out, "metric", &comparison.metrics, width);
    if let (Some(first), false) = (comparison.metrics.first(), comparison.steps.is_empty()) {
        out.push('\n');
        paragraph(&mut out, &format!("{} by step:", safe(&first.name)), 0, 2, width);
        table(&mut out, "step", &comparison.steps, width);
    }
    notes(&mut out, comparison, width);
    out.push('\n');
    paragraph(&mut out, &sentence(comparison), 0, 2, width);
    for outcome in &comparison.bounds {
        let (sign, change) = bound(comparison, outcome);
        paragraph(&mut out, &format!("{sign}: {} ({change})", safe(&outcome.text)), 0, 2, width);
    }
    out
}

/// What was not asked alike: a line each, with the runs of each value.
pub fn unlike_lines(unlike: &[Mismatch]) -> String {
    let value = |(value, runs): &(String, Vec<String>)| format!("{} ({})", safe(value), labels(runs));
    let line = |unlike: &Mismatch| {
        let values: Vec<_> = unlike.values.iter().map(value).collect();
        format!("{}: {}", safe(&unlike.what), values.join("; "))
    };
    unlike.iter().map(line).collect::<Vec<_>>().join("\n")
}

fn table(out: &mut String, title: &'static str, metrics: &[Compared], width: usize) {
    let cells = |cell: &dyn Fn(&Compared) -> Option<String>| {
        metrics.iter().map(|metric| cell(metric).unwrap_or_else(|| NOTHING.to_owned())).collect::<Vec<_>>()
    };
    let can_show = |metric: &Compared| metric.verdict != Verdict::TooFew;
    let mut table = Table::default();
    table.left(title, 0, cells(&|metric| Some(safe(&metric.name))));
    table.right("baseline", 1, cells(&|metric| Some(figure(metric.kind, metric.baseline_median))));
    table.right("candidate", 1, cells(&|metric| Some(figure(metric.kind, metric.candidate_median))));
    table.right("change", 0, cells(&signed));
    let ends = |metric: &Compared| interval(metric.kind, &metric.change?).filter(|_| !metric.is_constant);
    table.right("95 % interval", 2, cells(&ends));
    table.right(
        "higher in",
        4,
        cells(&|metric| Some(format!("{:.0} %", metric.effect * 100.0)).filter(|_| !metric.is_constant)),
    );
    let p = |metric: &Compared| Some(probability(metric.probability.alone)).filter(|_| can_show(metric));
    table.right("p", 3, cells(&|metric| p(metric).filter(|_| !metric.is_constant)));
    table.left("", 0, cells(&|metric| Some(verdict_words(metric))));
    table.write(out, width);
}

fn notes(out: &mut String, comparison: &Comparison, width: usize) {
    if !comparison.unlike.is_empty() {
        out.push_str("\nNOT ASKED ALIKE\n");
        unlike_lines(&comparison.unlike).lines().for_each(|line| paragraph(out, line, 2, 4, width));
    }
    if !comparison.notes.is_empty() {
        out.push('\n');
    }
    for text in comparison.notes.iter().take(MOST_NOTES) {
        paragraph(out, &format!("note: {}", note(text)), 0, 2, width);
    }
    let more = comparison.notes.len().saturating_sub(MOST_NOTES) as u64;
    if more > 0 {
        out.push_str(&format!("and {} in --json\n", counted(more, "more note", "more notes")));
    }
}

/// The column of the values.
const HEAD_INDENT: usize = 11;

/// With more, the figures would leave the screen.
const MOST_NOTES: usize = 8;

//! A history for a terminal.

use dnsdyno_text::layout::{NARROWEST, paragraph};
use dnsdyno_text::safe;

use super::words::{figure, gate, metric_name, notes, row_name, row_size, sentence, sentences};
use crate::history::{History, Judged, Row};

/// The history in lines of at most `width` columns (40 at least).
pub fn history_text(history: &History, width: usize) -> String {
    let width = width.max(NARROWEST);
    let mut out = String::new();
    for (row, judged) in &history.rows {
        paragraph(&mut out, &format!("{}: {}", row_name(row), row_size(row)), 0, 2, width);
        judged.iter().for_each(|judged| of_metric(&mut out, row, judged, width));
        out.push('\n');
    }
    notes(history).iter().for_each(|note| paragraph(&mut out, &format!("note: {note}"), 0, 2, width));
    paragraph(&mut out, &sentence(history), 0, 2, width);
    for outcome in &history.gates {
        let (word, why) = gate(history, outcome);
        paragraph(&mut out, &format!("{word}: {} ({why})", safe(&outcome.gate)), 0, 2, width);
    }
    out
}

fn of_metric(out: &mut String, row: &Row, judged: &Judged, width: usize) {
    let level = now(row, judged).map_or(String::new(), |level| format!(" {level} now"));
    let said = sentences(row, judged).join("; ");
    paragraph(out, &format!("{}{level}: {said}", metric_name(judged.metric, row)), 2, 4, width);
}

/// The level of the last runs; that of a run may be known only to be at least so high.
pub(super) fn now(row: &Row, judged: &Judged) -> Option<String> {
    let last = judged.found.segments.last()?;
    let figures = judged.figures.get(last.from..last.to)?;
    let level = crate::statistics::median(&mut figures.to_vec());
    let runs = judged.runs.get(last.from..last.to)?.iter();
    let known = runs.filter_map(|run| row.runs[*run].entry.figures.get(judged.metric.key));
    let is_at_least = known.filter(|figure| figure.at_least).any(|figure| figure.value <= level);
    Some(figure(judged.metric, level, is_at_least))
}

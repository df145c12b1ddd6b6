//! A history as Markdown, for a pull request.

use dnsdyno_text::markdown::{Table, text};

use super::text::now;
use super::words::{gate, metric_name, notes, row_name, row_size, sentence, sentences, step_word};
use crate::history::{GateState, History, Judged, Row};

/// The history as Markdown.
pub fn history_markdown(history: &History) -> String {
    let mut out = format!("**{}**\n\n", text(&sentence(history)));
    for outcome in &history.gates {
        let sign = match outcome.state {
            GateState::Kept { .. } => SAME,
            GateState::Exceeded { .. } => WORSE,
            GateState::NotJudged(_) => UNKNOWN,
        };
        let (word, why) = gate(history, outcome);
        out.push_str(&format!("- {sign} {word}: {} ({})\n", text(&outcome.gate), text(&why)));
    }
    if !history.gates.is_empty() {
        out.push('\n');
    }
    for (row, judged) in &history.rows {
        out.push_str(&format!("{}: {}\n\n", text(&row_name(row)), text(&row_size(row))));
        let mut table = Table::default();
        table.left("").left("metric").right("now").left("");
        judged.iter().for_each(|judged| table.row(cells(row, judged)));
        out.push_str(&table.lines());
    }
    notes(history).iter().for_each(|note| out.push_str(&format!("- {}\n", text(note))));
    out
}

fn cells(row: &Row, judged: &Judged) -> [String; 4] {
    let words: Vec<&str> = (0..judged.found.steps.len()).map(|place| step_word(judged, place)).collect();
    let sign = match () {
        () if words.contains(&"worse") => WORSE,
        () if words.contains(&"better") => BETTER,
        () if !judged.is_enough() => UNKNOWN,
        () => SAME,
    };
    [
        sign.to_owned(),
        text(&metric_name(judged.metric, row)),
        text(&now(row, judged).unwrap_or_default()),
        text(&sentences(row, judged).join("; ")),
    ]
}

const BETTER: &str = "✅";
const WORSE: &str = "❌";
const SAME: &str = "➖";
const UNKNOWN: &str = "❔";

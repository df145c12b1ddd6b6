//! The answer of a night on a terminal.

use dnsdyno_text::layout::{Table, paragraph};
use dnsdyno_text::safe;

use super::{TuneReport, words};
use crate::tune::{RowState, Verdict};

/// The answer, the changes that gain, how the others fared, and what it cost, at most `width` columns wide.
pub fn tune_text(report: &TuneReport<'_>, width: usize) -> String {
    let mut out = String::new();
    paragraph(&mut out, &words::sentence(report), 0, 2, width);
    if matches!(report.answer.verdict, Verdict::NotOverloaded | Verdict::NoBase { .. }) {
        return out;
    }
    out.push('\n');
    if let Verdict::Gains(gains) = &report.answer.verdict {
        let rows = words::changes(report, gains);
        let column = |at: usize| rows.iter().filter_map(|row| row.get(at).cloned()).collect::<Vec<_>>();
        let mut table = Table::default();
        table.left("change", 0, column(0));
        table.right("from", 0, column(1));
        table.right("to", 0, column(2));
        table.right("adds to the others", 0, column(3));
        table.right("alone", 1, column(4));
        table.left("costs", 2, column(5));
        table.write(&mut out, width);
        words::memory(gains).iter().for_each(|memory| paragraph(&mut out, memory, 0, 2, width));
        out.push('\n');
    }
    others(&mut out, report, width);
    not_here(&mut out, report, width);
    paragraph(&mut out, &words::cost(report), 0, 2, width);
    for note in &report.answer.notes {
        paragraph(&mut out, &format!("note: {note}"), 0, 2, width);
    }
    out
}

/// The parameters that are no part of the answer, by how they fared.
fn others(out: &mut String, report: &TuneReport<'_>, width: usize) {
    let groups = [
        ("not_confirmed", "a gain that is not confirmed"),
        ("dropped", "no gain beside the others"),
        ("no_gain", "no gain"),
        ("worse", "worse"),
        ("fails", "the server does not run with"),
        ("doubtful", "not known, because none of the trials with it counts"),
        ("no_effect_possible", "no effect possible, because no counter on which they act has moved"),
        ("not_tried", "not tried"),
    ];
    for (key, title) in groups {
        let rows = report.answer.rows.iter().zip(&report.parameters);
        let rows = rows.filter(|(row, _)| words::state_key(row) == key);
        let names: Vec<String> = rows
            .map(|(row, of)| match row.seen {
                Some(seen) if row.state != RowState::NoEffectPossible => {
                    format!("{} {}", safe(&of.id), words::gain(Some(seen)))
                }
                _ => safe(&of.id),
            })
            .collect();
        if !names.is_empty() {
            paragraph(out, &format!("{title}: {}", names.join(", ")), 0, 2, width);
        }
    }
}

/// The parameters that could not be changed, by the reason.
fn not_here(out: &mut String, report: &TuneReport<'_>, width: usize) {
    let mut reasons: Vec<(&str, Vec<String>)> = Vec::new();
    for one in &report.not_here {
        match reasons.iter_mut().find(|(why, _)| *why == one.why) {
            Some((_, names)) => names.push(safe(&one.id)),
            None => reasons.push((&one.why, vec![safe(&one.id)])),
        }
    }
    for (why, names) in reasons {
        paragraph(out, &format!("not changed: {}: {}", names.join(", "), safe(why)), 0, 2, width);
    }
    out.push('\n');
}

//! The results of an experiment on a terminal.

use dnsdyno_text::layout::{Table, paragraph};

use super::{ExperimentReport, words};
use crate::compare::Kind;

/// The table of the cells, and a sentence for each comparison, at most `width` columns wide.
pub fn experiment_text(report: &ExperimentReport<'_>, width: usize) -> String {
    let result = report.result;
    let mut out = String::new();
    let cells = |cell: &dyn Fn(&crate::experiment::CellResult) -> String| {
        words::measured(result).map(|(_, of)| cell(of)).collect::<Vec<_>>()
    };
    let mut table = Table::default();
    table.left("load", 0, cells(&|cell| words::load(result, cell.cell.load)));
    table.left("server", 0, cells(&|cell| words::subject(result, cell.cell.subject)));
    table.right("runs", 5, cells(&|cell| words::runs(result, cell)));
    table.right("asked/s", 6, cells(&words::asked));
    table.right("answered", 0, cells(&|cell| words::median(Kind::Rate, cell, cell.answered)));
    table.right("share", 1, cells(&|cell| words::median(Kind::Share, cell, cell.share)));
    for (title, dispensable) in [("p50", 2), ("p99", 0), ("p99.9", 4)] {
        table.right(
            title,
            dispensable,
            cells(&|cell| words::median(Kind::Duration, cell, words::percentile(cell, title))),
        );
    }
    table.right("CPU/answer", 3, cells(&|cell| words::median(Kind::Duration, cell, cell.cpu_ns)));
    if words::measured(result).next().is_some() {
        table.write(&mut out, width);
        words::wide(result).into_iter().for_each(|wide| paragraph(&mut out, wide, 0, 2, width));
        out.push('\n');
    }
    for (cell, _, found) in words::found(result) {
        let (load, subject) =
            (words::load(result, cell.cell.load), words::subject(result, cell.cell.subject));
        paragraph(&mut out, &format!("{subject} under {load}: {}", words::answer(cell, found)), 0, 2, width);
    }
    if words::found(result).next().is_some() {
        out.push('\n');
    }
    for difference in &result.differences {
        paragraph(&mut out, &words::difference(result, difference), 0, 2, width);
    }
    if !result.differences.is_empty() {
        out.push('\n');
    }
    words::versions(report).into_iter().for_each(|versions| paragraph(&mut out, &versions, 0, 2, width));
    paragraph(&mut out, &words::state(result), 0, 2, width);
    for note in &result.notes {
        paragraph(&mut out, &format!("note: {note}"), 0, 2, width);
    }
    out
}

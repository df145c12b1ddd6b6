//! The results of an experiment on a terminal.

use dnsdyno_text::layout::{Table, paragraph};

use super::{ExperimentReport, details, words};
use crate::compare::Kind;
use crate::experiment::ExperimentResult;

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
            cells(&|cell| words::median(Kind::Duration, cell, words::percentile(&cell.percentiles, title))),
        );
    }
    table.right("CPU/answer", 3, cells(&|cell| words::median(Kind::Duration, cell, cell.cpu_ns)));
    if words::measured(result).next().is_some() {
        table.write(&mut out, width);
        words::wide(result).into_iter().for_each(|wide| paragraph(&mut out, wide, 0, 2, width));
        out.push('\n');
        write_details(&mut out, result, width);
        out.push('\n');
    }
    write_steps(&mut out, result, width);
    let steady = words::steady(result);
    if !steady.is_empty() {
        steady.iter().for_each(|line| paragraph(&mut out, line, 0, 2, width));
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
    write_printed(&mut out, result, width);
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

/// The second table: what else is known of each cell, and the columns of the file.
fn write_details(out: &mut String, result: &ExperimentResult, width: usize) {
    let cells: Vec<_> = words::measured(result).map(|(_, cell)| cell).collect();
    let texts: Vec<_> = cells.iter().map(|cell| details::details(cell)).collect();
    let mut table = Table::default();
    table.left("load", 0, cells.iter().map(|cell| words::load(result, cell.cell.load)).collect());
    table.left("server", 0, cells.iter().map(|cell| words::subject(result, cell.cell.subject)).collect());
    for (at, title) in details::DETAILS.into_iter().enumerate() {
        table.right(title, 0, texts.iter().filter_map(|texts| texts.get(at).cloned()).collect());
    }
    for (at, column) in details::columns_of_file(result) {
        let figures = cells.iter().map(|cell| details::middle(cell, at, column)).collect();
        table.right(details::title(column), 0, figures);
    }
    table.write_all(out, KEYS, width);
}

/// The rates of the loads that have several.
fn write_steps(out: &mut String, result: &ExperimentResult, width: usize) {
    let steps: Vec<_> = words::steps(result).collect();
    if steps.is_empty() {
        return;
    }
    let rows: Vec<_> = steps.iter().map(|(cell, step)| words::step(cell, step)).collect();
    let cells = steps.iter().map(|(cell, _)| cell);
    let mut table = Table::default();
    table.left("load", 0, cells.clone().map(|cell| words::load(result, cell.cell.load)).collect());
    table.left("server", 0, cells.map(|cell| words::subject(result, cell.cell.subject)).collect());
    for (at, title) in words::STEP_TITLES.into_iter().enumerate() {
        table.right(title, 0, rows.iter().filter_map(|row| row.get(at).cloned()).collect());
    }
    table.write_all(out, KEYS, width);
    out.push('\n');
}

/// What other programs have printed in their last run under each load, as it is.
fn write_printed(out: &mut String, result: &ExperimentResult, width: usize) {
    for (cell, number, found) in words::printed(result) {
        let cut = words::cut(found).map_or_else(String::new, |cut| format!(" ({cut})"));
        paragraph(out, &format!("{}{cut}:", words::whose(result, cell, number)), 0, 2, width);
        words::lines(found).iter().for_each(|line| {
            out.push_str(line);
            out.push('\n');
        });
        out.push('\n');
    }
}

/// Load and server, which each part of a table has.
const KEYS: usize = 2;

//! The results of an experiment as Markdown.

use std::fmt::Write;

use dnsdyno_measure::PERCENTILES;
use dnsdyno_text::markdown::{Table, text};

use super::{ExperimentReport, details, words};
use crate::compare::Kind;
use crate::experiment::{CellResult, ExperimentResult};

/// The results as Markdown: `results.md`.
pub fn experiment_markdown(report: &ExperimentReport<'_>) -> String {
    let mut out = format!("# {}\n\n{}\n\n", text(report.title), text(&words::state(report.result)));
    for sentence in &report.conditions {
        // Writing to a String cannot fail.
        let _ = writeln!(out, "- {}", text(sentence));
    }
    let _ = write!(out, "\n## Servers\n\n{}", servers(report).lines());
    let _ = write!(
        out,
        "## Figures\n\nMedian of the runs, and in brackets the lowest and the highest run. {}\n\n",
        [Some(words::CPU), words::wide(report.result)].into_iter().flatten().collect::<Vec<_>>().join(" ")
    );
    out.push_str(&figures(report).lines());
    let _ = write!(out, "## Details\n\n{}\n\n{}", text(details::HELP), of_details(report).lines());
    steps(&mut out, report);
    course(&mut out, report);
    found(&mut out, report);
    differences(&mut out, report);
    let _ = write!(out, "## Bottlenecks\n\n{}", diagnoses(report).lines());
    if details::columns(report.result).next().is_some() {
        let _ = write!(out, "## Watched beside the load\n\n{}", beside(report).lines());
    }
    discarded(&mut out, report);
    out
}

fn servers(report: &ExperimentReport<'_>) -> Table {
    let mut table = Table::default();
    table.left("server").left("version").left("compared with").left("changed");
    for (number, subject) in report.result.design.subjects.iter().enumerate() {
        let version =
            report.versions.get(number).cloned().flatten().unwrap_or_else(|| "not known".to_owned());
        let against = subject.against.map_or("-".to_owned(), |other| words::subject(report.result, other));
        let differs = if subject.differs.is_empty() { "-" } else { &subject.differs };
        table.row([&subject.name, &version, &against, differs].map(text));
    }
    table
}

fn figures(report: &ExperimentReport<'_>) -> Table {
    let result = report.result;
    let mut table = Table::default();
    table.left("load").left("server").right("runs").right("asked/s").right("answered").right("share");
    for (_, name, _) in PERCENTILES {
        table.right(name);
    }
    table.right("CPU/answer");
    for (_, cell) in words::measured(result) {
        let fixed = [
            words::load(result, cell.cell.load),
            words::subject(result, cell.cell.subject),
            words::runs(result, cell),
            words::asked(cell),
            words::spread(Kind::Rate, cell, cell.answered),
            words::spread(Kind::Share, cell, cell.share),
        ];
        let percentiles =
            cell.percentiles.values.iter().map(|spread| words::spread(Kind::Duration, cell, *spread));
        let cpu = words::spread(Kind::Duration, cell, cell.cpu_ns);
        table.row(fixed.into_iter().chain(percentiles).chain([cpu]).map(|cell| text(&cell)));
    }
    table
}

fn of_details(report: &ExperimentReport<'_>) -> Table {
    let rows = words::measured(report.result).map(|(_, cell)| (cell, details::details(cell)));
    of_cells(report.result, details::DETAILS, rows)
}

/// A table whose rows are about cells, named in the first columns.
fn of_cells<'a, const N: usize>(
    result: &ExperimentResult,
    titles: [&str; N],
    rows: impl Iterator<Item = (&'a CellResult, [String; N])>,
) -> Table {
    let mut table = Table::default();
    table.left("load").left("server");
    for title in titles {
        table.right(title);
    }
    for (cell, row) in rows {
        let names = [words::load(result, cell.cell.load), words::subject(result, cell.cell.subject)];
        table.row(names.into_iter().chain(row).map(|cell| text(&cell)));
    }
    table
}

/// The rates of the loads that have several.
fn steps(out: &mut String, report: &ExperimentReport<'_>) {
    let rows = words::steps(report.result).map(|(cell, step)| (cell, words::step(cell, step)));
    let lines = of_cells(report.result, words::STEP_TITLES, rows).lines();
    if !lines.is_empty() {
        let _ = write!(out, "## Rates of a load\n\n{lines}");
    }
}

/// The loads whose course is shown, interval by interval.
fn course(out: &mut String, report: &ExperimentReport<'_>) {
    let result = report.result;
    let rows = words::moments(result).map(|(cell, moment)| (cell, words::moment(cell, moment)));
    let lines = of_cells(result, words::MOMENT_TITLES, rows).lines();
    if !lines.is_empty() {
        let steady: String = words::steady(result).iter().map(|line| format!("- {}\n", text(line))).collect();
        let _ = write!(out, "## Course of a load\n\n{steady}\n{lines}");
    }
}

/// What searches and programs have found: a line for each run, and what is to be seen beside it.
fn found(out: &mut String, report: &ExperimentReport<'_>) {
    let result = report.result;
    if words::found(result).next().is_none() {
        return;
    }
    let mut table = Table::default();
    table.left("load").left("server").right("run").left("found");
    for (cell, number, found) in words::found(result) {
        let (load, subject) =
            (words::load(result, cell.cell.load), words::subject(result, cell.cell.subject));
        table.row([load, subject, number.to_string(), words::answer(cell, found)].map(|cell| text(&cell)));
    }
    let _ = write!(out, "## Searches and programs\n\n{}", table.lines());
    for (cell, number, found) in words::found(result) {
        let _ = write!(out, "### {}\n\n", text(&words::whose(result, cell, number)));
        if let Some(cut) = words::cut(found) {
            let _ = write!(out, "{cut}.\n\n");
        }
        // Four spaces: whatever the lines are, they are shown as they are.
        for line in words::lines(found) {
            let _ = writeln!(out, "{}", format!("    {line}").trim_end());
        }
        out.push('\n');
    }
}

fn differences(out: &mut String, report: &ExperimentReport<'_>) {
    let result = report.result;
    if result.differences.is_empty() {
        return;
    }
    out.push_str("## Differences\n\n");
    for difference in &result.differences {
        let _ = writeln!(out, "- {}", text(&words::difference(result, difference)));
    }
    let _ = writeln!(out, "\n{}\n", text(&words::risk(result).unwrap_or_default()));
    let mut table = Table::default();
    table.left("load").left("server").left("against").left("metric");
    table.right("against").right("server").right("change").right("95 % interval").left("verdict");
    for cells in words::changes(result) {
        table.row(cells.map(|cell| text(&cell)));
    }
    out.push_str(&table.lines());
}

fn diagnoses(report: &ExperimentReport<'_>) -> Table {
    let mut table = Table::default();
    table.left("load").left("server").left("what its runs show");
    for (at, cell) in words::measured(report.result) {
        let Some(found) = report.diagnoses.get(at) else { continue };
        let (load, subject) =
            (words::load(report.result, cell.cell.load), words::subject(report.result, cell.cell.subject));
        table.row([load, subject, words::diagnosis(found)].map(|cell| text(&cell)));
    }
    table
}

fn beside(report: &ExperimentReport<'_>) -> Table {
    let result = report.result;
    let mut table = Table::default();
    table.left("load").left("server");
    for (_, column) in details::columns(result) {
        table.right(&text(&details::title(column)));
    }
    for (_, cell) in words::measured(result) {
        let names = [words::load(result, cell.cell.load), words::subject(result, cell.cell.subject)];
        let figures = details::columns(result).map(|(at, column)| details::with_range(cell, at, column));
        table.row(names.into_iter().chain(figures).map(|cell| text(&cell)));
    }
    table
}

fn discarded(out: &mut String, report: &ExperimentReport<'_>) {
    let result = report.result;
    out.push_str("## Discarded\n\n");
    if let Some(dropped) = words::dropped(result) {
        let _ = writeln!(out, "- {dropped}");
    }
    for run in &result.discarded {
        let _ = writeln!(out, "- {}", text(&words::discarded(result, run)));
    }
    for note in &result.notes {
        let _ = writeln!(out, "\nNote: {}", text(note));
    }
}

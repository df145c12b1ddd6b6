//! The page of a history: the answer, a chart of each figure of each row with its steps, and what each step is.
//!
//! ```text
//!   History ─► sentence, gates, a section for each row: charts as SVG (chart), sentences, the runs ─► one HTML file
//! ```

mod chart;

use dnsdyno_campaign::history::report::words::{
    figure, gate, metric_name, notes, row_name, row_size, sentence, sentences,
};
use dnsdyno_campaign::history::{History, HistoryRun, Judged, Row};
use dnsdyno_text::units::{count, counted};
use dnsdyno_text::{escaped, safe};

use crate::Options;
use crate::document::{self, Document, table_with_links};
use crate::made::utc;

/// Where the page of a history leads.
pub struct HistoryLinks<'a> {
    /// The address of an entry, by its folder below that of the history.
    pub run: &'a dyn Fn(&HistoryRun) -> Option<String>,
    /// The list that the runs are in.
    pub home: Option<&'a str>,
}

/// The page of the history of a folder, as an HTML file. `folder` is what it is called.
pub fn history(folder: &str, history: &History, links: &HistoryLinks<'_>, options: &Options) -> Vec<u8> {
    let title = format!("History of {}", safe(folder));
    let mut page = Document::new(&title, options);
    links.home.iter().for_each(|home| page.way_back(home, "All runs"));
    page.heading(options.title.as_deref().unwrap_or(&title), &state(history));
    page.answer(&sentence(history), &figures(history));
    page.list(&gates(history), "answers");
    page.list(&notes(history), "notes");
    for (at, (row, judged)) in history.rows.iter().enumerate().take(MOST_ROWS) {
        page.section(&format!("row-{at}"), &row_name(row), &section(history, row, judged, links));
    }
    if history.rows.len() > MOST_ROWS {
        let more = counted((history.rows.len() - MOST_ROWS) as u64, "older row is", "older rows are");
        page.list(&[format!("{more} not on this page: choose runs with --label.")], "notes");
    }
    page.section("judged", "How it is judged", &document::list(&judged_by(), "conditions"));
    page.finish()
}

fn state(history: &History) -> String {
    format!(
        "{} in {}, by {}",
        counted(history.entries() as u64, "entry", "entries"),
        counted(history.rows.len() as u64, "row", "rows"),
        safe(history.axis.word())
    )
}

fn figures(history: &History) -> Vec<(String, String)> {
    let Some((row, judged)) = history.rows.first() else { return Vec::new() };
    let now = |judged: &Judged| {
        let at = *judged.runs.last()?;
        let value = row.runs.get(at)?.entry.figures.get(judged.metric.key)?;
        let name = format!("{}, newest", judged.metric.title);
        Some((name, figure(judged.metric, value.value, value.at_least)))
    };
    judged.iter().filter_map(now).take(MOST_FIGURES).collect()
}

fn gates(history: &History) -> Vec<String> {
    let line = |outcome: &dnsdyno_campaign::history::GateOutcome| {
        let (word, why) = gate(history, outcome);
        format!("{word}: {} ({why})", safe(&outcome.gate))
    };
    history.gates.iter().map(line).collect()
}

fn section(history: &History, row: &Row, judged: &[Judged], links: &HistoryLinks<'_>) -> String {
    let charts: String =
        judged.iter().map(|judged| chart::svg(&history.axis, row, judged, links.run)).collect();
    let said: Vec<String> = judged
        .iter()
        .map(|judged| format!("{}: {}", metric_name(judged.metric, row), sentences(row, judged).join("; ")))
        .collect();
    format!(
        "<p class=\"help\">{}. A point is a run, and a link to it where the page has its address.</p>\n{}\
         <div class=\"drawn-charts\">\n{charts}</div>\n{}{}",
        escaped(&row_size(row)),
        chart::legend(),
        document::list(&said, "answers"),
        runs(row, judged, links)
    )
}

/// The newest runs with their figures.
fn runs(row: &Row, judged: &[Judged], links: &HistoryLinks<'_>) -> String {
    let newest: Vec<&HistoryRun> = row.runs.iter().rev().take(MOST_RUNS).collect();
    let mut titles = vec!["run", "started", "version"];
    titles.extend(judged.iter().map(|judged| judged.metric.title));
    titles.push("not judged");
    let cells = |run: &&HistoryRun| {
        let label = |key: &str| run.entry.labels.get(key).map_or(String::new(), |value| safe(value));
        let mut cells = vec![safe(&run.folder), utc(run.entry.started_unix_ns), label("version")];
        cells.extend(judged.iter().map(|judged| {
            let value = run.entry.figures.get(judged.metric.key);
            value.map_or("-".to_owned(), |value| figure(judged.metric, value.value, value.at_least))
        }));
        cells.push(run.entry.left_out.as_deref().map_or(String::new(), safe));
        cells
    };
    let rows: Vec<Vec<String>> = newest.iter().map(cells).collect();
    let last = titles.len() - 1;
    let is_text = |column: usize| column < 3 || column == last;
    let link = |at: usize| (links.run)(newest.get(at)?);
    let summary = match row.runs.len() > MOST_RUNS {
        true => format!("The newest {} of {} runs", count(MOST_RUNS as u64), count(row.runs.len() as u64)),
        false => "All runs".to_owned(),
    };
    format!(
        "<details><summary>{summary}</summary>\n{}</details>\n",
        table_with_links("The runs of this row, the newest first", &titles, &is_text, &rows, &link)
    )
}

fn judged_by() -> Vec<String> {
    vec![
        "Runs are of one row where they were asked the same by the same kind of host, and have the same kind of server."
            .to_owned(),
        "A step is a level that changes and stays for three runs or more; a run that is far from its level and alone \
         counts as disturbed. It is told where at most 1 of 100 other orders of the same runs show as much."
            .to_owned(),
        "The shaded part of a chart is where the step may have begun, 95 times in 100.".to_owned(),
        "Vertical axes do not begin at 0, so that small steps are seen.".to_owned(),
    ]
}

/// Rows on a page: more are not looked at.
const MOST_ROWS: usize = 40;

/// Runs in a table.
const MOST_RUNS: usize = 200;

const MOST_FIGURES: usize = 4;

#[cfg(test)]
mod tests;

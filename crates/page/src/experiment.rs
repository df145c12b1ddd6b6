//! The page of an experiment: curves of each server against the load, differences, bottlenecks, what was discarded.
//!
//! ```text
//!   ExperimentReport ─► charts as SVG (chart), tables with the same figures ─► one HTML file, without a script
//! ```
//!
//! It is drawn here and not by the program of `web/`: it has a few points per curve, and is read, not explored. Its
//! look is that of the other pages: the same style sheet, with the few rules of `document.css` after it.

mod chart;
mod course;
mod curves;
mod pairs;

use dnsdyno_campaign::compare::Kind;
use dnsdyno_campaign::experiment::report::{ExperimentReport, details, words};
use dnsdyno_campaign::experiment::{CellResult, RunFigures};
use dnsdyno_text::{escaped, preformatted};

use crate::Options;
use crate::document::{self, Document, table, table_with_links};
use curves::Layout;

/// The page of an experiment, as an HTML file. `link` has the address of a run by its number.
pub fn experiment(
    report: &ExperimentReport<'_>,
    link: &dyn Fn(u32) -> Option<String>,
    options: &Options,
) -> Vec<u8> {
    let mut page = Document::new(report.title, options);
    page.heading(report.title, &words::state(report.result));
    let answers: Vec<String> = report
        .result
        .differences
        .iter()
        .map(|difference| words::difference(report.result, difference))
        .collect();
    page.list(&answers, "answers");
    page.list(&report.result.notes, "notes");
    let only_load = Layout::of(report.result).only_load();
    let heading = only_load.map_or_else(
        || "Against the load".to_owned(),
        |load| format!("Under {}", words::load(report.result, load)),
    );
    page.section("curves", &heading, &charts(report));
    page.section("figures", "Figures", &figures(report));
    page.section("details", "Details", &of_details(report));
    if words::steps(report.result).next().is_some() {
        page.section("steps", "Rates of a load", &steps(report));
    }
    if let Some(course) = course::course(report) {
        page.section("course", "Course", &course);
    }
    if words::found(report.result).next().is_some() {
        page.section("found", "Searches and programs", &found(report, link));
    }
    if !report.result.differences.is_empty() {
        page.section("differences", "Differences", &differences(report));
    }
    if let Some(pairs) = pairs::pairs(report) {
        page.section("pairs", "Two servers", &pairs);
    }
    page.section("bottlenecks", "Bottlenecks", &bottlenecks(report));
    if details::columns(report.result).next().is_some() {
        page.section("beside", "Watched beside the load", &beside(report));
    }
    page.section("servers", "Servers and conditions", &servers(report));
    page.section("runs", "Runs", &runs(report, link));
    page.section("discarded", "Discarded runs", &discarded(report, link));
    page.finish()
}

fn charts(report: &ExperimentReport<'_>) -> String {
    let result = report.result;
    let layout = Layout::of(result);
    let subjects: Vec<usize> = (0..result.design.subjects.len()).collect();
    let all = curves::all(result);
    let drawn: String =
        all.iter().filter_map(|shown| curves::draw(result, &layout, shown, &subjects)).collect();
    let names = subjects.iter().map(|subject| (*subject, words::labelled(report, *subject)));
    let steps = match words::steps(result).next() {
        Some(_) => " Of a load with several rates, such as a stair, each rate is a point, on a thinner line.",
        None => "",
    };
    format!(
        "<p class=\"help\">A point is the median of the runs; its line goes from the lowest to the highest run.{steps} \
         The same figures are in the tables below.</p>\n{}<div class=\"drawn-charts\">\n{drawn}</div>\n",
        chart::legend(names)
    )
}

fn figures(report: &ExperimentReport<'_>) -> String {
    let result = report.result;
    let mut titles = vec!["load", "server", "runs", "asked/s", "answered", "share"];
    titles.extend(dnsdyno_measure::PERCENTILES.map(|(_, name, _)| name));
    titles.push("CPU/answer");
    let row = |cell: &CellResult| {
        let mut cells = vec![
            words::load(result, cell.cell.load),
            words::subject(result, cell.cell.subject),
            words::runs(result, cell),
            words::asked(cell),
            words::spread(Kind::Rate, cell, cell.answered),
            words::spread(Kind::Share, cell, cell.share),
        ];
        cells.extend(
            cell.percentiles.values.iter().map(|spread| words::spread(Kind::Duration, cell, *spread)),
        );
        cells.push(words::spread(Kind::Duration, cell, cell.cpu_ns));
        cells
    };
    let rows: Vec<Vec<String>> = words::measured(result).map(|(_, cell)| row(cell)).collect();
    let words: Vec<&str> = [Some(words::CPU), words::wide(result)].into_iter().flatten().collect();
    let words = escaped(&words.join(" "));
    let help = format!(
        "<p class=\"help\">The median of the runs, and in brackets the lowest and the highest run. {words}</p>\n"
    );
    format!("{help}{}", table("The figures of each server under each load", &titles, 2, &rows))
}

fn of_details(report: &ExperimentReport<'_>) -> String {
    let result = report.result;
    let titles: Vec<&str> = ["load", "server"].into_iter().chain(details::DETAILS).collect();
    let row = |cell: &CellResult| {
        let names = [words::load(result, cell.cell.load), words::subject(result, cell.cell.subject)];
        names.into_iter().chain(details::details(cell)).collect::<Vec<_>>()
    };
    let rows: Vec<Vec<String>> = words::measured(result).map(|(_, cell)| row(cell)).collect();
    let help = format!("<p class=\"help\">{}</p>\n", escaped(details::HELP));
    format!("{help}{}", table("Further figures of each server under each load", &titles, 2, &rows))
}

/// The rates of the loads that have several.
fn steps(report: &ExperimentReport<'_>) -> String {
    let result = report.result;
    let titles: Vec<&str> = ["load", "server"].into_iter().chain(words::STEP_TITLES).collect();
    let row = |(cell, step)| {
        let cell: &CellResult = cell;
        let names = [words::load(result, cell.cell.load), words::subject(result, cell.cell.subject)];
        names.into_iter().chain(words::step(cell, step)).collect::<Vec<_>>()
    };
    let rows: Vec<Vec<String>> = words::steps(result).map(row).collect();
    table("The figures of each server at each rate of a load", &titles, 2, &rows)
}

/// What searches and programs have found, and what is to be seen beside it, folded.
fn found(report: &ExperimentReport<'_>, link: &dyn Fn(u32) -> Option<String>) -> String {
    let result = report.result;
    let names =
        |cell: &CellResult| [words::load(result, cell.cell.load), words::subject(result, cell.cell.subject)];
    let (mut rows, mut numbers, mut texts) = (Vec::new(), Vec::new(), String::new());
    for (cell, number, found) in words::found(result) {
        let [load, subject] = names(cell);
        let cut = words::cut(found).map_or_else(String::new, |cut| format!(" ({cut})"));
        let summary = escaped(&format!("{}{cut}", words::whose(result, cell, number)));
        let lines = preformatted(&words::lines(found));
        texts.push_str(&format!("<details><summary>{summary}</summary>\n<pre>{lines}</pre></details>\n"));
        rows.push(vec![number.to_string(), load, subject, words::answer(cell, found)]);
        numbers.push(number);
    }
    let titles = ["run", "load", "server", "found"];
    let address = |row: usize| link(*numbers.get(row)?);
    let caption = "What searches and programs have found";
    format!("{}{texts}", table_with_links(caption, &titles, &|_| true, &rows, &address))
}

/// Every run that has figures, with a link to it.
fn runs(report: &ExperimentReport<'_>, link: &dyn Fn(u32) -> Option<String>) -> String {
    let result = report.result;
    let mut all: Vec<(&CellResult, &RunFigures)> =
        result.cells.iter().flat_map(|cell| cell.runs.iter().map(move |run| (cell, run))).collect();
    all.sort_by_key(|(_, run)| run.number);
    if all.is_empty() {
        return "<p>No run has figures.</p>\n".to_owned();
    }
    let or_none = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
    let row = |(cell, run): &(&CellResult, &RunFigures)| {
        let [p50, _, _, p99, _] = run.percentiles;
        vec![
            run.number.to_string(),
            words::load(result, cell.cell.load),
            words::subject(result, cell.cell.subject),
            or_none(run.answered_qps.map(|qps| words::plain(Kind::Rate, qps))),
            or_none(run.share.map(|share| words::plain(Kind::Share, share))),
            or_none(p50.map(words::latency)),
            or_none(p99.map(words::latency)),
            if run.is_in_doubt { "in doubt".to_owned() } else { String::new() },
        ]
    };
    let rows: Vec<Vec<String>> = all.iter().map(row).collect();
    let titles = ["run", "load", "server", "answered/s", "share", "p50", "p99", ""];
    let address = |row: usize| link(all.get(row)?.1.number);
    let is_text = |column: usize| column < 3 || column == 7;
    let table = table_with_links("Every run with its figures", &titles, &is_text, &rows, &address);
    format!(
        "<p class=\"help\">A number leads to the run: to its page where it had one when these results were written \
         (<code>dnsdyno report</code>), otherwise to its folder, with its record, the configuration of the server and \
         its log.</p>\n<details><summary>{} runs</summary>\n{table}</details>\n",
        rows.len()
    )
}

fn differences(report: &ExperimentReport<'_>) -> String {
    let result = report.result;
    let titles = [
        "load",
        "server",
        "against",
        "metric",
        "of the other",
        "of the server",
        "change",
        "95 % interval",
        "verdict",
    ];
    let rows: Vec<Vec<String>> = words::changes(result).into_iter().map(Vec::from).collect();
    let help = words::risk(result).unwrap_or_default();
    if rows.is_empty() {
        return "<p>No two servers have runs that can be compared.</p>\n".to_owned();
    }
    format!(
        "<p class=\"help\">{}</p>\n{}",
        escaped(&help),
        table("The differences between the servers, with their intervals", &titles, 4, &rows)
    )
}

fn bottlenecks(report: &ExperimentReport<'_>) -> String {
    let result = report.result;
    let row = |(at, cell): (usize, &CellResult)| {
        let found = words::diagnosis(report.diagnoses.get(at)?);
        Some(vec![words::load(result, cell.cell.load), words::subject(result, cell.cell.subject), found])
    };
    let rows: Vec<Vec<String>> = words::measured(result).filter_map(row).collect();
    table("Which bottleneck the runs show", &["load", "server", "what its runs show"], 3, &rows)
}

fn beside(report: &ExperimentReport<'_>) -> String {
    let result = report.result;
    let columns: Vec<_> = details::columns(result).collect();
    let of_columns: Vec<String> = columns.iter().map(|(_, column)| details::title(column)).collect();
    let titles: Vec<&str> =
        ["load", "server"].into_iter().chain(of_columns.iter().map(String::as_str)).collect();
    let row = |cell: &CellResult| {
        let names = [words::load(result, cell.cell.load), words::subject(result, cell.cell.subject)];
        let figures = columns.iter().map(|(at, column)| details::with_range(cell, *at, column));
        names.into_iter().chain(figures).collect::<Vec<_>>()
    };
    let rows: Vec<Vec<String>> = words::measured(result).map(|(_, cell)| row(cell)).collect();
    let help = "<p class=\"help\">Of each run what was watched beside it: the kernel, the process and the statistics \
                of the server, and what is behind it. The median of the runs, and in brackets the lowest and the \
                highest run.</p>\n";
    format!("{help}{}", table("What was watched beside the load", &titles, 2, &rows))
}

fn servers(report: &ExperimentReport<'_>) -> String {
    let result = report.result;
    let row = |(number, subject): (usize, &dnsdyno_campaign::experiment::Subject)| {
        let version = report.versions.get(number).cloned().flatten();
        let or_none = |text: String| if text.is_empty() { "-".to_owned() } else { text };
        vec![
            subject.name.clone(),
            version.unwrap_or_else(|| "not known".to_owned()),
            or_none(subject.against.map_or_else(String::new, |other| words::subject(result, other))),
            or_none(subject.differs.clone()),
        ]
    };
    let rows: Vec<Vec<String>> = result.design.subjects.iter().enumerate().map(row).collect();
    let titles = ["server", "version", "compared with", "changed"];
    format!(
        "{}{}",
        table("What was measured", &titles, 4, &rows),
        document::list(&report.conditions, "conditions")
    )
}

fn discarded(report: &ExperimentReport<'_>, link: &dyn Fn(u32) -> Option<String>) -> String {
    let result = report.result;
    let dropped = match words::dropped(result) {
        None => "No run was left out because it was the first one.".to_owned(),
        Some(dropped) => format!("Left out: {dropped}."),
    };
    let help = format!("<p class=\"help\">{}</p>\n", escaped(&dropped));
    if result.discarded.is_empty() {
        return format!("{help}<p>No other run was discarded.</p>\n");
    }
    let row = |run: &dnsdyno_campaign::experiment::Discarded| {
        let why: Vec<String> = run.doubts.iter().map(ToString::to_string).collect();
        vec![
            run.number.to_string(),
            words::load(result, run.cell.load),
            words::subject(result, run.cell.subject),
            why.join("; "),
        ]
    };
    let rows: Vec<Vec<String>> = result.discarded.iter().map(row).collect();
    let address = |row: usize| link(result.discarded.get(row)?.number);
    let titles = ["run", "load", "server", "why"];
    format!("{help}{}", table_with_links("The runs that do not count", &titles, &|_| true, &rows, &address))
}

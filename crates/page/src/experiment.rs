//! The page of an experiment: curves of each server against the load, differences, bottlenecks, what was discarded.
//!
//! ```text
//!   ExperimentReport ─► charts as SVG (chart), tables with the same figures ─► one HTML file, without a script
//! ```
//!
//! It is drawn here and not by the program of `web/`: it has a few points per curve, and is read, not explored. Its
//! look is that of the other pages: the same style sheet, with the few rules of `document.css` after it.

mod chart;

use std::collections::BTreeMap;

use dnsdyno_campaign::compare::{Figure, Kind};
use dnsdyno_campaign::experiment::report::{Beside, COLUMNS, ExperimentReport, words};
use dnsdyno_campaign::experiment::{CellResult, LoadKind, LoadOf, Spread};
use dnsdyno_text::escaped;

use crate::Options;
use crate::document::{self, Document, table};
use chart::{Across, Chart, Curve, Point, Scale};

/// The page of an experiment, as an HTML file.
pub fn experiment(report: &ExperimentReport<'_>, options: &Options) -> Vec<u8> {
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
    let heading =
        only_load(report).map_or_else(|| "Against the load".to_owned(), |load| format!("Under {load}"));
    page.section("curves", &heading, &curves(report));
    page.section("figures", "Figures", &figures(report));
    if words::found(report.result).next().is_some() {
        page.section("found", "Searches and programs", &found(report));
    }
    if !report.result.differences.is_empty() {
        page.section("differences", "Differences", &differences(report));
    }
    page.section("bottlenecks", "Bottlenecks", &bottlenecks(report));
    if report.beside.iter().any(|cell| !cell.is_empty()) {
        page.section("beside", "Counted at the server", &beside(report));
    }
    page.section("servers", "Servers and conditions", &servers(report));
    page.section("discarded", "Discarded runs", &discarded(report));
    page.finish()
}

fn curves(report: &ExperimentReport<'_>) -> String {
    let rates = chart(report, "Answered", "queries/s", Scale::Linear, Kind::Rate, &|cell| cell.answered);
    let share =
        chart(report, "Answered share", "of the queries", Scale::Share, Kind::Share, &|cell| cell.share);
    let mut charts = vec![rates, share];
    for name in ["p50", "p99", "p99.9"] {
        let of = |cell: &CellResult| words::percentile(cell, name);
        charts.push(chart(report, name, "logarithmic", Scale::Logarithmic, Kind::Duration, &of));
    }
    let drawn: String = charts.into_iter().flatten().collect();
    format!(
        "<p class=\"help\">A point is the median of the runs; its line goes from the lowest to the highest run. The \
         same figures are in the table below.</p>\n{}<div class=\"drawn-charts\">\n{drawn}</div>\n",
        chart::legend(&names(report))
    )
}

/// The loads of runs, which the charts show.
fn loads<'a>(report: &'a ExperimentReport<'_>) -> Vec<&'a str> {
    let is_run = |load: &&LoadOf| load.kind == LoadKind::Run;
    report.result.design.loads.iter().filter(is_run).map(|load| load.name.as_str()).collect()
}

/// The name of the load where there is one: a curve would be a single point, so the servers stand beside each other.
fn only_load<'a>(report: &'a ExperimentReport<'_>) -> Option<&'a str> {
    match loads(report)[..] {
        [load] => Some(load),
        _ => None,
    }
}

fn names(report: &ExperimentReport<'_>) -> Vec<String> {
    (0..report.result.design.subjects.len()).map(|number| words::labelled(report, number)).collect()
}

/// Whether the rate is what tells the loads apart: each has one, the same for all servers, and no two have the same.
/// Then they stand at their rates, otherwise one after the other.
fn differ_by_rate(asked: impl Iterator<Item = (usize, Option<f64>)>) -> bool {
    let mut rates: BTreeMap<usize, (f64, f64)> = BTreeMap::new();
    for (load, rate) in asked {
        let Some(rate) = rate else { return false };
        let (lowest, highest) = rates.entry(load).or_insert((rate, rate));
        (*lowest, *highest) = (lowest.min(rate), highest.max(rate));
    }
    let mut rates: Vec<(f64, f64)> = rates.into_values().collect();
    rates.sort_by(|a, b| a.0.total_cmp(&b.0));
    let is_one = |(lowest, highest): &(f64, f64)| *highest <= lowest * 1.01;
    rates.iter().all(is_one) && rates.windows(2).all(|two| !is_one(&(two[0].1, two[1].0)))
}

/// A chart with a curve for each subject; `None` where no cell has the figure.
fn chart(
    report: &ExperimentReport<'_>,
    title: &str,
    unit: &str,
    scale: Scale,
    kind: Kind,
    of: &dyn Fn(&CellResult) -> Option<Spread>,
) -> Option<String> {
    let result = report.result;
    let loads = loads(report);
    let measured = result.cells.iter().filter(|cell| !cell.runs.is_empty());
    let across = match () {
        () if only_load(report).is_some() => Across::Servers(names(report)),
        () if differ_by_rate(measured.map(|cell| (cell.cell.load, cell.asked_qps))) => Across::Rates,
        () => Across::Loads(loads.iter().map(|name| (*name).to_owned()).collect()),
    };
    let subjects = result.design.subjects.len();
    let in_unit = |figure: Figure| if kind == Kind::Duration { figure.value * 1e-6 } else { figure.value };
    let point = |cell: &CellResult| {
        let spread = of(cell)?;
        let load = words::load(result, cell.cell.load);
        let place = || loads.iter().position(|name| **name == load);
        let x = match across {
            Across::Rates => cell.asked_qps?,
            Across::Loads(_) => place()? as f64 + chart::beside(cell.cell.subject, subjects),
            Across::Servers(_) => place().map(|_| cell.cell.subject as f64)?,
        };
        let name = format!(
            "{} under {}: {}",
            words::subject(result, cell.cell.subject),
            words::load(result, cell.cell.load),
            words::spread(kind, cell, Some(spread))
        );
        let (low, y, high) = (in_unit(spread.lowest), in_unit(spread.median), in_unit(spread.highest));
        Some(Point { x, y, low, high, is_bound: spread.median.beyond_timeout, name })
    };
    let curves: Vec<Curve> = (0..result.design.subjects.len())
        .map(|subject| {
            let own = result.cells.iter().filter(|cell| cell.cell.subject == subject);
            let mut points: Vec<Point> = own.filter_map(point).collect();
            points.sort_by(|a, b| a.x.total_cmp(&b.x));
            Curve { number: subject, points }
        })
        .collect();
    if curves.iter().all(|curve| curve.points.is_empty()) {
        return None;
    }
    Some(Chart { title: title.to_owned(), unit: unit.to_owned(), scale, curves, across }.svg())
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

/// What searches and programs have found, and what is to be seen beside it, folded.
fn found(report: &ExperimentReport<'_>) -> String {
    let result = report.result;
    let names =
        |cell: &CellResult| [words::load(result, cell.cell.load), words::subject(result, cell.cell.subject)];
    let mut rows = Vec::new();
    let mut texts = String::new();
    for (cell, number, found) in words::found(result) {
        let [load, subject] = names(cell);
        let summary = escaped(&format!("{subject} under {load}, run {number}"));
        let lines: Vec<String> = words::lines(found).iter().map(|line| escaped(line)).collect();
        let lines = lines.join("\n");
        texts.push_str(&format!("<details><summary>{summary}</summary>\n<pre>{lines}</pre></details>\n"));
        rows.push(vec![load, subject, words::answer(cell, found), number.to_string()]);
    }
    let titles = ["load", "server", "found", "run"];
    format!("{}{texts}", table("What searches and programs have found", &titles, 3, &rows))
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
    let titles: Vec<&str> =
        ["load", "server"].into_iter().chain(COLUMNS.iter().map(|column| column.title)).collect();
    let row = |(cell, found): (&CellResult, &Beside)| {
        let names = [words::load(result, cell.cell.load), words::subject(result, cell.cell.subject)];
        names.into_iter().chain(found.texts()).collect::<Vec<_>>()
    };
    let rows: Vec<Vec<String>> = result.cells.iter().zip(&report.beside).map(row).collect();
    let help = "<p class=\"help\">Of each run what the server's kernel, its process and its own statistics have \
                counted: the median of the runs, and in brackets the lowest and the highest run.</p>\n";
    format!("{help}{}", table("What was counted at the server", &titles, 2, &rows))
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

fn discarded(report: &ExperimentReport<'_>) -> String {
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
    format!("{help}{}", table("The runs that do not count", &["run", "load", "server", "why"], 4, &rows))
}

#[cfg(test)]
mod tests {
    use super::differ_by_rate;

    #[test]
    fn loads_stand_at_their_rates_only_where_these_tell_them_apart() {
        let differ = |asked: &[(usize, Option<f64>)]| differ_by_rate(asked.iter().copied());
        assert!(
            differ(&[(0, Some(25e3)), (0, Some(25.1e3)), (1, Some(50e3))]),
            "late sends change a rate a little"
        );
        assert!(!differ(&[(0, Some(4e3)), (1, Some(4e3))]), "two loads of one rate");
        assert!(!differ(&[(0, Some(38.0)), (0, Some(1e3)), (1, Some(5e3))]), "another rate for each server");
        assert!(!differ(&[(0, None), (1, Some(50e3))]), "a closed loop beside a rate");
    }
}

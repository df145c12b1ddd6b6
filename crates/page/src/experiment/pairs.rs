//! Any two servers of an experiment against each other: a table of links to choose them from, and a part for each pair,
//! of which the page shows the one that its address names. So it needs no script.

use dnsdyno_campaign::compare::report::words as compared;
use dnsdyno_campaign::compare::{Figure, Kind};
use dnsdyno_campaign::experiment::report::{ExperimentReport, words};
use dnsdyno_campaign::experiment::{CellResult, ExperimentResult, Spread};
use dnsdyno_text::escaped;

use super::chart;
use super::curves::{self, Layout};
use crate::document::table;

/// The section of the pairs; `None` of fewer than three servers, which the whole page compares already, and of so many
/// that the page would be too large.
pub(super) fn pairs(report: &ExperimentReport<'_>) -> Option<String> {
    let result = report.result;
    let servers = result.design.subjects.len();
    if !(3..=MOST_SERVERS).contains(&servers) {
        return None;
    }
    let layout = Layout::of(result);
    let all = (0..servers).flat_map(|one| (one + 1..servers).map(move |other| (one, other)));
    let parts: String = all.map(|pair| part(result, &layout, pair)).collect();
    Some(format!(
        "<p class=\"help\">Choose two: a link shows them against each other below.</p>\n{}{parts}",
        choice(result)
    ))
}

/// A link for each pair, in the row of one server and the column of the other.
fn choice(result: &ExperimentResult) -> String {
    let servers = result.design.subjects.len();
    let name = |number: usize| escaped(&words::subject(result, number));
    let head: String = (1..servers).map(|other| format!("<th scope=\"col\">{}</th>", name(other))).collect();
    let cell = |one: usize, other: usize| match one < other {
        true => format!(
            "<td><a href=\"#{}\" aria-label=\"{} and {}\">both</a></td>",
            id(one, other),
            name(one),
            name(other)
        ),
        false => "<td></td>".to_owned(),
    };
    let row = |one: usize| {
        let cells: String = (1..servers).map(|other| cell(one, other)).collect();
        format!("<tr><th scope=\"row\">{}</th>{cells}</tr>\n", name(one))
    };
    let rows: String = (0..servers - 1).map(row).collect();
    format!(
        "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Pairs of servers\">\n\
         <table class=\"choice\">\n<caption class=\"unseen\">Pairs of servers</caption>\n\
         <thead><tr><th></th>{head}</tr></thead>\n\
         <tbody>\n{rows}</tbody>\n</table>\n</div>\n"
    )
}

fn id(one: usize, other: usize) -> String {
    format!("pair-{one}-{other}")
}

/// Two servers against each other.
fn part(result: &ExperimentResult, layout: &Layout, (one, other): (usize, usize)) -> String {
    let [first, second] = [one, other].map(|number| words::subject(result, number));
    let charts: String = [curves::answered(), curves::percentile("p50"), curves::percentile("p99")]
        .iter()
        .filter_map(|shown| curves::draw(result, layout, shown, &[one, other]))
        .collect();
    let legend = chart::legend([(one, first.clone()), (other, second.clone())].into_iter());
    let titles = ["load", "metric", &first, &second, "change", "95 % interval", "verdict"];
    let caption = format!("{first} and {second}");
    format!(
        "<div class=\"pair\" id=\"{}\">\n<h3>{}</h3>\n{legend}<div class=\"drawn-charts\">\n{charts}</div>\n{}</div>\n",
        id(one, other),
        escaped(&caption),
        table(&caption, &titles, 2, &rows(result, one, other)),
    )
}

/// A row for each load and metric; with the change where the experiment compares these two.
fn rows(result: &ExperimentResult, one: usize, other: usize) -> Vec<Vec<String>> {
    let cell_of = |subject: usize, load: usize| {
        result.cells.iter().find(move |cell| cell.cell.subject == subject && cell.cell.load == load)
    };
    let mut rows = Vec::new();
    for load in 0..result.design.loads.len() {
        let (Some(first), Some(second)) = (cell_of(one, load), cell_of(other, load)) else { continue };
        if first.runs.is_empty() && second.runs.is_empty() {
            continue;
        }
        for (name, metric) in METRICS {
            let text = |cell: &CellResult| figure(cell, metric);
            let mut row = vec![words::load(result, load), name.to_owned(), text(first), text(second)];
            row.extend(change(result, load, (one, other), metric));
            rows.push(row);
        }
    }
    rows
}

fn figure(cell: &CellResult, metric: &str) -> String {
    match metric {
        "rate" => words::spread(Kind::Rate, cell, cell.answered),
        "loss" => words::spread(Kind::Share, cell, cell.share.map(lost)),
        _ => words::spread(Kind::Duration, cell, words::percentile(&cell.percentiles, metric)),
    }
}

/// The lost share of an answered one.
fn lost(share: Spread) -> Spread {
    let of = |figure: Figure| Figure { value: 1.0 - figure.value, ..figure };
    let (lowest, median, highest) = (of(share.highest), of(share.median), of(share.lowest));
    Spread { lowest, median, highest, mean: 1.0 - share.mean, ..share }
}

/// The change of a metric from the first to the second, its interval and the verdict; `-` where these two are not
/// compared, or the other way round.
fn change(result: &ExperimentResult, load: usize, (one, other): (usize, usize), metric: &str) -> [String; 3] {
    let is_it = |against: usize, subject: usize| against == one && subject == other;
    let found =
        result.differences.iter().find(|found| found.load == load && is_it(found.against, found.subject));
    let comparison = found.and_then(|found| found.found.as_ref().ok());
    let metric = comparison.and_then(|found| found.metrics.iter().find(|compared| compared.name == metric));
    let none = || "-".to_owned();
    match metric {
        None => [none(), none(), "not compared".to_owned()],
        Some(metric) => {
            let interval = metric.change.and_then(|change| compared::interval(metric.kind, &change));
            [
                compared::signed(metric).unwrap_or_else(none),
                interval.unwrap_or_else(none),
                compared::verdict_words(metric),
            ]
        }
    }
}

/// What a row is called, and the metric that is compared.
const METRICS: [(&str, &str); 4] = [("answered", "rate"), ("lost", "loss"), ("p50", "p50"), ("p99", "p99")];

/// 91 pairs, each with three charts, are half a megabyte.
const MOST_SERVERS: usize = 14;

//! The course of a load: what each server has answered, and how fast, in each interval from the start of the run.

use dnsdyno_campaign::compare::Kind;
use dnsdyno_campaign::experiment::report::{ExperimentReport, words};
use dnsdyno_campaign::experiment::{CellResult, ExperimentResult, Moment, Spread};
use dnsdyno_text::escaped;

use super::chart::{self, Across, Along, Chart, Curve, Places, Point, Scale};
use crate::document::{self, table};

/// The charts and the table of all loads whose course is shown; `None` where there is none.
pub(super) fn course(report: &ExperimentReport<'_>) -> Option<String> {
    let result = report.result;
    let mut loads: Vec<usize> = words::moments(result).map(|(cell, _)| cell.cell.load).collect();
    loads.dedup();
    let charts: String = loads.iter().map(|load| of_load(report, *load)).collect();
    let titles: Vec<&str> = ["load", "server"].into_iter().chain(words::MOMENT_TITLES).collect();
    let row = |(cell, moment): (&CellResult, &Moment)| {
        let names = [words::load(result, cell.cell.load), words::subject(result, cell.cell.subject)];
        names.into_iter().chain(words::moment(cell, moment)).collect::<Vec<_>>()
    };
    let rows: Vec<Vec<String>> = words::moments(result).map(row).collect();
    let table = table("What each server has answered in each interval", &titles, 2, &rows);
    (!rows.is_empty()).then(|| {
        format!(
            "{}{charts}<details><summary>{} intervals</summary>\n{table}</details>\n",
            document::list(&words::steady(result), "steady"),
            rows.len()
        )
    })
}

fn of_load(report: &ExperimentReport<'_>, load: usize) -> String {
    let result = report.result;
    let cells: Vec<&CellResult> =
        result.cells.iter().filter(|cell| cell.cell.load == load && !cell.course.is_empty()).collect();
    let percentile = |name: &'static str| move |moment: &Moment| words::percentile(&moment.percentiles, name);
    let drawn = [
        draw(result, &cells, Kind::Rate, "Answered", &|moment| moment.answered),
        draw(result, &cells, Kind::Duration, "p50", &percentile("p50")),
        draw(result, &cells, Kind::Duration, "p99", &percentile("p99")),
    ];
    let names = cells.iter().map(|cell| (cell.cell.subject, words::labelled(report, cell.cell.subject)));
    format!(
        "<h3>{}</h3>\n{}<div class=\"drawn-charts\">\n{}</div>\n",
        escaped(&words::load(result, load)),
        chart::legend(names),
        drawn.concat()
    )
}

fn draw(
    result: &ExperimentResult,
    cells: &[&CellResult],
    kind: Kind,
    title: &str,
    of: &dyn Fn(&Moment) -> Option<Spread>,
) -> String {
    let in_unit = |value: f64| if kind == Kind::Duration { value * 1e-6 } else { value };
    let point = |cell: &CellResult, moment: &Moment| {
        let spread = of(moment)?;
        let [from, ..] = words::moment(cell, moment);
        Some(Point {
            across: Across::Rate((moment.from_ns + moment.to_ns) as f64 / 2.0 * 1e-9),
            y: in_unit(spread.median.value),
            low: in_unit(spread.lowest.value),
            high: in_unit(spread.highest.value),
            is_bound: spread.median.beyond_timeout,
            name: format!(
                "{} from {from} on: {}",
                words::subject(result, cell.cell.subject),
                words::spread(kind, cell, Some(spread))
            ),
        })
    };
    let curve = |cell: &&CellResult| Curve {
        number: cell.cell.subject,
        points: cell.course.iter().filter_map(|moment| point(cell, moment)).collect(),
        is_of_steps: false,
    };
    let curves: Vec<Curve> = cells.iter().map(curve).filter(|curve| !curve.points.is_empty()).collect();
    if curves.is_empty() {
        return String::new();
    }
    let (unit, scale) = match kind {
        Kind::Duration => ("", Scale::Durations),
        _ => ("queries/s", Scale::Rates),
    };
    let (title, unit, places) = (title.to_owned(), unit.to_owned(), Places::Loads(Vec::new()));
    Chart { title, unit, scale, curves, along: Along::Seconds, places }.svg()
}

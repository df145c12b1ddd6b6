//! The figures of all runs that count, one line each: `results.csv`.

use dnsdyno_measure::PERCENTILES;

use super::{ExperimentReport, words};
use crate::experiment::RunFigures;

/// The table of the runs. A latency beyond the timeout has the timeout, and `yes` in the column after it.
pub fn experiment_csv(report: &ExperimentReport<'_>) -> String {
    let result = report.result;
    let mut out = String::from(
        "run,server,version,load,asked_qps,answered_qps,answered_share,queries,server_cpu_ns_per_answer,counts",
    );
    for key in PERCENTILES.map(|(key, ..)| key).into_iter().chain(["average", "shortest", "longest"]) {
        out.push_str(&format!(",{key}_ns,{key}_beyond_timeout"));
    }
    out.push_str(",bits_per_s,wobble,server_cpu_share,server_memory_bytes");
    for column in &result.columns {
        out.push_str(&format!(",{}", quoted(&column.key)));
    }
    out.push('\n');
    let mut lines: Vec<(u32, String)> = Vec::new();
    for cell in &result.cells {
        let counts = if cell.state == crate::experiment::CellState::InDoubt { "no" } else { "yes" };
        let (subject, load) =
            (words::subject(result, cell.cell.subject), words::load(result, cell.cell.load));
        let version = words::version(report, cell.cell.subject).unwrap_or_default();
        for run in &cell.runs {
            lines.push((
                run.number,
                format!("{},{subject},{version},{load},{}", run.number, figures(run, counts)),
            ));
        }
    }
    lines.sort_by_key(|(number, _)| *number);
    lines.into_iter().for_each(|(_, line)| {
        out.push_str(&line);
        out.push('\n');
    });
    out
}

fn figures(run: &RunFigures, counts: &str) -> String {
    let of = |value: Option<f64>| value.map_or(String::new(), |value| value.to_string());
    let rates = [run.asked_qps, run.answered_qps, run.share].map(of).join(",");
    let mut text = format!("{rates},{},{},{counts}", run.queries, of(run.cpu_ns));
    for latency in run.percentiles.into_iter().chain([run.average, run.shortest, run.longest]) {
        match latency {
            Some(figure) => {
                let beyond = if figure.beyond_timeout { "yes" } else { "no" };
                text.push_str(&format!(",{},{beyond}", figure.value));
            }
            None => text.push_str(",,"),
        }
    }
    let others = [run.bits_per_s, run.wobble, run.cpu_share, run.memory_bytes];
    others.iter().chain(&run.columns).for_each(|value| text.push_str(&format!(",{}", of(*value))));
    text
}

/// A title as RFC 4180 has it.
fn quoted(title: &str) -> String {
    match title.contains([',', '"']) {
        true => format!("\"{}\"", title.replace('"', "\"\"")),
        false => title.to_owned(),
    }
}

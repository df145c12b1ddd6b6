//! The figures of all runs that count, one line each: `results.csv`.

use dnsdyno_measure::PERCENTILES;

use super::{ExperimentReport, words};
use crate::experiment::RunFigures;

/// The table of the runs. A latency beyond the timeout has the timeout, and `yes` in the column after it.
pub fn experiment_csv(report: &ExperimentReport<'_>) -> String {
    let mut out = String::from(
        "run,server,version,load,asked_qps,answered_qps,answered_share,queries,server_cpu_ns_per_answer,counts",
    );
    for (key, ..) in PERCENTILES {
        out.push_str(&format!(",{key}_ns,{key}_beyond_timeout"));
    }
    out.push('\n');
    let result = report.result;
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
    for percentile in run.percentiles {
        match percentile {
            Some(figure) => {
                let beyond = if figure.beyond_timeout { "yes" } else { "no" };
                text.push_str(&format!(",{},{beyond}", figure.value));
            }
            None => text.push_str(",,"),
        }
    }
    text
}

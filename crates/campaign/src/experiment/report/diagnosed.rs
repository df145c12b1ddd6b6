//! Which bottleneck the runs of a cell show.

use std::path::PathBuf;

use dnsdyno_report::diagnosis::diagnosis;

use crate::experiment::CellResult;

/// Which bottleneck the runs of a cell show.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CellDiagnosis {
    /// The verdict on the run in the middle, of those by their p99; empty where no run could be diagnosed.
    pub verdict: String,
    /// The rules that are named in any run, with the number of runs, the most frequent one first.
    pub findings: Vec<(String, u32)>,
    /// Runs that were diagnosed.
    pub runs: u32,
}

/// Diagnoses the runs of a cell; `path` gives the record of a run by its number. A record that cannot be read says
/// nothing.
pub fn diagnose(cell: &CellResult, path: impl Fn(u32) -> PathBuf) -> CellDiagnosis {
    let mut found = CellDiagnosis::default();
    let mut verdicts = Vec::new();
    for run in &cell.runs {
        let Ok(diagnosed) = diagnosis(&path(run.number)) else { continue };
        found.runs += 1;
        for finding in &diagnosed.findings {
            match found.findings.iter_mut().find(|(rule, _)| *rule == finding.rule) {
                Some((_, runs)) => *runs += 1,
                None => found.findings.push((finding.rule.clone(), 1)),
            }
        }
        let [.., p99, _] = run.percentiles;
        verdicts.push((p99.map_or(0.0, |figure| figure.value), diagnosed.verdict));
    }
    found.findings.sort_by(|(a, of_a), (b, of_b)| of_b.cmp(of_a).then(a.cmp(b)));
    verdicts.sort_by(|(a, _), (b, _)| a.total_cmp(b));
    found.verdict = verdicts.get(verdicts.len() / 2).map(|(_, verdict)| verdict.clone()).unwrap_or_default();
    found
}

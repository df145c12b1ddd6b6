//! The diagnosis of what has many runs: of a search the trial just above the limit, of an experiment a run of each
//! cell.

use dnsdyno_text::layout::{NARROWEST, Table, paragraph};
use dnsdyno_text::safe;
use dnsdyno_text::units::count;
use serde::Serialize;
use serde_json::{Value, json};

use super::found::Diagnosis;
use super::text::diagnosis_text;

/// The diagnosis of a search for the limit of a server.
#[derive(Clone, Debug, Serialize)]
pub struct SearchDiagnosis {
    /// What the search has found, in a sentence.
    pub answer: String,
    /// The run that is diagnosed.
    pub of: ChosenRun,
    /// What it shows.
    pub diagnosis: Diagnosis,
}

/// A run that is diagnosed instead of all others.
#[derive(Clone, Debug, Serialize)]
pub struct ChosenRun {
    /// Its folder.
    pub run: String,
    /// Why this one, with what it was: "the trial with the lowest load that failed above the limit: 5,100 qps".
    pub why: String,
}

/// The diagnosis of an experiment.
#[derive(Clone, Debug, Serialize)]
pub struct ExperimentDiagnosis {
    /// Its title.
    pub title: String,
    /// Each server under each load, in the order of the results.
    pub cells: Vec<CellOfExperiment>,
}

/// A server under a load.
#[derive(Clone, Debug, Serialize)]
pub struct CellOfExperiment {
    /// The load.
    pub load: String,
    /// The server.
    pub server: String,
    /// What was diagnosed; `None` where there is nothing.
    pub of: Option<ChosenRun>,
    /// What it shows.
    pub diagnosis: Option<Diagnosis>,
    /// Why there is nothing to diagnose.
    pub not_diagnosed: Option<String>,
}

/// The diagnosis of a search in lines of at most `width` columns (40 at least), with a newline after the last.
pub fn search_diagnosis_text(found: &SearchDiagnosis, width: usize) -> String {
    let width = width.max(NARROWEST);
    let mut out = String::new();
    paragraph(&mut out, &safe(&found.answer), 0, 2, width);
    paragraph(&mut out, &format!("{}, {}", safe(&found.of.run), safe(&found.of.why)), 0, 2, width);
    out.push('\n');
    out.push_str(&diagnosis_text(&found.diagnosis, width));
    out
}

/// The diagnosis of a search as one JSON object.
pub fn search_diagnosis_json(found: &SearchDiagnosis) -> String {
    kept("search", serde_json::to_value(found))
}

/// The diagnosis of an experiment in lines of at most `width` columns (40 at least), with a newline after the last: a
/// table of the cells, and a sentence for each with something to explain.
pub fn experiment_diagnosis_text(found: &ExperimentDiagnosis, width: usize) -> String {
    let width = width.max(NARROWEST);
    let mut out = String::new();
    paragraph(&mut out, &safe(&found.title), 0, 2, width);
    out.push('\n');
    let mut table = Table::default();
    let cells = |cell: &dyn Fn(&CellOfExperiment) -> String| found.cells.iter().map(cell).collect();
    table.left("load", 0, cells(&|cell| safe(&cell.load)));
    table.left("server", 0, cells(&|cell| safe(&cell.server)));
    table.left(
        "run",
        2,
        cells(&|cell| cell.of.as_ref().map_or("-".to_owned(), |of| safe(last_part(&of.run)))),
    );
    table.right(
        "unanswered",
        1,
        cells(&|cell| of_diagnosis(cell, |diagnosis| count(diagnosis.trouble.unanswered))),
    );
    table.left("finding", 0, cells(&|cell| of_diagnosis(cell, finding)));
    table.write(&mut out, width);
    let mut example = None;
    for cell in &found.cells {
        let (says, note) = match (&cell.diagnosis, &cell.not_diagnosed) {
            (Some(diagnosis), _) if is_calm(diagnosis) => continue,
            (Some(diagnosis), _) => (diagnosis.verdict.clone(), cell.of.as_ref().map(|of| safe(&of.why))),
            (None, why) => {
                (format!("not diagnosed: {}.", safe(why.as_deref().unwrap_or("nothing is kept"))), None)
            }
        };
        let note = note.filter(|why| !why.is_empty()).map_or(String::new(), |why| format!(" ({why})"));
        out.push('\n');
        paragraph(
            &mut out,
            &format!("{} under {}{note}: {says}", safe(&cell.server), safe(&cell.load)),
            0,
            2,
            width,
        );
        example = example.or(cell.of.as_ref().filter(|_| cell.diagnosis.is_some()));
    }
    if let Some(example) = example {
        out.push_str(&format!("\nmore: dnsdyno diagnose {}\n", safe(&example.run)));
    }
    out
}

/// The diagnosis of an experiment as one JSON object.
pub fn experiment_diagnosis_json(found: &ExperimentDiagnosis) -> String {
    kept("experiment", serde_json::to_value(found))
}

/// With what it is the diagnosis of. Its types have string keys and finite figures only.
fn kept(kind: &str, value: Result<Value, serde_json::Error>) -> String {
    let mut value = value.unwrap_or_else(|_| json!({}));
    value["kind"] = json!(kind);
    format!("{value:#}")
}

/// Whether there is nothing to explain, and no doubt about it.
fn is_calm(diagnosis: &Diagnosis) -> bool {
    let trouble = diagnosis.trouble;
    trouble.unanswered == 0 && trouble.slow_intervals == 0 && diagnosis.generator.is_empty()
}

fn of_diagnosis(cell: &CellOfExperiment, text: impl Fn(&Diagnosis) -> String) -> String {
    cell.diagnosis.as_ref().map_or("-".to_owned(), text)
}

/// In a few words what was found.
fn finding(diagnosis: &Diagnosis) -> String {
    let rules: Vec<&str> = diagnosis.findings.iter().map(|finding| finding.rule.as_str()).collect();
    match rules.as_slice() {
        [] if diagnosis.trouble.unanswered == 0 && diagnosis.trouble.slow_intervals == 0 => {
            "nothing to explain".to_owned()
        }
        [] => "not explained".to_owned(),
        rules => rules.join(", "),
    }
}

/// `runs/007` of `runs/experiment/runs/007`.
fn last_part(run: &str) -> &str {
    run.rsplit_once("runs/").map_or(run, |(_, last)| last)
}

#[cfg(test)]
mod tests {
    use super::super::found::{Finding, Trouble};
    use super::*;

    fn diagnosed(unanswered: u64, rule: Option<&str>) -> Diagnosis {
        let findings = rule.map(|rule| Finding { rule: rule.into(), ..Finding::default() });
        Diagnosis {
            verdict: format!("{unanswered} are explained."),
            trouble: Trouble { unanswered, due: 9_000, ..Trouble::default() },
            findings: findings.into_iter().collect(),
            ..Diagnosis::default()
        }
    }

    fn experiment() -> ExperimentDiagnosis {
        let cell = |server: &str, run: Option<&str>, diagnosis: Option<Diagnosis>| CellOfExperiment {
            load: "20k".into(),
            server: server.into(),
            of: run.map(|run| ChosenRun { run: run.into(), why: String::new() }),
            not_diagnosed: diagnosis.is_none().then(|| "a program has put the load on it".to_owned()),
            diagnosis,
        };
        ExperimentDiagnosis {
            title: "Two\x1b[2J servers".into(),
            cells: vec![
                cell("nsd", Some("runs/x/runs/003"), Some(diagnosed(1_200, Some("udp-receive-queue")))),
                cell("knot", Some("runs/x/runs/004"), Some(diagnosed(0, None))),
                cell("bind", Some("runs/x/runs/005"), Some(diagnosed(7, None))),
                cell("unbound", None, None),
            ],
        }
    }

    #[test]
    fn each_cell_has_its_finding_and_those_with_losses_a_sentence() {
        let text = experiment_diagnosis_text(&experiment(), 100);
        let expected = [
            "Two\\u{1b}[2J servers",
            "",
            "  load  server   run  unanswered  finding",
            "  20k   nsd      003       1,200  udp-receive-queue",
            "  20k   knot     004           0  nothing to explain",
            "  20k   bind     005           7  not explained",
            "  20k   unbound  -             -  -",
            "",
            "nsd under 20k: 1200 are explained.",
            "",
            "bind under 20k: 7 are explained.",
            "",
            "unbound under 20k: not diagnosed: a program has put the load on it.",
            "",
            "more: dnsdyno diagnose runs/x/runs/003",
            "",
        ];
        assert_eq!(text.split('\n').collect::<Vec<_>>(), expected);
        let json: Value = serde_json::from_str(&experiment_diagnosis_json(&experiment())).unwrap();
        assert_eq!((&json["kind"], json["cells"].as_array().unwrap().len()), (&json!("experiment"), 4));
        assert_eq!(json["cells"][0]["diagnosis"]["findings"][0]["rule"], "udp-receive-queue");
        assert_eq!(json["cells"][3]["diagnosis"], Value::Null);
    }

    #[test]
    fn of_a_search_its_answer_and_the_run_are_said_before_what_the_run_shows() {
        let found = SearchDiagnosis {
            answer: "capacity 5,000 qps".into(),
            of: ChosenRun { run: "runs/x/runs/017".into(), why: "the lowest that failed: 5,100 qps".into() },
            diagnosis: diagnosed(12, Some("cpu-all")),
        };
        let text = search_diagnosis_text(&found, 100);
        let begin =
            "capacity 5,000 qps\nruns/x/runs/017, the lowest that failed: 5,100 qps\n\n12 are explained.\n";
        assert!(text.starts_with(begin), "{text}");
        let json: Value = serde_json::from_str(&search_diagnosis_json(&found)).unwrap();
        assert_eq!((&json["kind"], &json["of"]["run"]), (&json!("search"), &json!("runs/x/runs/017")));
    }
}

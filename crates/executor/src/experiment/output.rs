//! The results of an experiment as files in its folder.

use std::path::{Path, PathBuf};

use dnsdyno_campaign::compare::ComparedRun;
use dnsdyno_campaign::experiment::report::{
    ExperimentReport, diagnose, experiment_csv, experiment_json, experiment_markdown, experiment_text,
};
use dnsdyno_campaign::experiment::{ExperimentResult, ReadRun, Seconds, results};
use dnsdyno_page::Options;
use dnsdyno_record::{ReadError, read_regular};
use serde_json::Value;

use super::carry_out::Carried;
use super::error::ExperimentError;
use super::facts::{FACTS, write_file};
use super::setup::Setup;

/// Writes the results into the folder of the experiment; returns them as text for a terminal of `width` columns.
///
/// # Errors
/// A record cannot be read, or a file cannot be written.
pub fn write_results(
    setup: &Setup,
    carried: &Carried,
    options: &Options,
    width: usize,
) -> Result<String, ExperimentError> {
    let journal = &carried.journal;
    let read = |number: u32| -> Result<ReadRun, ReadError> {
        let path = journal.run(number);
        Ok(ReadRun { run: ComparedRun::read(&path)?, seconds: Seconds::read(&path)? })
    };
    let result = results(&carried.experiment, read)?;
    let diagnoses = result.cells.iter().map(|cell| diagnose(cell, |number| journal.run(number))).collect();
    let mut facts = Facts::read(&result, |number| journal.run(number));
    facts.conditions.extend(setup.left_out.iter().map(|one| format!("{}.", one.sentence())));
    let report = ExperimentReport {
        title: &setup.title,
        result: &result,
        versions: facts.versions,
        diagnoses,
        conditions: facts.conditions,
    };
    let folder = journal.folder();
    let write = |name: &str, text: String| write_file(&folder.join(name), text.as_bytes());
    write(MARKDOWN, experiment_markdown(&report))?;
    write(CSV, experiment_csv(&report))?;
    write(JSON, format!("{:#}\n", experiment_json(&report)))?;
    let link = |number: u32| link(folder, &journal.run(number));
    write_file(&folder.join(PAGE), &dnsdyno_page::experiment(&report, &link, options))?;
    Ok(experiment_text(&report, width))
}

/// Where a run is, as seen from the folder of the experiment: its page where it has one, otherwise its folder.
fn link(folder: &Path, run: &Path) -> Option<String> {
    let name = run.strip_prefix(folder).ok()?.to_str()?;
    let page = run.join(RUN_PAGE);
    Some(if page.exists() { format!("{name}/{RUN_PAGE}") } else { format!("{name}/") })
}

/// What the runs say of their servers.
struct Facts {
    versions: Vec<Option<String>>,
    conditions: Vec<String>,
}

impl Facts {
    fn read(result: &ExperimentResult, folder: impl Fn(u32) -> PathBuf) -> Facts {
        let mut versions: Vec<Option<String>> = vec![None; result.design.subjects.len()];
        let mut conditions: Vec<String> = Vec::new();
        for cell in &result.cells {
            // Each run of a subject has the same server.
            let Some(facts) = cell.runs.first().and_then(|run| facts_of(&folder(run.number))) else {
                continue;
            };
            if let Some(version) = versions.get_mut(cell.cell.subject) {
                *version = facts["version"].as_str().map(str::to_owned).or(version.take());
            }
            let said = conditions_of(&facts).into_iter();
            said.for_each(|sentence| {
                if !conditions.contains(&sentence) {
                    conditions.push(sentence);
                }
            });
        }
        Facts { versions, conditions }
    }
}

fn facts_of(folder: &Path) -> Option<Value> {
    serde_json::from_str(&read_regular(&folder.join(FACTS)).ok()?).ok()
}

fn conditions_of(facts: &Value) -> Vec<String> {
    let cpus = |key: &str| {
        let list = facts[key].as_array()?.iter().map(Value::to_string).collect::<Vec<_>>();
        (!list.is_empty()).then(|| list.join(", "))
    };
    let place = match facts["in_namespace"].as_bool() {
        Some(true) => "The servers ran in network namespaces of their own on the generator's host.",
        _ => "The servers were reached over the network of the generator's host.",
    };
    let mut said = vec![place.to_owned()];
    said.extend(cpus("cpus_of_generator").zip(cpus("cpus_of_servers")).map(|(generator, servers)| {
        format!("The generator used the CPUs {generator}, the servers the CPUs {servers} of the same host.")
    }));
    said
}

const MARKDOWN: &str = "results.md";
const CSV: &str = "results.csv";
const JSON: &str = "results.json";
const PAGE: &str = "index.html";

/// In the folder of a run, as `dnsdyno report` writes it.
const RUN_PAGE: &str = "report.html";

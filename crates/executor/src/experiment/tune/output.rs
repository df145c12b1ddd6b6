//! The answer of a night as files in its folder.

use std::path::{Path, PathBuf};

use dnsdyno_campaign::tune::report::{NotHereReport, ParameterReport, TuneReport, tune_json, tune_text};
use dnsdyno_campaign::tune::{Answer, Part, Verdict};
use dnsdyno_page::Options;
use dnsdyno_servers::tuning::{Change, InstallFile, install_files, reversed};

use super::carry_out::Tuned;
use super::chosen::Chosen;
use super::setup::TuneSetup;
use crate::experiment::error::ExperimentError;
use crate::experiment::facts::write_file;

/// Writes the answer of a night into its folder: `tune.json`, `index.html`, and the files to install and to take back.
/// Returns it as text for a terminal of `width` columns.
///
/// # Errors
/// A file cannot be written.
pub fn write_results(
    setup: &TuneSetup,
    tuned: &Tuned,
    folder: &Path,
    options: &Options,
    width: usize,
) -> Result<String, ExperimentError> {
    let Some(answer) = &tuned.answer else { return Ok(String::new()) };
    let changes = changes(answer, &tuned.chosen);
    let interface = setup.there.interface.as_deref();
    let install = install_files(&changes, Some(setup.server), interface);
    let undo = install_files(&reversed(&changes), Some(setup.server), interface);
    let texts =
        |files: &[InstallFile]| files.iter().map(|file| (file.path.clone(), file.text.clone())).collect();
    let report = TuneReport {
        title: setup.title(),
        server: setup.server.word,
        answer,
        parameters: tuned.chosen.iter().map(parameter).collect(),
        not_here: tuned
            .not_here
            .iter()
            .map(|one| NotHereReport {
                id: one.id.clone(),
                numbers: one.numbers.clone(),
                why: one.why.clone(),
            })
            .collect(),
        judge: setup.checked.judge.word(),
        pairs: setup.checked.pairs,
        took_ns: tuned.took_ns,
        install: texts(&install),
        undo: texts(&undo),
    };
    write_file(&folder.join(JSON), format!("{:#}\n", tune_json(&report)).as_bytes())?;
    write_file(&folder.join(PAGE), &dnsdyno_page::tuning(&report, options))?;
    for (name, files) in [("install", &install), ("undo", &undo)] {
        for file in files {
            let path = place(&folder.join(name), &file.path);
            let cannot = |source| ExperimentError::Write { path: path.clone(), source };
            std::fs::create_dir_all(path.parent().unwrap_or(folder)).map_err(cannot)?;
            write_file(&path, file.text.as_bytes())?;
        }
    }
    Ok(tune_text(&report, width))
}

/// The changes of the answer, each with its gain.
fn changes(answer: &Answer, chosen: &[Chosen]) -> Vec<Change<'static>> {
    let Verdict::Gains(gains) = &answer.verdict else { return Vec::new() };
    let change = |part: &Part| {
        let one = chosen.get(part.parameter)?;
        Some(Change {
            tunable: one.tunable,
            old: one.present.clone(),
            new: one.values.get(part.value).cloned(),
            note: part
                .adds
                .map(|gain| format!("adds {}", dnsdyno_campaign::tune::report::words::gain(Some(gain)))),
        })
    };
    gains.parts.iter().filter_map(change).collect()
}

fn parameter(one: &Chosen) -> ParameterReport {
    let mut acts_on: Vec<String> = one.tunable.signs.iter().map(|sign| sign.series.clone()).collect();
    acts_on.dedup();
    ParameterReport {
        id: one.tunable.id(),
        numbers: one.tunable.numbers.clone(),
        meaning: one.tunable.meaning.clone(),
        present: one.present.clone(),
        values: one.values.clone(),
        acts_on,
        memory: one.tunable.memory.clone(),
        risk: one.tunable.risk.clone(),
    }
}

/// The file `/etc/sysctl.d/NAME` as `FOLDER/etc/sysctl.d/NAME`.
fn place(folder: &Path, path: &str) -> PathBuf {
    let parts = Path::new(path).components().filter(|part| matches!(part, std::path::Component::Normal(_)));
    parts.fold(folder.to_owned(), |folder, part| folder.join(part))
}

const JSON: &str = "tune.json";
const PAGE: &str = "index.html";

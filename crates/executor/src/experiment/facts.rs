//! What is kept of a server beside the record of its run: its configuration, its log, and what happened to it.

use std::fs;
use std::path::Path;

use dnsdyno_lab::LabError;
use serde_json::json;

use super::cpus::Cpus;
use super::error::ExperimentError;
use super::happen::EventRecord;
use super::servers::Standing;
use super::written::end_of;

/// Writes what is known of the server into the folder of a run.
pub(super) fn write(
    folder: &Path,
    standing: &Standing,
    happened: &[EventRecord],
    cpus: &Cpus,
) -> Result<(), ExperimentError> {
    let facts = json!({
        "server": standing.target,
        "version": standing.version,
        "in_namespace": standing.pair().is_some(),
        "cpus_of_generator": cpus.generator,
        "cpus_of_servers": cpus.servers,
        "paths": standing.paths(),
        "events": happened,
    });
    write_file(&folder.join(FACTS), format!("{facts:#}\n").as_bytes())?;
    if let Some([config, log]) = standing.files() {
        for (from, to) in [(config, CONFIG), (log, LOG)] {
            if let Some(text) = end_of(&from) {
                write_file(&folder.join(to), &text)?;
            }
        }
    }
    match end_of(&standing.command_log()) {
        Some(text) if !text.is_empty() => write_file(&folder.join(COMMANDS), &text),
        _ => Ok(()),
    }
}

/// Writes a file of the experiment.
pub(super) fn write_file(path: &Path, content: &[u8]) -> Result<(), ExperimentError> {
    fs::write(path, content).map_err(|source| ExperimentError::Write { path: path.to_owned(), source })
}

/// The error of a start, after the log of the server was copied to where it stays.
pub(super) fn with_log_kept(error: ExperimentError, folder: &Path) -> ExperimentError {
    match error {
        ExperimentError::Start { subject, source: LabError::Start(mut failure) } => {
            let kept = folder.join(format!("failed-{}.log", subject.replace('/', "-")));
            // Without it, the error itself has the last lines.
            if fs::copy(&failure.log_path, &kept).is_ok() {
                failure.log_path = kept;
            }
            ExperimentError::Start { subject, source: LabError::Start(failure) }
        }
        other => other,
    }
}

/// In the folder of a run.
pub(super) const FACTS: &str = "server.json";
const CONFIG: &str = "server.conf";
const LOG: &str = "server.log";
const COMMANDS: &str = "commands.log";

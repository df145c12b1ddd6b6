//! The commands of the shell beside a server: that which prepares it, that which tells that it is ready, and those that
//! change something during a run.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use dnsdyno_lab::{LabError, Place as LabPlace, RunningCommand};
use dnsdyno_text::secret::Secret;

use super::super::error::ExperimentError;
use super::super::kind::Started;
use super::super::values::{asked_at, filled, variables};
use super::super::way::Before;
use super::super::written::{end_of, last_line};
use super::standing::Standing;

impl Standing {
    /// Starts a command beside the server.
    pub(in super::super) fn command(&self, command: &str) -> Result<RunningCommand, LabError> {
        self.command_with(command, &BTreeMap::new())
    }

    /// The same with these variables too.
    fn command_with(
        &self,
        command: &str,
        environment: &BTreeMap<String, Secret>,
    ) -> Result<RunningCommand, LabError> {
        // Where the server has its CPUs, a command must not take them.
        let mut place = LabPlace { cpus: Vec::new(), ..self.at.clone() };
        place.environment.extend(variables(&self.values));
        place
            .environment
            .extend(environment.iter().map(|(name, value)| (name.clone(), self.filled(value.exposed()))));
        RunningCommand::shell(&self.filled(command), &place, &self.work, &self.command_log())
    }

    /// Starts a program in the place of the generator, in `folder`; what it prints is appended to `log`.
    pub(in super::super) fn program(
        &self,
        command: &str,
        cpus: &[usize],
        queries: Option<&Path>,
        [folder, log]: [&Path; 2],
    ) -> Result<RunningCommand, LabError> {
        let namespace = self.pair.as_ref().map(|pair| pair.near().clone());
        let mut place = LabPlace { cpus: cpus.to_vec(), namespace, ..self.at.clone() };
        let mut values = self.values.clone();
        // Where the generator asks: at a path in front of the server, if there is one.
        let (address, port) = asked_at(&self.target);
        values.extend([("server.address".to_owned(), address), ("server.port".to_owned(), port)]);
        values.extend(queries.map(|path| ("queries".to_owned(), path.display().to_string())));
        place.environment.extend(variables(&values));
        RunningCommand::shell(&filled(&values, command), &place, folder, log)
    }

    /// Runs the command before a run, at the place of the generator; returns why it has failed.
    pub(in super::super) fn make_before(
        &self,
        before: &Before,
        cpus: &[usize],
        queries: Option<&Path>,
    ) -> Result<Option<String>, ExperimentError> {
        let log = self.command_log();
        let mut running = self.program(&before.command, cpus, queries, [&self.work, &log])?;
        let how = match running.ended_within(before.within, &self.cancel)? {
            Some(status) if status.success() => return Ok(None),
            Some(status) => format!("`before` ended with {status}"),
            None => format!("`before` had not ended after {:?}", before.within),
        };
        drop(running);
        let printed = String::from_utf8_lossy(&end_of(&log).unwrap_or_default()).into_owned();
        let said = last_line(&printed).map(|line| format!("; the last line that it printed: {line}"));
        Ok(Some(how + &said.unwrap_or_default()))
    }

    /// What commands have printed.
    pub(in super::super) fn command_log(&self) -> PathBuf {
        self.work.join(COMMAND_LOG)
    }

    /// Runs the command that prepares a server, if it has one.
    pub(super) fn prepare(&self, subject: &str, started: &Started) -> Result<(), ExperimentError> {
        let Some(command) = &started.prepare else { return Ok(()) };
        let of_lab = |source| ExperimentError::Start { subject: subject.to_owned(), source };
        let within = started.ready_within.unwrap_or(PREPARED_WITHIN);
        let mut running = self.command_with(command, &started.environment).map_err(of_lab)?;
        let how = match running.ended_within(within, &self.cancel).map_err(of_lab)? {
            Some(status) if status.success() => return Ok(()),
            Some(status) => format!("`prepare` ended with {status}"),
            None => format!("`prepare` had not ended after {within:?}"),
        };
        drop(running);
        Err(self.not_ready(subject, how))
    }

    /// Tries the command that tells that a server is ready until it succeeds, if it has one.
    pub(super) fn wait_until_ready(&self, subject: &str, started: &Started) -> Result<(), ExperimentError> {
        let Some(command) = &started.ready_when else { return Ok(()) };
        let of_lab = |source| ExperimentError::Start { subject: subject.to_owned(), source };
        let within = started.ready_within.unwrap_or(PREPARED_WITHIN);
        let deadline = Instant::now() + within;
        while Instant::now() < deadline && !self.cancel.is_requested() {
            let mut running = self.command(command).map_err(of_lab)?;
            let left = deadline.saturating_duration_since(Instant::now());
            let ended = running.ended_within(left, &self.cancel).map_err(of_lab)?;
            if ended.is_some_and(|status| status.success()) {
                return Ok(());
            }
            drop(running);
            std::thread::sleep(TRY_AGAIN);
        }
        Err(self.not_ready(subject, format!("`ready-when` had not succeeded after {within:?}")))
    }

    /// The error of a command of a server, with the last lines that commands have printed.
    fn not_ready(&self, subject: &str, how: String) -> ExperimentError {
        let printed = fs::read_to_string(self.command_log()).unwrap_or_default();
        let lines: Vec<&str> = printed.lines().collect();
        let tail = lines.get(lines.len().saturating_sub(TAIL_LINES)..).unwrap_or_default();
        let printed = tail.iter().map(|line| format!("    {line}")).collect::<Vec<_>>().join("\n");
        ExperimentError::Prepare { subject: subject.to_owned(), how, printed }
    }
}

/// In the folder of a subject.
const COMMAND_LOG: &str = "commands.log";

/// Filling a database takes its time.
const PREPARED_WITHIN: Duration = Duration::from_secs(60);

/// Between two attempts: a server that transfers zones must not be held up by the question whether it is ready.
const TRY_AGAIN: Duration = Duration::from_millis(200);

/// Enough to hold the reason that a command gives.
const TAIL_LINES: usize = 20;

//! A command that runs beside servers, such as a script that changes a zone: it ends with this process, as servers do.

use std::ffi::OsString;
use std::fs::File;
use std::path::Path;
use std::process::ExitStatus;
use std::time::Duration;

use crate::process::Process;
use crate::{Cancel, LabError, Place};

/// A started command. Dropping it ends it, with all that it has started in its process group.
#[derive(Debug)]
pub struct RunningCommand {
    process: Process,
    what: String,
}

impl RunningCommand {
    /// Starts `script` with the shell in `folder`, at `place`; what it prints is appended to `log`.
    ///
    /// # Errors
    /// [`LabError::Io`] where it cannot be started or the log cannot be written.
    pub fn shell(script: &str, place: &Place, folder: &Path, log: &Path) -> Result<Self, LabError> {
        let file = File::options().create(true).append(true).open(log);
        let file = file.map_err(LabError::io(format!("write {}", log.display())))?;
        let mut words = place.words();
        words.extend(["/bin/sh", "-c", script].map(OsString::from));
        let what = format!("run `{script}`");
        let process = Process::start(&words, folder, file).map_err(LabError::io(what.clone()))?;
        Ok(RunningCommand { process, what })
    }

    /// Its end, if it has ended.
    ///
    /// # Errors
    /// [`LabError::Io`] where its status cannot be had.
    pub fn ended(&mut self) -> Result<Option<ExitStatus>, LabError> {
        self.ended_within(Duration::ZERO, &Cancel::default())
    }

    /// Waits for its end, `within` at most, or until that is called off.
    ///
    /// # Errors
    /// [`LabError::Io`] where its status cannot be had.
    pub fn ended_within(
        &mut self,
        within: Duration,
        cancel: &Cancel,
    ) -> Result<Option<ExitStatus>, LabError> {
        match self.process.ends_within_unless(within, cancel) {
            true => self.process.kill().map(Some).map_err(LabError::io(self.what.clone())),
            false => Ok(None),
        }
    }

    /// Ends it, and what it has started, at once.
    ///
    /// # Errors
    /// [`LabError::Io`] where the system refuses the signal.
    pub fn kill(&mut self) -> Result<ExitStatus, LabError> {
        self.process.kill().map_err(LabError::io(format!("end what was started to {}", self.what)))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn a_command_has_its_environment_and_its_end_is_seen() {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("log");
        let environment = BTreeMap::from([("COLOUR".to_owned(), "dark green".to_owned())]);
        let place = Place { environment, cpus: vec![0], ..Place::default() };
        let script = "echo \"$COLOUR\"; grep Cpus_allowed_list /proc/self/status; exit 3";
        let mut command = RunningCommand::shell(script, &place, folder.path(), &log).unwrap();
        let status = command.ended_within(Duration::from_secs(30), &Cancel::default()).unwrap().unwrap();
        assert_eq!(status.code(), Some(3));
        assert_eq!(std::fs::read_to_string(log).unwrap(), "dark green\nCpus_allowed_list:\t0\n");
    }

    #[test]
    fn a_command_that_does_not_end_is_killed_with_what_it_has_started() {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("log");
        let mut command =
            RunningCommand::shell("sleep 60 & sleep 60", &Place::default(), folder.path(), &log).unwrap();
        assert!(command.ended_within(Duration::from_millis(20), &Cancel::default()).unwrap().is_none());
        assert!(!command.kill().unwrap().success());
    }
}

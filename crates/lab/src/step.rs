//! A program of a template that must come to its end: what makes the folder of a server ready before its first start,
//! and what says whether it serves.

use std::ffi::OsString;
use std::fs::{self, File};
use std::path::Path;
use std::time::Duration;

use crate::process::Process;
use crate::{Cancel, Place};

/// A program to run, with what it is run with.
#[derive(Clone, Copy)]
pub(crate) struct Step<'a> {
    pub(crate) program: &'a Path,
    pub(crate) arguments: &'a [String],
    pub(crate) place: &'a Place,
    pub(crate) folder: &'a Path,
    /// What it prints is appended to this file.
    pub(crate) log: &'a Path,
    /// How long it may take.
    pub(crate) within: Duration,
    pub(crate) cancel: &'a Cancel,
}

impl Step<'_> {
    /// Runs it to its end.
    ///
    /// # Errors
    /// It cannot be run, fails, has not ended in time, or was called off; as a sentence without its subject.
    pub(crate) fn run(self) -> Result<(), String> {
        let written = || fs::read(self.log).map_or(0, |bytes| bytes.len());
        let before = written();
        let file = File::options().create(true).append(true).open(self.log);
        let file = file.map_err(|error| format!("has no log: {}: {error}", self.log.display()))?;
        let mut words = self.place.words();
        words.push(self.program.into());
        words.extend(self.arguments.iter().map(OsString::from));
        let mut process = Process::start(&words, self.folder, file)
            .map_err(|error| format!("could not be run: {error}"))?;
        if !process.ends_within_unless(self.within, self.cancel) {
            return Err(format!("had not ended after {:?}", self.within));
        }
        match process.kill() {
            Ok(status) if status.success() => Ok(()),
            Ok(status) => {
                let printed = fs::read(self.log).unwrap_or_default();
                let printed = String::from_utf8_lossy(printed.get(before..).unwrap_or_default()).into_owned();
                let last =
                    printed.lines().rfind(|line| !line.trim().is_empty()).unwrap_or("(it printed nothing)");
                Err(format!("ended with {status}: {}", last.trim()))
            }
            Err(error) => Err(format!("has no known end: {error}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A step of this program, which is given up after `within`.
    fn outcome(program: &str, arguments: &[String], within: Duration) -> Result<(), String> {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("log");
        let (place, cancel) = (&Place::default(), &Cancel::default());
        let program = Path::new(program);
        Step { program, arguments, place, folder: folder.path(), log: &log, within, cancel }.run()
    }

    fn shell(script: &str, within: Duration) -> Result<(), String> {
        outcome("/bin/sh", &["-c".to_owned(), script.to_owned()], within)
    }

    #[test]
    fn a_step_succeeds_or_says_how_it_did_not() {
        let long = Duration::from_secs(30);
        assert_eq!(shell("exit 0", long), Ok(()));
        assert_eq!(
            shell("echo a; echo no space; exit 3", long).unwrap_err(),
            "ended with exit status: 3: no space"
        );
        assert_eq!(shell("sleep 60", Duration::from_millis(20)).unwrap_err(), "had not ended after 20ms");
        let missing = outcome("/none/x", &[], long);
        assert!(missing.is_err(), "{missing:?}");
    }
}

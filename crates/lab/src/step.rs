//! A program of a template that must come to its end: what makes the folder of a server ready before its first start,
//! and what says whether it serves.

use std::ffi::OsString;
use std::fs::{self, File};
use std::path::Path;
use std::time::Duration;

use crate::process::Process;
use crate::{Cancel, Place};

/// Runs `program` with `arguments` in `folder`, at `place`; what it prints is appended to `log`.
///
/// # Errors
/// It cannot be run, fails, has not ended `within`, or was called off; as a sentence without its subject.
pub(crate) fn run(
    program: &Path,
    arguments: &[String],
    place: &Place,
    folder: &Path,
    log: &Path,
    within: Duration,
    cancel: &Cancel,
) -> Result<(), String> {
    let written = || fs::read(log).map_or(0, |bytes| bytes.len());
    let before = written();
    let file = File::options().create(true).append(true).open(log);
    let file = file.map_err(|error| format!("has no log: {}: {error}", log.display()))?;
    let mut words = place.words();
    words.push(program.into());
    words.extend(arguments.iter().map(OsString::from));
    let mut process =
        Process::start(&words, folder, file).map_err(|error| format!("could not be run: {error}"))?;
    if !process.ends_within_unless(within, cancel) {
        return Err(format!("had not ended after {within:?}"));
    }
    match process.kill() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => {
            let printed = fs::read(log).unwrap_or_default();
            let printed = String::from_utf8_lossy(printed.get(before..).unwrap_or_default()).into_owned();
            let last =
                printed.lines().rfind(|line| !line.trim().is_empty()).unwrap_or("(it printed nothing)");
            Err(format!("ended with {status}: {}", last.trim()))
        }
        Err(error) => Err(format!("has no known end: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str, within: Duration) -> Result<(), String> {
        let folder = tempfile::tempdir().unwrap();
        let arguments = ["-c".to_owned(), script.to_owned()];
        let log = folder.path().join("log");
        run(
            Path::new("/bin/sh"),
            &arguments,
            &Place::default(),
            folder.path(),
            &log,
            within,
            &Cancel::default(),
        )
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
        let (root, nowhere) = (Path::new("/"), Path::new("/dev/null"));
        let missing =
            run(Path::new("/none/x"), &[], &Place::default(), root, nowhere, long, &Cancel::default());
        assert!(missing.is_err(), "{missing:?}");
    }
}

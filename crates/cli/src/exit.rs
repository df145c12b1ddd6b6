//! Exit codes: what a script may rely on.

use std::process::ExitCode;

use dnsdyno_runner::RunError;

/// The run was made, and every expectation was met.
pub(crate) const OK: u8 = 0;

/// The run was made, and an expectation of `--expect` was not met.
pub(crate) const EXPECTATION_FAILED: u8 = 1;

/// The flags, the plan or the queries are not usable; nothing was sent. (`clap` uses 2 too.)
pub(crate) const BAD_INPUT: u8 = 2;

/// The run could not be made: no socket, no folder, or a fault of the generator.
pub(crate) const RUN_FAILED: u8 = 3;

/// The run was made, but its record is not whole on the disk.
pub(crate) const RECORD_INCOMPLETE: u8 = 4;

/// The user ended the run with Ctrl-C (128 + SIGINT); the record is whole.
pub(crate) const INTERRUPTED: u8 = 130;

/// An error that has an exit code of its own.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) code: u8,
    pub(crate) error: anyhow::Error,
}

impl Failure {
    pub(crate) fn bad_input(error: impl Into<anyhow::Error>) -> Self {
        Failure { code: BAD_INPUT, error: error.into() }
    }

    pub(crate) fn run_failed(error: impl Into<anyhow::Error>) -> Self {
        Failure { code: RUN_FAILED, error: error.into() }
    }
}

impl From<RunError> for Failure {
    fn from(error: RunError) -> Self {
        Failure { code: if error.is_bad_input() { BAD_INPUT } else { RUN_FAILED }, error: error.into() }
    }
}

/// What a verb gives back.
pub(crate) type Outcome = Result<u8, Failure>;

/// Turns what a verb gave back into the program's end.
pub(crate) fn code_of(outcome: Outcome) -> ExitCode {
    match outcome {
        Ok(code) => ExitCode::from(code),
        Err(failure) if is_broken_pipe(&failure.error) => ExitCode::from(OK),
        Err(failure) => {
            crate::screen::tell(&format!("dnsdyno: {}", in_words(&failure.error)));
            ExitCode::from(failure.code)
        }
    }
}

/// The error and its causes. Many of our messages have their cause in them, with what to do after it: that cause is
/// not said again.
fn in_words(error: &anyhow::Error) -> String {
    let mut words = String::new();
    for cause in error.chain().map(ToString::to_string) {
        if !words.contains(&cause) {
            let gap = if words.is_empty() { "" } else { ": " };
            words = format!("{words}{gap}{cause}");
        }
    }
    words
}

/// Whoever reads our output has gone, as with `| head`: that is no failure.
fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        cause
            .downcast_ref::<std::io::Error>()
            .is_some_and(|error| error.kind() == std::io::ErrorKind::BrokenPipe)
    })
}

/// The section of the help and the man page.
pub(crate) const HELP: &str = "\
Exit codes:
  0    the run was made, every expectation was met
  1    an expectation of --expect was not met
  2    flags, plan or queries are not usable; nothing was sent
  3    the run could not be made (no socket, no folder, a fault of the generator)
  4    the run was made, but its record is not whole on the disk
  130  ended with Ctrl-C; the record is whole";

#[cfg(test)]
mod tests {
    use anyhow::{Context, anyhow};

    use super::*;

    #[test]
    fn a_cause_is_said_once_whether_the_message_holds_it_or_not() {
        let outer = Err::<(), _>(anyhow!("no such file")).context("cannot show it").unwrap_err();
        assert_eq!(in_words(&outer), "cannot show it: no such file");
        let holding =
            Err::<(), _>(anyhow!("no such file")).context("cannot open it: no such file; name another");
        assert_eq!(in_words(&holding.unwrap_err()), "cannot open it: no such file; name another");
    }
}

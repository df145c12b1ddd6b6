//! Exit codes; scripts rely on them.

use std::process::ExitCode;

use dnsdyno_executor::JournalError;
use dnsdyno_runner::{RunError, StopCause};
use dnsdyno_text::shown;

/// The run completed, and all expectations were met.
pub(crate) const OK: u8 = 0;

/// The run completed, and an expectation was not met, or no query was answered.
pub(crate) const EXPECTATION_FAILED: u8 = 1;

/// `dnsdyno doctor` found what will bias the figures of a run.
pub(crate) const BIASED: u8 = 1;

/// The flags, the plan or the queries are not valid; nothing was sent. `clap` uses 2 too.
pub(crate) const BAD_INPUT: u8 = 2;

/// The run failed: no socket, no folder, or an internal error.
pub(crate) const RUN_FAILED: u8 = 3;

/// The run completed, but its record is incomplete.
pub(crate) const RECORD_INCOMPLETE: u8 = 4;

/// The run completed, no expectation was certainly not met, and of one it is not known: what was measured may be the
/// generator's.
pub(crate) const UNDECIDED: u8 = 5;

/// SIGHUP ended the run (128 + its number); the record is complete.
pub(crate) const HUNG_UP: u8 = 129;

/// The user ended the run with Ctrl-C (128 + SIGINT); the record is complete.
pub(crate) const INTERRUPTED: u8 = 130;

/// SIGTERM ended the run (128 + its number); the record is complete.
pub(crate) const TERMINATED: u8 = 143;

/// An error and its exit code.
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
        let code = match &error {
            RunError::StoppedBefore(cause) => code_of_stop(Some(*cause)),
            error if error.is_bad_input() => BAD_INPUT,
            _ => RUN_FAILED,
        };
        Failure { code, error: error.into() }
    }
}

impl From<JournalError> for Failure {
    fn from(error: JournalError) -> Self {
        Failure { code: if error.is_bad_input() { BAD_INPUT } else { RUN_FAILED }, error: error.into() }
    }
}

/// What a subcommand returns: the exit code, or an error with its own.
pub(crate) type Outcome = Result<u8, Failure>;

/// Prints why a command line cannot be read, and returns the exit code. Help and the version are errors to `clap` too.
pub(crate) fn refuse(error: &clap::Error, words: &[String]) -> ExitCode {
    match crate::habits::advice(error, words) {
        Some(advice) => {
            crate::message::print_error(&format!("dnsdyno: {}", shown(&advice, MAX_ADVICE)));
            ExitCode::from(BAD_INPUT)
        }
        None => {
            // A closed pipe is not a failure.
            let _ = error.print();
            ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(BAD_INPUT))
        }
    }
}

/// Converts the outcome of a subcommand to the exit code of the program; prints an error.
pub(crate) fn code_of(outcome: Outcome) -> ExitCode {
    match outcome {
        Ok(code) => ExitCode::from(code),
        Err(failure) if is_broken_pipe(&failure.error) => ExitCode::from(OK),
        Err(failure) => {
            crate::message::print_error(&format!("dnsdyno: {}", error_text(&failure.error)));
            ExitCode::from(failure.code)
        }
    }
}

/// The exit code of a run that a signal has stopped.
pub(crate) fn code_of_stop(cause: Option<StopCause>) -> u8 {
    match cause {
        Some(StopCause::Terminate) => TERMINATED,
        Some(StopCause::HangUp) => HUNG_UP,
        _ => INTERRUPTED,
    }
}

/// The error and its causes. Many of our messages already contain their cause, followed by advice: such a cause is
/// not repeated.
fn error_text(error: &anyhow::Error) -> String {
    let mut text = String::new();
    for cause in error.chain().map(ToString::to_string) {
        if !text.contains(&cause) {
            let gap = if text.is_empty() { "" } else { ": " };
            text = format!("{text}{gap}{cause}");
        }
    }
    text
}

/// Whether the reader of our output has closed it, as with `| head`: not a failure.
fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        cause
            .downcast_ref::<std::io::Error>()
            .is_some_and(|error| error.kind() == std::io::ErrorKind::BrokenPipe)
    })
}

/// How much of an advice is shown: it contains what the user typed.
const MAX_ADVICE: usize = 300;

/// The section on exit codes of the help and the man page.
pub(crate) const HELP: &str = "\
Exit codes:
  0    the run completed, all expectations were met
  1    an expectation was not met, or no query was answered (unless --send-only, or an expectation
       on answers such as 'loss=100%'); of doctor: something on this host will bias the figures
  2    the flags, the plan or the queries are not valid; nothing was sent
  3    the run failed or was not made (no usable answer before the load, no socket,
       no folder, an internal error)
  4    the run completed, but its record is incomplete
  5    an expectation is undecided, and none was not met: what was measured may be the generator's
  129  ended by SIGHUP; the record is complete
  130  ended with Ctrl-C; the record is complete
  143  ended by SIGTERM; the record is complete

Signals during a run:
  Ctrl-C, SIGTERM, SIGHUP  stop sending and wait for outstanding queries; the second ends the run
                           at once, the third the process without the end of the record
  SIGUSR1                  print the summary so far to standard error";

#[cfg(test)]
mod tests {
    use anyhow::{Context, anyhow};

    use super::*;

    #[test]
    fn a_cause_is_printed_once_even_if_the_message_contains_it() {
        let outer = Err::<(), _>(anyhow!("no such file")).context("cannot show it").unwrap_err();
        assert_eq!(error_text(&outer), "cannot show it: no such file");
        let containing =
            Err::<(), _>(anyhow!("no such file")).context("cannot open it: no such file; name another");
        assert_eq!(error_text(&containing.unwrap_err()), "cannot open it: no such file; name another");
    }
}

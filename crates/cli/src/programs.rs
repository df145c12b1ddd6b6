//! The programs whose command lines are understood, by the name of a link or as a verb: `dnsdyno dnsperf …`. Their
//! words are not ours, so they are handled before `clap`.

use std::ffi::OsString;
use std::process::ExitCode;
use std::sync::Arc;

use dnsdyno_dropin::{PROGRAMS, Program};
use dnsdyno_runner::{Control, LocalRunner};

use crate::exit::RUN_FAILED;
use crate::message::print_error;
use crate::signals::end_at_signals;

/// Runs the program that the command line means; `None` if that is dnsdyno itself.
pub(crate) fn run_if_called() -> Option<ExitCode> {
    let words: Vec<OsString> = std::env::args_os().collect();
    let (program, words) = Program::called(&words)?;
    let control = Arc::new(Control::default());
    if let Err(error) = end_at_signals(Arc::clone(&control)) {
        print_error(&format!("dnsdyno: {error}"));
        return Some(ExitCode::from(RUN_FAILED));
    }
    Some(ExitCode::from(dnsdyno_dropin::run(program, words, &mut LocalRunner, &control)))
}

/// The section on these programs of the help and the man page.
pub(crate) fn help() -> String {
    let one = |(program, what): (Program, &str)| format!("  {:<16}{what}\n", program.name());
    let lines: String = PROGRAMS.into_iter().map(one).collect();
    format!("Programs whose command lines dnsdyno accepts, here or as the name of a link to it:\n{lines}")
}

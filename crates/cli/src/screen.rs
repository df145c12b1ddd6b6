//! The screen of a run, with what it needs of this program.

use std::os::fd::AsFd;
use std::sync::Arc;

use dnsdyno_runner::{Control, RunError};
use dnsdyno_screen::{Leave, Program, Progress, Screen};

use crate::exit::Failure;
use crate::message::print_error;
use crate::signals;

/// The screen of a run that `control` can stop.
pub(crate) fn screen(progress: Progress, control: &Arc<Control>) -> Result<Screen, Failure> {
    let program = program(signals::handle_signals).map_err(Failure::run_failed)?;
    Ok(Screen::new(progress, Arc::clone(control), program))
}

/// The same, of one of several runs: signals that are handled by one thread stop the run in progress.
pub(crate) fn screen_of_many(progress: Progress, control: &Arc<Control>) -> Result<Screen, RunError> {
    let program = program(signals::handle_signals_of_many);
    let program = program.map_err(|error| RunError::Observer(Box::new(error)))?;
    Ok(Screen::new(progress, Arc::clone(control), program))
}

fn program(handle_signals: fn(Arc<Control>, Leave) -> std::io::Result<()>) -> std::io::Result<Program> {
    Ok(Program {
        print: print_error,
        width: width_of_terminal,
        handle_signals,
        state_requests: signals::state_requests()?,
    })
}

/// How these options show the progress of a run.
pub(crate) fn progress(quiet: bool, plain: bool) -> Progress {
    match (quiet, plain) {
        (true, _) => Progress::Quiet,
        (false, true) => Progress::Lines,
        (false, false) => Progress::Auto,
    }
}

/// Width of standard output in columns: that of the terminal, or the default.
pub(crate) fn width_of_terminal() -> usize {
    let size = terminal_size::terminal_size_of(std::io::stdout().as_fd());
    size.map_or(PAGE_WIDTH, |(width, _)| usize::from(width.0))
}

/// Columns of a summary that goes to a file or a pipe.
const PAGE_WIDTH: usize = 80;

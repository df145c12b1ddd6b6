//! The screen of a run, with what it needs of this program.

use std::os::fd::AsFd;
use std::sync::Arc;

use dnsdyno_runner::{Control, RunError};
use dnsdyno_screen::{Program, Progress, Screen};

use crate::message::print_error;
use crate::signals;

/// The screen of a run that `control` can stop. From now on signals do, also while queries are read and the server is
/// asked for the first time: a job of a script ignores SIGINT otherwise. Of several runs they stop the one in progress.
pub(crate) fn screen(progress: Progress, control: &Arc<Control>) -> Result<Screen, RunError> {
    let failed = |error: std::io::Error| RunError::Observer(Box::new(error));
    let screen = Screen::new(progress, program().map_err(failed)?);
    signals::handle_signals_of_many(Arc::clone(control), screen.leave()).map_err(failed)?;
    Ok(screen)
}

fn program() -> std::io::Result<Program> {
    Ok(Program { print: print_error, width: width_of_terminal, state_requests: signals::state_requests()? })
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

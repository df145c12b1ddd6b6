//! Where a screen is: the terminal of standard error, taken when a run begins, and left by whoever ends the process.

use std::io::IsTerminal;
use std::sync::{Arc, OnceLock};

use crate::terminal::Terminal;

/// How the progress of a run is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// On a screen where standard error is a terminal that can have one, else as lines.
    Auto,
    /// As lines.
    Lines,
    /// Not at all.
    Quiet,
}

/// Leaves the screen; for whoever ends the process.
pub type Leave = Arc<dyn Fn() + Send + Sync>;

/// The terminal that has the screen, once there is one.
#[derive(Debug, Default)]
pub(crate) struct Place(Arc<OnceLock<Arc<Terminal>>>);

impl Place {
    /// Takes the terminal, if this progress is shown on a screen and there is room for one.
    pub(crate) fn take(&self, progress: Progress) -> Option<Arc<Terminal>> {
        let wants_screen = progress == Progress::Auto && environment_allows_a_screen();
        let terminal = wants_screen.then(Terminal::of_stderr).flatten().filter(Terminal::is_large_enough)?;
        Some(Arc::clone(self.0.get_or_init(|| Arc::new(terminal))))
    }

    /// Leaves the screen if there is one by then.
    pub(crate) fn leave(&self) -> Leave {
        let terminal = Arc::clone(&self.0);
        Arc::new(move || terminal.get().into_iter().for_each(|terminal| terminal.close()))
    }
}

/// Whether the terminal can move its cursor, and the user wants colours (by the convention of no-color.org): else there
/// are lines.
fn environment_allows_a_screen() -> bool {
    let is_set = |name| std::env::var_os(name).filter(|value| !value.is_empty());
    let can_move = is_set("TERM").is_some_and(|term| term != "dumb");
    can_move && is_set("NO_COLOR").is_none() && std::io::stderr().is_terminal()
}

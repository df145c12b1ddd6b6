//! Makes the runs of a qualification, with the commands of its function test beside the load.
//!
//! ```text
//!   Request ──► a Runner ──► record in FOLDER/runs/NNN
//!                   │ begins
//!                   ▼
//!               Timetable ── a thread for each task ──► sh -c … ──► commands.ndjson beside the record
//! ```

mod leftovers;
mod shell;
mod timetable;

use std::path::Path;
use std::time::Duration;

use dnsdyno_campaign::Request;
use dnsdyno_campaign::qualify::Function;
use dnsdyno_record::Ended;
use dnsdyno_runner::{Control, FinishedRun, Keep, Observer, Runner};

use crate::journal::JournalError;
use crate::make::{MakeError, make, rest};
use crate::results::ResultsError;
use timetable::Timetable;

pub use leftovers::end_leftovers;

/// Why a run of a qualification was not made, or does not count.
#[derive(Debug, thiserror::Error)]
pub enum QualifyError {
    /// A run was not made, or does not count.
    #[error(transparent)]
    Make(#[from] MakeError),
    /// The journal cannot be written, or an earlier run cannot be read.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The results of the commands cannot be written.
    #[error(transparent)]
    Results(#[from] ResultsError),
}

/// What a run is made with.
pub struct Making<'a> {
    /// The folder of the qualification.
    pub of: &'a Path,
    /// The commands of the function test.
    pub function: Option<&'a Function>,
    /// Whether the user wants to stop.
    pub stopped: &'a dyn Fn() -> bool,
    /// Makes it.
    pub runner: &'a mut dyn Runner,
    /// Stops this run.
    pub control: &'a Control,
    /// Receives its progress.
    pub observer: &'a mut dyn Observer,
}

impl Making<'_> {
    /// Makes the run of a request, with its record in `folder`. `None` = the user has stopped it.
    ///
    /// # Errors
    /// The run could not be made, or its record is not whole.
    pub fn run(self, request: &Request, folder: &Path) -> Result<Option<FinishedRun>, QualifyError> {
        if !rest(Duration::from_nanos(request.rest_ns), self.stopped) {
            return Ok(None);
        }
        let function = self.function.filter(|_| request.commands);
        let rate = request.draft.rate.as_deref().unwrap_or_default();
        let mut timetable = function.map(|function| Timetable::new(function, self.of, folder, rate));
        let observer = &mut (&mut *self.observer, &mut timetable);
        let run = make(self.runner, &request.draft, Keep::Folder(folder.to_owned()), self.control, observer);
        let is_whole = matches!(&run, Ok(Some(run)) if run.digest.ended() == Some(&Ended::ByTime));
        // Whatever has ended the run, no command stays behind.
        let commands = timetable.map_or(Ok(()), |timetable| timetable.finish(is_whole));
        let run = run?;
        if run.is_some() {
            commands?;
        }
        Ok(run)
    }
}

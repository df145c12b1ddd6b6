//! Makes the runs of a qualification, with the commands of its function test beside the load.
//!
//! ```text
//!   Request ──► LocalRunner ──► record in FOLDER/runs/NNN
//!                   │ begins
//!                   ▼
//!               Timetable ── a thread for each task ──► sh -c … ──► commands.ndjson beside the record
//! ```

mod leftovers;
mod shell;
mod timetable;

use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use dnsdyno_campaign::Request;
use dnsdyno_campaign::qualify::Function;
use dnsdyno_plan::Draft;
use dnsdyno_record::{Ended, FinishedRun, WriteError};
use dnsdyno_runner::{Control, Keep, LocalRunner, Observer, PlanRunner, RunError, validate};

use crate::journal::JournalError;
use crate::results::ResultsError;
use timetable::Timetable;

pub use leftovers::end_leftovers;

/// Why a run of a qualification was not made, or does not count.
#[derive(Debug, thiserror::Error)]
pub enum QualifyError {
    /// The run failed.
    #[error(transparent)]
    Run(#[from] RunError),
    /// The journal cannot be written, or an earlier run cannot be read.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The results of the commands cannot be written.
    #[error(transparent)]
    Results(#[from] ResultsError),
    /// The record of the run is not complete.
    #[error("the record of this run is not complete, so it does not count: {0}")]
    Incomplete(WriteError),
    /// The generator failed.
    #[error("this run does not count, because the generator failed: {0}")]
    Failed(String),
}

/// What a run is made with.
pub struct Making<'a> {
    /// The folder of the qualification.
    pub of: &'a Path,
    /// The commands of the function test.
    pub function: Option<&'a Function>,
    /// Whether the user wants to stop.
    pub stopped: &'a dyn Fn() -> bool,
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
        if !self.rest(Duration::from_nanos(request.rest_ns)) {
            return Ok(None);
        }
        let plan = validate(&request.draft)?;
        let may_use_sockets = plan.backend.xdp().is_some_and(|xdp| xdp.or_sockets);
        let over_sockets = Draft { seed: Some(plan.seed.to_string()), ..request.draft.clone() }.by_sockets();
        let over_sockets = may_use_sockets.then(|| validate(&over_sockets)).transpose()?;
        let function = self.function.filter(|_| request.commands);
        let rate = request.draft.rate.as_deref().unwrap_or_default();
        let mut timetable = function.map(|function| Timetable::new(function, self.of, folder, rate));
        let run = {
            let observer = &mut (&mut *self.observer, &mut timetable);
            LocalRunner {
                keep: Keep::Folder(folder.to_owned()),
                over_sockets: over_sockets.as_ref(),
                control: self.control,
                observer,
                query_logs: None,
            }
            .run(&plan)
        };
        let ended = run.as_ref().ok().and_then(|run| run.digest.ended().cloned());
        // Whatever has ended the run, no command stays behind.
        let commands = timetable.map_or(Ok(()), |timetable| timetable.finish(ended == Some(Ended::ByTime)));
        let run = match run {
            Err(RunError::StoppedBefore) => return Ok(None),
            other => other?,
        };
        match ended {
            Some(Ended::Interrupted | Ended::Terminated | Ended::HungUp) => return Ok(None),
            Some(Ended::Failed { why }) => return Err(QualifyError::Failed(why)),
            _ => {}
        }
        commands?;
        match run.incomplete {
            Some(error) => Err(QualifyError::Incomplete(error)),
            None => Ok(Some(run)),
        }
    }

    /// Waits without load; returns whether it was not stopped.
    fn rest(&self, length: Duration) -> bool {
        let end = Instant::now() + length;
        loop {
            if (self.stopped)() {
                return false;
            }
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return true;
            }
            thread::sleep(left.min(STOP_CHECK));
        }
    }
}

/// How often a rest looks whether it is stopped.
const STOP_CHECK: Duration = Duration::from_millis(50);

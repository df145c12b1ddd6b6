//! Makes one run of a campaign, and says whether its record counts.

use std::thread;
use std::time::{Duration, Instant};

use dnsdyno_plan::Draft;
use dnsdyno_record::{Ended, WriteError};
use dnsdyno_runner::{Control, FinishedRun, Keep, Observer, RunError, RunJob, Runner};

/// Why a run was not made, or does not count.
#[derive(Debug, thiserror::Error)]
pub enum MakeError {
    /// The run failed.
    #[error(transparent)]
    Run(#[from] RunError),
    /// The record of the run is not complete.
    #[error("the record of this run is not complete, so it does not count: {0}")]
    Incomplete(WriteError),
    /// The generator failed.
    #[error("this run does not count, because the generator failed: {0}")]
    Failed(String),
}

/// Makes a run. `None` = the user has stopped it: what there is of its record does not count.
pub(crate) fn make(
    runner: &mut dyn Runner,
    draft: &Draft,
    keep: Keep,
    control: &Control,
    observer: &mut dyn Observer,
) -> Result<Option<FinishedRun>, MakeError> {
    let plans = runner.validate(draft)?;
    let job = RunJob::new(&plans, keep);
    let run = match runner.run(&job, control, observer) {
        Err(RunError::StoppedBefore(_)) => return Ok(None),
        other => other?,
    };
    match run.digest.ended() {
        Some(Ended::Interrupted | Ended::Terminated | Ended::HungUp) => return Ok(None),
        Some(Ended::Failed { why }) => return Err(MakeError::Failed(why.clone())),
        _ => {}
    }
    control.begin_next();
    match run.incomplete {
        Some(error) => Err(MakeError::Incomplete(error)),
        None => Ok(Some(run)),
    }
}

/// Waits without load; returns whether it was not stopped.
pub(crate) fn rest(length: Duration, is_stopped: &dyn Fn() -> bool) -> bool {
    let end = Instant::now() + length;
    loop {
        if is_stopped() {
            return false;
        }
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return true;
        }
        thread::sleep(left.min(STOP_CHECK));
    }
}

/// How often a rest looks whether it is stopped.
const STOP_CHECK: Duration = Duration::from_millis(50);

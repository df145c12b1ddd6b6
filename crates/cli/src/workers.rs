//! `--workers auto`: the number of workers, by trials before the run.

use std::sync::Arc;

use dnsdyno_campaign::workers::{WorkerSearch, WorkersFound};
use dnsdyno_executor::{MakeError, find_workers};
use dnsdyno_plan::{Draft, WorkerCount};
use dnsdyno_runner::{Control, LocalRunner, RunError, Runner, StopCause};
use dnsdyno_screen::Progress;
use dnsdyno_sys::thread;

use crate::cmd::agent::OnFlags;
use crate::exit::Failure;
use crate::message::print_error;
use crate::screen::screen;
use crate::signals::asked_to_stop;

/// Replaces `auto` in the draft by the number that trials find. `None` = the draft does not ask for that.
pub(crate) fn replace_auto(
    draft: &mut Draft,
    on: &OnFlags,
    is_quiet: bool,
) -> Result<Option<WorkersFound>, Failure> {
    if draft.workers != Some(WorkerCount::Auto) {
        return Ok(None);
    }
    // Otherwise the mistakes are told first that the run would have.
    draft.workers = None;
    let plan = LocalRunner.validate(draft)?.plan;
    let refuse = |why: &str| Failure::bad_input(anyhow::anyhow!("--workers auto {why}: write a number"));
    if !on.is_here() {
        return Err(refuse("finds the number for this host, and --on makes the load on others"));
    }
    if !plan.part.is_whole() {
        return Err(refuse("makes the whole load, and --part is one of its parts"));
    }
    if plan.backend.xdp().is_some() {
        return Err(refuse("is for sockets; with AF_XDP there is a worker for each queue"));
    }
    let cpus = thread::allowed_cpus().map_or(1, |cpus| cpus.len());
    let search = WorkerSearch::new(draft, &plan.load, cpus)
        .ok_or_else(|| refuse("needs a load with a rate or a window, and that of a source has neither"))?;
    if !is_quiet {
        let trials = search.first_trials();
        print_error(&format!(
            "dnsdyno: {trials} trials of 1 s find the number of workers; they load the server"
        ));
    }
    let control = Arc::new(Control::default());
    let mut screen = screen(Progress::Quiet, &control)?;
    let found = find_workers(search, &mut LocalRunner, &control, &mut ());
    screen.finish();
    let stopped = || RunError::StoppedBefore(asked_to_stop().unwrap_or(StopCause::Interrupt));
    let found = match found {
        Ok(found) => found.ok_or_else(stopped)?,
        Err(MakeError::Run(error)) => return Err(error.into()),
        Err(error) => return Err(Failure::run_failed(error)),
    };
    draft.workers = Some(WorkerCount::Number(found.workers));
    Ok(Some(found))
}

//! `--workers auto`: the number of workers, by trials before the run.

use std::sync::Arc;

use dnsdyno_campaign::workers::{WorkerSearch, WorkersFound};
use dnsdyno_executor::{MakeError, find_workers};
use dnsdyno_plan::{Draft, Plan, WorkerCount};
use dnsdyno_queries::{QueriesFormat, QuerySource};
use dnsdyno_runner::{Control, LocalRunner, Runner, StopCause, rights_of_a_run};
use dnsdyno_screen::Progress;
use dnsdyno_sys::thread;

use crate::cmd::agent::OnFlags;
use crate::exit::{Failure, code_of_stop};
use crate::message::print_error;
use crate::rights;
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
    if let Some(why) = why_not(draft, &plan, on) {
        return Err(refuse(why));
    }
    if plan.watch.is_empty() {
        rights::keep(rights_of_a_run(false));
    }
    let cpus = thread::allowed_cpus().map_or(1, |cpus| cpus.len());
    let search = WorkerSearch::new(draft, &plan.load, cpus)
        .ok_or_else(|| refuse("needs a load with a rate or a window, and that of a source has neither"))?;
    // A file that is not there is told by the first trial, which loads nothing.
    let is_there = !matches!(&plan.source, QuerySource::File(path) if !path.exists());
    if !is_quiet && is_there {
        let trials = search.first_trials();
        print_error(&format!(
            "dnsdyno: at least {trials} trials of 1 s find the number of workers; they load the server"
        ));
    }
    let control = Arc::new(Control::default());
    let mut screen = screen(Progress::Quiet, &control)?;
    let found = find_workers(search, &mut LocalRunner, &control, &mut ());
    screen.finish();
    let found = match found {
        Ok(Some(found)) => found,
        Ok(None) => {
            let code = code_of_stop(Some(asked_to_stop().unwrap_or(StopCause::Interrupt)));
            let error = anyhow::anyhow!("stopped in the trials of --workers auto: the run was not made");
            return Err(Failure { code, error });
        }
        Err(MakeError::Run(error)) => return Err(error.into()),
        Err(error) => return Err(Failure::run_failed(error)),
    };
    draft.workers = Some(WorkerCount::Number(found.workers));
    Ok(Some(found))
}

/// Why no trials of a plan are made; `None` = they can be.
fn why_not(draft: &Draft, plan: &Plan, on: &OnFlags) -> Option<&'static str> {
    let is_read_once = match &plan.source {
        QuerySource::Stdin => true,
        QuerySource::File(path) => path.exists() && !path.is_file(),
        _ => false,
    };
    match () {
        () if !on.is_here() => Some("finds the number for this host, and --on makes the load on others"),
        () if !plan.part.is_whole() => Some("makes the whole load, and --part is one of its parts"),
        () if plan.backend.xdp().is_some() => {
            Some("is for sockets; with AF_XDP there is a worker for each queue")
        }
        () if draft.queries_format == Some(QueriesFormat::Updates) => {
            Some("sends each query several times, and updates change the zone")
        }
        () if is_read_once => Some("reads the queries for each trial, and these can be read once only"),
        () => None,
    }
}

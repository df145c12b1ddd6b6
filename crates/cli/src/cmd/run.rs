//! `dnsdyno run`: put a load on a server and measure it.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use dnsdyno_plan::Draft;
use dnsdyno_plan::expect::Expectation;
use dnsdyno_record::{Digest, Ended, RunWriter};
use dnsdyno_report::{diagnosis, first_finding_text};
use dnsdyno_runner::{Control, Keep, RunJob, Runner, rights_of_a_run};
use dnsdyno_screen::Progress;

use crate::args::RunFlags;
use crate::cmd::report::named;
use crate::exit::{Failure, HUNG_UP, INTERRUPTED, Outcome, RECORD_INCOMPLETE, RUN_FAILED, TERMINATED};
use crate::message::{LONGEST_PATH, print_error};
use crate::metrics::Exporters;
use crate::rights;
use crate::screen::{progress, screen, width_of_terminal};
use crate::summary::{Expected, Form, print};
use crate::workers::replace_auto;

pub(crate) fn run(flags: RunFlags) -> Outcome {
    let mut draft = match &flags.plan {
        Some(file) => {
            Draft::read(file).and_then(|draft| draft.overlay(flags.draft)).map_err(Failure::bad_input)?
        }
        None => flags.draft,
    };
    // Before trials and a first pass load the server for nothing.
    if let Some(folder) = &flags.output.out {
        RunWriter::check_folder(folder).map_err(Failure::run_failed)?;
    }
    let by_trials = replace_auto(&mut draft, &flags.on, flags.output.quiet)?;
    let mut runner = flags.on.runner_for(&draft)?;
    let plans = runner.validate(&draft)?;
    for note in &plans.plan.notes {
        print_error(&format!("dnsdyno: {note}"));
    }
    if by_trials.is_none() && flags.on.is_here() && plans.plan.watch.is_empty() {
        // It starts no program, and the agents of `--on` have what their hosts give them. Trials have given them up.
        rights::keep(rights_of_a_run(false));
    }
    let output = &flags.output;
    let form = Form { json: output.json, verbose: output.verbose };
    let exporters = Exporters::start(&flags.metrics, output.quiet)?;
    let progress = progress(output.quiet, output.plain);
    let workers_reason = by_trials.as_ref().map(|found| &*found.why);
    let job = RunJob { workers_reason, ..RunJob::new(&plans, kept_in(flags.output.out)) };
    execute(&mut *runner, &job, progress, form, exporters).map(|run| run.code)
}

/// A run that was made, and printed.
pub(crate) struct Executed {
    /// The exit code.
    pub(crate) code: u8,
    /// The folder of the record.
    pub(crate) folder: Option<PathBuf>,
    /// What it has shown.
    pub(crate) digest: Digest,
}

/// Where the record of a run is written: in the folder that the user names, or in one named by date and time.
pub(crate) fn kept_in(folder: Option<PathBuf>) -> Keep {
    folder.map_or(Keep::Dated, Keep::Folder)
}

/// Makes a run, and prints its summary.
pub(crate) fn execute(
    runner: &mut dyn Runner,
    job: &RunJob<'_>,
    progress: Progress,
    form: Form,
    mut exporters: Exporters,
) -> Result<Executed, Failure> {
    if cfg!(feature = "unmeasured") {
        print_error(
            "dnsdyno: this build does not match responses or measure times: use it for benchmarks only",
        );
    }
    let control = Arc::new(Control::default());
    let mut screen = screen(progress, &control)?;
    let run = runner.run(job, &control, &mut (&mut screen, &mut exporters.observer()));
    screen.finish();
    let run = run?;
    let expect = &job.plans.plan.expect;
    let answers = !expect.iter().any(Expectation::is_on_answers);
    let expected = Expected { of_run: expect, of_each: &run.each, answers };
    let code = print(&run.digest, run.folder.as_deref(), form, expected)?;
    if let (Some(folder), false) = (&run.folder, form.json) {
        let folder = folder.display().to_string();
        writeln!(std::io::stdout(), "\nrecord: {}", dnsdyno_text::shown(&folder, LONGEST_PATH))
            .map_err(Failure::run_failed)?;
    }
    if let (Some(folder), false) = (run.folder.as_deref(), form.json) {
        print_first_finding(&run.digest, folder)?;
    }
    if let Some(error) = &run.incomplete {
        print_error(&format!("dnsdyno: {error}"));
    }
    exporters.finish(&run.digest, &control);
    let code = match run.digest.ended() {
        Some(Ended::Failed { .. }) => RUN_FAILED,
        _ if run.incomplete.is_some() => RECORD_INCOMPLETE,
        Some(Ended::Interrupted) => INTERRUPTED,
        Some(Ended::Terminated) => TERMINATED,
        Some(Ended::HungUp) => HUNG_UP,
        _ => code,
    };
    Ok(Executed { code, folder: run.folder, digest: run.digest })
}

/// What explains the losses of a run first, where something was watched beside its load.
fn print_first_finding(digest: &Digest, folder: &Path) -> Result<(), Failure> {
    if digest.header.watched.is_empty() {
        return Ok(());
    }
    // A record that cannot be read again has said so when it was written.
    let Ok(found) = diagnosis(folder) else { return Ok(()) };
    match first_finding_text(&found, &named(folder), width_of_terminal()) {
        Some(text) => write!(std::io::stdout(), "{text}").map_err(Failure::run_failed),
        None => Ok(()),
    }
}

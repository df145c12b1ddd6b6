//! Makes a run for any of the programs: with a record, with the consent that a public address needs, and with what the
//! user should know on standard error.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use dnsdyno_plan::{Draft, PlanError};
use dnsdyno_runner::{Control, FinishedRun, Keep, Observer, Plans, QueryLogs, RunError, RunJob, Runner};
use dnsdyno_text::shown;

use crate::console::Console;

/// A run that is wanted.
pub(crate) struct Wanted<'a> {
    pub(crate) draft: Draft,
    /// Whether a record is written.
    pub(crate) is_recorded: bool,
    /// Makes it.
    pub(crate) runner: &'a mut dyn Runner,
    pub(crate) control: &'a Arc<Control>,
    pub(crate) console: &'a Console,
}

impl Wanted<'_> {
    /// The draft, validated. There is no check before the load, as in the originals: each query counts.
    pub(crate) fn plans(&self) -> Result<Plans, RunError> {
        let may_load = env::var_os(CONSENT).is_some_and(|value| value == *"1");
        let draft =
            Draft { i_may_load_this_server: Some(may_load), check: Some(false), ..self.draft.clone() };
        self.runner.validate(&draft)
    }

    /// Makes the run of the plans.
    pub(crate) fn make(
        &mut self,
        plans: &Plans,
        observer: &mut dyn Observer,
        query_logs: Option<QueryLogs<'_>>,
    ) -> Result<FinishedRun, RunError> {
        let job = RunJob { query_logs, ..RunJob::new(plans, self.keep()) };
        let run = self.runner.run(&job, self.control, observer)?;
        self.tell_of(&run);
        Ok(run)
    }

    /// Where the record goes. A folder that cannot be written costs the record, not the run.
    fn keep(&self) -> Keep {
        if !self.is_recorded {
            return Keep::Memory;
        }
        let parent = env::var_os(RUNS).map_or_else(|| PathBuf::from(USUAL_RUNS), PathBuf::from);
        match writable(&parent) {
            Ok(()) => Keep::Under(parent),
            Err(error) => {
                let parent = parent.display();
                self.say(&format!("no record is written, because {parent} cannot be: {error}; set {RUNS}"));
                Keep::Memory
            }
        }
    }

    /// Says what limited the run, and where its record is.
    fn tell_of(&self, run: &FinishedRun) {
        if let Some(error) = &run.incomplete {
            self.say(&error.to_string());
        }
        let warnings: Vec<String> = run.digest.warnings().iter().map(ToString::to_string).collect();
        if !warnings.is_empty() {
            self.say(&format!("the generator may have limited this run: {}", warnings.join("; ")));
        }
        if let Some(folder) = &run.folder {
            self.say(&format!("record: {}", folder.display()));
        }
    }

    /// Prints a line of ours to standard error.
    fn say(&self, text: &str) {
        self.console.tell(&format!("dnsdyno: {}\n", shown(text, LONGEST_LINE)));
    }
}

/// The text of an error, with what to do in the words of these programs.
pub(crate) fn error_text(error: &RunError) -> String {
    match error {
        RunError::Plan(PlanError::MayNotLoad { address }) => format!(
            "{address} is a public address: if you own the server, or its owner has agreed to the load, set \
             {CONSENT}=1"
        ),
        _ => error.to_string(),
    }
}

/// Whether folders can be made in this one; makes it.
fn writable(folder: &Path) -> std::io::Result<()> {
    fs::create_dir_all(folder)?;
    let probe = folder.join(format!(".dnsdyno-{}", std::process::id()));
    fs::create_dir(&probe)?;
    fs::remove_dir(&probe)
}

/// The folder of the records, as an environment variable.
const RUNS: &str = "DNSDYNO_RUNS";

/// The same without it.
const USUAL_RUNS: &str = "runs";

/// The consent to load a public address, as an environment variable: these programs have no option for it.
const CONSENT: &str = "DNSDYNO_I_MAY_LOAD_THIS_SERVER";

/// Characters of a line of ours: paths may be long.
const LONGEST_LINE: usize = 4_000;

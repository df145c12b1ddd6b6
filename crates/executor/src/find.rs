//! Carries out a search for the limit of a server: its runs, its folder, its result.
//!
//! ```text
//!   Settings ──► Finder ◄─► carry_out ◄─► a Runner ──► FOLDER/runs/NNN
//!                  │ learn                             FOLDER/find.json   the result
//!                  └──► Tell: a line for each trial
//! ```

use std::cell::RefCell;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use dnsdyno_campaign::find::report::{FINDING_FILE, finding_json};
use dnsdyno_campaign::find::{Finder, Finding, Settings, TrialsSoFar, finder};
use dnsdyno_campaign::{Campaign, Request, Step};
use dnsdyno_record::Digest;
use dnsdyno_runner::{Control, FinishedRun, Keep, Observer, RunError, Runner};
use serde_json::Value;

use crate::carry_out::{CarriedOut, Progress, carry_out};
use crate::journal::{Journal, JournalError};
use crate::make::{MakeError, make, rest};

/// Is told of a search while it is carried out.
pub trait Tell {
    /// A run begins.
    fn begins(&mut self, request: &Request);

    /// A run has ended, now or in an earlier part of the search, and was judged.
    fn judged(&mut self, made: TrialsSoFar<'_>);

    /// The search was resumed: so many runs had ended, so many had been cut off.
    fn resumed(&mut self, ended: u32, cut: u32);

    /// The server does not answer before a run; it is asked again.
    fn unanswered(&mut self, why: &str);
}

/// Why a search failed. What was measured is kept, and it can be resumed.
#[derive(Debug, thiserror::Error)]
pub enum FindFailed {
    /// A run was not made, or does not count.
    #[error(transparent)]
    Make(#[from] MakeError),
    /// The journal cannot be written, or an earlier run cannot be read.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The result cannot be written.
    #[error("cannot write the result to {}: {source}; the search can be resumed", path.display())]
    Result {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        source: std::io::Error,
    },
}

/// A search to be carried out.
pub struct Search<'a> {
    /// Its settings.
    pub settings: Settings,
    /// Its options as given: a folder with others is not resumed.
    pub options: &'a Value,
    /// Its folder.
    pub folder: &'a Path,
    /// Makes its runs.
    pub runner: &'a mut dyn Runner,
    /// Stops it.
    pub control: &'a Control,
    /// Receives the progress of its runs.
    pub observer: &'a mut dyn Observer,
    /// Is told of its trials.
    pub tell: &'a mut dyn Tell,
}

impl Search<'_> {
    /// Which trials are made, and how long they are, by the records of those before: a folder of another version of
    /// this cannot be resumed, because its trials would be taken for others.
    pub const VERSION: u32 = 2;

    /// Carries it out, from where its folder ends, and writes the result.
    ///
    /// # Errors
    /// A run could not be made, or the folder cannot be used.
    pub fn carry_out(self) -> Result<CarriedOut<Finding>, FindFailed> {
        let mut journal = Journal::open(self.folder, self.options)?;
        let tell = RefCell::new(self.tell);
        let mut campaign = ReportedFinder { finder: finder(self.settings), tell: &tell };
        let Search { runner, control, observer, .. } = self;
        let mut making = Making { runner, control, observer, tell: &tell, made: 0 };
        let carried_out = carry_out(&mut campaign, &mut journal, &mut making)?;
        if let CarriedOut::Done(finding) = &carried_out {
            let path = self.folder.join(FINDING_FILE);
            let text = format!("{:#}\n", finding_json(finding));
            fs::write(&path, text).map_err(|source| FindFailed::Result { path, source })?;
        }
        Ok(carried_out)
    }
}

/// A finder whose trials are told.
struct ReportedFinder<'a, 'b> {
    finder: Box<dyn Finder>,
    tell: &'a RefCell<&'b mut dyn Tell>,
}

impl Campaign for ReportedFinder<'_, '_> {
    type Result = Finding;

    fn next(&self) -> Step<Finding> {
        self.finder.next()
    }

    fn learn(&mut self, run: &Digest) {
        self.finder.learn(run);
        self.tell.borrow_mut().judged(self.finder.made());
    }

    fn learn_cut(&mut self, run: &Digest) {
        self.finder.learn_cut(run);
    }
}

/// Makes the runs.
struct Making<'a, 'b> {
    runner: &'a mut dyn Runner,
    control: &'a Control,
    observer: &'a mut dyn Observer,
    tell: &'a RefCell<&'b mut dyn Tell>,
    made: u32,
}

impl Progress for Making<'_, '_> {
    type Error = FindFailed;

    fn run(&mut self, request: &Request, folder: &Path) -> Result<Option<FinishedRun>, FindFailed> {
        if !self.rest(Duration::from_nanos(request.rest_ns)) {
            return Ok(None);
        }
        self.tell.borrow_mut().begins(request);
        let run = self.answered_run(request, folder)?;
        self.made += u32::from(run.is_some());
        Ok(run)
    }

    fn resumed(&mut self, ended: u32, cut: u32) {
        self.made += ended;
        self.tell.borrow_mut().resumed(ended, cut);
    }
}

impl Making<'_, '_> {
    /// Makes a run. After an overload a server may need some time before it answers again.
    fn answered_run(&mut self, request: &Request, folder: &Path) -> Result<Option<FinishedRun>, MakeError> {
        let mut waits = WAITS.iter();
        loop {
            let run = make(
                &mut *self.runner,
                &request.draft,
                Keep::Folder(folder.to_owned()),
                self.control,
                &mut *self.observer,
            );
            match (run, waits.next()) {
                (Err(MakeError::Run(RunError::Check(failed))), Some(wait)) if self.made > 0 => {
                    self.tell.borrow_mut().unanswered(&failed.to_string());
                    if !self.rest(*wait) {
                        return Ok(None);
                    }
                }
                (run, _) => return run,
            }
        }
    }

    fn rest(&self, length: Duration) -> bool {
        rest(length, &|| self.control.cause().is_some())
    }
}

/// How long a server that no longer answers is waited for, each time.
const WAITS: [Duration; 4] =
    [Duration::from_secs(1), Duration::from_secs(3), Duration::from_secs(10), Duration::from_secs(30)];

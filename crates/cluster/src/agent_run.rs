//! The run of a task on an agent: checked against what may be loaded here, started with the others, and told as it
//! goes.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use dnsdyno_plan::Draft;
use dnsdyno_record::HostInfo;
use dnsdyno_runner::{Control, Keep, Live, Note, Observer, RunError, RunJob, Runner};

use crate::frame::{Frame, Kind};
use crate::link::Outbox;
use crate::messages::{Passed, RefusalCause, Report};
use crate::permission::Permission;

/// Makes a runner, in the thread that uses it.
pub type MakeRunner = fn() -> Box<dyn Runner>;

/// A part of a run that is to be made.
pub(crate) struct AgentRun {
    pub(crate) draft: Draft,
    pub(crate) may_load: bool,
    pub(crate) permission: Permission,
    pub(crate) runner: MakeRunner,
    pub(crate) folder: PathBuf,
    pub(crate) outbox: Outbox,
    /// Of a guarded session.
    pub(crate) log: Option<fn(&str)>,
    pub(crate) control: Arc<Control>,
    pub(crate) starts: Receiver<u64>,
}

impl AgentRun {
    /// Makes it, and says how it has ended.
    pub(crate) fn make(self) {
        let report = match self.run() {
            Ok(()) => Report::Ended,
            Err((why, cause)) => {
                self.log.iter().for_each(|log| log(&format!("refused: {why}")));
                Report::Refused { why, cause }
            }
        };
        self.outbox.message(&report);
    }

    fn run(&self) -> Result<(), (String, RefusalCause)> {
        let failed = |error: RunError| match &error {
            // What to do is said by the coordinator.
            RunError::Check(failed) => (failed.sentences.join("; "), RefusalCause::Check),
            error if error.is_bad_input() => (error.to_string(), RefusalCause::BadInput),
            error => (error.to_string(), RefusalCause::Other),
        };
        let mut runner = (self.runner)();
        let plans = runner.validate(&self.draft).map_err(failed)?;
        self.permission
            .check(&plans.plan, self.may_load)
            .map_err(|why| (why.to_string(), RefusalCause::BadInput))?;
        let host = HostInfo::gather(plans.plan.target.address.ip());
        let start = |preparation_ns| self.start(preparation_ns, &host);
        let copy = |line: &[u8]| self.outbox.frame(Frame { kind: Kind::Line, octets: line.to_vec() });
        let job = RunJob {
            start: Some(&start),
            copy: Some(&copy),
            ..RunJob::new(&plans, Keep::Folder(self.folder.clone()))
        };
        let finished = runner.run(&job, &self.control, &mut Tells(&self.outbox)).map_err(failed)?;
        if let Some(error) = finished.incomplete {
            self.outbox.message(&Report::Said { words: format!("its own record is not whole: {error}") });
        }
        Ok(())
    }

    /// Says that the run is ready, and waits for its start.
    fn start(&self, preparation_ns: u64, host: &HostInfo) -> Option<u64> {
        self.outbox.message(&Report::Ready { preparation_ns, host: Box::new(host.clone()) });
        loop {
            match self.starts.recv_timeout(LOOK_AGAIN) {
                Ok(epoch_ns) => return Some(epoch_ns),
                Err(RecvTimeoutError::Timeout) if self.control.cause().is_none() => {}
                Err(_) => return None,
            }
        }
    }
}

/// Tells the coordinator of the progress of a run.
struct Tells<'a>(&'a Outbox);

impl Observer for Tells<'_> {
    fn note(&mut self, note: &Note<'_>) {
        let words = match note {
            // The record has them, and its lines are sent.
            Note::Event(_) | Note::Stopping(_) => None,
            Note::ReadingCapture { .. } => None,
            note => note.sentence(),
        };
        words.into_iter().for_each(|words| self.0.message(&Report::Said { words }));
    }

    fn passed(&mut self, live: &Live<'_>) {
        let Live { index, to_ns, covered_ns, asked_qps, arrivals } = *live;
        let arrivals = arrivals.clone();
        self.0.message(&Report::Passed(Box::new(Passed { index, to_ns, covered_ns, asked_qps, arrivals })));
    }
}

/// How often a run that waits for its start looks whether it was stopped.
const LOOK_AGAIN: Duration = Duration::from_millis(20);

//! The record of a run while it is made, with what decides on its end: the same for a run of this process and for one
//! that several agents make.

use dnsdyno_engine::{Control, StopCause};
use dnsdyno_plan::{Draft, Plan};
use dnsdyno_record::{Ended, Event, Header, HostInfo, Interval, Sum, WriteError};

use crate::error::RunError;
use crate::finished::FinishedRun;
use crate::judge::Judge;
use crate::notes::{Notes, RunStart};
use crate::observer::{Note, Observer};
use crate::recorder::{LineCopy, Recorder};

/// A run that is recorded.
pub struct Recording<'a> {
    pub(crate) recorder: Recorder<'a>,
    notes: Option<Notes>,
    pub(crate) judge: Judge,
    pub(crate) control: &'a Control,
    pub(crate) observer: &'a mut dyn Observer,
    has_reported_error: bool,
}

/// What a record begins with.
#[derive(Clone, Copy)]
pub struct Beginning<'a> {
    /// The plan, for its expectations and conditions.
    pub plan: &'a Plan,
    /// The options of the plan that repeats the run.
    pub draft: &'a Draft,
    /// The folder of the record; `None` = in memory only.
    pub folder: Option<&'a std::path::Path>,
    /// The header.
    pub header: &'a Header,
    /// This host.
    pub host: &'a HostInfo,
    /// The start on the monotonic clock of this host, and on its wall clock since 1970; `None` where nobody can give
    /// notes to the run.
    pub start_ns: Option<(u64, u64)>,
    /// When the last query is due, where that is known.
    pub schedule_end_ns: Option<u64>,
}

/// Who takes part in a run that is recorded.
pub struct Parties<'a> {
    /// Stops it.
    pub control: &'a Control,
    /// Receives its progress.
    pub observer: &'a mut dyn Observer,
    /// Gets each line of the record too.
    pub copy: Option<LineCopy<'a>>,
}

impl<'a> Recording<'a> {
    /// Creates the record, and tells the observer that the run begins.
    ///
    /// # Errors
    /// The record cannot be created, or the observer does not want the run.
    pub fn begin(beginning: Beginning<'_>, parties: Parties<'a>) -> Result<Recording<'a>, RunError> {
        let Beginning { plan, draft, folder, header, host, start_ns, schedule_end_ns } = beginning;
        let Parties { control, observer, copy } = parties;
        let recorder = Recorder::open(draft, folder, header, host, copy)?;
        let start = start_ns.map(|(epoch_ns, unix_ns)| RunStart { epoch_ns, unix_ns });
        let notes = start.and_then(|start| Notes::start(recorder.folder(), start));
        observer.begins(header, schedule_end_ns).map_err(RunError::Observer)?;
        let judge = Judge::new(plan, header);
        Ok(Recording { recorder, notes, judge, control, observer, has_reported_error: false })
    }

    /// The observer of the run.
    pub fn observer(&mut self) -> &mut dyn Observer {
        self.observer
    }

    /// Records an interval.
    pub fn record(&mut self, interval: &Interval) {
        let written = self.recorder.interval(interval);
        self.report_error(written);
    }

    /// An interval has settled: tells the observer, and stops the run where a condition of its plan holds now.
    pub fn settled(&mut self, interval: &Interval) {
        self.observer.settled(interval);
        if self.judge.ends_with(interval) {
            self.control.stop_sending(StopCause::Condition);
        }
    }

    /// Records an event, and tells the user of it.
    pub fn event(&mut self, event: &Event) {
        self.observer.note(&Note::Event(event));
        self.quiet_event(event);
    }

    /// Records an event that the user knows of.
    fn quiet_event(&mut self, event: &Event) {
        let written = self.recorder.event(event);
        self.report_error(written);
    }

    /// The run is stopped at this instant.
    pub fn stopping(&mut self, at_ns: u64) {
        let event = self.judge.stop_event(self.control, at_ns);
        self.observer.note(&Note::Stopping(&event));
        self.quiet_event(&event);
    }

    /// Records what others have said and made happen since the last call, and gives the observer its turn.
    pub fn idle(&mut self) {
        let notes = self.notes.as_mut().map(Notes::events).unwrap_or_default();
        notes.iter().for_each(|note| self.event(note));
        self.happened();
        self.observer.idle(self.recorder.digest());
    }

    fn happened(&mut self) {
        for event in self.observer.happened() {
            self.quiet_event(&event);
        }
    }

    /// A line that could not be written is kept and retried; the observer gets only the first error.
    fn report_error(&mut self, written: Result<(), WriteError>) {
        if let Err(error) = written
            && !std::mem::replace(&mut self.has_reported_error, true)
        {
            self.observer.note(&Note::RecordTrouble(&error));
        }
    }

    /// Ends the record with its sum, which gets its verdict.
    pub fn finish(mut self, mut sum: Sum) -> FinishedRun {
        let notes = self.notes.take().map(|mut notes| notes.finish()).unwrap_or_default();
        notes.iter().for_each(|note| self.event(note));
        self.happened();
        if sum.ended == Ended::Interrupted {
            sum.ended = self.judge.ended(self.control.cause());
        }
        let sum = self.recorder.judged(sum);
        let each = self.judge.finish(&sum);
        self.recorder.finish(sum, each)
    }
}

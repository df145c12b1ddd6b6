//! A record without load: what is watched, interval by interval, until its time is over or the user ends it.

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use dnsdyno_engine::{Asked, Control, StopCause};
use dnsdyno_measure::{Arrivals, Evidence, Samples, Tally, merge_samples};
use dnsdyno_plan::WatchPlan;
use dnsdyno_probe::{Beside, SamplingClock};
use dnsdyno_record::{Ended, Event, Header, HostInfo, Interval, Sum, WriteError, command_line};
use dnsdyno_sys::clock;

use crate::error::RunError;
use crate::finished::FinishedRun;
use crate::notes::{Notes, RunStart};
use crate::observer::{Note, Observer};
use crate::recorder::{Keep, Recorder};
use crate::watching::{Watching, open_watched};

/// Watches, and sends nothing.
pub struct WatchRunner<'a> {
    /// Where the record is written.
    pub keep: Keep,
    /// Ends it.
    pub control: &'a Control,
    /// Receives what was read.
    pub observer: &'a mut dyn Observer,
}

impl WatchRunner<'_> {
    /// Watches until the time of the plan is over, or the user ends it.
    ///
    /// # Errors
    /// Something cannot be watched at all, or the record cannot be created.
    pub fn run(self, plan: &WatchPlan) -> Result<FinishedRun, RunError> {
        let WatchRunner { keep, control, observer } = self;
        let sources = open_watched(&plan.watch, plan.targets.iter(), observer)?;
        let epoch_ns = clock::monotonic_ns();
        let started_unix_ns = epoch_ns.saturating_add_signed(clock::wall_minus_monotonic_ns());
        let sampling = SamplingClock { epoch_ns, interval_ns: plan.interval_ns };
        let watching = Watching::start(sources, None, sampling, Beside::Nothing, &[]);
        let folder = keep.folder(plan.name.as_deref());
        let header = header_of(plan, &watching, folder.as_deref(), started_unix_ns);
        let host = plan.targets.first().map_or(IpAddr::V4(Ipv4Addr::LOCALHOST), |target| target.address.ip());
        let recorder =
            Recorder::open(&plan.to_draft(), folder.as_deref(), &header, &HostInfo::gather(host), None)?;
        observer.begins(&header, plan.duration_ns).map_err(RunError::Observer)?;
        let notes = Notes::start(recorder.folder(), RunStart { epoch_ns, unix_ns: started_unix_ns });
        let recording = Recording { recorder, notes, observer, has_reported_error: false, next: 0 };
        Ok(recording.run(plan, watching, control, epoch_ns))
    }
}

/// The record and its observer.
struct Recording<'a> {
    recorder: Recorder<'a>,
    notes: Option<Notes>,
    observer: &'a mut dyn Observer,
    has_reported_error: bool,
    /// The number of the next interval.
    next: u64,
}

impl Recording<'_> {
    fn run(
        mut self,
        plan: &WatchPlan,
        mut watching: Watching,
        control: &Control,
        epoch_ns: u64,
    ) -> FinishedRun {
        let mut ended = Ended::ByTime;
        let to_ns = loop {
            let now_ns = clock::monotonic_ns().saturating_sub(epoch_ns);
            if let Some(cause) = control.cause().filter(|_| control.asked() != Asked::Nothing) {
                ended = ended_by(cause);
                break now_ns;
            }
            if let Some(end_ns) = plan.duration_ns.filter(|end_ns| now_ns >= *end_ns) {
                break end_ns;
            }
            self.take_up_to(now_ns / plan.interval_ns, plan.interval_ns, &mut watching);
            let notes = self.notes.as_mut().map(Notes::events).unwrap_or_default();
            notes.iter().for_each(|note| self.event(note));
            self.observer.idle(self.recorder.digest());
            std::thread::sleep(LOOK_EVERY);
        };
        // Every source is read once more: what is known then is all there will be.
        let (_, watched) = watching.finish();
        self.take_rest(to_ns, plan.interval_ns, &mut watching);
        let notes = self.notes.take().map(|mut notes| notes.finish()).unwrap_or_default();
        notes.iter().for_each(|note| self.event(note));
        let sum = self.recorder.judged(sum_of(to_ns, ended, watched));
        self.recorder.finish(sum, Vec::new())
    }

    /// Records the intervals before this one whose samples are known, and what has happened to the sources.
    fn take_up_to(&mut self, end: u64, interval_ns: u64, watching: &mut Watching) {
        for event in watching.events() {
            self.event(&event);
        }
        while self.next < end {
            let Some(samples) = watching.take(self.next) else { return };
            self.record((self.next + 1) * interval_ns, interval_ns, samples);
        }
    }

    /// Records the intervals that are left, the last of which may be shorter.
    fn take_rest(&mut self, to_ns: u64, interval_ns: u64, watching: &mut Watching) {
        for event in watching.events() {
            self.event(&event);
        }
        while self.next * interval_ns < to_ns {
            let end_ns = to_ns.min((self.next + 1) * interval_ns);
            let mut samples = watching.take(self.next).unwrap_or_default();
            if end_ns == to_ns {
                merge_samples(&mut samples, &watching.rest());
            }
            self.record(end_ns, interval_ns, samples);
        }
    }

    fn record(&mut self, to_ns: u64, interval_ns: u64, watched: Vec<Option<Samples>>) {
        let interval = Interval {
            index: self.next,
            from_ns: self.next * interval_ns,
            to_ns,
            covered_ns: None,
            asked_qps: 0.0,
            tally: Tally::new(0),
            arrivals: Arrivals::default(),
            workers: Vec::new(),
            agents: Vec::new(),
            watched,
        };
        self.next += 1;
        self.observer.sampled(&interval);
        let written = self.recorder.interval(&interval);
        self.report_error(written);
    }

    fn event(&mut self, event: &Event) {
        self.observer.note(&Note::Event(event));
        let written = self.recorder.event(event);
        self.report_error(written);
    }

    fn report_error(&mut self, written: Result<(), WriteError>) {
        if let Err(error) = written
            && !std::mem::replace(&mut self.has_reported_error, true)
        {
            self.observer.note(&Note::RecordTrouble(&error));
        }
    }
}

fn sum_of(to_ns: u64, ended: Ended, watched: Vec<Option<Samples>>) -> Sum {
    Sum {
        to_ns,
        tally: Tally::new(0),
        arrivals: Arrivals::default(),
        warnings: Vec::new(),
        notes: Vec::new(),
        ended,
        evidence: Evidence { schedule_ns: to_ns, lasted_ns: to_ns, ..Evidence::default() },
        late_after_settled: 0,
        last_answer_ns: None,
        workers: Vec::new(),
        schedule_ns: to_ns,
        passes: 0.0,
        interface: None,
        queries_per_client: Vec::new(),
        agents: Vec::new(),
        explanations: Vec::new(),
        truncated: None,
        replay: None,
        answers: None,
        answer_checks: None,
        watched,
    }
}

fn header_of(
    plan: &WatchPlan,
    watching: &Watching,
    folder: Option<&std::path::Path>,
    started_unix_ns: u64,
) -> Header {
    let name = folder.and_then(std::path::Path::file_name).map(|name| name.to_string_lossy().into_owned());
    let servers: BTreeSet<_> = plan.targets.iter().map(|target| target.asked.clone()).collect();
    let unknown = Header::default().address;
    Header {
        run_id: format!("{}-{:08x}", name.unwrap_or_default(), started_unix_ns as u32),
        started_unix_ns,
        command_line: command_line(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        name: plan.name.clone(),
        note: plan.note.clone(),
        interval_ns: plan.interval_ns,
        target: servers.into_iter().collect::<Vec<_>>().join(", "),
        address: plan.targets.first().map_or(unknown, |target| target.address),
        load: "none: nothing was sent".to_owned(),
        workers: 0,
        clients: 0,
        watched: watching.watched().to_vec(),
        ..Header::default()
    }
}

fn ended_by(cause: StopCause) -> Ended {
    match cause {
        StopCause::Terminate => Ended::Terminated,
        StopCause::HangUp => Ended::HungUp,
        _ => Ended::Interrupted,
    }
}

/// How often is looked whether samples are known, or the user has ended it.
const LOOK_EVERY: Duration = Duration::from_millis(20);

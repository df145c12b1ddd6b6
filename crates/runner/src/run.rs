//! A run over open transports, from its header to its verdict; the same for every kind of transport.

use std::collections::BTreeSet;
use std::time::Duration;

use dnsdyno_engine::{
    Control, Job, Live, QueryLogs, Source, StopCause, TraceJob, TraceSample, preparation_ns,
};
use dnsdyno_measure::AnswerCounts;
use dnsdyno_plan::Plan;
use dnsdyno_probe::{Begun, Beside, SamplingClock};
use dnsdyno_queries::Loaded;
use dnsdyno_queries::QuerySource;
use dnsdyno_record::route::interface_towards;
use dnsdyno_record::{BackendInfo, Check, Ended, HostInfo, InterfaceCounts, Interval, Sum};
use dnsdyno_sys::interface::Interface;
use dnsdyno_sys::{clock, socket, thread};
use dnsdyno_transport::{Kind, Pause, Transport, Visitor};

use crate::answers::{Answers, NoLog};
use crate::clients::SimulatedClients;
use crate::error::RunError;
use crate::finished::FinishedRun;
use crate::first_pass::Learned;
use crate::header::{Prepared, header_of};
use crate::idle::IdleLimit;
use crate::job::StartLine;
use crate::neighbours::Neighbours;
use crate::observer::{Note, Observer};
use crate::recorder::{Keep, LineCopy, draft_of, keep_queries};
use crate::recording::{Beginning, Parties, Recording};
use crate::replay::{Feeding, Replay};
use crate::trace::{NoTrace, TraceWriting, Tracing};
use crate::watch::Watch;
use crate::watching::{Watching, open_bed, open_watched};

/// A run that is ready to start.
pub(crate) struct Run<'a> {
    /// The plan, with the actual numbers of workers and clients.
    pub(crate) plan: &'a Plan,
    pub(crate) loaded: &'a Loaded,
    /// The capture, where one is replayed.
    pub(crate) replay: Option<&'a Replay>,
    /// The simulated clients, where they ask.
    pub(crate) clients: Option<&'a SimulatedClients>,
    pub(crate) kind: Kind,
    /// The backend, for the record.
    pub(crate) backend: BackendInfo,
    /// What the server answered before the load, for the record.
    pub(crate) checks: Vec<Check>,
    /// Whether each worker needs its own table of open files.
    pub(crate) own_files: bool,
    pub(crate) keep: &'a Keep,
    pub(crate) control: &'a Control,
    pub(crate) observer: &'a mut dyn Observer,
    /// What the answers are held against.
    pub(crate) learned: Option<&'a Learned>,
    /// Makes each worker's log of single queries.
    pub(crate) query_logs: Option<QueryLogs<'a>>,
    /// Decides when it starts.
    pub(crate) start: Option<StartLine<'a>>,
    /// Gets each line of the record too.
    pub(crate) copy: Option<LineCopy<'a>>,
    /// Why there are so many workers, where trials have said it.
    pub(crate) workers_reason: Option<&'a str>,
    /// Of a simulated link: stops its time while the record is behind.
    pub(crate) pause: Option<Pause>,
}

impl Visitor for Run<'_> {
    type Out = Result<FinishedRun, RunError>;

    fn visit<T: Transport + Send>(self, transports: Vec<T>) -> Self::Out {
        let Run { plan, loaded, kind, own_files, control, learned, .. } = self;
        let cpus = if kind == Kind::Sim { Vec::new() } else { cpus_of(plan) };
        let feeding = self.replay.map(|replay| replay.start(plan, control, kind == Kind::Sim)).transpose()?;
        feeding.iter().for_each(Feeding::wait);
        let checks_answers = feeding.is_some() && plan.replay.check_answers;
        let answers = checks_answers.then(|| Answers::start(plan.workers)).transpose()?;
        let log_of = |worker: u32| answers.iter().map(|answers| answers.log_of(worker)).next();
        let log_of = |worker: u32| log_of(worker).unwrap_or_else(|| Box::new(NoLog));
        let mut tracing = Tracing::of(plan)?;
        let servers = || plan.mix.servers().chain([&plan.target]);
        let (sources, bed) = match kind {
            Kind::Sim => (Begun::default(), None),
            _ => (open_watched(&plan.watch, servers(), self.observer)?, Some(open_bed(servers()))),
        };
        let models = self.clients.map(|clients| clients.models(plan));
        let preparation_ns = preparation_ns(&transports, &plan.load);
        let start = self.start(preparation_ns)?;
        let clock = SamplingClock { epoch_ns: start.epoch_ns, interval_ns: plan.interval_ns };
        let watching = Watching::start(sources, bed, clock, Beside::Load, &cpus);
        let job = Job {
            source: match (&feeding, &models) {
                (Some(feeding), _) => Source::Fed(&feeding.feeds),
                (None, Some(models)) => Source::Clients(models),
                (None, None) => Source::Whole(&loaded.queries),
            },
            load: &plan.load,
            part: Some(plan.part),
            limit: limit_of(plan, loaded).filter(|_| feeding.is_none() && models.is_none()),
            end_ns: plan.stop.duration_ns,
            stop_limits: plan.stop_limits,
            timeout_ns: plan.timeout_ns,
            interval_ns: plan.interval_ns,
            send_only: plan.send_only,
            cpus: &cpus,
            own_files,
            strips_edns: plan.connections.strips_edns,
            start_unix_ns: start.unix_ns,
            query_logs: if answers.is_some() { Some(&log_of) } else { self.query_logs },
            known_answers: learned.map(|learned| &learned.answers),
            trace: None,
        };
        let addresses = || servers().map(|target| target.address).collect::<BTreeSet<_>>();
        let neighbours = (kind != Kind::Sim).then(|| Neighbours::before(addresses()));
        let idle_limit = (kind != Kind::Sim && !plan.deep_idle).then(IdleLimit::set).flatten();
        let mut recording = self.begin(&start, watching, idle_limit.as_ref())?;
        let folder = recording.recording.recorder.folder();
        let trace_writing = tracing.as_mut().map(|tracing| tracing.begin(folder));
        let trace_log_of = |worker: u32| tracing.as_ref().map(|tracing| tracing.log_of(worker));
        let trace_log_of = |worker: u32| trace_log_of(worker).unwrap_or_else(|| Box::new(NoTrace));
        let sample = plan.trace.as_ref().map(|trace| TraceSample { every: trace.every, seed: plan.seed });
        let job = Job { trace: sample.map(|sample| TraceJob { sample, logs: &trace_log_of }), ..job };
        let Start { epoch_ns, wall_offset_ns, .. } = start;
        let mut sum =
            dnsdyno_engine::run(&job, transports, epoch_ns, wall_offset_ns, control, &mut recording);
        if let Some(feeding) = feeding {
            feeding.finish(plan, &mut sum);
        }
        if let (Some(learned), Some(checks)) = (learned, &mut sum.answer_checks) {
            checks.merge(&learned.questions);
        }
        sum.answers = answers.map(|answers| recording.finish_answers(answers));
        drop(tracing);
        if let Some(traced) = trace_writing.map(TraceWriting::finish) {
            recording.recording.observer.note(&Note::Traced(&traced));
        }
        drop(idle_limit);
        sum.evidence.neighbours = neighbours.map(Neighbours::after).unwrap_or_default();
        Ok(recording.finish(sum))
    }
}

/// When a run starts: in the future, because the workers need time to allocate their tables.
struct Start {
    epoch_ns: u64,
    /// On the wall clock, since 1970.
    unix_ns: u64,
    /// Wall clock − monotonic clock.
    wall_offset_ns: &'static dyn Fn() -> i64,
}

impl Start {
    /// A simulated link has its own time, which begins with 0.
    fn new(kind: Kind, preparation_ns: u64) -> Self {
        Start::at(kind, clock::monotonic_ns() + preparation_ns)
    }

    fn at(kind: Kind, epoch_ns: u64) -> Self {
        if kind == Kind::Sim {
            return Start { epoch_ns: 0, unix_ns: 0, wall_offset_ns: &|| 0 };
        }
        let unix_ns = epoch_ns.saturating_add_signed(clock::wall_minus_monotonic_ns());
        Start { epoch_ns, unix_ns, wall_offset_ns: &clock::wall_minus_monotonic_ns }
    }
}

impl<'a> Run<'a> {
    /// When the run starts: as its caller decides, or as soon as it can.
    fn start(&self, preparation_ns: u64) -> Result<Start, RunError> {
        let Some(start) = self.start else { return Ok(Start::new(self.kind, preparation_ns)) };
        let stopped = || RunError::StoppedBefore(self.control.cause().unwrap_or(StopCause::Interrupt));
        Ok(Start::at(self.kind, start(preparation_ns).ok_or_else(stopped)?))
    }

    /// Creates the record, and starts to monitor the interface.
    fn begin(
        self,
        start: &Start,
        watching: Watching,
        idle_limit: Option<&IdleLimit>,
    ) -> Result<RecordingObserver<'a>, RunError> {
        let Run { plan, loaded, replay, clients, kind, backend, checks, .. } = self;
        let Run { keep, control, observer, pause, copy, workers_reason, .. } = self;
        let folder = keep.folder(plan.name.as_deref());
        let kept = match (&plan.source, &folder) {
            (QuerySource::Stdin, Some(folder)) => Some(keep_queries(&loaded.queries, plan.form, folder)?),
            _ => None,
        };
        let watched = watching.watched().to_vec();
        let prepared = Prepared { backend, checks, watched, workers_reason };
        let mut header = header_of(plan, loaded, prepared, folder.as_deref(), start.unix_ns);
        replay.iter().for_each(|replay| replay.describe(&mut header));
        clients.iter().for_each(|clients| clients.describe(&mut header));
        let is_simulated = kind == Kind::Sim;
        let host = match is_simulated {
            true => HostInfo::default(),
            false => HostInfo {
                idle_exit_limit_us: idle_limit.map(|limit| limit.exit_us),
                ..HostInfo::gather(plan.target.address.ip())
            },
        };
        let draft = draft_of(plan, kept);
        let beginning = Beginning {
            plan,
            draft: &draft,
            folder: folder.as_deref(),
            header: &header,
            host: &host,
            // On a simulated link, nobody is fast enough to give a note.
            start_ns: (!is_simulated).then_some((start.epoch_ns, start.unix_ns)),
            schedule_end_ns: replay.and_then(Replay::end_of_schedule_ns).or_else(|| end_of_schedule(plan)),
        };
        let recording = Recording::begin(beginning, Parties { control, observer, copy })?;
        let xdp = header.backend.xdp.as_ref();
        let interface =
            xdp.map(|xdp| &xdp.interface).or(host.interface.as_ref().map(|interface| &interface.name));
        let interface_before = interface.and_then(|name| InterfaceCounts::now(name));
        Ok(RecordingObserver {
            recording,
            epoch_ns: (!is_simulated).then_some(start.epoch_ns),
            watching,
            watch: xdp.and_then(|xdp| Watch::new(&xdp.interface, xdp.queues)),
            interface_before,
            // Drivers may not count packets that they send without copying.
            interface_counts_all: !xdp.is_some_and(|xdp| xdp.zero_copy),
            datagrams_only: match plan.mix.is_some() {
                true => plan.mix.members.iter().all(|member| !member.transport.connects()),
                false => !kind.connects(),
            },
            pause,
        })
    }
}

/// Passes the results of the engine to the record and to the observer.
struct RecordingObserver<'a> {
    recording: Recording<'a>,
    /// When the run began, by the clock of the host; `None` on a simulated link.
    epoch_ns: Option<u64>,
    watching: Watching,
    watch: Option<Watch>,
    /// The counters of the interface to the server before the run.
    interface_before: Option<InterfaceCounts>,
    /// Whether the interface counts every packet that it sends.
    interface_counts_all: bool,
    datagrams_only: bool,
    pause: Option<Pause>,
}

impl dnsdyno_engine::Observer for RecordingObserver<'_> {
    fn passed(&mut self, live: &Live<'_>) {
        self.recording.observer.passed(live);
        let events = self.watch.as_mut().map(|watch| watch.check(live.to_ns));
        events.iter().flatten().for_each(|event| self.recording.event(event));
    }

    fn settled(&mut self, interval: &Interval) {
        if self.watching.is_off() {
            self.recording.record(interval);
        } else {
            self.watching.add(interval);
            self.record_watched();
        }
        self.recording.settled(interval);
        let unsaved_bytes = || self.recording.recorder.unsaved_bytes();
        if let Some(pause) = self.pause.as_ref().filter(|_| unsaved_bytes() > MOST_UNSAVED_BYTES) {
            pause.set(true);
            while unsaved_bytes() > MOST_UNSAVED_BYTES / 2 {
                std::thread::sleep(CHECK_INTERVAL);
            }
            pause.set(false);
        }
    }

    fn stopping(&mut self, at_ns: u64) {
        let now_ns = self.epoch_ns.map_or(0, |epoch_ns| clock::monotonic_ns().saturating_sub(epoch_ns));
        self.recording.stopping(now_ns.max(at_ns));
    }

    fn idle(&mut self) {
        self.record_watched();
        self.recording.idle();
    }
}

impl RecordingObserver<'_> {
    /// Records the intervals whose samples are known, and what has happened to the sources.
    fn record_watched(&mut self) {
        for event in self.watching.events() {
            self.recording.event(&event);
        }
        while let Some(interval) = self.watching.next() {
            self.recording.observer.sampled(&interval);
            self.recording.record(&interval);
        }
    }

    /// Ends the comparison of a replay: writes the answers that differ into the folder of the run.
    fn finish_answers(&mut self, answers: Answers) -> AnswerCounts {
        let (counts, written) = answers.finish(self.recording.recorder.folder());
        written.unwrap_or_else(|error| self.recording.observer.note(&Note::AnswersNotKept(&error)));
        counts
    }

    /// Adds the counters of the interface to the evidence, and ends the record.
    fn finish(mut self, mut sum: Sum) -> FinishedRun {
        let (left, watched) = self.watching.finish();
        for interval in &left {
            self.recording.observer.sampled(interval);
            self.recording.record(interval);
        }
        self.record_watched();
        sum.watched = watched;
        sum.arrivals.bed = self.watching.bed();
        let before = self.interface_before;
        sum.interface = before.and_then(|before| Some(InterfaceCounts::now(&before.name)?.since(&before)));
        let counts = sum.interface.as_ref().filter(|_| self.interface_counts_all);
        sum.evidence.interface_packets = counts.map(|counts| counts.sent);
        if let Some(counts) = &sum.interface {
            sum.evidence.interface_send_drops = counts.send_dropped;
            sum.evidence.interface_receive_drops = counts.receive_dropped;
        }
        sum.evidence.datagrams_only = self.datagrams_only;
        if sum.evidence.connects_without_port > 0 {
            let (first, last) = socket::local_ports();
            (sum.evidence.first_local_port, sum.evidence.last_local_port) = (first.into(), last.into());
        }
        self.recording.finish(sum)
    }
}

/// A CPU for each of several workers, where there are enough CPUs: first those near the interface to the server. A
/// single worker is not pinned, because the kernel knows which CPUs are idle.
fn cpus_of(plan: &Plan) -> Vec<usize> {
    let mut cpus = thread::allowed_cpus().unwrap_or_default();
    if !plan.pin || plan.workers < 2 || plan.workers > cpus.len() {
        return Vec::new();
    }
    let interface = interface_towards(plan.target.address.ip()).and_then(|name| Interface::named(&name).ok());
    if let Some(near) = interface.and_then(|interface| interface.near_cpus()) {
        cpus.sort_by_key(|cpu| !near.contains(*cpu));
    }
    cpus
}

/// The number of queries after which the run ends, and the reason of that end.
fn limit_of(plan: &Plan, loaded: &Loaded) -> Option<(u64, Ended)> {
    let limit = plan.stop.query_limit(loaded.queries.len())?;
    let what = if plan.stop.count == Some(limit) { Ended::ByCount } else { Ended::ByPasses };
    Some((limit, what))
}

/// When the last query is due, where the plan limits the time.
fn end_of_schedule(plan: &Plan) -> Option<u64> {
    plan.load.curve().map_or(plan.stop.duration_ns, |curve| curve.duration_ns())
}

/// Bytes that the record of a simulated run may be behind, far below the limit at which lines are dropped.
const MOST_UNSAVED_BYTES: u64 = 8 << 20;

/// How often a simulated run that waits for its record checks it.
const CHECK_INTERVAL: Duration = Duration::from_millis(5);

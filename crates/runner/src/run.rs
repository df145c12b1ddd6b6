//! A run over opened transports, from its header to its verdict: the same for every kind of transport.

use dnsdyno_engine::{Control, Job, Live, preparation_ns};
use dnsdyno_plan::source::Loaded;
use dnsdyno_plan::{Plan, QuerySource};
use dnsdyno_record::{
    BackendInfo, Ended, Event, FinishedRun, HostInfo, InterfaceCounts, Interval, Sum, WriteError,
};
use dnsdyno_sys::{clock, thread};
use dnsdyno_transport::{Kind, Transport, Visitor};

use crate::error::RunError;
use crate::header::header_of;
use crate::observer::{Note, Observer};
use crate::recorder::{Keep, Recorder, keep_queries};
use crate::watch::Watch;

/// A run that has its transports.
pub(crate) struct Run<'a> {
    /// The plan as it is carried out, with the workers and clients that there are.
    pub(crate) plan: &'a Plan,
    pub(crate) loaded: &'a Loaded,
    pub(crate) kind: Kind,
    /// What the record says of what the queries leave by.
    pub(crate) backend: BackendInfo,
    /// Whether each worker needs a table of open files of its own.
    pub(crate) own_files: bool,
    pub(crate) keep: &'a Keep,
    pub(crate) control: &'a Control,
    pub(crate) observer: &'a mut dyn Observer,
}

impl Visitor for Run<'_> {
    type Out = Result<FinishedRun, RunError>;

    fn visit<T: Transport + Send>(self, transports: Vec<T>) -> Self::Out {
        let Run { plan, loaded, kind, own_files, control, .. } = self;
        let cpus = if kind == Kind::Sim { Vec::new() } else { cpus_of(plan) };
        let job = Job {
            queries: &loaded.queries,
            load: &plan.load,
            limit: limit_of(plan, loaded),
            end_ns: plan.stop.duration_ns,
            timeout_ns: plan.timeout_ns,
            interval_ns: plan.interval_ns,
            send_only: plan.send_only,
            cpus: &cpus,
            own_files,
            strips_edns: plan.connections.strips_edns,
        };
        let start = Start::new(kind, preparation_ns(&transports, &plan.load));
        let mut scribe = self.begin(&start)?;
        let sum =
            dnsdyno_engine::run(&job, transports, start.epoch_ns, start.wall_offset_ns, control, &mut scribe);
        Ok(scribe.finish(sum))
    }
}

/// When a run starts. It lies ahead by what the workers need to make their tables.
struct Start {
    epoch_ns: u64,
    /// By the wall clock, since 1970.
    unix_ns: u64,
    /// How far the wall clock is ahead of the monotonic one.
    wall_offset_ns: &'static dyn Fn() -> i64,
}

impl Start {
    /// An imaginary link has a time of its own, which begins with 0.
    fn new(kind: Kind, preparation_ns: u64) -> Self {
        if kind == Kind::Sim {
            return Start { epoch_ns: 0, unix_ns: 0, wall_offset_ns: &|| 0 };
        }
        let epoch_ns = clock::monotonic_ns() + preparation_ns;
        let unix_ns = epoch_ns.saturating_add_signed(clock::wall_minus_monotonic_ns());
        Start { epoch_ns, unix_ns, wall_offset_ns: &clock::wall_minus_monotonic_ns }
    }
}

impl<'a> Run<'a> {
    /// Begins the record, and what watches the interface.
    fn begin(self, start: &Start) -> Result<Scribe<'a>, RunError> {
        let Run { plan, loaded, kind, backend, keep, observer, .. } = self;
        let folder = keep.folder(plan);
        if let (QuerySource::Stdin, Some(folder)) = (&plan.source, &folder) {
            keep_queries(&loaded.queries, folder)?;
        }
        let header = header_of(plan, backend, loaded, folder.as_deref(), start.unix_ns);
        let is_imaginary = kind == Kind::Sim;
        let host =
            if is_imaginary { HostInfo::default() } else { HostInfo::gather(plan.target.address.ip()) };
        let recorder = Recorder::begin(plan, folder.as_deref(), &header, &host)?;
        let xdp = header.backend.xdp.as_ref();
        let interface =
            xdp.map(|xdp| &xdp.interface).or(host.interface.as_ref().map(|interface| &interface.name));
        let interface_before = interface.and_then(|name| InterfaceCounts::now(name));
        observer.begins(&header, end_of_schedule(plan)).map_err(RunError::Observer)?;
        Ok(Scribe {
            recorder,
            watch: xdp.and_then(|xdp| Watch::new(&xdp.interface, xdp.queues)),
            interface_before,
            // Drivers may leave out of their counts what they send without a copy.
            interface_counts_all: !xdp.is_some_and(|xdp| xdp.zero_copy),
            datagrams_only: !kind.connects(),
            has_told_trouble: false,
            observer,
        })
    }
}

/// Hands what the engine gives to the record and the observer.
struct Scribe<'a> {
    recorder: Recorder,
    observer: &'a mut dyn Observer,
    watch: Option<Watch>,
    /// What the interface towards the server had counted before the run.
    interface_before: Option<InterfaceCounts>,
    /// Whether its count holds every packet that it sends.
    interface_counts_all: bool,
    datagrams_only: bool,
    has_told_trouble: bool,
}

impl dnsdyno_engine::Observer for Scribe<'_> {
    fn passed(&mut self, live: &Live<'_>) {
        self.observer.passed(live);
        let events = self.watch.as_mut().map(|watch| watch.look(live.to_ns));
        for event in events.unwrap_or_default() {
            self.observer.note(&Note::Event(&event));
            let written = self.recorder.event(&event);
            self.report_trouble(written);
        }
    }

    fn settled(&mut self, interval: &Interval) {
        let written = self.recorder.interval(interval);
        self.report_trouble(written);
    }

    fn stopping(&mut self, at_ns: u64) {
        self.observer.note(&Note::Stopping);
        let written = self.recorder.event(&Event {
            at_ns,
            kind: "interrupt".into(),
            message: "stopped by the user".into(),
            figures: serde_json::Map::new(),
        });
        self.report_trouble(written);
    }
}

impl Scribe<'_> {
    /// A line that could not be written is kept and tried again; the observer hears of it once.
    fn report_trouble(&mut self, written: Result<(), WriteError>) {
        if let Err(error) = written
            && !std::mem::replace(&mut self.has_told_trouble, true)
        {
            self.observer.note(&Note::RecordTrouble(&error));
        }
    }

    /// Adds what the interface has counted to the evidence, and ends the record.
    fn finish(self, mut sum: Sum) -> FinishedRun {
        let counted = self.interface_before;
        sum.interface = counted.and_then(|before| Some(InterfaceCounts::now(&before.name)?.since(&before)));
        let counts = sum.interface.as_ref().filter(|_| self.interface_counts_all);
        sum.evidence.interface_packets = counts.map(|counts| counts.sent);
        sum.evidence.datagrams_only = self.datagrams_only;
        self.recorder.finish(sum)
    }
}

/// A CPU for each worker, where there are several and enough for them. One alone is left to the kernel, which
/// knows the CPUs that are free.
fn cpus_of(plan: &Plan) -> Vec<usize> {
    let cpus = thread::allowed_cpus().unwrap_or_default();
    let has_use = plan.pin && plan.workers > 1 && plan.workers <= cpus.len();
    if has_use { cpus } else { Vec::new() }
}

/// The number of queries after which the run ends, and what that end is called.
fn limit_of(plan: &Plan, loaded: &Loaded) -> Option<(u64, Ended)> {
    let limit = plan.stop.query_limit(loaded.queries.len())?;
    let what = if plan.stop.count == Some(limit) { Ended::ByCount } else { Ended::ByPasses };
    Some((limit, what))
}

/// When the last query is due, where the plan says so by time.
fn end_of_schedule(plan: &Plan) -> Option<u64> {
    plan.load.curve().map_or(plan.stop.duration_ns, |curve| curve.duration_ns())
}

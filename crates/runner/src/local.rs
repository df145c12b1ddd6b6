//! Runs on this host, against a real server.

use dnsdyno_engine::Control;
use dnsdyno_plan::{Backend, Draft, Part, Plan, XdpPlan};
use dnsdyno_queries::Loaded;
use dnsdyno_queries::QuerySource;
use dnsdyno_record::{BackendInfo, Check};
use dnsdyno_transport::{Description, Kind, Opened, open};

use crate::check::check_server;
use crate::clients::SimulatedClients;
use crate::description::{describe, seat_sources};
use crate::error::RunError;
use crate::files::raise_files_limit;
use crate::finished::FinishedRun;
use crate::first_pass::learn;
use crate::header::xdp_info;
use crate::job::{Plans, RunJob, Runner};
use crate::load::load;
use crate::memory::refuse_little;
use crate::observer::{Note, Observer};
use crate::replay::Replay;
use crate::run::Run;

/// Makes runs on this host.
#[derive(Clone, Copy, Debug, Default)]
pub struct LocalRunner;

impl Runner for LocalRunner {
    fn validate(&self, draft: &Draft) -> Result<Plans, RunError> {
        Plans::of(draft)
    }

    fn run(
        &mut self,
        job: &RunJob<'_>,
        control: &Control,
        observer: &mut dyn Observer,
    ) -> Result<FinishedRun, RunError> {
        let Plans { plan, over_sockets } = job.plans;
        let replay = match plan.source {
            QuerySource::Capture => Some(Replay::prepare(plan, control, observer)?),
            _ => None,
        };
        let clients = SimulatedClients::of(plan, control, observer)?;
        let loaded_now;
        let (plan, loaded) = match (&replay, &clients) {
            (Some(replay), _) => (&replay.plan, &replay.first),
            (None, Some(clients)) => (&clients.plan, &clients.first),
            (None, None) => {
                loaded_now = load(plan, control, observer)?;
                (plan, &loaded_now)
            }
        };
        refuse_little()?;
        let seat = |kind: Kind, description: &mut Description| {
            replay.iter().for_each(|replay| replay.seat(kind, description));
            clients.iter().for_each(|clients| clients.seat(kind, description));
        };
        let paths = Paths { plan, over_sockets: over_sockets.as_ref() };
        let mut prepared = paths.open(loaded, &seat, observer)?;
        let checks = check(&prepared.plan, loaded, control, observer)?;
        let learned = match prepared.plan.first_pass {
            None => None,
            Some(_) => {
                // The transports of both may need the same ports.
                let Prepared { plan, opened, .. } = prepared;
                drop(opened);
                let (kind, mut description) = describe(&plan, &loaded.queries);
                seat_sources(&plan, &mut description);
                let learned = learn(&plan, &loaded.queries, (kind, &description), control, observer)?;
                prepared = paths.open(loaded, &seat, observer)?;
                learned
            }
        };
        let Prepared { plan, kind, opened, backend, own_files } = prepared;
        opened.visit(Run {
            plan: &plan,
            loaded,
            replay: replay.as_ref(),
            clients: clients.as_ref(),
            kind,
            backend,
            checks,
            own_files,
            keep: &job.keep,
            control,
            observer,
            learned: learned.as_ref(),
            query_logs: job.query_logs,
            start: job.start,
            copy: job.copy,
            workers_reason: job.workers_reason,
            pause: None,
        })
    }
}

/// A plan with its open transports.
struct Prepared {
    /// The plan, with the actual numbers of workers and clients.
    plan: Plan,
    kind: Kind,
    opened: Opened,
    backend: BackendInfo,
    own_files: bool,
}

/// Asks the server before the load, if the plan says so; last, so that a mistake on this host is told first.
fn check(
    plan: &Plan,
    loaded: &Loaded,
    control: &Control,
    observer: &mut dyn Observer,
) -> Result<Vec<Check>, RunError> {
    if !plan.check {
        return Ok(Vec::new());
    }
    let (kind, mut description) = describe(plan, &loaded.queries);
    seat_sources(plan, &mut description);
    let checks = check_server(kind, &description, &loaded.queries, control)?;
    observer.note(&Note::Checked(&checks));
    Ok(checks)
}

/// The network paths that a run may take.
struct Paths<'a> {
    plan: &'a Plan,
    /// The plan where AF_XDP is not available; `None` = the run fails then.
    over_sockets: Option<&'a Plan>,
}

impl Paths<'_> {
    /// Opens the transports of the plan; where AF_XDP is not available and the plan allows it, sockets. `seat` gives
    /// the clients of the source their sockets.
    fn open(
        &self,
        loaded: &Loaded,
        seat: &dyn Fn(Kind, &mut Description),
        observer: &mut dyn Observer,
    ) -> Result<Prepared, RunError> {
        let described = |plan: &Plan| {
            let (kind, mut description) = describe(plan, &loaded.queries);
            seat(kind, &mut description);
            seat_sources(plan, &mut description);
            (kind, description)
        };
        let (kind, description) = described(self.plan);
        let own_files = raise_files_limit(kind, &description)?;
        match (open(kind, &description), self.over_sockets) {
            (Ok(opened), _) => Ok(prepared(self.plan, kind, opened, own_files)),
            (Err(error), Some(over_sockets)) if kind == Kind::Xdp => {
                observer.note(&Note::SocketsInstead(error.to_string()));
                let over_sockets = Plan { clients: self.plan.clients, ..over_sockets.clone() };
                let (kind, description) = described(&over_sockets);
                let own_files = raise_files_limit(kind, &description)?;
                let mut prepared = prepared(&over_sockets, kind, open(kind, &description)?, own_files);
                prepared.backend.why = Some(error.to_string());
                Ok(prepared)
            }
            (Err(error), _) => Err(error.into()),
        }
    }
}

/// Adds to the plan what is known only after opening. The record contains this plan, so that it repeats the run.
fn prepared(plan: &Plan, kind: Kind, opened: Opened, own_files: bool) -> Prepared {
    let mut plan = plan.clone();
    let mut backend = BackendInfo::default();
    if let (Backend::Xdp(xdp_plan), Some((facts, workers, clients))) = (&plan.backend, opened.xdp()) {
        let why = xdp_plan.or_sockets.then(|| "the interface to the server supports AF_XDP".to_owned());
        backend = BackendInfo { why, xdp: Some(xdp_info(facts)) };
        plan.backend = Backend::Xdp(XdpPlan { or_sockets: false, fits_workers: false, ..xdp_plan.clone() });
        if plan.part.is_whole() {
            (plan.workers, plan.clients, plan.part) = (workers, clients, Part::whole(workers));
        }
    }
    Prepared { plan, kind, opened, backend, own_files }
}

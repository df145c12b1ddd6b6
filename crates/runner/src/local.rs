//! Runs on this host, against a real server.

use dnsdyno_engine::{Control, QueryLogs};
use dnsdyno_plan::source::Loaded;
use dnsdyno_plan::{Backend, Plan, QuerySource, XdpPlan};
use dnsdyno_record::{BackendInfo, Check, FinishedRun, PlanRunner};
use dnsdyno_transport::{Description, Kind, Opened, open};

use crate::check::check_server;
use crate::clients::SimulatedClients;
use crate::description::describe;
use crate::error::RunError;
use crate::files::raise_files_limit;
use crate::header::xdp_info;
use crate::load::load;
use crate::observer::{Note, Observer};
use crate::recorder::Keep;
use crate::replay::Replay;
use crate::run::Run;

/// Makes runs on this host.
pub struct LocalRunner<'a> {
    /// Where the records are written.
    pub keep: Keep,
    /// The same run over sockets, for a plan with AF_XDP that falls back to sockets where AF_XDP is not available.
    pub over_sockets: Option<&'a Plan>,
    /// Stops the run.
    pub control: &'a Control,
    /// Receives the progress of the runs.
    pub observer: &'a mut dyn Observer,
    /// Makes each worker's log of single queries; `None` = they are counted only.
    pub query_logs: Option<QueryLogs<'a>>,
}

impl PlanRunner for LocalRunner<'_> {
    type Error = RunError;

    fn run(&mut self, plan: &Plan) -> Result<FinishedRun, RunError> {
        let replay = match plan.source {
            QuerySource::Capture => Some(Replay::prepare(plan, self.control, self.observer)?),
            _ => None,
        };
        let clients = SimulatedClients::of(plan, self.observer)?;
        let loaded_now;
        let (plan, loaded) = match (&replay, &clients) {
            (Some(replay), _) => (&replay.plan, &replay.first),
            (None, Some(clients)) => (&clients.plan, &clients.first),
            (None, None) => {
                loaded_now = load(plan, self.observer)?;
                (plan, &loaded_now)
            }
        };
        let seat = |kind: Kind, description: &mut Description| {
            replay.iter().for_each(|replay| replay.seat(kind, description));
            clients.iter().for_each(|clients| clients.seat(kind, description));
        };
        let Prepared { plan, kind, opened, backend, own_files } = self.open(plan, loaded, &seat)?;
        let checks = self.check(&plan, loaded)?;
        let (keep, control, observer) = (&self.keep, self.control, &mut *self.observer);
        opened.visit(Run {
            plan: &plan,
            loaded,
            replay: replay.as_ref(),
            clients: clients.as_ref(),
            kind,
            backend,
            checks,
            own_files,
            keep,
            control,
            observer,
            query_logs: self.query_logs,
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

impl LocalRunner<'_> {
    /// Asks the server before the load, if the plan says so; last, so that a mistake on this host is told first.
    fn check(&mut self, plan: &Plan, loaded: &Loaded) -> Result<Vec<Check>, RunError> {
        if !plan.check {
            return Ok(Vec::new());
        }
        let (kind, description) = describe(plan, &loaded.queries);
        let checks = check_server(kind, &description, &loaded.queries)?;
        self.observer.note(&Note::Checked(&checks));
        Ok(checks)
    }

    /// Opens the transports of the plan; where AF_XDP is not available and the plan allows it, sockets. `seat` gives
    /// the clients of the source their sockets.
    fn open(
        &mut self,
        plan: &Plan,
        loaded: &Loaded,
        seat: &dyn Fn(Kind, &mut Description),
    ) -> Result<Prepared, RunError> {
        let described = |plan: &Plan| {
            let (kind, mut description) = describe(plan, &loaded.queries);
            seat(kind, &mut description);
            (kind, description)
        };
        let (kind, description) = described(plan);
        let own_files = raise_files_limit(kind, &description)?;
        match (open(kind, &description), self.over_sockets) {
            (Ok(opened), _) => Ok(prepared(plan, kind, opened, own_files)),
            (Err(error), Some(over_sockets)) if kind == Kind::Xdp => {
                self.observer.note(&Note::SocketsInstead(error.to_string()));
                let over_sockets = Plan { clients: plan.clients, ..over_sockets.clone() };
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
        (plan.workers, plan.clients) = (workers, clients);
    }
    Prepared { plan, kind, opened, backend, own_files }
}

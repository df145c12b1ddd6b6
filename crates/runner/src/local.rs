//! Runs on this host, against a server that is there.

use dnsdyno_engine::Control;
use dnsdyno_plan::source::Loaded;
use dnsdyno_plan::{Backend, Plan, XdpPlan};
use dnsdyno_record::{BackendInfo, FinishedRun, PlanRunner};
use dnsdyno_transport::{Kind, Opened, open};

use crate::description::describe;
use crate::error::RunError;
use crate::files::make_room;
use crate::header::xdp_info;
use crate::observer::{Note, Observer};
use crate::recorder::Keep;
use crate::run::Run;

/// Makes runs on this host.
pub struct LocalRunner<'a> {
    /// Where the records are kept.
    pub keep: Keep,
    /// The same run over sockets, for a plan over AF_XDP that takes them where AF_XDP cannot be had.
    pub over_sockets: Option<&'a Plan>,
    /// Pressed by who wants to end a run.
    pub control: &'a Control,
    /// Hears how the runs go on.
    pub observer: &'a mut dyn Observer,
}

impl PlanRunner for LocalRunner<'_> {
    type Error = RunError;

    fn run(&mut self, plan: &Plan) -> Result<FinishedRun, RunError> {
        let loaded = load(plan, self.observer)?;
        let Carried { plan, kind, opened, backend, own_files } = self.open(plan, &loaded)?;
        let (keep, control, observer) = (&self.keep, self.control, &mut *self.observer);
        opened.visit(Run { plan: &plan, loaded: &loaded, kind, backend, own_files, keep, control, observer })
    }
}

/// A plan as it is carried out, with its transports.
struct Carried {
    /// The plan, with the workers and clients that there are.
    plan: Plan,
    kind: Kind,
    opened: Opened,
    backend: BackendInfo,
    own_files: bool,
}

impl LocalRunner<'_> {
    /// Opens what the plan asks for; where AF_XDP cannot be had and sockets will do, those.
    fn open(&mut self, plan: &Plan, loaded: &Loaded) -> Result<Carried, RunError> {
        let (kind, description) = describe(plan, &loaded.queries);
        let own_files = make_room(kind, &description)?;
        match (open(kind, &description), self.over_sockets) {
            (Ok(opened), _) => Ok(carried(plan, kind, opened, own_files)),
            (Err(error), Some(over_sockets)) if kind == Kind::Xdp => {
                self.observer.note(&Note::SocketsInstead(error.to_string()));
                let (kind, description) = describe(over_sockets, &loaded.queries);
                let own_files = make_room(kind, &description)?;
                let mut carried = carried(over_sockets, kind, open(kind, &description)?, own_files);
                carried.backend.why = Some(error.to_string());
                Ok(carried)
            }
            (Err(error), _) => Err(error.into()),
        }
    }
}

/// What only the open transports know is put into the plan: it is kept, so that the run repeats itself.
fn carried(plan: &Plan, kind: Kind, opened: Opened, own_files: bool) -> Carried {
    let mut plan = plan.clone();
    let mut backend = BackendInfo::default();
    if let (Backend::Xdp(wish), Some((facts, workers, clients))) = (&plan.backend, opened.xdp()) {
        let why = wish.or_sockets.then(|| "the interface to the server supports AF_XDP".to_owned());
        backend = BackendInfo { why, xdp: Some(xdp_info(facts)) };
        plan.backend = Backend::Xdp(XdpPlan { or_sockets: false, fits_workers: false, ..wish.clone() });
        (plan.workers, plan.clients) = (workers, clients);
    }
    Carried { plan, kind, opened, backend, own_files }
}

/// Reads the queries, and says which lines were none.
pub(crate) fn load(plan: &Plan, observer: &mut dyn Observer) -> Result<Loaded, RunError> {
    let mut loaded = plan.source.load(plan.form, plan.strict)?;
    for bad in &loaded.first_bad {
        observer.note(&Note::SkippedLine(bad));
    }
    let more = loaded.bad_lines - loaded.first_bad.len() as u64;
    if more > 0 {
        observer.note(&Note::SkippedMore(more));
    }
    if plan.groups_by_length() {
        loaded.queries.group_by_length(plan.seed);
    }
    Ok(loaded)
}

//! Runs against a simulated server: the whole engine on a link with simulated time, so that code that chooses runs can
//! be tested against many servers in a short time.

use dnsdyno_engine::Control;
use dnsdyno_plan::{Draft, Part, Plan};
use dnsdyno_record::BackendInfo;
use dnsdyno_transport::sim::SimConfig;
use dnsdyno_transport::{Description, Kind, Pause, open};

use crate::clients::SimulatedClients;
use crate::description::describe;
use crate::error::RunError;
use crate::finished::FinishedRun;
use crate::first_pass::learn;
use crate::job::{Plans, RunJob, Runner};
use crate::load::load;
use crate::observer::Observer;
use crate::run::Run;

/// Makes runs against a simulated server. The same server, plan and seed give the same record.
#[derive(Clone, Debug)]
pub struct SimulatedRunner {
    /// The server and the link to it; the plan's address and transport are ignored.
    pub server: SimConfig,
}

impl Runner for SimulatedRunner {
    fn validate(&self, draft: &Draft) -> Result<Plans, RunError> {
        Plans::of(draft)
    }

    fn run(
        &mut self,
        job: &RunJob<'_>,
        control: &Control,
        observer: &mut dyn Observer,
    ) -> Result<FinishedRun, RunError> {
        // One worker only, because each worker's link would have its own time and server.
        let part = job.plans.plan.part;
        let part = if part.is_whole() { Part::whole(1) } else { Part { workers: 1, ..part } };
        let plan = Plan { workers: 1, part, ..job.plans.plan.clone() };
        let clients = SimulatedClients::of(&plan, control, observer)?;
        let loaded_now;
        let loaded = match &clients {
            Some(clients) => &clients.first,
            None => {
                loaded_now = load(&plan, control, observer)?;
                &loaded_now
            }
        };
        let (_, description) = describe(&plan, &loaded.queries);
        let pause = Pause::default();
        let description = Description { sim: self.server, sim_pause: pause.clone(), ..description };
        let learned = learn(&plan, &loaded.queries, (Kind::Sim, &description), control, observer)?;
        let opened = open(Kind::Sim, &description)?;
        opened.visit(Run {
            plan: &plan,
            loaded,
            replay: None,
            clients: clients.as_ref(),
            kind: Kind::Sim,
            backend: BackendInfo::default(),
            checks: Vec::new(),
            own_files: false,
            keep: &job.keep,
            control,
            observer,
            learned: learned.as_ref(),
            query_logs: job.query_logs,
            start: job.start,
            copy: job.copy,
            workers_reason: job.workers_reason,
            pause: Some(pause),
        })
    }
}

//! The interface between code that wants runs (a command, a search, an experiment) and code that makes them: a job in,
//! a finished run with its record out.
//!
//! ```text
//!   Draft ── validate ──► Plans ──┐
//!            Keep, QueryLogs ─────┴──► RunJob ── run ──► FinishedRun
//! ```

use dnsdyno_engine::{Control, QueryLogs};
use dnsdyno_plan::{Draft, Plan};

use crate::error::RunError;
use crate::finished::FinishedRun;
use crate::host;
use crate::observer::Observer;
use crate::recorder::{Keep, LineCopy};

/// Makes runs: on this host, on a simulated link, or on several hosts.
pub trait Runner {
    /// Validates options, so that what is wrong in them is told before anything is started.
    ///
    /// # Errors
    /// The options are not valid.
    fn validate(&self, draft: &Draft) -> Result<Plans, RunError>;

    /// Makes the run that the job describes, and returns when it has ended. `control` stops it; `observer` receives
    /// its progress.
    ///
    /// # Errors
    /// Nothing could be sent. A run that ended early is not an error: see [`Digest::ended`].
    ///
    /// [`Digest::ended`]: dnsdyno_record::Digest::ended
    fn run(
        &mut self,
        job: &RunJob<'_>,
        control: &Control,
        observer: &mut dyn Observer,
    ) -> Result<FinishedRun, RunError>;
}

/// A run that is wanted.
#[derive(Clone)]
pub struct RunJob<'a> {
    /// What is sent and when, as the runner has validated it.
    pub plans: &'a Plans,
    /// Where the record is written, on this host.
    pub keep: Keep,
    /// Makes each worker's log of single queries; `None` = they are counted only. A log is a function of this process:
    /// a runner on other hosts cannot call it, and has to refuse such a job.
    pub query_logs: Option<QueryLogs<'a>>,
    /// Decides when the run starts; `None` = as soon as it can.
    pub start: Option<StartLine<'a>>,
    /// Gets each line of the record too.
    pub copy: Option<LineCopy<'a>>,
    /// What trials before the run have said of the number of workers, for the record; `None` = they were not made.
    pub workers_reason: Option<&'a str>,
}

/// Decides when a run starts that is ready. It gets the time that the workers need to prepare, in nanoseconds, and
/// returns the start on the monotonic clock of this host, which must be at least so far ahead; `None` = the run is not
/// made.
pub type StartLine<'a> = &'a dyn Fn(u64) -> Option<u64>;

impl<'a> RunJob<'a> {
    /// A run of which single queries are not logged.
    pub fn new(plans: &'a Plans, keep: Keep) -> RunJob<'a> {
        RunJob { plans, keep, query_logs: None, start: None, copy: None, workers_reason: None }
    }
}

/// The plan of a run, for each network path that it may take.
#[derive(Clone, Debug)]
pub struct Plans {
    /// The plan. [`Plan::draft`] is the text of it for another host, which validates it for itself: every path in it
    /// is absolute, and its seed is chosen.
    pub plan: Plan,
    /// The same run over sockets, where the plan has AF_XDP and may fall back to them.
    pub(crate) over_sockets: Option<Plan>,
}

impl Plans {
    /// The plans of a draft on this host.
    ///
    /// # Errors
    /// The draft is not valid, or the current folder cannot be found.
    pub(crate) fn of(draft: &Draft) -> Result<Plans, RunError> {
        let plan = host::validate(draft)?;
        let may_use_sockets = plan.backend.xdp().is_some_and(|xdp| xdp.or_sockets);
        // With the same seed: it is the same run, whichever backend sends it.
        let over_sockets = || Draft { seed: Some(plan.seed.to_string()), ..draft.clone() }.by_sockets();
        let over_sockets = may_use_sockets.then(|| host::validate(&over_sockets())).transpose()?;
        Ok(Plans { plan, over_sockets })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_that_may_fall_back_to_sockets_has_the_same_run_over_sockets() {
        let of = |backend: &str| {
            Plans::of(&Draft {
                server: Some("127.0.0.1".into()),
                ask: Some(vec!["www.example A".into()]),
                rate: Some("1k".into()),
                duration: Some("1s".into()),
                backend: Some(backend.into()),
                ..Draft::default()
            })
            .unwrap()
        };
        let Plans { plan, over_sockets } = of("auto");
        let over_sockets = over_sockets.unwrap();
        assert!(plan.backend.xdp().is_some() && over_sockets.backend.xdp().is_none());
        assert_eq!((over_sockets.seed, over_sockets.shape), (plan.seed, plan.shape));
        assert!(of("xdp").over_sockets.is_none() && of("sockets").over_sockets.is_none());
    }
}

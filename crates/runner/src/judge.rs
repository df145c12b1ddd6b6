//! Judges a run while it is made: the expectations on each part of it, and the conditions that end it early.

use dnsdyno_engine::{Control, StopCause};
use dnsdyno_plan::{Plan, StopLimits};
use dnsdyno_record::expect::{AtEnd, Each, EachOutcome, StopWatch};
use dnsdyno_record::{Ended, Event, HELD_UNTIL, Header, Interval, Sum};

/// The judge of one run.
pub(crate) struct Judge {
    header: Header,
    each: Each,
    stop_watch: StopWatch,
    limits: StopLimits,
    /// The condition that ended the run, and the end of the interval with which it held.
    met: Option<(String, u64)>,
}

impl Judge {
    pub(crate) fn new(plan: &Plan, header: &Header) -> Judge {
        Judge {
            header: header.clone(),
            each: Each::new(header, &plan.expect_each),
            stop_watch: StopWatch::new(&plan.stop_when),
            limits: plan.stop_limits,
            met: None,
        }
    }

    /// Adds a settled interval. Returns whether it is the first with which a condition holds.
    pub(crate) fn ends_with(&mut self, interval: &Interval) -> bool {
        self.each.interval(interval);
        let met = self.stop_watch.interval(&self.header, interval);
        match met.filter(|_| self.met.is_none()) {
            Some((condition, _)) => {
                self.met = Some((condition.text.clone(), interval.to_ns));
                true
            }
            None => false,
        }
    }

    /// The event of a run that is stopped at this instant.
    pub(crate) fn stop_event(&self, control: &Control, at_ns: u64) -> Event {
        let (cause, reached) = (control.cause(), control.reached());
        let limit = reached.map(|reached| ("queries".to_owned(), reached.queries.into()));
        // The load has gone on until the interval was judged, maybe into its next part.
        let held = self.met.as_ref().filter(|_| cause == Some(StopCause::Condition));
        let held = held.map(|(_, to_ns)| (HELD_UNTIL.to_owned(), (*to_ns).into()));
        let queries = reached.map_or(0, |reached| reached.queries);
        let (kind, message) = match cause {
            Some(StopCause::Terminate) => ("terminate", "stopped by SIGTERM".to_owned()),
            Some(StopCause::HangUp) => ("hang_up", "stopped by SIGHUP".to_owned()),
            Some(StopCause::Behind) => ("behind", format!("{queries} queries behind the schedule")),
            Some(StopCause::Outstanding) => ("outstanding", format!("{queries} queries outstanding")),
            Some(StopCause::NoLongerWaiting) => {
                ("no_longer_waiting", "responses are no longer waited for".to_owned())
            }
            _ => match self.condition(cause) {
                Some(condition) => ("condition", format!("`{condition}` holds")),
                None => ("interrupt", "stopped by the user".to_owned()),
            },
        };
        let at_ns = reached.map_or(at_ns, |reached| reached.at_ns);
        Event { at_ns, kind: kind.to_owned(), message, figures: limit.into_iter().chain(held).collect() }
    }

    /// How a run has ended that was stopped.
    pub(crate) fn ended(&self, cause: Option<StopCause>) -> Ended {
        match cause {
            Some(StopCause::Terminate) => Ended::Terminated,
            Some(StopCause::HangUp) => Ended::HungUp,
            // Every query was sent at its time.
            Some(StopCause::NoLongerWaiting) => Ended::ByTime,
            _ => match self.condition(cause) {
                Some(condition) => Ended::ByCondition { condition },
                None => Ended::Interrupted,
            },
        }
    }

    /// The condition that has stopped the run, as given.
    fn condition(&self, cause: Option<StopCause>) -> Option<String> {
        match cause? {
            StopCause::Condition => self.met.as_ref().map(|(text, _)| text.clone()),
            StopCause::Behind => self.limits.behind.map(|queries| format!("behind>={queries}")),
            StopCause::Outstanding => {
                self.limits.outstanding.map(|queries| format!("outstanding>={queries}"))
            }
            _ => None,
        }
    }

    /// The outcomes of the expectations on each part of a run with this sum, which has its verdict.
    pub(crate) fn finish(self, sum: &Sum) -> Vec<EachOutcome> {
        self.each.finish(sum.schedule_ns, AtEnd::of(sum))
    }
}

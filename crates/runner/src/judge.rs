//! Judges a run while it is made: the expectations on each part of it, and the conditions that end it early.

use dnsdyno_engine::StopCause;
use dnsdyno_plan::Plan;
use dnsdyno_record::expect::{Each, EachOutcome, StopWatch};
use dnsdyno_record::{Ended, Event, Header, Interval};
use serde_json::Map;

/// The judge of one run.
pub(crate) struct Judge {
    header: Header,
    each: Each,
    stop_watch: StopWatch,
    /// The condition that ended the run.
    met: Option<String>,
}

impl Judge {
    pub(crate) fn new(plan: &Plan, header: &Header) -> Judge {
        Judge {
            header: header.clone(),
            each: Each::new(header, &plan.expect_each),
            stop_watch: StopWatch::new(&plan.stop_when),
            met: None,
        }
    }

    /// Adds a settled interval. Returns whether it is the first with which a condition holds.
    pub(crate) fn ends_with(&mut self, interval: &Interval) -> bool {
        self.each.interval(interval);
        let met = self.stop_watch.interval(&self.header, interval);
        match met.filter(|_| self.met.is_none()) {
            Some((condition, _)) => {
                self.met = Some(condition.text.clone());
                true
            }
            None => false,
        }
    }

    /// The event of a run that is stopped.
    pub(crate) fn stop_event(&self, cause: Option<StopCause>, at_ns: u64) -> Event {
        let (kind, message) = match (cause, &self.met) {
            (Some(StopCause::Condition), Some(condition)) => ("condition", format!("`{condition}` holds")),
            (Some(StopCause::Terminate), _) => ("terminate", "stopped by SIGTERM".to_owned()),
            (Some(StopCause::HangUp), _) => ("hang_up", "stopped by SIGHUP".to_owned()),
            _ => ("interrupt", "stopped by the user".to_owned()),
        };
        Event { at_ns, kind: kind.to_owned(), message, figures: Map::new() }
    }

    /// How a run has ended that was stopped.
    pub(crate) fn ended(&self, cause: Option<StopCause>) -> Ended {
        match (cause, &self.met) {
            (Some(StopCause::Condition), Some(condition)) => {
                Ended::ByCondition { condition: condition.clone() }
            }
            (Some(StopCause::Terminate), _) => Ended::Terminated,
            (Some(StopCause::HangUp), _) => Ended::HungUp,
            _ => Ended::Interrupted,
        }
    }

    /// The outcomes of the expectations on each part.
    pub(crate) fn finish(self, schedule_ns: u64) -> Vec<EachOutcome> {
        self.each.finish(schedule_ns)
    }
}

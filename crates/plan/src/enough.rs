//! Whether a run can have the queries that its percentiles need. One that never can is refused before the load: at its
//! end the percentile would not be measured, and what is expected of it not met.
//!
//! Only what the plan shows for certain is refused. A closed loop without a number of queries may have any number.

use dnsdyno_measure::percentile_name;
use dnsdyno_text::notation::format_duration_ns;
use dnsdyno_text::units::count;

use crate::error::PlanError;
use crate::expect::Expectation;
use crate::plan::Plan;
use crate::schedule::{Curve, ENDLESS_NS, Load, Phase};

impl Plan {
    /// Refuses expectations and conditions on percentiles that need more queries than there will be. With the number
    /// of queries in a pass, where that is known.
    ///
    /// # Errors
    /// The first of them, with what it needs.
    pub fn refuse_too_few(&self, queries_in_pass: Option<u64>) -> Result<(), PlanError> {
        let most = Most::of(self, queries_in_pass);
        self.expect.iter().try_for_each(|expected| refuse("expect", expected, most.of_run()))?;
        self.expect_each.iter().try_for_each(|expected| refuse("expect-each", expected, most.of_part()))?;
        self.stop_when
            .iter()
            .try_for_each(|condition| refuse("stop-when", &condition.holds, most.of_interval()))
    }
}

/// Where queries are too few, how many there are, and what gives more.
struct Place {
    queries: u64,
    place: String,
    advice: &'static str,
}

fn refuse(option: &'static str, expected: &Expectation, place: Option<Place>) -> Result<(), PlanError> {
    let Some((q, needed)) = expected.metric.queries_needed() else { return Ok(()) };
    match place.filter(|place| place.queries < needed) {
        Some(Place { queries, place, advice }) => Err(PlanError::TooFewQueries {
            option,
            text: expected.text.as_str().into(),
            percentile: percentile_name(q).into(),
            needed: count(needed).into(),
            place: format!("{place} {} at the most", count(queries)).into(),
            advice,
        }),
        None => Ok(()),
    }
}

/// The most queries of a run and of its parts, as far as its plan shows them.
struct Most<'a> {
    plan: &'a Plan,
    /// By number or by passes.
    limit: Option<u64>,
}

impl<'a> Most<'a> {
    fn of(plan: &'a Plan, queries_in_pass: Option<u64>) -> Most<'a> {
        let by_passes = plan.stop.passes.zip(queries_in_pass).map(|(passes, all)| passes.saturating_mul(all));
        Most { plan, limit: [plan.stop.count, by_passes].into_iter().flatten().min() }
    }

    fn of_run(&self) -> Option<Place> {
        let by_load = match &self.plan.load {
            Load::Open { curve, .. } => curve.total(),
            Load::Limited { most_qps, .. } => self.plan.stop.duration_ns.map(|ns| at_rate(*most_qps, ns)),
            Load::OfSource | Load::Closed { .. } => None,
        };
        let queries = [by_load, self.limit].into_iter().flatten().min()?;
        Some(Place { queries, place: "the run has".to_owned(), advice: "make it longer" })
    }

    /// An interval, of those that have the most.
    fn of_interval(&self) -> Option<Place> {
        let interval_ns = self.plan.interval_ns;
        let peak = |phase: &Phase| phase.rate_from_qps.max(phase.rate_to_qps);
        let by_load = match &self.plan.load {
            Load::Open { curve, .. } => {
                Some(at_rate(curve.phases().iter().map(peak).fold(0.0, f64::max), interval_ns))
            }
            Load::Limited { most_qps, .. } => Some(at_rate(*most_qps, interval_ns)),
            Load::OfSource | Load::Closed { .. } => None,
        };
        let queries = [by_load, self.limit].into_iter().flatten().min()?;
        let place = format!("an interval of {} has", format_duration_ns(interval_ns));
        Some(Place { queries, place, advice: LONGER_INTERVALS })
    }

    /// The step or interval that is judged and has the fewest. One that the end of the run cuts short is not judged.
    fn of_part(&self) -> Option<Place> {
        let Load::Open { curve, .. } = &self.plan.load else { return self.of_interval() };
        let is_whole = |to_ns: u64| self.limit.is_none_or(|limit| due_before(curve, to_ns) <= limit);
        let interval_ns = self.plan.interval_ns;
        let phases = curve.phases();
        let has_steps =
            phases.len() > 1 && phases.iter().all(|phase| phase.from_ns.is_multiple_of(interval_ns));
        if has_steps {
            let steps = phases.iter().take_while(|phase| phase.to_ns != ENDLESS_NS && is_whole(phase.to_ns));
            let counted = steps.map(|phase| (due_in(curve, phase.from_ns, phase.to_ns), phase));
            let (queries, phase) = counted.filter(|(due, _)| *due > 0).min_by_key(|(due, _)| *due)?;
            return Some(Place {
                queries,
                place: format!("step `{}` has", phase.label),
                advice: "make the steps longer",
            });
        }
        let until_ns = curve.duration_ns().unwrap_or(u64::MAX);
        let starts = (0..MOST_INTERVALS).map(|number| number * interval_ns);
        let whole = starts
            .map(|from_ns| (from_ns, from_ns + interval_ns))
            .take_while(|(_, to_ns)| *to_ns <= until_ns && is_whole(*to_ns));
        let counted = whole.map(|(from_ns, to_ns)| (due_in(curve, from_ns, to_ns), from_ns, to_ns));
        let (queries, from_ns, to_ns) = counted.filter(|(due, ..)| *due > 0).min_by_key(|(due, ..)| *due)?;
        let (from, to) = (format_duration_ns(from_ns), format_duration_ns(to_ns));
        Some(Place {
            queries,
            place: format!("the interval from {from} to {to} has"),
            advice: LONGER_INTERVALS,
        })
    }
}

fn due_before(curve: &Curve, t_ns: u64) -> u64 {
    t_ns.checked_sub(1).map_or(0, |last_ns| curve.due_by(last_ns))
}

fn due_in(curve: &Curve, from_ns: u64, to_ns: u64) -> u64 {
    due_before(curve, to_ns).saturating_sub(due_before(curve, from_ns))
}

/// The most queries of this time at this rate.
fn at_rate(rate_qps: f64, ns: u64) -> u64 {
    (rate_qps * ns as f64 * 1e-9 * (1.0 - 1e-9)).ceil() as u64
}

const LONGER_INTERVALS: &str = "use a longer --interval";

/// Those of a day are enough to see a load that is too low; it takes some milliseconds.
const MOST_INTERVALS: u64 = 86_400;

//! A trial: one run at one load, and what it says about the criteria.
//!
//! Each criterion is decided by both ends of its figure: as measured, and without what may be the generator's. A trial
//! passes where each is met at both, and fails where one is met at neither; otherwise it is undecided.

use dnsdyno_measure::{BoundedLatency, Bounds, Tally};
use dnsdyno_plan::expect::{Metric, QueryCount};
use dnsdyno_record::expect::{Ends, Measured, measure_row, measure_run};
use dnsdyno_record::figures::{judged, lost, rate_qps};
use dnsdyno_record::held::growth_of_run;
use dnsdyno_record::{Digest, Row};

use crate::doubts::{met, of_the_load};

/// One run of a search, judged.
#[derive(Clone, Debug, PartialEq)]
pub struct Trial {
    /// Its number, from 1: that of its record in `runs/`.
    pub number: u32,
    /// What it was for.
    pub purpose: Purpose,
    /// Its load, in the unit of the search.
    pub load: f64,
    /// How long its load lasted, in ns.
    pub lasted_ns: u64,
    /// How long it was to last, in ns: longer where it was ended because it had failed for certain.
    pub planned_ns: u64,
    /// Until its last query had ended, with the pause before it, in ns.
    pub took_ns: u64,
    /// Queries that count for the server.
    pub queries: u64,
    /// Of these, without an answer in time.
    pub lost: u64,
    /// Of the lost ones, those that may be the generator's, at the most.
    pub ours: u64,
    /// Of these, answered with SERVFAIL or REFUSED.
    pub errors: u64,
    /// Queries answered, per second.
    pub answered_qps: f64,
    /// The part of its load that the server has kept up with: without the lost queries, and without those by which a
    /// queue has grown. Above the limit it says where the limit may be; nothing but the next load follows from it.
    pub kept_up: f64,
    /// The largest of its latencies with a bound, as a multiple of that; `None` where none was measured.
    pub of_bound: Option<f64>,
    /// Half of the queries took no longer; `None` where too few were sent.
    pub p50: Option<Bounds>,
    /// 99 of 100.
    pub p99: Option<Bounds>,
    /// A percentile beyond the timeout is longer than this.
    pub timeout_ns: u64,
    /// The mean latency of the answered, in ns.
    pub mean_ns: Option<u64>,
    /// What it says; of several goals, about the first.
    pub verdict: TrialVerdict,
    /// What it says about each goal, in their order; none in a search without named goals.
    pub goals: Vec<OfGoal>,
}

/// What a trial says about a goal.
#[derive(Clone, Debug, PartialEq)]
pub struct OfGoal {
    /// The name of the goal.
    pub goal: String,
    /// What it says.
    pub verdict: TrialVerdict,
    /// Whether it was long enough for it.
    pub is_long_enough: bool,
}

/// What a trial is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// To warm up: caches, connections.
    WarmUp,
    /// To double the load until it is too much.
    Doubling,
    /// Whether the criteria are met at the lowest load.
    Lowest,
    /// To narrow the limit.
    Near,
    /// To let a server recover from an overload, before a load near its limit.
    Recover,
    /// To see what happens beyond the limit.
    Beyond,
    /// To see whether the server recovers at once from an overload.
    Down,
    /// A step of a method with steps of its own.
    Step,
}

impl Purpose {
    /// In one or two words, for people and programs.
    pub fn text(self) -> &'static str {
        match self {
            Purpose::WarmUp => "warm-up",
            Purpose::Doubling => "doubling",
            Purpose::Lowest => "lowest load",
            Purpose::Near => "near the limit",
            Purpose::Recover => "recovery",
            Purpose::Beyond => "beyond the limit",
            Purpose::Down => "after an overload",
            Purpose::Step => "step",
        }
    }
}

/// What a trial says about its load.
#[derive(Clone, Debug, PartialEq)]
pub enum TrialVerdict {
    /// All criteria were met.
    Passed,
    /// These were not, whatever the generator's part.
    Failed(Vec<OfCriterion>),
    /// Whether they were depends on the part of the generator or its host: it says nothing of the server.
    Undecided(Undecided),
}

/// What a trial says about a criterion.
#[derive(Clone, Debug, PartialEq)]
pub struct OfCriterion {
    /// The criterion.
    pub criterion: String,
    /// What was measured.
    pub ends: Ends,
}

/// Why a trial says nothing of the server.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Undecided {
    /// The criteria that are met at one end of their figure only, or were not measured; none where the load itself was
    /// not made.
    pub criteria: Vec<OfCriterion>,
    /// What the generator has met in the run, by the names of the warnings.
    pub reasons: Vec<String>,
}

impl OfCriterion {
    /// Whether its ends are within a factor of two of each other: then the bound, which is between them, is near.
    fn is_close(&self) -> bool {
        let ends = match (&self.ends.measured, &self.ends.without_ours) {
            (Measured::Duration(one), Measured::Duration(other)) => (*one as f64, *other as f64),
            (Measured::Part { part: one, .. }, Measured::Part { part: other, .. }) => {
                (*one as f64, *other as f64)
            }
            (Measured::RateQps(one), Measured::RateQps(other)) => (*one, *other),
            _ => return false,
        };
        ends.0.max(ends.1) <= 2.0 * ends.0.min(ends.1)
    }
}

impl Undecided {
    /// The criteria that depend on the generator's part, and not on too few queries.
    pub fn on_ours(&self) -> impl Iterator<Item = &OfCriterion> {
        self.criteria.iter().filter(|of| !matches!(of.ends.measured, Measured::TooFew { .. }))
    }

    /// Whether there were too few queries for its criteria, and that is all.
    pub fn is_of_few_queries(&self) -> bool {
        !self.criteria.is_empty() && self.on_ours().next().is_none()
    }
}

/// The criteria that a trial does not meet for certain.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Judged {
    pub(super) unmet: Vec<OfCriterion>,
    pub(super) undecided: Vec<OfCriterion>,
    /// The largest latency, as a multiple of its bound.
    pub(super) of_bound: Option<f64>,
}

impl Trial {
    /// Whether all criteria were met; `None` where it says nothing.
    pub fn passed(&self) -> Option<bool> {
        match self.verdict {
            TrialVerdict::Passed => Some(true),
            TrialVerdict::Failed(_) => Some(false),
            TrialVerdict::Undecided(_) => None,
        }
    }

    /// Whether it is undecided because its figures are near their bounds: then its load is near the limit. Ends that
    /// are far apart, as where this host loses responses, say nothing of where the limit is.
    pub(super) fn is_near_bound(&self) -> bool {
        match &self.verdict {
            TrialVerdict::Undecided(Undecided { criteria, .. }) => {
                !criteria.is_empty() && criteria.iter().all(OfCriterion::is_close)
            }
            _ => false,
        }
    }

    /// Whether it had too few queries for the criteria, and that is all that is undecided.
    pub(super) fn is_of_few_queries(&self) -> bool {
        matches!(&self.verdict, TrialVerdict::Undecided(undecided) if undecided.is_of_few_queries())
    }

    /// The share of queries without an answer in time.
    pub fn loss(&self) -> f64 {
        if self.queries == 0 { 0.0 } else { self.lost as f64 / self.queries as f64 }
    }

    /// The figures of a run; its verdict is given by the criteria.
    pub(super) fn of(number: u32, purpose: Purpose, load: f64, rest_ns: u64, run: &Digest) -> Trial {
        let took_ns = run.to_ns().saturating_add(rest_ns);
        let shown = (run.tally(), run.percentiles(), measure_run(LOST, run));
        let trial = Trial::with(number, purpose, load, (run.sending_ns(), took_ns), run, shown);
        let growth = growth_of_run(run).map_or(0.0, |growth| growth.ns_per_s() as f64 * 1e-9);
        Trial { kept_up: trial.kept_up / (1.0 + growth), ..trial }
    }

    /// Those of a row of a run, which is a step of its load.
    pub(super) fn of_row(number: u32, load: f64, run: &Digest, row: &Row) -> Trial {
        let lasted = (row.covered_ns, row.covered_ns);
        let shown = (&row.tally, run.percentiles_of(row), measure_row(LOST, run, row));
        Trial::with(number, Purpose::Step, load, lasted, run, shown)
    }

    /// Those of queries with these percentiles and losses, whose load lasted and which took so long.
    fn with(
        number: u32,
        purpose: Purpose,
        load: f64,
        (lasted_ns, took_ns): (u64, u64),
        run: &Digest,
        (tally, percentiles, losses): (&Tally, BoundedLatency<'_>, Ends),
    ) -> Trial {
        let ours = match (&losses.measured, &losses.without_ours) {
            (Measured::Part { part, .. }, Measured::Part { part: least, .. }) => part.saturating_sub(*least),
            (Measured::Part { part, .. }, Measured::Partial { .. }) => *part,
            _ => 0,
        };
        let (queries, lost) = (judged(tally), lost(tally));
        let answered = 1.0 - lost.saturating_sub(ours) as f64 / queries.max(1) as f64;
        Trial {
            number,
            purpose,
            load,
            lasted_ns,
            planned_ns: lasted_ns,
            took_ns,
            queries,
            lost,
            ours,
            errors: ERRORS.into_iter().map(|rcode| tally.rcodes.of(rcode)).sum(),
            answered_qps: rate_qps(tally.ends.answered, lasted_ns),
            kept_up: load * answered,
            of_bound: None,
            p50: percentiles.at(0.5),
            p99: percentiles.at(0.99),
            timeout_ns: run.header.timeout_ns,
            mean_ns: run.header.latency_of(tally).answered.mean_ns(),
            verdict: TrialVerdict::Passed,
            goals: Vec::new(),
        }
    }

    /// Gives it its verdict. A load that was not made as it was asked for is not held, whatever was measured.
    pub(super) fn judge(&mut self, judged: Judged, run: &Digest, is_made: bool) {
        let Judged { unmet, undecided, of_bound } = judged;
        self.of_bound = of_bound;
        self.verdict = match (unmet.is_empty(), undecided.is_empty() && is_made) {
            (false, _) => TrialVerdict::Failed(unmet),
            (true, true) => TrialVerdict::Passed,
            (true, false) => TrialVerdict::Undecided(Undecided { criteria: undecided, reasons: met(run) }),
        };
    }
}

/// Whether the load of a run was made as it was asked for, and the run ended regularly.
pub(super) fn is_made(run: &Digest) -> bool {
    run.sum.is_some() && of_the_load(run).is_empty()
}

/// The same of a row of a run.
pub(super) fn is_row_made(run: &Digest, row: &Row) -> bool {
    let asked = row.asked_qps() * row.covered_ns as f64 * 1e-9;
    let is_whole = run.sum.is_some() && row.partial_intervals == 0;
    is_made(run) || (is_whole && row.arrivals.sent as f64 >= asked * ENOUGH_SENT)
}

/// Whether two loads are the same, as far as they are written.
pub(super) fn is_same_load(a: f64, b: f64) -> bool {
    (a / b - 1.0).abs() < 0.001
}

/// A share of what was asked that is no difference.
pub(super) const ENOUGH_SENT: f64 = 0.98;

const LOST: Metric = Metric::Queries(QueryCount::Lost);

/// SERVFAIL and REFUSED.
const ERRORS: [u16; 2] = [2, 5];

#[cfg(test)]
mod tests {
    use dnsdyno_measure::Warning;
    use dnsdyno_plan::Draft;

    use super::*;
    use crate::find::imaginary::{Imaginary, Kind};
    use crate::find::{BY_CHANCE, Options, Settings};

    /// The verdict on a trial of a server that answers 10,000 queries a second and loses the others.
    fn verdict(load: f64, host: impl Fn(&mut Imaginary), change: impl Fn(&mut Digest)) -> TrialVerdict {
        let settings = Settings::new(&Options::default(), &Draft::default()).unwrap();
        let mut server = Imaginary::new(Kind::Hard, 10_000.0, 1);
        host(&mut server);
        let mut run = server.trial(&settings.request(Purpose::Near, load, 0));
        change(&mut run);
        let mut trial = Trial::of(1, Purpose::Near, load, 0, &run);
        trial.judge(settings.criteria().judge(&run, &trial, &[]), &run, is_made(&run));
        trial.verdict
    }

    #[test]
    fn late_sends_that_change_no_answer_change_no_verdict() {
        let late = |load| verdict(load, |server| server.late = 1.0, |_| ());
        assert_eq!(late(9_000.0), TrialVerdict::Passed);
        let TrialVerdict::Failed(unmet) = late(11_000.0) else { panic!("{:?}", late(11_000.0)) };
        assert!(unmet.iter().any(|of| of.criterion == BY_CHANCE), "{unmet:?}");
    }

    #[test]
    fn losses_that_may_be_ours_leave_a_trial_undecided_with_what_the_generator_has_met() {
        let drops = verdict(9_000.0, |server| server.loses = 1.0, |_| ());
        let TrialVerdict::Undecided(undecided) = drops else { panic!("{drops:?}") };
        assert_eq!(undecided.reasons, ["socket_drops"]);
        assert_eq!(undecided.criteria[0].criterion, BY_CHANCE);
        let ends = &undecided.criteria[0].ends;
        assert_eq!(ends.measured, Measured::Part { part: 100, whole: 90_000 });
        assert_eq!(ends.without_ours, Measured::Part { part: 0, whole: 90_000 });
        // Packets that no query has missed.
        let harmless = |run: &mut Digest| {
            let sum = run.sum.as_mut().unwrap();
            sum.arrivals.socket_drops = 3;
            sum.warnings.push(Warning::SocketDrops { packets: 3, timed_out: 0 });
        };
        assert_eq!(verdict(9_000.0, |_| (), harmless), TrialVerdict::Passed);
    }

    #[test]
    fn a_trial_that_lacks_the_part_of_an_agent_says_nothing_of_its_load() {
        let partial = |run: &mut Digest| {
            let second = run.header.interval_ns;
            run.interval(&dnsdyno_record::Interval {
                index: 99,
                from_ns: 99 * second,
                to_ns: 100 * second,
                covered_ns: None,
                asked_qps: 0.0,
                tally: Tally::default(),
                arrivals: dnsdyno_measure::Arrivals::default(),
                workers: Vec::new(),
                agents: vec![Some(dnsdyno_measure::MemberTally::default()), None],
                watched: Vec::new(),
            });
            run.sum.as_mut().unwrap().warnings.push(Warning::PartialIntervals { intervals: 1 });
        };
        for load in [9_000.0, 11_000.0] {
            let TrialVerdict::Undecided(undecided) = verdict(load, |_| (), partial) else {
                panic!("a part is missing at {load}")
            };
            assert_eq!(undecided.reasons, ["partial_intervals"]);
        }
    }

    #[test]
    fn a_load_that_was_not_made_is_not_held_and_a_server_that_fails_a_lower_one_has_failed() {
        let behind = |run: &mut Digest| {
            let warning = Warning::SendsBehind {
                behind_ns: 5_000_000_000,
                schedule_ns: 10_000_000_000,
                connection_waits: 0,
            };
            run.sum.as_mut().unwrap().warnings.push(warning);
        };
        let TrialVerdict::Undecided(undecided) = verdict(9_000.0, |_| (), behind) else {
            panic!("a load that was not made has passed")
        };
        assert_eq!((undecided.criteria.len(), undecided.reasons), (0, vec!["sends_behind".to_owned()]));
        assert!(matches!(verdict(11_000.0, |_| (), behind), TrialVerdict::Failed(_)));
    }
}

//! A trial: one run at one load, and what it says about the criteria.

use dnsdyno_measure::{BoundedLatency, Bounds, Tally};
use dnsdyno_record::expect::Measured;
use dnsdyno_record::figures::{judged, lost, rate_qps};
use dnsdyno_record::{Digest, Row};

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
    /// Until its last query had ended, with the pause before it, in ns.
    pub took_ns: u64,
    /// Queries that count for the server.
    pub queries: u64,
    /// Of these, without an answer in time.
    pub lost: u64,
    /// Of these, answered with SERVFAIL or REFUSED.
    pub errors: u64,
    /// Queries answered, per second.
    pub answered_qps: f64,
    /// Half of the queries took no longer; `None` where too few were sent.
    pub p50: Option<Bounds>,
    /// 99 of 100.
    pub p99: Option<Bounds>,
    /// A percentile beyond the timeout is longer than this.
    pub timeout_ns: u64,
    /// The mean latency of the answered, in ns.
    pub mean_ns: Option<u64>,
    /// What it says.
    pub verdict: TrialVerdict,
    /// It passed although sends of ours were late.
    pub late: bool,
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
    /// These were not.
    Failed(Vec<Unmet>),
    /// The generator or its host may have been the limit: it says nothing. The names of its warnings.
    InDoubt(Vec<String>),
}

/// A criterion that was not met.
#[derive(Clone, Debug, PartialEq)]
pub struct Unmet {
    /// The criterion.
    pub criterion: String,
    /// What was measured.
    pub measured: Measured,
    /// Whether it was not met whatever the generator's part; else that part may be the reason.
    pub is_certain: bool,
}

impl Trial {
    /// Whether all criteria were met; `None` where it says nothing.
    pub fn passed(&self) -> Option<bool> {
        match self.verdict {
            TrialVerdict::Passed => Some(true),
            TrialVerdict::Failed(_) => Some(false),
            TrialVerdict::InDoubt(_) => None,
        }
    }

    /// The share of queries without an answer in time.
    pub fn loss(&self) -> f64 {
        if self.queries == 0 { 0.0 } else { self.lost as f64 / self.queries as f64 }
    }

    /// The figures of a run; its verdict is given by the criteria.
    pub(super) fn of(number: u32, purpose: Purpose, load: f64, rest_ns: u64, run: &Digest) -> Trial {
        let took_ns = run.to_ns().saturating_add(rest_ns);
        let shown = (run.tally(), run.percentiles());
        Trial::with(number, purpose, load, (run.schedule_ns(), took_ns), run, shown)
    }

    /// Those of a row of a run, which is a step of its load.
    pub(super) fn of_row(number: u32, load: f64, run: &Digest, row: &Row) -> Trial {
        let lasted = (row.covered_ns, row.covered_ns);
        Trial::with(number, Purpose::Step, load, lasted, run, (&row.tally, run.percentiles_of(row)))
    }

    /// Those of queries with these percentiles, whose load lasted and which took so long.
    fn with(
        number: u32,
        purpose: Purpose,
        load: f64,
        (lasted_ns, took_ns): (u64, u64),
        run: &Digest,
        (tally, percentiles): (&Tally, BoundedLatency<'_>),
    ) -> Trial {
        Trial {
            number,
            purpose,
            load,
            lasted_ns,
            took_ns,
            queries: judged(tally),
            lost: lost(tally),
            errors: ERRORS.into_iter().map(|rcode| tally.rcodes.of(rcode)).sum(),
            answered_qps: rate_qps(tally.ends.answered, lasted_ns),
            p50: percentiles.at(0.5),
            p99: percentiles.at(0.99),
            timeout_ns: run.header.timeout_ns,
            mean_ns: run.header.latency_of(tally).answered.mean_ns(),
            verdict: TrialVerdict::Passed,
            late: false,
        }
    }

    /// Gives it its verdict: by these unmet criteria and these doubts.
    pub(super) fn judge(&mut self, unmet: Vec<Unmet>, doubts: Vec<String>) {
        let is_late = !doubts.is_empty();
        self.verdict = verdict_of(unmet, doubts);
        self.late = is_late && self.verdict == TrialVerdict::Passed;
    }
}

/// Whether two loads are the same, as far as they are written.
pub(super) fn is_same_load(a: f64, b: f64) -> bool {
    (a / b - 1.0).abs() < 0.001
}

/// The names of the warnings of a run about its own generator, late sends included; one without its end has none that
/// can be known.
pub(super) fn doubts(run: &Digest) -> Vec<String> {
    let late = run.notes().iter().filter(|note| note.name() == LATENESS);
    let mut names: Vec<_> =
        run.warnings().iter().chain(late).map(|warning| warning.name().to_owned()).collect();
    if run.sum.is_none() {
        names.push("no_regular_end".to_owned());
    }
    names
}

/// What a trial says that has these unmet criteria and these doubts. Lateness of ours only makes the response time
/// longer, and the load less even: a trial that passes in spite of it would pass without, and one that fails by more
/// than our part would fail without.
pub(super) fn verdict_of(unmet: Vec<Unmet>, doubts: Vec<String>) -> TrialVerdict {
    let is_in_doubt = doubts.iter().any(|name| name != LATENESS);
    match (is_in_doubt, unmet.is_empty()) {
        (true, _) => TrialVerdict::InDoubt(doubts),
        (false, true) => TrialVerdict::Passed,
        (false, false) if unmet.iter().any(|unmet| unmet.is_certain) => TrialVerdict::Failed(unmet),
        (false, false) => TrialVerdict::InDoubt(vec![LATENESS.to_owned()]),
    }
}

/// The name of the warning about lateness: nothing was lost by us, and nothing was left out.
const LATENESS: &str = "sends_late";

/// SERVFAIL and REFUSED.
const ERRORS: [u16; 2] = [2, 5];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trial_that_passes_in_spite_of_our_lateness_has_passed_and_one_that_fails_by_it_is_in_doubt() {
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let unmet = |is_certain| {
            let measured = Measured::Part { part: 0, whole: 1 };
            vec![Unmet { criterion: "p99<5ms".to_owned(), measured, is_certain }]
        };
        assert_eq!(verdict_of(Vec::new(), names(&["sends_late"])), TrialVerdict::Passed);
        let late = TrialVerdict::InDoubt(names(&["sends_late"]));
        assert_eq!(verdict_of(unmet(false), names(&["sends_late"])), late);
        assert_eq!(verdict_of(unmet(false), Vec::new()), late);
        assert_eq!(verdict_of(unmet(true), names(&["sends_late"])), TrialVerdict::Failed(unmet(true)));
        let dropped = names(&["sends_late", "socket_drops"]);
        assert_eq!(verdict_of(Vec::new(), dropped.clone()), TrialVerdict::InDoubt(dropped));
        assert_eq!(verdict_of(unmet(true), Vec::new()), TrialVerdict::Failed(unmet(true)));
    }
}

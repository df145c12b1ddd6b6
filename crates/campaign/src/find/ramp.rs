//! One ramp, as resperf makes it, with the knee found by rules and not by eye. Each rule has an instant of its own.
//!
//! ```text
//!   load      ╱ asked       rule                                        it was found where
//!           ╱╱── sent       fewer sent than asked                       ours: the generator is the limit
//!         ╱╱ ─── answered   fewer answers received than queries sent    a queue grows, or queries are lost
//!       ╱╱                  mean latency 100 ms, 1 s above the lowest   a queue has grown
//!     ╱╱         → time     the criteria are not met
//! ```
//!
//! The figure "maximum throughput" of resperf, the most answers of any second, is one of the figures and never the
//! limit: a queue of a second may be behind it.

use dnsdyno_plan::expect::{Durations, Figure, Metric};
use dnsdyno_plan::{Draft, PieceDraft};
use dnsdyno_record::expect::{Measured, measure_row};
use dnsdyno_record::figures::rate_qps;
use dnsdyno_record::{Digest, Row};
use dnsdyno_text::notation::{format_duration_ns, format_rate_qps};
use dnsdyno_text::units;

use super::finder::{Finder, TrialsSoFar};
use super::finding::{FindNote, Finding, IntervalKind, Outcome, Why};
use super::settings::Settings;
use super::steps::{finding_of_rows, trials_of_rows};
use super::trial::{ENOUGH_SENT, Trial, TrialVerdict};
use crate::step::{Campaign, Request, Step};

/// A ramp.
#[derive(Clone, Debug)]
pub struct Ramp {
    settings: Settings,
    trials: Vec<Trial>,
    knees: Vec<FindNote>,
    /// The lowest load at which the generator may be the limit.
    ours: Option<f64>,
    cut: u32,
    is_done: bool,
}

impl Ramp {
    /// A ramp with these settings.
    pub fn new(settings: Settings) -> Ramp {
        Ramp { settings, trials: Vec::new(), knees: Vec::new(), ours: None, cut: 0, is_done: false }
    }

    /// The ramp in pieces, so that each is a row of its record.
    fn request(&self) -> Request {
        let Settings { most, .. } = self.settings;
        let over_ns = self.settings.ramp_ns();
        let piece_ns = (over_ns / PIECES / 1_000_000).max(SHORTEST_PIECE_MS) * 1_000_000;
        let pieces = (over_ns / piece_ns).max(1);
        let rate = |at: u64| format_rate_qps((most * at as f64 / pieces as f64).round());
        let piece = |at: u64| PieceDraft {
            rate: format!("{}..{}", rate(at), rate(at + 1)),
            duration: format_duration_ns(piece_ns),
            label: None,
        };
        let draft = Draft {
            piece: Some((0..pieces).map(piece).collect()),
            over: None,
            interval: Some(format_duration_ns(piece_ns)),
            ..self.settings.of_trials(piece_ns)
        };
        Request { draft, rest_ns: 0, commands: false, why: format!("ramp to {} qps", units::rate(most)) }
    }

    /// Notes the first row for which a rule holds.
    fn knee(&mut self, rule: &'static str, run: &Digest, holds: Rule<'_>, twice: bool) {
        let Some(row) = first(run.rows(), holds, twice) else { return };
        let per_second = |count| units::rate(rate_qps(count, row.covered_ns));
        let mean = row.tally.response.mean_ns().map_or("-".to_owned(), units::duration);
        let figures = format!(
            "sent {}/s, answers received {}/s, mean latency {mean}",
            per_second(row.arrivals.sent),
            per_second(row.arrivals.answered),
        );
        let load = self.settings.rounded(row.asked_qps());
        self.knees.push(FindNote::Knee { rule, load, at_ns: row.from_ns, figures });
    }

    /// The first row from which on the generator may be the limit: it has sent fewer than it should, or a rule holds
    /// for what may be its own part only.
    fn first_of_ours(&self, run: &Digest, of_ours: &[(Rule<'_>, bool)]) -> Option<f64> {
        let rows = of_ours.iter().filter_map(|(holds, twice)| first(run.rows(), holds, *twice));
        rows.map(|row| self.settings.rounded(row.asked_qps())).min_by(f64::total_cmp)
    }

    fn load_of(&self, wanted: &str) -> Option<f64> {
        self.knees.iter().find_map(|note| match note {
            FindNote::Knee { rule, load, .. } if *rule == wanted => Some(*load),
            _ => None,
        })
    }

    fn outcome(&self) -> Outcome {
        let of_server = [FEWER_ANSWERED, SLOW, UNMET].map(|rule| self.load_of(rule));
        let loads: Vec<f64> = of_server.into_iter().flatten().collect();
        let first = loads.iter().copied().min_by(f64::total_cmp);
        let last = loads.iter().copied().max_by(f64::total_cmp);
        match (first, last, self.ours) {
            (first, _, Some(ours)) if first.is_none_or(|first| ours <= first) => {
                Outcome::AtLeast { load: ours, why: Why::Generator }
            }
            (Some(from), Some(to), _) => {
                Outcome::Capacity { load: from, from, to, interval: IntervalKind::Range }
            }
            _ => Outcome::AtLeast { load: self.settings.most, why: Why::Most },
        }
    }

    fn finding(&self) -> Finding {
        finding_of_rows(&self.settings, self.outcome(), self.knees.clone(), &self.trials, self.cut)
    }
}

impl Campaign for Ramp {
    type Result = Finding;

    fn next(&self) -> Step<Finding> {
        match self.is_done {
            true => Step::Done(self.finding()),
            false => Step::Run(Box::new(self.request())),
        }
    }

    fn learn(&mut self, run: &Digest) {
        self.trials = trials_of_rows(&self.settings, run);
        let enough = |row: &Row| {
            row.partial_intervals == 0 && row.asked_qps() * row.covered_ns as f64 * 1e-9 >= ENOUGH_QUERIES
        };
        let sent = |row: &Row| row.arrivals.sent as f64;
        let asked = |row: &Row| row.asked_qps() * row.covered_ns as f64 * 1e-9;
        let is_fewer_sent = |row: &Row| enough(row) && sent(row) < asked(row) * ENOUGH_SENT;
        self.knee(FEWER_SENT, run, &is_fewer_sent, true);
        let fewer = fewer_answered(run.rows());
        let is_fewer = |row: &Row| enough(row) && fewer.contains(&row.from_ns);
        // Where responses were lost on this host, each that is missing may be.
        let loses = run.loss().ours > 0;
        self.knee(FEWER_ANSWERED, run, &|row| !loses && is_fewer(row), true);
        let path_ns = lowest_mean_ns(run.rows());
        let mean_ns = |row: &Row| row.tally.response.mean_ns().unwrap_or(0);
        let is_slow = |row: &Row, by_ns: u64| least_mean_ns(run, row) >= path_ns + by_ns;
        self.knee(SLOW, run, &|row| is_slow(row, 100_000_000), false);
        self.knee(VERY_SLOW, run, &|row| is_slow(row, 1_000_000_000), false);
        let rows_of = |verdict: fn(&TrialVerdict) -> bool| -> Vec<u64> {
            let steps = self.trials.iter().zip(run.rows());
            steps.filter(|(step, _)| verdict(&step.verdict)).map(|(_, row)| row.from_ns).collect()
        };
        let unmet = rows_of(|verdict| matches!(verdict, TrialVerdict::Failed(_)));
        let undecided = rows_of(is_undecided);
        self.knee(UNMET, run, &|row| unmet.contains(&row.from_ns), true);
        self.ours = self.first_of_ours(
            run,
            &[
                (&is_fewer_sent, true),
                (&|row| loses && is_fewer(row), true),
                (&|row| mean_ns(row) >= path_ns + 100_000_000 && !is_slow(row, 100_000_000), false),
                (&|row| undecided.contains(&row.from_ns), true),
            ],
        );
        self.is_done = true;
    }

    fn learn_cut(&mut self, _run: &Digest) {
        self.cut += 1;
    }
}

/// What is looked for in the rows of a run.
type Rule<'a> = &'a dyn Fn(&Row) -> bool;

impl Finder for Ramp {
    fn made(&self) -> TrialsSoFar<'_> {
        TrialsSoFar { trials: &self.trials, bracket: None }
    }
}

/// The first row for which a rule holds; one about a rate must hold in the next row too.
fn first<'a>(rows: &'a [Row], holds: Rule<'_>, twice: bool) -> Option<&'a Row> {
    let found = (0..rows.len()).find(|at| {
        let next = rows.get(at + 1).or(rows.get(*at));
        rows.get(*at).is_some_and(holds) && (!twice || next.is_some_and(holds))
    });
    rows.get(found?)
}

/// Whether a step says nothing of the server, and not only for its few queries.
fn is_undecided(verdict: &TrialVerdict) -> bool {
    match verdict {
        TrialVerdict::Undecided(undecided) => !undecided.is_of_few_queries(),
        _ => false,
    }
}

/// The mean latency of a row without what may be ours.
fn least_mean_ns(run: &Digest, row: &Row) -> u64 {
    let mean = Metric::Duration(Durations::Response, Figure::Average);
    match measure_row(mean, run, row).without_ours {
        Measured::Duration(ns) => ns,
        _ => 0,
    }
}

/// The begin of the rows in which fewer answers were received than queries were sent. While the load rises, more and
/// more queries are on the way, by Little's law the rate times the round trip: these are not missing.
fn fewer_answered(rows: &[Row]) -> Vec<u64> {
    let round_trip_s = lowest_mean_ns(rows) as f64 * 1e-9;
    let mut before = 0.0;
    let is_fewer = |row: &&Row| {
        let on_the_way = row.asked_qps() * round_trip_s;
        let more = (on_the_way - std::mem::replace(&mut before, on_the_way)).max(0.0);
        (row.arrivals.answered as f64) < (row.arrivals.sent as f64 - more) * ENOUGH_ANSWERED
    };
    rows.iter().filter(is_fewer).map(|row| row.from_ns).collect()
}

/// The lowest mean latency of a row: the path, and a server without load.
fn lowest_mean_ns(rows: &[Row]) -> u64 {
    rows.iter().filter_map(|row| row.tally.response.mean_ns()).min().unwrap_or(0)
}

/// The rules, in words.
const FEWER_SENT: &str = "fewer queries sent than asked";
const FEWER_ANSWERED: &str = "fewer answers received than queries sent";
const SLOW: &str = "mean latency 100 ms above the lowest";
const VERY_SLOW: &str = "mean latency 1 s above the lowest";
const UNMET: &str = "the criteria not met";

/// Rows of a ramp: as many as a record keeps apart.
const PIECES: u64 = 60;
const SHORTEST_PIECE_MS: u64 = 20;

/// With fewer queries a share of them says nothing.
const ENOUGH_QUERIES: f64 = 50.0;

/// A share of what was sent that is no difference.
const ENOUGH_ANSWERED: f64 = 0.95;

#[cfg(test)]
mod tests {
    use dnsdyno_measure::{Arrivals, Tally};
    use dnsdyno_record::Interval;

    use super::*;

    /// Rows of 100 ms of a ramp by 100 queries a second each, all answered after `round_trip_ms`; from `limit_qps` on
    /// no more are.
    fn ramp(round_trip_ms: u64, limit_qps: u64) -> Vec<Row> {
        let row = |at: u64| {
            let qps = (at + 1) * 100;
            // What arrives was sent a round trip before.
            let arriving_qps = qps.saturating_sub(round_trip_ms).min(limit_qps);
            let mut tally = Tally::new(1);
            tally.response.record(round_trip_ms * 1_000_000);
            Row::of(&Interval {
                agents: Vec::new(),
                index: at,
                from_ns: at * 100_000_000,
                to_ns: (at + 1) * 100_000_000,
                covered_ns: None,
                asked_qps: qps as f64,
                tally,
                arrivals: Arrivals { sent: qps / 10, answered: arriving_qps / 10, ..Arrivals::default() },
                workers: Vec::new(),
                watched: Vec::new(),
            })
        };
        // The first ones have too few queries.
        (10..60).map(row).collect()
    }

    #[test]
    fn queries_on_the_way_over_a_path_with_delay_are_not_missing() {
        for round_trip_ms in [1, 20, 100] {
            let fewer = fewer_answered(&ramp(round_trip_ms, 4_000));
            let first_qps = fewer.first().map(|from_ns| from_ns / 1_000_000 + 100);
            assert!(
                first_qps.is_some_and(|qps| (4_000..=4_500).contains(&qps)),
                "{round_trip_ms} ms: {first_qps:?}"
            );
            assert_eq!(
                fewer_answered(&ramp(round_trip_ms, 100_000)),
                Vec::<u64>::new(),
                "{round_trip_ms} ms"
            );
        }
    }
}

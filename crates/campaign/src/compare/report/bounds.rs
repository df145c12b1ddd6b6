//! What is said of a bound: whether it is kept, and if that is not judged, why and what would tell.

use dnsdyno_text::units::count;

use super::notes;
use super::words::{interval, named};
use crate::compare::{BoundOutcome, BoundState, Compared, Comparison, FEWEST_RUNS, Needed, NotJudged};
use crate::statistics::power::MOST_RUNS;

/// The sign before an outcome of `--fail-if`, and the change that it is about, with why it is not judged.
pub fn bound(comparison: &Comparison, outcome: &BoundOutcome) -> (&'static str, String) {
    let metric = outcome.metric.and_then(|metric| comparison.metrics.get(metric));
    let change = metric.map_or_else(|| notes::not_measured(comparison, &outcome.text), named);
    match outcome.state {
        BoundState::Kept => ("kept", change),
        BoundState::Exceeded => ("EXCEEDED", change),
        BoundState::NotJudged(why) => {
            let why = metric.map(|metric| not_judged(comparison, metric, why));
            ("NOT JUDGED", format!("{change}{}", why.map_or(String::new(), |why| format!("; {why}"))))
        }
    }
}

/// Why a bound is not judged, and what would help.
fn not_judged(comparison: &Comparison, metric: &Compared, why: NotJudged) -> String {
    match why {
        NotJudged::NotMeasured => "not measured in all runs".to_owned(),
        NotJudged::OnlyRefusals => "every response of a run was REFUSED or SERVFAIL".to_owned(),
        NotJudged::TooFewRuns => too_few(comparison, metric),
        NotJudged::BeyondTimeout => "either may be any time: use a longer --timeout".to_owned(),
        NotJudged::NoEnd => {
            "some runs are beyond the timeout, by any time: use a longer --timeout".to_owned()
        }
        NotJudged::MayBeOurs if metric.is_rounded => {
            "the rounding of the other program's latencies may be more than that".to_owned()
        }
        NotJudged::MayBeOurs => {
            "the generator's own part may be more than that: give it CPUs of its own".to_owned()
        }
        NotJudged::NeverVaried { units } => {
            format!("the past has one value, so another one may be chance: {}", told_by_past(units))
        }
        NotJudged::ReachesBeyond { needed } => {
            let ends = metric.change.and_then(|change| interval(metric.kind, &change));
            let ends = ends.filter(|_| !metric.is_constant);
            let ends = ends.map_or(String::new(), |ends| format!(", {ends}"));
            format!("the 95 % interval{ends}, reaches beyond the bound: {}", told_by(metric, needed))
                .replace("interval, reaches", "interval reaches")
        }
    }
}

/// What would tell.
fn told_by(metric: &Compared, needed: Needed) -> String {
    let made = metric.baseline.len().min(metric.candidate.len()) as u64;
    match needed {
        Needed::Runs(runs) => {
            let (runs, more) = (u64::from(runs), u64::from(runs).saturating_sub(made));
            format!("about {} runs on each side would tell, {} more", count(runs), count(more))
        }
        Needed::FewMore => "a few more runs on each side would probably tell".to_owned(),
        Needed::TooMany => format!(
            "the change is so near to the bound that {} runs on each side would not tell",
            count(MOST_RUNS.into())
        ),
        Needed::TimesTheQueries(times) => {
            let seen = metric.possible.queries_without.unwrap_or(0);
            format!(
                "{} queries without an exception still allow 3: {} times the queries would tell, by longer runs or \
                 more of them",
                count(seen),
                count(times.into())
            )
        }
        Needed::Units(units) => told_by_past(units),
        Needed::NoPast => {
            "the past itself spreads by that much, however long it is: make runs of both sides in \
                           turn (--against)"
                .to_owned()
        }
    }
}

fn told_by_past(units: u32) -> String {
    format!("a past of about {} would tell", count(units.into()))
}

fn too_few(comparison: &Comparison, metric: &Compared) -> String {
    if let Some(past) = &comparison.past {
        return format!("{}: {}", notes::units(past), notes::units_needed(past, metric.candidate.len()))
            .trim_end_matches('.')
            .to_owned();
    }
    let made = metric.baseline.len().min(metric.candidate.len());
    match FEWEST_RUNS.saturating_sub(made) {
        0 => format!("too few runs: at least {} on each side are needed, usually 10", comparison.fewest_runs),
        more => format!(
            "too few runs to know how they spread: at least {FEWEST_RUNS} on each side, {more} more; usually 10"
        ),
    }
}

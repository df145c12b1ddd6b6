//! The words of a comparison: the sentence, and each figure and change as text. All forms have the same.

use dnsdyno_text::safe;
use dnsdyno_text::units::{count, duration, percent, rate, setting};

use super::notes;
use crate::compare::notes::one_side_refuses;
use crate::compare::{Change, Compared, Comparison, Factor, Figure, Kind, Outcome, Verdict};
use crate::statistics::power::MOST_RUNS;

pub use super::notes::note;

/// What the comparison says, in a sentence or a few.
pub fn sentence(comparison: &Comparison) -> String {
    let differing = |verdict| comparison.metrics.iter().filter(move |metric| metric.verdict == verdict);
    let listed = |verdict| differing(verdict).map(named).collect::<Vec<_>>().join(", ");
    match comparison.outcome {
        Outcome::Better => shown(["Faster", "Better"], &differing(Verdict::Better).collect::<Vec<_>>()),
        Outcome::Worse => shown(["Slower", "Worse"], &differing(Verdict::Worse).collect::<Vec<_>>()),
        Outcome::Mixed => {
            format!(
                "Better in some and worse in others: better {}; worse {}.",
                listed(Verdict::Better),
                listed(Verdict::Worse)
            )
        }
        Outcome::NoDifference => no_difference(comparison),
        Outcome::Undecided => undecided(comparison),
        Outcome::TooFew => too_few(comparison),
    }
}

/// The metrics that differ, the one with the most weight first.
fn shown([faster, better]: [&str; 2], metrics: &[&Compared]) -> String {
    let Some((first, others)) = metrics.split_first() else { return String::new() };
    let word = if first.kind == Kind::Share { better } else { faster };
    let interval = first.change.and_then(|change| interval(first.kind, &change));
    let interval = interval.map_or(String::new(), |interval| format!(" (95 % interval {interval})"));
    let others: Vec<String> = others.iter().map(|metric| named(metric)).collect();
    let others = if others.is_empty() { String::new() } else { format!("; also {}", others.join(", ")) };
    format!("{word}: {}{interval}{others}.", named(first))
}

fn no_difference(comparison: &Comparison) -> String {
    let start = "No difference that these runs could show";
    let Some(first) = comparison.metrics.first() else { return format!("{start}.") };
    let Some(change) = first.change.filter(|_| !first.is_constant) else {
        return format!("{start}: {} is the same in all of them.", first.name);
    };
    let interval =
        interval(first.kind, &change).map_or(String::new(), |ends| format!(" (95 % interval {ends})"));
    let found = change.shown.map_or(String::new(), |shown| {
        let size = size(first.kind, &change, shown);
        let article = if size.starts_with(FACTOR) { "a " } else { "" };
        format!(" They would show a change of {article}{size} or more 9 times in 10.")
    });
    format!("{start}: {}{interval}.{found}{}", named(first), more_runs(comparison, first, &change))
}

fn undecided(comparison: &Comparison) -> String {
    let of = |verdict| comparison.metrics.iter().filter(move |metric| metric.verdict == verdict);
    let ours: Vec<String> = of(Verdict::MayBeOurs).map(named).collect();
    let beyond: Vec<String> = of(Verdict::NotCompared).map(|metric| safe(&metric.name)).collect();
    if let Some(runs) = one_side_refuses(&comparison.notes, &comparison.baseline) {
        let runs: Vec<String> = runs.iter().map(|run| safe(run)).collect();
        let runs = runs.join(", ");
        return format!(
            "Undecided: every response of {runs} was REFUSED or SERVFAIL: times and rates of that side are those of \
             an error."
        );
    }
    let mut sentence = "Undecided:".to_owned();
    if !ours.is_empty() {
        sentence += &format!(" {}, which {} can explain.", ours.join(", "), explanation(comparison));
    }
    if !beyond.is_empty() {
        sentence += &format!(" {} beyond the timeout on both sides: not compared.", beyond.join(", "));
    }
    format!("{sentence} No other difference that these runs could show.")
}

/// What may explain the differences that are not called.
fn explanation(comparison: &Comparison) -> &'static str {
    let is_open = |metric: &&Compared| metric.verdict == Verdict::MayBeOurs;
    match comparison.metrics.iter().filter(is_open).all(|metric| metric.is_rounded) {
        true => "the rounding of the other program's latencies",
        false => "the generator's own part",
    }
}

fn too_few(comparison: &Comparison) -> String {
    let (candidate, baseline) = (comparison.candidate.len(), comparison.baseline.len());
    if let Some(past) = &comparison.past {
        let seen =
            comparison.metrics.first().map_or(String::new(), |first| format!(" Seen: {}.", named(first)));
        return format!(
            "Too short a past to tell a difference from noise: {}.{seen} {}",
            notes::units(past),
            notes::units_needed(past, candidate)
        );
    }
    let start = format!("Too few runs to tell a difference from noise: {candidate} against {baseline}.");
    let first = comparison.metrics.first();
    let seen = first.map_or(String::new(), |first| format!(" Seen: {}.", named(first)));
    let needed = match first.and_then(|first| Some((first, first.change?))) {
        Some((first, change)) if change.runs_needed.is_some() => more_runs(comparison, first, &change),
        _ => String::new(),
    };
    format!(
        "{start}{seen}{needed} It takes at least {} runs on each side, and usually 10.",
        comparison.fewest_runs
    )
}

/// How many runs it would take to show the change that was seen.
fn more_runs(comparison: &Comparison, metric: &Compared, change: &Change) -> String {
    let is_none = change.estimate == 0.0 || change.at_least;
    let size = size(metric.kind, change, change.estimate);
    let made = metric.baseline.len().min(metric.candidate.len());
    match change.runs_needed {
        _ if is_none || metric.population.is_some() => String::new(),
        None if made < 2 => String::new(),
        None => {
            format!(
                " If the {size} is real, more than {} runs on each side are needed to show it.",
                count(MOST_RUNS.into())
            )
        }
        Some(runs) => {
            let runs = (runs as usize).max(comparison.fewest_runs);
            let more = match runs.saturating_sub(made) {
                0 => String::new(),
                more => format!(", {} more", count(more as u64)),
            };
            format!(" If the {size} is real, about {} runs on each side show it{more}.", count(runs as u64))
        }
    }
}

/// A metric with its change: `p99 5.1 % higher`.
pub fn named(metric: &Compared) -> String {
    format!("{} {}", safe(&metric.name), change(metric))
}

/// The change of a metric: `5.1 % higher`, `higher by a factor of 240`.
pub fn change(metric: &Compared) -> String {
    match &metric.change {
        _ if metric.verdict == Verdict::NotCompared => "beyond the timeout on both sides".to_owned(),
        _ if metric.is_constant => "the same".to_owned(),
        None => "no longer beyond the timeout".to_owned(),
        Some(change) if change.at_least => "beyond the timeout".to_owned(),
        Some(change) => {
            let direction = if change.estimate < 0.0 { "lower" } else { "higher" };
            match large_factor(change) {
                Some(factor) => format!("{direction} by a {FACTOR}{}", digits(factor.estimate)),
                None => format!("{} {direction}", size(metric.kind, change, change.estimate)),
            }
        }
    }
}

/// What the table says of a metric: `worse`, `not shown`.
pub fn verdict_words(metric: &Compared) -> String {
    match metric.verdict {
        Verdict::Better => "better".to_owned(),
        Verdict::Worse => "worse".to_owned(),
        Verdict::NotCompared => "both beyond the timeout: not compared".to_owned(),
        Verdict::MayBeOurs if metric.is_rounded => "may be rounding".to_owned(),
        Verdict::MayBeOurs => "may be ours".to_owned(),
        _ if metric.is_constant => "the same".to_owned(),
        Verdict::TooFew => "too few runs".to_owned(),
        // Looked at alone it would be called; of several metrics one is, by chance.
        Verdict::NoDifference if metric.probability.alone <= ALONE => "not shown".to_owned(),
        Verdict::NoDifference => "no difference".to_owned(),
    }
}

/// A figure: `1.23 ms`, `48,300/s`, `0.12 %`, `>5 s`.
pub fn figure(kind: Kind, figure: Figure) -> String {
    match kind {
        Kind::Duration if figure.beyond_timeout => format!(">{}", setting(figure.value as u64)),
        Kind::Duration => duration(figure.value.round() as u64),
        Kind::Rate => format!("{}/s", rate(figure.value)),
        Kind::Share => percent(figure.value),
    }
}

/// A change with its sign: `+5.1 %`, `-0.20 points`, `× 240`, `÷ 3.2`; `None` where there is none.
pub fn signed(metric: &Compared) -> Option<String> {
    let change = metric.change.filter(|change| !change.at_least)?;
    let is_lower = change.estimate < 0.0;
    Some(match large_factor(&change) {
        _ if metric.is_constant && metric.verdict != Verdict::NotCompared => "0".to_owned(),
        Some(factor) => format!("{} {}", if is_lower { "÷" } else { "×" }, digits(factor.estimate)),
        None => {
            let sign = if is_lower { "-" } else { "+" };
            format!("{sign}{}", size(metric.kind, &change, change.estimate))
        }
    })
}

/// The interval of a change: `3.9 to 6.2 %`; of a factor `230 to 251`.
pub fn interval(kind: Kind, change: &Change) -> Option<String> {
    let ends = change.interval.filter(|_| !change.at_least)?;
    if let Some(ends) = large_factor(change).and_then(|factor| factor.interval) {
        return Some(format!("{} to {}", digits(ends.from), digits(ends.to)));
    }
    let (scale, unit) = scale(kind, change);
    Some(format!("{} to {} {unit}", digits(ends.from * scale), digits(ends.to * scale)))
}

/// The size of a change without its sign: `5.1 %`, `factor of 240`, `0.20 points`, `12.0/s`.
fn size(kind: Kind, change: &Change, size: f64) -> String {
    if let Some(factor) = large_factor(&Change { estimate: size, ..*change }) {
        return format!("{FACTOR}{}", digits(factor.estimate));
    }
    let (scale, unit) = scale(kind, change);
    format!("{} {unit}", digits((size * scale).abs()))
}

/// The change as a factor above 1, where it is told as one.
fn large_factor(change: &Change) -> Option<Factor> {
    change.factor().filter(Factor::is_large).map(Factor::turned_up)
}

const FACTOR: &str = "factor of ";

/// The factor and the unit of a change.
fn scale(kind: Kind, change: &Change) -> (f64, &'static str) {
    match (change.is_ratio, kind) {
        (true, _) => (100.0, "%"),
        (false, Kind::Share) => (100.0, "points"),
        (false, Kind::Rate) => (1.0, "queries/s"),
        (false, Kind::Duration) => (1e-6, "ms"),
    }
}

/// Two significant digits, at most four after the point, and two for what is at least 0.01.
fn digits(figure: f64) -> String {
    match figure.abs() {
        size if size >= 99.5 => {
            let sign = if figure < 0.0 { "-" } else { "" };
            format!("{sign}{}", count(size.round() as u64))
        }
        size if size >= 0.995 => format!("{figure:.1}"),
        size if size < SMALLEST_SHOWN => "0.00".to_owned(),
        size if size < 0.01 => format!("{figure:.4}"),
        _ => format!("{figure:.2}"),
    }
}

/// Less is 0.
const SMALLEST_SHOWN: f64 = 0.00005;

/// A probability: `0.013`, `<0.001`.
pub fn probability(p: f64) -> String {
    if p < 0.001 { "<0.001".to_owned() } else { format!("{p:.3}") }
}

/// Labels of runs, as many as fit in a line.
pub(super) fn labels(runs: &[String]) -> String {
    let shown: Vec<String> = runs.iter().take(MOST_LABELS).map(|run| safe(run)).collect();
    let more = match runs.len().saturating_sub(MOST_LABELS) {
        0 => String::new(),
        more => format!(" and {} more", count(more as u64)),
    };
    format!("{}{more}", shown.join(", "))
}

const MOST_LABELS: usize = 6;

/// Below it, somebody who had asked for this metric alone would call a difference.
const ALONE: f64 = 0.05;

//! The words of a history: each figure, step and gate as text. All forms have the same.

use dnsdyno_text::safe;
use dnsdyno_text::units::{count, counted};

use crate::compare::report::words as of_compare;
use crate::compare::{Figure, Kind};
use crate::history::{GateOutcome, GateState, History, HistoryMetric, Judged, Row, What, Why};
use crate::statistics::Interval;
use crate::statistics::steps::{FEWEST_RUNS, Step};

/// What a row is called: what differs from other rows, or what all were asked.
pub fn row_name(row: &Row) -> String {
    let differs = |(name, value): &(String, String)| format!("{} {}", safe(name), safe(value));
    if !row.differs.is_empty() {
        let mut all: Vec<&(String, String)> = row.differs.iter().collect();
        // What a reader asks first; what a row does not have says least.
        all.sort_by_key(|(name, value)| {
            let place = FIRST.iter().position(|first| first == name).unwrap_or(FIRST.len());
            (["not given", "false"].contains(&value.as_str()), place)
        });
        let parts: Vec<String> = all.into_iter().take(MOST_PARTS).map(differs).collect();
        let more = row.differs.len().saturating_sub(MOST_PARTS);
        let more = if more > 0 {
            format!("; and {}", counted(more as u64, "difference", "differences"))
        } else {
            String::new()
        };
        return format!("{}{more}", parts.join("; "));
    }
    let value = |name: &str| row.asked.get(name).map(|value| safe(value));
    [value("server"), value("load"), value("transport")].into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// The names of what was asked that come first in the name of a row, in this order.
const FIRST: [&str; 6] = ["experiment", "server", "load", "transport", "queries", "criteria"];

/// How many entries a row has, with how many are not judged.
pub fn row_size(row: &Row) -> String {
    let (one, many) = match row.what {
        What::Run => ("run", "runs"),
        What::Search => ("search", "searches"),
        What::Experiment => ("experiment", "experiments"),
    };
    let left_out = row.runs.iter().filter(|run| run.entry.left_out.is_some()).count();
    let left_out = if left_out > 0 {
        format!(", of which {} not judged", count(left_out as u64))
    } else {
        String::new()
    };
    format!("{}{left_out}", counted(row.runs.len() as u64, one, many))
}

/// What a metric is called in a row, with its unit of time.
pub fn metric_name(metric: &HistoryMetric, row: &Row) -> String {
    let latency = row.asked.get("latency").filter(|_| metric.kind == Kind::Duration && metric.key != "cpu");
    match latency {
        Some(latency) => format!("{} of the {}", metric.title, safe(latency)),
        None => metric.title.to_owned(),
    }
}

/// A figure: `48,300/s`, `1.23 ms`, `>5 s`.
pub fn figure(metric: &HistoryMetric, value: f64, at_least: bool) -> String {
    let text = of_compare::figure(metric.kind, Figure { value, beyond_timeout: at_least });
    if at_least && metric.kind != Kind::Duration { format!("≥ {text}") } else { text }
}

/// A change with its sign: `-5.1 %`, `+0.20 points`.
pub fn change(metric: &HistoryMetric, change: f64) -> String {
    let unit = if metric.has_ratios() { "%" } else { "points" };
    let sign = if change < 0.0 { "-" } else { "+" };
    format!("{sign}{} {unit}", digits(change.abs() * 100.0))
}

/// A size without a sign: `2.4 %`.
pub fn size(metric: &HistoryMetric, size: f64) -> String {
    change(metric, size.abs()).trim_start_matches('+').to_owned()
}

/// The interval of a change: `-6.2 to -3.9 %`.
pub fn interval(metric: &HistoryMetric, interval: Interval) -> String {
    let end = |end: f64| {
        let end = metric.change(end) * 100.0;
        if end < 0.0 { format!("-{}", digits(-end)) } else { digits(end) }
    };
    format!(
        "{} to {} {}",
        end(interval.from),
        end(interval.to),
        if metric.has_ratios() { "%" } else { "points" }
    )
}

fn digits(figure: f64) -> String {
    match figure {
        _ if figure >= 99.5 => count(figure.round() as u64),
        _ if figure >= 0.995 => format!("{figure:.1}"),
        _ if figure >= 0.01 || figure == 0.0 => format!("{figure:.2}"),
        _ => format!("{figure:.4}"),
    }
}

/// What a metric shows, in sentences: each step, the drift, or that there is none.
pub fn sentences(row: &Row, judged: &Judged) -> Vec<String> {
    let mut said: Vec<String> = judged
        .found
        .steps
        .iter()
        .enumerate()
        .map(|(place, step)| step_sentence(row, judged, place, step))
        .collect();
    if let Some(drift) = judged.found.drift {
        said.push(format!(
            "drift {} over {} (95 % interval {})",
            change(judged.metric, judged.metric.change(drift.size)),
            counted(judged.runs.len() as u64, "run", "runs"),
            interval(judged.metric, drift.interval)
        ));
    }
    if said.is_empty() {
        said.push(no_step(row, judged));
    }
    said
}

fn no_step(row: &Row, judged: &Judged) -> String {
    if !judged.is_enough() {
        let runs = counted(judged.runs.len() as u64, "run is", "runs are");
        return format!("not judged: {runs} too few to show a step, {FEWEST_RUNS} are needed");
    }
    // What is beyond the timeout may have changed by any time.
    let is_known = !judged.runs.iter().any(|at| judged.is_at_least(row, *at));
    match judged.smallest.filter(|_| is_known) {
        Some(smallest) => {
            let smallest = judged.metric.change(smallest);
            format!("no step that these runs could show (smallest: {})", size(judged.metric, smallest))
        }
        None => "no step that these runs could show".to_owned(),
    }
}

/// A step: its size, where it began, what changed there, and whether it is intended.
fn step_sentence(row: &Row, judged: &Judged, place: usize, step: &Step) -> String {
    let run = |at: usize| judged.runs.get(at).map_or_else(String::new, |at| safe(&row.runs[*at].folder));
    let metric = judged.metric;
    let ends =
        step.interval.map_or(String::new(), |ends| format!(" (95 % interval {})", interval(metric, ends)));
    let bounds = match (step.earliest, step.latest) {
        (earliest, latest) if earliest == latest => String::new(),
        (earliest, latest) => format!(", or between {} and {}", run(earliest), run(latest)),
    };
    let labels = judged.changed.get(place).into_iter().flatten();
    let labels: Vec<String> =
        labels.map(|(key, from, to)| format!("{} {} → {}", safe(key), said(from), said(to))).collect();
    let labels = if labels.is_empty() { String::new() } else { format!("; there: {}", labels.join(", ")) };
    let accepted = judged.accepted.get(place).and_then(Option::as_ref);
    let accepted = accepted.map_or(String::new(), |one| format!("; accepted: {}", safe(&one.reason)));
    format!(
        "{}step {}{ends} from {}{bounds}{labels}{accepted}",
        if accepted.is_empty() { "" } else { "accepted " },
        change(metric, metric.change(step.size)),
        run(step.at),
    )
}

fn said(value: &str) -> String {
    if value.is_empty() { "not known".to_owned() } else { safe(value) }
}

/// Whether a step is better, worse or intended, as a word.
pub fn step_word(judged: &Judged, place: usize) -> &'static str {
    let is_accepted = judged.accepted.get(place).is_some_and(Option::is_some);
    match judged.found.steps.get(place) {
        _ if is_accepted => "accepted",
        Some(step) if judged.worse(step) > 0.0 => "worse",
        _ => "better",
    }
}

/// The answer for all rows, in a sentence.
pub fn sentence(history: &History) -> String {
    let judged = || history.rows.iter().flat_map(|(_, judged)| judged);
    let steps = |word: &str| {
        judged()
            .map(|one| (0..one.found.steps.len()).filter(|at| step_word(one, *at) == word).count())
            .sum::<usize>()
    };
    let (worse, better, accepted) = (steps("worse"), steps("better"), steps("accepted"));
    let drifts = judged().filter(|one| one.found.drift.is_some()).count();
    if history.rows.is_empty() {
        return "There is no run, search or experiment to follow.".to_owned();
    }
    if !judged().any(Judged::is_enough) {
        return format!("Not judged: a row needs {FEWEST_RUNS} runs to show a step.");
    }
    let counts = [(worse, "worse"), (better, "better"), (accepted, "accepted")];
    let mut parts: Vec<String> = counts
        .into_iter()
        .filter(|(steps, _)| *steps > 0)
        .map(|(steps, word)| format!("{} {word}", counted(steps as u64, "step", "steps")))
        .collect();
    if drifts > 0 {
        parts.push(counted(drifts as u64, "drift", "drifts"));
    }
    let has_changed =
        |all: &[Judged]| all.iter().any(|one| !one.found.steps.is_empty() || one.found.drift.is_some());
    let rows = history.rows.iter().filter(|(_, judged)| has_changed(judged)).count();
    match parts.is_empty() {
        true => "No step that these runs could show.".to_owned(),
        false => format!("{} in {}.", parts.join(", "), counted(rows as u64, "row", "rows")),
    }
}

/// What came of a gate: a word and the reason.
pub fn gate(history: &History, outcome: &GateOutcome) -> (&'static str, String) {
    let row = outcome.row.and_then(|at| history.rows.get(at));
    let place = match row {
        Some((row, _)) if history.rows.len() > 1 => format!(", {}", row_name(row)),
        _ => String::new(),
    };
    let metric = outcome.metric;
    let (word, why) = match &outcome.state {
        GateState::Kept { at_most } if *at_most > 0.0 => {
            ("kept", format!("worse by {} at the most, with 95 % confidence", size(metric, *at_most)))
        }
        GateState::Kept { .. } => ("kept", "not worse, with 95 % confidence".to_owned()),
        GateState::Exceeded { change: by, began } => {
            ("exceeded", format!("{} since the step at {}", change(metric, *by), safe(began)))
        }
        GateState::NotJudged(why) => ("not judged", not_judged(metric, why)),
    };
    (word, format!("{why}{place}"))
}

fn not_judged(metric: &HistoryMetric, why: &Why) -> String {
    match why {
        Why::NoRuns => format!("no run has the metric {}", metric.key),
        Why::TooFewRuns { runs } => {
            format!("{} of this kind, and {FEWEST_RUNS} are needed", counted(*runs as u64, "run", "runs"))
        }
        Why::NewestLeftOut { why } => format!("the newest run does not count: {}", safe(why)),
        Why::NewestWorse { change: by, more } => format!(
            "the newest runs differ from the level before by {}; {} would tell a step from a disturbed run",
            change(metric, *by),
            counted(*more as u64, "more run", "more runs")
        ),
        Why::BeyondTimeout => {
            "the newest runs are beyond the timeout, by any time: use a longer --timeout".to_owned()
        }
        Why::Noise { possible } => {
            format!("the newest runs leave {} worse possible: more runs would tell", size(metric, *possible))
        }
        Why::Drift { change: by } => {
            format!("no step, and a drift of {} over all runs", change(metric, *by))
        }
    }
}

/// What else a reader must know.
pub fn notes(history: &History) -> Vec<String> {
    let mut notes = Vec::new();
    let left_out = history.rows.iter().flat_map(|(row, _)| &row.runs);
    let mut reasons: std::collections::BTreeMap<&str, usize> = std::collections::BTreeMap::new();
    left_out
        .filter_map(|run| run.entry.left_out.as_deref())
        .for_each(|why| *reasons.entry(why).or_default() += 1);
    for (why, runs) in reasons {
        notes.push(format!("{} not judged: {}", counted(runs as u64, "run", "runs"), safe(why)));
    }
    if history.in_progress > 0 {
        notes.push(format!(
            "{} in progress, which is not told yet",
            counted(history.in_progress as u64, "run is", "runs are")
        ));
    }
    if history.not_meant > 0 {
        notes.push(format!(
            "{} without the labels asked for",
            counted(history.not_meant as u64, "run", "runs")
        ));
    }
    for (folder, why) in history.unreadable.iter().take(MOST_NAMED) {
        notes.push(format!("{} cannot be read: {}", safe(folder), safe(why)));
    }
    let more = history.unreadable.len().saturating_sub(MOST_NAMED);
    if more > 0 {
        notes.push(format!("{} more cannot be read", counted(more as u64, "folder", "folders")));
    }
    for one in &history.unknown_accepted {
        notes.push(format!("a step is accepted at {}, which is no run here", safe(&one.run)));
    }
    if let Some(why) = &history.no_index {
        notes.push(format!(
            "the index could not be written, so all records are read each time: {}",
            safe(why)
        ));
    }
    if history.is_cut {
        notes.push("the folder holds more than was looked at".to_owned());
    }
    notes
}

const MOST_PARTS: usize = 4;
const MOST_NAMED: usize = 5;

//! The page of a search for the limit of a server: the limit with its interval, every trial against its load, where the
//! limit is believed to be, and the trials with links to their runs.
//!
//! ```text
//!   find.json ─► ReadFinding ─► sentence, charts as SVG (chart), a table with the same figures ─► one HTML file
//!   runs/001  ─► its header: the server, how it was asked, the command
//! ```

mod chart;
mod words;

use std::path::{Path, PathBuf};

use dnsdyno_campaign::find::report::{FoundGoal, FoundOutcome, FoundTrial, FoundVerdict, ReadFinding};
use dnsdyno_record::{Digest, Header, RunReader};
use dnsdyno_report::servers;
use dnsdyno_text::units::{count, counted, length, percent, rate};
use dnsdyno_text::{escaped, safe};

use crate::Options;
use crate::document::{self, Document, table_with_links};
use crate::error::PageError;
use crate::made::{command, utc};
use words::{percentile, slow, word};

/// What a list says of a search.
#[derive(Clone, Debug)]
pub struct SearchSummary {
    /// The header of its first run, where there is one.
    pub header: Option<Header>,
    /// What was searched for.
    pub load: String,
    /// How long its trials took together.
    pub length: String,
    /// The answer.
    pub sentence: String,
}

/// What a list says of the search in this folder.
///
/// # Errors
/// Its result cannot be read.
pub fn search_summary(folder: &Path) -> Result<SearchSummary, PageError> {
    let found = ReadFinding::read(folder)?;
    Ok(SearchSummary {
        header: RunReader::open(&first_run(folder)).ok().map(|reader| reader.header().clone()),
        load: format!("search for the limit: {}", criteria(&found)),
        length: lasted(&found),
        sentence: sentence(&found),
    })
}

/// Where the page of a search leads.
pub struct SearchLinks<'a> {
    /// The address of a run, by the name of its folder in `runs`.
    pub run: &'a dyn Fn(&str) -> Option<String>,
    /// The list that the search is in.
    pub home: Option<&'a str>,
}

/// The page of the search in this folder, as an HTML file.
///
/// # Errors
/// Its result cannot be read.
pub fn search(folder: &Path, links: &SearchLinks<'_>, options: &Options) -> Result<Vec<u8>, PageError> {
    let found = ReadFinding::read(folder)?;
    let first = Digest::read(&first_run(folder)).ok();
    let header = first.as_ref().map(|run| &run.header);
    let title = title(folder, header);
    let mut page = Document::new(&title, options);
    links.home.iter().for_each(|home| page.way_back(home, "All runs"));
    page.heading(options.title.as_deref().unwrap_or(&title), &state(&found, header));
    page.answer(&sentence(&found), &figures(&found));
    page.list(&[format!("Criteria of a trial: {}.", criteria(&found))], "answers");
    if found.has_names() {
        page.section("goals", "Goals", &goals(&found));
    }
    let notes: Vec<String> = found.notes.iter().map(note).collect();
    page.list(&notes, "notes");
    page.section("trials", "Trials against their load", &charts(&found));
    page.section("table", "Every trial", &trials(&found, links.run));
    page.section("judged", "How a trial is judged", &document::list(&judged(), "conditions"));
    page.section("made", "How it was made", &made(&found, first.as_ref()));
    Ok(page.finish())
}

/// The run of the first trial: what is the same for all is read there.
fn first_run(folder: &Path) -> PathBuf {
    folder.join("runs").join("001")
}

fn title(folder: &Path, header: Option<&Header>) -> String {
    let name = || folder.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    match header {
        Some(header) => header.name.clone().unwrap_or_else(|| format!("The limit of {}", servers(header))),
        None => name(),
    }
}

/// The line under the title: what was asked, when, and how much was tried.
fn state(found: &ReadFinding, header: Option<&Header>) -> String {
    let asked = header.map(|header| {
        let note = header.note.iter().map(|note| format!("; {note}")).collect::<String>();
        format!("{} over {}, {}{note}; ", servers(header), header.transport, utc(header.started_unix_ns))
    });
    format!("{}{}, {} of load", asked.unwrap_or_default(), tried(found), lasted(found))
}

/// How many trials there were.
fn tried(found: &ReadFinding) -> String {
    let (one, many) = match found.method.as_str() {
        "stair" => ("step", "steps"),
        "ramp" => ("part of the ramp", "parts of the ramp"),
        "window" => ("window", "windows"),
        _ => ("trial", "trials"),
    };
    let of =
        |verdict: FoundVerdict| found.trials.iter().filter(move |trial| trial.verdict == verdict).count();
    let words = [
        (FoundVerdict::Passed, "passed"),
        (FoundVerdict::Failed, "failed"),
        (FoundVerdict::Undecided, "undecided"),
    ];
    let counts: Vec<String> = words
        .into_iter()
        .map(|(verdict, word)| (of(verdict), word))
        .filter(|(trials, _)| *trials > 0)
        .map(|(trials, word)| format!("{} {word}", count(trials as u64)))
        .collect();
    format!("{} ({})", counted(found.trials.len() as u64, one, many), counts.join(", "))
}

/// How long the loads lasted together.
fn lasted(found: &ReadFinding) -> String {
    length(found.trials.iter().fold(0_u64, |sum, trial| sum.saturating_add(trial.lasted_ns)))
}

/// The unit of the loads.
fn load_unit(found: &ReadFinding) -> &str {
    if found.method == "window" { "outstanding" } else { &found.unit }
}

/// The answer, in a sentence.
fn sentence(found: &ReadFinding) -> String {
    let outcome = &found.outcome;
    if found.has_names() {
        return as_sentence(&found.answer);
    }
    if let (Some(load), Some(why)) = (outcome.load, &outcome.why) {
        let why = match why.as_str() {
            "generator" => "beyond that the generator or its host may be the limit",
            "most" => "no higher load was tried",
            _ => "the trials that were allowed do not tell how much more",
        };
        return format!("The limit is at least {} {}: {why}.", rate(load), safe(&found.unit));
    }
    let (Some(load), Some(from), Some(to)) = (outcome.load, outcome.from, outcome.to) else {
        return as_sentence(&found.answer);
    };
    let (unit, load) = (safe(&found.unit), rate(load));
    let (from, to) = (rate(from), rate(to));
    match outcome.interval.as_deref() {
        Some("confidence_95") => {
            format!("The limit is {load} {unit}: with a probability of 95 % it is between {from} and {to}.")
        }
        Some("bracket") => {
            format!("The highest step that passed is {load} {unit}; the next one, {to}, failed.")
        }
        Some("percentiles_1_99") => format!(
            "The throughput is {load} {unit}, the median of the searches; from {from} to {to}, their 1st and 99th \
             percentile."
        ),
        Some("range") => format!("The limit is about {load} {unit}: {from} to {to} by the different rules."),
        _ => as_sentence(&found.answer),
    }
}

/// A line of an answer with a capital letter and a full stop.
fn as_sentence(answer: &str) -> String {
    let answer = safe(answer);
    let mut letters = answer.chars();
    let first = letters.next().map(|letter| letter.to_uppercase().collect::<String>()).unwrap_or_default();
    format!("{first}{}.", letters.as_str())
}

/// What stands beside the sentence: the limit, its interval, and the latency at the highest load that has passed.
fn figures(found: &ReadFinding) -> Vec<(String, String)> {
    let mut figures = Vec::new();
    let outcome = &found.outcome;
    let unit = safe(&found.unit);
    if found.has_names() {
        return found
            .goals
            .iter()
            .map(|goal| (format!("{}, {unit}", name(goal)), limit(&goal.outcome)))
            .collect();
    }
    match (outcome.kind.as_str(), outcome.load) {
        ("capacity", Some(load)) => figures.push((format!("limit, {unit}"), rate(load))),
        ("at_least", Some(load)) => figures.push((format!("limit, {unit}"), format!("≥ {}", rate(load)))),
        _ => {}
    }
    if let (Some(from), Some(to), true) = (outcome.from, outcome.to, outcome.kind == "capacity") {
        let name = match outcome.interval.as_deref() {
            Some("confidence_95") => "95 % interval",
            Some("bracket") => "passed, and failed",
            Some("percentiles_1_99") => "1st to 99th percentile",
            Some("relevant_bounds") => "Relevant Lower and Upper Bound of the first goal",
            _ => "by the rules",
        };
        figures.push((name.to_owned(), format!("{} – {}", rate(from), rate(to))));
    }
    let passed = found.trials.iter().filter(|trial| trial.verdict == FoundVerdict::Passed);
    if let Some(highest) = passed.max_by(|one, other| one.load.total_cmp(&other.load)) {
        figures.push((format!("p99 at {}", rate(highest.load)), slow(highest)));
        let answered = highest.answered().map_or("-".to_owned(), percent);
        figures.push((format!("answered at {}", rate(highest.load)), answered));
    }
    figures
}

fn note(note: &dnsdyno_campaign::find::report::FoundNote) -> String {
    let text = if note.text.is_empty() { note.kind.replace('_', " ") } else { note.text.clone() };
    as_sentence(&text)
}

fn name(goal: &FoundGoal) -> String {
    safe(goal.name.as_deref().unwrap_or_default())
}

/// A limit in a cell.
fn limit(outcome: &FoundOutcome) -> String {
    match (outcome.kind.as_str(), outcome.load) {
        ("capacity", Some(load)) => rate(load),
        ("at_least", Some(load)) => format!("≥ {}", rate(load)),
        (kind, _) => safe(&kind.replace('_', " ")),
    }
}

/// A row for each goal, and what else is to be known of it.
fn goals(found: &ReadFinding) -> String {
    let limit_of = format!("limit, {}", safe(&found.unit));
    let titles =
        ["goal", "criteria", &limit_of, "95 % interval", "trials that count", "their load", "ended by"];
    let row = |goal: &FoundGoal| {
        let held = goal.held_ns.map(|held_ns| format!(", held for {}", length(held_ns))).unwrap_or_default();
        let interval = match (goal.outcome.from, goal.outcome.to, goal.outcome.kind.as_str()) {
            (Some(from), Some(to), "capacity") => format!("{} – {}", rate(from), rate(to)),
            _ => "-".to_owned(),
        };
        vec![
            name(goal),
            format!("{}{held}", listed(&goal.criteria)),
            limit(&goal.outcome),
            interval,
            count(goal.trials.len() as u64),
            length(goal.load_ns),
            safe(&goal.reason.replace('_', " ")),
        ]
    };
    let rows: Vec<Vec<String>> = found.goals.iter().map(row).collect();
    let is_text = |column: usize| column < 2 || column == 6;
    let table = table_with_links("Each goal with its limit", &titles, &is_text, &rows, &|_| None);
    let of_goal = |goal: &FoundGoal| -> Vec<String> {
        goal.notes.iter().map(|one| format!("{}: {}", name(goal), note(one))).collect()
    };
    let notes: Vec<String> = found.goals.iter().flat_map(of_goal).collect();
    if notes.is_empty() { table } else { table + &document::list(&notes, "notes") }
}

fn listed(criteria: &[String]) -> String {
    criteria.iter().map(|text| safe(text)).collect::<Vec<_>>().join(", ")
}

fn criteria(found: &ReadFinding) -> String {
    if !found.has_names() {
        return listed(&found.criteria);
    }
    let each = found.goals.iter().map(|goal| format!("{}: {}", name(goal), listed(&goal.criteria)));
    each.collect::<Vec<_>>().join("; ")
}

/// How a trial is judged.
fn judged() -> Vec<String> {
    vec![
        "A trial passes if it meets each criterion. Whatever these are, one through which a queue grows does not pass."
            .to_owned(),
        "Each figure has two ends, as measured and without what may be the generator's own: a trial passes if each \
         criterion is met at both, fails if one is met at neither, and is undecided otherwise."
            .to_owned(),
    ]
}

fn charts(found: &ReadFinding) -> String {
    let drawn: String = chart::all(found, load_unit(found)).into_iter().collect();
    let band = if found.outcome.kind == "capacity" {
        ", and over the shaded loads is the interval of the limit"
    } else {
        ""
    };
    format!(
        "<p class=\"help\">A point is a trial{band}. The same figures are in the table below.</p>\n{}\
         <div class=\"drawn-charts\">\n{drawn}</div>\n",
        chart::legend(found)
    )
}

/// Every trial in its order. A step of a stair or a ramp is a part of one run.
fn trials(found: &ReadFinding, link: &dyn Fn(&str) -> Option<String>) -> String {
    let load = load_unit(found);
    let load = format!("load, {}", safe(load));
    let titles = ["trial", &load, "lasted", "answered/s", "answered", "p50", "p99", "verdict", "why", "for"];
    let row = |trial: &FoundTrial| {
        vec![
            trial.number.to_string(),
            rate(trial.load),
            length(trial.lasted_ns),
            rate(trial.answered_qps),
            trial.answered().map_or("-".to_owned(), percent),
            percentile(trial.median()),
            slow(trial),
            word(trial.verdict).to_owned(),
            safe(&why(trial)),
            safe(&trial.purpose),
        ]
    };
    let rows: Vec<Vec<String>> = found.trials.iter().map(row).collect();
    let is_one_run = matches!(found.method.as_str(), "stair" | "ramp");
    let run = |row: usize| {
        let number = if is_one_run { 1 } else { found.trials.get(row)?.number };
        link(&format!("{number:03}"))
    };
    let is_text = |column: usize| column == 0 || column >= 7;
    let marked = found.trials.iter().any(|trial| trial.median().1 || trial.slow().1);
    let help = match marked {
        true => "<p class=\"help\">A percentile with ~ may mostly be the generator's.</p>\n",
        false => "",
    };
    format!("{help}{}", table_with_links("Every trial with its figures", &titles, &is_text, &rows, &run))
}

/// Why a trial has not passed; of several goals, its verdict for each.
fn why(trial: &FoundTrial) -> String {
    if trial.goals.is_empty() {
        return trial.why();
    }
    let each = trial.goals.iter().map(|of| {
        let short = if of.long_enough { "" } else { ", but short" };
        format!("{} {}{short}", of.goal, word(of.verdict))
    });
    each.collect::<Vec<_>>().join("; ")
}

fn made(found: &ReadFinding, first: Option<&Digest>) -> String {
    let mut facts = vec![("method", safe(&found.method))];
    if let Some(first) = first {
        facts.extend(dnsdyno_report::head(first).into_iter().filter(|(key, _)| !OF_ONE_TRIAL.contains(key)));
        facts.extend(first.header.queries_hash.iter().map(|hash| ("hash of the queries", hash.clone())));
    }
    if found.cut_off > 0 {
        let cut = counted(u64::from(found.cut_off), "run was", "runs were");
        facts.push(("cut off", format!("{cut} cut off, and made again")));
    }
    let fact =
        |(name, value): &(&str, String)| format!("<div><dt>{name}</dt><dd>{}</dd></div>\n", escaped(value));
    let facts: String = facts.iter().map(fact).collect();
    let command =
        first.map(|first| command(&first.header.command_line)).filter(|command| !command.is_empty());
    let command = command.map(|command| {
        format!("<h3>The command</h3>\n<div class=\"command\"><pre>{}</pre></div>\n", escaped(&command))
    });
    format!("<dl class=\"pairs\">\n{facts}</dl>\n{}", command.unwrap_or_default())
}

/// What the summary of the first trial says of itself alone.
const OF_ONE_TRIAL: [&str; 4] = ["load", "ran", "name", "note"];

#[cfg(test)]
mod tests;

//! The words and figures of an experiment as text. All forms have the same.

use dnsdyno_measure::PERCENTILES;
use dnsdyno_text::layout::NOTHING;
use dnsdyno_text::units::{count, counted, rate};
use dnsdyno_text::{safe, verbatim};

use super::{CellDiagnosis, ExperimentReport};
use crate::compare::report::words::{figure, interval, sentence, signed, verdict_words};
use crate::compare::{Figure, Kind};
use crate::experiment::{
    CellResult, CellState, Difference, Discarded, ExperimentResult, Found, LoadKind, Moment, Percentiles,
    Spread, Step, steady_from_ns,
};

/// The name of a subject.
pub fn subject(result: &ExperimentResult, number: usize) -> String {
    result.design.subjects.get(number).map_or_else(String::new, |subject| safe(&subject.name))
}

/// The version of a subject as it says it itself; nothing where it is not known. It is the first word of what a program
/// has printed, so a comma of it is none of a table.
pub fn version(report: &ExperimentReport<'_>, number: usize) -> Option<String> {
    report.versions.get(number)?.as_deref().map(|version| safe(version).replace([',', '"'], "_"))
}

/// The name of a subject with the number of its version, where it is known: `bind 9.18.49`, without what a distribution
/// has added.
pub fn labelled(report: &ExperimentReport<'_>, number: usize) -> String {
    let name = subject(report.result, number);
    let of_number = |c: char| !c.is_ascii_digit() && c != '.';
    let version = version(report, number).unwrap_or_default();
    match version.split(of_number).next().filter(|version| !version.is_empty()) {
        Some(version) => format!("{name} {version}"),
        None => name,
    }
}

/// The versions of all subjects in a line; nothing where none is known.
pub fn versions(report: &ExperimentReport<'_>) -> Option<String> {
    let known = (0..report.versions.len()).filter_map(|number| {
        Some(format!("{} {}", subject(report.result, number), version(report, number)?))
    });
    let known: Vec<String> = known.collect();
    (!known.is_empty()).then(|| format!("versions: {}", known.join(", ")))
}

/// The name of a load.
pub fn load(result: &ExperimentResult, number: usize) -> String {
    result.design.loads.get(number).map_or_else(String::new, |load| safe(&load.name))
}

/// Each metric of each comparison, as cells: load, server, against what, metric, of the other one, of the server,
/// change, its interval, verdict.
pub fn changes(result: &ExperimentResult) -> Vec<[String; 9]> {
    let mut rows = Vec::new();
    for difference in &result.differences {
        let Ok(comparison) = &difference.found else { continue };
        for metric in &comparison.metrics {
            let change = metric.change.as_ref().and_then(|change| interval(metric.kind, change));
            rows.push([
                load(result, difference.load),
                subject(result, difference.subject),
                subject(result, difference.against),
                metric.name.clone(),
                figure(metric.kind, metric.baseline_median),
                figure(metric.kind, metric.candidate_median),
                signed(metric).unwrap_or_else(|| NOTHING.to_owned()),
                change.unwrap_or_else(|| NOTHING.to_owned()),
                verdict_words(metric),
            ]);
        }
    }
    rows
}

/// The cells of runs of ours, by their place among all: those that have the usual figures.
pub fn measured(result: &ExperimentResult) -> impl Iterator<Item = (usize, &CellResult)> {
    let kind = |cell: &CellResult| result.design.loads.get(cell.cell.load).map(|load| load.kind);
    result.cells.iter().enumerate().filter(move |(_, cell)| kind(cell) == Some(LoadKind::Run))
}

/// What searches and programs have found: the cell, the number of the run, and what it is.
pub fn found(result: &ExperimentResult) -> impl Iterator<Item = (&CellResult, u32, &Found)> {
    result.cells.iter().flat_map(|cell| cell.found.iter().map(move |(number, found)| (cell, *number, found)))
}

/// What was found in a line; in doubt where its cell is.
pub fn answer(cell: &CellResult, found: &Found) -> String {
    let doubt = if cell.state == CellState::InDoubt { "in doubt: " } else { "" };
    format!("{doubt}{}", safe(&found.answer))
}

/// The lines of the text of what was found, as they are: only characters that a terminal would act on are escaped. Of a
/// long text the last ones.
pub fn lines(found: &Found) -> Vec<String> {
    let lines: Vec<&str> = found.text.lines().collect();
    lines.get(left_out(found)..).unwrap_or_default().iter().map(|line| verbatim(line)).collect()
}

/// How many lines of that text are not shown.
pub fn left_out(found: &Found) -> usize {
    found.text.lines().count().saturating_sub(MOST_LINES)
}

/// That lines are not shown, and where they are; nothing where all are.
pub fn cut(found: &Found) -> Option<String> {
    let left_out = left_out(found) as u64;
    (left_out > 0).then(|| {
        let lines = counted(left_out, "line before is", "lines before are");
        format!("{lines} in the files of the run")
    })
}

/// What a run is called whose output is shown: `dnsperf under closed, run 7`.
pub fn whose(result: &ExperimentResult, cell: &CellResult, number: u32) -> String {
    format!(
        "{} under {}, run {}",
        subject(result, cell.cell.subject),
        load(result, cell.cell.load),
        count(number.into())
    )
}

/// What another program has printed in its last run under each load: the cell, the number of the run, what it found.
pub fn printed(result: &ExperimentResult) -> impl Iterator<Item = (&CellResult, u32, &Found)> {
    let kind = |cell: &CellResult| result.design.loads.get(cell.cell.load).map(|load| load.kind);
    let of_programs = result.cells.iter().filter(move |cell| kind(cell) == Some(LoadKind::Program));
    of_programs.filter_map(|cell| cell.found.last().map(|(number, found)| (cell, *number, found)))
}

/// The rate asked: `5,000`; `-` in a closed loop.
pub fn asked(cell: &CellResult) -> String {
    cell.asked_qps.map_or(NOTHING.to_owned(), rate)
}

/// The runs of a cell and its state: `5`, `2 of 5`, `in doubt`.
pub fn runs(result: &ExperimentResult, cell: &CellResult) -> String {
    let made = count((cell.runs.len() + cell.found.len()) as u64);
    let repeats = result.design.loads.get(cell.cell.load).map_or(0, |load| load.repeats);
    match cell.state {
        CellState::Complete => made,
        CellState::Short | CellState::Unfinished => format!("{made} of {}", count(repeats.into())),
        CellState::InDoubt => format!("{made}, all in doubt"),
        CellState::NotMeasured => "not measured".to_owned(),
    }
}

/// A figure over runs: its median; with more runs, also the lowest and the highest one: `4,990 (4,980..5,000)`.
pub fn spread(kind: Kind, cell: &CellResult, spread: Option<Spread>) -> String {
    let Some(spread) = spread else { return NOTHING.to_owned() };
    let mark = mark(kind, cell, spread);
    let text = |of: Figure| figure(kind, of);
    let (lowest, median, highest) = (text(spread.lowest), text(spread.median), text(spread.highest));
    match lowest == highest {
        true => format!("{mark}{median}"),
        false => format!("{mark}{median} ({lowest}..{highest})"),
    }
}

/// The median alone.
pub fn median(kind: Kind, cell: &CellResult, spread: Option<Spread>) -> String {
    spread.map_or(NOTHING.to_owned(), |spread| {
        format!("{}{}", mark(kind, cell, spread), figure(kind, spread.median))
    })
}

/// A latency.
pub fn latency(of: Figure) -> String {
    figure(Kind::Duration, of)
}

/// A figure that is not beyond the timeout. A rate is without its unit.
pub fn plain(kind: Kind, value: f64) -> String {
    match kind {
        Kind::Rate => rate(value),
        kind => figure(kind, Figure { value, beyond_timeout: false }),
    }
}

/// What stands before a figure that is not quite the server's.
pub(super) fn mark(kind: Kind, cell: &CellResult, spread: Spread) -> &'static str {
    match kind {
        Kind::Rate if cell.state == CellState::InDoubt => "≥ ",
        Kind::Duration if spread.is_wide => "~",
        _ => "",
    }
}

/// A percentile, by its text in [`PERCENTILES`].
pub fn percentile(percentiles: &Percentiles, name: &str) -> Option<Spread> {
    let at = PERCENTILES.iter().position(|(_, text, _)| *text == name)?;
    percentiles.values.get(at).copied().flatten()
}

/// The titles of [`step`].
pub const STEP_TITLES: [&str; 6] = ["asked/s", "answered", "share", "p50", "p99", "p99.9"];

/// The rates of the loads that have several, with their cells.
pub fn steps(result: &ExperimentResult) -> impl Iterator<Item = (&CellResult, &Step)> {
    result.cells.iter().flat_map(|cell| cell.steps.iter().map(move |step| (cell, step)))
}

/// A rate of a load that has several, in the order of [`STEP_TITLES`].
pub fn step(cell: &CellResult, step: &Step) -> [String; STEP_TITLES.len()] {
    let of = |name: &str| spread(Kind::Duration, cell, percentile(&step.percentiles, name));
    [
        rate(step.asked_qps),
        spread(Kind::Rate, cell, step.answered),
        spread(Kind::Share, cell, step.share),
        of("p50"),
        of("p99"),
        of("p99.9"),
    ]
}

/// The titles of [`moment`].
pub const MOMENT_TITLES: [&str; 4] = ["from", "answered", "p50", "p99"];

/// The intervals of the loads whose course is shown, with their cells.
pub fn moments(result: &ExperimentResult) -> impl Iterator<Item = (&CellResult, &Moment)> {
    result.cells.iter().flat_map(|cell| cell.course.iter().map(move |moment| (cell, moment)))
}

/// An interval, in the order of [`MOMENT_TITLES`].
pub fn moment(cell: &CellResult, moment: &Moment) -> [String; MOMENT_TITLES.len()] {
    let of = |name: &str| spread(Kind::Duration, cell, percentile(&moment.percentiles, name));
    [seconds(moment.from_ns), spread(Kind::Rate, cell, moment.answered), of("p50"), of("p99")]
}

/// From when on each server has answered evenly, a sentence for each.
pub fn steady(result: &ExperimentResult) -> Vec<String> {
    let of = |cell: &CellResult| {
        let who = format!("{} under {}", subject(result, cell.cell.subject), load(result, cell.cell.load));
        let from_ns = steady_from_ns(&cell.course);
        from_ns.map_or_else(
            || format!("{who}: not even at its end, or too short to say"),
            |ns| format!("{who}: its rate is that of its last quarter, or nearly, from {} on", seconds(ns)),
        )
    };
    result.cells.iter().filter(|cell| !cell.course.is_empty()).map(of).collect()
}

fn seconds(ns: u64) -> String {
    format!("{} s", ns as f64 / 1e9)
}

/// What a comparison says: `knot against nsd under 5k: No difference …`.
pub fn difference(result: &ExperimentResult, difference: &Difference) -> String {
    let who = format!(
        "{} against {} under {}",
        subject(result, difference.subject),
        subject(result, difference.against),
        load(result, difference.load)
    );
    match &difference.found {
        Ok(comparison) => format!("{who}: {}", sentence(comparison)),
        Err(why) => format!("{who}: not compared: {}.", safe(why)),
    }
}

/// A run that does not count: `run 7, knot under 5k: not steady …`.
pub fn discarded(result: &ExperimentResult, run: &Discarded) -> String {
    let doubts: Vec<String> = run.doubts.iter().map(|doubt| safe(&doubt.to_string())).collect();
    format!(
        "run {}, {} under {}: {}",
        count(run.number.into()),
        subject(result, run.cell.subject),
        load(result, run.cell.load),
        doubts.join("; ")
    )
}

/// What the diagnosis of a cell says: `udp-receive-queue in 4 of 5 runs: …`.
pub fn diagnosis(found: &CellDiagnosis) -> String {
    let named = |(rule, runs): &(String, u32)| format!("{rule} in {runs} of {} runs", found.runs);
    let findings: Vec<String> = found.findings.iter().map(named).collect();
    match (findings.is_empty(), found.verdict.is_empty()) {
        (_, true) => "not diagnosed".to_owned(),
        (true, false) => found.verdict.clone(),
        (false, false) => format!("{}. {}", findings.join(", "), found.verdict),
    }
}

/// The state of the whole in a sentence.
pub fn state(result: &ExperimentResult) -> String {
    let kept = result.cells.iter().filter(|cell| cell.state != CellState::InDoubt);
    let counted: usize = kept.map(|cell| cell.runs.len() + cell.found.len()).sum();
    let of = |state: CellState| result.cells.iter().filter(|cell| cell.state == state).count();
    let mut text = format!(
        "{} runs were made, {} of them count, {} were discarded",
        count(result.runs.into()),
        count(counted as u64),
        count(result.discarded.len() as u64)
    );
    let states = [
        (CellState::Short, "measured with fewer runs than planned"),
        (CellState::InDoubt, "in doubt throughout"),
        (CellState::NotMeasured, "not measured"),
        (CellState::Unfinished, "not finished"),
    ];
    for (state, words) in states {
        match of(state) {
            0 => {}
            cells => text.push_str(&format!("; {cells} of {} cells {words}", result.cells.len())),
        }
    }
    text.push('.');
    text
}

/// How false alarms are bounded.
pub fn risk(result: &ExperimentResult) -> Option<String> {
    let loads = result.design.compared_loads();
    let compared = !result.differences.is_empty();
    compared.then(|| match loads {
        1 => "Where two servers do not differ, a comparison says so in at least 19 of 20 experiments.".to_owned(),
        _ => format!(
            "Where two servers do not differ, their comparisons under all {loads} loads together say so in at least 19 \
             of 20 experiments. Each interval holds the true change 95 times in 100."
        ),
    })
}

/// How many of the first runs were left out; nothing where none was.
pub fn dropped(result: &ExperimentResult) -> Option<String> {
    let most = result.design.loads.iter().map(|load| load.dropped).max().filter(|most| *most > 0)?;
    let differs = result.design.loads.iter().any(|load| load.dropped != most);
    let most = if differs { format!("up to {most}, as the load has it,") } else { most.to_string() };
    Some(format!("the first {most} of the runs of each server under each load, in which caches fill"))
}

/// What the CPU time of a server is.
pub const CPU: &str = "CPU/answer: the CPU time of the server's process for each answer, where it was watched; the \
                       work of the kernel outside of its calls is not in it.";

/// What the mark of a percentile means; nothing where none has it.
pub fn wide(result: &ExperimentResult) -> Option<&'static str> {
    let mut all = result.cells.iter().flat_map(|cell| cell.percentiles.values).flatten();
    all.any(|spread| spread.is_wide).then_some(
        "~: more than a quarter of the percentile, and more than 50 µs, may have been added by the generator; \
         comparisons allow for that.",
    )
}

/// More of what a program has printed is in the folder of its run.
const MOST_LINES: usize = 60;

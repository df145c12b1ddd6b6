//! What an experiment shows: the figures of each cell over its runs, and which differences are more than noise.

use dnsdyno_record::ReadError;

use super::column::Column;
use super::course::{Moment, course};
use super::design::{Cell, Design, LoadKind};
use super::figures::{OfRun, Percentiles, RunFigures, Spread};
use super::found::Found;
use super::judge::Doubt;
use super::schedule::{Experiment, Outcome};
use super::seconds::Seconds;
use super::steps::{Step, steps};
use crate::compare::{ComparedRun, Comparison, Settings, compare};

/// What an experiment shows.
#[derive(Clone, Debug)]
pub struct ExperimentResult {
    /// What was measured.
    pub design: Design,
    /// The cells, in the order of [`Design::cells`].
    pub cells: Vec<CellResult>,
    /// The columns that are made of watched series: the usual ones, then those of the design.
    pub columns: Vec<Column>,
    /// The comparisons, load by load.
    pub differences: Vec<Difference>,
    /// The runs that do not count, but for the first ones.
    pub discarded: Vec<Discarded>,
    /// What a reader must know.
    pub notes: Vec<String>,
    /// Runs made, of any kind.
    pub runs: u32,
}

/// The runs of a subject under a load.
#[derive(Clone, Debug)]
pub struct CellResult {
    /// Which.
    pub cell: Cell,
    /// How well it was measured.
    pub state: CellState,
    /// The runs that its figures are of.
    pub runs: Vec<RunFigures>,
    /// What its searches or programs have found, with the number of each run; they have no other figures.
    pub found: Vec<(u32, Found)>,
    /// The rate asked; `None` in a closed loop.
    pub asked_qps: Option<f64>,
    /// The rate answered, per second.
    pub answered: Option<Spread>,
    /// The answered share of the queries, 0 to 1.
    pub share: Option<Spread>,
    /// The latency that the load is judged by.
    pub percentiles: Percentiles,
    /// Its mean over the answered queries.
    pub average: Option<Spread>,
    /// The shortest one of each run.
    pub shortest: Option<Spread>,
    /// The longest one of each run.
    pub longest: Option<Spread>,
    /// Bits of the responses in each second.
    pub bits_per_s: Option<Spread>,
    /// How much the rate of answers differs between the seconds of a run.
    pub wobble: Option<Spread>,
    /// The CPU time of the server's process for each answer, in ns, where it was watched.
    pub cpu_ns: Option<Spread>,
    /// What that process has used of one CPU.
    pub cpu_share: Option<Spread>,
    /// The most memory of that process, in octets.
    pub memory_bytes: Option<Spread>,
    /// In the order of the columns of the results.
    pub columns: Vec<Option<Spread>>,
    /// The parts of a load that has several rates.
    pub steps: Vec<Step>,
    /// The intervals of a load whose course is shown.
    pub course: Vec<Moment>,
}

/// A run as the results need it.
#[derive(Clone, Debug)]
pub struct ReadRun {
    /// Its record.
    pub run: ComparedRun,
    /// What its intervals tell.
    pub seconds: Seconds,
}

/// How well a cell was measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CellState {
    /// All its runs were made and count.
    Complete,
    /// Too many of its runs were discarded: fewer count than were planned.
    Short,
    /// All its runs were in doubt: the figures are theirs, and say at least what they say.
    InDoubt,
    /// None of its runs has figures.
    NotMeasured,
    /// The experiment has not ended.
    Unfinished,
}

/// A subject compared with another one under a load.
#[derive(Clone, Debug)]
pub struct Difference {
    /// The load.
    pub load: usize,
    /// The baseline.
    pub against: usize,
    /// The candidate.
    pub subject: usize,
    /// What the runs show, or why they cannot be compared.
    pub found: Result<Comparison, String>,
}

/// A run that does not count.
#[derive(Clone, Debug, PartialEq)]
pub struct Discarded {
    /// Its number in the experiment, from 1.
    pub number: u32,
    /// Its cell.
    pub cell: Cell,
    /// Why.
    pub doubts: Vec<Doubt>,
}

/// The results of an experiment, with the records that `read` gives by the number of the run.
///
/// # Errors
/// A record cannot be read.
pub fn results(
    experiment: &Experiment,
    mut read: impl FnMut(u32) -> Result<ReadRun, ReadError>,
) -> Result<ExperimentResult, ReadError> {
    let design = experiment.design().clone();
    let mut result = ExperimentResult {
        cells: Vec::new(),
        columns: Column::usual().chain(design.columns.clone()).collect(),
        differences: Vec::new(),
        discarded: discarded(experiment),
        notes: Vec::new(),
        runs: u32::try_from(experiment.outcomes().len()).unwrap_or(u32::MAX),
        design,
    };
    for load in 0..result.design.loads.len() {
        let mut counted: Vec<Vec<ComparedRun>> = Vec::new();
        for subject in 0..result.design.subjects.len() {
            let cell = Cell { subject, load };
            let mut runs = Vec::new();
            if !result.design.loads.get(load).is_some_and(|load| load.is_on(subject)) {
                counted.push(Vec::new());
                continue;
            }
            let state = state(experiment, cell);
            let numbers = numbers_of(experiment, cell, state);
            for number in numbers.iter().filter(|_| is_run(&result.design, load)) {
                runs.push(read(*number)?);
            }
            let of_number = |number: &u32| Some((*number, experiment.found(*number)?.clone()));
            let found = numbers.iter().filter_map(of_number).collect();
            let figures = figures(&numbers, &runs, &result.columns);
            let runs: Vec<ComparedRun> = runs.into_iter().map(|run| run.run).collect();
            let steps = steps(&runs);
            let has_course = result.design.loads.get(load).is_some_and(|load| load.has_course);
            let course = if has_course { course(&runs) } else { Vec::new() };
            result.cells.push(CellResult { found, steps, course, ..cell_result(cell, state, figures) });
            // What is in doubt is shown, and not compared.
            counted.push(if state == CellState::InDoubt { Vec::new() } else { runs });
        }
        if is_run(&result.design, load) {
            let found = differences(&result.design, load, &counted);
            result.differences.extend(found);
        }
    }
    result.notes = notes(&result);
    Ok(result)
}

/// Whether a load is put on the servers by runs of ours, whose records are compared.
fn is_run(design: &Design, load: usize) -> bool {
    design.loads.get(load).is_some_and(|load| load.kind == LoadKind::Run)
}

fn discarded(experiment: &Experiment) -> Vec<Discarded> {
    let of = |(number, (cell, outcome)): (u32, &(Cell, Outcome))| match outcome {
        Outcome::Discarded(doubts) => Some(Discarded { number, cell: *cell, doubts: doubts.clone() }),
        _ => None,
    };
    (1..).zip(experiment.outcomes()).filter_map(of).collect()
}

fn state(experiment: &Experiment, cell: Cell) -> CellState {
    let of_cell = || experiment.outcomes().iter().filter(|(of, _)| *of == cell).map(|(_, outcome)| outcome);
    let counted = of_cell().filter(|outcome| **outcome == Outcome::Counted).count();
    let repeats = experiment.design().loads.get(cell.load).map_or(0, |load| load.repeats);
    let has_doubtful = of_cell().any(is_doubtful);
    match () {
        () if counted >= repeats as usize => CellState::Complete,
        () if !experiment.is_given_up(cell) => CellState::Unfinished,
        () if counted > 0 => CellState::Short,
        () if has_doubtful => CellState::InDoubt,
        () => CellState::NotMeasured,
    }
}

/// Whether a run was discarded and has figures all the same.
fn is_doubtful(outcome: &Outcome) -> bool {
    matches!(outcome, Outcome::Discarded(doubts) if doubts.iter().all(Doubt::has_figures))
}

/// The runs that the figures of a cell are of.
fn numbers_of(experiment: &Experiment, cell: Cell, state: CellState) -> Vec<u32> {
    let is_used = |outcome: &Outcome| match state {
        CellState::InDoubt => is_doubtful(outcome),
        _ => *outcome == Outcome::Counted,
    };
    let of = |(number, (of, outcome)): (u32, &(Cell, Outcome))| {
        (*of == cell && is_used(outcome)).then_some(number)
    };
    (1..).zip(experiment.outcomes()).filter_map(of).collect()
}

/// The figures of the runs with these numbers.
fn figures(numbers: &[u32], runs: &[ReadRun], columns: &[Column]) -> Vec<RunFigures> {
    let of =
        |(number, run): (&u32, &ReadRun)| RunFigures::of(*number, &run.run.digest, &run.seconds, columns);
    numbers.iter().zip(runs).map(of).collect()
}

fn cell_result(cell: Cell, state: CellState, runs: Vec<RunFigures>) -> CellResult {
    let values = |of: fn(&RunFigures) -> Option<f64>| Spread::of_values(runs.iter().map(of));
    let column = |at: usize| Spread::of_values(runs.iter().map(|run| run.columns.get(at).copied().flatten()));
    let columns = runs.first().map_or(0, |run| run.columns.len());
    let of_percentiles: Vec<OfRun> =
        runs.iter().map(|run| OfRun { values: run.percentiles, wide: run.wide }).collect();
    let asked: Option<Vec<f64>> = runs.iter().map(|run| run.asked_qps).collect();
    CellResult {
        cell,
        state,
        asked_qps: asked.and_then(|asked| asked.into_iter().reduce(f64::max)),
        answered: values(|run| run.answered_qps),
        share: values(|run| run.share),
        percentiles: Percentiles::of(&of_percentiles),
        average: Spread::of(runs.iter().map(|run| run.average)),
        shortest: Spread::of(runs.iter().map(|run| run.shortest)),
        longest: Spread::of(runs.iter().map(|run| run.longest)),
        bits_per_s: values(|run| run.bits_per_s),
        wobble: values(|run| run.wobble),
        cpu_ns: values(|run| run.cpu_ns),
        cpu_share: values(|run| run.cpu_share),
        memory_bytes: values(|run| run.memory_bytes),
        columns: (0..columns).map(column).collect(),
        steps: Vec::new(),
        course: Vec::new(),
        found: Vec::new(),
        runs,
    }
}

/// The comparisons of a load; `runs` are those of each subject.
fn differences(design: &Design, load: usize, runs: &[Vec<ComparedRun>]) -> Vec<Difference> {
    let settings =
        Settings { seed: design.seed, family: design.compared_loads().max(1), ..Settings::default() };
    let of = |(subject, candidate): (usize, &Vec<ComparedRun>)| {
        let against = design.subjects.get(subject)?.against?;
        let are_both_on =
            design.loads.get(load).is_some_and(|load| load.is_on(subject) && load.is_on(against));
        if !are_both_on {
            return None;
        }
        let baseline = runs.get(against)?;
        let is_empty = baseline.is_empty() || candidate.is_empty();
        let found = match is_empty {
            true => Err("one of them has no runs that count".to_owned()),
            false => {
                compare(baseline.clone(), candidate.clone(), &settings).map_err(|error| error.to_string())
            }
        };
        Some(Difference { load, against, subject, found })
    };
    runs.iter().enumerate().filter_map(of).collect()
}

fn notes(result: &ExperimentResult) -> Vec<String> {
    let mut notes = Vec::new();
    for load in 0..result.design.loads.len() {
        notes.extend(answers_unlike(result, load));
    }
    notes.extend(not_read(result));
    let kept = result.cells.iter().filter(|cell| cell.state != CellState::InDoubt);
    let kept: usize = kept.map(|cell| cell.runs.iter().filter(|run| run.is_in_doubt).count()).sum();
    if kept > 0 {
        notes.push(format!(
            "the rate or loss of {kept} of the runs that count is in doubt, as the experiment allows: it may not be \
             that of the server"
        ));
    }
    notes.extend(behind(result));
    let windows = |load: &&super::design::LoadOf| {
        let is_short = load.kind == LoadKind::Run && load.lasts_ns.is_some_and(|ns| ns < SHORT_NS);
        load.strictness.steady_permille.is_some() && is_short
    };
    let short: Vec<&str> =
        result.design.loads.iter().filter(windows).map(|load| load.name.as_str()).collect();
    if !short.is_empty() {
        notes.push(format!(
            "runs under {} have fewer than {} whole intervals of a second: whether they were steady was not looked at",
            short.join(", "),
            super::judge::WINDOWS
        ));
    }
    notes
}

/// That the world behind a resolver had a part in what runs show that count.
fn behind(result: &ExperimentResult) -> Option<String> {
    let counted = result.cells.iter().filter(|cell| cell.state != CellState::InDoubt);
    let of_run = |cell: &CellResult| {
        let name = result.design.subjects.get(cell.cell.subject).map(|subject| subject.name.clone());
        let runs: Vec<_> = cell.runs.iter().filter_map(|run| run.behind).collect();
        runs.into_iter().map(move |limit| (name.clone().unwrap_or_default(), limit))
    };
    let limits: Vec<_> = counted.flat_map(of_run).collect();
    let (name, first) = limits.first()?;
    Some(format!(
        "{} of the runs that count may show less than the server could do (the first: {name}: {first}): \
         read their rates as \"at least\"",
        limits.len()
    ))
}

/// The columns of the file that no run has a figure for.
fn not_read(result: &ExperimentResult) -> Option<String> {
    let own = result.columns.iter().enumerate().skip(result.columns.len() - result.design.columns.len());
    let has_figure = |at: usize| {
        let mut runs = result.cells.iter().flat_map(|cell| &cell.runs);
        runs.any(|run| run.columns.get(at).copied().flatten().is_some())
    };
    let is_measured = result.cells.iter().any(|cell| !cell.runs.is_empty());
    let empty: Vec<String> = own
        .filter(|(at, _)| is_measured && !has_figure(*at))
        .map(|(_, column)| format!("`{}`", column.title))
        .collect();
    (!empty.is_empty()).then(|| {
        format!(
            "no run has a figure for the column {}: its series was not read; the table \"Watched series\" on the page \
             of a run (`dnsdyno report`) has the names of all that were",
            empty.join(", ")
        )
    })
}

/// Subjects that answer the same queries with other RCODEs do not do the same work.
fn answers_unlike(result: &ExperimentResult, load: usize) -> Option<String> {
    let share_of = |cell: &CellResult| {
        let of = |run: &RunFigures| {
            run.rcodes.iter().find(|(code, _)| *code == 0).map_or(0.0, |(_, share)| *share)
        };
        let mut shares: Vec<f64> = cell.runs.iter().map(of).collect();
        (!shares.is_empty()).then(|| crate::statistics::median(&mut shares))
    };
    let cells = result.cells.iter().filter(|cell| cell.cell.load == load);
    let shares: Vec<(usize, f64)> =
        cells.filter_map(|cell| Some((cell.cell.subject, share_of(cell)?))).collect();
    let (least, most) = shares
        .iter()
        .fold((1.0_f64, 0.0_f64), |(least, most), (_, share)| (least.min(*share), most.max(*share)));
    if shares.len() < 2 || most - least <= UNLIKE {
        return None;
    }
    let name = |subject: usize| result.design.subjects.get(subject).map_or("", |subject| &subject.name);
    let listed: Vec<String> =
        shares.iter().map(|(subject, share)| format!("{} {:.1} %", name(*subject), share * 100.0)).collect();
    let load = result.design.loads.get(load).map_or("", |load| &load.name);
    Some(format!(
        "the servers do not answer alike under {load}: the share of NOERROR is {}; give them the same data before you \
         compare their speed",
        listed.join(", ")
    ))
}

/// Shares of NOERROR that differ by more are of different data.
const UNLIKE: f64 = 0.02;

/// Below it, fewer intervals of a second than windows.
const SHORT_NS: u64 = 3_000_000_000;

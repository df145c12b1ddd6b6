//! What an experiment shows: the figures of each cell over its runs, and which differences are more than noise.

use dnsdyno_measure::{PERCENTILES, Side, Watched, WatchedKind};
use dnsdyno_record::figures::run_rate;
use dnsdyno_record::{Digest, ReadError};

use super::design::{Cell, Design, LoadKind};
use super::found::Found;
use super::judge::{Doubt, loss};
use super::schedule::{Experiment, Outcome};
use crate::compare::{ComparedRun, Comparison, Figure, Settings, compare, median_of};
use crate::doubts::with_effect;

/// What an experiment shows.
#[derive(Clone, Debug)]
pub struct ExperimentResult {
    /// What was measured.
    pub design: Design,
    /// The cells, in the order of [`Design::cells`].
    pub cells: Vec<CellResult>,
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
    /// The CPU time of the server's process for each answer, in ns, where it was watched.
    pub cpu_ns: Option<Spread>,
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

/// Percentiles over the runs; `None` where some run has too few queries for it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Percentiles {
    /// In the order of [`PERCENTILES`].
    pub values: [Option<Spread>; PERCENTILES.len()],
}

/// A figure over the runs of a cell.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// Of the lowest run.
    pub lowest: Figure,
    /// The median of the runs.
    pub median: Figure,
    /// Of the highest run.
    pub highest: Figure,
    /// Whether too much of it may be the generator's, in half of the runs or more.
    pub is_wide: bool,
}

/// The figures of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct RunFigures {
    /// Its number in the experiment, from 1.
    pub number: u32,
    /// The rate asked; `None` in a closed loop.
    pub asked_qps: Option<f64>,
    /// The rate answered; `None` where the run is too short for one.
    pub answered_qps: Option<f64>,
    /// The answered share, 0 to 1.
    pub share: Option<f64>,
    /// In the order of [`PERCENTILES`].
    pub percentiles: [Option<Figure>; PERCENTILES.len()],
    /// Queries of the run.
    pub queries: u64,
    /// The CPU time of the server's process for each answer, in ns, where it was watched.
    pub cpu_ns: Option<f64>,
    /// Which percentiles are too wide: too much of them may be the generator's.
    pub wide: [bool; PERCENTILES.len()],
    /// Whether its rate or loss was in doubt.
    pub is_in_doubt: bool,
    /// The share of the answers with each RCODE.
    pub rcodes: Vec<(u16, f64)>,
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
    mut read: impl FnMut(u32) -> Result<ComparedRun, ReadError>,
) -> Result<ExperimentResult, ReadError> {
    let design = experiment.design().clone();
    let mut result = ExperimentResult {
        cells: Vec::new(),
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
            let state = state(experiment, cell);
            let numbers = numbers_of(experiment, cell, state);
            for number in numbers.iter().filter(|_| is_run(&result.design, load)) {
                runs.push(read(*number)?);
            }
            let of_number = |number: &u32| Some((*number, experiment.found(*number)?.clone()));
            let found = numbers.iter().filter_map(of_number).collect();
            result.cells.push(CellResult { found, ..cell_result(cell, state, &numbers, &runs) });
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

fn cell_result(cell: Cell, state: CellState, numbers: &[u32], runs: &[ComparedRun]) -> CellResult {
    let runs: Vec<RunFigures> =
        numbers.iter().zip(runs).map(|(number, run)| RunFigures::of(*number, &run.digest)).collect();
    let plain = |value: Option<f64>| value.map(|value| Figure { value, beyond_timeout: false });
    let mut percentiles = Percentiles::default();
    for (at, slot) in percentiles.values.iter_mut().enumerate() {
        let wide = runs.iter().filter(|run| run.wide.get(at) == Some(&true)).count();
        let of_runs = spread(runs.iter().map(|run| run.percentiles.get(at).copied().flatten()));
        *slot = of_runs.map(|spread| Spread { is_wide: wide * 2 >= runs.len(), ..spread });
    }
    let asked: Option<Vec<f64>> = runs.iter().map(|run| run.asked_qps).collect();
    CellResult {
        cell,
        state,
        asked_qps: asked.and_then(|asked| asked.into_iter().reduce(f64::max)),
        answered: spread(runs.iter().map(|run| plain(run.answered_qps))),
        share: spread(runs.iter().map(|run| plain(run.share))),
        cpu_ns: spread(runs.iter().map(|run| plain(run.cpu_ns))),
        percentiles,
        runs,
        found: Vec::new(),
    }
}

/// The figure over runs; `None` where there is none, or some run does not have it.
fn spread(figures: impl Iterator<Item = Option<Figure>>) -> Option<Spread> {
    let figures: Vec<Figure> = figures.collect::<Option<_>>()?;
    let by = |a: &&Figure, b: &&Figure| a.value.total_cmp(&b.value);
    let lowest = *figures.iter().min_by(by)?;
    let highest = *figures.iter().max_by(by)?;
    Some(Spread { lowest, median: median_of(&figures), highest, is_wide: false })
}

impl RunFigures {
    /// The figures of the run of this number.
    pub fn of(number: u32, run: &Digest) -> RunFigures {
        let tally = run.tally();
        let of_headline = run.percentiles();
        let ends = PERCENTILES.map(|(.., q)| of_headline.at(q));
        let percentiles = ends.map(|bounds| {
            let written = bounds?.upper.written(run.header.timeout_ns);
            Some(Figure { value: written.ns as f64, beyond_timeout: written.beyond_timeout })
        });
        let answers = tally.rcodes.total().max(1) as f64;
        RunFigures {
            number,
            asked_qps: asked(run),
            answered_qps: run_rate(run, tally.ends.answered),
            share: loss(run).map(|loss| 1.0 - loss),
            percentiles,
            queries: tally.scheduled,
            cpu_ns: cpu_of_answer(run),
            wide: ends.map(|bounds| bounds.is_some_and(|bounds| bounds.is_wide())),
            is_in_doubt: !with_effect(run).is_empty(),
            rcodes: tally.rcodes.iter().map(|(code, count)| (code, count as f64 / answers)).collect(),
        }
    }
}

/// The CPU time of the server's process for each answer, in ns. What the kernel does for it outside of its calls, such
/// as the work of an interface, is in no process.
fn cpu_of_answer(run: &Digest) -> Option<f64> {
    let is_server = |watched: &&Watched| watched.kind == WatchedKind::Process && watched.side == Side::Server;
    let at = run.header.watched.iter().position(|watched| is_server(&watched))?;
    let cpu_ns = *run.watched().get(at)?.as_ref()?.counters.get(CPU_TIME)?;
    let answered = run.tally().ends.answered;
    // A process that has used no CPU is not the one that answers: NSD's listener has children for that.
    (answered > 0 && cpu_ns > 0).then(|| cpu_ns as f64 / answered as f64)
}

/// The rate asked, on average over the schedule, which may end before the last interval.
fn asked(run: &Digest) -> Option<f64> {
    let asked_micro: u64 = run.rows().iter().map(|row| row.asked_micro).sum();
    (asked_micro > 0 && run.schedule_ns() > 0).then(|| asked_micro as f64 * 1e3 / run.schedule_ns() as f64)
}

/// The comparisons of a load; `runs` are those of each subject.
fn differences(design: &Design, load: usize, runs: &[Vec<ComparedRun>]) -> Vec<Difference> {
    let settings =
        Settings { seed: design.seed, family: design.compared_loads().max(1), ..Settings::default() };
    let of = |(subject, candidate): (usize, &Vec<ComparedRun>)| {
        let against = design.subjects.get(subject)?.against?;
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
    let kept = result.cells.iter().filter(|cell| cell.state != CellState::InDoubt);
    let kept: usize = kept.map(|cell| cell.runs.iter().filter(|run| run.is_in_doubt).count()).sum();
    if kept > 0 {
        notes.push(format!(
            "the rate or loss of {kept} of the runs that count is in doubt, as the experiment allows: it may not be \
             that of the server"
        ));
    }
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

/// The counter of a process.
const CPU_TIME: &str = "cpu_ns";

/// Shares of NOERROR that differ by more are of different data.
const UNLIKE: f64 = 0.02;

/// Below it, fewer intervals of a second than windows.
const SHORT_NS: u64 = 3_000_000_000;

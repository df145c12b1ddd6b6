//! The loads of an experiment: options of all runs, and those of each load over them, checked as plans; searches and
//! programs are checked in `way`.

use std::path::Path;

use dnsdyno_campaign::experiment::{LoadKind, LoadOf, Strictness, Subject};
use dnsdyno_lab::example_queries;
use dnsdyno_plan::{Curve, Draft, Group, Stop};
use dnsdyno_runner::Runner;
use dnsdyno_text::notation::parse_percent;
use dnsdyno_text::secret::Masked;

use super::file::{File, InDoubtWord};
use super::kind::Kind;
use super::load_file::{AnswersWord, LoadTable};
use super::text::Text;
use super::timetable::{Action, Event};
use super::values::{bounded, named, relative};
use super::way::{Before, LoadMethod, LoadSetup};

/// The names of the loads.
pub(super) fn load_names(tables: &[LoadTable]) -> Result<Vec<String>, String> {
    let mut names: Vec<String> = Vec::new();
    for table in tables {
        let name = table.draft.name.as_deref().ok_or("each [[load]] needs a `name`, such as \"5k\"")?;
        let name = named("load", name)?;
        if names.contains(&name) {
            return Err(format!("two loads are named `{name}`: each needs a name of its own"));
        }
        names.push(name);
    }
    match names.is_empty() {
        true => Err("there is no [[load]]: name at least one, with options of `dnsdyno run`".to_owned()),
        false => Ok(names),
    }
}

/// What the loads of an experiment have in common.
pub(super) struct Common<'a> {
    pub(super) file: &'a File,
    /// The folder of the file.
    pub(super) folder: &'a Path,
    /// What is watched in each run that does not say it.
    pub(super) watch: Option<&'a Vec<Masked>>,
    pub(super) events: &'a [Event],
    pub(super) subjects: &'a [Subject],
    pub(super) kinds: &'a [Kind],
    pub(super) runner: &'a dyn Runner,
}

/// A load, checked as a plan at each server that has an address, or at this host.
pub(super) fn load(table: &LoadTable, common: &Common<'_>) -> Result<(LoadOf, LoadSetup), String> {
    let Common { file, folder, watch, events, subjects, kinds, runner } = *common;
    let name = table.draft.name.clone().unwrap_or_default();
    let wrong = |error: String| format!("load `{name}`: {error}");
    let way = LoadMethod::of(&table.own).map_err(wrong)?;
    let before = Before::of(&table.own).map_err(wrong)?;
    let base = way.base(&file.run);
    let mut draft = base.overlay(table.draft.clone()).map_err(|error| wrong(error.to_string()))?;
    if draft.server.is_some() || draft.servers.is_some() || draft.port.is_some() {
        return Err(wrong(
            "the server is that of a [[server]]: remove `server`, `servers` and `port`".to_owned(),
        ));
    }
    if draft.watch.is_none() {
        draft.watch = watch.cloned();
    }
    if draft.seed.is_none() && way.kind() != LoadKind::Search {
        // The same queries in the same order for each server. In a search, names that are made would be the same in
        // each trial, and in the cache from the second one on.
        draft.seed = Some(file.seed.unwrap_or(1).to_string());
    }
    add_queries(&mut draft, file, folder).map_err(wrong)?;
    // What is watched of servers that are started is known when they are.
    let is_known = |word: &&Masked| !word.exposed().contains('{');
    let watch = draft.watch.as_ref().map(|words| words.iter().filter(is_known).cloned().collect());
    let mut known = Draft { watch, ..draft.clone() };
    if known.queries.take_if(|path| is_made(path)).is_some() {
        known.ask = Some(vec![".".to_owned()]);
    }
    let of_load: Vec<&Event> = events.iter().filter(|event| event.is_of_load(&name)).collect();
    let lasts_ns = way.checked(&table.own, &table.draft, &known, &of_load, runner).map_err(wrong)?;
    let kind = way.kind();
    let (usual_repeats, usual_dropped) =
        way.usual_runs(file.repeats.unwrap_or(5), file.drop_first.unwrap_or(1));
    let repeats = bounded("repeats", table.own.repeats, usual_repeats, 1..=10_000).map_err(wrong)?;
    let dropped = bounded("drop-first", table.own.drop_first, usual_dropped, 0..=100).map_err(wrong)?;
    let on = table.own.on.as_ref().map(|names| numbers_of(names, subjects)).transpose().map_err(wrong)?;
    let has_course = table.own.course.unwrap_or(false);
    let keeps_doubtful = file.in_doubt == Some(InDoubtWord::Keep);
    let any_answer = table.own.answers.or(file.answers) == Some(AnswersWord::Any);
    let mut strictness = Strictness { steady_permille: None, any_answer, keeps_doubtful };
    let mut of = LoadOf { name: name.clone(), kind, strictness, lasts_ns, on, has_course, repeats, dropped };
    if kind == LoadKind::Run {
        let (lasts_ns, phases) = planned(&known, kinds, runner).map_err(wrong)?;
        let has_event = of_load.iter().any(|event| !matches!(event.action, Action::Nothing));
        let is_even = phases < 2 && !has_event;
        let asked = table.own.steady.as_ref().or(file.steady.as_ref());
        strictness.steady_permille = steady(asked, is_even).map_err(wrong)?;
        of = LoadOf { lasts_ns, strictness, ..of };
    }
    Ok((of, LoadSetup { draft, way, before }))
}

/// Takes the files of a load from the folder of the experiment, and gives it queries where it names none.
fn add_queries(draft: &mut Draft, file: &File, folder: &Path) -> Result<(), String> {
    let paths = [&mut draft.queries, &mut draft.replay, &mut draft.zone, &mut draft.tsig_file, &mut draft.ca];
    for text in paths.into_iter().flatten().filter(|text| !is_made(text)) {
        *text = relative(folder, text);
    }
    if let Some((kind, path)) = draft.source.as_deref().and_then(|text| text.split_once(':')) {
        draft.source = Some(format!("{kind}:{}", relative(folder, path)));
    }
    let has_source = draft.chooses(Group::Source);
    if !has_source
        && file.server.iter().any(|server| server.config.origin.is_some() || server.config.address.is_some())
    {
        return Err("it has no queries: add `queries`, `ask` or `zone` to [run]".to_owned());
    }
    if !has_source {
        // Servers without a zone of the user have that of the testbed.
        let is_query = |line: &&str| !line.is_empty() && !line.starts_with([';', '#']);
        draft.ask = Some(example_queries().lines().filter(is_query).map(str::to_owned).collect());
    }
    Ok(())
}

/// The subjects with exactly these names.
fn numbers_of(names: &[String], subjects: &[Subject]) -> Result<Vec<usize>, String> {
    let number = |name: &String| {
        let found = subjects.iter().position(|subject| subject.name == *name);
        found.ok_or_else(|| {
            let known: Vec<&str> = subjects.iter().map(|subject| subject.name.as_str()).collect();
            format!(
                "`on` names `{name}`, and no server or variant has this name: there is {}",
                known.join(", ")
            )
        })
    };
    match names.is_empty() {
        true => Err("`on` is empty: name the servers and variants, or remove it".to_owned()),
        false => names.iter().map(number).collect(),
    }
}

/// Whether a file is made by a command of the experiment, in a folder that is known when it runs.
fn is_made(path: &str) -> bool {
    path.starts_with('{')
}

/// Checks a run at each server that has an address, and at this host; returns how long it lasts at most, where the
/// server does not decide it, and its phases.
fn planned(draft: &Draft, kinds: &[Kind], runner: &dyn Runner) -> Result<(Option<u64>, usize), String> {
    let at_home = [("127.0.0.1".to_owned(), false)];
    let there = kinds.iter().filter_map(|kind| match kind {
        Kind::There { address, is_allowed } => Some((address.clone(), *is_allowed)),
        Kind::Started(_) => None,
    });
    let mut found = (None, 1);
    for (server, is_allowed) in there.chain(at_home) {
        let at = Draft {
            server: Some(server),
            i_may_load_this_server: is_allowed.then_some(true),
            ..draft.clone()
        };
        let plan = runner.validate(&at).map_err(|error| error.to_string())?.plan;
        let phases = plan.load.curve().map_or(1, |curve| curve.phases().len());
        found = (length(plan.load.curve(), &plan.stop), phases);
    }
    Ok(found)
}

/// By how much the rates answered may differ at the end of a run, in thousandths.
fn steady(asked: Option<&Text>, is_even: bool) -> Result<Option<u32>, String> {
    match asked.map(|text| text.0.as_str()) {
        Some("off" | "false") => Ok(None),
        Some(text) => {
            let share = parse_percent(text).map_err(|error| format!("`steady`: {error}, or off"))?;
            Ok(Some((share * 1000.0).round() as u32))
        }
        // A load with steps, and a server that something happens to, are not meant to be steady.
        None => Ok(is_even.then_some(STEADY_PERMILLE)),
    }
}

/// How long a run lasts at most, where the server does not decide it.
fn length(curve: Option<&Curve>, stop: &Stop) -> Option<u64> {
    let of_curve = curve.and_then(Curve::duration_ns);
    let of_count = curve.zip(stop.count).and_then(|(curve, count)| curve.due_at(count));
    [of_curve, of_count, stop.duration_ns].into_iter().flatten().min()
}

/// What is watched beside each run.
pub(super) fn watch(word: Option<&Text>) -> Option<Vec<Masked>> {
    match word.map(|text| text.0.as_str()) {
        None => Some(vec!["auto".into()]),
        Some("off" | "false") => None,
        Some(text) => Some(vec![text.into()]),
    }
}

/// 5 %.
const STEADY_PERMILLE: u32 = 50;

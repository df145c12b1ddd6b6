//! The loads of an experiment: options of all runs, and those of each load over them, checked as plans.

use std::path::Path;

use dnsdyno_campaign::experiment::{LoadOf, Strictness};
use dnsdyno_lab::example_queries;
use dnsdyno_plan::units::parse_percent;
use dnsdyno_plan::{Curve, Draft, Stop};
use dnsdyno_runner::validate;

use super::file::{AnswersWord, File, InDoubtWord, LoadTable, Text};
use super::kind::Kind;
use super::timetable::{Action, Event};
use super::values::{named, relative};

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

/// A load, checked as a plan at each server that has an address, or at this host.
pub(super) fn load(
    file: &File,
    table: &LoadTable,
    folder: &Path,
    watch: Option<&Vec<String>>,
    events: &[Event],
    kinds: &[Kind],
) -> Result<(LoadOf, Draft), String> {
    let name = table.draft.name.clone().unwrap_or_default();
    let wrong = |error: String| format!("load `{name}`: {error}");
    let mut draft =
        file.run.clone().overlay(table.draft.clone()).map_err(|error| wrong(error.to_string()))?;
    if draft.server.is_some() || draft.servers.is_some() || draft.port.is_some() {
        return Err(wrong(
            "the server is that of a [[server]]: remove `server`, `servers` and `port`".to_owned(),
        ));
    }
    if draft.watch.is_none() {
        draft.watch = watch.cloned();
    }
    if draft.seed.is_none() {
        // The same queries in the same order for each server.
        draft.seed = Some(file.seed.unwrap_or(1).to_string());
    }
    let paths = [&mut draft.queries, &mut draft.replay, &mut draft.zone, &mut draft.tsig_file, &mut draft.ca];
    for text in paths.into_iter().flatten() {
        *text = relative(folder, text);
    }
    let has_source = draft.queries.is_some()
        || draft.ask.is_some()
        || draft.zone.is_some()
        || draft.replay.is_some()
        || draft.generator.is_some();
    if !has_source
        && file.server.iter().any(|server| server.config.origin.is_some() || server.config.address.is_some())
    {
        return Err(wrong("it has no queries: add `queries`, `ask` or `zone` to [run]".to_owned()));
    }
    if !has_source {
        // Servers without a zone of the user have that of the testbed.
        let is_query = |line: &&str| !line.is_empty() && !line.starts_with([';', '#']);
        draft.ask = Some(example_queries().lines().filter(is_query).map(str::to_owned).collect());
    }
    let at_home = [("127.0.0.1".to_owned(), false)];
    let there = kinds.iter().filter_map(|kind| match kind {
        Kind::There { address, is_allowed } => Some((address.clone(), *is_allowed)),
        Kind::Started(_) => None,
    });
    let mut lasts_ns = None;
    let mut phases = 1;
    for (server, is_allowed) in there.chain(at_home) {
        let at = Draft {
            server: Some(server),
            i_may_load_this_server: is_allowed.then_some(true),
            ..draft.clone()
        };
        let plan = validate(&at).map_err(|error| wrong(error.to_string()))?;
        lasts_ns = length(plan.load.curve(), &plan.stop);
        phases = plan.load.curve().map_or(1, |curve| curve.phases().len());
    }
    let has_event =
        events.iter().any(|event| event.is_of_load(&name) && !matches!(event.action, Action::Nothing));
    let asked = table.steady.as_ref().or(file.steady.as_ref());
    let steady_permille = match asked.map(|text| text.0.as_str()) {
        Some("off" | "false") => None,
        Some(text) => {
            let share = parse_percent(text).map_err(|error| wrong(format!("`steady`: {error}, or off")))?;
            Some((share * 1000.0).round() as u32)
        }
        // A load with steps, and a server that something happens to, are not meant to be steady.
        None => (phases < 2 && !has_event).then_some(STEADY_PERMILLE),
    };
    let keeps_doubtful = file.in_doubt == Some(InDoubtWord::Keep);
    let any_answer = table.answers.or(file.answers) == Some(AnswersWord::Any);
    Ok((
        LoadOf { name, strictness: Strictness { steady_permille, any_answer, keeps_doubtful }, lasts_ns },
        draft,
    ))
}

/// How long a run lasts at most, where the server does not decide it.
fn length(curve: Option<&Curve>, stop: &Stop) -> Option<u64> {
    let of_curve = curve.and_then(Curve::duration_ns);
    let of_count = curve.zip(stop.count).and_then(|(curve, count)| curve.due_at(count));
    [of_curve, of_count, stop.duration_ns].into_iter().flatten().min()
}

/// What is watched beside each run.
pub(super) fn watch(word: Option<&Text>) -> Option<Vec<String>> {
    match word.map(|text| text.0.as_str()) {
        None => Some(vec!["auto".to_owned()]),
        Some("off" | "false") => None,
        Some(text) => Some(vec![text.to_owned()]),
    }
}

/// 5 %.
const STEADY_PERMILLE: u32 = 50;

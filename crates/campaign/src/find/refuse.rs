//! Refuses what the search itself sets, the options of other methods, and what a method cannot find.

use dnsdyno_plan::{Draft, Group, TransportKind};

use super::error::FindError;
use super::options::{Method, Options, What};

/// Refuses what the search sets.
pub(super) fn refuse_load(draft: &Draft, method: Method, what: What) -> Result<(), FindError> {
    let of_stair = method == Method::Stair;
    let only = |option: &'static str, is_given: bool| Vec::from_iter(is_given.then_some(option));
    let connections = draft.queries_per_connection.is_some() && what == What::Connections;
    let set = [
        // Each shape has an advice of its own.
        (only("rate", draft.rate.is_some()), FIRST_LOAD),
        (only("ramp", draft.ramp.is_some()), "use --method ramp --from A --most B"),
        (only("stair", draft.stair.is_some()), "use --method stair --from A --most B"),
        (only("burst", draft.burst.is_some()), "remove it"),
        (only("every", draft.every.is_some()), "remove it"),
        (only("over", draft.over.is_some() && method != Method::Ramp), "it is for --method ramp"),
        (only("step", draft.step.is_some() && !of_stair), "it is for --method stair"),
        (only("hold", draft.hold.is_some() && !of_stair), "it is for --method stair; use --trial T"),
        (only("outstanding", draft.outstanding.is_some()), "remove it, or use --method window"),
        (only("rate-limit", draft.rate_limit.is_some()), "remove it"),
        (only("send-only", draft.send_only == Some(true)), "a limit is judged by answers: remove it"),
        (draft.given(Group::End), "use --trial T for the length of a trial"),
        (only("replay", draft.replay.is_some()), "give the queries with -d, --ask or --zone"),
        (only("piece", draft.piece.is_some()), "remove the pieces from the plan file"),
        (draft.given(Group::Expectations), "use --while"),
        (draft.given(Group::Conditions), "use --while"),
        (only("clients", draft.clients.is_some() && what == What::Clients), FIRST_LOAD),
        (only("queries-per-connection", connections), "each connection has one query: remove it"),
    ];
    match set.into_iter().find_map(|(given, instead)| Some((*given.first()?, instead))) {
        Some((option, instead)) => Err(FindError::SetBySearch { option, instead }),
        None => Ok(()),
    }
}

/// Refuses the options of other methods, and what a method cannot find.
pub(super) fn refuse_others(
    options: &Options,
    draft: &Draft,
    method: Method,
    what: What,
) -> Result<(), FindError> {
    let of_search = "--method search";
    let of_trials = "methods with trials, not for a stair or a ramp";
    let one_run = matches!(method, Method::Stair | Method::Ramp);
    let is_mlrsearch = method == Method::MlrSearch;
    let has_goals = is_mlrsearch || method == Method::Search;
    let others = [
        ("repeats", options.repeats.is_some() && !method.is_by_book(), "--method rfc2544 and rfc8219"),
        ("trials", options.trials.is_some() && !has_goals, of_search),
        ("precision", options.precision.is_some() && (one_run || method == Method::Window), of_search),
        (
            "precision",
            options.precision.is_some() && is_mlrsearch,
            "other methods; here give a goal its width=SHARE",
        ),
        (
            "while",
            !options.criteria.is_empty() && is_mlrsearch,
            "other methods; here use --goal 'NAME: loss<=R'",
        ),
        ("goal", !options.goals.is_empty() && !has_goals, "--method search and mlrsearch"),
        ("trial", options.trial.is_some() && one_run, of_trials),
        ("least", options.least.is_some() && (one_run || method == Method::Window), of_search),
        ("per-client", options.per_client.is_some() && what != What::Clients, "--find clients"),
        (
            "from",
            options.start.is_some() && method == Method::Window,
            "loads; the ladder of windows starts at 5",
        ),
    ];
    if let Some((option, _, of)) = others.into_iter().find(|(_, is_given, _)| *is_given) {
        return Err(FindError::OfMethod { option, of });
    }
    if what != What::Queries {
        let connects = draft.transport.is_some_and(TransportKind::connects) || draft.mix.is_some();
        if !connects && draft.member.is_none() {
            return Err(FindError::NoConnections(what.name()));
        }
        if matches!(method, Method::Stair | Method::Ramp | Method::Window) {
            return Err(FindError::QueriesOnly { method: method.name() });
        }
    }
    if one_run && options.most.is_none() {
        let why = "the load at its end";
        return Err(FindError::Needs { method: method.name(), option: "most", why });
    }
    Ok(())
}

/// What is said of options for the load.
const FIRST_LOAD: &str = "use --from LOAD for the first load, --least and --most for its bounds";

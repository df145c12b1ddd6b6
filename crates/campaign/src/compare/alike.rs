//! What was not asked and measured alike: two runs say something about two servers only where all else is equal.

use std::collections::{BTreeMap, BTreeSet};

use dnsdyno_plan::Draft;
use dnsdyno_record::{Header, MemberInfo, Phase};
use dnsdyno_text::notation::{parse_count, parse_duration_ns};
use dnsdyno_text::units::setting;

use super::imported::ImportedRun;
use super::run::ComparedRun;
use super::subject::Subject;

/// Something that is not the same in all runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mismatch {
    /// What: `load`, or an option of the plan such as `edns-size`.
    pub what: String,
    /// Each value with the labels of its runs.
    pub values: Vec<(String, Vec<String>)>,
}

/// What is not the same in all of the runs, in the order of its weight.
pub(super) fn unlike(runs: &[&ComparedRun]) -> Vec<Mismatch> {
    let in_header = ASPECTS.iter().filter_map(|(what, value)| grouped(what, runs, |i| value(runs[i])));
    let mut found: Vec<Mismatch> = in_header.collect();
    let plans: Vec<_> = runs.iter().filter_map(|run| run.plan.as_ref()).map(options).collect();
    // Without all plans, the headers alone decide; a note says so.
    if plans.len() == runs.len() {
        let keys: BTreeSet<&String> = plans.iter().flat_map(BTreeMap::keys).collect();
        for key in keys {
            let values: Vec<_> = plans.iter().map(|plan| plan.get(key).cloned()).collect();
            let value_of = |i: usize| values[i].clone().unwrap_or_else(|| "not given".to_owned());
            found.extend(grouped(key, runs, value_of));
        }
    }
    found
}

/// What a run was asked, by name: the aspects of its header, and the options of its plan.
pub(crate) fn asked_of(run: &ComparedRun) -> BTreeMap<String, String> {
    let mut all = run.plan.as_ref().map(options).unwrap_or_default();
    all.extend(ASPECTS.iter().map(|(what, value)| ((*what).to_owned(), value(run))));
    all
}

/// What the results of other programs were not asked alike, as far as they say it: those of one program.
pub(super) fn unlike_imported(runs: &[&ImportedRun]) -> Option<Mismatch> {
    let mut values: Vec<(String, Vec<String>)> = Vec::new();
    let says = |run: &&&ImportedRun| run.result.asked.is_some();
    let name = |run: &ImportedRun| run.result.program.split(' ').next().unwrap_or_default().to_owned();
    let first = runs.iter().find(says).map(|run| name(run));
    for run in runs.iter().filter(says).filter(|run| Some(name(run)) == first) {
        let asked = run.result.asked.clone().unwrap_or_default();
        match values.iter_mut().find(|(known, _)| *known == asked) {
            Some((_, labels)) => labels.push(run.label.clone()),
            None => values.push((asked, vec![run.label.clone()])),
        }
    }
    (values.len() > 1).then(|| Mismatch { what: "command line".to_owned(), values })
}

/// The load of the first run, and what it went over, in words; of another program its options.
pub(super) fn asked(first: &Subject) -> String {
    match first {
        Subject::Run(run) => {
            format!("{} over {}", run.digest.header.load, transport(&run.digest.header))
        }
        Subject::Imported(run) => match &run.result.asked {
            Some(asked) => format!("{} {asked}", run.result.program),
            None => format!("by {}, which does not say it", run.result.program),
        },
    }
}

/// Whether the loads have the same steps, several of them.
pub(super) fn steps_are_alike(runs: &[&ComparedRun]) -> bool {
    let Some(first) = runs.first() else { return false };
    let is_alike = |run: &&ComparedRun| {
        let (header, other) = (&run.digest.header, &first.digest.header);
        run.digest.rows_are_phases()
            && header.phases == other.phases
            && header.interval_ns == other.interval_ns
    };
    runs.iter().all(is_alike)
}

/// What each run was asked, from its header: the name, and the value as text.
type Aspect = (&'static str, fn(&ComparedRun) -> String);

const ASPECTS: &[Aspect] = &[
    ("load", |run| run.digest.header.load.clone()),
    ("steps", |run| steps(&run.digest.header)),
    ("queries", |run| queries(&run.digest.header)),
    ("transport", |run| transport(&run.digest.header)),
    ("timeout", |run| setting(run.digest.header.timeout_ns)),
    ("responses", |run| if run.digest.header.send_only { "not awaited" } else { "awaited" }.to_owned()),
];

fn steps(header: &Header) -> String {
    let step = |phase: &Phase| match phase.to_ns {
        // A run that a number of queries ends.
        u64::MAX => format!("{} to the end", phase.label),
        to_ns => format!("{} for {}", phase.label, setting(to_ns.saturating_sub(phase.from_ns))),
    };
    header.phases.iter().map(step).collect::<Vec<_>>().join(", ")
}

/// Their hash, or, in records of older versions, their number.
fn queries(header: &Header) -> String {
    header.queries_hash.as_ref().map_or_else(|| header.queries.to_string(), |hash| format!("hash {hash}"))
}

fn transport(header: &Header) -> String {
    let member = |member: &MemberInfo| format!("{} {:.4}", member.transport, member.share);
    match header.mix.is_empty() {
        true => header.transport.clone(),
        false => header.mix.iter().map(member).collect::<Vec<_>>().join(", "),
    }
}

/// The options of a plan that change what is asked or how it is measured.
fn options(plan: &Draft) -> BTreeMap<String, String> {
    // Which servers is what is compared; how their clients behave is not.
    let mut plan = plan.clone();
    for member in plan.member.iter_mut().flatten() {
        (member.server, member.port, member.sni, member.http_path) = (None, None, None, None);
    }
    let options = plan.options().unwrap_or_default();
    let counts = |(key, _): &(String, String)| !NOT_COMPARED.contains(&key.as_str());
    options.into_iter().filter(counts).map(|(key, text)| (key, plain(&text))).collect()
}

/// The same quantity in one notation: 30s and 30000ms, 10k and 10000. A number without a unit is a number.
fn plain(text: &str) -> String {
    let as_duration = || parse_duration_ns(text).map(setting);
    let as_count = parse_count(text).map(|count| count.to_string());
    as_count.or_else(|_| as_duration()).unwrap_or_else(|_| text.to_owned())
}

/// The values with their runs; `None` where all are equal.
fn grouped(what: &str, runs: &[&ComparedRun], value_of: impl Fn(usize) -> String) -> Option<Mismatch> {
    let mut values: Vec<(String, Vec<String>)> = Vec::new();
    for (i, run) in runs.iter().enumerate() {
        let value = value_of(i);
        match values.iter_mut().find(|(known, _)| *known == value) {
            Some((_, labels)) => labels.push(run.label.clone()),
            None => values.push((value, vec![run.label.clone()])),
        }
    }
    (values.len() > 1).then(|| Mismatch { what: what.to_owned(), values })
}

/// Options that say which server, from where, how the run is called, or what is expected of it; those that choose at
/// random; and those that the header describes (the load, the queries, the transport, the timeout).
const NOT_COMPARED: &[&str] = &[
    "server",
    "servers",
    "port",
    "family",
    "check",
    "local-address",
    "local-ports",
    "interface",
    "next-hop",
    "vlan",
    "source-prefix",
    "ca",
    "sni",
    "insecure",
    "http-path",
    "name",
    "note",
    "expect",
    "expect-each",
    "stop-when",
    "interval",
    "trace",
    "trace-file",
    "seed",
    "queries",
    "ask",
    "strict",
    "lenient",
    "first-pass-rate",
    "first-pass-for",
    "outstanding",
    "rate",
    "ramp",
    "over",
    "stair",
    "step",
    "burst",
    "every",
    "hold",
    "piece",
    "send-only",
    "timeout",
    "transport",
    "mix",
];

//! Reads the entry of a run, a search or an experiment from its folder.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use dnsdyno_measure::WatchedKind;
use dnsdyno_record::figures::are_only_refusals;
use dnsdyno_record::{Ended, HOST_FILE, Header, Headline, HostInfo, RunReader, read_regular};
use serde::Deserialize;

use super::entry::{Entry, EntryFigure, What, accepted_in, labels_in};
use super::metric::HISTORY_METRICS;
use crate::compare::{ComparedRun, asked_of, figure_of, server};
use crate::doubts::with_effect;
use crate::experiment::cpu_of_answer;
use crate::find::report::{FINDING_FILE, ReadFinding};

/// The results of an experiment, in its folder.
pub(super) const RESULTS_FILE: &str = "results.json";

/// The entry of a run.
pub(super) fn run(folder: &Path) -> Result<Entry, String> {
    let read = ComparedRun::read(folder).map_err(|error| error.to_string())?;
    let (digest, header) = (&read.digest, &read.digest.header);
    let mut figures = BTreeMap::new();
    for metric in &HISTORY_METRICS {
        let figure = match metric.key {
            "cpu" => cpu_of_answer(digest).map(EntryFigure::exact),
            key => figure_of(key, digest).map(|figure| EntryFigure {
                at_least: figure.beyond_timeout,
                ..EntryFigure::exact(figure.value)
            }),
        };
        figures.extend(figure.map(|figure| (metric.key.to_owned(), figure)));
    }
    if digest.header.send_only {
        // What was not waited for has no answers.
        figures.retain(|key, _| key == "cpu");
    }
    let doubts: Vec<&str> = with_effect(digest).iter().map(dnsdyno_measure::Warning::name).collect();
    let left_out = match () {
        () if !digest.is_complete() => Some("its record has no end".to_owned()),
        () if digest.has_gap() => Some("lines of its record are lost".to_owned()),
        () if !is_regular(digest.ended()) => Some("it was ended before its time".to_owned()),
        () if are_only_refusals(digest.tally()) => Some("every response was REFUSED or SERVFAIL".to_owned()),
        () if !doubts.is_empty() => Some(format!("the generator is in doubt: {}", doubts.join(", "))),
        () => None,
    };
    let (mut asked, mut labels) = (asked_of(&read), BTreeMap::new());
    asked.insert("latency".to_owned(), latency_word(header.headline).to_owned());
    let notes = digest.events.iter().filter(|event| event.kind == NOTE).map(|event| event.message.as_str());
    let notes: Vec<&str> = header.note.as_deref().into_iter().chain(notes).collect();
    of_header(header, folder, &mut asked, &mut labels);
    notes.iter().for_each(|note| labels.extend(labels_in(note)));
    Ok(Entry {
        what: What::Run,
        started_unix_ns: header.started_unix_ns,
        asked,
        labels,
        figures,
        queries: digest.tally().scheduled,
        left_out,
        accepted: notes.iter().find_map(|note| accepted_in(note)),
    })
}

/// The entry of a search: its limit, with what the first of its runs was asked.
pub(super) fn search(folder: &Path) -> Result<Entry, String> {
    let found = ReadFinding::read(folder).map_err(|error| error.to_string())?;
    let mut entry = of_campaign(&folder.join(RUNS).join("001"), What::Search);
    // Each trial has another load.
    entry.asked.retain(|key, _| !LOAD_OF_A_TRIAL.contains(&key.as_str()));
    entry.asked.insert("load".to_owned(), format!("search for the limit ({})", found.method));
    entry.asked.insert("criteria".to_owned(), found.criteria.join(", "));
    entry.asked.insert("unit".to_owned(), found.unit.clone());
    if !LIMIT_UNITS.contains(&found.unit.as_str()) {
        entry.left_out = Some(format!("its limit is in {}, which is not followed", found.unit));
        return Ok(entry);
    }
    let outcome = &found.outcome;
    match (outcome.kind.as_str(), outcome.load) {
        ("capacity", Some(value)) => {
            let limit = EntryFigure { value, at_least: false, from: outcome.from, to: outcome.to };
            entry.figures.insert("limit".to_owned(), limit);
        }
        ("at_least", Some(value)) => {
            let limit = EntryFigure { at_least: true, ..EntryFigure::exact(value) };
            entry.figures.insert("limit".to_owned(), limit);
            entry.left_out = Some("the limit was not reached".to_owned());
        }
        (kind, _) => entry.left_out = Some(format!("it has no limit: {}", kind.replace('_', " "))),
    }
    Ok(entry)
}

/// The entries of an experiment: one for each server under each load.
pub(super) fn experiment(folder: &Path) -> Result<Vec<Entry>, String> {
    let text = read_regular(&folder.join(RESULTS_FILE)).map_err(|error| error.to_string())?;
    let results: Results = serde_json::from_str(&text).map_err(|error| error.to_string())?;
    let version = |name: &str| {
        results.servers.iter().find(|server| server.name == name).and_then(|server| server.version.clone())
    };
    let run_folder = |number: u32| folder.join(RUNS).join(format!("{number:03}"));
    let cell = |cell: &KeptCell| {
        let server = cell.server.clone().unwrap_or_default();
        let first = cell.runs.first().copied().map(run_folder);
        let found = cell.found.first().map(|found| run_folder(found.run));
        let mut entry = match (first, found) {
            (Some(run), _) => of_campaign(&run, What::Experiment),
            (None, Some(search)) => of_campaign(&search.join(RUNS).join("001"), What::Experiment),
            (None, None) => of_campaign(folder, What::Experiment),
        };
        entry.asked.insert("experiment".to_owned(), results.title.clone());
        entry.asked.insert("server".to_owned(), server.clone());
        let load = cell.load.clone().unwrap_or_default();
        entry.asked.insert("load".to_owned(), load);
        if let Some(version) = version(&server) {
            entry.labels.entry("version".to_owned()).or_insert(version);
        }
        entry.figures = cell.figures();
        if entry.figures.is_empty() {
            entry.left_out = Some(format!("it has no figures: {}", cell.state.replace('_', " ")));
        }
        entry
    };
    Ok(results.cells.iter().map(cell).collect())
}

/// What the first run of a campaign says of it; little, where there is none.
fn of_campaign(first: &Path, what: What) -> Entry {
    let mut entry = Entry {
        what,
        started_unix_ns: 0,
        asked: BTreeMap::new(),
        labels: BTreeMap::new(),
        figures: BTreeMap::new(),
        queries: 0,
        left_out: None,
        accepted: None,
    };
    let Ok(reader) = RunReader::open(first) else {
        entry.left_out = Some("none of its runs can be read: when it was made is not known".to_owned());
        return entry;
    };
    let header = reader.header();
    entry.started_unix_ns = header.started_unix_ns;
    if let Ok(read) = ComparedRun::read(first) {
        entry.asked = asked_of(&read);
    }
    of_header(header, first, &mut entry.asked, &mut entry.labels);
    let note = header.note.as_deref().unwrap_or_default();
    entry.labels.extend(labels_in(note));
    entry.accepted = accepted_in(note);
    entry
}

/// What the header and the host of a run say.
fn of_header(
    header: &Header,
    folder: &Path,
    asked: &mut BTreeMap<String, String>,
    labels: &mut BTreeMap<String, String>,
) {
    let software = header.watched.iter().filter(|source| source.kind != WatchedKind::Host);
    let software: Vec<_> = software.filter_map(|source| Some((source.software.as_ref()?, source))).collect();
    // The word of the server, where it is known: its address is often another one in each run.
    let server = software.first().map_or_else(|| server(header), |(word, _)| (*word).clone());
    asked.insert("server".to_owned(), server);
    let version = software.iter().find_map(|(_, source)| source.version.clone());
    labels.extend(version.map(|version| ("version".to_owned(), version)));
    labels.insert("dnsdyno".to_owned(), header.version.clone());
    // Which process or port was watched is another one in each run.
    asked.retain(|key, _| !key.starts_with(WATCH));
    let Some(host) = host_of(folder) else { return };
    asked.insert("host".to_owned(), host_words(&host));
    labels.extend(host.kernel_release.map(|kernel| ("kernel".to_owned(), kernel)));
}

fn host_of(folder: &Path) -> Option<HostInfo> {
    serde_json::from_str(&read_regular(&folder.join(HOST_FILE)).ok()?).ok()
}

/// What stays the same of a host whatever is installed on it.
fn host_words(host: &HostInfo) -> String {
    let memory = host.memory_bytes.map(|bytes| format!("{} GiB", bytes.div_ceil(1 << 30)));
    let cpus = host.cpus_allowed.as_ref().or(host.cpus_online.as_ref()).map(|cpus| format!("CPUs {cpus}"));
    [host.cpu_model.clone(), cpus, memory].into_iter().flatten().collect::<Vec<_>>().join(", ")
}

fn latency_word(headline: Headline) -> &'static str {
    match headline {
        Headline::Response => "response time",
        Headline::Service => "service time",
    }
}

fn is_regular(ended: Option<&Ended>) -> bool {
    matches!(ended, Some(Ended::ByTime | Ended::ByCount | Ended::ByPasses))
}

/// What is read of the results of an experiment.
#[derive(Deserialize)]
struct Results {
    title: String,
    servers: Vec<KeptServer>,
    cells: Vec<KeptCell>,
}

#[derive(Deserialize)]
struct KeptServer {
    name: String,
    version: Option<String>,
}

#[derive(Deserialize)]
struct KeptCell {
    server: Option<String>,
    load: Option<String>,
    #[serde(default)]
    state: String,
    #[serde(default)]
    runs: Vec<u32>,
    #[serde(default)]
    found: Vec<KeptFound>,
    answered_qps: Option<Spread>,
    answered_share: Option<Spread>,
    server_cpu_ns_per_answer: Option<Spread>,
    p50: Option<Latency>,
    p95: Option<Latency>,
    p99: Option<Latency>,
}

#[derive(Deserialize)]
struct KeptFound {
    run: u32,
    figure: Option<KeptFigure>,
}

#[derive(Deserialize)]
struct KeptFigure {
    value: f64,
    unit: String,
    from: Option<f64>,
    to: Option<f64>,
    at_least: bool,
}

#[derive(Deserialize)]
struct Spread {
    median: f64,
}

#[derive(Deserialize)]
struct Latency {
    median: Nanoseconds,
}

#[derive(Deserialize)]
struct Nanoseconds {
    ns: u64,
    beyond_timeout: bool,
}

impl KeptCell {
    fn figures(&self) -> BTreeMap<String, EntryFigure> {
        let exact = |spread: &Option<Spread>| spread.as_ref().map(|spread| EntryFigure::exact(spread.median));
        let latency = |latency: &Option<Latency>| {
            let Nanoseconds { ns, beyond_timeout } = latency.as_ref()?.median;
            Some(EntryFigure { at_least: beyond_timeout, ..EntryFigure::exact(ns as f64) })
        };
        let lost = self.answered_share.as_ref().map(|spread| EntryFigure::exact(1.0 - spread.median));
        let limit = self.found.iter().filter_map(|found| found.figure.as_ref()).find(|figure| {
            // What other programs print has units of their own.
            !figure.at_least && LIMIT_UNITS.contains(&figure.unit.as_str())
        });
        let limit =
            limit.map(|of| EntryFigure { value: of.value, at_least: false, from: of.from, to: of.to });
        let all = [
            ("limit", limit),
            ("rate", exact(&self.answered_qps)),
            ("loss", lost),
            ("p50", latency(&self.p50)),
            ("p95", latency(&self.p95)),
            ("p99", latency(&self.p99)),
            ("cpu", exact(&self.server_cpu_ns_per_answer)),
        ];
        all.into_iter().filter_map(|(key, figure)| Some((key.to_owned(), figure?))).collect()
    }
}

/// The folder of a run whose files say when the entry of `folder` has changed: a search and an experiment are described
/// by their first run too.
pub(super) fn described_by(folder: &Path, what: What) -> PathBuf {
    match what {
        What::Run => folder.to_owned(),
        What::Search | What::Experiment => folder.join(RUNS).join("001"),
    }
}

/// The file that an entry is made of, beside those of a run.
pub(super) fn file_of(what: What) -> Option<&'static str> {
    match what {
        What::Run => None,
        What::Search => Some(FINDING_FILE),
        What::Experiment => Some(RESULTS_FILE),
    }
}

/// How the options begin that say what is watched.
const WATCH: &str = "watch";

/// The kind of events that are notes.
const NOTE: &str = "note";

/// Where campaigns keep their runs.
const RUNS: &str = "runs";

/// What each trial of a search has its own of.
const LOAD_OF_A_TRIAL: [&str; 3] = ["load", "steps", "for"];

/// Units of limits that are rates.
const LIMIT_UNITS: [&str; 2] = ["qps", "connections/s"];

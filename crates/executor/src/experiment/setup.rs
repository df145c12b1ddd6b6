//! An experiment from its file, checked: after this nothing is checked again but what only a start can show.
//!
//! ```text
//!   [[server]] nsd, [[server.variant]] reuseport ──► subjects: nsd, nsd/reuseport ─┐
//!   [run] and [[load]] ──► drafts, each validated as a plan ──────────────────────┼─► Setup { design, … }
//!   [[helper]], [[event]] ──► what is beside the server, and what happens ─────────┘
//! ```

use std::collections::BTreeMap;
use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use dnsdyno_campaign::experiment::{Design, LoadOf, Order, Strictness, Subject};
use dnsdyno_lab::{ServerSpec, Zone, example_queries};
use dnsdyno_plan::units::{parse_duration_ns, parse_percent, parse_size_bytes};
use dnsdyno_plan::{Curve, Draft, Stop};
use dnsdyno_runner::validate;
use serde_json::Value;

use super::error::ExperimentError;
use super::events::{Action, Event, events};
use super::file::{
    AnswersWord, ChangesWord, Config, File, InDoubtWord, LoadTable, NamespaceWord, OrderWord, ServerTable,
    StartWord, Text,
};
use super::keys::nearest;

/// An experiment, ready to be carried out.
#[derive(Clone, Debug)]
pub struct Setup {
    /// Its title.
    pub title: String,
    /// What is measured, and how often.
    pub design: Design,
    /// Whether each server is started for each run.
    pub is_fresh: bool,
    /// Whether servers run in network namespaces of their own.
    pub namespace: Wanted,
    /// Whether servers and generator have CPUs of their own.
    pub pin: bool,
    /// What a reader of the file should know.
    pub notes: Vec<String>,
    /// By number of the subject.
    pub(super) subjects: Vec<Kind>,
    /// Servers that are started before each subject, and are not measured.
    pub(super) helpers: Vec<(String, Started)>,
    /// By number of the load: the options of its runs, but for the server.
    pub(super) drafts: Vec<Draft>,
    pub(super) events: Vec<Event>,
    /// The file, for the journal.
    pub(super) identity: Value,
}

/// Whether something is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// Where it can be.
    WherePossible,
    /// Always; it is an error where it cannot be.
    Always,
    /// Never.
    Never,
}

/// What a subject is.
#[derive(Clone, Debug)]
pub(super) enum Kind {
    /// It is there already.
    There {
        /// As for `--server`.
        address: String,
        /// Whether its owner allows the load.
        is_allowed: bool,
    },
    /// It is started.
    Started(Box<Started>),
}

/// How a server is started.
#[derive(Clone, Debug)]
pub(super) struct Started {
    pub(super) spec: ServerSpec,
    pub(super) zone: Zone,
    pub(super) threads: u32,
    pub(super) receive_buffer_bytes: Option<u32>,
    /// An address, or the name of a helper.
    pub(super) stub: Option<String>,
    pub(super) prepare: Option<String>,
    pub(super) ready_within: Option<Duration>,
    pub(super) parts: Vec<String>,
    pub(super) values: BTreeMap<String, String>,
    pub(super) environment: BTreeMap<String, String>,
    pub(super) sysctl: BTreeMap<String, String>,
}

impl Setup {
    /// Reads the file of an experiment; with `full`, at its full scale.
    ///
    /// # Errors
    /// What is wrong in it, with the line where that is known.
    pub fn read(path: &Path, full: bool) -> Result<Setup, ExperimentError> {
        let cannot = |source| ExperimentError::ReadFile { path: path.to_owned(), source };
        let text = fs::read_to_string(path).map_err(cannot)?;
        let wrong = |reason: String| ExperimentError::File { path: path.to_owned(), reason };
        let file = File::read(&text, full).map_err(wrong)?;
        let folder = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let folder = folder.canonicalize().map_err(cannot)?;
        let table: toml::Table = toml::from_str(&text).map_err(|error| wrong(error.to_string()))?;
        let identity = serde_json::json!({ "experiment": table, "full": full });
        let name = path.file_stem().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        checked(&file, &name, &folder, identity).map_err(wrong)
    }

    /// Whether any server is started, and not only asked.
    pub fn starts_servers(&self) -> bool {
        self.subjects.iter().any(|kind| matches!(kind, Kind::Started(_)))
    }

    /// The options of a run of a load, at a server.
    pub(super) fn draft(&self, load: usize, server: &str, is_allowed: bool) -> Draft {
        let draft = self.drafts.get(load).cloned().unwrap_or_default();
        Draft { server: Some(server.to_owned()), i_may_load_this_server: is_allowed.then_some(true), ..draft }
    }
}

fn checked(file: &File, name: &str, folder: &Path, identity: Value) -> Result<Setup, String> {
    if file.path.is_some() {
        return Err("[path] is not possible yet in this version: remove it".to_owned());
    }
    let mut notes = Vec::new();
    let helpers = helpers(file, folder)?;
    let names: Vec<&str> = helpers.iter().map(|(name, _)| name.as_str()).collect();
    let (subjects, kinds) = subjects(file, folder, &names)?;
    let repeats = bounded("repeats", file.repeats, 5, 1..=10_000)?;
    let watch = watch(file.watch.as_ref());
    let events = events(&file.event, &subjects, &load_names(&file.load)?, &names)?;
    let (mut loads, mut drafts) = (Vec::new(), Vec::new());
    for table in &file.load {
        let (load, draft) = load(file, table, folder, watch.as_ref(), &events, &kinds)?;
        loads.push(load);
        drafts.push(draft);
    }
    let design = Design {
        subjects,
        loads,
        repeats,
        dropped: bounded("drop-first", file.drop_first, 1, 0..=100)?,
        order: match file.order {
            Some(OrderWord::RandomBlocks) => Order::RandomBlocks,
            Some(OrderWord::InTurn) | None => Order::InTurn,
        },
        seed: file.seed.unwrap_or(1),
        retries: bounded("retries", file.retries, 3, 0..=1_000)?,
        rest_ns: duration("cool-down", file.cool_down.as_ref())?.unwrap_or(COOL_DOWN_NS),
    };
    if design.subjects.len() > 1 {
        let settings = dnsdyno_campaign::compare::Settings {
            family: u32::try_from(design.loads.len()).unwrap_or(u32::MAX),
            ..Default::default()
        };
        let fewest = settings.fewest_runs();
        if (repeats as usize) < fewest {
            notes.push(format!(
                "with {repeats} repeats no difference can be told from noise: it takes at least {fewest}, usually 10"
            ));
        }
    }
    Ok(Setup {
        title: file.title.clone().unwrap_or_else(|| name.to_owned()),
        design,
        is_fresh: file.start != Some(StartWord::Kept),
        namespace: match file.namespace {
            Some(NamespaceWord::Own) => Wanted::Always,
            Some(NamespaceWord::Host) => Wanted::Never,
            Some(NamespaceWord::Auto) | None => Wanted::WherePossible,
        },
        pin: file.pin.unwrap_or(true),
        notes,
        subjects: kinds,
        helpers,
        drafts,
        events,
        identity,
    })
}

fn helpers(file: &File, folder: &Path) -> Result<Vec<(String, Started)>, String> {
    let mut found: Vec<(String, Started)> = Vec::new();
    for table in &file.helper {
        let name = named("helper", &table.name)?;
        if !table.variant.is_empty() {
            return Err(format!(
                "helper `{name}` has variants: only servers have them, because only they are measured"
            ));
        }
        let known: Vec<&str> = found.iter().map(|(name, _)| name.as_str()).collect();
        if known.contains(&name.as_str()) {
            return Err(format!("two helpers are named `{name}`: each needs a name of its own"));
        }
        match kind(&format!("helper `{name}`"), &table.config, folder, &known)? {
            Kind::Started(started) => found.push((name, *started)),
            Kind::There { .. } => return Err(format!("helper `{name}` needs a `template`: it is started")),
        }
    }
    Ok(found)
}

/// The servers and their variants.
fn subjects(file: &File, folder: &Path, helpers: &[&str]) -> Result<(Vec<Subject>, Vec<Kind>), String> {
    if file.server.is_empty() {
        return Err("there is no [[server]]: name at least one".to_owned());
    }
    let (mut subjects, mut kinds): (Vec<Subject>, Vec<Kind>) = (Vec::new(), Vec::new());
    for table in &file.server {
        let name = named("server", &table.name)?;
        let base = subjects.len();
        kinds.push(kind(&format!("server `{name}`"), &table.config, folder, helpers)?);
        subjects.push(Subject {
            name: name.clone(),
            against: (base > 0).then_some(0),
            differs: String::new(),
        });
        for variant in variants(table, &name)? {
            kinds.push(kind(&format!("variant `{}`", variant.name), &variant.config, folder, helpers)?);
            subjects.push(Subject { name: variant.name, against: Some(base), differs: variant.differs });
        }
    }
    for (at, subject) in subjects.iter().enumerate() {
        if subjects.iter().take(at).any(|other| other.name == subject.name) {
            return Err(format!("two servers are named `{}`: each needs a name of its own", subject.name));
        }
    }
    Ok((subjects, kinds))
}

struct Variant {
    name: String,
    config: Config,
    differs: String,
}

fn variants(server: &ServerTable, name: &str) -> Result<Vec<Variant>, String> {
    let of = |table: &super::file::VariantTable| {
        let name = format!("{name}/{}", named("variant", &table.name)?);
        let config = table.config.over(&server.config);
        let differences = config.differences(&server.config);
        match (differences.len(), table.changes) {
            (0, _) => {
                return Err(format!(
                    "variant `{name}` changes nothing: give it a value that its server does not have"
                ));
            }
            (2.., None | Some(ChangesWord::One)) => {
                return Err(format!(
                    "variant `{name}` changes several things ({}): a difference could be of any of them; make a \
                     variant of each, or add `changes = \"several\"`",
                    differences.join("; ")
                ));
            }
            _ => {}
        }
        Ok(Variant { name, config, differs: differences.join("; ") })
    };
    server.variant.iter().map(of).collect()
}

/// A name that can be part of a path and of a sentence.
fn named(what: &str, name: &str) -> Result<String, String> {
    let is_good = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '+');
    match !name.is_empty() && name.len() <= 60 && name.chars().all(is_good) && !name.starts_with('.') {
        true => Ok(name.to_owned()),
        false => Err(format!(
            "{name:?} is no name of a {what}: use letters, digits, `-`, `_`, `.` and `+`, at most 60"
        )),
    }
}

impl Config {
    /// This, and where it has nothing, `base`.
    fn over(&self, base: &Config) -> Config {
        let merged = |own: &BTreeMap<String, Text>, base: &BTreeMap<String, Text>| {
            let mut all = base.clone();
            all.extend(own.clone());
            all
        };
        Config {
            template: self.template.clone().or(base.template.clone()),
            address: self.address.clone().or(base.address.clone()),
            i_may_load_this_server: self.i_may_load_this_server.or(base.i_may_load_this_server),
            program: self.program.clone().or(base.program.clone()),
            threads: self.threads.or(base.threads),
            receive_buffer: self.receive_buffer.clone().or(base.receive_buffer.clone()),
            zone: self.zone.clone().or(base.zone.clone()),
            origin: self.origin.clone().or(base.origin.clone()),
            stub: self.stub.clone().or(base.stub.clone()),
            prepare: self.prepare.clone().or(base.prepare.clone()),
            ready_within: self.ready_within.clone().or(base.ready_within.clone()),
            parts: self.parts.clone().or(base.parts.clone()),
            values: merged(&self.values, &base.values),
            environment: merged(&self.environment, &base.environment),
            sysctl: merged(&self.sysctl, &base.sysctl),
        }
    }

    /// What it has otherwise than `base`, for people.
    fn differences(&self, base: &Config) -> Vec<String> {
        let mut found = Vec::new();
        let mut one = |key: &str, own: Option<&str>, base: Option<&str>| {
            if own != base {
                found.push(format!("{key} = {}", own.unwrap_or("not given")));
            }
        };
        let threads = |config: &Config| config.threads.map(|threads| threads.to_string());
        one("template", self.template.as_deref(), base.template.as_deref());
        one("address", self.address.as_deref(), base.address.as_deref());
        one("program", self.program.as_deref(), base.program.as_deref());
        one("threads", threads(self).as_deref(), threads(base).as_deref());
        let buffer = |config: &Config| config.receive_buffer.as_ref().map(|text| text.0.clone());
        one("receive-buffer", buffer(self).as_deref(), buffer(base).as_deref());
        one("zone", self.zone.as_deref(), base.zone.as_deref());
        one("origin", self.origin.as_deref(), base.origin.as_deref());
        one("stub", self.stub.as_deref(), base.stub.as_deref());
        one("prepare", self.prepare.as_deref(), base.prepare.as_deref());
        let parts = |config: &Config| config.parts.clone().unwrap_or_default();
        let (own, of_base) = (parts(self), parts(base));
        found.extend(
            own.iter().filter(|part| !of_base.contains(part)).map(|part| format!("with part {part}")),
        );
        found.extend(
            of_base.iter().filter(|part| !own.contains(part)).map(|part| format!("without part {part}")),
        );
        let maps = [
            ("values", &self.values, &base.values),
            ("environment", &self.environment, &base.environment),
            ("sysctl", &self.sysctl, &base.sysctl),
        ];
        for (word, own, of_base) in maps {
            let differs = |(name, text): &(&String, &Text)| of_base.get(*name) != Some(*text);
            found
                .extend(own.iter().filter(differs).map(|(name, text)| format!("{word}.{name} = {}", text.0)));
        }
        found
    }
}

/// What a server is, by its keys.
fn kind(what: &str, config: &Config, folder: &Path, helpers: &[&str]) -> Result<Kind, String> {
    let template = match (&config.template, &config.address) {
        (Some(_), Some(_)) => {
            return Err(format!("{what} has a `template` and an `address`: it is started, or it is there"));
        }
        (None, None) => {
            return Err(format!("{what} needs a `template` to be started by, or the `address` where it is"));
        }
        (None, Some(address)) => {
            let started = Config { address: None, i_may_load_this_server: None, ..config.clone() };
            if let Some(first) = started.differences(&Config::default()).first() {
                let advice = "it is not started here: remove it, or give a `template`";
                return Err(format!("{what} has an `address`, and {first}: {advice}"));
            }
            let is_allowed = config.i_may_load_this_server == Some(true);
            return Ok(Kind::There { address: address.clone(), is_allowed });
        }
        (Some(template), None) => template,
    };
    let wrong = |error: &dyn std::fmt::Display| format!("{what}: {error}");
    let mut spec = spec(template, folder).map_err(|reason| wrong(&reason))?;
    if let Some(program) = &config.program {
        let path = if program.contains('/') { relative(folder, program) } else { program.clone() };
        spec = spec.with_program(&path);
    }
    let known: Vec<String> = spec.defaults().keys().cloned().collect();
    if let Some(unknown) = config.values.keys().find(|name| !known.contains(name)) {
        let advice = nearest(unknown, known.iter().map(String::as_str)).map_or_else(
            || format!("it has: {}", known.join(", ")),
            |nearest| format!("did you mean `{nearest}`?"),
        );
        return Err(format!("{what}: the template `{template}` has no value `{unknown}`: {advice}"));
    }
    let parts = config.parts.clone().unwrap_or_default();
    if let Some(unknown) = parts.iter().find(|part| !spec.parts().any(|known| known == *part)) {
        let known: Vec<&str> = spec.parts().collect();
        return Err(format!(
            "{what}: the template `{template}` has no part `{unknown}`: it has: {}",
            known.join(", ")
        ));
    }
    if let Some(stub) = config.stub.as_deref().filter(|stub| stub.parse::<SocketAddr>().is_err())
        && !helpers.contains(&stub)
    {
        return Err(format!("{what}: `stub = \"{stub}\"` is neither a helper before it nor ADDRESS:PORT"));
    }
    if let Some(other) = config.sysctl.keys().find(|name| !name.starts_with("net.") || name.contains("..")) {
        return Err(format!(
            "{what}: `{other}` is of the whole host: only settings of a network namespace (net.*) can be set"
        ));
    }
    let zone = zone(config, folder).map_err(|reason| wrong(&reason))?;
    let texts = |map: &BTreeMap<String, Text>| {
        map.iter().map(|(name, text)| (name.clone(), text.0.clone())).collect()
    };
    let buffer = config.receive_buffer.as_ref().map(|text| parse_size_bytes(&text.0)).transpose();
    let buffer = buffer.map_err(|error| wrong(&error))?.map(|bytes| u32::try_from(bytes).unwrap_or(u32::MAX));
    let ready = duration("ready-within", config.ready_within.as_ref()).map_err(|reason| wrong(&reason))?;
    Ok(Kind::Started(Box::new(Started {
        spec,
        zone,
        threads: config.threads.unwrap_or(1),
        receive_buffer_bytes: buffer,
        stub: config.stub.clone(),
        prepare: config.prepare.clone(),
        ready_within: ready.map(Duration::from_nanos),
        parts,
        values: texts(&config.values),
        environment: texts(&config.environment),
        sysctl: texts(&config.sysctl),
    })))
}

/// A template by the name of one of the testbed, or from a file of the user.
fn spec(template: &str, folder: &Path) -> Result<ServerSpec, String> {
    if !template.contains('/') && !template.ends_with(".toml") {
        return ServerSpec::named(template).map_err(|error| error.to_string());
    }
    let path = PathBuf::from(relative(folder, template));
    let text =
        fs::read_to_string(&path).map_err(|error| format!("cannot read {}: {error}", path.display()))?;
    let name = path.file_stem().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    ServerSpec::from_toml(&named("template", &name)?, &text).map_err(|error| error.to_string())
}

fn zone(config: &Config, folder: &Path) -> Result<Zone, String> {
    match (&config.zone, &config.origin) {
        (Some(file), Some(origin)) => {
            Zone::from_file(origin, Path::new(&relative(folder, file))).map_err(|error| error.to_string())
        }
        (None, Some(origin)) => Zone::from_text(origin, "").map_err(|error| error.to_string()),
        (Some(_), None) => Err("`zone` needs `origin`, the name of the zone".to_owned()),
        (None, None) => Ok(Zone::example()),
    }
}

fn load_names(tables: &[LoadTable]) -> Result<Vec<String>, String> {
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
fn load(
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
    for path in [&mut draft.queries, &mut draft.replay, &mut draft.zone, &mut draft.tsig_file, &mut draft.ca]
    {
        if let Some(text) = path {
            *text = relative(folder, text);
        }
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

fn watch(word: Option<&Text>) -> Option<Vec<String>> {
    match word.map(|text| text.0.as_str()) {
        None => Some(vec!["auto".to_owned()]),
        Some("off" | "false") => None,
        Some(text) => Some(vec![text.to_owned()]),
    }
}

fn bounded(
    key: &str,
    given: Option<u32>,
    usual: u32,
    range: std::ops::RangeInclusive<u32>,
) -> Result<u32, String> {
    let value = given.unwrap_or(usual);
    match range.contains(&value) {
        true => Ok(value),
        false => Err(format!("`{key} = {value}`: it is from {} to {}", range.start(), range.end())),
    }
}

/// A duration in ns.
pub(super) fn duration(key: &str, text: Option<&Text>) -> Result<Option<u64>, String> {
    text.map(|text| parse_duration_ns(&text.0)).transpose().map_err(|error| format!("`{key}`: {error}"))
}

/// A path of the file, which is relative to the folder of the file.
fn relative(folder: &Path, path: &str) -> String {
    folder.join(path).display().to_string()
}

/// Two seconds for sockets and timers of the run before.
const COOL_DOWN_NS: u64 = 2_000_000_000;

/// 5 %.
const STEADY_PERMILLE: u32 = 50;

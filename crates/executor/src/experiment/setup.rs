//! An experiment from its file, checked: after this nothing is checked again but what only a start can show.
//!
//! ```text
//!   [[server]] nsd, [[server.variant]] reuseport ──► subjects: nsd, nsd/reuseport ─┐
//!   [run] and [[load]] ──► drafts, each validated as a plan ──────────────────────┼─► Setup { design, … }
//!   [[helper]], [[event]] ──► what is beside the server, and what happens ─────────┘
//! ```

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use dnsdyno_campaign::experiment::{Column, Design, LoadKind, MOST_COLUMNS, Order, columns_of_hierarchy};
use dnsdyno_plan::{Draft, PlanError};
use dnsdyno_runner::{RunError, Runner};
use dnsdyno_text::encoding::read_text;
use dnsdyno_text::secret::{SECRET, trace, without_credentials};
use serde_json::{Map, Value};

use super::error::ExperimentError;
use super::file::{File, NamespaceWord, OrderWord, StartWord, TuneTable};
use super::given::Given;
use super::kind::{Kind, Started};
use super::loads::{Common, load, load_names, watch};
use super::subjects::{Helper, LeftOut, Subjects, helpers, subjects};
use super::timetable::{Event, Known, events};
use super::values::{bounded, duration};
use super::way::LoadSetup;

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
    pub namespace: NamespaceUse,
    /// Whether servers and generator have CPUs of their own.
    pub pin: bool,
    /// What a reader of the file should know.
    pub notes: Vec<String>,
    /// The folder of the file.
    pub(super) folder: PathBuf,
    /// By number of the subject.
    pub(super) subjects: Vec<Kind>,
    /// Servers that may be left out, and are.
    pub(super) left_out: Vec<LeftOut>,
    /// Servers that are started before each subject, and are not measured.
    pub(super) helpers: Vec<Helper>,
    /// By number of the load.
    pub(super) loads: Vec<LoadSetup>,
    pub(super) events: Vec<Event>,
    /// What `dnsdyno tune` does with the file.
    pub(super) tune: Option<TuneTable>,
    /// The file, for the journal.
    pub(super) identity: Value,
}

/// Whether something is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NamespaceUse {
    /// Where it can be.
    WherePossible,
    /// Always; it is an error where it cannot be.
    Always,
    /// Never.
    Never,
}

impl Setup {
    /// Reads the file of an experiment, with what is given beside it. `runner` validates its runs, and makes none.
    ///
    /// # Errors
    /// What is wrong in it, with the line where that is known.
    pub fn read(path: &Path, given: &Given, runner: &dyn Runner) -> Result<Setup, ExperimentError> {
        let cannot = |source| ExperimentError::ReadFile { path: path.to_owned(), source };
        let text = read_text(path).map_err(cannot)?;
        let wrong = |reason: String| ExperimentError::File { path: path.to_owned(), reason };
        let file = File { given: given.clone(), ..File::read(&text, given.full).map_err(wrong)? };
        let folder = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let folder = folder.canonicalize().map_err(cannot)?;
        let mut table: toml::Table = toml::from_str(&text).map_err(|error| wrong(error.to_string()))?;
        hide_secrets(&mut table);
        without_columns(&mut table);
        let mut identity = serde_json::json!({ "experiment": table, "full": given.full });
        if !given.programs.is_empty() {
            let text = |path: &PathBuf| Value::from(path.display().to_string());
            let programs = given.programs.iter().map(|(name, path)| (name.clone(), text(path)));
            identity["programs"] = programs.collect::<Map<_, _>>().into();
        }
        let name = path.file_stem().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        checked(&file, &name, &folder, identity, runner).map_err(wrong)
    }

    /// Whether any server is started, and not only asked.
    pub fn starts_servers(&self) -> bool {
        self.subjects.iter().any(|kind| matches!(kind, Kind::Started(_)))
    }

    /// The helpers that are started before a server.
    pub(super) fn helpers_of<'a>(&'a self, server: &'a Started) -> impl Iterator<Item = &'a Helper> {
        let is_it = |helper: &&Helper| !helper.is_kept;
        let is_beside = move |helper: &&Helper| is_beside(helper, &self.helpers, &self.subjects, server);
        self.helpers.iter().filter(is_it).filter(is_beside)
    }

    /// The options of a run of a load, at a server.
    pub(super) fn draft(&self, load: usize, server: &str, is_allowed: bool) -> Draft {
        let draft = self.loads.get(load).map(|load| load.draft.clone()).unwrap_or_default();
        Draft { server: Some(server.to_owned()), i_may_load_this_server: is_allowed.then_some(true), ..draft }
    }
}

fn checked(
    file: &File,
    name: &str,
    folder: &Path,
    mut identity: Value,
    runner: &dyn Runner,
) -> Result<Setup, String> {
    let helpers = helpers(file, folder)?;
    let names: Vec<&str> = helpers.iter().map(|helper| helper.name.as_str()).collect();
    let Subjects { subjects, mut kinds, left_out } = subjects(file, folder, &names)?;
    allow(&mut kinds, &file.given.allowed, runner)?;
    check_paths(&helpers, &kinds)?;
    check_roots(&helpers, &kinds)?;
    if !left_out.is_empty() {
        let names: Vec<&str> = left_out.iter().map(|one| one.name.as_str()).collect();
        identity["left_out"] = serde_json::json!(names);
    }
    bounded("repeats", file.repeats, 5, 1..=10_000)?;
    bounded("drop-first", file.drop_first, 1, 0..=100)?;
    let watch = watch(file.watch.as_ref());
    let known = Known {
        subjects: &subjects,
        kinds: &kinds,
        left_out: &left_out,
        loads: &load_names(&file.load)?,
        helpers: &names,
    };
    let events = events(&file.event, &known)?;
    let common = Common {
        file,
        folder,
        watch: watch.as_ref(),
        events: &events,
        subjects: &subjects,
        kinds: &kinds,
        runner,
    };
    let loads: Vec<_> = file.load.iter().map(|table| load(table, &common)).collect::<Result<_, _>>()?;
    let (of_loads, loads) = loads.into_iter().unzip();
    let design = Design {
        subjects,
        loads: of_loads,
        order: order(file),
        seed: file.seed.unwrap_or(1),
        retries: bounded("retries", file.retries, 3, 0..=1_000)?,
        rest_ns: duration("cool-down", file.cool_down.as_ref())?.unwrap_or(COOL_DOWN_NS),
        columns: columns(file, &kinds)?,
    };
    let notes = left_out.iter().map(LeftOut::sentence).chain(too_few(&design)).collect();
    Ok(Setup {
        title: file.title.clone().unwrap_or_else(|| name.to_owned()),
        design,
        is_fresh: file.start != Some(StartWord::Kept),
        namespace: namespace(file),
        pin: file.pin.unwrap_or(true),
        notes,
        folder: folder.to_owned(),
        subjects: kinds,
        left_out,
        helpers,
        loads,
        events,
        tune: file.tune.clone(),
        identity,
    })
}

fn order(file: &File) -> Order {
    match file.order {
        Some(OrderWord::RandomBlocks) => Order::RandomBlocks,
        Some(OrderWord::InTurn) | None => Order::InTurn,
    }
}

fn namespace(file: &File) -> NamespaceUse {
    match file.namespace {
        Some(NamespaceWord::Own) => NamespaceUse::Always,
        Some(NamespaceWord::Host) => NamespaceUse::Never,
        Some(NamespaceWord::Auto) | None => NamespaceUse::WherePossible,
    }
}

/// The columns of the file, which are told apart by their titles; before them those of a hierarchy, where a server has
/// one.
fn columns(file: &File, kinds: &[Kind]) -> Result<Vec<Column>, String> {
    let columns: Vec<Column> = file.columns.iter().flatten().map(|column| column.0.clone()).collect();
    if columns.len() > MOST_COLUMNS {
        return Err(format!("`columns` has {}, and may have {MOST_COLUMNS}: remove some", columns.len()));
    }
    let mut titles = BTreeSet::new();
    match columns.iter().find(|column| !titles.insert(&column.title)) {
        Some(twice) => Err(format!(
            "`columns` has `{}` twice: give one of them another title, as in `TITLE = SERIES`",
            twice.title
        )),
        None => {
            let has_one = |kind: &Kind| matches!(kind, Kind::Started(started) if started.hierarchy.is_some());
            let of_hierarchy = columns_of_hierarchy().filter(|_| kinds.iter().any(has_one));
            let new = of_hierarchy.filter(|column| !titles.contains(&column.title));
            Ok(new.chain(columns.clone()).collect())
        }
    }
}

/// Takes the columns out of what an experiment is: they may be added to one that is finished, whose results are then
/// written anew.
fn without_columns(table: &mut toml::Table) {
    table.remove("columns");
    if let Some(toml::Value::Table(full)) = table.get_mut("full") {
        full.remove("columns");
    }
}

/// Checks that no server has a path to a helper that is kept.
fn check_paths(helpers: &[Helper], kinds: &[Kind]) -> Result<(), String> {
    for helper in helpers.iter().filter(|helper| helper.is_kept) {
        let has_path_to = |kind: &Kind| {
            matches!(kind, Kind::Started(started)
            if started.path.as_ref().is_some_and(|path| path.helper.as_ref() == Some(&helper.name)))
        };
        if kinds.iter().any(has_path_to) {
            return Err(format!(
                "a path to the helper `{}`, which is reached by files: remove it",
                helper.name
            ));
        }
    }
    Ok(())
}

/// Checks that no server names a root that is not started for it.
fn check_roots(helpers: &[Helper], kinds: &[Kind]) -> Result<(), String> {
    for (helper, started) in helpers.iter().flat_map(|helper| started(kinds).map(move |kind| (helper, kind)))
    {
        let has_path = started.path.as_ref().is_some_and(|path| path.helper.as_ref() == Some(&helper.name));
        let is_named = has_path || started.stub.as_ref() == Some(&helper.name);
        if is_named && !is_beside(helper, helpers, kinds, started) {
            return Err(format!(
                "the helper `{}` is the `hierarchy` of other servers, and is started for those only: it has no `stub` \
                 and no `path`",
                helper.name
            ));
        }
    }
    Ok(())
}

/// Whether a helper is started beside a server: one that is the root of some servers only beside those.
fn is_beside(helper: &Helper, helpers: &[Helper], kinds: &[Kind], server: &Started) -> bool {
    let names = |how: &Started| how.hierarchy.as_ref() == Some(&helper.name);
    !started(kinds).any(names) || names(server) || helpers.iter().any(|other| names(&other.how))
}

fn started(kinds: &[Kind]) -> impl Iterator<Item = &Started> {
    kinds.iter().filter_map(|kind| match kind {
        Kind::Started(started) => Some(&**started),
        Kind::There { .. } => None,
    })
}

/// Marks the servers that may be loaded, and refuses those that may not, whatever puts a load on them.
fn allow(kinds: &mut [Kind], allowed: &[String], runner: &dyn Runner) -> Result<(), String> {
    for wanted in allowed {
        let mut is_known = false;
        for kind in kinds.iter_mut() {
            if let Kind::There { address, is_allowed } = kind
                && address == wanted
            {
                (*is_allowed, is_known) = (true, true);
            }
        }
        if !is_known {
            return Err(format!(
                "--i-may-load-this-server {wanted}: no [[server]] has this `address`; write it as the file does"
            ));
        }
    }
    for kind in kinds {
        let Kind::There { address, is_allowed } = kind else { continue };
        let asked = Draft {
            server: Some(address.clone()),
            ask: Some(vec![".".to_owned()]),
            i_may_load_this_server: Some(*is_allowed),
            ..Draft::default()
        };
        // What else may be wrong is told of its load.
        if let Err(error @ RunError::Plan(PlanError::MayNotLoad { .. })) = runner.validate(&asked) {
            return Err(format!("{error} {address}"));
        }
    }
    Ok(())
}

/// Puts a trace in the place of each secret: a journal tells that one was changed, and not what it is.
fn hide_secrets(table: &mut toml::Table) {
    fn hidden(text: &str) -> toml::Value {
        toml::Value::String(format!("{SECRET} {:04x}", trace(text)))
    }
    fn hide(value: &mut toml::Value) {
        match value {
            toml::Value::Table(table) => hide_secrets(table),
            toml::Value::Array(list) => list.iter_mut().for_each(hide),
            toml::Value::String(text) => {
                if let Cow::Owned(without) = without_credentials(text) {
                    *text = format!("{without} {:04x}", trace(text));
                }
            }
            _ => {}
        }
    }
    for (key, value) in table {
        match value {
            toml::Value::String(text) if key == "tsig" => *value = hidden(text),
            toml::Value::Table(variables) if key == "environment" => {
                variables.iter_mut().for_each(|(_, value)| *value = hidden(&value.to_string()));
            }
            value => hide(value),
        }
    }
}

/// That the runs are too few for a comparison.
fn too_few(design: &Design) -> Option<String> {
    let compared = design.loads.iter().filter(|load| load.kind == LoadKind::Run);
    let repeats = compared.map(|load| load.repeats).min().filter(|_| design.subjects.len() > 1)?;
    let family = design.compared_loads();
    let fewest = dnsdyno_campaign::compare::Settings { family, ..Default::default() }.fewest_runs();
    ((repeats as usize) < fewest).then(|| {
        format!("with {repeats} repeats no difference can be told from noise: it takes at least {fewest}, usually 10")
    })
}

/// Two seconds for sockets and timers of the run before.
const COOL_DOWN_NS: u64 = 2_000_000_000;

//! A night of tuning, checked: an experiment with one server under one load, and what may be changed.

use std::path::Path;

use dnsdyno_campaign::experiment::{Design, LoadKind, LoadOf, Order, Strictness, Subject};
use dnsdyno_campaign::tune::Judge;
use dnsdyno_plan::Draft;
use dnsdyno_runner::Runner;
use dnsdyno_servers::{Server, server_of, server_of_process};
use serde_json::{Value, json};

use super::chosen::wanted;
use super::host::{On, There};
use super::options::{Checked, TuneOptions};
use crate::experiment::error::ExperimentError;
use crate::experiment::file::TuneTable;
use crate::experiment::given::Given;
use crate::experiment::kind::Kind;
use crate::experiment::setup::{NamespaceUse, Setup};
use crate::experiment::way::{LoadMethod, LoadSetup};

/// A night of tuning, ready to be carried out.
#[derive(Clone, Debug)]
pub struct TuneSetup {
    /// The experiment whose server is tuned.
    pub(super) setup: Setup,
    /// The numbers of the server and of the load.
    pub(super) subject: usize,
    pub(super) load: usize,
    /// Which server it is.
    pub(super) server: &'static Server,
    pub(super) options: TuneOptions,
    pub(super) checked: Checked,
    pub(super) on: On,
    /// How the server is changed, where it is there already.
    pub(super) there: There,
    /// Whether answers count that say that the server has failed.
    pub(super) errors_count: bool,
}

/// A server that is there already.
#[derive(Clone, Debug)]
pub struct TunedServer {
    /// The options of each trial, with the server.
    pub draft: Draft,
    /// Its word in the catalogue: `bind`.
    pub word: String,
    /// Where it runs.
    pub on: On,
    /// How its configuration is changed.
    pub there: There,
    /// Whether trials count whose rate or loss is in doubt.
    pub keeps_doubtful: bool,
}

impl TuneSetup {
    /// Reads the file of an experiment with a table `[tune]`. What `options` say goes before what the table says.
    ///
    /// # Errors
    /// What is wrong in it.
    pub fn read(
        path: &Path,
        allowed: &[String],
        options: TuneOptions,
        runner: &dyn Runner,
    ) -> Result<TuneSetup, ExperimentError> {
        let given = Given { allowed: allowed.to_vec(), ..Given::default() };
        let setup = Setup::read(path, &given, runner)?;
        let wrong = |reason: String| ExperimentError::File { path: path.to_owned(), reason };
        let table = setup.tune.clone().unwrap_or_default();
        let design = &setup.design;
        let at = |what: &str, name: Option<&String>, names: Vec<&String>| match name {
            None => Ok(0),
            Some(name) => names.iter().position(|known| *known == name).ok_or_else(|| {
                wrong(format!("`{what} = \"{name}\"` in [tune]: there is no {what} of this name"))
            }),
        };
        let subjects = design.subjects.iter().map(|subject| &subject.name).collect();
        let subject = at("server", table.server.as_ref(), subjects)?;
        let load = at("load", table.load.as_ref(), design.loads.iter().map(|load| &load.name).collect())?;
        if design.loads.get(load).is_some_and(|load| load.kind == LoadKind::Program) {
            return Err(wrong("[tune] needs a load of ours, or a search; not another program".to_owned()));
        }
        let server = match setup.subjects.get(subject) {
            Some(Kind::Started(started)) => {
                let program = Path::new(started.spec.program_name()).file_name().unwrap_or_default();
                server_of_process(&program.to_string_lossy()).ok_or_else(|| {
                    wrong(format!("{} is not in the catalogue", started.spec.program_name()))
                })?
            }
            _ => return Err(wrong(NOT_STARTED.to_owned())),
        };
        let options = options.over(of_table(&table));
        let checked = options.checked().map_err(wrong)?;
        let is_search = design.loads.get(load).is_some_and(|load| load.kind == LoadKind::Search);
        if is_search && checked.judge != Judge::Answered {
            return Err(wrong(format!("`judge = \"{}\"`: {NO_LATENCY}", checked.judge.word())));
        }
        let errors_count = design.loads.get(load).is_some_and(|load| load.strictness.any_answer);
        wanted(server, &options).map_err(wrong)?;
        Ok(TuneSetup {
            setup,
            subject,
            load,
            server,
            options,
            checked,
            on: On::Host,
            there: There::default(),
            errors_count,
        })
    }

    /// The same for a server that is there already.
    ///
    /// # Errors
    /// A sentence that says what is wrong.
    pub fn of_server(
        server: TunedServer,
        options: TuneOptions,
        runner: &dyn Runner,
    ) -> Result<TuneSetup, String> {
        let TunedServer { mut draft, word, on, there, keeps_doubtful } = server;
        let known =
            server_of(&word).ok_or_else(|| format!("`--software {word}`: the catalogue has {}", words()))?;
        let checked = options.checked()?;
        wanted(known, &options)?;
        let address =
            draft.server.take().ok_or("no server is given: add -s ADDRESS, or the file of an experiment")?;
        if draft.watch.is_none() {
            let of_host = match &on {
                On::Ssh(host) => format!("ssh://{host}"),
                On::Host | On::Namespace(_) => "auto".to_owned(),
            };
            draft.watch = Some(vec![of_host.into()]);
        }
        let is_allowed = draft.i_may_load_this_server == Some(true);
        let plans = runner.validate(&Draft { server: Some(address.clone()), ..draft.clone() });
        let plan = plans.map_err(|error| error.to_string())?.plan;
        let identity = json!({
            "tune": word, "server": address, "draft": draft, "options": options,
            "on": format!("{on:?}"), "there": format!("{there:?}"),
        });
        // The answers that are errors can be taken away from a rate, and not from a percentile.
        let any_answer = checked.judge == Judge::Answered;
        let strictness = Strictness { steady_permille: None, any_answer, keeps_doubtful };
        let load = LoadOf {
            name: "load".to_owned(),
            kind: LoadKind::Run,
            strictness,
            lasts_ns: plan.stop.duration_ns,
            on: None,
            has_course: false,
            repeats: 1,
            dropped: 0,
        };
        let subject = Subject { name: word.clone(), against: None, differs: String::new() };
        let design = Design {
            subjects: vec![subject],
            loads: vec![load],
            order: Order::InTurn,
            seed: 1,
            retries: RETRIES,
            rest_ns: REST_NS,
            columns: Vec::new(),
        };
        let setup = Setup {
            title: format!("Tuning {word} at {address}"),
            design,
            is_fresh: true,
            namespace: NamespaceUse::Never,
            pin: false,
            notes: Vec::new(),
            folder: std::env::current_dir().unwrap_or_default(),
            left_out: Vec::new(),
            subjects: vec![Kind::There { address, is_allowed }],
            helpers: Vec::new(),
            loads: vec![LoadSetup { draft, way: LoadMethod::Run, before: None }],
            events: Vec::new(),
            tune: None,
            identity,
        };
        let (subject, load, errors_count) = (0, 0, false);
        Ok(TuneSetup { setup, subject, load, server: known, options, checked, on, there, errors_count })
    }

    /// Its title.
    pub fn title(&self) -> &str {
        &self.setup.title
    }

    /// How long it may take, in ns.
    pub fn lasts_ns(&self) -> u64 {
        self.checked.lasts_ns
    }

    /// What is tuned.
    pub(super) fn kind(&self) -> Option<&Kind> {
        self.setup.subjects.get(self.subject)
    }

    /// The night, for the journal.
    pub(super) fn identity(&self) -> Value {
        json!({ "tune": self.setup.identity, "options": self.options })
    }

    /// How long a trial takes about, with the start of its server and the rest before it, in ns.
    pub(super) fn trial_ns(&self) -> u64 {
        let load = self.setup.design.loads.get(self.load).and_then(|load| load.lasts_ns);
        load.unwrap_or(UNKNOWN_NS).saturating_add(self.setup.design.rest_ns).saturating_add(AROUND_NS)
    }
}

fn of_table(table: &TuneTable) -> TuneOptions {
    TuneOptions {
        parameters: table.parameters.clone().unwrap_or_default(),
        without: table.without.clone().unwrap_or_default(),
        allow: Vec::new(),
        first: Vec::new(),
        lasts: table.r#for.as_ref().map(|text| text.0.clone()),
        smallest_gain: table.smallest_gain.as_ref().map(|text| text.0.clone()),
        pairs: table.pairs,
        judge: table.judge.clone(),
    }
}

fn words() -> String {
    dnsdyno_servers::SERVERS.iter().map(|server| server.word).collect::<Vec<_>>().join(", ")
}

/// Trials in a row that may not count.
const RETRIES: u32 = 3;

/// For sockets and timers of the trial before.
const REST_NS: u64 = 500_000_000;

/// A load without a length of its own.
const UNKNOWN_NS: u64 = 10_000_000_000;

/// The start and the end of a server.
const AROUND_NS: u64 = 1_500_000_000;

const NO_LATENCY: &str = "the load is a search, whose trials are judged by the limit that each has found, not by a \
                          latency: remove `judge`, or give a load with a `rate`";

const NOT_STARTED: &str = "[tune] needs a [[server]] with a `template`; for a server that is there already, give -s, \
                           --software and --on on the command line instead of a file";

//! Which parameters of the catalogue a night may change: their present values, how each is set here, and why the others
//! cannot be.

use dnsdyno_lab::{Namespace, VethPair};
use dnsdyno_servers::Server;
use dnsdyno_servers::tuning::{Access, Scope, Tunable, sysctl_path, tunables_for, value_in};

use super::host::Host;
use super::how::How;
use super::options::TuneOptions;
use crate::experiment::keys::nearest;
use crate::experiment::kind::Started;

/// A parameter that a night may change.
#[derive(Clone, Debug)]
pub(super) struct Chosen {
    pub(super) tunable: &'static Tunable,
    pub(super) how: How,
    /// `None` where nothing sets it and its default is not known.
    pub(super) present: Option<String>,
    /// To try, nearest first; at least one.
    pub(super) values: Vec<String>,
}

/// A parameter that cannot be changed here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotHere {
    /// Its name.
    pub id: String,
    /// Its numbers in the lists of the fourth field report.
    pub numbers: Vec<String>,
    /// Why.
    pub why: String,
}

/// The parameters of the catalogue for a server that the options leave.
pub(super) fn wanted(server: &Server, options: &TuneOptions) -> Result<Vec<&'static Tunable>, String> {
    let all: Vec<&'static Tunable> = tunables_for(server.word).collect();
    let is = |tunable: &Tunable, name: &str| tunable.id() == name || tunable.name == name;
    let named = options.parameters.iter().chain(&options.without).chain(&options.allow);
    for name in named {
        if !all.iter().any(|tunable| is(tunable, name)) {
            let ids: Vec<String> = all.iter().map(|tunable| tunable.id()).collect();
            let advice = nearest(name, ids.iter().map(String::as_str)).map_or_else(
                || "`dnsdyno tune --list` has all of them".to_owned(),
                |nearest| format!("did you mean `{nearest}`?"),
            );
            return Err(format!("the catalogue has no parameter `{name}` for {}: {advice}", server.word));
        }
    }
    let is_in = |list: &[String], tunable: &Tunable| list.iter().any(|name| is(tunable, name));
    let mut wanted: Vec<&'static Tunable> = all
        .into_iter()
        .filter(|tunable| options.parameters.is_empty() || is_in(&options.parameters, tunable))
        .filter(|tunable| !is_in(&options.without, tunable))
        .collect();
    // Those that a diagnosis has named come first.
    wanted.sort_by_key(|tunable| !options.first.iter().any(|name| tunable.is_called(name)));
    Ok(wanted)
}

/// Where the parameters of a server that is started for each trial are.
pub(super) struct OfStarted<'a> {
    pub(super) started: &'a Started,
    /// Its configuration, as it is without any change.
    pub(super) config: &'a str,
    pub(super) server: &'static Server,
    /// A pair of namespaces as each trial has it; `None` where trials have none.
    pub(super) pair: Option<&'a VethPair>,
    /// The CPUs of the server.
    pub(super) cpus: &'a [u32],
}

impl OfStarted<'_> {
    /// How a parameter is set, and its present value; or why it cannot be.
    pub(super) fn look(&self, tunable: &'static Tunable, host: &mut Host) -> Result<Chosen, String> {
        let (how, present) = match (&tunable.access, tunable.scope) {
            (Access::Sysctl, Scope::Namespace) => match self.pair.map(VethPair::far) {
                Some(far) => (How::Namespace, Some(self.sysctl(far, tunable)?)),
                None => host.kernel(vec![sysctl_path(&tunable.name)])?,
            },
            (Access::Sysctl, _) => host.kernel(vec![sysctl_path(&tunable.name)])?,
            (Access::File { path, .. }, _) if path.contains("{interface}") => return Err(NO_CARD.to_owned()),
            (Access::File { path, .. }, _) => host.files(path)?,
            (Access::Ethtool { .. }, _) => return Err(NO_CARD.to_owned()),
            (Access::Configuration, _) => {
                let default = self.server.default_of(&tunable.name).map(str::to_owned);
                (How::Setting, value_in(self.server, self.config, &tunable.name).or(default))
            }
            (Access::Argument(_), _) => (How::Threads, Some(self.started.threads.to_string())),
            (Access::Limit(limit), _) if limit == OPEN_FILES => {
                (How::OpenFiles, self.started.open_files.or_else(open_files).map(|files| files.to_string()))
            }
            (Access::Quota, _) => {
                let share = self.started.cpu_quota.ok_or("the server has no quota of CPU time")?;
                (How::Quota, Some(format!("{:.0}", share * 100.0)))
            }
            _ => return Err(OF_UNIT.to_owned()),
        };
        chosen(tunable, how, present, self.cpus)
    }

    fn sysctl(&self, far: &Namespace, tunable: &Tunable) -> Result<String, String> {
        if let Some(value) = self.started.sysctl.get(&tunable.name) {
            return Ok(value.clone());
        }
        let path = sysctl_path(&tunable.name);
        let read = far.enter(|| std::fs::read_to_string(&path)).map_err(|error| error.to_string())?;
        let text = read.map_err(|_| NOT_IN_NAMESPACE.to_owned())?;
        Ok(text.trim_end().to_owned())
    }
}

/// A parameter with what is to be tried of it.
pub(super) fn chosen(
    tunable: &'static Tunable,
    how: How,
    present: Option<String>,
    cpus: &[u32],
) -> Result<Chosen, String> {
    // The kernel puts tabs between numbers.
    let present = present.map(|text| text.split_whitespace().collect::<Vec<_>>().join(" "));
    let values = tunable.candidates_on(present.as_deref(), cpus);
    match (values.is_empty(), &present) {
        (false, _) => Ok(Chosen { tunable, how, present, values }),
        (true, Some(present)) => {
            Err(format!("no value beyond the present one ({present}) is worth a trial here"))
        }
        (true, None) => Err("its present value is not known, and no step can be made from it".to_owned()),
    }
}

/// The limit of open files of this process, which servers inherit.
fn open_files() -> Option<u32> {
    let limits = std::fs::read_to_string("/proc/self/limits").ok()?;
    let line = limits.lines().find(|line| line.starts_with("Max open files"))?;
    line.split_whitespace().nth(3)?.parse().ok()
}

/// The limit that `prlimit` sets.
const OPEN_FILES: &str = "NOFILE";

const NO_CARD: &str = "servers that are started for a trial have no network card: tune a server that is there, with \
                       --on and --server-interface";
const OF_UNIT: &str = "it is of how the service is started: change its unit, and tune again";
const NOT_IN_NAMESPACE: &str = "a network namespace of this kernel does not have it";

//! What a server is: there already, or started from a template; and what a variant of it has otherwise.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use dnsdyno_lab::{Root, ServerSpec, Zone};
use dnsdyno_text::encoding::read_text;
use dnsdyno_text::notation::{parse_percent, parse_size_bytes};
use dnsdyno_text::secret::Secret;
use toml::{Table, Value};

use super::file::Config;
use super::keys::{fields_of, nearest};
use super::path::{Between, said};
use super::text::{SecretText, Text};
use super::values::{duration, named, relative};

/// What a subject is.
#[derive(Clone, Debug)]
pub(super) enum Kind {
    /// It is there already.
    There {
        /// As for `--server`.
        address: String,
        /// Whether who runs the experiment says that it may be loaded.
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
    /// The name of a helper, from whose root it resolves.
    pub(super) hierarchy: Option<String>,
    pub(super) prepare: Option<String>,
    pub(super) ready_when: Option<String>,
    pub(super) ready_within: Option<Duration>,
    /// A path between it and those who ask it, or those whom it asks.
    pub(super) path: Option<Between>,
    pub(super) parts: Vec<String>,
    pub(super) values: BTreeMap<String, String>,
    pub(super) environment: BTreeMap<String, Secret>,
    pub(super) sysctl: BTreeMap<String, String>,
    /// Parameters of the server in its configuration.
    pub(super) settings: BTreeMap<String, String>,
    pub(super) open_files: Option<u32>,
    /// The CPU time that it gets, as a share of one CPU.
    pub(super) cpu_quota: Option<f64>,
}

impl Started {
    /// Checks that this host can start it. Nothing is started.
    ///
    /// # Errors
    /// Why not, and what to do.
    pub(super) fn able(&self) -> Result<(), String> {
        self.spec.check().map_err(|error| error.to_string())?;
        let is_root = rustix::process::geteuid().is_root();
        let keys = [("sysctl", !self.sysctl.is_empty()), ("cpu-quota", self.cpu_quota.is_some())];
        match keys.into_iter().find(|(_, is_given)| *is_given && !is_root) {
            Some((key, _)) => Err(format!("`{key}` needs the rights of root: use sudo")),
            None => Ok(()),
        }
    }
}

impl Config {
    /// This, and where it has nothing, `base`: of tables of values each value, of others the whole.
    pub(super) fn over(&self, base: &Config) -> Result<Config, String> {
        let mut merged = keys(base)?;
        for (key, own) in keys(self)? {
            match (merged.get_mut(&key), own) {
                (Some(Value::Table(all)), Value::Table(own)) if VALUES.contains(&key.as_str()) => {
                    all.extend(own)
                }
                (_, own) => drop(merged.insert(key, own)),
            }
        }
        let merged: Config = merged.try_into().map_err(|error| error.to_string())?;
        let mut environment = base.environment.clone();
        environment.extend(self.environment.clone());
        Ok(Config { environment, ..merged })
    }

    /// What it has otherwise than `base`, for people, in the order of the keys.
    pub(super) fn differences(&self, base: &Config) -> Result<Vec<String>, String> {
        let (own, of_base) = (keys(self)?, keys(base)?);
        let mut found = Vec::new();
        for key in fields_of::<Config>().iter().filter(|key| !BESIDE.contains(key)) {
            let (own, of_base) = (own.get(*key), of_base.get(*key));
            match *key {
                "environment" => {
                    let other =
                        |(name, value): &(&String, &SecretText)| base.environment.get(*name) != Some(*value);
                    let other = self.environment.iter().filter(other);
                    found.extend(other.map(|(name, _)| format!("environment.{name} = (not shown)")));
                }
                _ if own == of_base => {}
                "path" => found.push(self.path.as_ref().map_or("no path".to_owned(), said)),
                "parts" => {
                    let (own, of_base) = (list(own), list(of_base));
                    let new = own.iter().filter(|part| !of_base.contains(part));
                    found.extend(new.map(|part| format!("with part {}", text(part))));
                    let gone = of_base.iter().filter(|part| !own.contains(part));
                    found.extend(gone.map(|part| format!("without part {}", text(part))));
                }
                // What a table has not is as in `base`.
                key if VALUES.contains(&key) => {
                    let other = |(name, value): &(&String, &Value)| {
                        of_base.and_then(|table| table.get(name.as_str())) != Some(*value)
                    };
                    let own = own.and_then(Value::as_table).into_iter().flatten().filter(other);
                    found.extend(
                        own.map(|(name, value)| format!("{key}.{name} = {}", in_short(&text(value)))),
                    );
                }
                key => {
                    let value = own.map_or("not given".to_owned(), text);
                    found.push(format!("{key} = {}", in_short(&value)));
                }
            }
        }
        Ok(found)
    }
}

/// The keys that are given.
fn keys(config: &Config) -> Result<Table, String> {
    Table::try_from(config).map_err(|error| error.to_string())
}

fn list(value: Option<&Value>) -> &[Value] {
    value.and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// A value as a text without quotation marks.
fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// The keys that are tables of values: a variant gives some of them, and has the others of its server. So is
/// `environment`, whose values are not shown.
const VALUES: [&str; 3] = ["values", "sysctl", "settings"];

/// The keys that make no other server: how long its start may take, and whether it may be left out.
const BESIDE: [&str; 2] = ["ready-within", "optional"];

/// The first line of a text, which may be a part of a configuration.
fn in_short(text: &str) -> String {
    let mut lines = text.trim().lines();
    let first = lines.next().unwrap_or_default();
    if lines.next().is_some() { format!("{first} …") } else { first.to_owned() }
}

/// What a server is, by its keys.
pub(super) fn kind(
    what: &str,
    config: &Config,
    folder: &Path,
    helpers: &[&str],
    seed: u64,
) -> Result<Kind, String> {
    let template = match (&config.template, &config.address) {
        (Some(_), Some(_)) => {
            return Err(format!("{what} has a `template` and an `address`: it is started, or it is there"));
        }
        (None, None) => {
            return Err(format!("{what} needs a `template` to be started by, or the `address` where it is"));
        }
        (None, Some(address)) => {
            let started = Config { address: None, ..config.clone() };
            if let Some(first) = started.differences(&Config::default())?.first() {
                let advice = "it is not started here: remove it, or give a `template`";
                return Err(format!("{what} has an `address`, and {first}: {advice}"));
            }
            return Ok(Kind::There { address: address.clone(), is_allowed: false });
        }
        (Some(template), None) => template,
    };
    let wrong = |error: &dyn std::fmt::Display| format!("{what}: {error}");
    let spec = spec(template, folder).map_err(|reason| wrong(&reason))?;
    let spec = with_program(spec, config, folder);
    check_names(config, &spec, helpers).map_err(|reason| wrong(&reason))?;
    let parts = config.parts.clone().unwrap_or_default();
    let zone = zone(config, folder).map_err(|reason| wrong(&reason))?;
    let texts = |map: &BTreeMap<String, Text>| {
        map.iter().map(|(name, text)| (name.clone(), text.0.clone())).collect()
    };
    let buffer = config.receive_buffer.as_ref().map(|text| parse_size_bytes(&text.0)).transpose();
    let buffer = buffer.map_err(|error| wrong(&error))?.map(|bytes| u32::try_from(bytes).unwrap_or(u32::MAX));
    let quota = config.cpu_quota.as_ref().map(|text| parse_percent(&text.0)).transpose();
    let path = config.path.as_ref().map(|table| Between::of(table, helpers, seed)).transpose();
    let path = path.map_err(|reason| wrong(&reason))?;
    let ready = duration("ready-within", config.ready_within.as_ref()).map_err(|reason| wrong(&reason))?;
    Ok(Kind::Started(Box::new(Started {
        spec,
        zone,
        threads: config.threads.unwrap_or(1),
        receive_buffer_bytes: buffer,
        stub: config.stub.clone(),
        hierarchy: config.hierarchy.clone(),
        prepare: config.prepare.clone(),
        ready_when: config.ready_when.clone(),
        ready_within: ready.map(Duration::from_nanos),
        path,
        parts,
        values: texts(&config.values),
        environment: config.environment.iter().map(|(name, text)| (name.clone(), text.0.clone())).collect(),
        sysctl: texts(&config.sysctl),
        settings: texts(&config.settings),
        open_files: config.open_files,
        cpu_quota: quota.map_err(|error| wrong(&format!("`cpu-quota`: {error}")))?,
    })))
}

/// A template with the program that is asked for, of this host or of an unpacked root file system; this program is this
/// very file, which need not be in the search path.
fn with_program(spec: ServerSpec, config: &Config, folder: &Path) -> ServerSpec {
    let spec = match &config.program {
        Some(program) if program.contains('/') && config.root.is_none() => {
            spec.with_program(&relative(folder, program))
        }
        Some(program) => spec.with_program(program),
        None => spec,
    };
    if let Some(root) = &config.root {
        return spec.with_root(Root::new(Path::new(&relative(folder, root))));
    }
    match std::env::current_exe() {
        Ok(own) if spec.program_name() == OWN_PROGRAM => spec.with_program(&own.display().to_string()),
        _ => spec,
    }
}

/// Whether what a server names is there: values and parts of its template, the helper that it asks, and settings of a
/// network namespace.
fn check_names(config: &Config, spec: &ServerSpec, helpers: &[&str]) -> Result<(), String> {
    let template = config.template.as_deref().unwrap_or_default();
    let known: Vec<String> = spec.defaults().keys().cloned().collect();
    if let Some(unknown) = config.values.keys().find(|name| !known.contains(name)) {
        let advice = nearest(unknown, known.iter().map(String::as_str)).map_or_else(
            || format!("it has: {}", known.join(", ")),
            |nearest| format!("did you mean `{nearest}`?"),
        );
        return Err(format!("the template `{template}` has no value `{unknown}`: {advice}"));
    }
    let mut parts = config.parts.iter().flatten();
    if let Some(unknown) = parts.find(|part| !spec.parts().any(|known| known == *part)) {
        let known: Vec<&str> = spec.parts().collect();
        return Err(format!(
            "the template `{template}` has no part `{unknown}`: it has: {}",
            known.join(", ")
        ));
    }
    if let Some(stub) = config.stub.as_deref().filter(|stub| stub.parse::<SocketAddr>().is_err())
        && !helpers.contains(&stub)
    {
        return Err(format!("`stub = \"{stub}\"` is neither a helper before it nor ADDRESS:PORT"));
    }
    if let Some(hierarchy) = &config.hierarchy {
        let wrong = |reason: &str| Err(format!("`hierarchy = \"{hierarchy}\"`: {reason}"));
        if !helpers.contains(&hierarchy.as_str()) {
            return wrong("no helper before it has this name");
        }
        if config.stub.is_some() {
            return wrong("it resolves from that root, or through `stub`: remove one of them");
        }
        if !spec.parts().any(|part| part == "hierarchy") {
            return wrong(&format!("the template `{template}` cannot resolve from a root of its own"));
        }
    }
    if let Some(other) = config.sysctl.keys().find(|name| !name.starts_with("net.") || name.contains("..")) {
        return Err(format!(
            "`{other}` is of the whole host: only settings of a network namespace (net.*) can be set"
        ));
    }
    Ok(())
}

/// A template by the name of one of the testbed, or from a file of the user.
fn spec(template: &str, folder: &Path) -> Result<ServerSpec, String> {
    if !template.contains('/') && !template.ends_with(".toml") {
        return ServerSpec::named(template).map_err(|error| error.to_string());
    }
    let path = PathBuf::from(relative(folder, template));
    let text = read_text(&path).map_err(|error| format!("cannot read {}: {error}", path.display()))?;
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

/// The name of this program in a template, such as of its responder.
const OWN_PROGRAM: &str = "dnsdyno";

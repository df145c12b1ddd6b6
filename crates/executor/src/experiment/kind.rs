//! What a server is: there already, or started from a template; and what a variant of it has otherwise.

use std::collections::BTreeMap;
use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use dnsdyno_lab::{ServerSpec, Zone};
use dnsdyno_plan::units::parse_size_bytes;

use super::file::Config;
use super::keys::nearest;
use super::path::{Between, said};
use super::text::Text;
use super::values::{duration, named, relative};

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
    pub(super) ready_when: Option<String>,
    pub(super) ready_within: Option<Duration>,
    /// A path between it and those who ask it, or those whom it asks.
    pub(super) path: Option<Between>,
    pub(super) parts: Vec<String>,
    pub(super) values: BTreeMap<String, String>,
    pub(super) environment: BTreeMap<String, String>,
    pub(super) sysctl: BTreeMap<String, String>,
}

impl Config {
    /// This, and where it has nothing, `base`.
    pub(super) fn over(&self, base: &Config) -> Config {
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
            ready_when: self.ready_when.clone().or(base.ready_when.clone()),
            ready_within: self.ready_within.clone().or(base.ready_within.clone()),
            path: self.path.clone().or(base.path.clone()),
            parts: self.parts.clone().or(base.parts.clone()),
            values: merged(&self.values, &base.values),
            environment: merged(&self.environment, &base.environment),
            sysctl: merged(&self.sysctl, &base.sysctl),
        }
    }

    /// What it has otherwise than `base`, for people.
    pub(super) fn differences(&self, base: &Config) -> Vec<String> {
        let mut found = Vec::new();
        let mut one = |key: &str, own: Option<&str>, base: Option<&str>| {
            if own != base {
                found.push(format!("{key} = {}", in_short(own.unwrap_or("not given"))));
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
        one("ready-when", self.ready_when.as_deref(), base.ready_when.as_deref());
        if self.path != base.path {
            found.push(self.path.as_ref().map_or("no path".to_owned(), said));
        }
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
            found.extend(
                own.iter()
                    .filter(differs)
                    .map(|(name, text)| format!("{word}.{name} = {}", in_short(&text.0))),
            );
        }
        found
    }
}

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
    let path = config.path.as_ref().map(|table| Between::of(table, helpers, seed)).transpose();
    let path = path.map_err(|reason| wrong(&reason))?;
    let ready = duration("ready-within", config.ready_within.as_ref()).map_err(|reason| wrong(&reason))?;
    Ok(Kind::Started(Box::new(Started {
        spec,
        zone,
        threads: config.threads.unwrap_or(1),
        receive_buffer_bytes: buffer,
        stub: config.stub.clone(),
        prepare: config.prepare.clone(),
        ready_when: config.ready_when.clone(),
        ready_within: ready.map(Duration::from_nanos),
        path,
        parts,
        values: texts(&config.values),
        environment: texts(&config.environment),
        sysctl: texts(&config.sysctl),
    })))
}

/// A template with the program that is asked for; this program is this very file, which need not be in the search path.
fn with_program(spec: ServerSpec, config: &Config, folder: &Path) -> ServerSpec {
    let spec = match &config.program {
        Some(program) if program.contains('/') => spec.with_program(&relative(folder, program)),
        Some(program) => spec.with_program(program),
        None => spec,
    };
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

/// The name of this program in a template, such as of its responder.
const OWN_PROGRAM: &str = "dnsdyno";

//! The servers of an experiment, their variants, and the helpers beside them.

use std::path::Path;

use dnsdyno_campaign::experiment::Subject;

use super::file::{ChangesWord, Config, File, ServerTable, StartWord};
use super::given::Given;
use super::kind::{Kind, Started, kind};
use super::values::named;

/// A server that is started before others, and is not measured.
#[derive(Clone, Debug)]
pub(super) struct Helper {
    pub(super) name: String,
    pub(super) how: Started,
    /// Whether one serves all servers, from its first start to the end of the experiment.
    pub(super) is_kept: bool,
}

/// The servers that are started beside each subject.
pub(super) fn helpers(file: &File, folder: &Path) -> Result<Vec<Helper>, String> {
    let mut found: Vec<Helper> = Vec::new();
    for table in &file.helper {
        let name = named("helper", &table.name)?;
        if !table.variant.is_empty() {
            return Err(format!(
                "helper `{name}` has variants: only servers have them, because only they are measured"
            ));
        }
        let known: Vec<&str> = found.iter().map(|helper| helper.name.as_str()).collect();
        if known.contains(&name.as_str()) {
            return Err(format!("two helpers are named `{name}`: each needs a name of its own"));
        }
        if table.config.optional.is_some() {
            return Err(format!("helper `{name}` has `optional`: only servers and variants may be left out"));
        }
        match kind(&format!("helper `{name}`"), &table.config, folder, &known, seed(file))? {
            Kind::Started(how) => {
                let is_kept = table.start == Some(StartWord::Kept);
                check_kept(&name, &how, is_kept, found.last())?;
                found.push(Helper { name, how: *how, is_kept });
            }
            Kind::There { .. } => return Err(format!("helper `{name}` needs a `template`: it is started")),
        }
    }
    Ok(found)
}

/// Checks that a helper that is kept can be: it is in no namespace of a server, so only its files can be reached.
fn check_kept(name: &str, how: &Started, is_kept: bool, before: Option<&Helper>) -> Result<(), String> {
    let wrong = |reason: &str| Err(format!("helper `{name}` has `start = \"kept\"`: {reason}"));
    if !is_kept {
        return Ok(());
    }
    if how.spec.answers_queries() {
        return wrong("servers reach it by files of its folder only, and it answers queries: remove `start`");
    }
    let asks = how.stub.is_some() || how.hierarchy.is_some();
    if asks || how.path.is_some() || !how.sysctl.is_empty() {
        return wrong("it is in no namespace: it has no `stub`, `hierarchy`, `path` or `sysctl`");
    }
    match before.filter(|before| !before.is_kept) {
        Some(before) => wrong(&format!("name it before `{}`, which is started for each server", before.name)),
        None => Ok(()),
    }
}

/// The servers and their variants.
#[derive(Debug, Default)]
pub(super) struct Subjects {
    /// With the servers that they are compared with.
    pub(super) subjects: Vec<Subject>,
    /// By number of the subject.
    pub(super) kinds: Vec<Kind>,
    /// Those that are optional, and cannot be started here.
    pub(super) left_out: Vec<LeftOut>,
}

/// A server or variant that is left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct LeftOut {
    pub(super) name: String,
    why: String,
}

impl LeftOut {
    /// That it is left out, and why.
    pub(super) fn sentence(&self) -> String {
        format!("{} is left out: {}", self.name, self.why)
    }
}

/// The servers and their variants; those that are optional and cannot be started here are left out.
pub(super) fn subjects(file: &File, folder: &Path, helpers: &[&str]) -> Result<Subjects, String> {
    if file.server.is_empty() {
        return Err("there is no [[server]]: name at least one".to_owned());
    }
    let mut found = Subjects::default();
    // The path of the file is that of each server without one of its own.
    let on_path =
        |config: &Config| Config { path: config.path.clone().or(file.path.clone()), ..config.clone() };
    for table in &file.server {
        let name = named("server", &table.name)?;
        if table.start.is_some() {
            return Err(format!(
                "server `{name}` has `start`: write it at the top of the file, for all servers"
            ));
        }
        let base = found.subjects.len();
        let table = ServerTable { config: with_given(&file.given, &name, &table.config), ..table.clone() };
        let kind = |what: String, config: &Config| subject(&what, &on_path(config), folder, helpers, file);
        let own = kind(format!("server `{name}`"), &table.config)?;
        let is_there = match why_left_out(&table.config, &own) {
            None => {
                let against = (base > 0).then_some(0);
                found.subjects.push(Subject { name: name.clone(), against, differs: String::new() });
                found.kinds.push(own);
                true
            }
            Some(why) => {
                found.left_out.push(LeftOut { name: name.clone(), why });
                false
            }
        };
        for Variant { name, config, differs } in variants(&table, &name, &file.given)? {
            let own = kind(format!("variant `{name}`"), &config)?;
            let why = match (is_there, differs.is_empty()) {
                (false, _) => Some(format!("so is its server `{}`", table.name)),
                (true, true) => Some(format!("give its program, or its root, with --program {name}=PATH")),
                (true, false) => why_left_out(&config, &own),
            };
            match why {
                Some(why) => found.left_out.push(LeftOut { name, why }),
                None => {
                    found.subjects.push(Subject { name, against: Some(base), differs });
                    found.kinds.push(own);
                }
            }
        }
    }
    check(&found, file)?;
    Ok(found)
}

/// A server with the program that was given for it, if one was.
fn with_given(given: &Given, name: &str, config: &Config) -> Config {
    let text = |path: &Path| Some(path.display().to_string());
    let (program, root) = match given.programs.get(name) {
        None => return config.clone(),
        // The program of the template is found in it.
        Some(folder) if folder.is_dir() => (None, text(folder)),
        Some(program) => (text(program), None),
    };
    Config { program, root, ..config.clone() }
}

/// Checks the names, and that there is a server.
fn check(found: &Subjects, file: &File) -> Result<(), String> {
    let names = || {
        let left_out = found.left_out.iter().map(|one| one.name.as_str());
        found.subjects.iter().map(|subject| subject.name.as_str()).chain(left_out)
    };
    for (at, name) in names().enumerate() {
        if names().take(at).any(|other| other == name) {
            return Err(format!("two servers are named `{name}`: each needs a name of its own"));
        }
    }
    file.given.check(names())?;
    if found.subjects.is_empty() {
        let all: Vec<String> = found.left_out.iter().map(LeftOut::sentence).collect();
        return Err(format!("this host can run none of its servers: {}", all.join("; ")));
    }
    Ok(())
}

/// Why a server is left out; `None` where it is not.
fn why_left_out(config: &Config, kind: &Kind) -> Option<String> {
    match kind {
        Kind::Started(how) if config.optional == Some(true) => how.able().err(),
        _ => None,
    }
}

/// What a server is that is measured.
fn subject(
    what: &str,
    config: &Config,
    folder: &Path,
    helpers: &[&str],
    file: &File,
) -> Result<Kind, String> {
    match kind(what, config, folder, helpers, seed(file))? {
        Kind::Started(started) if !started.spec.answers_queries() => {
            Err(format!("{what}: {} answers no DNS queries: make it a [[helper]]", started.spec.name()))
        }
        kind => Ok(kind),
    }
}

/// The seed of the file, which repeats losses and delays too.
fn seed(file: &File) -> u64 {
    file.seed.unwrap_or(1)
}

struct Variant {
    name: String,
    config: Config,
    differs: String,
}

/// The variants of a server; one that is optional and has nothing that its server has not differs by nothing.
fn variants(server: &ServerTable, name: &str, given: &Given) -> Result<Vec<Variant>, String> {
    let of = |table: &super::file::VariantTable| {
        let name = format!("{name}/{}", named("variant", &table.name)?);
        let wrong = |error: String| format!("variant `{name}`: {error}");
        let own = with_given(given, &name, &table.config);
        let config = own.over(&server.config).map_err(wrong)?;
        let differences = config.differences(&server.config).map_err(wrong)?;
        match (differences.len(), table.changes) {
            (0, _) if table.config.optional == Some(true) => {}
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

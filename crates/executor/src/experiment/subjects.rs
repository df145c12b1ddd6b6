//! The servers of an experiment, their variants, and the helpers beside them.

use std::path::Path;

use dnsdyno_campaign::experiment::Subject;

use super::file::{ChangesWord, Config, File, ServerTable, StartWord};
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
    if how.stub.is_some() || how.path.is_some() || !how.sysctl.is_empty() {
        return wrong("it is in no namespace: it has no `stub`, `path` or `sysctl`");
    }
    match before.filter(|before| !before.is_kept) {
        Some(before) => wrong(&format!("name it before `{}`, which is started for each server", before.name)),
        None => Ok(()),
    }
}

/// The servers and their variants, with the servers that these are.
pub(super) fn subjects(
    file: &File,
    folder: &Path,
    helpers: &[&str],
) -> Result<(Vec<Subject>, Vec<Kind>), String> {
    if file.server.is_empty() {
        return Err("there is no [[server]]: name at least one".to_owned());
    }
    let (mut subjects, mut kinds): (Vec<Subject>, Vec<Kind>) = (Vec::new(), Vec::new());
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
        let base = subjects.len();
        kinds.push(subject(&format!("server `{name}`"), &on_path(&table.config), folder, helpers, file)?);
        subjects.push(Subject {
            name: name.clone(),
            against: (base > 0).then_some(0),
            differs: String::new(),
        });
        for variant in variants(table, &name)? {
            let what = format!("variant `{}`", variant.name);
            kinds.push(subject(&what, &on_path(&variant.config), folder, helpers, file)?);
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

fn variants(server: &ServerTable, name: &str) -> Result<Vec<Variant>, String> {
    let of = |table: &super::file::VariantTable| {
        let name = format!("{name}/{}", named("variant", &table.name)?);
        let wrong = |error: String| format!("variant `{name}`: {error}");
        let config = table.config.over(&server.config).map_err(wrong)?;
        let differences = config.differences(&server.config).map_err(wrong)?;
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

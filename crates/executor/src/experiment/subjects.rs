//! The servers of an experiment, their variants, and the helpers beside them.

use std::path::Path;

use dnsdyno_campaign::experiment::Subject;

use super::file::{ChangesWord, Config, File, ServerTable};
use super::kind::{Kind, Started, kind};
use super::values::named;

/// The servers that are started beside each subject.
pub(super) fn helpers(file: &File, folder: &Path) -> Result<Vec<(String, Started)>, String> {
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
        match kind(&format!("helper `{name}`"), &table.config, folder, &known, seed(file))? {
            Kind::Started(started) => found.push((name, *started)),
            Kind::There { .. } => return Err(format!("helper `{name}` needs a `template`: it is started")),
        }
    }
    Ok(found)
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
        let base = subjects.len();
        kinds.push(kind(&format!("server `{name}`"), &on_path(&table.config), folder, helpers, seed(file))?);
        subjects.push(Subject {
            name: name.clone(),
            against: (base > 0).then_some(0),
            differs: String::new(),
        });
        for variant in variants(table, &name)? {
            let what = format!("variant `{}`", variant.name);
            kinds.push(kind(&what, &on_path(&variant.config), folder, helpers, seed(file))?);
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

//! A server as data: the contents of its template in `testbed/servers`. `testbed/README.md` explains the
//! fields to those who add a server.

use std::collections::BTreeMap;
use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde::Deserialize;

use crate::ready::{ReadyCheck, ReadyTemplate};
use crate::root::Root;
use crate::{LabError, Place};

/// A kind of server that can be started.
#[derive(Debug, Clone)]
pub struct ServerSpec {
    name: String,
    pub(crate) template: Template,
    /// Where its programs are; `None` = they are of this host.
    pub(crate) root: Option<Root>,
}

impl ServerSpec {
    /// Every server in `testbed/servers`, by name, installed or not.
    pub fn all() -> Vec<Self> {
        let embedded = |(name, text): &(&str, &str)| {
            Self::from_toml(name, text).expect("the embedded templates parse: a test holds it")
        };
        EMBEDDED.iter().map(embedded).collect()
    }

    /// The server of this name in `testbed/servers`.
    ///
    /// # Errors
    /// [`LabError::UnknownServer`], with the names there are.
    pub fn named(name: &str) -> Result<Self, LabError> {
        let known = || EMBEDDED.iter().map(|(name, _)| (*name).to_owned()).collect();
        match EMBEDDED.iter().find(|(known, _)| *known == name) {
            Some((name, text)) => Self::from_toml(name, text),
            None => Err(LabError::UnknownServer { name: name.to_owned(), known: known() }),
        }
    }

    /// A server of the caller's own, from the text of a template.
    ///
    /// # Errors
    /// [`LabError::Template`] when the text is not a template.
    pub fn from_toml(name: &str, text: &str) -> Result<Self, LabError> {
        let template = toml::from_str(text)
            .map_err(|source| LabError::Template { server: name.to_owned(), source: Box::new(source) })?;
        Ok(Self { name: name.to_owned(), template, root: None })
    }

    /// The server's short name, which is also its file's.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The same with another program: its name, or its path; such as another version of the server.
    pub fn with_program(mut self, program: &str) -> Self {
        self.template.program = program.to_owned();
        self
    }

    /// The same with the programs of an unpacked root file system: its program is found there by its name or by its
    /// path within the root.
    pub fn with_root(self, root: Root) -> Self {
        Self { root: Some(root), ..self }
    }

    /// Its unpacked root file system.
    pub fn root(&self) -> Option<&Root> {
        self.root.as_ref()
    }

    /// Its program, by its name or its path.
    pub fn program_name(&self) -> &str {
        &self.template.program
    }

    /// The values that its template leaves open, with what they are otherwise.
    pub fn defaults(&self) -> &BTreeMap<String, String> {
        &self.template.defaults
    }

    /// The parts of its template that can be chosen.
    pub fn parts(&self) -> impl Iterator<Item = &str> {
        self.template.parts.keys().map(String::as_str)
    }

    /// Whether it answers DNS queries; what does not, such as a database, only helps a server that does.
    pub fn answers_queries(&self) -> bool {
        self.template.ready.is_by_queries()
    }

    /// Whether it has no zones of its own: it serves what another server, or a database, answers.
    pub fn asks_another(&self) -> bool {
        self.template.asks_another
    }

    /// The Debian package that has it.
    pub fn package(&self) -> &str {
        &self.template.package
    }

    /// Whether its program is in `PATH`, an `sbin` folder, or the folder of those that were built for the tests.
    pub fn is_installed(&self) -> bool {
        self.program().is_ok()
    }

    /// Where its program is: on this host, or within its root file system.
    ///
    /// # Errors
    /// [`LabError::NotInstalled`], with the command that installs it; of a root file system [`LabError::NotInRoot`] and
    /// [`LabError::RootNeedsRights`].
    pub fn program(&self) -> Result<PathBuf, LabError> {
        self.find(&self.template.program)
    }

    /// Where a program of its template is.
    pub(crate) fn find(&self, program: &str) -> Result<PathBuf, LabError> {
        let package = &self.template.package;
        match &self.root {
            Some(root) => root.find(program, package),
            None => find_program(program).ok_or_else(|| LabError::NotInstalled {
                program: program.to_owned(),
                package: package.clone(),
            }),
        }
    }

    /// Checks that it can be started here: all programs of its template are there, and this user may start them.
    /// Nothing is started.
    ///
    /// # Errors
    /// Those of [`ServerSpec::program`], and [`LabError::NeedsRights`].
    pub fn check(&self) -> Result<(), LabError> {
        self.program()?;
        let of_checks = self.template.ready.checks.iter().filter_map(|check| match check {
            ReadyCheck::Command(words) => words.first(),
            ReadyCheck::Query(..) => None,
        });
        let mut beside = self.template.initialise.first().into_iter().chain(of_checks);
        beside.try_for_each(|program| self.find(program).map(drop))?;
        match self.template.needs_root && !rustix::process::geteuid().is_root() {
            true => Err(LabError::NeedsRights { server: self.name.clone() }),
            false => Ok(()),
        }
    }

    /// The commands of its template, as they are before placeholders are filled in: that which prints its version, that
    /// which is run before its first start where there is one, and that which starts it.
    pub fn commands(&self) -> impl Iterator<Item = Vec<&str>> {
        let Template { program, command, initialise, version, .. } = &self.template;
        let of_version = [program].into_iter().chain(&version.arguments);
        let of_start = [program].into_iter().chain(command);
        let all: [Vec<&String>; 3] = [of_version.collect(), initialise.iter().collect(), of_start.collect()];
        all.into_iter()
            .filter(|words| !words.is_empty())
            .map(|words| words.into_iter().map(String::as_str).collect())
    }

    /// Its version, as it prints it: `4.6.1`, `9.18.49-1~deb12u3-Debian`.
    ///
    /// # Errors
    /// Those of [`ServerSpec::program`], [`LabError::Io`] when it cannot be run, [`LabError::NoVersion`].
    pub fn version(&self) -> Result<String, LabError> {
        let program = self.program()?;
        let wanted = &self.template.version;
        let run = || LabError::io(format!("run {}", program.display()));
        let folder = self.root.as_ref().map(|_| tempfile::tempdir()).transpose().map_err(run())?;
        let root = self.root.as_ref().zip(folder.as_ref());
        let root = root.map(|(root, folder)| root.mounted_in(folder.path())).transpose()?;
        let place = Place { root, ..Place::default() };
        let mut words = place.words().into_iter().chain([program.clone().into_os_string()]);
        let output = Command::new(words.next().unwrap_or_default())
            .args(words)
            .args(&wanted.arguments)
            .stdin(Stdio::null())
            .output()
            .map_err(run())?;
        let printed = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
        let version = printed.split_once(&wanted.after).and_then(|(_, rest)| rest.split_whitespace().next());
        version.map(str::to_owned).ok_or_else(|| LabError::NoVersion {
            program: program.display().to_string(),
            expected: wanted.after.clone(),
            printed: printed.trim().to_owned(),
        })
    }
}

/// The fields of a template file.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Template {
    /// The Debian package.
    pub(crate) package: String,
    /// The program's name, or its path.
    pub(crate) program: String,
    /// Its arguments, with placeholders; it must stay in the foreground.
    pub(crate) command: Vec<String>,
    /// A program with its arguments that is run in its folder before its first start; empty = none.
    #[serde(default)]
    pub(crate) initialise: Vec<String>,
    /// Its statistics, as `--watch` takes them, with placeholders.
    #[serde(default)]
    pub(crate) watch: Option<String>,
    /// How its version is printed.
    version: VersionTemplate,
    /// Its configuration file, with placeholders.
    pub(crate) config: String,
    /// Whether it has no zones of its own and asks another server, or a database.
    #[serde(default)]
    pub(crate) asks_another: bool,
    /// Whether only root can start it.
    #[serde(default)]
    needs_root: bool,
    /// By part, then by placeholder: text put into the configuration when the part is chosen.
    #[serde(default)]
    pub(crate) parts: BTreeMap<String, BTreeMap<String, String>>,
    /// Values that a caller may set otherwise.
    #[serde(default)]
    pub(crate) defaults: BTreeMap<String, String>,
    /// How to see that it serves.
    pub(crate) ready: ReadyTemplate,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct VersionTemplate {
    arguments: Vec<String>,
    after: String,
}

/// A program by its path, or by its name in `PATH`, in the `sbin` folders, which a user's `PATH` often lacks, and in
/// the folder that `scripts/build-program` builds into.
fn find_program(program: &str) -> Option<PathBuf> {
    if program.contains('/') {
        return Path::new(program).is_file().then(|| PathBuf::from(program));
    }
    let path = env::var_os("PATH").unwrap_or_default();
    let folders = env::split_paths(&path).chain(SBIN_FOLDERS.iter().map(PathBuf::from)).chain(built_folder());
    folders.map(|folder| folder.join(program)).find(|candidate| candidate.is_file())
}

/// Where the programs are that no package of Debian has.
fn built_folder() -> Option<PathBuf> {
    let set = |name| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let cache = set("XDG_CACHE_HOME").or_else(|| Some(set("HOME")?.join(".cache")))?;
    Some(cache.join("dnsdyno/bin"))
}

const SBIN_FOLDERS: [&str; 3] = ["/usr/local/sbin", "/usr/sbin", "/sbin"];

/// (name, text) of each file in `testbed/servers`, listed by `build.rs`.
const EMBEDDED: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/templates.rs"));

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ServerOptions;

    #[test]
    fn every_embedded_template_parses_and_those_of_the_house_are_there() {
        let names: Vec<String> = ServerSpec::all().iter().map(|spec| spec.name().to_owned()).collect();
        for expected in ["bind", "hickory", "knot", "nsd", "pdns", "unbound"] {
            assert!(names.iter().any(|name| name == expected), "{expected} in {names:?}");
        }
    }

    #[test]
    fn an_unknown_server_is_answered_with_the_known_names() {
        let message = ServerSpec::named("nds").expect_err("no such server").to_string();
        for name in ["\"nds\"", "bind", "knot", "nsd", "unbound"] {
            assert!(message.contains(name), "{name} in {message}");
        }
    }

    #[test]
    fn a_template_with_a_misspelt_field_is_refused_with_the_field_named() {
        let (name, text) = EMBEDDED[0];
        let message =
            ServerSpec::from_toml(name, &text.replace("package", "pakage")).expect_err("").to_string();
        assert!(message.contains("pakage"), "{message}");
    }

    #[test]
    fn a_program_that_is_not_there_is_reported_with_the_command_that_installs_it() {
        let mut spec = ServerSpec::named("bind").expect("a template");
        spec.template.program = "no-such-name-server".to_owned();
        assert!(!spec.is_installed());
        let message = spec.start(&ServerOptions::default()).expect_err("not installed").to_string();
        assert!(message.contains("scripts/install-servers bind9"), "{message}");
    }
}

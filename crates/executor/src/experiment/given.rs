//! What who runs an experiment gives beside its file: the scale, servers that may be loaded, programs of this host.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::keys::nearest;

/// What is given on the command line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Given {
    /// Whether the experiment is made at its full scale.
    pub full: bool,
    /// The addresses of servers that may be loaded wherever they are. A file cannot give them.
    pub allowed: Vec<String>,
    /// By the name of a server or variant: its program, or the folder of an unpacked root file system with it.
    pub programs: BTreeMap<String, PathBuf>,
}

impl Given {
    /// Reads `NAME=PATH` of a program; the path is made absolute.
    ///
    /// # Errors
    /// How it is written.
    pub fn program(text: &str) -> Result<(String, PathBuf), String> {
        let found = text.split_once('=').filter(|(name, path)| !name.is_empty() && !path.is_empty());
        let (name, path) = found.ok_or("write NAME=PATH, such as bind/9.16=/opt/bind-9.16/sbin/named")?;
        let path = std::path::absolute(path).map_err(|error| format!("{path}: {error}"))?;
        Ok((name.to_owned(), path))
    }

    /// Checks that each program is there, and that of a server of the file.
    pub(super) fn check<'a>(&self, names: impl Iterator<Item = &'a str> + Clone) -> Result<(), String> {
        if let Some((name, path)) = self.programs.iter().find(|(_, path)| !path.exists()) {
            return Err(format!(
                "--program {name}={}: there is neither a program nor a folder of this name",
                path.display()
            ));
        }
        let Some(unknown) = self.programs.keys().find(|name| !names.clone().any(|known| known == *name))
        else {
            return Ok(());
        };
        let advice = match nearest(unknown, names.clone()) {
            Some(nearest) => format!("did you mean `{nearest}`?"),
            None => format!("it has: {}", names.collect::<Vec<_>>().join(", ")),
        };
        Err(format!("--program {unknown}=…: the file has no server or variant `{unknown}`: {advice}"))
    }
}

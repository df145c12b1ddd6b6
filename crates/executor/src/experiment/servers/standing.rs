//! A subject that stands: its servers, where they are, and the values that commands are filled in with.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use dnsdyno_lab::{Cancel, Place as LabPlace, Server, VethPair};
use dnsdyno_responder::relay::{Relay, RelayError};

use super::super::path::{Between, PathChange};
use super::super::values;

/// A subject that can be asked. Dropping it ends its servers and removes its namespaces.
#[derive(Debug)]
pub(in super::super) struct Standing {
    // Dropped in this order: the paths, the server, its helpers from the last to the first, then what they use.
    /// That between the generator and the server is the last one.
    pub(super) paths: Vec<StandingPath>,
    /// Whether the generator asks through one of them.
    pub(super) is_behind_path: bool,
    pub(super) server: Option<Mutex<Server>>,
    pub(super) helpers: Vec<(String, Mutex<Server>)>,
    /// The helpers that serve the others too.
    pub(super) kept: Option<Arc<Standing>>,
    pub(super) pair: Option<VethPair>,
    /// As for `--server`.
    pub(in super::super) target: String,
    pub(in super::super) is_allowed: bool,
    /// Its version, where it was started.
    pub(in super::super) version: Option<String>,
    pub(super) at: LabPlace,
    /// Calls off starts and waits for commands.
    pub(in super::super) cancel: Cancel,
    pub(super) work: PathBuf,
    pub(super) values: BTreeMap<String, String>,
}

/// A path, by a relay beside the servers.
#[derive(Debug)]
pub(super) struct StandingPath {
    /// As it was made.
    pub(super) between: Between,
    pub(super) relay: Relay,
}

impl Standing {
    /// Changes a path for what passes from now on.
    ///
    /// # Errors
    /// Why not, as a sentence.
    pub(in super::super) fn change_path(&self, change: &PathChange) -> Result<(), String> {
        let path = self.paths.iter().find(|path| path.between.helper == change.helper);
        let relay = &path.ok_or("there is no such path")?.relay;
        relay.change(&change.of(&relay.path())?).map(drop).map_err(|error| error.to_string())
    }

    /// Makes each path again what it was at first.
    ///
    /// # Errors
    /// A relay has ended.
    pub(in super::super) fn restore_paths(&self) -> Result<(), RelayError> {
        let mut changed = self.paths.iter().filter(|path| path.relay.path() != path.between.path);
        changed.try_for_each(|path| path.relay.change(&path.between.path).map(drop))
    }

    /// `text` with `{primary.port}` and the like filled in. Other braces stay.
    pub(in super::super) fn filled(&self, text: &str) -> String {
        values::filled(&self.values, text)
    }
}

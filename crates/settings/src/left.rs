//! What killed keepers left: their journals have no owner any more.

use std::env;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::thread;

use crate::changes::Changes;
use crate::error::UndoError;
use crate::host::ThisHost;
use crate::item::Item;
use crate::journal::{self, Contents, FORMAT, Header, Journal};
use crate::namespace::{self, Found, Namespace};
use crate::restored::{Restored, RestoredOutcome};

/// Restores what keepers changed that were killed, or cut off by the end of the host: for `dnsdyno tune --undo`.
/// Journals of keepers that still run are theirs. What could not be restored stays in its journal; a journal that
/// cannot be read is told as a file that could not be restored.
///
/// # Errors
/// The folder of the journals cannot be read.
pub fn undo_left(state: &Path) -> Result<Vec<Restored>, UndoError> {
    let folder = changes_folder(state);
    let journals = journal::all_in(&folder).map_err(|source| UndoError { folder, source })?;
    let mut restored = Vec::new();
    // The newest first, as within a journal.
    for path in journals.into_iter().rev() {
        match Journal::adopt(&path) {
            Ok(None) => (),
            Ok(Some((journal, contents))) => restored.extend(undo_one(journal, contents)),
            Err(error) => {
                let outcome = RestoredOutcome::Failed(error.to_string());
                restored.push(Restored { item: Item::File { path }, outcome });
            }
        }
    }
    Ok(restored)
}

/// The folder where this user's keepers have their journals: that of the service, where systemd has made one
/// (`STATE_DIRECTORY`), otherwise `/var/lib/dnsdyno` as root, and one of the user's own.
pub fn state_folder() -> PathBuf {
    let of_service = env::var_os("STATE_DIRECTORY").map(PathBuf::from).filter(|path| path.is_absolute());
    if let Some(folder) = of_service {
        return folder;
    }
    let user_folder = || {
        let given = env::var_os("XDG_STATE_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
        let usual = || env::home_dir().map(|home| home.join(".local/state"));
        Some(given.or_else(usual)?.join("dnsdyno"))
    };
    let is_root = rustix::process::geteuid().is_root();
    let of_user = if is_root { None } else { user_folder() };
    of_user.unwrap_or_else(|| PathBuf::from("/var/lib/dnsdyno"))
}

/// The folder of the journals within that of the state.
pub(crate) fn changes_folder(state: &Path) -> PathBuf {
    state.join("changes")
}

/// The header of the journals of this thread, which has entered its namespace by this name.
pub(crate) fn header(root: &Path, name: Option<String>) -> io::Result<Header> {
    let namespace = Namespace::current(name)?;
    Ok(Header { format: FORMAT, boot: boot_id(), root: root.to_owned(), namespace })
}

/// Restores what one journal says, in the namespace in which it was changed.
fn undo_one(journal: Journal, contents: Contents) -> Vec<Restored> {
    let Some(header) = contents.header.clone() else {
        // Cut within its first line: nothing was changed.
        journal.remove();
        return Vec::new();
    };
    let was_booted_since = header.boot != boot_id();
    let (root, found) = (header.root.clone(), header.namespace.find(was_booted_since));
    let mut changes = Changes::left(journal, contents, header);
    match found {
        Found::Here => changes.undo(&mut ThisHost::usual(&root), was_booted_since),
        Found::Gone => changes.undo(&mut ThisHost::without_namespace(&root), was_booted_since),
        Found::Elsewhere(namespace) => {
            let undo = |changes: &mut Changes| {
                changes.undo(&mut ThisHost::of_entered_namespace(&root), was_booted_since)
            };
            match within(&namespace, &mut changes, undo) {
                Ok(restored) => restored,
                Err(error) => changes.failed(&format!("its network namespace cannot be entered: {error}")),
            }
        }
    }
}

/// Does something in a namespace, in a thread that ends with it.
fn within<R: Send>(
    namespace: &File,
    changes: &mut Changes,
    act: impl FnOnce(&mut Changes) -> R + Send,
) -> io::Result<R> {
    thread::scope(|scope| {
        let entered = thread::Builder::new().name("namespace".to_owned()).spawn_scoped(scope, move || {
            namespace::enter_file(namespace)?;
            Ok::<R, io::Error>(act(changes))
        })?;
        entered.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// What the kernel calls this boot of the host.
fn boot_id() -> String {
    fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default().trim().to_owned()
}

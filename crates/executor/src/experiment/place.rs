//! What an experiment makes on the host, and how it is taken away again, however the experiment ends.
//!
//! ```text
//!   journal: {"place": …} ──► /tmp/dnsdyno-experiment-PID-N/owner   locked while the process lives
//!                                                         NAME-…    the folders of the servers
//!   every process that is started: DNSDYNO_EXPERIMENT=/tmp/dnsdyno-experiment-PID-N in its environment
//!   every namespace: dnsdyno-PID-…
//! ```
//!
//! So what a process left that was killed is found by the name of its place alone: the journal has it before anything
//! is made. Places in the folder of temporary files whose owner is no more are found without a journal too.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use dnsdyno_lab::remove_left_namespaces;
use dnsdyno_record::open_regular;
use rustix::fs::{FlockOperation, flock};

use super::error::ExperimentError;
use crate::Journal;
use crate::undo::Mark;

/// The place of an experiment that runs. Dropped, it is removed.
#[derive(Debug)]
pub(super) struct Place {
    folder: PathBuf,
    _owner: File,
}

impl Place {
    /// Makes a place, after it was noted in the journal.
    pub(super) fn make(journal: &mut Journal) -> Result<Place, ExperimentError> {
        let base = std::env::temp_dir();
        let number = (0..).map(|number| base.join(format!("{PREFIX}{}-{number}", std::process::id())));
        let folder = number.into_iter().find(|folder| !folder.exists()).unwrap_or(base);
        journal.note_place(&folder)?;
        let failed = |source| ExperimentError::Write { path: folder.clone(), source };
        fs::create_dir_all(&folder).map_err(failed)?;
        let owner = File::create(folder.join(OWNER)).map_err(failed)?;
        flock(&owner, FlockOperation::NonBlockingLockExclusive).map_err(|error| failed(error.into()))?;
        Ok(Place { folder, _owner: owner })
    }

    /// Its folder.
    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// The variable that marks each process of the experiment.
    pub(super) fn mark(&self) -> (String, String) {
        let (variable, value) = mark_of(&self.folder).into_variable();
        (variable.to_owned(), value.to_string_lossy().into_owned())
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        // What the servers have started and did not end with them.
        mark_of(&self.folder).end_processes();
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// Takes away what processes left that are no more, and says what it was. `noted` are the places in the journal.
pub(super) fn clean_up(noted: &[PathBuf]) -> Vec<String> {
    let mut said = Vec::new();
    let in_temporary =
        fs::read_dir(std::env::temp_dir()).into_iter().flatten().flatten().map(|entry| entry.path());
    let is_place =
        |path: &PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(PREFIX));
    let candidates = in_temporary.chain(noted.iter().cloned()).filter(is_place);
    let mut places: Vec<PathBuf> = candidates.filter(|path| is_ours(path)).collect();
    places.sort();
    places.dedup();
    for place in places {
        if is_owned(&place) {
            continue;
        }
        let ended = mark_of(&place).end_processes();
        said.extend(
            ended.iter().map(|process| format!("ended {process}, which was left of an earlier experiment")),
        );
        if place.exists() && fs::remove_dir_all(&place).is_ok() {
            said.push(format!("removed {}, which was left of an earlier experiment", place.display()));
        }
    }
    let namespaces = remove_left_namespaces();
    said.extend(
        namespaces.iter().map(|name| format!("removed the network namespace {name}, which was left")),
    );
    said
}

/// Whether it is a folder of this user: in the folder of temporary files anybody can make one of that name, or a link.
fn is_ours(place: &Path) -> bool {
    match fs::symlink_metadata(place) {
        Ok(metadata) => metadata.is_dir() && metadata.uid() == rustix::process::geteuid().as_raw(),
        // One that is gone may have left processes.
        Err(_) => true,
    }
}

/// Whether the process that made a place still lives: it holds the lock.
fn is_owned(place: &Path) -> bool {
    let Ok(owner) = open_regular(&place.join(OWNER)) else { return false };
    let tried = flock(&owner, FlockOperation::NonBlockingLockExclusive).map_err(io::Error::from);
    tried.is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock)
}

/// The mark of each process of the experiment in this place.
fn mark_of(place: &Path) -> Mark {
    Mark::new("DNSDYNO_EXPERIMENT", place.display().to_string())
}

/// What the names of places start with; the process and a number follow.
const PREFIX: &str = "dnsdyno-experiment-";

/// The file that the owner of a place has locked.
const OWNER: &str = "owner";

#[cfg(test)]
mod tests {
    use std::process::Command;
    use std::sync::{Mutex, PoisonError};
    use std::time::Duration;

    use dnsdyno_sys::process::marked;

    use super::*;

    /// Cleaning up takes away what the other test has left, too.
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

    #[test]
    fn a_pipe_for_an_owner_is_not_waited_for_and_a_link_is_left() {
        let _turn = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
        let of = |end: &str| std::env::temp_dir().join(format!("{PREFIX}{}-{end}", std::process::id()));
        let (place, link) = (of("pipe"), of("link"));
        fs::create_dir(&place).unwrap();
        assert!(Command::new("mkfifo").arg(place.join(OWNER)).status().unwrap().success());
        std::os::unix::fs::symlink("/etc", &link).unwrap();
        clean_up(&[]);
        assert!(!place.exists() && link.is_symlink());
        fs::remove_file(&link).unwrap();
    }

    #[test]
    fn what_a_dead_owner_left_is_ended_and_removed_and_said() {
        let _turn = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
        let base = std::env::temp_dir();
        let place = base.join(format!("{PREFIX}{}-test", std::process::id()));
        fs::create_dir_all(place.join("nsd-1")).unwrap();
        let owner = File::create(place.join(OWNER)).unwrap();
        flock(&owner, FlockOperation::NonBlockingLockExclusive).unwrap();
        let (variable, value) = mark_of(&place).into_variable();
        let mut left = Command::new("sleep").arg("600").env(variable, &value).spawn().unwrap();
        // The kernel shows the environment of a new program a moment after its start.
        while marked(variable.as_ref(), &value).is_empty() {
            std::thread::sleep(Duration::from_millis(10));
        }
        // While the owner lives, nothing of it is touched.
        let words =
            |said: &[String]| said.iter().filter(|line| line.contains(&place.display().to_string())).count();
        assert_eq!(words(&clean_up(&[])), 0);
        assert!(place.exists() && left.try_wait().unwrap().is_none());

        drop(owner);
        let said = clean_up(&[]);
        let mine = format!("({})", left.id());
        assert!(said.iter().any(|line| line.starts_with("ended sleep") && line.contains(&mine)), "{said:?}");
        assert_eq!(words(&said), 1, "{said:?}");
        assert!(!place.exists());
        assert!(!left.wait().unwrap().success());
    }
}

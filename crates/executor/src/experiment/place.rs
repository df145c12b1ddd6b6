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
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use dnsdyno_lab::remove_left_namespaces;
use rustix::fs::{FlockOperation, flock};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use super::error::ExperimentError;
use crate::Journal;

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
        (MARK.to_owned(), self.folder.display().to_string())
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        // What the servers have started and did not end with them.
        end_marked(&self.folder);
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
    let mut places: Vec<PathBuf> = in_temporary.chain(noted.iter().cloned()).filter(is_place).collect();
    places.sort();
    places.dedup();
    for place in places {
        if is_owned(&place) {
            continue;
        }
        let ended = end_marked(&place);
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

/// Whether the process that made a place still lives: it holds the lock.
fn is_owned(place: &Path) -> bool {
    let Ok(owner) = File::open(place.join(OWNER)) else { return false };
    let tried = flock(&owner, FlockOperation::NonBlockingLockExclusive).map_err(io::Error::from);
    tried.is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock)
}

/// Ends every process that has the mark of a place, and waits for its end; returns the names of those it has ended.
fn end_marked(place: &Path) -> Vec<String> {
    let mark = format!("{MARK}={}", place.display());
    let deadline = Instant::now() + END_WITHIN;
    let mut ended = Vec::new();
    // What one of them starts meanwhile is met in the next round.
    while Instant::now() < deadline {
        let found = marked(&mark);
        if found.is_empty() {
            break;
        }
        for (pid, name) in found {
            let Some(number) = Pid::from_raw(pid) else { continue };
            let Ok(process) = pidfd_open(number, PidfdFlags::empty()) else { continue };
            // The number may have been given to another process meanwhile; what the handle is of has it now.
            if has_mark(pid, &mark) && pidfd_send_signal(&process, Signal::KILL).is_ok() {
                let words = format!("{name} ({pid})");
                if !ended.contains(&words) {
                    ended.push(words);
                }
            }
        }
        std::thread::sleep(LOOK_AGAIN);
    }
    ended
}

/// The processes with the mark, but for ours, with their names.
fn marked(mark: &str) -> Vec<(i32, String)> {
    let own = i32::try_from(std::process::id()).unwrap_or(0);
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    let of = |pid: i32| {
        let name = || fs::read_to_string(format!("/proc/{pid}/comm")).map(|name| name.trim().to_owned());
        (pid != own && has_mark(pid, mark)).then(|| (pid, name().unwrap_or_default()))
    };
    pids.filter_map(of).collect()
}

/// Whether a process that has not ended has the mark. The environment of one that has ended is empty.
fn has_mark(pid: i32, mark: &str) -> bool {
    let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
    environment.split(|byte| *byte == 0).any(|variable| variable == mark.as_bytes())
}

/// What the names of places start with; the process and a number follow.
const PREFIX: &str = "dnsdyno-experiment-";

/// The file that the owner of a place has locked.
const OWNER: &str = "owner";

/// The variable in the environment of each process.
const MARK: &str = "DNSDYNO_EXPERIMENT";

/// The kernel ends what is killed in a moment, unless it waits for a device.
const END_WITHIN: Duration = Duration::from_secs(5);

const LOOK_AGAIN: Duration = Duration::from_millis(10);

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn what_a_dead_owner_left_is_ended_and_removed_and_said() {
        let base = std::env::temp_dir();
        let place = base.join(format!("{PREFIX}{}-test", std::process::id()));
        fs::create_dir_all(place.join("nsd-1")).unwrap();
        let owner = File::create(place.join(OWNER)).unwrap();
        flock(&owner, FlockOperation::NonBlockingLockExclusive).unwrap();
        let mut left = Command::new("sleep").arg("600").env(MARK, &place).spawn().unwrap();
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

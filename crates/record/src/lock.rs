//! Whether the writer of a run still lives: it holds a lock on the folder of the run, which the kernel takes away when
//! the process ends, however it ends.

use std::fs::File;
use std::path::Path;
use std::time::Duration;

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

/// Locks the folder of a run, until the returned file is closed. `None` where the file system has no locks: its readers
/// then take a run in progress for one that was cut off.
pub(crate) fn lock(dir: &Path) -> Option<File> {
    let dir = File::open(dir).ok()?;
    for _ in 0..ATTEMPTS {
        match flock(&dir, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => return Some(dir),
            // A reader looks whether it is locked, and holds it for a moment.
            Err(Errno::WOULDBLOCK) => std::thread::sleep(MOMENT),
            Err(_) => return None,
        }
    }
    None
}

/// Whether the run of this record is in progress: its writer lives. `path` is the run's folder or its file.
pub fn is_in_progress(path: &Path) -> bool {
    let parent = || path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let dir = if path.is_dir() { path } else { parent() };
    let locked = File::open(dir).map(|dir| flock(&dir, FlockOperation::NonBlockingLockShared));
    // A lock that we get is given back when the file is closed.
    matches!(locked, Ok(Err(Errno::WOULDBLOCK)))
}

/// Far longer than a reader holds it.
const ATTEMPTS: u32 = 100;
const MOMENT: Duration = Duration::from_millis(1);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_in_progress_while_its_writer_holds_its_folder() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("run.ndjson");
        std::fs::write(&file, "").unwrap();
        assert!(!is_in_progress(dir.path()));
        let writer = lock(dir.path());
        assert!(writer.is_some() && is_in_progress(dir.path()) && is_in_progress(&file));
        drop(writer);
        assert!(!is_in_progress(dir.path()) && !is_in_progress(&dir.path().join("nothing")));
    }
}

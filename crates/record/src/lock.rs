//! Whether the writer of a run still lives: it holds a lock on the folder of the run, which the kernel takes away when
//! the process ends, however it ends.

use std::fs::File;
use std::path::Path;
use std::time::{Duration, SystemTime};

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use crate::{PACKED_FILE, RUN_FILE};

/// Locks the folder of a run, until the returned file is closed; `None` where the file system has no locks.
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
    let Ok(folder) = File::open(dir) else { return false };
    match flock(&folder, FlockOperation::NonBlockingLockShared) {
        // It is given back when the file is closed.
        Ok(()) => false,
        Err(Errno::WOULDBLOCK) => true,
        // Without locks: one that was written a moment ago.
        Err(_) => [RUN_FILE, PACKED_FILE].iter().any(|file| is_fresh(&dir.join(file))),
    }
}

fn is_fresh(file: &Path) -> bool {
    let written = file.metadata().and_then(|metadata| metadata.modified());
    written.is_ok_and(|at| SystemTime::now().duration_since(at).is_ok_and(|age| age < FRESH))
}

/// Far longer than a reader holds it.
const ATTEMPTS: u32 = 100;
const MOMENT: Duration = Duration::from_millis(1);

/// The longest interval and the longest usual timeout.
const FRESH: Duration = Duration::from_secs(70);

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

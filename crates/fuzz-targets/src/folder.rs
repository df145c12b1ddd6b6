//! Folders for the targets that read files.

use std::cell::RefCell;
use std::path::Path;

use tempfile::TempDir;

thread_local! {
    /// A folder with one for each target, in memory where the host has such a file system.
    static FOLDERS: RefCell<Option<TempDir>> = const { RefCell::new(None) };
}

/// Runs in the folder of a target, which is that of its earlier inputs too.
pub(crate) fn in_folder(target: &str, run: impl FnOnce(&Path)) {
    FOLDERS.with_borrow_mut(|folders| {
        let folders = folders.get_or_insert_with(|| {
            let memory = Path::new("/dev/shm");
            match memory.is_dir() {
                true => TempDir::new_in(memory),
                false => TempDir::new(),
            }
            .expect("a folder for temporary files")
        });
        let folder = folders.path().join(target);
        std::fs::create_dir_all(&folder).expect("a folder of our own");
        run(&folder);
    });
}

pub(crate) fn write(path: &Path, content: &[u8]) {
    std::fs::write(path, content).expect("the disk has space");
}

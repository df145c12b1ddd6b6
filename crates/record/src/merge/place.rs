//! Where a joined record goes: it is written beside that place, and put there when it is whole.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use super::error::MergeError;
use crate::lock::is_in_progress;
use crate::{INDEX_FILE, PACKED_FILE, RUN_FILE, WriteError};

/// The folder of a joined record.
#[derive(Debug)]
pub(super) struct Place {
    folder: PathBuf,
    temporary: PathBuf,
    replaces: bool,
}

impl Place {
    /// A folder that does not exist.
    pub(super) fn new_folder(folder: &Path) -> Result<Place, MergeError> {
        if folder.exists() {
            return Err(WriteError::AlreadyARun { path: folder.to_owned() }.into());
        }
        let parent = folder.parent().unwrap_or(Path::new(""));
        if !parent.as_os_str().is_empty() {
            fs::create_dir_all(parent)
                .map_err(|source| WriteError::Folder { path: parent.to_owned(), source })?;
        }
        let name = folder.file_name().unwrap_or_default().to_string_lossy();
        Place::with_temporary(folder, parent.join(format!(".{name}.joining")), false)
    }

    /// That of a record, whose files are replaced.
    pub(super) fn in_place_of(run: &Path) -> Result<Place, MergeError> {
        Place::with_temporary(run, run.join(".joining"), true)
    }

    fn with_temporary(folder: &Path, temporary: PathBuf, replaces: bool) -> Result<Place, MergeError> {
        if is_in_progress(&temporary) {
            return Err(MergeError::InProgress { path: temporary });
        }
        // What a killed process has left.
        match fs::remove_dir_all(&temporary) {
            Err(source) if source.kind() != io::ErrorKind::NotFound => {
                Err(MergeError::Place { path: temporary, source })
            }
            _ => Ok(Place { folder: folder.to_owned(), temporary, replaces }),
        }
    }

    /// Where the record is written.
    pub(super) fn temporary(&self) -> &Path {
        &self.temporary
    }

    /// Puts the record in its place; returns the folder.
    pub(super) fn put(self) -> Result<PathBuf, MergeError> {
        let put = if self.replaces {
            replace(&self.folder, &self.temporary)
        } else {
            fs::rename(&self.temporary, &self.folder)
        };
        put.map_err(|source| MergeError::Place { path: self.folder.clone(), source })?;
        Ok(self.folder.clone())
    }
}

/// What was not put in its place is removed.
impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.temporary);
    }
}

/// Puts the files of a record in the place of another's. After each step the folder has one whole record: of a
/// compressed and an uncompressed one, a reader takes the compressed one.
fn replace(folder: &Path, new: &Path) -> io::Result<()> {
    let is_packed = new.join(PACKED_FILE).exists();
    let (file, other) = if is_packed { (PACKED_FILE, RUN_FILE) } else { (RUN_FILE, PACKED_FILE) };
    File::open(new.join(file))?.sync_all()?;
    // An index of the old record would not fit, and only saves time.
    remove(&folder.join(INDEX_FILE))?;
    fs::rename(new.join(file), folder.join(file))?;
    remove(&folder.join(other))?;
    if is_packed { fs::rename(new.join(INDEX_FILE), folder.join(INDEX_FILE)) } else { Ok(()) }
}

fn remove(file: &Path) -> io::Result<()> {
    match fs::remove_file(file) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

//! The folder that data is written to.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use crate::DataError;

/// A new folder. Dropped before it is [finished](Folder::finish), it removes what was written.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    /// The folder's part of a path in a configuration, without the final slash.
    shown: String,
    /// Whether the folder itself was made here.
    is_new: bool,
    written: Vec<PathBuf>,
    /// The folders in it.
    below: Vec<PathBuf>,
    is_finished: bool,
}

impl Folder {
    /// Makes the folder, or takes one that is empty.
    ///
    /// # Errors
    /// If it has something in it, cannot be made, or cannot be named in the configuration of a server.
    pub fn make(path: &Path) -> Result<Self, DataError> {
        let cannot = |source| DataError::Write { path: path.to_owned(), source };
        let is_new = !path.exists();
        if !is_new && fs::read_dir(path).map_err(cannot)?.next().is_some() {
            return Err(DataError::NotEmpty(path.to_owned()));
        }
        let is_odd = |text: &str| text.contains(['"', '\\']) || text.chars().any(char::is_control);
        let absolute = std::path::absolute(path).map_err(cannot)?;
        let Some(shown) = absolute.to_str().filter(|text| !is_odd(text)).map(str::to_owned) else {
            return Err(DataError::OddPath(path.to_owned()));
        };
        fs::create_dir_all(path).map_err(cannot)?;
        let shown = shown.trim_end_matches('/').to_owned();
        Ok(Folder {
            path: path.to_owned(),
            shown,
            is_new,
            written: Vec::new(),
            below: Vec::new(),
            is_finished: false,
        })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The absolute path of a file in it, for the configuration of a server.
    pub fn shown(&self, name: &str) -> String {
        format!("{}/{name}", self.shown)
    }

    /// Writes a file; `name` may be in a folder below.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn write(
        &mut self,
        name: &str,
        content: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> Result<(), DataError> {
        let path = self.path.join(name);
        let cannot = |source| DataError::Write { path: path.clone(), source };
        if let Some((below, _)) = name.rsplit_once('/') {
            let below = self.path.join(below);
            fs::create_dir_all(&below).map_err(cannot)?;
            self.below.push(below);
        }
        let file = File::create_new(&path).map_err(cannot)?;
        self.written.push(path.clone());
        let mut out = BufWriter::with_capacity(BUFFER, file);
        content(&mut out).and_then(|()| out.flush()).map_err(cannot)
    }

    /// Keeps what was written.
    pub fn finish(mut self) -> PathBuf {
        self.is_finished = true;
        self.path.clone()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if self.is_finished {
            return;
        }
        // What cannot be removed stays: the error that led here is the one to be told.
        for path in &self.written {
            let _ = fs::remove_file(path);
        }
        for path in &self.below {
            let _ = fs::remove_dir(path);
        }
        if self.is_new {
            let _ = fs::remove_dir(&self.path);
        }
    }
}

const BUFFER: usize = 1 << 18;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_with_something_in_it_is_refused_and_stays_as_it_was() {
        let place = tempfile::tempdir().unwrap();
        fs::write(place.path().join("mine"), "kept").unwrap();
        let error = Folder::make(place.path()).unwrap_err();
        assert!(error.is_bad_input() && error.to_string().contains("is not empty"), "{error}");
        assert_eq!(fs::read_to_string(place.path().join("mine")).unwrap(), "kept");
    }

    #[test]
    fn what_cannot_be_finished_is_removed() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("data");
        let mut folder = Folder::make(&path).unwrap();
        folder.write("one", |out| out.write_all(b"1")).unwrap();
        let full = || io::Error::from(io::ErrorKind::StorageFull);
        let error = folder.write("below/two", |_| Err(full())).unwrap_err();
        assert!(!error.is_bad_input() && error.to_string().contains("below/two"), "{error}");
        drop(folder);
        assert!(!path.exists());
    }

    #[test]
    fn a_path_that_would_end_a_string_of_a_configuration_is_refused() {
        let place = tempfile::tempdir().unwrap();
        for name in ["a\"; include \"b", "a\nb", "a\\"] {
            let path = place.path().join(name);
            assert!(matches!(Folder::make(&path), Err(DataError::OddPath(_))), "{name:?}");
            assert!(!path.exists());
        }
    }
}

//! Files of others: a pipe in the place of a file would be waited for, perhaps for ever.

use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rustix::fs::OFlags;

/// Opens a regular file for reading.
///
/// # Errors
/// Those of the system, and where it is a pipe, a device or a folder.
pub fn open_regular(path: &Path) -> io::Result<File> {
    // The flag keeps the open itself from waiting for a writer, and changes nothing of a regular file.
    let flags = OFlags::NONBLOCK.bits() as i32;
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file")),
    }
}

/// The text of a regular file.
///
/// # Errors
/// As of [`open_regular`], and where it is not UTF-8.
pub fn read_regular(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    open_regular(path)?.read_to_string(&mut text)?;
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pipe_and_a_folder_are_refused_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let (pipe, file) = (folder.path().join("pipe"), folder.path().join("file"));
        rustix::fs::mknodat(
            rustix::fs::CWD,
            &pipe,
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR,
            0,
        )
        .unwrap();
        std::fs::write(&file, "text").unwrap();
        for path in [&pipe, &folder.path().to_owned()] {
            assert!(read_regular(path).unwrap_err().to_string().contains("not a regular file"));
        }
        assert_eq!(read_regular(&file).unwrap(), "text");
    }
}

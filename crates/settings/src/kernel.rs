//! Values in files of the kernel: `/proc/sys`, `/sys`.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

use crate::error::HostError;

/// The value in a file; `None` where this kernel does not have it.
pub(crate) fn read(path: &Path) -> Result<Option<String>, HostError> {
    match fs::read(path) {
        Ok(octets) => {
            String::from_utf8(octets).map(|text| Some(value_of(&text))).map_err(|_| HostError::NotText)
        }
        Err(error) if is_missing(&error) => Ok(None),
        Err(error) => Err(HostError::Read(error)),
    }
}

/// Writes a value.
pub(crate) fn write(path: &Path, value: &str) -> Result<(), HostError> {
    let written = OpenOptions::new()
        .write(true)
        .truncate(true)
        .open(path)
        // In one call: the kernel takes what one call brings for the whole value.
        .and_then(|mut file| file.write(format!("{value}\n").as_bytes()));
    match written {
        Ok(1..) => Ok(()),
        Ok(0) => Err(HostError::Write(io::ErrorKind::WriteZero.into())),
        Err(error) => Err(HostError::Write(error)),
    }
}

/// Whether the error says that there is no such file.
pub(crate) fn is_missing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

fn value_of(text: &str) -> String {
    let line = text.strip_suffix('\n').unwrap_or(text);
    chosen(line).unwrap_or(line).to_owned()
}

/// The word in brackets, where a single line has exactly one.
fn chosen(line: &str) -> Option<&str> {
    if line.contains('\n') {
        return None;
    }
    let words = line.split_ascii_whitespace();
    let mut bracketed = words.filter_map(|word| word.strip_prefix('[')?.strip_suffix(']'));
    let word = bracketed.next()?;
    bracketed.next().is_none().then_some(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_value_is_the_text_without_the_end_of_the_line() {
        assert_eq!(value_of("4096\t131072\t6291456\n"), "4096\t131072\t6291456");
        assert_eq!(value_of("\n"), "");
        assert_eq!(value_of("00000000,00000003\n"), "00000000,00000003");
    }

    #[test]
    fn of_a_choice_the_value_is_the_word_in_brackets() {
        assert_eq!(value_of("always [madvise] never\n"), "madvise");
        assert_eq!(value_of("[none] mq-deadline\n"), "none");
        assert_eq!(value_of("[a] [b]\n"), "[a] [b]");
    }

    #[test]
    fn a_file_that_is_not_there_has_no_value() {
        let folder = tempfile::TempDir::new().unwrap();
        assert_eq!(read(&folder.path().join("none")).unwrap(), None);
        let file = folder.path().join("value");
        fs::write(&file, "100\n").unwrap();
        assert_eq!(read(&file.join("below")).unwrap(), None);
        write(&file, "7").unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), "7\n");
    }
}

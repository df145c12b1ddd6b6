//! What a program has written to a file: its end, and the last line of that.

use std::fs;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

/// The end of a file; `None` where it cannot be read.
pub(super) fn end_of(path: &Path) -> Option<Vec<u8>> {
    let mut file = fs::File::open(path).ok()?;
    let length = file.metadata().ok()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(MOST_BYTES))).ok()?;
    let mut content = Vec::new();
    file.take(MOST_BYTES).read_to_end(&mut content).ok()?;
    Some(content)
}

/// The last line that is not empty, without the spaces around it.
pub(super) fn last_line(text: &str) -> Option<&str> {
    text.lines().map(str::trim).rfind(|line| !line.is_empty())
}

/// Of a log, its end says how a run went; a server that logs queries writes gigabytes.
const MOST_BYTES: u64 = 256 << 10;

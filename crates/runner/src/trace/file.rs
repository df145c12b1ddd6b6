//! The file of a trace, which is valid JSON after each write: also if the program is killed, or the disk is full.
//!
//! ```text
//!   {"displayTimeUnit":"ns","traceEvents":[ event, event, event ],"otherData":{...}}
//!                                                              └── the end is written again after each addition
//! ```

use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use super::events::Events;

/// A file that events are added to.
pub(super) struct TraceFile {
    file: File,
    path: PathBuf,
    /// Where the end begins.
    end_at: u64,
    /// What stands there.
    end: String,
}

impl TraceFile {
    /// Creates it, without events.
    pub(super) fn create(path: &Path) -> io::Result<TraceFile> {
        let mut file = File::create(path)?;
        file.write_all(BEGIN.as_bytes())?;
        let end = Events::new(0).end();
        file.write_all(end.as_bytes())?;
        Ok(TraceFile { file, path: path.to_owned(), end_at: BEGIN.len() as u64, end })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Adds the events that are not written yet, and the end. If that fails, the file is what it was before.
    pub(super) fn append(&mut self, events: &Events) -> io::Result<()> {
        let text = events.text();
        if text.is_empty() {
            return Ok(());
        }
        let end = events.end();
        let added = self.write(&format!("{text}{end}"));
        match added {
            Ok(()) => {
                self.end_at += text.len() as u64;
                self.end = end;
                Ok(())
            }
            Err(error) => {
                // The blocks of the earlier end are still there: it needs no new space.
                let _ = self.file.set_len(self.end_at);
                let end = std::mem::take(&mut self.end);
                let _ = self.write(&end);
                Err(error)
            }
        }
    }

    fn write(&mut self, text: &str) -> io::Result<()> {
        self.file.seek(SeekFrom::Start(self.end_at))?;
        self.file.write_all(text.as_bytes())
    }
}

/// `displayTimeUnit` is how viewers show times; the unit of `ts` is the microsecond in any case.
const BEGIN: &str = "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n";

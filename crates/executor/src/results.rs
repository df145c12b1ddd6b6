//! The results of the commands beside a run: a file in the folder of its record, one line for each command.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use dnsdyno_campaign::CommandResult;
use dnsdyno_record::read_regular;

/// The results of the commands of one run, written while it is made.
#[derive(Debug)]
pub(crate) struct Results {
    path: PathBuf,
    file: File,
}

/// Why the results of commands cannot be kept or read.
#[derive(Debug, thiserror::Error)]
pub enum ResultsError {
    /// The file cannot be read or written.
    #[error("cannot use {}: {source}; the results of the commands are kept there", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// A line of it is no result.
    #[error("{}:{line}: this is no result of a command", path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// The number of the line, from 1.
        line: usize,
    },
}

impl Results {
    /// Begins the file in the folder of a record.
    pub(crate) fn begin(folder: &Path) -> Result<Results, ResultsError> {
        let path = folder.join(FILE);
        let file = OpenOptions::new().append(true).create(true).mode(0o600).open(&path);
        match file {
            Ok(file) => Ok(Results { path, file }),
            Err(source) => Err(ResultsError::File { path, source }),
        }
    }

    /// Adds a result.
    pub(crate) fn add(&mut self, result: &CommandResult) -> Result<(), ResultsError> {
        let failed = |source| ResultsError::File { path: self.path.clone(), source };
        let mut line = serde_json::to_string(result).map_err(|error| failed(error.into()))?;
        line.push('\n');
        self.file.write_all(line.as_bytes()).map_err(failed)
    }
}

/// The results beside the record in this folder; none where no commands were carried out. A last line that was cut off
/// was not written.
pub(crate) fn read(folder: &Path) -> Result<Vec<CommandResult>, ResultsError> {
    let path = folder.join(FILE);
    let text = match read_regular(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(source) => return Err(ResultsError::File { path, source }),
    };
    let whole = text.rfind('\n').map_or(0, |end| end + 1);
    let result = |(number, line)| {
        serde_json::from_str(line).map_err(|_| ResultsError::Line { path: path.clone(), line: number + 1 })
    };
    text.get(..whole).unwrap_or_default().lines().enumerate().map(result).collect()
}

/// Beside `run.ndjson`.
const FILE: &str = "commands.ndjson";

#[cfg(test)]
mod tests {
    use super::*;
    use dnsdyno_campaign::CommandOutcome;

    #[test]
    fn results_are_read_as_they_were_written_up_to_a_line_that_was_cut_off() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(read(folder.path()).unwrap(), []);
        let result = |round| CommandResult {
            task: "add".into(),
            round,
            look_for: (round > 1).then(|| "secondary 1".into()),
            at_ns: 7,
            took_ns: 8,
            attempts: 1,
            outcome: CommandOutcome::Ok,
            exit_code: Some(0),
            output: String::new(),
        };
        let mut results = Results::begin(folder.path()).unwrap();
        results.add(&result(1)).unwrap();
        results.add(&result(2)).unwrap();
        results.file.write_all(b"{\"task\":\"a").unwrap();
        assert_eq!(read(folder.path()).unwrap(), [result(1), result(2)]);
        results.file.write_all(b"\n").unwrap();
        let error = read(folder.path()).unwrap_err().to_string();
        assert!(error.ends_with("commands.ndjson:3: this is no result of a command"), "{error}");
    }
}

//! Reads a run file line by line, also one that ends in the middle of a line.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use crate::line::{self, Line, LineError};
use crate::{FORMAT, Header, RUN_FILE};

/// The lines of a record, in the order of the file.
///
/// A generator that was killed leaves a file without its last lines, or with half a line at the
/// end: both are read up to there, and [`is_complete`](Self::is_complete) and
/// [`is_torn`](Self::is_torn) say so when the iterator has ended.
pub struct RunReader {
    path: PathBuf,
    input: BufReader<File>,
    header: Header,
    line: Vec<u8>,
    number: u64,
    complete: bool,
    torn: bool,
    ended: bool,
}

impl RunReader {
    /// Opens a run's folder, or a run file, and reads the header.
    ///
    /// # Errors
    /// No such file, no run file, or one of a newer format.
    pub fn open(path: &Path) -> Result<RunReader, ReadError> {
        let path = if path.is_dir() { path.join(RUN_FILE) } else { path.to_owned() };
        let file = File::open(&path).map_err(|source| ReadError::Open { path: path.clone(), source })?;
        let mut input = BufReader::new(file);
        let mut line = Vec::new();
        match read_line(&mut input, &mut line) {
            Ok(0) => return Err(ReadError::Empty { path }),
            Ok(_) => {}
            Err(source) => return Err(ReadError::Read { path, line: 1, source }),
        }
        let header = line::decode_header(&line).map_err(|why| match why {
            LineError::Newer(format) => ReadError::Newer { path: path.clone(), format },
            _ if !line.ends_with(b"\n") => ReadError::Empty { path: path.clone() },
            why => ReadError::Line { path: path.clone(), line: 1, why: why.to_string() },
        })?;
        Ok(RunReader { path, input, header, line, number: 1, complete: false, torn: false, ended: false })
    }

    /// The header.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// The run file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether the sum was read: the run ended in order and the file holds all of it.
    pub fn is_complete(&self) -> bool {
        self.complete
    }

    /// Whether the file ended in the middle of a line.
    pub fn is_torn(&self) -> bool {
        self.torn
    }

    /// The next line; `None` at the end, or where the rest is torn.
    fn read(&mut self) -> Result<Option<Line>, ReadError> {
        self.number += 1;
        let read = read_line(&mut self.input, &mut self.line);
        let length =
            read.map_err(|source| ReadError::Read { path: self.path.clone(), line: self.number, source })?;
        if length == 0 {
            return Ok(None);
        }
        match line::decode(&self.line, &self.header) {
            Ok(line) => {
                self.complete |= matches!(line, Line::Sum(_));
                Ok(Some(line))
            }
            // Only the writer's last line can lack its newline.
            Err(_) if !self.line.ends_with(b"\n") => {
                self.torn = true;
                Ok(None)
            }
            Err(why) => {
                Err(ReadError::Line { path: self.path.clone(), line: self.number, why: why.to_string() })
            }
        }
    }
}

/// Ends after the first error: what follows a damaged line is not to be trusted.
impl Iterator for RunReader {
    type Item = Result<Line, ReadError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        let next = self.read().transpose();
        self.ended = !matches!(next, Some(Ok(_)));
        next
    }
}

/// Why a record cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The file cannot be opened.
    #[error("cannot open {}: {source}; name a run's folder, or its {RUN_FILE}", path.display())]
    Open {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The disk failed.
    #[error("cannot read {} at line {line}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Number of the line, from 1.
        line: u64,
        /// What the system said.
        source: io::Error,
    },
    /// The file ends before its header does.
    #[error("{} holds no run: it ends before its first line does", path.display())]
    Empty {
        /// The file.
        path: PathBuf,
    },
    /// A newer dnsdyno wrote it.
    #[error(
        "{} has format {format} and this dnsdyno reads formats up to {FORMAT}: read it with the version that wrote it",
        path.display()
    )]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its format.
        format: u32,
    },
    /// A line is not what dnsdyno writes.
    #[error("{}, line {line}: not a line of a dnsdyno record: {why}", path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// Number of the line, from 1.
        line: u64,
        /// What is wrong with it.
        why: String,
    },
}

/// Reads up to and with the next newline, into the emptied `line`; gives its length.
fn read_line(input: &mut impl BufRead, line: &mut Vec<u8>) -> io::Result<usize> {
    line.clear();
    let length = input.by_ref().take(LONGEST_LINE).read_until(b'\n', line)?;
    if length as u64 == LONGEST_LINE {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "the line is too long for a dnsdyno record"));
    }
    Ok(length)
}

/// Four full histograms are under 1 MiB; more than this is another kind of file.
const LONGEST_LINE: u64 = 64 << 20;

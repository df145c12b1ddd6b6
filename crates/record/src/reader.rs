//! Reads a run file line by line, compressed or not; it may end in the middle of a line.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::ops::Range;
use std::path::{Path, PathBuf};

use crate::index::{self, Place, RollUp};
use crate::line::{self, Line, LineError};
use crate::{FORMAT, Header, PACKED_FILE, RUN_FILE};

/// The lines of a record, in the order of the file. Lines of unknown types are skipped.
///
/// A killed generator leaves a file without its last lines, or with half a line at the end. It is read up to there;
/// after the end of the iterator, see [`is_complete`](Self::is_complete) and [`is_torn`](Self::is_torn).
pub struct RunReader {
    path: PathBuf,
    input: Box<dyn BufRead>,
    header: Header,
    format: u32,
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
    /// The file does not exist, is not a run file, or has a newer format.
    pub fn open(path: &Path) -> Result<RunReader, ReadError> {
        let path = match path.is_dir() {
            // During the compression both files exist; the compressed one is complete.
            true if path.join(PACKED_FILE).exists() => path.join(PACKED_FILE),
            true => path.join(RUN_FILE),
            false => path.to_owned(),
        };
        let mut input = open(&path, 0..u64::MAX)?;
        let mut line = Vec::new();
        match read_line(&mut input, &mut line) {
            Ok(0) => return Err(ReadError::Empty { path }),
            Ok(_) => {}
            Err(source) => return Err(ReadError::Read { path, line: 1, source }),
        }
        let (header, format) = line::decode_header(&line).map_err(|why| match why {
            LineError::Newer(format) => ReadError::Newer { path: path.clone(), format },
            _ if !line.ends_with(b"\n") => ReadError::Empty { path: path.clone() },
            why => ReadError::Line { path: path.clone(), line: 1, why: why.to_string() },
        })?;
        let (number, complete, torn, ended) = (1, false, false, false);
        Ok(RunReader { path, input, header, format, line, number, complete, torn, ended })
    }

    /// The header.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// The run file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether the sum was read: the run ended regularly and the file is complete.
    pub fn is_complete(&self) -> bool {
        self.complete
    }

    /// Whether the file ends in the middle of a line.
    pub fn is_torn(&self) -> bool {
        self.torn
    }

    /// Lines read so far, including those before a part.
    pub(crate) fn lines_read(&self) -> u64 {
        self.number.saturating_sub(u64::from(self.ended))
    }

    /// The intervals that overlap the time from `from_ns` to `to_ns`, and the events in it.
    ///
    /// Of a compressed record only the groups that contain such intervals are read.
    ///
    /// # Errors
    /// The file cannot be opened again.
    pub fn between(
        self,
        from_ns: u64,
        to_ns: u64,
    ) -> Result<impl Iterator<Item = Result<Line, ReadError>>, ReadError> {
        let places = self.places();
        let before = places.iter().take_while(|place| place.row.to_ns <= from_ns);
        let (from_byte, lines) =
            before.fold((0, 1), |(_, lines), place| (place.to_byte, lines + place.lines));
        // An event may precede the intervals around its instant, because it is written before they settle.
        let reader = self.part(from_byte..u64::MAX, lines)?;
        let is_before_end = move |line: &Result<Line, ReadError>| match line {
            Ok(Line::Interval(interval)) => interval.from_ns < to_ns,
            _ => true,
        };
        let is_within = move |line: &Result<Line, ReadError>| match line {
            Ok(Line::Interval(interval)) => interval.to_ns > from_ns,
            Ok(Line::Event(event)) => (from_ns..to_ns).contains(&event.at_ns),
            Ok(Line::Sum(_)) => false,
            Err(_) => true,
        };
        Ok(reader.take_while(is_before_end).filter(is_within))
    }

    /// The positions of the groups of intervals; empty where the record has no index.
    pub(crate) fn places(&self) -> Vec<Place> {
        index::places(&self.path, &self.header.run_id)
    }

    /// The roll-ups of the groups.
    pub(crate) fn roll_ups(&self) -> impl Iterator<Item = RollUp> {
        index::entries(&self.path)
    }

    /// A reader of a range of bytes of the file, which starts with a line; `lines` lines are before it.
    pub(crate) fn part(&self, bytes: Range<u64>, lines: u64) -> Result<RunReader, ReadError> {
        Ok(RunReader {
            path: self.path.clone(),
            input: open(&self.path, bytes)?,
            header: self.header.clone(),
            format: self.format,
            line: Vec::new(),
            number: lines,
            complete: false,
            torn: false,
            ended: false,
        })
    }

    /// The next line; `None` at the end of the file, or where the last line is incomplete.
    fn read(&mut self) -> Result<Option<Line>, ReadError> {
        loop {
            self.number += 1;
            let read = read_line(&mut self.input, &mut self.line);
            let length = read.map_err(|source| ReadError::Read {
                path: self.path.clone(),
                line: self.number,
                source,
            })?;
            if length == 0 {
                return Ok(None);
            }
            match line::decode(&self.line, &self.header, self.format) {
                Ok(Some(line)) => {
                    self.complete |= matches!(line, Line::Sum(_));
                    return Ok(Some(line));
                }
                Ok(None) => {}
                // Only the last line can lack its newline.
                Err(_) if !self.line.ends_with(b"\n") => {
                    self.torn = true;
                    return Ok(None);
                }
                Err(why) => {
                    let (path, line) = (self.path.clone(), self.number);
                    return Err(ReadError::Line { path, line, why: why.to_string() });
                }
            }
        }
    }
}

/// Ends after the first error: the lines after a damaged line may be wrong too.
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
        /// The error of the system.
        source: io::Error,
    },
    /// Reading failed.
    #[error("cannot read {} at line {line}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Number of the line, from 1.
        line: u64,
        /// The error of the system.
        source: io::Error,
    },
    /// The header is incomplete.
    #[error("{} has no run: its first line is incomplete", path.display())]
    Empty {
        /// The file.
        path: PathBuf,
    },
    /// A newer dnsdyno wrote it.
    #[error(
        "{} has format {format} and this dnsdyno reads formats up to {FORMAT}: use the version that wrote it",
        path.display()
    )]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its format.
        format: u32,
    },
    /// A line was not written by dnsdyno, or is damaged.
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

/// The lines in a range of bytes of the file. A compressed file is recognized by its first bytes.
fn open(path: &Path, bytes: Range<u64>) -> Result<Box<dyn BufRead>, ReadError> {
    let open = || -> io::Result<Box<dyn BufRead>> {
        let mut file = File::open(path)?;
        let mut first = Vec::new();
        file.by_ref().take(ZSTD_MAGIC.len() as u64).read_to_end(&mut first)?;
        file.seek(SeekFrom::Start(bytes.start))?;
        let input = BufReader::new(file.take(bytes.end - bytes.start));
        if first != ZSTD_MAGIC {
            return Ok(Box::new(input));
        }
        Ok(Box::new(BufReader::with_capacity(DECODED_BYTES, zstd::Decoder::with_buffer(input)?)))
    };
    open().map_err(|source| ReadError::Open { path: path.to_owned(), source })
}

/// Replaces `line` by the next line with its newline; returns its length.
fn read_line(input: &mut impl BufRead, line: &mut Vec<u8>) -> io::Result<usize> {
    line.clear();
    match input.by_ref().take(LONGEST_LINE).read_until(b'\n', line) {
        // The writer was killed within a frame: all blocks before are complete.
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {}
        read => drop(read?),
    }
    if line.len() as u64 == LONGEST_LINE {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "the line is too long for a dnsdyno record"));
    }
    Ok(line.len())
}

/// Four full histograms are below 1 MiB; a longer line belongs to another kind of file.
const LONGEST_LINE: u64 = 64 << 20;

const ZSTD_MAGIC: [u8; 4] = 0xFD2F_B528_u32.to_le_bytes();

/// The size of a decompressed block of zstd.
const DECODED_BYTES: usize = 128 << 10;

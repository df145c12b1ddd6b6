//! Reads a run file line by line, compressed or not; it may end in the middle of a line.

use std::io::{self, BufRead};
use std::ops::Range;
use std::path::{Path, PathBuf};

use dnsdyno_text::shown;

use crate::fit::{self, Misfit, Order};
use crate::index::{self, Place, RollUp};
use crate::input::{self, read_line};
use crate::limits::LONGEST_QUOTE;
use crate::line::{self, Line, LineError};
use crate::{FORMAT, Header, PACKED_FILE, RUN_FILE};

/// The lines of a record, in the order of the file. Lines of unknown types are skipped; a line that does not fit to
/// those before it is an error.
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
    order: Order,
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
        let mut input = input::open(&path, 0..u64::MAX)
            .map_err(|source| ReadError::Open { path: path.clone(), source })?;
        let mut line = Vec::new();
        match read_line(&mut input, &mut line, 0) {
            Ok(0) => return Err(ReadError::Empty { path }),
            Ok(_) => {}
            Err(source) => return Err(ReadError::Read { path, line: 1, source }),
        }
        let (header, format) = line::decode_header(&line).map_err(|why| match why {
            LineError::Newer(format) => ReadError::Newer { path: path.clone(), format },
            _ if !line.ends_with(b"\n") => ReadError::Empty { path: path.clone() },
            why => ReadError::of_line(&path, 1, why),
        })?;
        fit::check_header(&header).map_err(|why| ReadError::Misfit { path: path.clone(), line: 1, why })?;
        let (number, complete, torn, ended) = (1, false, false, false);
        let order = Order::default();
        Ok(RunReader { path, input, header, format, line, number, order, complete, torn, ended })
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
        let mut start = (0, 0);
        for place in before {
            // The header is in no group.
            let lines = if start.0 == 0 { 1 } else { start.1 };
            start = (place.to_byte, place.lines.saturating_add(lines));
        }
        let (from_byte, lines) = start;
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
        let input = input::open(&self.path, bytes)
            .map_err(|source| ReadError::Open { path: self.path.clone(), source })?;
        Ok(RunReader {
            path: self.path.clone(),
            input,
            header: self.header.clone(),
            format: self.format,
            line: Vec::new(),
            number: lines,
            order: Order::default(),
            complete: false,
            torn: false,
            ended: false,
        })
    }

    /// The next line; `None` at the end of the file, or where the last line is incomplete.
    fn read(&mut self) -> Result<Option<Line>, ReadError> {
        loop {
            self.number = self.number.saturating_add(1);
            let read = read_line(&mut self.input, &mut self.line, self.header.agents.len());
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
                    self.order.check(&line).map_err(|why| self.misfit(why))?;
                    self.complete |= matches!(line, Line::Sum(_));
                    return Ok(Some(line));
                }
                Ok(None) => {}
                // A part from the start of the file.
                Err(LineError::SecondHeader) if self.number == 1 => {}
                // Only the last line can lack its newline.
                Err(_) if !self.line.ends_with(b"\n") => {
                    self.torn = true;
                    return Ok(None);
                }
                Err(why) => return Err(ReadError::of_line(&self.path, self.number, why)),
            }
        }
    }

    /// The last line read does not fit to those before it.
    pub(crate) fn misfit(&self, why: Misfit) -> ReadError {
        ReadError::Misfit { path: self.path.clone(), line: self.number, why }
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
    #[error("cannot open {}: {source}; name a run's folder, or its {RUN_FILE}", named(path))]
    Open {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// Reading failed.
    #[error("cannot read {} at line {line}: {source}", named(path))]
    Read {
        /// The file.
        path: PathBuf,
        /// Number of the line, from 1.
        line: u64,
        /// The error of the system.
        source: io::Error,
    },
    /// The header is incomplete.
    #[error("{} has no run: its first line is incomplete", named(path))]
    Empty {
        /// The file.
        path: PathBuf,
    },
    /// A newer dnsdyno wrote it.
    #[error(
        "{} has format {format} and this dnsdyno reads formats up to {FORMAT}: use the version that wrote it",
        named(path)
    )]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its format.
        format: u32,
    },
    /// A line was not written by dnsdyno, or is damaged.
    #[error("{}, line {line}: not a line of a dnsdyno record: {why}", named(path))]
    Line {
        /// The file.
        path: PathBuf,
        /// Number of the line, from 1.
        line: u64,
        /// What is wrong with it.
        why: String,
    },
    /// A line does not fit to those before it.
    #[error("{}, line {line}: {why}: the record was changed, or written by another program", named(path))]
    Misfit {
        /// The file.
        path: PathBuf,
        /// Number of the line, from 1.
        line: u64,
        /// What does not fit.
        why: Misfit,
    },
}

impl ReadError {
    fn of_line(path: &Path, line: u64, why: LineError) -> ReadError {
        ReadError::Line { path: path.to_owned(), line, why: why.to_string() }
    }
}

/// The path for a message. Its names may be of somebody else: `show runs/*` takes what is there.
fn named(path: &Path) -> String {
    shown(&path.to_string_lossy(), LONGEST_QUOTE).into_owned()
}

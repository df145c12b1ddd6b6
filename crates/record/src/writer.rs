//! Writes a run's folder during the run.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::index::OpenGroup;
use crate::queue::Queue;
use crate::store::{Item, Long, Store};
use crate::{
    Digest, Event, HOST_FILE, Header, HostInfo, Interval, PACKED_FILE, PLAN_FILE, RUN_FILE, Sum, Unsaved,
    line, lock,
};

/// Writes the record of one run, and builds its digest.
///
/// A call only encodes its line; a separate thread writes it, so a disk that blocks does not stop the run. Lines that
/// cannot be written are kept in memory (up to 64 MiB) and retried before the next one: an error of
/// [`interval`](Self::interval) or [`event`](Self::event) is a message for the user, not a reason to stop the run.
pub struct RunWriter {
    dir: PathBuf,
    queue: Queue,
    digest: Digest,
    group: OpenGroup,
    /// Dropped lines that an event in the record has reported.
    reported_dropped: u64,
    /// Says to readers that the run is in progress.
    _lock: Option<File>,
}

impl RunWriter {
    /// Creates the folder `dir` (and its parents) and writes the plan, the host and the header.
    ///
    /// # Errors
    /// `dir` already has a run, or cannot be written to. Then all files created are removed.
    pub fn create(
        dir: &Path,
        header: &Header,
        plan_toml: &str,
        host: &HostInfo,
    ) -> Result<RunWriter, WriteError> {
        let created_dir = !dir.exists();
        fs::create_dir_all(dir).map_err(|source| WriteError::Folder { path: dir.to_owned(), source })?;
        let mut created = Vec::new();
        let started = Self::begin(dir, header, plan_toml, host, &mut created);
        if started.is_err() {
            // Best effort: the first error is the one that the user gets.
            created.iter().for_each(|path| drop(fs::remove_file(path)));
            if created_dir {
                let _ = fs::remove_dir(dir);
            }
        }
        started
    }

    /// Whether a run can be written to this folder as far as is known without writing: it has none, and is no file.
    ///
    /// # Errors
    /// The same as those of [`create`](Self::create).
    pub fn check_folder(dir: &Path) -> Result<(), WriteError> {
        if dir.exists() && !dir.is_dir() {
            let source = io::Error::new(io::ErrorKind::NotADirectory, "it is a file");
            return Err(WriteError::Folder { path: dir.to_owned(), source });
        }
        match [RUN_FILE, PACKED_FILE].map(|name| dir.join(name)).into_iter().find(|path| path.exists()) {
            Some(path) => Err(WriteError::AlreadyARun { path }),
            None => Ok(()),
        }
    }

    /// The steps of [`create`](Self::create); `created` lists the files to remove if one fails.
    fn begin(
        dir: &Path,
        header: &Header,
        plan_toml: &str,
        host: &HostInfo,
        created: &mut Vec<PathBuf>,
    ) -> Result<RunWriter, WriteError> {
        let packed = dir.join(PACKED_FILE);
        if packed.exists() {
            return Err(WriteError::AlreadyARun { path: packed });
        }
        // The run file first: the process that creates it owns the folder.
        let file = create_new(dir.join(RUN_FILE), created)?;
        write_new(dir.join(PLAN_FILE), plan_toml.as_bytes(), created)?;
        write_new(dir.join(HOST_FILE), host.to_json().as_bytes(), created)?;
        let long = Long::RUN;
        let lock = lock::lock(dir);
        let store = Store::new(Box::new(file), Some(dir), long);
        let writer = Self::with_store(store, KEPT_LIMIT_BYTES, dir, header)?;
        Ok(RunWriter { _lock: lock, ..writer })
    }

    /// Writes the header to an empty store.
    fn with_store(
        mut store: Store,
        limit_bytes: u64,
        dir: &Path,
        header: &Header,
    ) -> Result<RunWriter, WriteError> {
        let mut begin = || -> io::Result<()> {
            store.put(Item::Line(line::encode_header(header)))?;
            store.settle()?;
            // A group of its own, so that a reader of any part can read it alone.
            store.put(Item::Group { lines: 1, roll_up: None })
        };
        let started = begin().and_then(|()| Queue::new(store, limit_bytes));
        let queue = started.map_err(|source| WriteError::File { path: dir.join(RUN_FILE), source })?;
        let group = OpenGroup::new((0, None), header.types.len());
        let digest = Digest::begun(header.clone());
        Ok(RunWriter { dir: dir.to_owned(), queue, digest, group, reported_dropped: 0, _lock: None })
    }

    /// Writes a settled interval, in the order of the index.
    ///
    /// # Errors
    /// A line could not be written: it is kept, and retried with the next one.
    pub fn interval(&mut self, interval: &Interval) -> Result<(), WriteError> {
        let reported = match self.queue.unsaved().lines {
            0 => self.report_dropped(interval.from_ns),
            _ => Ok(()),
        };
        let which = self.digest.header.group_of(interval);
        let ended = match which == self.group.which {
            true => Ok(()),
            false => self.end_group(which),
        };
        let ended = self.kept(ended);
        // Whatever failed above is retried, and the interval is kept.
        self.digest.interval(interval);
        self.group.row(&self.digest.header.row_of(interval));
        let pushed = self.push(line::encode_interval(&self.digest.header, interval));
        reported.and(ended).and(pushed)
    }

    /// Writes an event.
    ///
    /// # Errors
    /// A line could not be written: it is kept, and retried with the next one.
    pub fn event(&mut self, event: &Event) -> Result<(), WriteError> {
        self.group.event(event, self.digest.events.len() as u64);
        self.digest.event(event);
        self.push(line::encode_event(&self.digest.header, event))
    }

    /// Writes the sum, retries the lines kept, and waits until they are on the disk.
    ///
    /// # Errors
    /// Lines are missing on the disk. The [`digest`](Self::digest) is complete in any case, and
    /// [`finish_again`](Self::finish_again) may be called when there is free space.
    pub fn finish(&mut self, sum: &Sum) -> Result<(), WriteError> {
        // What stays unsaved is reported below, with the reason of the last attempt. Lost lines are reported even where
        // the disk is still full: without that event, a reader would find that the intervals do not add up.
        let _ = self.queue.wait(false);
        let _ = self.report_dropped(sum.to_ns);
        let _ = self.end_group((u64::MAX, None));
        self.digest.sum(sum);
        self.group.lines = 1;
        let _ = self.push(line::encode_sum(&self.digest.header, sum));
        let _ = self.end_group((u64::MAX, None));
        self.finish_again()
    }

    /// Retries to write what [`finish`](Self::finish) could not.
    ///
    /// # Errors
    /// As [`finish`](Self::finish).
    pub fn finish_again(&mut self) -> Result<(), WriteError> {
        let written = self.queue.wait(true);
        let unsaved = self.queue.unsaved();
        match written {
            Ok(()) if unsaved.dropped == 0 => Ok(()),
            Ok(()) => Err(WriteError::Gap { path: self.run_file(), dropped: unsaved.dropped }),
            Err(source) => Err(WriteError::Missing {
                path: self.run_file(),
                lines: unsaved.lines + unsaved.dropped,
                source,
            }),
        }
    }

    /// The lines that are not on disk now.
    pub fn unsaved(&self) -> Unsaved {
        self.queue.unsaved()
    }

    /// Keeps no rows for a summary that nobody will ask for: of many records at once they would be most of the memory.
    #[must_use]
    pub fn without_rows(mut self) -> RunWriter {
        self.digest.keeps_rows = false;
        self
    }

    /// The summary of all lines so far, written or not.
    pub fn digest(&self) -> &Digest {
        &self.digest
    }

    /// The folder of the run.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    fn push(&mut self, line: Vec<u8>) -> Result<(), WriteError> {
        let pushed = self.queue.push(Item::Line(line));
        self.kept(pushed)
    }

    /// Ends the current group of lines, and starts another.
    fn end_group(&mut self, next: (u64, Option<usize>)) -> io::Result<()> {
        let header = &self.digest.header;
        let group = std::mem::replace(&mut self.group, OpenGroup::new(next, header.types.len()));
        if group.lines == 0 {
            return Ok(());
        }
        self.queue.push(Item::Group { lines: group.lines, roll_up: group.roll_up(&header.run_id) })
    }

    fn kept(&self, pushed: io::Result<()>) -> Result<(), WriteError> {
        pushed.map_err(|source| {
            let Unsaved { lines, dropped, .. } = self.queue.unsaved();
            WriteError::Kept { path: self.run_file(), lines, dropped, source }
        })
    }

    /// Writes an event where lines were lost, as soon as lines can be written again.
    fn report_dropped(&mut self, at_ns: u64) -> Result<(), WriteError> {
        let dropped = self.queue.unsaved().dropped;
        if dropped == self.reported_dropped {
            return Ok(());
        }
        let lost = dropped - self.reported_dropped;
        self.reported_dropped = dropped;
        self.event(&Event {
            at_ns,
            kind: Event::RECORD_GAP.to_owned(),
            message: format!(
                "the disk could not be written for too long: {lost} lines of the record are lost"
            ),
            figures: [("lines".to_owned(), lost.into())].into_iter().collect(),
        })
    }

    fn run_file(&self) -> PathBuf {
        let packed = self.dir.join(PACKED_FILE);
        if packed.exists() { packed } else { self.dir.join(RUN_FILE) }
    }
}

/// Why a record cannot be written, or is incomplete.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// The folder cannot be created.
    #[error("cannot create the folder {}: {source}; choose one that you may write to", path.display())]
    Folder {
        /// The folder.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// The folder has files of a run.
    #[error("{} exists: a run is never overwritten; choose another folder", path.display())]
    AlreadyARun {
        /// The file found.
        path: PathBuf,
    },
    /// A file of the run cannot be created.
    #[error("cannot write {}: {source}; choose a folder that you may write to, with free space", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// Lines cannot be written now; they are kept in memory and retried.
    #[error(
        "cannot write to {} now: {source}; {lines} lines are kept and retried ({dropped} are lost): free some \
         disk space", path.display()
    )]
    Kept {
        /// The run file.
        path: PathBuf,
        /// Lines kept.
        lines: u64,
        /// Lines lost so far.
        dropped: u64,
        /// The error of the system.
        source: io::Error,
    },
    /// The last lines of the record are not on the disk.
    #[error(
        "{} is incomplete: {source}; its last {lines} lines are missing, the earlier lines can be read",
        path.display()
    )]
    Missing {
        /// The run file.
        path: PathBuf,
        /// Lines missing.
        lines: u64,
        /// The error of the system.
        source: io::Error,
    },
    /// Writing failed for so long that the oldest lines were lost.
    #[error("{} has a gap: {dropped} lines are lost, because the disk could not be written for too long",
        path.display())]
    Gap {
        /// The run file.
        path: PathBuf,
        /// Lines lost.
        dropped: u64,
    },
}

/// Creates a file that does not exist.
fn create_new(path: PathBuf, created: &mut Vec<PathBuf>) -> Result<File, WriteError> {
    match OpenOptions::new().write(true).create_new(true).open(&path) {
        Ok(file) => {
            created.push(path);
            Ok(file)
        }
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(WriteError::AlreadyARun { path }),
        Err(source) => Err(WriteError::File { path, source }),
    }
}

/// Creates a file that does not exist, with its content.
fn write_new(path: PathBuf, content: &[u8], created: &mut Vec<PathBuf>) -> Result<(), WriteError> {
    let mut file = create_new(path.clone(), created)?;
    file.write_all(content).map_err(|source| WriteError::File { path, source })
}

/// More than ten minutes of a busy run with an interval per second.
const KEPT_LIMIT_BYTES: u64 = 64 << 20;

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use dnsdyno_measure::{Arrivals, Tally};

    use super::*;
    use crate::small_disk::SmallDisk;
    use crate::{FORMAT, Line};

    fn header() -> Header {
        Header {
            run_id: "r".into(),
            started_unix_ns: 1,
            version: "0".into(),
            interval_ns: 1,
            timeout_ns: 1,
            target: "::1".into(),
            address: "[::1]:53".parse().unwrap(),
            queries: 1,
            load: "one at a time".into(),
            ..Header::default()
        }
    }

    fn interval(index: u64) -> Interval {
        let (tally, arrivals) = (Tally::new(0), Arrivals::default());
        Interval {
            agents: Vec::new(),
            index,
            from_ns: index,
            to_ns: index + 1,
            covered_ns: None,
            asked_qps: 0.0,
            tally,
            arrivals,
            workers: Vec::new(),
            watched: Vec::new(),
        }
    }

    /// A writer on a disk of `capacity` bytes, that keeps up to `limit` bytes of lines.
    fn writer_on(capacity: usize, limit: u64) -> (RunWriter, Arc<Mutex<SmallDisk>>) {
        let disk = Arc::new(Mutex::new(SmallDisk { capacity, ..SmallDisk::default() }));
        let store = Store::new(Box::new(disk.clone()), None, Long::RUN);
        (RunWriter::with_store(store, limit, Path::new("runs/full"), &header()).unwrap(), disk)
    }

    /// Writes an interval, and waits until that has succeeded or failed.
    fn write_and_wait(writer: &mut RunWriter, index: u64) -> io::Result<()> {
        let _ = writer.interval(&interval(index));
        writer.queue.wait(false)
    }

    /// The type of each line on the disk, with the index of an interval or the kind of an event.
    fn lines_on(disk: &Mutex<SmallDisk>) -> Vec<String> {
        let disk = disk.lock().unwrap();
        assert!(disk.bytes.ends_with(b"\n"), "a torn line");
        let lines = disk.bytes.split(|b| *b == b'\n').skip(1).filter(|line| !line.is_empty());
        let name = |line: &[u8]| match line::decode(line, &header(), FORMAT).unwrap().unwrap() {
            Line::Interval(interval) => interval.index.to_string(),
            Line::Event(event) => event.kind,
            Line::Sum(_) => "sum".to_owned(),
        };
        lines.map(name).collect()
    }

    #[test]
    fn a_disk_that_was_full_for_some_time_gets_every_line_in_order() {
        let (mut writer, disk) = writer_on(HEADER_ONLY, u64::MAX);
        write_and_wait(&mut writer, 0).unwrap_err();
        let error = writer.interval(&interval(1)).unwrap_err();
        assert!(matches!(error, WriteError::Kept { lines: 2, dropped: 0, .. }), "{error}");
        assert!(error.to_string().contains("runs/full/run.ndjson"), "{error}");
        disk.lock().unwrap().capacity = usize::MAX;
        write_and_wait(&mut writer, 2).unwrap();
        writer.finish(&Sum::default()).unwrap();
        assert!(writer.unsaved().is_nothing());
        assert_eq!(lines_on(&disk), ["0", "1", "2", "sum"]);
    }

    #[test]
    fn an_interval_that_begins_a_group_is_kept_where_the_write_before_it_has_failed() {
        let (mut writer, disk) = writer_on(HEADER_ONLY, u64::MAX);
        let first_of_second_group = crate::row::GROUP_INTERVALS;
        (0..first_of_second_group).for_each(|index| drop(write_and_wait(&mut writer, index)));
        write_and_wait(&mut writer, first_of_second_group).unwrap_err();
        disk.lock().unwrap().capacity = usize::MAX;
        write_and_wait(&mut writer, first_of_second_group + 1).unwrap();
        writer.finish(&Sum::default()).unwrap();
        let lines = lines_on(&disk);
        assert_eq!(lines.len() as u64, first_of_second_group + 3);
        assert_eq!(lines[first_of_second_group as usize], first_of_second_group.to_string());
    }

    #[test]
    fn with_a_full_disk_at_the_end_the_digest_is_complete_and_missing_lines_are_reported() {
        let (mut writer, disk) = writer_on(HEADER_ONLY, u64::MAX);
        write_and_wait(&mut writer, 0).unwrap_err();
        let error = writer.finish(&Sum::default()).unwrap_err();
        assert!(matches!(error, WriteError::Missing { lines: 2, .. }), "{error}");
        assert_eq!(lines_on(&disk), Vec::<String>::new());
        assert!(writer.digest().is_complete());
        disk.lock().unwrap().capacity = usize::MAX;
        writer.finish_again().unwrap();
        assert_eq!(lines_on(&disk), ["0", "sum"]);
    }

    #[test]
    fn lost_lines_give_an_event_and_an_error_at_the_end() {
        // Less than the intervals need, more than the last two lines do: these are kept together.
        let (mut writer, disk) = writer_on(HEADER_ONLY, 4_000);
        (0..30).for_each(|i| drop(write_and_wait(&mut writer, i).unwrap_err()));
        disk.lock().unwrap().capacity = usize::MAX;
        write_and_wait(&mut writer, 30).unwrap();
        let Unsaved { dropped, .. } = writer.unsaved();
        assert!(dropped > 0);
        let error = writer.finish(&Sum::default()).unwrap_err();
        assert!(matches!(error, WriteError::Gap { dropped: lost, .. } if lost == dropped), "{error}");
        let lines = lines_on(&disk);
        assert_eq!(lines[lines.len() - 3..], ["30", "record_gap", "sum"]);
        assert_eq!(lines.len() as u64, 31 - dropped + 2);
    }

    #[test]
    fn a_blocked_disk_does_not_stop_the_run_needs_bounded_memory_and_is_reported() {
        const LIMIT: u64 = 20_000;
        let (mut writer, disk) = writer_on(usize::MAX, LIMIT);
        let blocked = disk.lock().unwrap();
        // The thread waits for the disk; the caller does not.
        for index in 0..200 {
            let _ = writer.interval(&interval(index));
            assert!(writer.unsaved().bytes <= LIMIT);
        }
        let Unsaved { lines, dropped, .. } = writer.unsaved();
        assert!(lines > 5 && dropped > 100 && lines + dropped == 200, "{lines} {dropped}");
        drop(blocked);
        assert!(
            matches!(writer.finish(&Sum::default()), Err(WriteError::Gap { dropped: lost, .. }) if lost == dropped)
        );
        let lines = lines_on(&disk);
        assert_eq!(lines[lines.len() - 3..], ["199", "record_gap", "sum"]);
        assert_eq!(writer.digest().intervals, 200);
    }

    /// Enough for the header, but not for an interval after it.
    const HEADER_ONLY: usize = 850;
}

//! Writes a run's folder while the run goes on.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::index::OpenGroup;
use crate::queue::Queue;
use crate::store::{Item, Long, Store};
use crate::{
    Digest, Event, HOST_FILE, Header, HostInfo, Interval, PACKED_FILE, PLAN_FILE, RUN_FILE, Row, Sum,
    Unsaved, line,
};

/// Writes the record of one run, and digests it on the way.
///
/// Each line is encoded when the call returns, and on its way to the disk through a thread of its own: a disk that
/// stands still stops no run. A line that the disk refuses is kept in memory (up to 64 MiB of
/// them) and tried again before the next one: an error of [`interval`](Self::interval) or
/// [`event`](Self::event) is news for the user, not a reason to stop the run.
pub struct RunWriter {
    dir: PathBuf,
    queue: Queue,
    digest: Digest,
    group: OpenGroup,
    /// Dropped lines that an event in the record already names.
    reported_dropped: u64,
}

impl RunWriter {
    /// Makes the folder `dir` (and those above it) and writes the plan, the host and the header.
    ///
    /// # Errors
    /// Where `dir` already holds a run, or cannot be written to. Nothing is left behind then.
    pub fn create(
        dir: &Path,
        header: &Header,
        plan_toml: &str,
        host: &HostInfo,
    ) -> Result<RunWriter, WriteError> {
        let made_dir = !dir.exists();
        fs::create_dir_all(dir).map_err(|source| WriteError::Folder { path: dir.to_owned(), source })?;
        let mut made = Vec::new();
        let started = Self::begin(dir, header, plan_toml, host, &mut made);
        if started.is_err() {
            // Best effort: the error that matters is on its way to the user.
            made.iter().for_each(|path| drop(fs::remove_file(path)));
            if made_dir {
                let _ = fs::remove_dir(dir);
            }
        }
        started
    }

    /// The steps of [`create`](Self::create); `made` lists the files to remove if one fails.
    fn begin(
        dir: &Path,
        header: &Header,
        plan_toml: &str,
        host: &HostInfo,
        made: &mut Vec<PathBuf>,
    ) -> Result<RunWriter, WriteError> {
        let packed = dir.join(PACKED_FILE);
        if packed.exists() {
            return Err(WriteError::AlreadyARun { path: packed });
        }
        // The run file first: who creates it owns the folder.
        let file = create_new(dir.join(RUN_FILE), made)?;
        write_new(dir.join(PLAN_FILE), plan_toml.as_bytes(), made)?;
        write_new(dir.join(HOST_FILE), host.to_json().as_bytes(), made)?;
        let long = Long::RUN;
        Self::onto(Store::new(Box::new(file), Some(dir), long), KEPT_LIMIT_BYTES, dir, header)
    }

    /// Writes the header to an empty store.
    fn onto(
        mut store: Store,
        limit_bytes: u64,
        dir: &Path,
        header: &Header,
    ) -> Result<RunWriter, WriteError> {
        let mut begin = || -> io::Result<()> {
            store.put(Item::Line(line::encode_header(header)))?;
            store.settle()?;
            // By itself, so that a reader of any part has it without the rest.
            store.put(Item::Group { lines: 1, roll_up: None })
        };
        let started = begin().and_then(|()| Queue::new(store, limit_bytes));
        let queue = started.map_err(|source| WriteError::File { path: dir.join(RUN_FILE), source })?;
        let group = OpenGroup::new((0, None), header.types.len());
        let digest = Digest::new(header.clone());
        Ok(RunWriter { dir: dir.to_owned(), queue, digest, group, reported_dropped: 0 })
    }

    /// Writes a settled interval. Intervals come in order of their index.
    ///
    /// # Errors
    /// The disk refused a line: it is kept, and tried again with the next one.
    pub fn interval(&mut self, interval: &Interval) -> Result<(), WriteError> {
        if self.queue.unsaved().lines == 0 {
            self.report_dropped(interval.from_ns)?;
        }
        let which = self.digest.header.group_of(interval);
        if which != self.group.which {
            let ended = self.end_group(which);
            self.kept(ended)?;
        }
        self.digest.interval(interval);
        self.group.row(&Row::of(interval));
        self.push(line::encode_interval(&self.digest.header, interval))
    }

    /// Writes an event.
    ///
    /// # Errors
    /// The disk refused a line: it is kept, and tried again with the next one.
    pub fn event(&mut self, event: &Event) -> Result<(), WriteError> {
        self.group.event(event, self.digest.events.len() as u64);
        self.digest.event(event);
        self.push(line::encode_event(&self.digest.header, event))
    }

    /// Writes the sum, tries once more what was kept, and waits until the disk has it.
    ///
    /// # Errors
    /// Says what is missing on the disk. The [`digest`](Self::digest) is whole in any case, and
    /// [`finish_again`](Self::finish_again) may be called when there is room.
    pub fn finish(&mut self, sum: &Sum) -> Result<(), WriteError> {
        // What stays unsaved is reported below, with the reason of the last try.
        if self.queue.wait(false).is_ok() {
            let _ = self.report_dropped(sum.to_ns);
        }
        let _ = self.end_group((u64::MAX, None));
        self.digest.sum(sum);
        self.group.lines = 1;
        let _ = self.push(line::encode_sum(&self.digest.header, sum));
        let _ = self.end_group((u64::MAX, None));
        self.finish_again()
    }

    /// Tries again to write what [`finish`](Self::finish) could not.
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

    /// What is not on the disk now.
    pub fn unsaved(&self) -> Unsaved {
        self.queue.unsaved()
    }

    /// The summary of all that was given so far, whether the disk took it or not.
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

    /// Ends the group of lines that is open, and begins another.
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

    /// Leaves a mark in the file where lines were given up, once it takes lines again.
    fn report_dropped(&mut self, at_ns: u64) -> Result<(), WriteError> {
        let dropped = self.queue.unsaved().dropped;
        if dropped == self.reported_dropped {
            return Ok(());
        }
        let lost = dropped - self.reported_dropped;
        self.reported_dropped = dropped;
        self.event(&Event {
            at_ns,
            kind: "record_gap".to_owned(),
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

/// Why a record cannot be written, or is not whole.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// The folder cannot be made.
    #[error("cannot create the folder {}: {source}; choose one that you may write to", path.display())]
    Folder {
        /// The folder.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The folder has files of a run.
    #[error("{} exists: a run is never overwritten; choose another folder", path.display())]
    AlreadyARun {
        /// The file found.
        path: PathBuf,
    },
    /// A file of the run cannot be made.
    #[error("cannot write {}: {source}; choose a folder that you may write to, with free space", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The disk took no line just now; the lines are kept in memory and tried again.
    #[error(
        "cannot write to {} now: {source}; {lines} lines are kept and retried ({dropped} are lost): free some \
         disk space", path.display()
    )]
    Kept {
        /// The run file.
        path: PathBuf,
        /// Lines kept.
        lines: u64,
        /// Lines given up so far.
        dropped: u64,
        /// What the system said.
        source: io::Error,
    },
    /// The end of the record is not on the disk.
    #[error(
        "{} is incomplete: {source}; its last {lines} lines are missing, the earlier lines can be read",
        path.display()
    )]
    Missing {
        /// The run file.
        path: PathBuf,
        /// Lines missing.
        lines: u64,
        /// What the system said.
        source: io::Error,
    },
    /// The disk refused lines for so long that the oldest of them were given up.
    #[error("{} has a gap: {dropped} lines are lost, because the disk could not be written for too long",
        path.display())]
    Gap {
        /// The run file.
        path: PathBuf,
        /// Lines lost.
        dropped: u64,
    },
}

/// Makes a file that was not there.
fn create_new(path: PathBuf, made: &mut Vec<PathBuf>) -> Result<File, WriteError> {
    match OpenOptions::new().write(true).create_new(true).open(&path) {
        Ok(file) => {
            made.push(path);
            Ok(file)
        }
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(WriteError::AlreadyARun { path }),
        Err(source) => Err(WriteError::File { path, source }),
    }
}

/// Makes a file that was not there, with all its content.
fn write_new(path: PathBuf, content: &[u8], made: &mut Vec<PathBuf>) -> Result<(), WriteError> {
    let mut file = create_new(path.clone(), made)?;
    file.write_all(content).map_err(|source| WriteError::File { path, source })
}

/// More than ten minutes of a busy run with an interval a second.
const KEPT_LIMIT_BYTES: u64 = 64 << 20;

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use dnsdyno_measure::{Arrivals, Evidence, Tally};

    use super::*;
    use crate::small_disk::SmallDisk;
    use crate::{Ended, FORMAT, Headline, Line};

    fn header() -> Header {
        Header {
            run_id: "r".into(),
            started_unix_ns: 1,
            command_line: Vec::new(),
            version: "0".into(),
            name: None,
            note: None,
            interval_ns: 1,
            timeout_ns: 1,
            headline: Headline::Service,
            types: Vec::new(),
            phases: Vec::new(),
            target: "::1".into(),
            address: "[::1]:53".parse().unwrap(),
            transport: "udp".into(),
            mix: Vec::new(),
            backend: Default::default(),
            workers: 1,
            clients: 1,
            udp_sockets: None,
            queries: 1,
            bad_lines: 0,
            send_only: false,
            load: "one at a time".into(),
        }
    }

    fn interval(index: u64) -> Interval {
        let (tally, arrivals) = (Tally::new(0), Arrivals::default());
        Interval {
            index,
            from_ns: index,
            to_ns: index + 1,
            asked_qps: 0.0,
            tally,
            arrivals,
            workers: Vec::new(),
        }
    }

    fn sum() -> Sum {
        Sum {
            to_ns: 9,
            tally: Tally::new(0),
            arrivals: Arrivals::default(),
            warnings: Vec::new(),
            ended: Ended::ByTime,
            evidence: Evidence::default(),
            late_after_settled: 0,
            workers: Vec::new(),
            schedule_ns: 9,
            passes: 1.0,
            interface: None,
        }
    }

    /// A writer on a disk of `room` bytes, that keeps up to `limit` bytes of lines.
    fn writer_on(room: usize, limit: u64) -> (RunWriter, Arc<Mutex<SmallDisk>>) {
        let disk = Arc::new(Mutex::new(SmallDisk { room, ..SmallDisk::default() }));
        let store = Store::new(Box::new(disk.clone()), None, Long::RUN);
        (RunWriter::onto(store, limit, Path::new("runs/full"), &header()).unwrap(), disk)
    }

    /// Gives an interval, and waits until the disk has taken or refused it.
    fn give(writer: &mut RunWriter, index: u64) -> io::Result<()> {
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
    fn a_disk_that_was_full_for_a_while_gets_every_line_in_order() {
        let (mut writer, disk) = writer_on(HEADER_ONLY, u64::MAX);
        give(&mut writer, 0).unwrap_err();
        let error = writer.interval(&interval(1)).unwrap_err();
        assert!(matches!(error, WriteError::Kept { lines: 2, dropped: 0, .. }), "{error}");
        assert!(error.to_string().contains("runs/full/run.ndjson"), "{error}");
        disk.lock().unwrap().room = usize::MAX;
        give(&mut writer, 2).unwrap();
        writer.finish(&sum()).unwrap();
        assert!(writer.unsaved().is_nothing());
        assert_eq!(lines_on(&disk), ["0", "1", "2", "sum"]);
    }

    #[test]
    fn a_disk_full_at_the_end_leaves_a_whole_digest_and_says_what_is_missing() {
        let (mut writer, disk) = writer_on(HEADER_ONLY, u64::MAX);
        give(&mut writer, 0).unwrap_err();
        let error = writer.finish(&sum()).unwrap_err();
        assert!(matches!(error, WriteError::Missing { lines: 2, .. }), "{error}");
        assert_eq!(lines_on(&disk), Vec::<String>::new());
        assert!(writer.digest().is_complete());
        disk.lock().unwrap().room = usize::MAX;
        writer.finish_again().unwrap();
        assert_eq!(lines_on(&disk), ["0", "sum"]);
    }

    #[test]
    fn lines_given_up_leave_a_mark_and_an_error_at_the_end() {
        let (mut writer, disk) = writer_on(HEADER_ONLY, 1_000);
        (0..4).for_each(|i| drop(give(&mut writer, i).unwrap_err()));
        disk.lock().unwrap().room = usize::MAX;
        give(&mut writer, 4).unwrap();
        let Unsaved { dropped, .. } = writer.unsaved();
        assert!(dropped > 0);
        let error = writer.finish(&sum()).unwrap_err();
        assert!(matches!(error, WriteError::Gap { dropped: lost, .. } if lost == dropped), "{error}");
        let lines = lines_on(&disk);
        assert_eq!(lines[lines.len() - 3..], ["4", "record_gap", "sum"]);
        assert_eq!(lines.len() as u64, 5 - dropped + 2);
    }

    #[test]
    fn a_disk_that_stands_still_stops_nobody_costs_bounded_memory_and_is_reported() {
        const LIMIT: u64 = 20_000;
        let (mut writer, disk) = writer_on(usize::MAX, LIMIT);
        let stands_still = disk.lock().unwrap();
        // The thread waits for the disk; whoever measures does not.
        for index in 0..200 {
            let _ = writer.interval(&interval(index));
            assert!(writer.unsaved().bytes <= LIMIT);
        }
        let Unsaved { lines, dropped, .. } = writer.unsaved();
        assert!(lines > 5 && dropped > 100 && lines + dropped == 200, "{lines} {dropped}");
        drop(stands_still);
        assert!(
            matches!(writer.finish(&sum()), Err(WriteError::Gap { dropped: lost, .. }) if lost == dropped)
        );
        let lines = lines_on(&disk);
        assert_eq!(lines[lines.len() - 3..], ["199", "record_gap", "sum"]);
        assert_eq!(writer.digest().intervals, 200);
    }

    /// Room for the header, and not for an interval behind it.
    const HEADER_ONLY: usize = 850;
}

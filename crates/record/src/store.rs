//! The file of a run: plain lines while it is short, compressed when it is long.
//!
//! ```text
//!   run.ndjson       | header | line | line | line |#torn#        a failed write is truncated
//!                                                  ^ saved_len: start of the next write
//!
//!   run.ndjson.zst   |frame: header|frame: a group of 64 intervals|frame: a group, line by line …
//!   run.index.zst                   |its position and its roll-up  |
//! ```
//!
//! A zstd frame is decoded without the frames before it, so a reader can start at any frame. Each line is flushed as a
//! block of its frame: after `kill -9` all lines that were written can be decoded. The C library is used because the
//! encoders in Rust support only the fastest level (ruzstd) or are too new for data that must not be lost; the build
//! needs a C compiler anyway.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use crate::frames::Frames;
use crate::{INDEX_FILE, PACKED_FILE, RUN_FILE};

/// The file operations that a record needs. Tests use a disk that fails when they want it.
pub(crate) trait Disk {
    fn write_all_at(&mut self, bytes: &[u8], offset: u64) -> io::Result<()>;
    fn set_len(&mut self, len: u64) -> io::Result<()>;
    fn sync(&mut self) -> io::Result<()>;
}

impl Disk for File {
    fn write_all_at(&mut self, bytes: &[u8], offset: u64) -> io::Result<()> {
        FileExt::write_all_at(self, bytes, offset)
    }

    fn set_len(&mut self, len: u64) -> io::Result<()> {
        File::set_len(self, len)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.sync_data()
    }
}

/// An input of a store.
pub(crate) enum Item {
    /// A line, with its newline.
    Line(Vec<u8>),
    /// The end of a group: its number of lines, and its roll-up where it has one.
    Group { lines: u64, roll_up: Option<Vec<u8>> },
}

/// When a run is long.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Long {
    /// Number of groups of intervals above which it is compressed.
    pub(crate) groups: usize,
    /// Size above which it is compressed.
    pub(crate) bytes: u64,
}

impl Long {
    /// Seventeen minutes with intervals of a second, or a size that an editor still opens.
    pub(crate) const RUN: Long = Long { groups: 16, bytes: 16 << 20 };
}

/// The file of a run, and its index if it has one.
pub(crate) struct Store {
    disk: Box<dyn Disk + Send>,
    /// The run's folder; `None` in tests of disks.
    dir: Option<PathBuf>,
    long: Long,
    saved_len: u64,
    /// The bytes to write next, kept until they are written.
    unsaved: Vec<u8>,
    unsaved_lines: u64,
    /// Start and number of the lines since the last group.
    group_from: u64,
    group_lines: u64,
    /// The groups of a file that is not compressed yet.
    groups: Vec<Group>,
    packed: Option<Packed>,
}

/// A group in the file.
struct Group {
    from_byte: u64,
    to_byte: u64,
    lines: u64,
    roll_up: Option<Vec<u8>>,
}

/// The additional state of a compressed file.
struct Packed {
    frames: Frames,
    index: File,
    index_len: u64,
    /// The entry to write next.
    entry: Option<Vec<u8>>,
}

impl Store {
    pub(crate) fn new(disk: Box<dyn Disk + Send>, dir: Option<&Path>, long: Long) -> Store {
        Store {
            disk,
            dir: dir.map(Path::to_owned),
            long,
            saved_len: 0,
            unsaved: Vec::new(),
            unsaved_lines: 0,
            group_from: 0,
            group_lines: 0,
            groups: Vec::new(),
            packed: None,
        }
    }

    /// Lines that were added and are not in the file.
    pub(crate) fn unsaved_lines(&self) -> u64 {
        self.unsaved_lines
    }

    /// Writes what is not in the file yet. After an error it can be called again; nothing is lost.
    pub(crate) fn settle(&mut self) -> io::Result<()> {
        if !self.unsaved.is_empty() {
            if let Err(error) = self.disk.write_all_at(&self.unsaved, self.saved_len) {
                // If this fails too, the next write overwrites the torn line.
                let _ = self.disk.set_len(self.saved_len);
                return Err(error);
            }
            self.saved_len += self.unsaved.len() as u64;
            self.unsaved.clear();
            self.unsaved_lines = 0;
        }
        // The entry refers to the frame, so it is written after it.
        if let Some(packed) = &mut self.packed
            && let Some(entry) = &packed.entry
        {
            FileExt::write_all_at(&packed.index, entry, packed.index_len)?;
            packed.index_len += entry.len() as u64;
            packed.entry = None;
        }
        Ok(())
    }

    /// Adds an item; the next [`settle`](Self::settle) writes it. All earlier items must be written.
    pub(crate) fn put(&mut self, item: Item) -> io::Result<()> {
        match item {
            Item::Line(line) => {
                self.unsaved_lines = 1;
                self.group_lines += 1;
                self.unsaved = match &mut self.packed {
                    Some(packed) => packed.frames.add(&line)?,
                    None => line,
                };
            }
            Item::Group { lines, roll_up } => {
                if let Some(packed) = &mut self.packed {
                    self.unsaved = packed.frames.finish()?;
                }
                // A group that lost lines has no roll-up: readers read its remaining lines.
                let roll_up = roll_up.filter(|_| lines == self.group_lines);
                let to_byte = self.saved_len + self.unsaved.len() as u64;
                let group = Group { from_byte: self.group_from, to_byte, lines: self.group_lines, roll_up };
                (self.group_from, self.group_lines) = (to_byte, 0);
                match &mut self.packed {
                    Some(packed) => packed.entry = group.entry()?,
                    None => {
                        self.groups.push(group);
                        self.pack_if_long();
                    }
                }
            }
        }
        Ok(())
    }

    /// Waits until all is on the disk.
    pub(crate) fn sync(&mut self) -> io::Result<()> {
        self.disk.sync()
    }

    /// Compresses a long file. If that fails (a full disk), it stays as it is, and the next group retries.
    fn pack_if_long(&mut self) {
        let is_long = self.groups.len() > self.long.groups || self.saved_len > self.long.bytes;
        let Some(dir) = self.dir.clone().filter(|_| is_long) else { return };
        if let Err(_stays_plain) = self.pack(&dir) {
            let _ = fs::remove_file(dir.join(INDEX_FILE));
            let _ = fs::remove_file(dir.join(PART_FILE));
        }
    }

    /// At any time there is one complete file: the old one, or the new one under its final name.
    fn pack(&mut self, dir: &Path) -> io::Result<()> {
        let plain = fs::read(dir.join(RUN_FILE))?;
        let (mut file, mut index) = (Vec::new(), zstd::bulk::compress(INDEX_HEADER, 0)?);
        let mut frames = Frames::new()?;
        for group in &self.groups {
            let from_byte = file.len() as u64;
            let lines = plain.get(group.from_byte as usize..group.to_byte as usize);
            file.extend(frames.add(lines.ok_or(io::ErrorKind::UnexpectedEof)?)?);
            file.extend(frames.finish()?);
            let packed =
                Group { from_byte, to_byte: file.len() as u64, roll_up: group.roll_up.clone(), ..*group };
            index.extend(packed.entry()?.unwrap_or_default());
        }
        let mut index_file = File::create(dir.join(INDEX_FILE))?;
        index_file.write_all(&index)?;
        let mut part = File::create(dir.join(PART_FILE))?;
        part.write_all(&file)?;
        part.sync_data()?;
        fs::rename(dir.join(PART_FILE), dir.join(PACKED_FILE))?;
        // If this fails, readers use the compressed file.
        let _ = fs::remove_file(dir.join(RUN_FILE));
        self.disk = Box::new(part);
        (self.saved_len, self.group_from) = (file.len() as u64, file.len() as u64);
        self.groups.clear();
        let index_len = index.len() as u64;
        self.packed = Some(Packed { frames, index: index_file, index_len, entry: None });
        Ok(())
    }
}

impl Group {
    /// Its entry in the index, as a zstd frame; `None` where it has no roll-up.
    fn entry(&self) -> io::Result<Option<Vec<u8>>> {
        let Some(roll_up) = &self.roll_up else { return Ok(None) };
        let Group { from_byte, to_byte, lines, .. } = self;
        let mut entry =
            format!(r#"{{"from_byte":{from_byte},"to_byte":{to_byte},"lines":{lines},"#).into_bytes();
        // The properties of the roll-up, without its opening brace.
        entry.extend(&roll_up[1..]);
        entry.push(b'\n');
        zstd::bulk::compress(&entry, LEVEL_OF_INDEX).map(Some)
    }
}

/// The first line of an index.
pub(crate) const INDEX_HEADER: &[u8] = b"{\"index\":1}\n";

/// The compressed file while it is incomplete.
const PART_FILE: &str = "run.ndjson.zst.part";

/// An entry is written only once per group.
const LEVEL_OF_INDEX: i32 = 9;

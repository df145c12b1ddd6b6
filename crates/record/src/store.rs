//! The file of a run: lines as they are while it is short, compressed when it has grown long.
//!
//! ```text
//!   run.ndjson       | header | line | line | line |#torn#        a failed write is cut off again
//!                                                  ^ saved_len: where the next write begins
//!
//!   run.ndjson.zst   |frame: header|frame: a group of 64 intervals|frame: a group, line by line …
//!   run.index.zst                   |its place, and its roll-up    |
//! ```
//!
//! A frame of zstd is read without those before it, so a reader begins anywhere. Each line is flushed as a block of
//! its frame: after `kill -9` all lines decode that were given to the kernel. The C library is used because the
//! encoders in Rust are either of its fastest level only (ruzstd) or younger than what a record may rest on; it
//! needs no more than the C compiler that the build needs anyway.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use zstd::stream::raw::CParameter;
use zstd::stream::write::Encoder;

use crate::{INDEX_FILE, PACKED_FILE, RUN_FILE};

/// The part of a file that a record needs. Tests put a disk here that fails on command.
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

/// What is given to a store, in order.
pub(crate) enum Item {
    /// A line, with its newline.
    Line(Vec<u8>),
    /// The lines since the last group are one: how many they are, and their roll-up, where they have one.
    Group { lines: u64, roll_up: Option<Vec<u8>> },
}

/// When a run has grown long.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Long {
    /// Groups of intervals after which it is compressed.
    pub(crate) groups: usize,
    /// Bytes after which it is compressed.
    pub(crate) bytes: u64,
}

impl Long {
    /// Seventeen minutes of seconds, or what an editor still opens.
    pub(crate) const RUN: Long = Long { groups: 16, bytes: 16 << 20 };
}

/// The file of a run, and its index where it has one.
pub(crate) struct Store {
    disk: Box<dyn Disk + Send>,
    /// The run's folder; `None` in tests of disks.
    dir: Option<PathBuf>,
    long: Long,
    saved_len: u64,
    /// What is to be written next; it stays until the disk has taken it.
    unsaved: Vec<u8>,
    unsaved_lines: u64,
    /// Where the lines since the last group begin, and how many they are.
    group_from: u64,
    group_lines: u64,
    /// The groups of a file that is not compressed.
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

/// What a compressed file has more.
struct Packed {
    frame: Option<Encoder<'static, Vec<u8>>>,
    index: File,
    index_len: u64,
    /// The entry to be written next.
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

    /// Lines that were put and are not in the file.
    pub(crate) fn unsaved_lines(&self) -> u64 {
        self.unsaved_lines
    }

    /// Writes what is not in the file yet. An error loses nothing: it may be called again.
    pub(crate) fn settle(&mut self) -> io::Result<()> {
        if !self.unsaved.is_empty() {
            if let Err(error) = self.disk.write_all_at(&self.unsaved, self.saved_len) {
                // Where even this fails, the next write begins at the same place, over the torn line.
                let _ = self.disk.set_len(self.saved_len);
                return Err(error);
            }
            self.saved_len += self.unsaved.len() as u64;
            self.unsaved.clear();
            self.unsaved_lines = 0;
        }
        // After the frame that it names.
        if let Some(packed) = &mut self.packed
            && let Some(entry) = &packed.entry
        {
            FileExt::write_all_at(&packed.index, entry, packed.index_len)?;
            packed.index_len += entry.len() as u64;
            packed.entry = None;
        }
        Ok(())
    }

    /// Takes an item; the next [`settle`](Self::settle) writes it. Nothing may be unsaved before.
    pub(crate) fn put(&mut self, item: Item) -> io::Result<()> {
        match item {
            Item::Line(line) => {
                self.unsaved_lines = 1;
                self.group_lines += 1;
                self.unsaved = match &mut self.packed {
                    Some(packed) => packed.line(&line)?,
                    None => line,
                };
            }
            Item::Group { lines, roll_up } => {
                if let Some(frame) = self.packed.as_mut().and_then(|packed| packed.frame.take()) {
                    self.unsaved = frame.finish()?;
                }
                // A group that lost lines has no roll-up: readers read what is left of it.
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

    /// Waits until the disk has all.
    pub(crate) fn sync(&mut self) -> io::Result<()> {
        self.disk.sync()
    }

    /// Goes on compressed. Where that fails (a full disk), the file stays as it is, and the next group tries again.
    fn pack_if_long(&mut self) {
        let is_long = self.groups.len() > self.long.groups || self.saved_len > self.long.bytes;
        let Some(dir) = self.dir.clone().filter(|_| is_long) else { return };
        if let Err(_stays_plain) = self.pack(&dir) {
            let _ = fs::remove_file(dir.join(INDEX_FILE));
            let _ = fs::remove_file(dir.join(PART_FILE));
        }
    }

    /// At every instant there is one whole file: the old one, or the new one under its name.
    fn pack(&mut self, dir: &Path) -> io::Result<()> {
        let plain = fs::read(dir.join(RUN_FILE))?;
        let (mut file, mut index) = (Vec::new(), zstd::bulk::compress(INDEX_HEADER, 0)?);
        for group in &self.groups {
            let from_byte = file.len() as u64;
            let mut frame = encoder(file)?;
            let lines = plain.get(group.from_byte as usize..group.to_byte as usize);
            frame.write_all(lines.ok_or(io::ErrorKind::UnexpectedEof)?)?;
            file = frame.finish()?;
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
        // Where it stays, readers take the other one.
        let _ = fs::remove_file(dir.join(RUN_FILE));
        self.disk = Box::new(part);
        (self.saved_len, self.group_from) = (file.len() as u64, file.len() as u64);
        self.groups.clear();
        let index_len = index.len() as u64;
        self.packed = Some(Packed { frame: None, index: index_file, index_len, entry: None });
        Ok(())
    }
}

impl Packed {
    /// The line as a block of the frame.
    fn line(&mut self, line: &[u8]) -> io::Result<Vec<u8>> {
        let frame = match &mut self.frame {
            Some(frame) => frame,
            none => none.insert(encoder(Vec::new())?),
        };
        frame.write_all(line)?;
        frame.flush()?;
        Ok(std::mem::take(frame.get_mut()))
    }
}

impl Group {
    /// Its entry in the index, as a frame; `None` where it has no roll-up.
    fn entry(&self) -> io::Result<Option<Vec<u8>>> {
        let Some(roll_up) = &self.roll_up else { return Ok(None) };
        let Group { from_byte, to_byte, lines, .. } = self;
        let mut entry =
            format!(r#"{{"from_byte":{from_byte},"to_byte":{to_byte},"lines":{lines},"#).into_bytes();
        // The rest of the object: what the roll-up has after its brace.
        entry.extend(&roll_up[1..]);
        entry.push(b'\n');
        zstd::bulk::compress(&entry, LEVEL_OF_INDEX).map(Some)
    }
}

fn encoder(onto: Vec<u8>) -> io::Result<Encoder<'static, Vec<u8>>> {
    let mut encoder = Encoder::new(onto, LEVEL)?;
    encoder.set_parameter(CParameter::WindowLog(WINDOW_LOG))?;
    encoder.include_checksum(true)?;
    Ok(encoder)
}

/// The first line of an index.
pub(crate) const INDEX_HEADER: &[u8] = b"{\"index\":1}\n";

/// The compressed file, as long as it is not whole.
const PART_FILE: &str = "run.ndjson.zst.part";

/// A few milliseconds for the line of a busy second, in a thread that has the whole second. Levels below 16 make
/// files a tenth larger; those above need more memory for nothing.
const LEVEL: i32 = 19;

/// 1 MiB: more than a group of busy seconds, and little memory for the encoder and the reader.
const WINDOW_LOG: u32 = 20;

/// An entry is written once a group.
const LEVEL_OF_INDEX: i32 = 9;

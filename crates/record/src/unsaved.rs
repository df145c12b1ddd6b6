//! A file of whole lines that loses nothing to a full disk.
//!
//! ```text
//!   file    | line | line | line |#torn#      a failed write is cut off again
//!                                ^ saved_len: where the next write begins
//!   memory  | line | line | …                 kept, oldest first, up to a limit
//! ```

use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// What of a record is not on disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Unsaved {
    /// Lines kept in memory, to be tried again.
    pub lines: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Lines given up, because no more could be kept.
    pub dropped: u64,
}

impl Unsaved {
    /// Whether all is on disk.
    pub fn is_nothing(&self) -> bool {
        *self == Unsaved::default()
    }
}

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

impl<D: Disk + ?Sized> Disk for Box<D> {
    fn write_all_at(&mut self, bytes: &[u8], offset: u64) -> io::Result<()> {
        (**self).write_all_at(bytes, offset)
    }

    fn set_len(&mut self, len: u64) -> io::Result<()> {
        (**self).set_len(len)
    }

    fn sync(&mut self) -> io::Result<()> {
        (**self).sync()
    }
}

/// Lines on their way to a [`Disk`].
pub(crate) struct Lines<D> {
    disk: D,
    saved_len: u64,
    kept: VecDeque<Vec<u8>>,
    kept_bytes: u64,
    limit_bytes: u64,
    dropped: u64,
}

impl<D: Disk> Lines<D> {
    pub(crate) fn new(disk: D, limit_bytes: u64) -> Self {
        Lines { disk, saved_len: 0, kept: VecDeque::new(), kept_bytes: 0, limit_bytes, dropped: 0 }
    }

    /// Adds a line after those kept, and writes as many as the disk takes.
    ///
    /// On an error the lines not written are kept for the next try.
    pub(crate) fn push(&mut self, line: Vec<u8>) -> io::Result<()> {
        self.kept_bytes += line.len() as u64;
        self.kept.push_back(line);
        let written = self.write_kept();
        self.drop_beyond_limit();
        written
    }

    /// Writes what is kept and waits until the disk has it all.
    pub(crate) fn finish(&mut self) -> io::Result<()> {
        self.write_kept()?;
        self.disk.sync()
    }

    pub(crate) fn unsaved(&self) -> Unsaved {
        Unsaved { lines: self.kept.len() as u64, bytes: self.kept_bytes, dropped: self.dropped }
    }

    fn write_kept(&mut self) -> io::Result<()> {
        while let Some(line) = self.kept.front() {
            if let Err(error) = self.disk.write_all_at(line, self.saved_len) {
                // Where even this fails, the next write begins at the same place, over the torn line.
                let _ = self.disk.set_len(self.saved_len);
                return Err(error);
            }
            self.saved_len += line.len() as u64;
            self.kept_bytes -= line.len() as u64;
            self.kept.pop_front();
        }
        Ok(())
    }

    /// The newest lines are worth more: the last one is the sum.
    fn drop_beyond_limit(&mut self) {
        while self.kept_bytes > self.limit_bytes && self.kept.len() > 1 {
            if let Some(oldest) = self.kept.pop_front() {
                self.kept_bytes -= oldest.len() as u64;
                self.dropped += 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::small_disk::SmallDisk;

    fn lines_on(room: usize, cannot_truncate: bool, limit_bytes: u64) -> Lines<SmallDisk> {
        Lines::new(SmallDisk { room, cannot_truncate, ..SmallDisk::default() }, limit_bytes)
    }

    #[test]
    fn a_full_disk_holds_whole_lines_only_and_the_rest_follows_when_there_is_room() {
        let mut lines = lines_on(8, false, 1000);
        lines.push(b"one..\n".to_vec()).unwrap();
        assert_eq!(lines.push(b"two..\n".to_vec()).unwrap_err().kind(), io::ErrorKind::StorageFull);
        lines.push(b"three\n".to_vec()).unwrap_err();
        assert_eq!(lines.disk.bytes, b"one..\n");
        assert_eq!(lines.unsaved(), Unsaved { lines: 2, bytes: 12, dropped: 0 });
        lines.disk.room = 100;
        lines.finish().unwrap();
        assert_eq!(lines.disk.bytes, b"one..\ntwo..\nthree\n");
        assert!(lines.unsaved().is_nothing());
    }

    #[test]
    fn a_torn_line_that_cannot_be_cut_off_is_written_over() {
        let mut lines = lines_on(8, true, 1000);
        lines.push(b"one..\n".to_vec()).unwrap();
        lines.push(b"two..\n".to_vec()).unwrap_err();
        assert_eq!(lines.disk.bytes, b"one..\ntw");
        lines.disk.room = 100;
        lines.push(b"three\n".to_vec()).unwrap();
        assert_eq!(lines.disk.bytes, b"one..\ntwo..\nthree\n");
    }

    #[test]
    fn what_is_kept_has_a_limit_and_what_is_dropped_is_counted() {
        let mut lines = lines_on(0, false, 12);
        for line in ["one..\n", "two..\n", "three\n", "four.\n"] {
            lines.push(line.into()).unwrap_err();
        }
        assert_eq!(lines.unsaved(), Unsaved { lines: 2, bytes: 12, dropped: 2 });
        lines.disk.room = 100;
        lines.finish().unwrap();
        assert_eq!(lines.disk.bytes, b"three\nfour.\n");
    }
}

//! A disk of limited capacity for tests: it writes as many bytes as fit, and then fails.

use std::io;
use std::sync::{Arc, Mutex};

use crate::store::Disk;

#[derive(Default)]
pub(crate) struct SmallDisk {
    pub(crate) bytes: Vec<u8>,
    pub(crate) capacity: usize,
    pub(crate) cannot_truncate: bool,
}

impl Disk for SmallDisk {
    fn write_all_at(&mut self, bytes: &[u8], offset: u64) -> io::Result<()> {
        let offset = offset as usize;
        let fits = bytes.len().min(self.capacity.saturating_sub(offset));
        self.bytes.resize(self.bytes.len().max(offset + fits), 0);
        self.bytes[offset..offset + fits].copy_from_slice(&bytes[..fits]);
        if fits < bytes.len() { Err(io::ErrorKind::StorageFull.into()) } else { Ok(()) }
    }

    fn set_len(&mut self, len: u64) -> io::Result<()> {
        if self.cannot_truncate {
            return Err(io::Error::other("the disk is gone"));
        }
        self.bytes.truncate(len as usize);
        Ok(())
    }

    fn sync(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A disk that the test can access while a writer owns it.
impl Disk for Arc<Mutex<SmallDisk>> {
    fn write_all_at(&mut self, bytes: &[u8], offset: u64) -> io::Result<()> {
        self.lock().unwrap().write_all_at(bytes, offset)
    }

    fn set_len(&mut self, len: u64) -> io::Result<()> {
        self.lock().unwrap().set_len(len)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.lock().unwrap().sync()
    }
}

//! The series of a run, packed as the page holds them: raw deflate, which each browser inflates.

use std::io::{self, Write};

use flate2::Compression;
use flate2::write::DeflateEncoder;

/// The bytes, packed.
pub(crate) fn packed(bytes: &[u8]) -> io::Result<Vec<u8>> {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes)?;
    encoder.finish()
}

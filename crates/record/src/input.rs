//! The bytes of a record as lines, from a plain or a compressed file: each line and what a compressed file expands to
//! have a bound.

use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::ops::Range;
use std::path::Path;

use crate::limits::{
    EXPANSION_FREE_BYTES, LARGEST_EXPANSION, LARGEST_WINDOW_LOG, LINE_BYTES_OF_AGENT, LONGEST_LINE_BYTES,
};
use crate::regular::open_regular;

/// The bytes in a range of the file, decompressed. A compressed file is recognized by its first bytes.
pub(crate) fn open(path: &Path, bytes: Range<u64>) -> io::Result<Box<dyn BufRead>> {
    let mut file = open_regular(path)?;
    let mut first = Vec::new();
    file.by_ref().take(ZSTD_MAGIC.len() as u64).read_to_end(&mut first)?;
    file.seek(SeekFrom::Start(bytes.start))?;
    let part = file.take(bytes.end - bytes.start);
    Ok(if first == ZSTD_MAGIC { Box::new(unpacked(part)?) } else { Box::new(BufReader::new(part)) })
}

/// The content of a compressed file, buffered.
pub(crate) fn unpacked<R: Read>(packed: R) -> io::Result<impl BufRead> {
    let counted = Counted { packed, read_bytes: 0 };
    let mut decoder = zstd::Decoder::with_buffer(BufReader::new(counted))?;
    decoder.window_log_max(LARGEST_WINDOW_LOG)?;
    Ok(BufReader::with_capacity(DECODED_BYTES, Unpacked { decoder, given_bytes: 0 }))
}

/// Replaces `line` by the next line with its newline, in a record of so many agents; returns its length.
pub(crate) fn read_line(input: &mut impl BufRead, line: &mut Vec<u8>, agents: usize) -> io::Result<usize> {
    let longest = LONGEST_LINE_BYTES + agents as u64 * LINE_BYTES_OF_AGENT;
    line.clear();
    match input.by_ref().take(longest).read_until(b'\n', line) {
        // The writer was killed within a frame: all blocks before are complete.
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {}
        read => drop(read?),
    }
    if line.len() as u64 == longest {
        let why = format!("a line is longer than {} MiB", longest >> 20);
        return Err(io::Error::new(io::ErrorKind::InvalidData, why));
    }
    Ok(line.len())
}

/// A compressed file, and how much of it was read.
struct Counted<R> {
    packed: R,
    read_bytes: u64,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.packed.read(buffer)?;
        self.read_bytes += read as u64;
        Ok(read)
    }
}

/// Its content, up to a multiple of what was read.
struct Unpacked<R: Read> {
    decoder: zstd::Decoder<'static, BufReader<Counted<R>>>,
    given_bytes: u64,
}

impl<R: Read> Read for Unpacked<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.decoder.read(buffer)?;
        self.given_bytes += read as u64;
        let packed_bytes = self.decoder.get_ref().get_ref().read_bytes;
        if self.given_bytes > EXPANSION_FREE_BYTES + LARGEST_EXPANSION * packed_bytes {
            let why = format!("it expands to more than {LARGEST_EXPANSION} times its size");
            return Err(io::Error::new(io::ErrorKind::InvalidData, why));
        }
        Ok(read)
    }
}

const ZSTD_MAGIC: [u8; 4] = 0xFD2F_B528_u32.to_le_bytes();

/// The size of a decompressed block of zstd.
const DECODED_BYTES: usize = 128 << 10;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_expands_a_thousandfold_is_refused_and_what_a_record_contains_is_read() {
        let length = 3 * EXPANSION_FREE_BYTES;
        let bomb = zstd::bulk::compress(&vec![b'\n'; length as usize], 19).unwrap();
        let read = io::copy(&mut unpacked(bomb.as_slice()).unwrap(), &mut io::sink());
        assert!(read.is_err_and(|error| error.to_string().contains("1000 times its size")));
        let line = "{\"figure\":1}\n".repeat(1_000);
        let packed = zstd::bulk::compress(line.as_bytes(), 19).unwrap();
        assert_eq!(io::read_to_string(unpacked(packed.as_slice()).unwrap()).unwrap(), line);
    }

    #[test]
    fn a_line_without_an_end_is_not_read_to_its_end() {
        let mut endless = BufReader::new(io::repeat(b'x'));
        let mut line = Vec::new();
        let error = read_line(&mut endless, &mut line, 0).unwrap_err();
        assert!(error.to_string().contains("longer than 8 MiB"), "{error}");
        assert!(line.capacity() as u64 <= 2 * LONGEST_LINE_BYTES);
        // Each of a thousand agents has written 15 kB of a joined interval.
        let mut joined = vec![b'x'; 15_000_000];
        joined.push(b'\n');
        assert_eq!(read_line(&mut joined.as_slice(), &mut line, 1_000).unwrap(), joined.len());
    }
}

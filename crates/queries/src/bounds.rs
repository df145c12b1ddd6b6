//! The bounds of what is read for a run, and how far reading has come: a pipe or a device may have no end, and a
//! compressed file of some kilobytes may have terabytes in it.

use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use dnsdyno_text::units::bytes;

/// How much may be read and kept of a source, and a way to end the reading from another thread.
#[derive(Debug)]
pub struct InputBounds {
    /// Octets of input, unpacked.
    pub most_read_bytes: u64,
    /// Octets of encoded queries.
    pub most_kept_bytes: usize,
    read_bytes: AtomicU64,
    is_stopped: AtomicBool,
}

impl InputBounds {
    /// Those of a host with so much free memory; `None` = that is not known.
    pub fn within(free_bytes: Option<u64>) -> InputBounds {
        // Memory that grows is twice as large as its content at times, and grouping by length takes a copy.
        let kept = free_bytes.and_then(|free| usize::try_from(free / 4).ok());
        InputBounds {
            most_read_bytes: MOST_READ_BYTES,
            most_kept_bytes: kept.unwrap_or(MOST_KEPT_BYTES).min(MOST_KEPT_BYTES),
            read_bytes: AtomicU64::new(0),
            is_stopped: AtomicBool::new(false),
        }
    }

    /// Ends the reading with an error.
    pub fn stop(&self) {
        self.is_stopped.store(true, Ordering::Relaxed);
    }

    /// Octets of input read so far, unpacked.
    pub fn read_bytes(&self) -> u64 {
        self.read_bytes.load(Ordering::Relaxed)
    }

    /// Counts octets that were read.
    ///
    /// # Errors
    /// They are too many, or the reading was stopped.
    fn count(&self, octets: usize) -> io::Result<()> {
        let read = self.read_bytes.fetch_add(octets as u64, Ordering::Relaxed).saturating_add(octets as u64);
        if self.is_stopped.load(Ordering::Relaxed) {
            return Err(io::Error::other("stopped"));
        }
        if read > self.most_read_bytes {
            return Err(io::Error::other(format!(
                "it has not ended after {}: give a file that ends, or its beginning, such as with `head -n 1000000`",
                bytes(self.most_read_bytes as f64)
            )));
        }
        Ok(())
    }
}

impl Default for InputBounds {
    fn default() -> InputBounds {
        InputBounds::within(None)
    }
}

/// An input that is read within bounds.
pub(crate) struct Bounded {
    pub(crate) input: Box<dyn Read + Send>,
    pub(crate) bounds: Arc<InputBounds>,
}

impl Read for Bounded {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let read = self.input.read(out)?;
        self.bounds.count(read)?;
        Ok(read)
    }
}

/// What 32 bits can count.
pub(crate) const MOST_KEPT_BYTES: usize = u32::MAX as usize;

/// Four times as much as can be kept: lists have columns that are not used, and files have comments.
const MOST_READ_BYTES: u64 = 16 << 30;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Reading, read_input};

    /// Lines without an end.
    struct Endless(&'static [u8]);

    impl Read for Endless {
        fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
            let whole = out.len() - out.len() % self.0.len();
            let filled = if whole == 0 { self.0.len().min(out.len()) } else { whole };
            out[..filled]
                .iter_mut()
                .zip(self.0.iter().cycle())
                .for_each(|(octet, of_line)| *octet = *of_line);
            Ok(filled)
        }
    }

    fn error_of(line: &'static [u8], bounds: InputBounds) -> String {
        let reading = Reading { bounds: Arc::new(bounds), ..Reading::default() };
        read_input(Box::new(Endless(line)), "yes", 0, &reading).expect_err("no end").to_string()
    }

    #[test]
    fn input_without_an_end_is_refused_at_its_bound() {
        let kept = error_of(b"a.example A\n", InputBounds::within(Some(40_000)));
        assert!(kept.contains("yes is too large: its queries exceed 10 kB"), "{kept}");
        let comments = InputBounds { most_read_bytes: 1 << 20, ..InputBounds::default() };
        let read = error_of(b";;;;;;;;;;;;;;;\n", comments);
        assert!(read.contains("it has not ended after 1"), "{read}");
        let garbage = error_of(b"y\n", InputBounds::default());
        assert!(garbage.contains("no line is well formed") || garbage.contains("are malformed"), "{garbage}");
    }

    #[test]
    fn a_stop_from_elsewhere_ends_the_reading() {
        let bounds = InputBounds::default();
        bounds.stop();
        assert!(error_of(b"a.example A\n", bounds).contains("stopped"));
    }
}

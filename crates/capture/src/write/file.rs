//! A file that is complete, or not there.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use flate2::write::GzEncoder;
use liblzma::write::XzEncoder;
use zstd::stream::write::Encoder as ZstdEncoder;

use crate::compression::Compression;

/// Why a file cannot be written.
#[derive(Debug, thiserror::Error)]
#[error("cannot write {}: {source}; nothing was left of it", file.display())]
pub struct WriteError {
    file: PathBuf,
    source: io::Error,
}

/// A file, compressed or not, that has its name only when it is complete. If it is dropped before, nothing of it is
/// left, and a file of that name is as before.
pub struct CaptureFile {
    file: PathBuf,
    /// Where it is until it is complete; a pipe or device is written directly.
    part: Option<PathBuf>,
    out: Option<Packed<Box<dyn Write>>>,
}

enum Packed<W: Write> {
    Plain(W),
    Gzip(Box<GzEncoder<W>>),
    Zstd(Box<ZstdEncoder<'static, W>>),
    Xz(Box<XzEncoder<W>>),
}

impl CaptureFile {
    /// Creates the file.
    ///
    /// # Errors
    /// It cannot be created.
    pub fn create(file: &Path, compression: Option<Compression>) -> Result<Self, WriteError> {
        let failed = |source| WriteError { file: file.to_owned(), source };
        let metadata = fs::metadata(file);
        if metadata.as_ref().is_ok_and(fs::Metadata::is_dir) {
            return Err(failed(io::ErrorKind::IsADirectory.into()));
        }
        let is_replaced = !metadata.is_ok_and(|there| !there.is_file());
        let part = is_replaced.then(|| with_suffix(file));
        let created = File::create(part.as_deref().unwrap_or(file)).map_err(failed)?;
        let out: Box<dyn Write> = Box::new(BufWriter::with_capacity(BUFFER_BYTES, created));
        let mut this = CaptureFile { file: file.to_owned(), part, out: None };
        this.out = Some(Packed::new(out, compression).map_err(failed)?);
        Ok(this)
    }

    /// Standard output, or whatever else is not a file.
    ///
    /// # Errors
    /// The compression cannot begin.
    pub fn to(out: Box<dyn Write>, name: &str, compression: Option<Compression>) -> Result<Self, WriteError> {
        let failed = |source| WriteError { file: name.into(), source };
        let out = Packed::new(out, compression).map_err(failed)?;
        Ok(CaptureFile { file: name.into(), part: None, out: Some(out) })
    }

    /// Completes the file and gives it its name.
    ///
    /// # Errors
    /// It cannot be completed; then nothing of it is left.
    pub fn finish(mut self) -> Result<(), WriteError> {
        let finished = self.out.take().map_or(Ok(()), Packed::finish);
        let renamed = finished.and_then(|()| match self.part.take() {
            Some(part) => fs::rename(&part, &self.file).inspect_err(|_| _ = fs::remove_file(&part)),
            None => Ok(()),
        });
        renamed.map_err(|source| self.failed(source))
    }

    /// Where it is until it is complete, for whoever ends the program before.
    pub fn unfinished(&self) -> Option<&Path> {
        self.part.as_deref()
    }

    /// The error of a failed write to this file.
    pub fn failed(&self, source: io::Error) -> WriteError {
        WriteError { file: self.file.clone(), source }
    }
}

impl Write for CaptureFile {
    fn write(&mut self, octets: &[u8]) -> io::Result<usize> {
        match &mut self.out {
            Some(Packed::Plain(out)) => out.write(octets),
            Some(Packed::Gzip(out)) => out.write(octets),
            Some(Packed::Zstd(out)) => out.write(octets),
            Some(Packed::Xz(out)) => out.write(octets),
            None => Err(io::ErrorKind::BrokenPipe.into()),
        }
    }

    /// Nothing is held back for long: the file is flushed when it is completed.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for CaptureFile {
    fn drop(&mut self) {
        if let Some(part) = self.part.take() {
            // The first error is the one to be told.
            let _ = fs::remove_file(part);
        }
    }
}

impl<W: Write> Packed<W> {
    fn new(out: W, compression: Option<Compression>) -> io::Result<Self> {
        Ok(match compression {
            None => Packed::Plain(out),
            Some(Compression::Gzip) => {
                Packed::Gzip(Box::new(GzEncoder::new(out, flate2::Compression::fast())))
            }
            Some(Compression::Zstd) => Packed::Zstd(Box::new(ZstdEncoder::new(out, ZSTD_LEVEL)?)),
            Some(Compression::Xz) => Packed::Xz(Box::new(XzEncoder::new(out, XZ_LEVEL))),
        })
    }

    fn finish(self) -> io::Result<()> {
        let mut out = match self {
            Packed::Plain(out) => out,
            Packed::Gzip(out) => out.finish()?,
            Packed::Zstd(out) => out.finish()?,
            Packed::Xz(out) => out.finish()?,
        };
        out.flush()
    }
}

/// The name of the file while it is not complete.
fn with_suffix(file: &Path) -> PathBuf {
    let mut name = OsString::from(file);
    name.push(".part");
    name.into()
}

const BUFFER_BYTES: usize = 256 << 10;

/// Fast ones: packets of DNS shrink to a third with any of them.
const ZSTD_LEVEL: i32 = 3;
const XZ_LEVEL: u32 = 1;

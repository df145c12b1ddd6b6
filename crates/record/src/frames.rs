//! The zstd frames of a long run's file, one after another from one encoder.

use std::io::{self, Write};

use zstd::stream::raw::{CParameter, Encoder, Operation};
use zstd::stream::zio::Writer;

/// The encoder of the frames. Its tables, which are large at this level, are allocated once.
pub(crate) struct Frames {
    /// `None` after an error.
    frame: Option<Writer<Vec<u8>, Encoder<'static>>>,
    is_open: bool,
}

impl Frames {
    pub(crate) fn new() -> io::Result<Frames> {
        Ok(Frames { frame: Some(Writer::new(Vec::new(), encoder()?)), is_open: false })
    }

    /// Adds the bytes to the frame as a block of their own, and returns what is to be written.
    pub(crate) fn add(&mut self, bytes: &[u8]) -> io::Result<Vec<u8>> {
        let frame = match &mut self.frame {
            Some(frame) => frame,
            none => none.insert(Writer::new(Vec::new(), encoder()?)),
        };
        self.is_open = true;
        frame.write_all(bytes)?;
        frame.flush()?;
        Ok(std::mem::take(frame.writer_mut()))
    }

    /// Ends the frame, and returns what is to be written: nothing where none was begun.
    pub(crate) fn finish(&mut self) -> io::Result<Vec<u8>> {
        if !std::mem::take(&mut self.is_open) {
            return Ok(Vec::new());
        }
        let Some(mut frame) = self.frame.take() else { return Ok(Vec::new()) };
        frame.finish()?;
        let (end, mut encoder) = frame.into_inner();
        encoder.reinit()?;
        self.frame = Some(Writer::new(Vec::new(), encoder));
        Ok(end)
    }
}

fn encoder() -> io::Result<Encoder<'static>> {
    let mut encoder = Encoder::new(LEVEL)?;
    encoder.set_parameter(CParameter::WindowLog(WINDOW_LOG))?;
    encoder.set_parameter(CParameter::ChecksumFlag(true))?;
    Ok(encoder)
}

/// Compresses the line of a busy second in a few milliseconds; the thread has a second for it. Files of levels below 16
/// are a tenth larger; higher levels need more memory and save nothing.
const LEVEL: i32 = 19;

/// 1 MiB: larger than a group of busy seconds, and little memory for encoder and reader.
const WINDOW_LOG: u32 = 20;

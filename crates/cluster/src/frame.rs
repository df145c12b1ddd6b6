//! Frames: what passes over a link, whatever it is made of.
//!
//! ```text
//!   kind (1 octet)   length (4 octets, big-endian)   octets
//!      M                                             a message, JSON
//!      L                                             a line of the agent's record
//!      F                                             a part of a file
//! ```

use std::io::{self, Read, Write};

/// One frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// What it holds.
    pub kind: Kind,
    /// Its octets.
    pub octets: Vec<u8>,
}

/// What a frame holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A message, as JSON.
    Message,
    /// A line of the agent's record.
    Line,
    /// A part of a file.
    File,
}

impl Kind {
    /// The octet that stands for it.
    pub(crate) fn mark(self) -> u8 {
        match self {
            Kind::Message => b'M',
            Kind::Line => b'L',
            Kind::File => b'F',
        }
    }

    pub(crate) fn of_mark(mark: u8) -> Option<Kind> {
        [Kind::Message, Kind::Line, Kind::File].into_iter().find(|kind| kind.mark() == mark)
    }
}

impl Frame {
    /// Writes the frame.
    ///
    /// # Errors
    /// The other side takes nothing more.
    pub(crate) fn write(&self, to: &mut dyn Write) -> io::Result<()> {
        let mut whole = Vec::with_capacity(HEAD + self.octets.len());
        whole.push(self.kind.mark());
        whole.extend_from_slice(&(self.octets.len() as u32).to_be_bytes());
        whole.extend_from_slice(&self.octets);
        // At once: a frame of a clock must not wait for its second half.
        to.write_all(&whole)?;
        to.flush()
    }

    /// Reads the next frame; `None` where the other side has ended.
    ///
    /// # Errors
    /// The other side ended within a frame, or what it sends are no frames: then the error has its first octets.
    pub(crate) fn read(from: &mut dyn Read) -> io::Result<Option<Frame>> {
        let mut head = [0; HEAD];
        let mut filled = 0;
        while filled < HEAD {
            match from.read(&mut head[filled..]) {
                Ok(0) if filled == 0 => return Ok(None),
                Ok(0) => return Err(strange(&head[..filled])),
                Ok(more) => filled += more,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        let [kind, length @ ..] = head;
        let length = u32::from_be_bytes(length) as usize;
        let kind = Kind::of_mark(kind).filter(|_| length <= LONGEST).ok_or_else(|| strange(&head))?;
        // Grows with what comes: the length alone takes no memory.
        let mut octets = Vec::new();
        from.take(length as u64).read_to_end(&mut octets)?;
        match octets.len() == length {
            true => Ok(Some(Frame { kind, octets })),
            false => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }
}

/// What was read is no frame: mostly words of a login shell.
fn strange(octets: &[u8]) -> io::Error {
    let text = String::from_utf8_lossy(octets).into_owned();
    io::Error::new(
        io::ErrorKind::InvalidData,
        format!("it is no agent of dnsdyno: its answer begins with {text:?}"),
    )
}

const HEAD: usize = 5;

/// The longest line of a record has 8 MiB.
pub(crate) const LONGEST: usize = 16 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_read_as_they_were_written() {
        let frames = [(Kind::Message, &b"{}"[..]), (Kind::Line, b""), (Kind::File, &[7; 70_000])]
            .map(|(kind, octets)| Frame { kind, octets: octets.to_vec() });
        let mut pipe = Vec::new();
        frames.iter().for_each(|frame| frame.write(&mut pipe).unwrap());
        let mut from = &pipe[..];
        let read: Vec<Frame> = std::iter::from_fn(|| Frame::read(&mut from).unwrap()).collect();
        assert_eq!(read, frames);
    }

    #[test]
    fn words_of_a_shell_and_frames_that_are_cut_are_errors() {
        let error = Frame::read(&mut &b"Last login: never"[..]).unwrap_err();
        assert!(error.to_string().contains("begins with \"Last \""), "{error}");
        let mut pipe = Vec::new();
        Frame { kind: Kind::Line, octets: vec![1; 9] }.write(&mut pipe).unwrap();
        for end in 1..pipe.len() {
            assert!(Frame::read(&mut &pipe[..end]).is_err(), "{end}");
        }
        assert!(Frame::read(&mut &[b'L', 0xFF, 0xFF, 0xFF, 0xFF, 0][..]).is_err(), "far too long");
    }
}

//! The order in which a stream of HTTP/3 has to bring the frames of one message (RFC 9114, 4.1).

use super::code::{
    EXCESSIVE_LOAD, FRAME_ERROR, FRAME_UNEXPECTED, ID_ERROR, QPACK_DECOMPRESSION_FAILED, Violation,
};
use super::frame::{
    CANCEL_PUSH, DATA, Frames, GOAWAY, HEADERS, MAX_PUSH_ID, PUSH_PROMISE, Piece, SETTINGS, is_reserved,
};

/// One message, as far as it was received.
#[derive(Debug, Default)]
pub(super) struct Message {
    frames: Frames,
    /// A section of fields that is not complete.
    section: Vec<u8>,
    place: Place,
    pub(super) body: Vec<u8>,
}

/// How far a message is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Place {
    /// Before its head.
    #[default]
    Start,
    /// After it.
    Body,
    /// After the trailers.
    Trailers,
}

/// Sections of fields, by what they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Section {
    /// A head that another one follows.
    Informational,
    /// The head.
    Head,
}

/// What is wrong with a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wrong {
    /// The connection cannot be used any more.
    Connection(Violation),
    /// The message is malformed; other streams go on.
    Stream(Violation),
    /// Its body is longer than any DNS message.
    TooLong,
}

impl Message {
    /// Takes the next octets. `read` reads a section of fields; the second argument says whether it is trailers.
    /// Returns how many frames brought nothing of the message.
    #[inline]
    pub(super) fn take(
        &mut self,
        bytes: &[u8],
        most_section: usize,
        mut read: impl FnMut(&[u8], bool) -> Result<Section, Wrong>,
    ) -> Result<u32, Wrong> {
        let (mut rest, mut idle) = (bytes, 0);
        while let Some(piece) = self.frames.next(&mut rest) {
            match piece {
                Piece::Begin { kind, length } => {
                    idle += u32::from(self.begin(kind, length, most_section)?);
                    if kind == HEADERS && length == 0 {
                        return Err(Wrong::Connection(NO_SECTION));
                    }
                }
                Piece::Payload { kind: DATA, bytes, .. } => self.body.extend_from_slice(bytes),
                Piece::Payload { kind: HEADERS, bytes, is_last } => {
                    if self.section.is_empty() && is_last {
                        idle += u32::from(self.take_section(bytes, &mut read)?);
                        continue;
                    }
                    self.section.extend_from_slice(bytes);
                    if is_last {
                        let section = std::mem::take(&mut self.section);
                        idle += u32::from(self.take_section(&section, &mut read)?);
                    }
                }
                Piece::Payload { .. } => idle += 1,
            }
        }
        Ok(idle)
    }

    /// The stream has ended.
    pub(super) fn end(&self) -> Result<(), Wrong> {
        match self.frames.is_between() {
            true => Ok(()),
            false => Err(Wrong::Connection(CUT_FRAME)),
        }
    }

    /// Whether its head was received.
    pub(super) fn has_head(&self) -> bool {
        self.place != Place::Start
    }

    /// Octets of memory that it holds.
    pub(super) fn held_bytes(&self) -> usize {
        self.section.capacity() + self.body.capacity()
    }

    /// Makes it that of another stream, with the buffers that it has.
    #[inline]
    pub(super) fn clear(&mut self) {
        self.frames = Frames::default();
        self.section.clear();
        self.place = Place::Start;
        self.body.clear();
    }

    /// A frame of this type begins. True where it brings nothing of the message.
    #[inline]
    fn begin(&self, kind: u64, length: u64, most_section: usize) -> Result<bool, Wrong> {
        match kind {
            HEADERS if self.place == Place::Trailers => Err(unexpected("HEADERS after the trailers")),
            HEADERS if length > most_section as u64 => Err(Wrong::Connection(LONG_SECTION)),
            HEADERS => Ok(false),
            DATA if self.place == Place::Start => Err(unexpected("a body before the headers")),
            DATA if self.place == Place::Trailers => Err(unexpected("a body after the trailers")),
            DATA if length > (LONGEST_BODY - self.body.len()) as u64 => Err(Wrong::TooLong),
            DATA => Ok(length == 0),
            PUSH_PROMISE => Err(Wrong::Connection(PUSHED)),
            SETTINGS | GOAWAY | CANCEL_PUSH | MAX_PUSH_ID => {
                Err(unexpected("a frame of the control stream on another stream"))
            }
            _ if is_reserved(kind) => Err(unexpected("a frame of HTTP/2")),
            _ => Ok(true),
        }
    }

    /// A complete section of fields. True where it brings nothing of the message.
    #[inline]
    fn take_section(
        &mut self,
        section: &[u8],
        read: &mut impl FnMut(&[u8], bool) -> Result<Section, Wrong>,
    ) -> Result<bool, Wrong> {
        let is_trailers = self.place == Place::Body;
        let is_informational = read(section, is_trailers)? == Section::Informational && !is_trailers;
        self.place = match self.place {
            Place::Start if is_informational => Place::Start,
            Place::Start => Place::Body,
            Place::Body | Place::Trailers => Place::Trailers,
        };
        Ok(is_informational)
    }
}

fn unexpected(what: &'static str) -> Wrong {
    Wrong::Connection(Violation::new(FRAME_UNEXPECTED, what))
}

/// The longest body: the longest DNS message.
const LONGEST_BODY: usize = 65_535;

const NO_SECTION: Violation = Violation::new(QPACK_DECOMPRESSION_FAILED, "headers without an octet");
const LONG_SECTION: Violation = Violation::new(EXCESSIVE_LOAD, "headers of more than is accepted");
const CUT_FRAME: Violation = Violation::new(FRAME_ERROR, "a frame that ends before its length");
const PUSHED: Violation = Violation::new(ID_ERROR, "a push, which was not allowed");

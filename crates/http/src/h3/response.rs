//! The response on one stream, for a client.

use super::code::{MESSAGE_ERROR, QPACK_DECOMPRESSION_FAILED, Violation};
use super::message::{Message, Section, Wrong};
use super::qpack::Decoder;
use crate::head::{Field, Head, OtherType};

/// A response, as far as it was received.
#[derive(Debug, Default)]
pub struct Response {
    message: Message,
    head: Head,
}

/// What some octets of a response brought, beside its body.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Taken {
    /// Frames that brought nothing of the response.
    pub idle: u32,
    /// The status of the response, where its head was among them.
    pub status: Option<u16>,
}

impl Response {
    /// Takes the next octets. No head may be longer than `most_section` octets.
    ///
    /// # Errors
    /// Where they are not those of a response.
    #[inline]
    pub fn take(
        &mut self,
        bytes: &[u8],
        decoder: &mut Decoder,
        other: &mut OtherType,
        most_section: usize,
    ) -> Result<Taken, Wrong> {
        let (head, had_head) = (&mut self.head, self.message.has_head());
        let idle = self.message.take(bytes, most_section, |section, is_trailers| {
            let mut found = Head::default();
            let decoded = decoder.decode(section, |name, value| {
                let field = Field::of_name(name).with_value(value);
                other.note(field, value);
                found.take(field);
            });
            if decoded.is_none() {
                return Err(Wrong::Connection(UNREADABLE));
            }
            // Trailers have to be readable, and are ignored.
            if is_trailers {
                return Ok(Section::Head);
            }
            if found.is_malformed || found.status == 0 {
                return Err(Wrong::Stream(NO_STATUS));
            }
            *head = found;
            Ok(if found.is_informational() { Section::Informational } else { Section::Head })
        })?;
        let is_new = !had_head && self.message.has_head();
        Ok(Taken { idle, status: is_new.then_some(self.head.status) })
    }

    /// The stream has ended: the head and the body of the response.
    ///
    /// # Errors
    /// Where it is not complete.
    #[inline]
    pub fn end(&mut self) -> Result<(Head, &mut Vec<u8>), Wrong> {
        self.message.end()?;
        match self.message.has_head() {
            true => Ok((self.head, &mut self.message.body)),
            false => Err(Wrong::Stream(NO_HEAD)),
        }
    }

    /// Octets of memory that it holds.
    pub fn held_bytes(&self) -> usize {
        self.message.held_bytes()
    }

    /// Makes it that of another stream, with the buffers that it has.
    #[inline]
    pub fn clear(&mut self) {
        self.message.clear();
        self.head = Head::default();
    }
}

const UNREADABLE: Violation = Violation::new(QPACK_DECOMPRESSION_FAILED, "headers that cannot be decoded");
const NO_STATUS: Violation = Violation::new(MESSAGE_ERROR, "headers without a valid status or length");
const NO_HEAD: Violation = Violation::new(MESSAGE_ERROR, "the end of a stream without a response");

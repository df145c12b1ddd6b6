//! The request on one stream, for a server.

use super::code::{MESSAGE_ERROR, QPACK_DECOMPRESSION_FAILED, REQUEST_INCOMPLETE, Violation};
use super::message::{Message, Section, Wrong};
use super::qpack::Decoder;

/// A request, as far as it was received.
#[derive(Debug, Default)]
pub struct Request {
    message: Message,
    head: RequestHead,
}

/// The fields of a request that matter for DNS.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RequestHead {
    /// The method.
    pub method: Vec<u8>,
    /// The path with its query string.
    pub path: Vec<u8>,
    /// The content type, where there is one.
    pub content_type: Option<Vec<u8>>,
    /// The content length in octets, where there is one; [`u64::MAX`] where it is no number.
    pub content_length: Option<u64>,
    scheme: Vec<u8>,
}

impl Request {
    /// Takes the next octets. No head may be longer than `most_section` octets. Returns whether the head is complete.
    ///
    /// # Errors
    /// Where they are not those of a request.
    pub fn take(&mut self, bytes: &[u8], decoder: &mut Decoder, most_section: usize) -> Result<bool, Wrong> {
        let head = &mut self.head;
        self.message.take(bytes, most_section, |section, is_trailers| {
            let mut found = RequestHead::default();
            let decoded = decoder.decode(section, |name, value| found.note(name, value));
            if decoded.is_none() {
                return Err(Wrong::Connection(UNREADABLE));
            }
            if !is_trailers {
                if found.method.is_empty() || found.path.is_empty() || found.scheme.is_empty() {
                    return Err(Wrong::Stream(NO_REQUEST));
                }
                *head = found;
            }
            Ok(Section::Head)
        })?;
        Ok(self.message.has_head())
    }

    /// The head; empty before it is complete.
    pub fn head(&self) -> &RequestHead {
        &self.head
    }

    /// The stream has ended: the body.
    ///
    /// # Errors
    /// Where the request is not complete, or its body has another length than its head says.
    pub fn end(&self) -> Result<&[u8], Wrong> {
        self.message.end()?;
        if !self.message.has_head() {
            return Err(Wrong::Stream(NO_HEAD));
        }
        let body = &self.message.body[..];
        match self.head.content_length {
            Some(length) if length != body.len() as u64 => Err(Wrong::Stream(OTHER_LENGTH)),
            _ => Ok(body),
        }
    }
}

impl RequestHead {
    fn note(&mut self, name: &[u8], value: &[u8]) {
        match name {
            b":method" => self.method = value.to_vec(),
            b":path" => self.path = value.to_vec(),
            b":scheme" => self.scheme = value.to_vec(),
            b"content-type" => self.content_type = Some(value.to_vec()),
            b"content-length" => {
                let text = std::str::from_utf8(value).ok().filter(|text| !text.starts_with('+'));
                self.content_length = Some(text.and_then(|text| text.parse().ok()).unwrap_or(u64::MAX));
            }
            _ => {}
        }
    }
}

const UNREADABLE: Violation = Violation::new(QPACK_DECOMPRESSION_FAILED, "headers that cannot be decoded");
const NO_REQUEST: Violation = Violation::new(MESSAGE_ERROR, "headers without a method, a scheme or a path");
const NO_HEAD: Violation = Violation::new(REQUEST_INCOMPLETE, "the end of a stream without a request");
const OTHER_LENGTH: Violation =
    Violation::new(MESSAGE_ERROR, "a body of another length than content-length says");

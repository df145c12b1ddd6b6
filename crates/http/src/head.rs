//! The fields before the body of a response, as far as they show whether it is a DNS message.

/// The content type of DNS messages.
pub const MESSAGE_TYPE: &[u8] = b"application/dns-message";

/// What the fields of a response say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Head {
    /// 0 where there was none.
    pub status: u16,
    /// Whether a status or a content length is no number as the standard writes it.
    pub is_malformed: bool,
    /// Whether the content type is that of DNS messages.
    pub is_message: bool,
    /// The content length in octets.
    pub length: Option<u64>,
}

/// A field, as far as it is of interest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Field {
    /// The status.
    Status(u16),
    /// Whether the content type is that of DNS messages.
    ContentType(bool),
    /// The content length in octets; `None` is that of a name without a value.
    ContentLength(Option<u64>),
    /// A status or a content length that is no number.
    Malformed,
    /// Any other.
    Other,
}

impl Head {
    /// The next field.
    #[inline]
    pub fn take(&mut self, field: Field) {
        match field {
            Field::Status(status) => self.status = status,
            Field::Malformed => self.is_malformed = true,
            Field::ContentType(is_message) => self.is_message = is_message,
            Field::ContentLength(length) => self.length = length,
            Field::Other => {}
        }
    }

    /// Whether another head follows this one (RFC 9110, 15.2).
    #[inline]
    pub fn is_informational(&self) -> bool {
        (100..200).contains(&self.status)
    }
}

impl Field {
    /// The field of this name, without a value.
    #[inline]
    pub fn of_name(name: &[u8]) -> Field {
        match name {
            b":status" => Field::Status(0),
            b"content-type" => Field::ContentType(false),
            b"content-length" => Field::ContentLength(None),
            _ => Field::Other,
        }
    }

    /// The same field with a value.
    #[inline]
    pub fn with_value(self, value: &[u8]) -> Field {
        match self {
            Field::Status(_) => status(value).map_or(Field::Malformed, Field::Status),
            Field::ContentType(_) => Field::ContentType(is_message_type(value)),
            Field::ContentLength(_) => {
                number(value).map_or(Field::Malformed, |length| Field::ContentLength(Some(length)))
            }
            Field::Malformed => Field::Malformed,
            Field::Other => Field::Other,
        }
    }
}

/// The first content type that is not that of DNS messages.
#[derive(Debug, Default)]
pub struct OtherType(Option<String>);

impl OtherType {
    /// Keeps the value if it is that of such a content type, and the first one.
    #[inline]
    pub fn note(&mut self, field: Field, value: &[u8]) {
        if field == Field::ContentType(false) && self.0.is_none() {
            self.0 = Some(String::from_utf8_lossy(&value[..value.len().min(LONGEST_TYPE)]).into_owned());
        }
    }

    /// The content type, if there was one.
    pub fn get(&self) -> Option<&str> {
        self.0.as_deref()
    }
}

/// Whether a content type is that of DNS messages, with or without parameters.
#[inline]
pub fn is_message_type(text: &[u8]) -> bool {
    let end = text.iter().position(|byte| *byte == b';').unwrap_or(text.len());
    text[..end].trim_ascii().eq_ignore_ascii_case(MESSAGE_TYPE)
}

/// A status: exactly three digits (RFC 9110, 15).
fn status(text: &[u8]) -> Option<u16> {
    let digits: &[u8; 3] = text.try_into().ok()?;
    number(digits).and_then(|status| u16::try_from(status).ok()).filter(|status| *status >= 100)
}

/// A number in digits, without a sign.
fn number(text: &[u8]) -> Option<u64> {
    let has_digits_only = text.iter().all(u8::is_ascii_digit);
    std::str::from_utf8(text).ok().filter(|_| has_digits_only)?.parse().ok()
}

/// Octets of a content type that are kept to be shown.
const LONGEST_TYPE: usize = 200;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_is_three_digits_and_a_length_has_digits_only() {
        let read = |name: &[u8], value: &str| Field::of_name(name).with_value(value.as_bytes());
        for text in ["+200", "0200", "20", "2000", "099", "20x", "-20", "", " 200"] {
            assert_eq!(read(b":status", text), Field::Malformed, "{text:?}");
        }
        assert_eq!(
            (read(b":status", "599"), read(b":status", "100")),
            (Field::Status(599), Field::Status(100))
        );
        for text in ["+7", "", "7 ", "99999999999999999999"] {
            assert_eq!(read(b"content-length", text), Field::Malformed, "{text:?}");
        }
        assert_eq!(read(b"content-length", "007"), Field::ContentLength(Some(7)));
    }

    #[test]
    fn the_first_wrong_content_type_is_kept_up_to_a_length() {
        let mut other = OtherType::default();
        for value in ["Application/DNS-message; q=1", &"x".repeat(1_000), "text/html"] {
            other.note(Field::ContentType(false).with_value(value.as_bytes()), value.as_bytes());
        }
        assert_eq!(other.get().map(str::len), Some(LONGEST_TYPE));
    }
}

//! Whether a response carries a DNS message, and in words why not.

use dnsdyno_measure::StreamFailure;
use dnsdyno_text::shown;
use dnsdyno_wire::peek;

use crate::head::{Head, OtherType};
use crate::words;

/// The message in a complete response, with the ID that it travelled with; it may still be no DNS message. Or why there
/// is none.
#[inline]
pub fn message_of<'a>(head: &Head, body: &'a [u8]) -> Result<&'a [u8], StreamFailure> {
    if head.length.is_some_and(|length| length != body.len() as u64) {
        return Err(StreamFailure::Protocol);
    }
    if head.status != 200 {
        return Err(StreamFailure::Status);
    }
    // A body of another type is not a message, whatever its content is.
    let body = if head.is_message { body } else { &[] };
    // The query had the ID 0. Whose response this is, the stream says.
    if body.first_chunk().is_some_and(|id: &[u8; 2]| *id != [0, 0]) && peek(body).is_ok() {
        return Err(StreamFailure::WrongId);
    }
    Ok(body)
}

/// Why a complete response is no DNS message, in words for a user. What the server has written is shown up to
/// `most_characters`.
#[cold]
pub fn words_of(why: StreamFailure, head: &Head, other: &OtherType, most_characters: usize) -> String {
    match why {
        StreamFailure::Status => words::of_status(head.status),
        StreamFailure::WrongId => "a response with another ID than 0, that of the query".to_owned(),
        StreamFailure::NoMessage if head.is_message => "a body that is no DNS response".to_owned(),
        StreamFailure::NoMessage => match other.get() {
            Some(other) => words::of_content_type(&shown(other, most_characters)),
            None => words::of_content_type("none"),
        },
        _ => "a body of another length than content-length says".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_response_without_a_message_says_why_by_the_first_thing_that_is_wrong() {
        let right = Head { status: 200, is_message: true, length: Some(14), ..Head::default() };
        let mut body = [0; 14];
        (body[2], body[5]) = (0x80, 0);
        assert_eq!(message_of(&right, &body), Ok(&body[..]));
        assert_eq!(message_of(&Head { is_message: false, ..right }, &body), Ok(&[][..]));
        let other_length = Head { length: Some(13), status: 500, ..right };
        assert_eq!(message_of(&other_length, &body), Err(StreamFailure::Protocol));
        assert_eq!(message_of(&Head { status: 404, ..right }, &body), Err(StreamFailure::Status));
        body[0] = 7;
        assert_eq!(message_of(&right, &body), Err(StreamFailure::WrongId));
        let words = words_of(StreamFailure::NoMessage, &right, &OtherType::default(), 9);
        assert_eq!(words, "a body that is no DNS response");
    }
}

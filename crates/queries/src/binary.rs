//! Binary query files, as `dnsperf -B` reads them: whole messages, each after its length in 2 octets.
//!
//! ```text
//! | length 2 | message: ID 2, flags 2, ... | length 2 | message | ...
//! ```
//!
//! The ID is overwritten when a message is sent; nothing else of it is changed or checked.

use std::io::{self, BufRead, Read};

use dnsdyno_wire::{FLAG_QR, HEADER_LEN, patch_id, peek};

use super::error::SourceError;
use super::queries::{Full, Own, QueriesBuilder};
use super::reading::Reading;
use super::text::{IdnNames, Loaded};

/// Whether a file starts with the length of a DNS query, and with that query as far as `start` has it.
pub(super) fn starts_with_message(start: &[u8]) -> bool {
    let Some((length, rest)) = start.split_first_chunk::<2>() else { return false };
    let length = usize::from(u16::from_be_bytes(*length));
    let message = &rest[..rest.len().min(length)];
    // Text has no octets of 0, and the header of a query has some.
    message.len() == length
        && message.contains(&0)
        && peek(message).is_ok_and(|message| message.flags & FLAG_QR == 0 && !message.question.is_empty())
}

/// Reads messages from `input` to its end.
pub(super) fn read_binary(
    mut input: impl BufRead,
    origin: &str,
    bytes_hint: usize,
    reading: &Reading,
) -> Result<Loaded, SourceError> {
    let mut builder = QueriesBuilder::of(reading, bytes_hint);
    let (mut message, mut offset) = (Vec::new(), 0);
    let cut_short = |offset, message| SourceError::CutShort { origin: origin.to_owned(), message, offset };
    let cannot_read = |source| SourceError::Read { origin: origin.to_owned(), source };
    loop {
        let number = builder.len() as u64 + 1;
        if input.fill_buf().map_err(cannot_read)?.is_empty() {
            break;
        }
        let mut length = [0; 2];
        read_exactly(&mut input, &mut length, origin)?.ok_or_else(|| cut_short(offset, number))?;
        let length = u16::from_be_bytes(length);
        message.resize(usize::from(length), 0);
        read_exactly(&mut input, &mut message, origin)?.ok_or_else(|| cut_short(offset, number))?;
        if message.len() < HEADER_LEN {
            let origin = origin.to_owned();
            return Err(SourceError::ShortMessage { origin, message: number, offset, length });
        }
        patch_id(&mut message, 0);
        builder.push_message(&message, Own::default()).map_err(|full: Full| SourceError::TooLarge {
            origin: origin.to_owned(),
            line: number,
            most_bytes: full.most_bytes,
        })?;
        offset += 2 + u64::from(length);
    }
    if builder.is_empty() {
        return Err(SourceError::Empty { origin: origin.to_owned() });
    }
    Loaded::new(builder, origin.to_owned(), IdnNames::default(), reading)
}

/// Fills `bytes`; `None` at the end of the input.
fn read_exactly(input: &mut impl Read, bytes: &mut [u8], origin: &str) -> Result<Option<()>, SourceError> {
    match input.read_exact(bytes) {
        Ok(()) => Ok(Some(())),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(None),
        Err(source) => Err(SourceError::Read { origin: origin.to_owned(), source }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dnsdyno_wire::{QueryForm, encode_name};

    fn messages(names: &[&str]) -> Vec<u8> {
        let mut file = Vec::new();
        for name in names {
            let (mut wire, mut message) = (Vec::new(), Vec::new());
            encode_name(name.as_bytes(), &mut wire).unwrap();
            QueryForm { dnssec_ok: true, ..QueryForm::default() }.encode(&wire, 28, &mut message);
            message[0] = 77;
            file.extend_from_slice(&(message.len() as u16).to_be_bytes());
            file.extend_from_slice(&message);
        }
        file
    }

    fn read(file: &[u8]) -> Result<Loaded, SourceError> {
        read_binary(file, "file", 0, &Reading::default())
    }

    #[test]
    fn messages_are_sent_as_they_are_apart_from_their_id() {
        let file = messages(&["a.example", "bb.example"]);
        let queries = read(&file).unwrap().queries;
        assert_eq!(queries.len(), 2);
        let second = queries.message(1);
        assert_eq!(second[2..], file[file.len() - second.len() + 2..]);
        assert_eq!((&second[..2], queries.types()), (&[0, 0][..], &[28][..]));
    }

    #[test]
    fn a_file_that_is_cut_short_is_refused_with_the_place() {
        let file = messages(&["a.example", "bb.example"]);
        let first = usize::from(file[1]) + 2;
        for end in [first + 1, first + 2, file.len() - 1] {
            let error = read(&file[..end]).unwrap_err().to_string();
            assert!(error.contains("message 2") && error.contains(&format!("byte {first}")), "{error}");
        }
        let error = read(&[0, 3, 1, 2, 3]).unwrap_err().to_string();
        assert!(error.contains("message 1") && error.contains("3 bytes long"), "{error}");
        assert!(matches!(read(&[]), Err(SourceError::Empty { .. })));
    }

    #[test]
    fn a_binary_file_is_recognised_by_its_first_message_and_text_is_not() {
        let file = messages(&["a.example"]);
        assert!(starts_with_message(&file));
        assert!(!starts_with_message(&file[..file.len() - 1]));
        for text in ["a A\n", "\0\x01a", "", "www.example.com A\n", "aa"] {
            assert!(!starts_with_message(text.as_bytes()), "{text}");
        }
    }
}

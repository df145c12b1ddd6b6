//! The records of a message in place: where each starts and ends, without reading what is in them.

use crate::header::HEADER_LEN;
use crate::name::{MAX_LABEL_LEN, MAX_NAME_LEN};
use crate::peek::{Malformed, skip_name, skip_question};

/// A record in a message. All positions are counted from the start of the message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecordAt {
    /// Where its owner name starts.
    pub start: usize,
    /// Its type.
    pub rtype: u16,
    /// Its class; of OPT the UDP payload size.
    pub class: u16,
    /// Its TTL.
    pub ttl: u32,
    /// Where its data starts.
    pub data: usize,
    /// Where it ends, and its data.
    pub end: usize,
}

/// The records of a section of a message with at most one question, in order.
///
/// # Errors
/// Where a record does not fit the message; after it there are no others.
#[derive(Debug)]
pub struct Records<'a> {
    bytes: &'a [u8],
    at: usize,
    remaining: u16,
}

impl<'a> Records<'a> {
    /// Those of the answer section.
    ///
    /// # Errors
    /// Where the question does not fit the message.
    pub fn of_answer(bytes: &'a [u8]) -> Result<Records<'a>, Malformed> {
        let (at, [remaining, ..]) = sections(bytes)?;
        Ok(Records { bytes, at, remaining })
    }
}

impl Iterator for Records<'_> {
    type Item = Result<RecordAt, Malformed>;

    fn next(&mut self) -> Option<Self::Item> {
        self.remaining = self.remaining.checked_sub(1)?;
        let record = record_at(self.bytes, self.at);
        match &record {
            Ok(record) => self.at = record.end,
            Err(_) => self.remaining = 0,
        }
        Some(record)
    }
}

/// Where the answer section begins, and the numbers of records of answer, authority and additional section.
fn sections(bytes: &[u8]) -> Result<(usize, [u16; 3]), Malformed> {
    let header: &[u8; HEADER_LEN] = bytes.first_chunk().ok_or(Malformed::ShortHeader)?;
    let word = |at: usize| u16::from_be_bytes([header[at], header[at + 1]]);
    let at = match word(4) {
        0 => HEADER_LEN,
        1 => skip_question(bytes)?,
        _ => return Err(Malformed::ManyQuestions),
    };
    Ok((at, [word(6), word(8), word(10)]))
}

/// The records of the additional section of a message with at most one question, in order.
///
/// # Errors
/// Where a record does not fit the message; after it there are no others.
#[derive(Debug)]
pub struct Additional<'a>(Records<'a>);

impl<'a> Additional<'a> {
    /// Walks to the additional section.
    ///
    /// # Errors
    /// Where what precedes it does not fit the message.
    pub fn of(bytes: &'a [u8]) -> Result<Additional<'a>, Malformed> {
        let (mut at, [answers, authorities, remaining]) = sections(bytes)?;
        for _ in 0..u32::from(answers) + u32::from(authorities) {
            at = record_at(bytes, at)?.end;
        }
        Ok(Additional(Records { bytes, at, remaining }))
    }

    /// How many records there still are.
    pub fn remaining(&self) -> u16 {
        self.0.remaining
    }
}

impl Iterator for Additional<'_> {
    type Item = Result<RecordAt, Malformed>;

    fn next(&mut self) -> Option<Self::Item> {
        self.0.next()
    }
}

/// The record that starts at `start`.
///
/// ```text
/// owner | type 2 | class 2 | TTL 4 | length 2 | data
/// ```
#[inline]
pub(crate) fn record_at(bytes: &[u8], start: usize) -> Result<RecordAt, Malformed> {
    const FIXED_LEN: usize = 10;
    let at = skip_name(bytes, start)?;
    let fixed: &[u8; FIXED_LEN] =
        bytes.get(at..).and_then(|rest| rest.first_chunk()).ok_or(Malformed::CutRecord)?;
    let word = |at: usize| u16::from_be_bytes([fixed[at], fixed[at + 1]]);
    let data = at + FIXED_LEN;
    let end = data + usize::from(word(8));
    if end > bytes.len() {
        return Err(Malformed::CutRecord);
    }
    let ttl = u32::from_be_bytes([fixed[4], fixed[5], fixed[6], fixed[7]]);
    Ok(RecordAt { start, rtype: word(0), class: word(2), ttl, data, end })
}

/// A whole name, uncompressed and in lower case, as TSIG signs it. Its memory is its own: a name may be compressed.
#[derive(Debug, Clone, Copy)]
pub struct CanonicalName {
    length: u8,
    bytes: [u8; MAX_NAME_LEN],
}

impl CanonicalName {
    /// Reads the name at `at`, and follows its compression pointers. Returns it with the position after it.
    ///
    /// # Errors
    /// If it does not fit the message, is no name, or has a pointer that does not point backwards.
    pub fn read(bytes: &[u8], at: usize) -> Result<(CanonicalName, usize), Malformed> {
        let mut name = CanonicalName { length: 0, bytes: [0; MAX_NAME_LEN] };
        let (mut at, mut end) = (at, None);
        // Each pointer points to a position before those already read, so the loop ends.
        let mut bound = at;
        loop {
            let length = *bytes.get(at).ok_or(Malformed::CutRecord)?;
            match length {
                0xc0.. => {
                    let low = *bytes.get(at + 1).ok_or(Malformed::CutRecord)?;
                    end.get_or_insert(at + 2);
                    at = usize::from(u16::from_be_bytes([length & 0x3f, low]));
                    if at >= bound {
                        return Err(Malformed::BadName);
                    }
                    bound = at;
                }
                _ if usize::from(length) > MAX_LABEL_LEN => return Err(Malformed::BadName),
                _ => {
                    let label_end = at + 1 + usize::from(length);
                    let label = bytes.get(at..label_end).ok_or(Malformed::CutRecord)?;
                    let start = usize::from(name.length);
                    let room = name.bytes.get_mut(start..start + label.len()).ok_or(Malformed::BadName)?;
                    // A length octet is at most 63, so none of them is taken for a letter.
                    room.copy_from_slice(label);
                    room.make_ascii_lowercase();
                    name.length = (start + label.len()) as u8;
                    at = label_end;
                    if length == 0 {
                        return Ok((name, end.unwrap_or(at)));
                    }
                }
            }
        }
    }

    /// The name in wire format.
    pub fn wire(&self) -> &[u8] {
        &self.bytes[..usize::from(self.length)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A response with one answer and, in the additional section, a compressed owner and OPT.
    const MESSAGE: &[u8] = b"\0\x01\x80\0\0\x01\0\x01\0\0\0\x02\x03WWW\x01a\0\0\x01\0\x01\
        \xc0\x0c\0\x01\0\x01\0\0\0\x3c\0\x04\x7f\0\0\x01\
        \x01K\xc0\x10\0\xfa\0\xff\0\0\0\0\0\x02hi\
        \0\0\x29\x04\xd0\0\0\0\0\0\0";

    #[test]
    fn the_records_of_the_additional_section_are_found() {
        let records: Vec<_> = Additional::of(MESSAGE).unwrap().map(Result::unwrap).collect();
        let [key, opt] = records[..] else { panic!("{records:?}") };
        assert_eq!((key.rtype, key.class, key.ttl), (250, 255, 0));
        assert_eq!(&MESSAGE[key.data..key.end], b"hi");
        assert_eq!((opt.rtype, opt.class, opt.start, opt.end), (41, 1232, key.end, MESSAGE.len()));
        let (name, end) = CanonicalName::read(MESSAGE, key.start).unwrap();
        assert_eq!((name.wire(), end), (&b"\x01k\x01a\0"[..], key.start + 4));
    }

    #[test]
    fn a_message_cut_anywhere_is_malformed_and_never_read_past_its_end() {
        for length in 0..MESSAGE.len() {
            let whole = Additional::of(&MESSAGE[..length]).map(|all| all.filter(Result::is_ok).count());
            assert!(whole.is_err() || whole.is_ok_and(|records| records < 2), "{length}");
        }
    }

    #[test]
    fn a_pointer_that_points_to_itself_or_forward_is_malformed() {
        for name in [&b"\xc0\0"[..], b"\xc0\x02\0\0", b"\x01a\xc0\0"] {
            assert_eq!(CanonicalName::read(name, 0).err(), Some(Malformed::BadName), "{name:?}");
        }
        let long = [&[63; 1][..], &[b'a'; 63]].concat().repeat(5);
        assert_eq!(CanonicalName::read(&long, 0).err(), Some(Malformed::BadName));
    }
}

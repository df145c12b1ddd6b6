//! Text as editors save it: behind a byte order mark, which is no part of it, or in UTF-16, which nothing here reads.

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// Why octets are not the text of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NotUtf8 {
    /// Two octets for each character, as PowerShell and some editors of Windows write it.
    #[error("it is text in UTF-16: convert it first: iconv -f UTF-16 -t UTF-8 FILE")]
    Utf16,
    /// Some octets are in another encoding.
    #[error(
        "line {line} is not UTF-8: convert the file first, such as with iconv -f WINDOWS-1252 -t UTF-8 FILE"
    )]
    Other {
        /// The first line that is not.
        line: usize,
    },
}

impl From<NotUtf8> for io::Error {
    fn from(error: NotUtf8) -> io::Error {
        io::Error::new(io::ErrorKind::InvalidData, error)
    }
}

/// The text of a file, without a byte order mark.
///
/// # Errors
/// It is not UTF-8.
pub fn decoded(octets: Vec<u8>) -> Result<String, NotUtf8> {
    if is_utf16(&octets) {
        return Err(NotUtf8::Utf16);
    }
    let octets = match after_mark(&octets) {
        text if text.len() < octets.len() => Cow::Owned(text.to_vec()),
        _ => Cow::Borrowed(&octets[..]),
    };
    String::from_utf8(octets.into_owned()).map_err(|error| {
        let before = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        NotUtf8::Other { line: 1 + before.iter().filter(|octet| **octet == b'\n').count() }
    })
}

/// The text of a file that people write, without a byte order mark. What is much longer is none: a device, a pipe
/// without an end, another file.
///
/// # Errors
/// It cannot be read, is too long, or is not UTF-8.
pub fn read_text(path: &Path) -> io::Result<String> {
    let mut octets = Vec::new();
    File::open(path)?.take(MOST_BYTES + 1).read_to_end(&mut octets)?;
    match octets.len() as u64 > MOST_BYTES {
        true => Err(io::Error::other("it is longer than 64 MiB, and so no file that is read here")),
        false => Ok(decoded(octets)?),
    }
}

/// A hundred times as much as anybody writes.
const MOST_BYTES: u64 = 64 << 20;

/// What follows the byte order mark of UTF-8, where there is one.
pub fn after_mark(octets: &[u8]) -> &[u8] {
    octets.strip_prefix(MARK).unwrap_or(octets)
}

/// Whether a file that begins so is in UTF-16: by its byte order mark, or by two characters of which each has an octet
/// of 0.
pub fn is_utf16(octets: &[u8]) -> bool {
    match octets {
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => true,
        [a, 0, b, 0, ..] | [0, a, 0, b, ..] => *a != 0 && *b != 0,
        _ => false,
    }
}

const MARK: &[u8] = b"\xef\xbb\xbf";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_without_an_end_is_no_text() {
        let error = read_text(Path::new("/dev/zero")).expect_err("no end");
        assert!(error.to_string().contains("longer than 64 MiB"), "{error}");
    }

    #[test]
    fn a_byte_order_mark_is_no_part_of_the_text() {
        assert_eq!(decoded(b"\xef\xbb\xbfa\n".to_vec()).as_deref(), Ok("a\n"));
        assert_eq!(decoded(b"a\xef\xbb\xbf".to_vec()).as_deref(), Ok("a\u{feff}"));
        assert_eq!(decoded(b"\xef\xbb\xbf".to_vec()).as_deref(), Ok(""));
        assert_eq!(decoded(Vec::new()).as_deref(), Ok(""));
        assert_eq!(after_mark(b"\xef\xbb"), b"\xef\xbb");
    }

    #[test]
    fn other_encodings_are_named_with_what_to_do() {
        for octets in [&b"\xff\xfea\0"[..], b"\xfe\xff\0a", b"a\0b\0", b"\0a\0b"] {
            assert_eq!(decoded(octets.to_vec()), Err(NotUtf8::Utf16), "{octets:?}");
        }
        let error = decoded(b"a\nM\xfcller\n".to_vec()).unwrap_err();
        assert_eq!(error, NotUtf8::Other { line: 2 });
        assert!(io::Error::from(error).to_string().contains("iconv"));
        assert!(!is_utf16(b"\0\0\0\0") && !is_utf16(b"a\0"));
    }
}

//! Domain names between presentation format (text) and wire format.
//!
//! The text form is that of RFC 1035 §5.1: labels parted by dots, `\X` for a literal character, `\DDD` for
//! an octet by its decimal value. Names are always absolute, so a trailing dot changes nothing.

use std::fmt::Write as _;

/// The longest label DNS can carry, in octets (RFC 1035 §2.3.4).
pub const MAX_LABEL_LEN: usize = 63;

/// The longest name DNS can carry, in octets on the wire: length octets and the root label included.
pub const MAX_NAME_LEN: usize = 255;

/// Why a text is not a domain name. Each variant names the rule that was broken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    /// There is no text at all.
    #[error("the name is empty: write `.` for the root")]
    Empty,
    /// Two dots in a row, or a dot at the start of a longer name.
    #[error("a label is empty: remove the extra dot")]
    EmptyLabel,
    /// A label of this many octets.
    #[error("a label is {0} bytes long, and DNS allows {MAX_LABEL_LEN}: shorten it")]
    LongLabel(usize),
    /// A name of this many octets on the wire.
    #[error("the name is {0} bytes long on the wire, and DNS allows {MAX_NAME_LEN}: shorten it")]
    LongName(usize),
    /// A backslash with nothing after it, or with digits that are not three and at most 255.
    #[error("bad escape: write `\\X` for a character or `\\DDD` for a byte, with DDD from 000 to 255")]
    BadEscape,
}

/// Appends the wire form of the name `text` to `out`, root label included; on an error `out` is unchanged.
///
/// Octets above 127 are taken as they are. One pass, and no allocation but the growth of `out`.
#[inline]
pub fn encode_name(text: &[u8], out: &mut Vec<u8>) -> Result<(), NameError> {
    // A length octet, then the label. 256 bytes, so that an index of type u8 could never be out of bounds;
    // the name is built here because a half-written name must not be left in `out`.
    let mut wire = [0u8; MAX_NAME_LEN + 1];
    if text == b"." {
        out.push(0);
        return Ok(());
    }
    let mut label_at = 0; // where the length octet of the open label goes
    let mut end = 1; // one past the last octet written
    let mut at = 0;
    while at < text.len() {
        let mut byte = text[at];
        at += 1;
        if byte == b'.' {
            let label_len = end - label_at - 1;
            if label_len == 0 || label_len > MAX_LABEL_LEN {
                return Err(first_broken_rule(text));
            }
            wire[label_at] = label_len as u8;
            label_at = end;
            end += 1;
            continue;
        }
        if byte == b'\\' {
            let (value, used) = unescape(&text[at..])?;
            byte = value;
            at += used;
        }
        // The octet at MAX_NAME_LEN - 1 is the root label's at the latest.
        if end >= MAX_NAME_LEN - 1 {
            return Err(first_broken_rule(text));
        }
        wire[end] = byte;
        end += 1;
    }
    let label_len = end - label_at - 1;
    if label_len > MAX_LABEL_LEN || end == 1 {
        return Err(first_broken_rule(text));
    }
    // After a trailing dot the open label is empty, and its length octet is the root label.
    wire[label_at] = label_len as u8;
    let total = if label_len == 0 { end } else { end + 1 };
    out.extend_from_slice(&wire[..total]);
    Ok(())
}

/// The text form of a name in wire format, without a trailing dot; `.` for the root.
///
/// Characters with a meaning in query files and zone files are escaped, so that [`encode_name`] gives the
/// same octets back. Octets after the root label are ignored. A name that is broken off, or that holds a
/// compression pointer, is shown up to there and ends with `<cut>`.
pub fn name_to_text(wire: &[u8]) -> String {
    let mut text = String::with_capacity(wire.len());
    let mut rest = wire;
    loop {
        match rest.split_first() {
            Some((0, _)) => break,
            Some((&len, tail)) if usize::from(len) <= MAX_LABEL_LEN && tail.len() >= usize::from(len) => {
                let (label, after) = tail.split_at(usize::from(len));
                label.iter().for_each(|&byte| push_escaped(byte, &mut text));
                text.push('.');
                rest = after;
            }
            _ => {
                text.push_str("<cut>");
                return text;
            }
        }
    }
    match text.pop() {
        Some(_) => text,
        None => ".".to_owned(),
    }
}

/// Reads what follows a backslash: the octet it stands for, and how many characters it took.
pub(crate) fn unescape(after: &[u8]) -> Result<(u8, usize), NameError> {
    match *after {
        [a @ b'0'..=b'9', b @ b'0'..=b'9', c @ b'0'..=b'9', ..] => {
            let value = u16::from(a - b'0') * 100 + u16::from(b - b'0') * 10 + u16::from(c - b'0');
            u8::try_from(value).map(|byte| (byte, 3)).map_err(|_| NameError::BadEscape)
        }
        [b'0'..=b'9', ..] | [] => Err(NameError::BadEscape),
        [byte, ..] => Ok((byte, 1)),
    }
}

/// Reads a text known to be invalid and returns the first rule it violates, with the true length.
///
/// Apart from the fast path, which stops at the first octet too many and so cannot know how many there are.
#[cold]
fn first_broken_rule(text: &[u8]) -> NameError {
    if text.is_empty() {
        return NameError::Empty;
    }
    let (mut total, mut label_len, mut at) = (1, 0, 0);
    while at < text.len() {
        match text[at] {
            b'.' if label_len == 0 => return NameError::EmptyLabel,
            b'.' if label_len > MAX_LABEL_LEN => break,
            b'.' => {
                total += label_len + 1;
                label_len = 0;
                at += 1;
            }
            b'\\' => match unescape(&text[at + 1..]) {
                Ok((_, used)) => {
                    label_len += 1;
                    at += 1 + used;
                }
                Err(error) => return error,
            },
            _ => {
                label_len += 1;
                at += 1;
            }
        }
    }
    if label_len > MAX_LABEL_LEN {
        return NameError::LongLabel(label_len);
    }
    NameError::LongName(if label_len == 0 { total } else { total + label_len + 1 })
}

/// Appends one octet of a label as text.
fn push_escaped(byte: u8, text: &mut String) {
    match byte {
        b'.' | b'\\' | b';' | b'"' | b'(' | b')' | b'@' | b'$' | b'{' => {
            text.push('\\');
            text.push(char::from(byte));
        }
        0x21..=0x7e => text.push(char::from(byte)),
        _ => {
            // Writing to a String cannot fail.
            let _ = write!(text, "\\{byte:03}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::base::Name;
    use proptest::prelude::*;

    fn wire(text: &str) -> Result<Vec<u8>, NameError> {
        let mut out = Vec::new();
        encode_name(text.as_bytes(), &mut out).map(|()| out)
    }

    #[test]
    fn a_trailing_dot_changes_nothing() {
        let want = b"\x03www\x07example\x03com\0";
        assert_eq!(wire("www.example.com").as_deref(), Ok(&want[..]));
        assert_eq!(wire("www.example.com.").as_deref(), Ok(&want[..]));
    }

    #[test]
    fn the_root_is_one_dot() {
        assert_eq!(wire(".").as_deref(), Ok(&b"\0"[..]));
        assert_eq!(name_to_text(b"\0"), ".");
    }

    #[test]
    fn escapes_are_decimal_and_a_dot_can_be_part_of_a_label() {
        assert_eq!(wire(r"\255\009\000.a\.b").as_deref(), Ok(&b"\x03\xff\x09\x00\x03a.b\0"[..]));
        assert_eq!(wire(r"\\\;").as_deref(), Ok(&b"\x02\\;\0"[..]));
    }

    #[test]
    fn octets_above_127_are_taken_as_they_are() {
        assert_eq!(wire("é").as_deref(), Ok(&b"\x02\xc3\xa9\0"[..]));
    }

    #[test]
    fn each_broken_rule_has_its_own_error() {
        assert_eq!(wire(""), Err(NameError::Empty));
        for text in ["a..b", ".a", "..", "a.."] {
            assert_eq!(wire(text), Err(NameError::EmptyLabel), "{text}");
        }
        for text in ["\\", "a\\", r"\25", r"\2x5", r"\256", r"\999"] {
            assert_eq!(wire(text), Err(NameError::BadEscape), "{text}");
        }
        assert_eq!(wire(&"x".repeat(64)), Err(NameError::LongLabel(64)));
        assert_eq!(wire(&format!("{}.com", "x".repeat(300))), Err(NameError::LongLabel(300)));
    }

    #[test]
    fn labels_of_63_and_names_of_255_octets_are_the_longest() {
        let label = "x".repeat(63);
        assert!(wire(&label).is_ok());
        let longest = format!("{label}.{label}.{label}.{}", "y".repeat(61));
        assert_eq!(wire(&longest).map(|w| w.len()), Ok(255));
        assert_eq!(wire(&format!("{longest}.")).map(|w| w.len()), Ok(255));
        assert_eq!(wire(&format!("{longest}y")), Err(NameError::LongName(256)));
        assert_eq!(wire(&format!("{longest}y.")), Err(NameError::LongName(256)));
        assert_eq!(wire(&"ab.".repeat(200)), Err(NameError::LongName(601)));
        assert_eq!(wire(&"a.".repeat(127)).map(|w| w.len()), Ok(255));
        assert_eq!(wire(&"a.".repeat(128)), Err(NameError::LongName(257)));
    }

    #[test]
    fn an_error_leaves_the_output_as_it_was() {
        let mut out = vec![1, 2, 3];
        assert!(encode_name(b"good.bad..name", &mut out).is_err());
        assert_eq!(out, [1, 2, 3]);
    }

    #[test]
    fn a_broken_wire_name_is_shown_up_to_where_it_breaks() {
        assert_eq!(name_to_text(b"\x03www\x07exam"), "www.<cut>");
        assert_eq!(name_to_text(b"\x01a\xc0\x0c"), "a.<cut>");
        assert_eq!(name_to_text(b""), "<cut>");
    }

    proptest! {
        #[test]
        fn encoding_agrees_with_the_domain_crate(text in r"([a-c0-9.\\;_*-]|\\[0-9]{3}){1,40}") {
            let theirs = text.parse::<Name<Vec<u8>>>().ok().map(|name| name.as_slice().to_vec());
            prop_assert_eq!(wire(&text).ok(), theirs);
        }

        #[test]
        fn encoding_agrees_with_the_domain_crate_near_the_limits(
            labels in prop::collection::vec(55usize..66, 1..6), dot in any::<bool>()
        ) {
            let mut text = labels.iter().map(|&n| "l".repeat(n)).collect::<Vec<_>>().join(".");
            if dot { text.push('.'); }
            let theirs = text.parse::<Name<Vec<u8>>>().ok().map(|name| name.as_slice().to_vec());
            prop_assert_eq!(wire(&text).ok(), theirs);
        }

        #[test]
        fn any_wire_name_survives_the_way_through_text(
            labels in prop::collection::vec(prop::collection::vec(any::<u8>(), 1..30), 0..8)
        ) {
            let mut name = Vec::new();
            for label in &labels {
                name.push(label.len() as u8);
                name.extend_from_slice(label);
            }
            name.push(0);
            prop_assert_eq!(wire(&name_to_text(&name)), Ok(name));
        }

        #[test]
        fn random_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
            let mut out = Vec::new();
            if encode_name(&bytes, &mut out).is_ok() {
                prop_assert!(out.len() <= MAX_NAME_LEN);
                prop_assert!(Name::from_octets(out).is_ok());
            } else {
                prop_assert!(out.is_empty());
            }
            prop_assert!(!name_to_text(&bytes).is_empty());
        }
    }
}

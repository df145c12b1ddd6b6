//! TTLs with units, as BIND, NSD, Knot and others read them in zone files: `1h`, `1d12h`. The parser of `domain` 0.12
//! reads seconds only.

use std::borrow::Cow;
use std::ops::Range;

use crate::types::parse_class;

/// The seconds of a TTL: a number, or numbers each with a unit of s, m, h, d or w.
pub fn ttl_seconds(text: &[u8]) -> Option<u32> {
    let number = |digits: &[u8]| std::str::from_utf8(digits).ok()?.parse::<u32>().ok();
    let is_number = !text.is_empty() && text.iter().all(u8::is_ascii_digit);
    if is_number {
        return number(text);
    }
    let (mut seconds, mut rest) = (0_u32, text);
    while !rest.is_empty() {
        let digits = rest.iter().take_while(|octet| octet.is_ascii_digit()).count();
        // A unit without a number, and a number without a unit, are nothing.
        let (count, unit) = (number(rest.get(..digits)?)?, rest.get(digits)?);
        let unit_s = match unit.to_ascii_lowercase() {
            b's' => 1,
            b'm' => 60,
            b'h' => 3_600,
            b'd' => 86_400,
            b'w' => 604_800,
            _ => return None,
        };
        seconds = count.checked_mul(unit_s).and_then(|part| seconds.checked_add(part))?;
        rest = &rest[digits + 1..];
    }
    (!text.is_empty()).then_some(seconds)
}

/// The text of a zone file with each TTL, and the times of SOA records, in seconds. Lines stay as they are.
pub fn with_ttls_in_seconds(text: &[u8]) -> Cow<'_, [u8]> {
    let (mut changed, mut copied_to) = (Vec::new(), 0);
    let mut entry = Entry::default();
    let mut words = Words { text, at: 0, depth: 0 };
    while let Some(word) = words.next() {
        let octets = &text[word.place.clone()];
        if entry.is_time(octets, &word)
            && let Some(seconds) = ttl_seconds(octets).filter(|_| !octets.iter().all(u8::is_ascii_digit))
        {
            changed.extend_from_slice(&text[copied_to..word.place.start]);
            changed.extend_from_slice(seconds.to_string().as_bytes());
            copied_to = word.place.end;
        }
    }
    if copied_to == 0 {
        return Cow::Borrowed(text);
    }
    changed.extend_from_slice(&text[copied_to..]);
    Cow::Owned(changed)
}

/// Where in an entry of a zone file a word is.
#[derive(Default)]
struct Entry {
    is_directive: bool,
    /// Whether the type was read.
    has_type: bool,
    /// Words of the data of an SOA record so far.
    soa_words: Option<usize>,
}

impl Entry {
    /// Whether a word is a time, where it is one at all: the TTL, before or behind the class, the value of `$TTL`, and
    /// the four times at the end of an SOA record.
    fn is_time(&mut self, octets: &[u8], word: &Word) -> bool {
        if word.is_first {
            *self = Entry { is_directive: octets.eq_ignore_ascii_case(b"$TTL"), ..Entry::default() };
            // The owner, or the name of a directive; only those of records are followed by TTL, class and type.
            self.has_type = octets.starts_with(b"$");
            if !word.is_behind_blank {
                return false;
            }
        }
        if std::mem::take(&mut self.is_directive) {
            return true;
        }
        if let Some(words) = &mut self.soa_words {
            *words += 1;
            return *words > SOA_WORDS_BEFORE_TIMES;
        }
        if self.has_type {
            return false;
        }
        let is_ttl = ttl_seconds(octets).is_some();
        let is_class = std::str::from_utf8(octets).ok().and_then(parse_class).is_some();
        self.has_type = !is_ttl && !is_class;
        self.soa_words = octets.eq_ignore_ascii_case(b"SOA").then_some(0);
        is_ttl
    }
}

/// A word of a zone file.
struct Word {
    place: Range<usize>,
    /// Whether it begins an entry.
    is_first: bool,
    /// Whether the entry begins with a blank: it has the owner of the entry before it.
    is_behind_blank: bool,
}

/// The words of a zone file, outside of comments; quoted ones with their quotes.
struct Words<'a> {
    text: &'a [u8],
    at: usize,
    /// Of parentheses, in which a line goes on.
    depth: u64,
}

impl Words<'_> {
    fn next(&mut self) -> Option<Word> {
        // The start of the file is that of a line.
        let mut is_first = self.at == 0;
        let mut is_behind_blank = false;
        loop {
            let octet = *self.text.get(self.at)?;
            match octet {
                b'\n' => {
                    is_first |= self.depth == 0;
                    is_behind_blank &= self.depth > 0;
                }
                b' ' | b'\t' | b'\r' => is_behind_blank |= self.is_line_start(),
                b'(' => self.depth += 1,
                b')' => self.depth = self.depth.saturating_sub(1),
                b';' => {
                    let rest = &self.text[self.at..];
                    self.at += rest.iter().position(|octet| *octet == b'\n').unwrap_or(rest.len());
                    continue;
                }
                _ => break,
            }
            self.at += 1;
        }
        let start = self.at;
        self.skip_word();
        Some(Word { place: start..self.at, is_first, is_behind_blank })
    }

    fn is_line_start(&self) -> bool {
        self.depth == 0 && (self.at == 0 || self.text.get(self.at - 1) == Some(&b'\n'))
    }

    fn skip_word(&mut self) {
        let mut is_quoted = false;
        while let Some(octet) = self.text.get(self.at) {
            match octet {
                b'\\' => self.at += 1,
                b'"' => is_quoted = !is_quoted,
                _ if is_quoted => {}
                b' ' | b'\t' | b'\r' | b'\n' | b'(' | b')' | b';' => return,
                _ => {}
            }
            self.at += 1;
        }
        // An escape may be the last octet.
        self.at = self.text.len();
    }
}

/// The server, the mailbox and the serial number.
const SOA_WORDS_BEFORE_TIMES: usize = 3;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_ttl_is_a_number_or_numbers_with_units() {
        for (text, seconds) in [
            ("0", 0),
            ("3600", 3_600),
            ("1h", 3_600),
            ("1d12h", 129_600),
            ("1W2D3H4M5S", 788_645),
            ("90m", 5_400),
        ] {
            assert_eq!(ttl_seconds(text.as_bytes()), Some(seconds), "{text}");
        }
        for text in ["", "h", "1h30", "1x", "-1", "+1", "1.5h", "8000w", "4294967296", "1h ", "1hh"] {
            assert_eq!(ttl_seconds(text.as_bytes()), None, "{text}");
        }
    }

    fn rewritten(text: &str) -> String {
        String::from_utf8(with_ttls_in_seconds(text.as_bytes()).into_owned()).unwrap()
    }

    #[test]
    fn times_of_a_zone_are_written_in_seconds() {
        for (text, want) in [
            ("$TTL 1h\n", "$TTL 3600\n"),
            ("www 1h A 192.0.2.1\n", "www 3600 A 192.0.2.1\n"),
            ("www IN 1d12h A 192.0.2.1", "www IN 129600 A 192.0.2.1"),
            ("www 1h IN A 192.0.2.1\n\t2m A 192.0.2.2", "www 3600 IN A 192.0.2.1\n\t120 A 192.0.2.2"),
            (
                "@ SOA ns h. ( 7 ; serial 1h\n 1h 15m\n 1w ) ; 1d\n@ 1h NS ns",
                "@ SOA ns h. ( 7 ; serial 1h\n 3600 15m\n 1w ) ; 1d\n@ 3600 NS ns",
            ),
            ("1h 1h A 192.0.2.1\n", "1h 3600 A 192.0.2.1\n"),
            ("a \\# 1h", "a \\# 1h"),
        ] {
            let want = want.replace("3600 15m\n 1w )", "3600 900\n 604800 )");
            assert_eq!(rewritten(text), want, "{text}");
        }
    }

    #[test]
    fn what_is_no_time_stays() {
        for text in [
            "1h A 192.0.2.1\n",
            "a TXT 1h \"2h\" 3d\n",
            "a 60 TXT \"x\n1h\" 1h\n",
            "$ORIGIN 1h\n$INCLUDE 1h 1d\na CNAME 1h\n",
            "a A (\n 1h\n)\n",
            "; 1h A\n\\ 1h",
            "",
        ] {
            assert!(
                matches!(with_ttls_in_seconds(text.as_bytes()), Cow::Borrowed(_)),
                "{text}: {}",
                rewritten(text)
            );
        }
    }

    proptest! {
        #[test]
        fn lines_stay_and_a_second_time_changes_nothing(text in "[ \\t\\n\"\\\\();1hdA$a]{0,60}") {
            let once = with_ttls_in_seconds(text.as_bytes()).into_owned();
            let lines = |text: &[u8]| text.iter().filter(|octet| **octet == b'\n').count();
            prop_assert_eq!(lines(&once), lines(text.as_bytes()));
            prop_assert_eq!(&*with_ttls_in_seconds(&once), &once[..]);
        }
    }
}

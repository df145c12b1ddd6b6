//! Names with placeholders, which are filled in when a query is sent.
//!
//! ```text
//! {rand:8}.example.com      8 random letters and digits, different in each query of a run
//! {rand:0..99}.example.com  a random number
//! {n:0..999}.example.com    the number of the query: 0, 1, ... 999, and 0 again
//! {n:000..999}.example.com  the same with leading zeros, so that all have the same length
//! ```
//!
//! A message is encoded once, with some text in the place of a placeholder. [`Filling`] writes over it.

use super::error::BadReason;
use super::random::{Permutation, random_of, scaled};

/// The placeholders of a message, in their order; positions are counted from the start of the message.
pub(super) type Placeholders = Vec<Placeholder>;

/// One placeholder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Placeholder {
    /// Where it starts.
    at: u16,
    /// Its length in the encoded message, in octets.
    width: u8,
    /// Where the length octet of its label is.
    label_at: u16,
    kind: Content,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Content {
    Random,
    /// `padded`: with leading zeros; `random`: in no order.
    Number {
        from: u64,
        to: u64,
        padded: bool,
        random: bool,
    },
}

/// Replaces the placeholders of a name in text form by text of their length. `name_at` is the position of the name in
/// its message.
pub(super) fn read_template(name: &[u8], name_at: usize) -> Result<(Vec<u8>, Placeholders), BadReason> {
    let mut text = Vec::with_capacity(name.len());
    let mut placeholders = Vec::new();
    // Octets on the wire, with the length octet of the first label.
    let (mut octets, mut label_at, mut at) = (1, 0, 0);
    while at < name.len() {
        let rest = &name[at..];
        let (taken, is_dot) = match rest {
            [b'\\', digit, ..] if digit.is_ascii_digit() => (rest.len().min(4), false),
            [b'\\', _, ..] => (2, false),
            [b'{', ..] => {
                let end = rest.iter().position(|&byte| byte == b'}').ok_or_else(|| unknown(rest))?;
                let (kind, filler) = read_kind(&rest[1..end]).ok_or_else(|| unknown(&rest[..=end]))?;
                placeholders.push(Placeholder {
                    at: (name_at + octets) as u16,
                    width: filler.len() as u8,
                    label_at: (name_at + label_at) as u16,
                    kind,
                });
                octets += filler.len();
                text.extend_from_slice(&filler);
                at += end + 1;
                continue;
            }
            [byte, ..] => (1, *byte == b'.'),
            [] => break,
        };
        if is_dot {
            label_at = octets;
        }
        octets += 1;
        text.extend_from_slice(&rest[..taken]);
        at += taken;
    }
    Ok((text, placeholders))
}

/// The kind of a placeholder, and text of its length: that of the longest number.
fn read_kind(inside: &[u8]) -> Option<(Content, Vec<u8>)> {
    let (word, value) = std::str::from_utf8(inside).ok()?.split_once(':')?;
    match (word, value.contains("..")) {
        ("rand", false) => {
            let width: usize = value.parse().ok().filter(|width| (1..=LONGEST_RANDOM).contains(width))?;
            Some((Content::Random, vec![b'x'; width]))
        }
        ("rand" | "n", true) => {
            let (first, last) = value.split_once("..")?;
            let is_number = |text: &str| text.len() <= 19 && text.bytes().all(|byte| byte.is_ascii_digit());
            let (from, to): (u64, u64) = (first.parse().ok()?, last.parse().ok()?);
            let padded = first.len() > 1 && first.starts_with('0');
            let fits = is_number(first) && is_number(last) && from <= to;
            let width = if padded { first.len().max(last.len()) } else { 0 };
            let kind = Content::Number { from, to, padded, random: word == "rand" };
            fits.then(|| (kind, format!("{to:0width$}").into_bytes()))
        }
        _ => None,
    }
}

fn unknown(text: &[u8]) -> BadReason {
    BadReason::Placeholder(text[..text.len().min(LONGEST_SHOWN)].escape_ascii().to_string())
}

impl Placeholder {
    /// Its form in text.
    pub(super) fn to_text(self) -> String {
        let width = usize::from(self.width);
        match self.kind {
            Content::Random => format!("{{rand:{width}}}"),
            Content::Number { from, to, padded, random } => {
                let (word, width) = (if random { "rand" } else { "n" }, if padded { width } else { 0 });
                format!("{{{word}:{from:0width$}..{to:0width$}}}")
            }
        }
    }

    /// The octets of the message that it stands in.
    pub(super) fn range(self) -> std::ops::Range<usize> {
        usize::from(self.at)..usize::from(self.at) + usize::from(self.width)
    }

    /// The same in a message in which the name starts later.
    pub(super) fn moved_by(self, octets: usize) -> Placeholder {
        let octets = octets as u16;
        Placeholder { at: self.at + octets, label_at: self.label_at + octets, ..self }
    }

    /// Whether no two queries of a run have the same name, apart from very long runs.
    pub(super) fn is_unique(self) -> bool {
        self.kind == Content::Random && self.width >= UNIQUE_WIDTH
    }
}

/// How a placeholder is filled in, with everything that does not depend on the query computed before.
#[derive(Debug, Clone, Copy)]
pub(super) struct Filling {
    place: Placeholder,
    letters: Permutation,
    seed: u64,
    /// 2^64 / the number of different numbers.
    reciprocal: u64,
}

impl Filling {
    /// The filling of the placeholder with this index in its name.
    pub(super) fn new(place: Placeholder, index: usize, seed: u64) -> Filling {
        let seed = random_of(seed, index as u64);
        let bits = LETTER_BITS * u32::from(place.width).min(LETTERS_OF_PERMUTATION as u32);
        let reciprocal = match place.kind {
            Content::Random => 0,
            Content::Number { from, to, .. } => u64::MAX / (to - from + 1),
        };
        Filling { place, letters: Permutation::new(bits, seed), seed, reciprocal }
    }

    /// Writes the text for query `number`. The placeholders of a message are filled in from the last to the first,
    /// because a short number moves what follows it.
    #[inline]
    pub(super) fn fill(&self, number: u64, message: &mut Vec<u8>) {
        match self.place.kind {
            Content::Random => self.fill_random(number, message),
            Content::Number { from, to, padded, random } => {
                let count = to - from + 1;
                let nth = match random {
                    true => scaled(random_of(self.seed, number), count),
                    false => remainder(number, count, self.reciprocal),
                };
                self.fill_number(from + nth, padded, message);
            }
        }
    }

    #[inline]
    fn fill_random(&self, number: u64, message: &mut [u8]) {
        let Some(letters) = message.get_mut(self.place.range()) else { return };
        let (unique, more) = letters.split_at_mut(letters.len().min(LETTERS_OF_PERMUTATION));
        let mut value = self.letters.of(number);
        for letter in unique {
            *letter = LETTERS[(value & LETTER_MASK) as usize];
            value >>= LETTER_BITS;
        }
        for (block, letters) in more.chunks_mut(LETTERS_OF_PERMUTATION).enumerate() {
            let mut value = random_of(self.seed ^ (block as u64 + 1), number);
            for letter in letters {
                *letter = LETTERS[(value & LETTER_MASK) as usize];
                value >>= LETTER_BITS;
            }
        }
    }

    #[inline]
    fn fill_number(&self, mut value: u64, padded: bool, message: &mut Vec<u8>) {
        let range = self.place.range();
        let start = range.start;
        let Some(digits) = message.get_mut(range) else { return };
        let mut first = digits.len();
        while first > 0 {
            first -= 1;
            digits[first] = b'0' + (value % 10) as u8;
            value /= 10;
            if value == 0 && !padded {
                break;
            }
        }
        if first > 0 {
            message.copy_within(start + first.., start);
            message.truncate(message.len() - first);
            if let Some(length) = message.get_mut(usize::from(self.place.label_at)) {
                *length -= first as u8;
            }
        }
    }
}

/// `number` modulo `end`, without a division: `reciprocal` is 2^64 / `end`, so the estimate of the quotient is at most
/// 1 too low.
#[inline]
fn remainder(number: u64, end: u64, reciprocal: u64) -> u64 {
    let quotient = ((u128::from(number) * u128::from(reciprocal)) >> 64) as u64;
    let rest = number - quotient * end;
    if rest >= end { rest - end } else { rest }
}

/// 32 letters and digits that are not mistaken for each other (RFC 4648, 6).
const LETTERS: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";
const LETTER_BITS: u32 = 5;
const LETTER_MASK: u64 = 31;

/// The letters that a permutation of 60 bits gives; they make names unique. Further letters are random.
const LETTERS_OF_PERMUTATION: usize = 12;

/// From this length on, there are 10^12 different texts: a run of eleven days at a million queries per second.
const UNIQUE_WIDTH: u8 = 8;

/// The longest label.
const LONGEST_RANDOM: usize = 63;

/// How much of a malformed placeholder is shown.
const LONGEST_SHOWN: usize = 40;

#[cfg(test)]
mod tests {
    use super::*;
    use dnsdyno_wire::{encode_name, name_to_text};
    use proptest::prelude::*;
    use std::collections::HashSet;

    /// The name of query `number`.
    fn filled(template: &str, number: u64) -> Option<String> {
        let (text, placeholders) = read_template(template.as_bytes(), 0).ok()?;
        let mut wire = Vec::new();
        encode_name(&text, &mut wire).ok()?;
        for (i, place) in placeholders.iter().enumerate().rev() {
            Filling::new(*place, i, 9).fill(number, &mut wire);
        }
        let shown = name_to_text(&wire);
        // It is a whole name again.
        let mut again = Vec::new();
        encode_name(shown.as_bytes(), &mut again).ok()?;
        assert_eq!(again, wire);
        Some(shown)
    }

    #[test]
    fn numbers_are_counted_from_the_first_to_the_last_and_again() {
        let names = |template: &str, numbers: &[u64]| -> Vec<_> {
            numbers.iter().map(|n| filled(template, *n).unwrap()).collect()
        };
        assert_eq!(
            names("h{n:8..11}x.example", &[0, 1, 2, 3, 4]),
            ["h8x.example", "h9x.example", "h10x.example", "h11x.example", "h8x.example"]
        );
        assert_eq!(names("{n:08..11}", &[0, 3]), ["08", "11"]);
        assert_eq!(names("{n:5..5}.a", &[0, u64::MAX]), ["5.a", "5.a"]);
        assert_eq!(names("{n:0..9}-{n:0..99}.{n:00..99}.b", &[7, 12]), ["7-7.07.b", "2-12.12.b"]);
        assert_eq!(filled(r"\{a\.{n:0..9}.\065x", 3).as_deref(), Some(r"\{a\.3.Ax"));
    }

    #[test]
    fn random_labels_differ_in_each_query_and_have_the_same_length() {
        let names: HashSet<_> = (0..50_000).map(|n| filled("{rand:8}.example", n).unwrap()).collect();
        assert_eq!(names.len(), 50_000);
        assert!(names.iter().all(|name| name.len() == 16));
        let long: HashSet<_> = (0..1000).map(|n| filled("{rand:63}", n).unwrap()).collect();
        let tails: HashSet<_> = long.iter().map(|name| name[12..].to_owned()).collect();
        assert_eq!((long.len(), tails.len()), (1000, 1000));
        assert_ne!(
            filled("{rand:4}.{rand:4}", 1).unwrap()[..4],
            filled("{rand:4}.{rand:4}", 1).unwrap()[5..]
        );
        // All texts of one letter appear.
        let letters: HashSet<_> = (0..32).map(|n| filled("{rand:1}", n).unwrap()).collect();
        assert_eq!(letters.len(), 32);
    }

    #[test]
    fn what_is_no_placeholder_is_refused_with_its_text() {
        for bad in [
            "{",
            "{}",
            "{rand}",
            "{rand:0}",
            "{rand:64}",
            "{rand:x}",
            "{n:5..4}",
            "{n:1}",
            "{n:-1..2}",
            "{a:1}",
            "{n:0..99999999999999999999}",
            "{n:+1..2}",
        ] {
            assert!(matches!(read_template(bad.as_bytes(), 0), Err(BadReason::Placeholder(_))), "{bad}");
        }
        assert_eq!(filled("{rand:63}.{rand:63}.{rand:63}.{rand:63}", 0), None);
    }

    proptest! {
        #[test]
        fn the_remainder_is_that_of_a_division(number in any::<u64>(), end in 1u64..) {
            prop_assert_eq!(remainder(number, end, u64::MAX / end), number % end);
        }

        #[test]
        fn a_placeholder_is_written_as_it_was_read(from in 0u64..2000, more in 0u64..100_000, zeros in 0usize..5) {
            let text = format!("a{{n:{from:0zeros$}..{:0zeros$}}}.{{rand:8}}", from + more);
            let (_, read) = read_template(text.as_bytes(), 0).unwrap();
            let (_, again) = read_template(
                format!("a{}.{}", read[0].to_text(), read[1].to_text()).as_bytes(), 0).unwrap();
            prop_assert_eq!(again, read);
        }

        #[test]
        fn any_bytes_are_read_without_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..80)) {
            let _ = read_template(&bytes, 12);
        }
    }
}

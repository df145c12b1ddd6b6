//! The text of a zone file as the parser of `domain` 0.12 reads it: TTLs are numbers of seconds, and LOC, URI and other
//! types that it knows by name only are in the form of RFC 3597.
//!
//! ```text
//!   a 1h LOC 52 N 4 E 0m   ──►   a 3600 TYPE29 \# 16 00121613…
//! ```

mod data;
mod fields;
mod location;
mod parentheses;
mod ttl;
mod words;

use std::borrow::Cow;
use std::ops::Range;

use crate::types::{parse_class, parse_type_bytes};
use fields::{Field, fields_of};
pub use parentheses::has_open_parenthesis;
pub use ttl::ttl_seconds;
use words::{Word, Words};

/// The text of a zone file with each TTL, and the times of SOA records, in seconds, and the data of types that `domain`
/// knows by name only in the form of RFC 3597. Lines stay as they are, and what cannot be read stays as it is. `origin`
/// is that of the file as on the wire; without one, data with a relative name is not rewritten before `$ORIGIN`.
pub fn zone_text<'a>(text: &'a [u8], origin: Option<&[u8]>) -> Cow<'a, [u8]> {
    let mut edits = Edits { text, changed: Vec::new(), copied_to: 0 };
    let mut entry = Entry::default();
    let mut origin = origin.map(<[u8]>::to_vec);
    let mut words = Words::of(text);
    while let Some(word) = words.next() {
        if word.is_first {
            edits.rewrite(&entry, origin.as_deref());
        }
        let octets = &text[word.place.clone()];
        match entry.part(octets, &word) {
            Part::Time if !octets.iter().all(u8::is_ascii_digit) => {
                if let Some(seconds) = ttl_seconds(octets) {
                    edits.replace(&word.place, seconds.to_string().as_bytes());
                }
            }
            Part::Origin => origin = data::name(octets, origin.as_deref()),
            Part::Type => entry.type_at = word.place,
            Part::Data if entry.form.is_some() => entry.data.push(word.place),
            Part::Time | Part::Data | Part::Other => {}
        }
    }
    edits.rewrite(&entry, origin.as_deref());
    edits.finish()
}

/// What a word is in an entry of a zone file.
enum Part {
    /// A TTL, before or behind the class, the value of `$TTL`, or one of the four times at the end of an SOA record.
    Time,
    /// The value of `$ORIGIN`.
    Origin,
    Type,
    Data,
    Other,
}

/// An entry of a zone file, as far as it was read.
#[derive(Default)]
struct Entry {
    directive: Option<Part>,
    /// Whether the type was read.
    has_type: bool,
    /// Words of the data of an SOA record so far.
    soa_words: Option<usize>,
    /// The number of the type and the parts of its data, where the parser does not read it, and where the words are.
    form: Option<(u16, &'static [Field])>,
    type_at: Range<usize>,
    data: Vec<Range<usize>>,
}

impl Entry {
    fn part(&mut self, octets: &[u8], word: &Word) -> Part {
        if word.is_first {
            self.begin(octets, word.is_behind_blank);
            if !word.is_behind_blank {
                return Part::Other;
            }
        }
        if let Some(value) = self.directive.take() {
            return value;
        }
        if let Some(words) = &mut self.soa_words {
            *words += 1;
            return if *words > SOA_WORDS_BEFORE_TIMES { Part::Time } else { Part::Data };
        }
        if self.has_type {
            return Part::Data;
        }
        if ttl_seconds(octets).is_some() {
            return Part::Time;
        }
        if std::str::from_utf8(octets).ok().and_then(parse_class).is_some() {
            return Part::Other;
        }
        self.has_type = true;
        self.soa_words = octets.eq_ignore_ascii_case(b"SOA").then_some(0);
        let rtype = parse_type_bytes(octets);
        self.form = rtype.and_then(|rtype| Some((rtype, fields_of(rtype)?)));
        Part::Type
    }

    /// The first word: the owner, or the name of a directive. Only owners are followed by TTL, class and type.
    fn begin(&mut self, octets: &[u8], is_behind_blank: bool) {
        self.data.clear();
        (self.form, self.soa_words, self.has_type) = (None, None, octets.starts_with(b"$"));
        self.directive = match () {
            () if is_behind_blank => None,
            () if octets.eq_ignore_ascii_case(b"$TTL") => Some(Part::Time),
            () if octets.eq_ignore_ascii_case(b"$ORIGIN") => Some(Part::Origin),
            () => None,
        };
    }
}

/// A text with changes, from its start to its end.
struct Edits<'a> {
    text: &'a [u8],
    changed: Vec<u8>,
    copied_to: usize,
}

impl<'a> Edits<'a> {
    fn replace(&mut self, place: &Range<usize>, by: &[u8]) {
        self.changed.extend_from_slice(&self.text[self.copied_to..place.start]);
        self.changed.extend_from_slice(by);
        self.copied_to = place.end;
    }

    /// Writes the data of an entry in the form of RFC 3597, where the parser needs it in that.
    fn rewrite(&mut self, entry: &Entry, origin: Option<&[u8]>) {
        let (Some((rtype, fields)), Some((first, others))) = (entry.form, entry.data.split_first()) else {
            return;
        };
        let words: Vec<&[u8]> = entry.data.iter().map(|place| &self.text[place.clone()]).collect();
        let Some(data) = data::encode(fields, &words, origin) else { return };
        let octets: String = data.iter().map(|octet| format!("{octet:02x}")).collect();
        self.replace(&entry.type_at, format!("TYPE{rtype}").as_bytes());
        self.replace(first, format!("\\# {} {octets}", data.len()).as_bytes());
        others.iter().for_each(|place| self.replace(place, b""));
    }

    fn finish(mut self) -> Cow<'a, [u8]> {
        if self.copied_to == 0 {
            return Cow::Borrowed(self.text);
        }
        self.changed.extend_from_slice(&self.text[self.copied_to..]);
        Cow::Owned(self.changed)
    }
}

/// The server, the mailbox and the serial number.
const SOA_WORDS_BEFORE_TIMES: usize = 3;

#[cfg(test)]
mod tests;

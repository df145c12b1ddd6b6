//! A list of names, kept in canonical order (RFC 4034 §6.1), so that what is below a name is one range.
//!
//! ```text
//!  www.example.com  ──►  key  com\0example\0www\0      all keys in one block of octets, and where each ends
//! ```
//!
//! With the labels from the right and an octet 0 after each, the order of octets is the canonical order.

use std::path::Path;

use dnsdyno_wire::{encode_name, parse_type};
use domain::base::iana::Rtype;

use crate::WorldError;
use crate::name::{Name, labels};

/// Names, sorted, each once: those of a list, or those that a capture shows.
#[derive(Debug, Default)]
pub(crate) struct NameList {
    octets: Vec<u8>,
    ends: Vec<u32>,
    /// Of each name the types that the list names, as bits by [`LISTED`].
    types: Vec<u16>,
    /// Lines with a type that a world does not make.
    pub(crate) other_types: u64,
}

impl NameList {
    /// Reads a list.
    pub(crate) fn read(path: &Path) -> Result<NameList, WorldError> {
        let cannot = |source| WorldError::Read { path: path.to_owned(), source };
        let text = dnsdyno_text::encoding::read_text(path).map_err(cannot)?;
        let mut unsorted = Unsorted::default();
        for (number, line) in text.lines().enumerate() {
            let refuse = |why| WorldError::Line { path: path.to_owned(), line: number + 1, why };
            unsorted.add(line).map_err(refuse)?;
        }
        if unsorted.entries.is_empty() {
            return Err(WorldError::Option(format!("{} has no name: write one a line", path.display())));
        }
        Ok(unsorted.sorted())
    }

    /// Names without types, from their sorted keys.
    pub(crate) fn of_keys<'a>(keys: impl IntoIterator<Item = &'a [u8]>) -> NameList {
        let mut list = NameList::default();
        keys.into_iter().for_each(|key| list.push(key, 0));
        list
    }

    fn push(&mut self, key: &[u8], types: u16) {
        self.octets.extend_from_slice(key);
        self.ends.push(self.octets.len() as u32);
        self.types.push(types);
    }

    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    /// The number of a name; `None` where it is not there.
    pub(crate) fn find(&self, key: &[u8]) -> Option<usize> {
        let at = self.first_from(key);
        (at < self.len() && self.key(at) == key).then_some(at)
    }

    /// The labels of a name from the right.
    pub(crate) fn labels(&self, number: usize) -> impl Iterator<Item = &[u8]> {
        self.key(number).split(|octet| *octet == 0).filter(|label| !label.is_empty())
    }

    /// The types that the list names for this name; `None` where it does not have it.
    pub(crate) fn types(&self, key: &[u8]) -> Option<impl Iterator<Item = Rtype> + use<>> {
        let types = self.types[self.find(key)?];
        Some(
            LISTED
                .iter()
                .enumerate()
                .filter(move |(bit, _)| types & (1 << bit) != 0)
                .map(|(_, rtype)| *rtype),
        )
    }

    /// Whether it has this name or one below it.
    pub(crate) fn has(&self, key: &[u8]) -> bool {
        let at = self.first_from(key);
        at < self.len() && self.key(at).starts_with(key)
    }

    /// The number of the first name that is `key` or after it; the number of names where there is none.
    pub(crate) fn first_from(&self, key: &[u8]) -> usize {
        let (mut low, mut high) = (0, self.len());
        while low < high {
            let middle = low + (high - low) / 2;
            if self.key(middle) < key {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }

    /// The number of the first name that is not below `key`, at or after it.
    pub(crate) fn first_after(&self, key: &[u8]) -> usize {
        // Keys end with an octet 0, and no label holds one: with an octet 1 instead comes all that is below.
        let mut end = key.to_vec();
        if let Some(last) = end.last_mut() {
            *last = 1;
        }
        self.first_from(&end)
    }

    pub(crate) fn key(&self, number: usize) -> &[u8] {
        let start = number.checked_sub(1).map_or(0, |before| self.ends[before] as usize);
        &self.octets[start..self.ends[number] as usize]
    }
}

/// The key of the name with these labels, from the right.
pub(crate) fn key_of<'a>(labels: impl IntoIterator<Item = &'a [u8]>) -> Vec<u8> {
    labels.into_iter().flat_map(|label| label.iter().chain(&[0])).copied().collect()
}

/// Names in the order of the list.
#[derive(Default)]
struct Unsorted {
    octets: Vec<u8>,
    /// Start and end in `octets`, and types.
    entries: Vec<(u32, u32, u16)>,
    other_types: u64,
}

impl Unsorted {
    /// Adds a line; empty ones and comments have no name.
    fn add(&mut self, line: &str) -> Result<(), String> {
        let line = line.trim();
        if line.is_empty() || line.starts_with(['#', ';']) {
            return Ok(());
        }
        let is_rank = |text: &str| !text.is_empty() && text.bytes().all(|octet| octet.is_ascii_digit());
        let line =
            line.split_once(',').filter(|(rank, _)| is_rank(rank)).map_or(line, |(_, name)| name.trim());
        let mut words = line.split_whitespace();
        let name = words.next().unwrap_or_default();
        let types = match words.next() {
            None => 0,
            Some(word) => {
                let rtype = parse_type(word)
                    .ok_or_else(|| format!("`{word}` is not a type: write A, MX or another"))?;
                let bit = LISTED.iter().position(|known| known.to_int() == rtype);
                self.other_types += u64::from(bit.is_none());
                bit.map_or(0, |bit| 1 << bit)
            }
        };
        if words.next().is_some() {
            return Err("it has more than a name and a type".into());
        }
        let mut wire = Vec::new();
        encode_name(name.as_bytes(), &mut wire).map_err(|error| error.to_string())?;
        let name = Name::from_octets(wire.to_ascii_lowercase().into()).map_err(|error| error.to_string())?;
        let labels = labels(&name);
        if labels.iter().any(|label| label.contains(&0)) {
            return Err("a label has an octet 0, which this cannot keep: take the name out".into());
        }
        if labels.iter().any(|label| is_reserved(label)) {
            return Err("a label is as those of the name servers that are made: take the name out".into());
        }
        if labels.is_empty() {
            return Ok(());
        }
        let start = self.octets.len() as u32;
        self.octets.extend_from_slice(&key_of(labels));
        let end = u32::try_from(self.octets.len()).map_err(|_| "the list is longer than 4 GB".to_owned())?;
        self.entries.push((start, end, types));
        Ok(())
    }

    fn sorted(mut self) -> NameList {
        let octets = &self.octets;
        let key = |entry: &(u32, u32, u16)| &octets[entry.0 as usize..entry.1 as usize];
        self.entries.sort_unstable_by(|a, b| key(a).cmp(key(b)));
        self.entries.dedup_by(|again, first| {
            let is_same = key(again) == key(first);
            first.2 |= if is_same { again.2 } else { 0 };
            is_same
        });
        let mut list = NameList { other_types: self.other_types, ..NameList::default() };
        list.octets.reserve_exact(self.entries.iter().map(|(start, end, _)| (end - start) as usize).sum());
        self.entries.iter().for_each(|entry| list.push(key(entry), entry.2));
        list
    }
}

/// The types that a list can ask for; a name with another type is there, and has no record of it.
const LISTED: [Rtype; 7] =
    [Rtype::A, Rtype::AAAA, Rtype::CNAME, Rtype::MX, Rtype::TXT, Rtype::NAPTR, Rtype::SRV];

/// Whether a label is one of those that the zones of name servers have.
pub(crate) fn is_reserved(label: &[u8]) -> bool {
    let is_number = |text: &[u8]| !text.is_empty() && text.iter().all(u8::is_ascii_digit);
    let hoster = label.strip_prefix(b"dns").and_then(|rest| rest.strip_suffix(b"-hosting"));
    label == b"dns-nic" || label == b"dns-root" || hoster.is_some_and(is_number)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A list of these lines.
    pub(crate) fn list(lines: &[&str]) -> NameList {
        let mut unsorted = Unsorted::default();
        lines.iter().for_each(|line| unsorted.add(line).unwrap());
        unsorted.sorted()
    }

    fn key(name: &str) -> Vec<u8> {
        key_of(name.split('.').rev().map(str::as_bytes))
    }

    #[test]
    fn names_are_found_with_their_types_and_what_is_below_them() {
        let list = list(&[
            "b.example.com",
            "1,Example.com",
            "# none",
            "",
            "B.example.com. MX",
            "b.example.com a",
            "a-b.com TLSA",
            "z.net",
        ]);
        let texts: Vec<String> = (0..list.len())
            .map(|number| list.labels(number).map(String::from_utf8_lossy).collect::<Vec<_>>().join(" "))
            .collect();
        assert_eq!(texts, ["com a-b", "com example", "com example b", "net z"]);
        let types = |name: &str| list.types(&key(name)).map(|types| types.collect::<Vec<_>>());
        assert_eq!(types("b.example.com"), Some(vec![Rtype::A, Rtype::MX]));
        assert_eq!((types("example.com"), types("com"), list.other_types), (Some(vec![]), None, 1));
        assert!(["com", "example.com", "net"].iter().all(|name| list.has(&key(name))));
        assert!(["example", "c.example.com", "a.com"].iter().all(|name| !list.has(&key(name))));
        assert_eq!((list.first_from(&key("example.com")), list.first_after(&key("example.com"))), (1, 3));
        assert_eq!((list.first_from(&key("zz")), list.first_after(&key("com"))), (4, 3));
    }

    #[test]
    fn a_line_that_is_no_name_is_refused_with_the_reason() {
        let cases = [
            ("a..b", "extra dot"),
            ("a.com XYZ", "not a type"),
            ("a.com A more", "more than a name"),
            (r"a\000.com", "octet 0"),
            ("ns1.dns1-hosting.com", "name servers"),
        ];
        for (line, words) in cases {
            let error = Unsorted::default().add(line).unwrap_err();
            assert!(error.contains(words), "{line}: {error}");
        }
    }
}

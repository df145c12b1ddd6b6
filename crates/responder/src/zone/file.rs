//! Reads a zone file into a [`Zone`], with the line in every error.

use std::collections::HashMap;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use dnsdyno_text::encoding::{NotUtf8, after_mark, is_utf16};
use dnsdyno_text::shown;
use dnsdyno_wire::{EntryError, TYPE_SOA, next_entry, zone_text};
use domain::base::iana::Class;
use domain::base::name::Name;
use domain::zonefile::inplace::{Entry, Zonefile};

use super::Zone;
use super::record::{Record, is_under};

/// Of a zone file: the bound of the readers of zones of dnsdyno.
const MOST_BYTES: u64 = 2 << 30;

/// Characters of what the parser says.
const MOST_SHOWN: usize = 200;

/// Why a zone file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ZoneError {
    /// The file cannot be read.
    #[error("cannot read the zone file {path}: {source}")]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system reported.
        source: std::io::Error,
    },
    /// A line is not zone file syntax.
    #[error("{path}:{line}: {message}{advice}")]
    Syntax {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// What is wrong.
        message: String,
        /// What to do, where the fault has one known cure.
        advice: &'static str,
    },
    /// The parser could not cope with an entry.
    #[error(
        "{path}: the entry that follows line {line} cannot be read; look for odd quotes, brackets or escapes"
    )]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The line of the entry before it, from 1.
        line: usize,
    },
    /// A name has an empty label inside.
    #[error("{path}:{line}: a name with an empty label (two dots in a row)")]
    Name {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
    },
    /// `$INCLUDE` is not followed.
    #[error("{path}:{line}: $INCLUDE is not followed; put all records into one file")]
    Include {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
    },
    /// A record lies outside the zone.
    #[error("{path}:{line}: {name} lies outside the zone {apex}; remove it or correct $ORIGIN")]
    OutsideZone {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// The owner of the record.
        name: String,
        /// The name of the zone.
        apex: String,
    },
    /// A second SOA record.
    #[error("{path}:{line}: a second SOA record; a zone has one")]
    SecondSoa {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
    },
    /// No SOA record.
    #[error("{path}: no SOA record; the zone needs one to say that a name does not exist")]
    NoSoa {
        /// The file.
        path: PathBuf,
    },
    /// The origin given beside the file is not a name.
    #[error("the zone's origin '{origin}' is not a domain name")]
    Origin {
        /// What was given.
        origin: String,
    },
}

impl Zone {
    /// Reads a zone file. `origin` completes relative names until the file's first `$ORIGIN`.
    pub fn load(path: &Path, origin: Option<&str>) -> Result<Zone, ZoneError> {
        let unreadable = |source| ZoneError::Read { path: path.into(), source };
        let mut text = Vec::new();
        File::open(path)
            .and_then(|file| file.take(MOST_BYTES + 1).read_to_end(&mut text))
            .map_err(unreadable)?;
        if text.len() as u64 > MOST_BYTES {
            return Err(unreadable(std::io::Error::other("it is larger than 2 GiB")));
        }
        if is_utf16(&text) {
            return Err(unreadable(NotUtf8::Utf16.into()));
        }
        Zone::parse(&text, path, origin)
    }

    /// Reads the text of a zone file; `path` is only for messages.
    pub fn parse(text: &[u8], path: &Path, origin: Option<&str>) -> Result<Zone, ZoneError> {
        let wrong = |origin: &str| ZoneError::Origin { origin: origin.to_owned() };
        let origin =
            origin.map(|origin| Name::bytes_from_str(origin).map_err(|_| wrong(origin))).transpose()?;
        let text = &*zone_text(after_mark(text), origin.as_ref().map(Name::as_slice));
        let mut file = Zonefile::from(text);
        file.extend_from_slice(b"\n");
        file.set_default_class(Class::IN);
        if let Some(origin) = origin {
            file.set_origin(origin);
        }
        let mut records = Vec::new();
        let mut lines = Lines::of(text);
        loop {
            let begin = file.current_offset();
            let entry = next_entry(&mut file).map_err(|error| match error {
                EntryError::Syntax(error) => syntax(path, &error),
                EntryError::Name => {
                    ZoneError::Name { path: path.into(), line: lines.at(file.current_offset()) }
                }
                EntryError::Unreadable => ZoneError::Unreadable { path: path.into(), line: lines.at(begin) },
            })?;
            let Some(entry) = entry else { break };
            let line = lines.at(file.current_offset());
            match entry {
                Entry::Record(record) => records.push(Record::of(&record, line)),
                Entry::Include { .. } => return Err(ZoneError::Include { path: path.into(), line }),
            }
        }
        Zone::build(records, path)
    }

    fn build(records: Vec<Record>, path: &Path) -> Result<Zone, ZoneError> {
        let mut soas = records.iter().filter(|record| record.rtype == TYPE_SOA);
        let soa = soas.next().ok_or_else(|| ZoneError::NoSoa { path: path.into() })?;
        if let Some(second) = soas.next() {
            return Err(ZoneError::SecondSoa { path: path.into(), line: second.line });
        }
        let negative_soa = soa.after_owner(soa.ttl_s.min(soa_minimum(&soa.data)));
        let apex: Box<[u8]> = soa.owner.clone().into();
        let mut zone = Zone { apex, names: HashMap::new(), negative_soa: negative_soa.into() };
        for record in records {
            if !is_under(&record.owner, &zone.apex) {
                return Err(ZoneError::OutsideZone {
                    path: path.into(),
                    line: record.line,
                    name: dnsdyno_wire::name_to_text(&record.owner),
                    apex: dnsdyno_wire::name_to_text(&zone.apex),
                });
            }
            zone.add(&record);
        }
        Ok(zone)
    }
}

/// The last field of SOA data: how long "does not exist" may be kept (RFC 2308).
fn soa_minimum(data: &[u8]) -> u32 {
    data.last_chunk::<4>().map_or(0, |bytes| u32::from_be_bytes(*bytes))
}

/// The parser reports `line:column: what is wrong`, for the place up to which it has read.
fn syntax(path: &Path, error: &domain::zonefile::inplace::Error) -> ZoneError {
    let text = error.to_string();
    let mut parts = text.splitn(3, ':');
    let mut number = || parts.next().and_then(|part| part.parse::<usize>().ok()).unwrap_or(0);
    let (line, column) = (number(), number());
    // It may quote the line, which may hold anything.
    let message = shown(parts.next().unwrap_or(&text).trim(), MOST_SHOWN).into_owned();
    // At the start of a line, it has read past the end of the one that is wrong; but a symbol
    // that it cannot read it does not pass.
    let has_passed = column <= 1 && !message.starts_with("bad symbol");
    let line = if has_passed { line.saturating_sub(1).max(1) } else { line };
    let advice = if message.contains("missing origin") {
        "; put '$ORIGIN zone.name.' on the first line, or give the origin"
    } else {
        ""
    };
    ZoneError::Syntax { path: path.into(), line, message, advice }
}

/// Counts lines from the last position on, so that a zone of a million records is read once.
struct Lines<'a> {
    text: &'a [u8],
    /// How far it has counted, and the line ends up to there.
    counted: usize,
    ends: usize,
}

impl<'a> Lines<'a> {
    fn of(text: &'a [u8]) -> Self {
        Lines { text, counted: 0, ends: 0 }
    }

    /// The line of the last entry, which ended at `offset`; offsets ascend.
    fn at(&mut self, offset: usize) -> usize {
        let offset = offset.clamp(self.counted, self.text.len());
        self.ends += self.text[self.counted..offset].iter().filter(|byte| **byte == b'\n').count();
        self.counted = offset;
        // Behind a line's end it is that line still.
        let is_behind = self.text[..offset].ends_with(b"\n");
        self.ends + 1 - usize::from(is_behind)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn error_of(text: &str) -> String {
        Zone::parse(text.as_bytes(), Path::new("a.zone"), None).unwrap_err().to_string()
    }

    #[test]
    fn lines_are_counted_on_from_the_last() {
        let mut lines = Lines::of(b"a\nb\n\nc");
        let found: Vec<_> = [0, 1, 2, 3, 4, 5, 6, 9].map(|offset| lines.at(offset)).into();
        assert_eq!(found, [1, 1, 1, 2, 2, 3, 4, 4]);
    }

    #[test]
    fn no_octet_of_the_file_reaches_a_terminal_as_a_control_character() {
        let error = error_of("$OR\u{1b}\0GIN example.\n");
        assert!(error.contains("unknown control") && !error.contains(char::is_control), "{error:?}");
    }

    const SOA: &str = "example. 300 IN SOA ns. host. 1 2 3 4 5\n";

    #[test]
    fn names_that_exist_only_for_what_lies_below_are_counted() {
        let text = format!("{SOA}a.b.c.example. 300 IN A 192.0.2.1\n");
        let zone = Zone::parse(text.as_bytes(), Path::new("-"), None).unwrap();
        assert_eq!(zone.name_count(), 4);
    }

    #[test]
    fn relative_names_need_an_origin_and_take_the_one_given() {
        let text = b"@ 300 IN SOA ns host 1 2 3 4 5\nwww 300 IN A 192.0.2.1\n";
        let zone = Zone::parse(text, Path::new("-"), Some("example.org")).unwrap();
        assert_eq!(&*zone.apex, b"\x07example\x03org\x00");
        let error = Zone::parse(text, Path::new("a.zone"), None).unwrap_err().to_string();
        assert!(error.starts_with("a.zone:1:") && error.contains("$ORIGIN"), "{error}");
        let error = Zone::parse(text, Path::new("a.zone"), Some("a..b")).unwrap_err().to_string();
        assert!(error.contains("'a..b'"), "{error}");
    }

    #[test]
    fn every_error_names_its_line() {
        let bad_address = error_of(&format!("{SOA}; a comment\nwww.example. 300 IN A 192.0.2.256\n"));
        assert!(bad_address.starts_with("a.zone:3:"), "{bad_address}");
        for bad_start in [
            "a..example. 300 IN A 192.0.2.1",
            "a.example. IN NS b..example.",
            "$FOO bar",
            "www.example. 300 IN BOGUS x",
            "\\999. A 1.2.3.4",
        ] {
            let error = error_of(&format!("{SOA}{bad_start}\n"));
            assert!(error.starts_with("a.zone:2: "), "{bad_start}: {error}");
        }
        let outside = error_of(&format!("{SOA}\nwww.example.net. 300 IN A 192.0.2.1\n; end\n"));
        assert!(outside.starts_with("a.zone:3: www.example.net lies outside the zone example"), "{outside}");
        let include = error_of(&format!("{SOA}$INCLUDE other.zone\n"));
        assert!(include.starts_with("a.zone:2: $INCLUDE"), "{include}");
        let twice = error_of(&format!("{SOA}{SOA}"));
        assert!(twice.starts_with("a.zone:2: a second SOA"), "{twice}");
        let unended = error_of(&format!("{SOA}www.example. 300 IN A"));
        assert!(unended.starts_with("a.zone:2:"), "{unended}");
    }

    #[test]
    fn a_zone_without_soa_and_a_missing_file_say_so() {
        assert!(error_of("www.example. 300 IN A 192.0.2.1\n").contains("no SOA"));
        assert!(error_of("").contains("no SOA"));
        let error = Zone::load(Path::new("/no/such/file"), None).unwrap_err().to_string();
        assert!(error.contains("/no/such/file") && error.contains("No such file"), "{error}");
    }

    proptest! {
        #[test]
        fn any_text_is_a_zone_or_an_error(
            lines in proptest::collection::vec(
                concat!(
                    "(@|www|\\$TTL|\\$ORIGIN|a\\.\\.b|\\*|\"| )? ?([0-9]{1,3}|IN|CH| )? ",
                    "(A|AAAA|TXT|MX|SOA|NS|CNAME|TYPE9|\\\\#)? [-a-z0-9.\"();\\\\ \t@]{0,20}"
                ),
                0..8,
            ),
            bytes in proptest::collection::vec(any::<u8>(), 0..40),
        ) {
            let text = [SOA.as_bytes(), lines.join("\n").as_bytes(), &bytes].concat();
            if let Ok(zone) = Zone::parse(&text, Path::new("-"), Some("example.")) {
                prop_assert!(zone.name_count() > 0);
            }
        }
    }
}

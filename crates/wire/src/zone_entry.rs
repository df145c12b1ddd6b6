//! The next entry of a zone file. The parser of `domain` 0.12 panics on some texts, such as `TXT "";`, and takes names
//! with an empty label, such as `a..b`: here both are errors, and nothing is printed.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::sync::Once;

use domain::base::iana::Rtype;
use domain::base::name::{Name, ParsedName, ToName};
use domain::base::rdata::{ComposeRecordData, ParseAnyRecordData};
use domain::dep::octseq::Parser;
use domain::rdata::AllRecordData;
use domain::zonefile::inplace::{Entry, Error, ScannedRecord, Zonefile};

/// Why an entry cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum EntryError {
    /// The parser says why.
    #[error("{0}")]
    Syntax(Error),
    /// The parser has failed.
    #[error("it cannot be read")]
    Unreadable,
}

/// Reads the next entry; `None` at the end of the file.
///
/// # Errors
/// The text is not an entry. Nothing more can then be read.
pub fn next_entry(zone: &mut Zonefile) -> Result<Option<Entry>, EntryError> {
    static QUIET: Once = Once::new();
    QUIET.call_once(|| {
        let others = take_hook();
        set_hook(Box::new(move |panic| {
            if !IS_READING.get() {
                others(panic);
            }
        }));
    });
    IS_READING.set(true);
    let entry = catch_unwind(AssertUnwindSafe(|| zone.next_entry()));
    IS_READING.set(false);
    match entry.map_err(|_| EntryError::Unreadable)?.map_err(EntryError::Syntax)? {
        Some(Entry::Record(record)) if !has_whole_names(&record) => Err(EntryError::Unreadable),
        entry => Ok(entry),
    }
}

/// Whether the owner and the names in the data are names: whoever walks the labels of another text may never end.
fn has_whole_names(record: &ScannedRecord) -> bool {
    let owner: Name<Vec<u8>> = record.owner().to_vec();
    let mut data = Vec::new();
    Name::from_slice(owner.as_slice()).is_ok()
        && record.data().compose_rdata(&mut data).is_ok()
        && can_be_parsed(record.rtype(), &data)
}

/// Whether the data of a record is what its type asks for, and nothing after it.
fn can_be_parsed(rtype: Rtype, data: &[u8]) -> bool {
    let mut parser = Parser::from_ref(data);
    AllRecordData::<_, ParsedName<_>>::parse_any_rdata(rtype, &mut parser)
        .is_ok_and(|_| parser.remaining() == 0)
}

thread_local! {
    /// Whether this thread is in the parser, whose panics are not printed.
    static IS_READING: Cell<bool> = const { Cell::new(false) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_on_which_the_parser_panics_gives_an_error() {
        for text in ["a. 0 IN TXT \"\";", "a. 0 IN TXT (\n"] {
            let mut zone = Zonefile::from(text.as_bytes());
            assert!(
                matches!(next_entry(&mut zone), Err(EntryError::Unreadable | EntryError::Syntax(_))),
                "{text}"
            );
        }
    }

    #[test]
    fn a_name_with_an_empty_label_gives_an_error() {
        for text in ["*..y. 5 IN A 192.0.2.1\n", "a. 5 IN NS b..c.\n", "a. 5 IN SOA b. c..d. 1 2 3 4 5\n"] {
            let mut zone = Zonefile::from(text.as_bytes()).allow_invalid();
            assert!(
                matches!(next_entry(&mut zone), Err(EntryError::Unreadable | EntryError::Syntax(_))),
                "{text}"
            );
        }
    }

    #[test]
    fn records_of_known_and_unknown_types_are_read() {
        let lines = [
            "a. 0 IN A 192.0.2.1",
            "a. 0 IN TXT \"\" b",
            "a. 0 IN TYPE65280 \\# 2 0000",
            "a. 0 IN HTTPS 1 . alpn=h2",
            "a. 0 IN NAPTR 1 2 \"a\" \"x-3gpp-sgw:x-s5-gtp\" \"\" b.",
        ];
        let mut zone = Zonefile::from(format!("{}\n", lines.join("\n")).as_bytes());
        for line in lines {
            assert!(matches!(next_entry(&mut zone), Ok(Some(Entry::Record(_)))), "{line}");
        }
        assert!(matches!(next_entry(&mut zone), Ok(None)));
    }
}

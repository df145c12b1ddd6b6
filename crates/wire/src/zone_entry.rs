//! The next entry of a zone file. The parser of `domain` 0.12 panics on some texts, such as `TXT "";`: here that is an
//! error, and nothing is printed.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::sync::Once;

use domain::zonefile::inplace::{Entry, Error, Zonefile};

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
    entry.map_err(|_| EntryError::Unreadable)?.map_err(EntryError::Syntax)
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
        let mut zone = Zonefile::from(b"a. 0 IN A 192.0.2.1\n".as_slice());
        assert!(matches!(next_entry(&mut zone), Ok(Some(Entry::Record(_)))));
        assert!(matches!(next_entry(&mut zone), Ok(None)));
    }
}

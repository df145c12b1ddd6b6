//! Text of a record on its way to a terminal.

use dnsdyno_measure::shown;

/// Text that a server, a user or a record gave, as one line that is safe to print.
pub(crate) fn safe(text: &str) -> String {
    shown(text, LONGEST_SHOWN).into_owned()
}

/// Characters of one text. A reason of some sentences fits; the rest of a longer one is in the record.
const LONGEST_SHOWN: usize = 400;

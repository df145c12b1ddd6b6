//! Text of the user, of a server or of a file.

use dnsdyno_measure::shown;

/// The text as it can be shown on one line.
pub(crate) fn safe(text: &str) -> String {
    shown(text, LONGEST_TEXT).into_owned()
}

/// Characters of a text that is shown: more than a line has.
const LONGEST_TEXT: usize = 300;

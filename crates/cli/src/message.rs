//! Messages on standard error.

use std::io::Write;

use dnsdyno_text::secret::without_credentials;
use dnsdyno_text::shown;

/// Prints a message to standard error, of which files and servers may have given a part, without the credentials of
/// URLs. A failure is ignored: a closed
/// terminal or pipe must not end a run.
pub(crate) fn print_error(message: &str) {
    let mut stderr = std::io::stderr().lock();
    for line in message.split('\n') {
        let _ = writeln!(stderr, "{}", shown(&without_credentials(line), LONGEST_LINE));
    }
}

/// Characters of a line of a message. The longest that we write on purpose are a few hundred.
const LONGEST_LINE: usize = 4_000;

/// Characters of a path, which no system exceeds.
pub(crate) const LONGEST_PATH: usize = 4_096;

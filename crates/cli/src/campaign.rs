//! What the verbs that make many runs have in common: their folder, and the command that resumes them.

use std::path::{Path, PathBuf};

use dnsdyno_page::quoted;
use dnsdyno_record::command_line;
use dnsdyno_text::shown;

/// The folder of a campaign that was given none: `runs/2026-03-09T14-05-00Z-qualify`.
pub(crate) fn folder_of_now(verb: &str) -> PathBuf {
    let stamp = jiff::Timestamp::now().strftime("%Y-%m-%dT%H-%M-%SZ");
    PathBuf::from(format!("runs/{stamp}-{verb}"))
}

/// The command that resumes it: this one, with its folder, which was `given` or not.
pub(crate) fn resume(given: Option<&Path>, folder: &Path) -> String {
    let mut words: Vec<_> = command_line().iter().map(|word| quoted(word)).collect();
    if given.is_none() {
        words.extend(["-o".to_owned(), quoted(&folder.to_string_lossy())]);
    }
    shown(&words.join(" "), LONGEST_COMMAND).into_owned()
}

/// Characters of a command line.
const LONGEST_COMMAND: usize = 3_000;

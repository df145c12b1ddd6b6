//! Why a file is not the result of another program.

use std::io;
use std::path::{Path, PathBuf};

use dnsdyno_text::{safe, shown};

/// Why a file is not the result of another program.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// It cannot be read.
    #[error("cannot read {}: {source}", named(path))]
    Read {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// It is none of the formats.
    #[error(
        "{} is no run of dnsdyno and no result that can be read: give the folder of a run, or what was printed by \
         dnsperf (its text, or -j), by k6 (--summary-export, or the data of handleSummary) or by DNS Shotgun (its \
         JSON)",
        named(path)
    )]
    Unknown {
        /// The file.
        path: PathBuf,
    },
    /// Its format is known, and something is missing or wrong.
    #[error("cannot read {}: {}", named(path), safe(why))]
    Broken {
        /// The file.
        path: PathBuf,
        /// What, and what to do.
        why: String,
    },
    /// It is larger than any result.
    #[error(
        "{} is larger than 256 MiB: give the program's statistics, not what it logs of each query",
        named(path)
    )]
    TooLarge {
        /// The file.
        path: PathBuf,
    },
}

fn named(path: &Path) -> String {
    shown(&path.to_string_lossy(), LONGEST_PATH).into_owned()
}

/// Characters of a path, which no system exceeds.
const LONGEST_PATH: usize = 4_096;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_quoted_of_a_file_does_not_act_on_a_terminal() {
        let error = ImportError::Broken { path: "a".into(), why: "\"\u{1b}[2J\" is followed".to_owned() };
        assert_eq!(error.to_string(), "cannot read a: \"\\u{1b}[2J\" is followed");
    }
}

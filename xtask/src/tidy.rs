//! What must be absent from which file: clocks from the pure crates, `unsafe` from all but one,
//! length from everywhere.

use std::fs;
use std::path::{Path, PathBuf};

/// Crates (and one file) to which time is an argument.
const WITHOUT_A_CLOCK: &[&str] =
    &["crates/wire/", "crates/measure/", "crates/plan/", "crates/report/", "crates/engine/src/inflight.rs"];

/// How one would ask for the time.
const CLOCKS: &[&str] =
    &["Instant::now", "SystemTime::now", "clock_gettime", "clock::monotonic_ns", "clock::wall_ns"];

/// The one crate that may hold `unsafe`.
const UNSAFE_HOME: &str = "crates/sys/";

/// Lines past which a file holds more than one idea. About 300 is the aim.
const LONGEST_FILE: usize = 700;

/// Columns past which a line of code is hard to read beside another.
const LONGEST_LINE: usize = 120;

/// What is out of place in the sources.
pub(crate) fn check() -> anyhow::Result<Vec<String>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut findings = Vec::new();
    for path in rust_files(&root)? {
        let text = fs::read_to_string(&path)?;
        let name = path.strip_prefix(&root)?.to_string_lossy().into_owned();
        findings.extend(judge(&name, &text));
    }
    Ok(findings)
}

fn judge(name: &str, text: &str) -> Vec<String> {
    let mut findings = Vec::new();
    if text.lines().count() > LONGEST_FILE {
        findings.push(format!("{name}: {} lines; split it by idea", text.lines().count()));
    }
    if !text.starts_with("//!") && !text.starts_with("#!") {
        findings.push(format!("{name}: the first line does not say what the file is for"));
    }
    let is_crate_root = name.ends_with("src/lib.rs") || name.ends_with("src/main.rs");
    if is_crate_root && !name.starts_with(UNSAFE_HOME) && !text.contains("#![forbid(unsafe_code)]") {
        findings.push(format!("{name}: does not forbid unsafe code"));
    }
    let timeless = WITHOUT_A_CLOCK.iter().any(|place| name.starts_with(place)) && name.contains("/src/");
    for (number, line) in text.lines().enumerate() {
        let at = format!("{name}:{}", number + 1);
        if timeless && CLOCKS.iter().any(|clock| line.contains(clock)) {
            findings.push(format!("{at}: asks for the time; here it is an argument"));
        }
        // A row of a table in a comment cannot be broken.
        let is_row = line.trim_start().trim_start_matches(['/', '!']).trim_start().starts_with('|');
        if line.chars().count() > LONGEST_LINE && !is_row {
            findings.push(format!("{at}: longer than {LONGEST_LINE} columns"));
        }
    }
    findings
}

fn rust_files(root: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let mut folders = ["crates", "xtask", "benchsuite"].map(|folder| root.join(folder)).to_vec();
    let mut files = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder)? {
            let path = entry?.path();
            if path.is_dir() && !path.ends_with("target") {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                files.push(path);
            }
        }
    }
    files.sort();
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_where_time_is_an_argument_is_found() {
        let text = "//! A file.\nfn f() { let _ = std::time::Instant::now(); }\n";
        assert_eq!(judge("crates/plan/src/a.rs", text).len(), 1);
        assert!(judge("crates/transport/src/a.rs", text).is_empty());
    }

    #[test]
    fn a_file_without_a_first_paragraph_and_a_root_without_the_ban_are_found() {
        assert_eq!(judge("crates/plan/src/a.rs", "fn f() {}\n").len(), 1);
        assert_eq!(judge("crates/plan/src/lib.rs", "//! A crate.\n").len(), 1);
        assert!(judge("crates/sys/src/lib.rs", "//! A crate.\n").is_empty());
    }
}

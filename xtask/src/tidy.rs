//! Checks the rules for source files: crates that must not read the clock, the one crate with `unsafe`, those that
//! choose a runner, the lengths of lines and files, and names of types that say little.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Crates (and one file) that get the time as an argument.
const WITHOUT_A_CLOCK: &[&str] = &[
    "crates/campaign/",
    "crates/clients/",
    "crates/engine/src/inflight.rs",
    "crates/measure/",
    "crates/page/",
    "crates/plan/",
    "crates/queries/",
    "crates/report/",
    "crates/text/",
    "crates/wire/",
    "crates/zones/",
];

/// Calls that read the clock.
const CLOCKS: &[&str] = &[
    "Instant::now",
    "SystemTime::now",
    "Timestamp::now",
    "Zoned::now",
    "clock::monotonic_ns",
    "clock::wall_ns",
    "clock_gettime",
];

/// Crates that know which runner makes a run. Others are given one, so that it may be many machines.
const CHOOSE_A_RUNNER: &[&str] = &["crates/runner/", "crates/cli/"];

/// The only crate that may contain `unsafe`.
const UNSAFE_CRATE: &str = "crates/sys/";

/// Names of private types that a crate has once at the most: a second one needs a name of its own.
const SAY_LITTLE: &[&str] = &["Kind", "Outcome", "State"];

/// Largest number of lines of a file. About 300 is the aim.
const MAX_LINES: usize = 700;

/// Largest number of columns of a line.
const MAX_COLUMNS: usize = 120;

/// All violations in the sources.
pub(crate) fn check(root: &Path) -> anyhow::Result<Vec<String>> {
    let mut findings = Vec::new();
    let mut says_little = BTreeMap::new();
    for path in rust_files(root)? {
        let text = fs::read_to_string(&path)?;
        let name = path.strip_prefix(root)?.to_string_lossy().into_owned();
        findings.extend(judge(&name, &text));
        findings.extend(again(&name, &text, &mut says_little));
    }
    Ok(findings)
}

/// Private types that have the name of another one of their crate; `seen` = the file of each, by crate and name.
fn again(file: &str, text: &str, seen: &mut BTreeMap<(String, &'static str), String>) -> Vec<String> {
    let Some((room, _)) = file.split_once("/src/").filter(|_| !file.contains("tests")) else {
        return Vec::new();
    };
    let mut findings = Vec::new();
    for line in text.lines() {
        let item = match line.strip_prefix("pub(") {
            Some(rest) => rest.split_once(") ").map_or("", |(_, item)| item),
            None => line,
        };
        let name = item.strip_prefix("enum ").or_else(|| item.strip_prefix("struct ")).unwrap_or_default();
        let name = name.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
        let Some(name) = SAY_LITTLE.iter().find(|known| **known == name) else { continue };
        if let Some(other) = seen.insert((room.to_owned(), name), file.to_owned()) {
            findings.push(format!("{file}: `{name}` is a type of {other} too; name it after what it is"));
        }
    }
    findings
}

fn judge(name: &str, text: &str) -> Vec<String> {
    let mut findings = Vec::new();
    if text.lines().count() > MAX_LINES {
        findings.push(format!("{name}: {} lines; split it by topic", text.lines().count()));
    }
    if !text.starts_with("//!") && !text.starts_with("#!") {
        findings.push(format!("{name}: the first line does not say what the file is for"));
    }
    let is_crate_root = name.ends_with("src/lib.rs") || name.ends_with("src/main.rs");
    if is_crate_root && !name.starts_with(UNSAFE_CRATE) && !text.contains("#![forbid(unsafe_code)]") {
        findings.push(format!("{name}: does not forbid unsafe code"));
    }
    let timeless = WITHOUT_A_CLOCK.iter().any(|place| name.starts_with(place)) && name.contains("/src/");
    let is_test = name.ends_with("tests.rs") || name.contains("/tests/");
    let is_given_a_runner = name.starts_with("crates/")
        && !is_test
        && !CHOOSE_A_RUNNER.iter().any(|place| name.starts_with(place));
    for (number, line) in text.lines().enumerate() {
        let at = format!("{name}:{}", number + 1);
        if timeless && CLOCKS.iter().any(|clock| line.contains(clock)) {
            findings.push(format!("{at}: reads the clock; here the time is an argument"));
        }
        if is_given_a_runner && line.contains("LocalRunner") {
            findings.push(format!("{at}: chooses a runner; here it is an argument"));
        }
        // A row of a table in a comment cannot be broken.
        let is_row = line.trim_start().trim_start_matches(['/', '!']).trim_start().starts_with('|');
        if line.chars().count() > MAX_COLUMNS && !is_row {
            findings.push(format!("{at}: longer than {MAX_COLUMNS} columns"));
        }
    }
    findings
}

/// All files of Rust.
pub(crate) fn rust_files(root: &Path) -> anyhow::Result<Vec<PathBuf>> {
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
    fn a_clock_in_a_crate_without_a_clock_is_found() {
        for clock in CLOCKS {
            let text = format!("//! A file.\nfn f() {{ let _ = {clock}(); }}\n");
            for place in WITHOUT_A_CLOCK.iter().filter(|place| place.ends_with('/')) {
                assert_eq!(judge(&format!("{place}src/a.rs"), &text).len(), 1);
            }
            assert!(judge("crates/transport/src/a.rs", &text).is_empty());
        }
    }

    #[test]
    fn a_runner_that_is_chosen_by_another_crate_than_cli_is_found() {
        let text = "//! A file.\nuse dnsdyno_runner::LocalRunner;\n";
        assert_eq!(judge("crates/executor/src/make.rs", text).len(), 1);
        for name in ["crates/cli/src/cmd/run.rs", "crates/executor/src/experiment/tests.rs"] {
            assert_eq!(judge(name, text), [""; 0], "{name}");
        }
    }

    #[test]
    fn a_second_type_of_a_name_that_says_little_is_found_within_its_crate() {
        let mut seen = BTreeMap::new();
        let mut of = |file: &str, text: &str| again(file, text, &mut seen).len();
        assert_eq!(of("crates/plan/src/a.rs", "pub(crate) enum Kind {\n"), 0);
        assert_eq!(of("crates/plan/src/b.rs", "struct Kind;\npub enum State {}\nenum Kinds {}\n"), 1);
        assert_eq!(of("crates/wire/src/b.rs", "enum Kind {\n"), 0);
        assert_eq!(of("crates/plan/src/c/tests.rs", "enum Kind {\n"), 0);
    }

    #[test]
    fn a_file_without_a_first_paragraph_and_a_root_that_allows_unsafe_are_found() {
        assert_eq!(judge("crates/plan/src/a.rs", "fn f() {}\n").len(), 1);
        assert_eq!(judge("crates/plan/src/lib.rs", "//! A crate.\n").len(), 1);
        assert!(judge("crates/sys/src/lib.rs", "//! A crate.\n").is_empty());
    }
}

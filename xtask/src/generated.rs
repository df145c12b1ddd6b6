//! Files that are generated from the sources and kept in the repository.

use std::fs;
use std::path::Path;

/// Writes the files that are out of date, or with `--check` reports them; `command` is that of `xtask` that makes them.
pub(crate) fn keep(root: &Path, command: &str, made: &[(&str, String)]) -> anyhow::Result<Vec<String>> {
    let is_check = std::env::args().nth(2).as_deref() == Some("--check");
    let mut findings = Vec::new();
    for (name, text) in made {
        let path = root.join(name);
        let is_current = fs::read_to_string(&path).is_ok_and(|there| there == *text);
        if is_check && !is_current {
            findings.push(format!("{name} is out of date: run scripts/xtask {command}"));
        } else if !is_current {
            fs::write(&path, text)?;
        }
    }
    Ok(findings)
}

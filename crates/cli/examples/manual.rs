//! Writes the man pages and completions, `docs/man` and `docs/completions`, from the table of options; with `--check`
//! it fails if they are not up to date. An example, because the program itself needs no code for it.
#![forbid(unsafe_code)]

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use clap_complete::Shell;

fn main() -> anyhow::Result<()> {
    let is_check = std::env::args().nth(1).as_deref() == Some("--check");
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    for (name, text) in pages()?.into_iter().chain(completions()) {
        let path = docs.join(&name);
        if fs::read(&path).is_ok_and(|there| there == text) {
            continue;
        }
        anyhow::ensure!(!is_check, "docs/{name} is out of date: make manual");
        fs::create_dir_all(path.parent().unwrap_or(&docs))?;
        fs::write(&path, text)?;
    }
    Ok(())
}

/// A page for the program, and one for each verb.
fn pages() -> anyhow::Result<BTreeMap<String, Vec<u8>>> {
    let folder = tempfile::tempdir()?;
    clap_mangen::generate_to(dnsdyno_cli::command(), folder.path())?;
    let mut pages = BTreeMap::new();
    for entry in fs::read_dir(folder.path())? {
        let entry = entry?;
        pages.insert(format!("man/{}", entry.file_name().to_string_lossy()), fs::read(entry.path())?);
    }
    Ok(pages)
}

/// Named as the shells look for them.
fn completions() -> impl Iterator<Item = (String, Vec<u8>)> {
    let shells = [(Shell::Bash, "dnsdyno"), (Shell::Zsh, "_dnsdyno"), (Shell::Fish, "dnsdyno.fish")];
    shells.into_iter().map(|(shell, name)| {
        let mut script = Vec::new();
        clap_complete::generate(shell, &mut dnsdyno_cli::command(), "dnsdyno", &mut script);
        (format!("completions/{name}"), script)
    })
}

//! Writes the man pages, the chapter of the commands and the completions, `docs/man`, `docs/commands` and
//! `docs/completions`, from the table of options; with `--check` it fails if they are not up to date. An example,
//! because the program itself needs no code for it.
#![forbid(unsafe_code)]

mod commands;
mod synopsis;

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

/// A page for the program, and one for each verb: of the manual, and of the book.
fn pages() -> anyhow::Result<BTreeMap<String, Vec<u8>>> {
    let folder = tempfile::tempdir()?;
    let mut command = dnsdyno_cli::command();
    clap_mangen::generate_to(command.clone(), folder.path())?;
    // So that each option knows how many values it takes.
    command.build();
    let mut pages = BTreeMap::new();
    for entry in fs::read_dir(folder.path())? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let page = synopsis::replaced(&command, &name, &fs::read_to_string(entry.path())?);
        pages.insert(format!("man/{name}"), page.into_bytes());
    }
    pages.extend(commands::pages(&command).into_iter().map(|(name, page)| (name, page.into_bytes())));
    Ok(pages)
}

/// Named as the shells look for them.
fn completions() -> impl Iterator<Item = (String, Vec<u8>)> {
    let shells = [(Shell::Bash, "dnsdyno"), (Shell::Zsh, "_dnsdyno"), (Shell::Fish, "dnsdyno.fish")];
    shells.into_iter().map(|(shell, name)| {
        // The description of zsh has no place for words that go on, such as `epc:`.
        let mut command = dnsdyno_cli::command_to_complete(shell != Shell::Zsh);
        let mut script = Vec::new();
        clap_complete::generate(shell, &mut command, "dnsdyno", &mut script);
        let script = match shell {
            Shell::Bash => without_space_after_a_beginning(&String::from_utf8_lossy(&script)).into_bytes(),
            _ => script,
        };
        (format!("completions/{name}"), script)
    })
}

/// A word that goes on, such as `dot=`, is not followed by a space.
fn without_space_after_a_beginning(script: &str) -> String {
    let (function, complete) = ("complete -F _dnsdyno ", "complete -F _dnsdyno_word ");
    let word = "_dnsdyno_word() {\n    _dnsdyno \"$@\"\n    case \"${COMPREPLY[*]-}\" in\n        *[=:/]) \
                compopt -o nospace ;;\n    esac\n}\n\n";
    let at = script.rfind("if [[ \"${BASH_VERSINFO[0]}\"").unwrap_or(script.len());
    let (before, after) = script.split_at(at);
    format!("{before}{word}{}", after.replace(function, complete))
}

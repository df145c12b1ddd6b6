//! The project's own checks: rules of ARCHITECTURE.md that the compiler does not check.
//!
//! `scripts/xtask layers` checks the dependencies between crates;
//! `scripts/xtask circles` finds circular imports between the files of a crate;
//! `scripts/xtask tidy` checks the rules for source files, and the sizes of files and functions;
//! `scripts/xtask schema` writes the schema of the record, `--check` only checks that it is up to date;
//! `scripts/xtask book` checks the links of the documents, and that each is a chapter of the book;
//! `scripts/xtask page-types` writes the types of the page's data in TypeScript, with `--check` likewise.
#![forbid(unsafe_code)]

mod book;
mod circles;
mod for_tests;
mod generated;
mod layers;
mod page_types;
mod schema;
mod sizes;
mod tidy;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

fn main() -> anyhow::Result<ExitCode> {
    let findings = match std::env::args().nth(1).as_deref() {
        Some("layers") => layers::check()?,
        Some("circles") => circles::check(&std::env::args().nth(2).map_or_else(root, PathBuf::from))?,
        Some("tidy") => [tidy::check(&root())?, sizes::check(&root())?].concat(),
        Some("book") => book::run(&root(), &std::env::args().skip(2).collect::<Vec<_>>())?,
        Some("schema") => schema::run(&root())?,
        Some("page-types") => page_types::run(&root())?,
        _ => anyhow::bail!(
            "usage: scripts/xtask layers | circles [FOLDER] | tidy | book [--sources FOLDER | --built FOLDER] \
             | schema [--check] | page-types [--check]"
        ),
    };
    findings.iter().for_each(|finding| eprintln!("{finding}"));
    Ok(if findings.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The folder of the workspace.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

//! The project's own checks: what ARCHITECTURE.md promises and the compiler does not hold.
//!
//! `cargo run -p xtask -- layers` checks that every arrow between crates points down;
//! `cargo run -p xtask -- circles` that no files of one crate use each other;
//! `cargo run -p xtask -- tidy` checks what must be absent from which file;
//! `cargo run -p xtask -- schema` writes the schema of the record, `--check` says whether it is fresh.
#![forbid(unsafe_code)]

mod circles;
mod layers;
mod schema;
mod tidy;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

fn main() -> anyhow::Result<ExitCode> {
    let findings = match std::env::args().nth(1).as_deref() {
        Some("layers") => layers::check()?,
        Some("circles") => circles::check(&std::env::args().nth(2).map_or_else(root, PathBuf::from))?,
        Some("tidy") => tidy::check()?,
        Some("schema") => schema::run()?,
        _ => {
            anyhow::bail!("usage: cargo run -p xtask -- layers | circles [FOLDER] | tidy | schema [--check]")
        }
    };
    findings.iter().for_each(|finding| eprintln!("{finding}"));
    Ok(if findings.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The folder of the workspace.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

//! `dnsdyno man` and `dnsdyno completions`: from the same definitions as the help.

use std::fs;
use std::io::Write;
use std::path::Path;

use anyhow::Context;
use clap::CommandFactory;
use clap_complete::Shell;

use crate::args::Cli;
use crate::exit::{Failure, OK, Outcome};

/// Writes a man page for the program and one for each verb into `folder`.
pub(crate) fn man(folder: &Path) -> Outcome {
    let write = || -> anyhow::Result<()> {
        fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
        clap_mangen::generate_to(Cli::command(), folder)
            .with_context(|| format!("cannot write man pages to {}", folder.display()))?;
        Ok(())
    };
    write().map(|()| OK).map_err(Failure::run_failed)
}

/// Prints the completions for a shell.
pub(crate) fn completions(shell: Shell) -> Outcome {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "dnsdyno", &mut script);
    std::io::stdout().write_all(&script).map(|()| OK).map_err(Failure::run_failed)
}

//! dnsdyno: a dynamometer for DNS servers. Dispatches to its subcommands.
#![forbid(unsafe_code)]

mod args;
mod cmd;
mod exit;
mod screen;
mod signals;
mod summary;

use std::process::ExitCode;

use clap::Parser;

use crate::args::{Cli, Command};

fn main() -> ExitCode {
    exit::code_of(match Cli::parse().command {
        Command::Run(flags) => cmd::run::run(*flags),
        Command::Show(flags) => cmd::show::show(&flags),
        Command::Respond(flags) => cmd::respond::respond(*flags),
        Command::Demo(flags) => cmd::demo::demo(&flags),
        Command::Man { folder } => cmd::manual::man(&folder),
        Command::Completions { shell } => cmd::manual::completions(shell),
    })
}

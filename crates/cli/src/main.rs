//! dnsdyno: a dynamometer for DNS servers. Dispatches to its subcommands.
#![forbid(unsafe_code)]

mod args;
mod cmd;
mod exit;
mod habits;
mod message;
mod metrics;
mod screen;
mod signals;
mod summary;

use std::process::ExitCode;

use clap::Parser;

use crate::args::{Cli, Command};

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect();
    let command = match Cli::try_parse() {
        Ok(cli) => cli.command,
        Err(error) => return exit::refuse(&error, &words),
    };
    exit::code_of(match command {
        Command::Run(flags) => cmd::run::run(*flags),
        Command::Show(flags) => cmd::show::show(&flags),
        Command::Report(flags) => cmd::report::report(&flags),
        Command::Compare(flags) => cmd::compare::compare(&flags),
        Command::Export(flags) => cmd::export::export(&flags),
        Command::Serve(flags) => cmd::serve::serve(&flags),
        Command::Respond(flags) => cmd::respond::respond(*flags),
        Command::Demo(flags) => cmd::demo::demo(&flags),
        Command::Man { folder } => cmd::manual::man(&folder),
        Command::Completions { shell } => cmd::manual::completions(shell),
    })
}

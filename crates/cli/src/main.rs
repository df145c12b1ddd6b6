//! dnsdyno: a dynamometer for DNS servers. This is the table of its verbs.
#![forbid(unsafe_code)]

mod args;
mod cmd;
mod exit;
mod screen;
mod signals;
mod summary;

use std::process::ExitCode;

use clap::Parser;

use crate::args::{Cli, Verb};

fn main() -> ExitCode {
    exit::code_of(match Cli::parse().verb {
        Verb::Run(flags) => cmd::run::run(*flags),
        Verb::Show(flags) => cmd::show::show(&flags),
        Verb::Respond(flags) => cmd::respond::respond(*flags),
        Verb::Demo(flags) => cmd::demo::demo(&flags),
        Verb::Man { folder } => cmd::manual::man(&folder),
        Verb::Completions { shell } => cmd::manual::completions(shell),
    })
}

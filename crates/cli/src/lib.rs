//! The program dnsdyno. Dispatches to its subcommands.
#![forbid(unsafe_code)]

mod address;
mod args;
mod campaign;
mod cmd;
mod completion;
mod exit;
mod habits;
mod help;
mod judged;
mod message;
mod metrics;
mod programs;
mod rights;
mod screen;
mod signals;
mod summary;
mod workers;

use std::process::ExitCode;

use clap::CommandFactory;
use dnsdyno_sys::process::stop_ignoring;
use signal_hook::consts::SIGINT;

use crate::args::{Cli, Command};

/// Runs the command line of this process.
pub fn main() -> ExitCode {
    // Shells start every background job of a script so.
    stop_ignoring(SIGINT);
    if let Some(code) = programs::run_if_called() {
        return code;
    }
    let words: Vec<String> = std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect();
    if cmd::version::is_asked_as_json(&words) {
        return exit::code_of(cmd::version::print_json());
    }
    let command = match help::parse() {
        Ok(cli) => cli.command,
        Err(error) => return exit::refuse(&error, &words),
    };
    exit::code_of(match command {
        Command::Run(flags) => cmd::run::run(*flags),
        Command::Show(flags) => cmd::show::show(&flags),
        Command::Diagnose(flags) => cmd::diagnose::diagnose(&flags),
        Command::Report(flags) => cmd::report::report(&flags),
        Command::Qualify(flags) => cmd::qualify::qualify(*flags),
        Command::Compare(flags) => cmd::compare::compare(&flags),
        Command::History(flags) => cmd::history::history(&flags),
        Command::Find(flags) => cmd::find::find(*flags),
        Command::Experiment(flags) => cmd::experiment::experiment(&flags),
        Command::Tune(flags) => cmd::tune::tune(&flags),
        Command::Export(flags) => cmd::export::export(&flags),
        Command::Capture(flags) => cmd::capture::capture(&flags),
        Command::Data(flags) => cmd::data::data(&flags),
        Command::Epc(flags) => cmd::epc::epc(&flags),
        Command::Serve(flags) => cmd::serve::serve(&flags),
        Command::Respond(flags) => cmd::respond::respond(*flags),
        Command::Relay(flags) => cmd::relay::relay(&flags),
        Command::World(flags) => cmd::world::world(&flags),
        Command::Doctor(flags) => cmd::doctor::doctor(&flags),
        Command::Watch(flags) => cmd::watch::watch(flags),
        Command::Merge(flags) => cmd::merge::merge(&flags),
        Command::Note(flags) => cmd::note::note(&flags),
        Command::Demo(flags) => cmd::demo::demo(&flags),
        Command::Agent(flags) => cmd::agent::agent(&flags),
        Command::Agents(flags) => cmd::agent::agents(&flags),
        Command::Verify(flags) => cmd::verify::verify(&flags),
        Command::InstallLinks(flags) => cmd::links::install(&flags),
    })
}

pub use completion::command_to_complete;

/// All verbs and options, for manuals.
pub fn command() -> clap::Command {
    Cli::command()
}

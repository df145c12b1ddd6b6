//! Which options `dnsdyno run -h` and `dnsdyno find -h` show: those of most runs. `--help` shows all, and so does the
//! man page.

use clap::{CommandFactory, FromArgMatches};

use crate::args::Cli;

/// Reads the command line of this process.
///
/// # Errors
/// The error of `clap`, which is also how help is asked for.
pub(crate) fn parse() -> Result<Cli, clap::Error> {
    let mut command = command();
    let mut matches = command.try_get_matches_from_mut(std::env::args_os())?;
    Cli::from_arg_matches_mut(&mut matches).map_err(|error| error.format(&mut command))
}

fn command() -> clap::Command {
    Cli::command()
        .mut_subcommand("run", |run| {
            run.mut_args(|option| {
                let is_common = option.get_long().is_some_and(|long| COMMON.contains(&long));
                option.hide_short_help(!is_common)
            })
        })
        .mut_subcommand("find", |find| {
            find.mut_args(|option| {
                let is_own = option.get_help_heading() == Some(crate::cmd::find::SEARCH);
                let is_common = option.get_long().is_some_and(|long| COMMON.contains(&long));
                option.hide_short_help(!is_own && !is_common)
            })
        })
}

/// The options of most runs, by heading.
const COMMON: &[&str] = &[
    "help",
    // The server.
    "server",
    "port",
    "i-may-load-this-server",
    // Queries and messages.
    "queries",
    "ask",
    "replay",
    "edns-size",
    "dnssec-ok",
    // The load.
    "outstanding",
    "rate",
    "ramp",
    "over",
    "stair",
    "step",
    "hold",
    "for",
    "count",
    "passes",
    "timeout",
    "plan",
    // Transport and encryption.
    "transport",
    "mix",
    "insecure",
    "ca",
    // The generator.
    "workers",
    "clients",
    "local-address",
    "backend",
    // Pass or fail.
    "expect",
    "stop-when",
    // Output.
    "name",
    "out",
    "quiet",
    "json",
];

#[cfg(test)]
mod tests {
    use super::*;

    fn help(is_long: bool) -> String {
        let mut command = command();
        let run = command.find_subcommand_mut("run").expect("a subcommand");
        let help = if is_long { run.render_long_help() } else { run.render_help() };
        help.to_string()
    }

    #[test]
    fn the_short_help_has_the_options_of_most_runs_and_the_long_help_has_all() {
        let (short, long) = (help(false), help(true));
        for option in Cli::command().find_subcommand("run").expect("a subcommand").get_arguments() {
            let Some(name) = option.get_long() else { continue };
            // The lines of descriptions begin further to the right.
            let is_option = |line: &&str| line.len() - line.trim_start().len() <= 6;
            let of_line = |line: &str| {
                line.split([' ', ',']).find(|word| word.starts_with("--")) == Some(&*format!("--{name}"))
            };
            let is_in = |text: &str| text.lines().filter(is_option).any(of_line);
            assert!(is_in(&long), "--{name}");
            assert_eq!(is_in(&short), COMMON.contains(&name), "--{name}");
        }
        assert!(short.contains("see more with '--help'"), "{short}");
    }
}

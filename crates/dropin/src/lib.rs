//! The command lines of dnsperf, resperf, resperf-report and queryperf, with their texts and exit codes.
//!
//! ```text
//! words ── getopt ──► options ──► values ──► a program's settings ──► Draft ── runner ──► record
//!                                                   │                             │
//!                                    status lines ◄─┘       statistics, in the original's form
//! ```
//!
//! Each program is a folder of its own; what several have in common is a file here. What differs from the originals,
//! and why, is in `docs/differences.md`.
#![forbid(unsafe_code)]

mod common;
mod console;
mod dnsperf;
mod exit;
mod figures;
mod getopt;
mod hg64;
mod make;
mod options;
mod printer;
mod queryperf;
mod resperf;
mod resperf_report;
mod server;
mod signing;
mod source_lines;
mod suppress;
mod texts;
mod uri;
mod values;

use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;

use dnsdyno_runner::{Control, Runner};

use crate::console::Console;

/// A program whose command line is understood.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Program {
    /// dnsperf of DNS-OARC, version 2.16.
    Dnsperf,
    /// resperf of DNS-OARC, version 2.16.
    Resperf,
    /// The script resperf-report, which comes with resperf.
    ResperfReport,
    /// queryperf of BIND 9.
    Queryperf,
}

/// Each program, and what it is, for the help.
pub const PROGRAMS: [(Program, &str); 4] = [
    (Program::Dnsperf, "Accept the command line of dnsperf 2.16, and print what it prints"),
    (Program::Resperf, "The same for resperf 2.16"),
    (Program::ResperfReport, "The same for resperf-report; needs no gnuplot"),
    (Program::Queryperf, "The same for queryperf of BIND 9"),
];

impl Program {
    /// Its name, as typed.
    pub const fn name(self) -> &'static str {
        match self {
            Program::Dnsperf => "dnsperf",
            Program::Resperf => "resperf",
            Program::ResperfReport => "resperf-report",
            Program::Queryperf => "queryperf",
        }
    }

    /// The program that is meant by a command line, and its own words: `dnsdyno dnsperf …`, or any path that ends with
    /// its name, such as that of a symbolic link. `None` = dnsdyno itself is meant.
    pub fn called(words: &[OsString]) -> Option<(Program, &[OsString])> {
        let named = |word: &OsString| {
            let name = Path::new(word).file_name()?;
            PROGRAMS.into_iter().map(|(program, _)| program).find(|program| name == program.name())
        };
        let (first, rest) = words.split_first()?;
        if let Some(program) = named(first) {
            return Some((program, words));
        }
        let is_verb = rest.first().is_some_and(|verb| PROGRAMS.iter().any(|(own, _)| *verb == *own.name()));
        if is_verb { rest.first().and_then(named).map(|program| (program, rest)) } else { None }
    }
}

/// Runs a program with its words, the first of which is its name, and returns its exit code. `runner` makes its run,
/// and `control` stops it.
pub fn run(program: Program, words: &[OsString], runner: &mut dyn Runner, control: &Arc<Control>) -> u8 {
    let words: Vec<String> = words.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let console = Arc::new(Console::standard());
    let code = match program {
        Program::Dnsperf => dnsperf::run(&words, runner, control, &console),
        Program::Resperf => resperf::run(&words, runner, control, &console),
        Program::ResperfReport => resperf_report::run(&words, runner, control, &console),
        Program::Queryperf => queryperf::run(&words, runner, control, &console),
    };
    console.flush();
    code
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_called_by_the_name_of_a_link_or_as_a_verb() {
        let called = |words: &[&str]| {
            let words: Vec<OsString> = words.iter().map(OsString::from).collect();
            Program::called(&words).map(|(program, own)| (program, own.len()))
        };
        assert_eq!(called(&["/usr/local/bin/dnsperf", "-h"]), Some((Program::Dnsperf, 2)));
        assert_eq!(called(&["resperf-report"]), Some((Program::ResperfReport, 1)));
        assert_eq!(called(&["dnsdyno", "resperf", "-s", "::1"]), Some((Program::Resperf, 3)));
        assert_eq!(called(&["dnsdyno", "queryperf"]), Some((Program::Queryperf, 1)));
        for words in [&["dnsdyno", "run", "dnsperf"][..], &["dnsdyno"], &["dnsdyno", "./dnsperf"], &[]] {
            assert_eq!(called(words), None, "{words:?}");
        }
    }
}

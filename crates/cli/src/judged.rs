//! What the verbs that judge runs have in common: the forms of their output, and the exit code of their bounds.

use std::io::Write;

use clap::Args;
use serde_json::Value;

use crate::exit::{BAD_INPUT, EXPECTATION_FAILED, OK};
use crate::screen::width_of_terminal;

/// The options that choose the form of an output.
#[derive(Debug, Args)]
pub(crate) struct FormFlags {
    /// Print one JSON object
    #[arg(long, conflicts_with = "markdown")]
    json: bool,
    /// Print Markdown, for a pull request
    #[arg(long)]
    markdown: bool,
}

impl FormFlags {
    /// Prints the form that is chosen; a text has the width that it is given.
    pub(crate) fn print(
        &self,
        text: impl FnOnce(usize) -> String,
        markdown: impl FnOnce() -> String,
        json: impl FnOnce() -> Value,
    ) -> std::io::Result<()> {
        let mut out = std::io::stdout().lock();
        match (self.json, self.markdown) {
            (true, _) => writeln!(out, "{:#}", json()),
            (false, true) => write!(out, "{}", markdown()),
            (false, false) => write!(out, "{}", text(width_of_terminal())),
        }
    }
}

/// The exit code of bounds. One that is not judged does not pass: otherwise runs that show nothing would pass any test.
pub(crate) fn code_of_bounds(one_is_exceeded: bool, all_are_kept: bool) -> u8 {
    match (one_is_exceeded, all_are_kept) {
        (true, _) => EXPECTATION_FAILED,
        (false, true) => OK,
        (false, false) => BAD_INPUT,
    }
}

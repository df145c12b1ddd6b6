//! What the verbs that judge runs have in common: the forms of their output, and the exit code of their bounds.

use std::io::Write;

use serde_json::Value;

use crate::exit::{BAD_INPUT, EXPECTATION_FAILED, OK};
use crate::screen::width_of_terminal;

/// The form of an output.
#[derive(Clone, Copy)]
pub(crate) enum Form {
    Text,
    Markdown,
    Json,
}

impl Form {
    /// That of the options `--json` and `--markdown`, which exclude each other.
    pub(crate) fn of(json: bool, markdown: bool) -> Form {
        match (json, markdown) {
            (true, _) => Form::Json,
            (false, true) => Form::Markdown,
            (false, false) => Form::Text,
        }
    }

    /// Prints one of the forms; a text has the width that it is given.
    pub(crate) fn print(
        self,
        text: impl FnOnce(usize) -> String,
        markdown: impl FnOnce() -> String,
        json: impl FnOnce() -> Value,
    ) -> std::io::Result<()> {
        let mut out = std::io::stdout().lock();
        match self {
            Form::Text => write!(out, "{}", text(width_of_terminal())),
            Form::Markdown => write!(out, "{}", markdown()),
            Form::Json => writeln!(out, "{:#}", json()),
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

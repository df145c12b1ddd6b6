//! What the languages of configurations have in common when they are edited.

use std::ops::Range;

use thiserror::Error;

/// How statements are found in a language, and added.
pub(super) trait Grammar: Sync {
    /// The places of the values of a parameter. Where there are several, the last one holds.
    fn find(&self, text: &str, name: &str) -> Result<Vec<Range<usize>>, EditError>;

    /// Where a statement that is not there yet is added, and its text.
    fn add(&self, text: &str, name: &str, value: &str) -> Result<Insertion, EditError>;

    /// Whether a change of the statement would be a change of the server.
    fn check(&self, _text: &str, _name: &str) -> Result<(), EditError> {
        Ok(())
    }
}

/// A text to insert.
pub(super) struct Insertion {
    /// Before which byte.
    pub(super) at: usize,
    pub(super) text: String,
}

impl Insertion {
    /// These lines after all others.
    pub(super) fn at_end(text: &str, lines: &str) -> Insertion {
        let separator = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
        Insertion { at: text.len(), text: format!("{separator}{lines}") }
    }

    /// A line of its own after the line in which this byte is.
    pub(super) fn after_line(text: &str, byte: usize, line: &str) -> Insertion {
        let end = end_of_line(text, byte);
        let end = if text.get(..end).is_some_and(|before| before.ends_with('\r')) { end - 1 } else { end };
        Insertion { at: end, text: format!("\n{line}") }
    }
}

/// Why a configuration is not edited.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum EditError {
    /// The parameter is an option of the command line.
    #[error("{option} is an option of the command line of {server}: change how the server is started")]
    Argument {
        /// The option.
        option: String,
        /// The word of the server.
        server: &'static str,
    },
    /// The configuration of this server is not known well enough.
    #[error("the configuration of {server} is not edited by this program: set {name} there by hand")]
    Unknown {
        /// The word of the server.
        server: &'static str,
        /// The parameter.
        name: String,
    },
    /// The value cannot be written without quotes.
    #[error(
        "{name} cannot be set to \"{value}\": give a value without quotes, braces, semicolons, # and line breaks"
    )]
    Value {
        /// The parameter.
        name: String,
        /// The value.
        value: String,
    },
    /// The block that the statement belongs to is in another file.
    #[error("this file has no block `{block}`: give the file that has it, which is one of: {includes}")]
    NoBlock {
        /// The block.
        block: &'static str,
        /// The files that are included.
        includes: String,
    },
    /// The block includes a file that may have the statement.
    #[error(
        "`{block}` includes {file}, which may set {name} too: write the statements of that file into `{block}`"
    )]
    Included {
        /// The block.
        block: &'static str,
        /// The file.
        file: String,
        /// The parameter.
        name: String,
    },
    /// A view has a value of its own.
    #[error("a view sets {name}, and its value holds there: take it out of the view, or change it by hand")]
    InView {
        /// The parameter.
        name: String,
    },
    /// The statement belongs to a module that is not configured.
    #[error("no section `{module}` sets {item}: add the module to the configuration first, with this item")]
    NoModule {
        /// The module.
        module: String,
        /// The item.
        item: String,
    },
    /// Several entries have a value of their own.
    #[error("several entries set {name}: leave one of them, or change them by hand")]
    Several {
        /// The parameter.
        name: String,
    },
    /// The configuration is written in a newer form.
    #[error("this configuration is in YAML, which is not edited by this program: set {name} there by hand")]
    Yaml {
        /// The parameter.
        name: String,
    },
    /// The configuration has an error.
    #[error("line {line}: {what}: let the server check this configuration, and correct it first")]
    Broken {
        /// The line, from 1.
        line: usize,
        /// What is wrong.
        what: &'static str,
    },
    /// After the change, another value would be read.
    #[error("{name} cannot be set to {value} here without a doubt: set it by hand")]
    Unclear {
        /// The parameter.
        name: String,
        /// The value.
        value: String,
    },
}

impl EditError {
    /// An error of the configuration at this byte.
    pub(super) fn broken(text: &str, byte: usize, what: &'static str) -> EditError {
        let before = text.get(..byte).unwrap_or(text);
        EditError::Broken { line: before.matches('\n').count() + 1, what }
    }
}

/// A value as one line with single blanks.
pub(super) fn joined(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Whether a value can be written in each language as it is.
pub(super) fn is_writable(value: &str) -> bool {
    let ends_statement = |letter: char| "\"'`\\;{}#\n\r=".contains(letter) || letter.is_control();
    !value.is_empty() && value == joined(value) && !value.contains(ends_statement) && !value.contains("--")
}

/// Where the line of this byte begins.
pub(super) fn start_of_line(text: &str, byte: usize) -> usize {
    text.get(..byte).and_then(|before| before.rfind('\n')).map_or(0, |end| end + 1)
}

/// Where the line of this byte ends, before its line break.
pub(super) fn end_of_line(text: &str, byte: usize) -> usize {
    text.get(byte..).and_then(|rest| rest.find('\n')).map_or(text.len(), |length| byte + length)
}

/// The blanks at the beginning of the line of this byte, if nothing else is before it.
pub(super) fn indent_of(text: &str, byte: usize) -> Option<&str> {
    text.get(start_of_line(text, byte)..byte).filter(|before| before.trim().is_empty())
}

/// Whether a text is YAML: a line that is not indented is a name with a colon.
pub(super) fn is_yaml(text: &str) -> bool {
    text.lines().any(|line| {
        line.split_once(':').is_some_and(|(name, rest)| {
            let is_name = |letter: char| letter.is_ascii_alphanumeric() || "-_".contains(letter);
            let begins = name.starts_with(|letter: char| letter.is_ascii_alphabetic());
            begins && name.chars().all(is_name) && (rest.is_empty() || rest.starts_with([' ', '\t', '\r']))
        })
    })
}

/// Blanks before a statement where no other one shows how many are usual.
pub(super) const INDENT: &str = "    ";

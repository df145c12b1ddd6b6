//! The configuration of a server, edited as text: one statement is replaced where it stands, or added where it belongs,
//! and everything else stays as it is, byte for byte.
//!
//! ```text
//!   braces        BIND                    options { rate-limit { slip 2; }; };
//!   sections      NSD, Unbound            server: num-threads: 4
//!   indents       Knot DNS                server:, and items that are indented
//!   assignments   PowerDNS                receiver-threads=4
//!   lua           Knot Resolver           cache.size = 100 * MB
//! ```
//!
//! Only the text that is given is known: what it includes is read by whoever calls.

mod assignments;
mod braces;
mod edit;
mod indents;
mod lua;
mod sections;

use std::ops::Range;

pub use self::edit::EditError;
use self::edit::{Grammar, is_writable, joined};
use crate::server::Server;

/// The value that a configuration gives to a parameter; `None` where it does not set it.
pub fn value_in(server: &Server, text: &str, name: &str) -> Option<String> {
    found(grammar_of(server, name).ok()?, text, name)
}

/// A configuration in which a parameter has this value.
///
/// # Errors
/// It cannot be edited: why, and what to do.
pub fn with_value(server: &Server, text: &str, name: &str, value: &str) -> Result<String, EditError> {
    let grammar = grammar_of(server, name)?;
    if !is_writable(value) {
        return Err(EditError::Value { name: name.to_owned(), value: value.to_owned() });
    }
    grammar.check(text, name)?;
    let mut edited = text.to_owned();
    match place_of(grammar, text, name)? {
        // What is written already stays as it is written.
        Some(place) if text.get(place.clone()).map(joined).as_deref() == Some(value) => {}
        Some(place) => edited.replace_range(place, value),
        None => {
            let added = grammar.add(text, name, value)?;
            edited.insert_str(added.at, &added.text);
        }
    }
    match found(grammar, &edited, name) {
        Some(read) if read == joined(value) => Ok(edited),
        _ => Err(EditError::Unclear { name: name.to_owned(), value: value.to_owned() }),
    }
}

fn found(grammar: &dyn Grammar, text: &str, name: &str) -> Option<String> {
    let place = place_of(grammar, text, name).ok()??;
    text.get(place).map(joined)
}

/// The place of the value of the last statement, which holds where several are allowed; without blanks around it.
fn place_of(grammar: &dyn Grammar, text: &str, name: &str) -> Result<Option<Range<usize>>, EditError> {
    let Some(place) = grammar.find(text, name)?.pop() else { return Ok(None) };
    let written = text.get(place.clone()).unwrap_or_default();
    let start = place.end - written.trim_start().len();
    Ok(Some(start..start + written.trim().len()))
}

/// How the configuration of a server is edited.
fn grammar_of(server: &Server, name: &str) -> Result<&'static dyn Grammar, EditError> {
    if let Some((_, option)) = name.split_once(' ').filter(|(_, option)| option.starts_with('-')) {
        return Err(EditError::Argument { option: option.to_owned(), server: server.word });
    }
    match server.word {
        "bind" => Ok(&braces::Bind),
        "nsd" | "unbound" => Ok(&sections::Sections),
        "knot" => Ok(&indents::Knot),
        "pdns" | "pdns-recursor" => Ok(&assignments::PowerDns),
        "knot-resolver" => Ok(&lua::KnotResolver),
        word => Err(EditError::Unknown { server: word, name: name.to_owned() }),
    }
}

#[cfg(test)]
mod tests;

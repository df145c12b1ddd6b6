//! Items `name: value` in sections: the language of NSD and Unbound. A line may have several items.

use std::ops::Range;

use super::edit::{EditError, Grammar, INDENT, Insertion, end_of_line, indent_of};

/// `nsd.conf` and `unbound.conf`: parameters stand in sections `server`.
pub(super) struct Sections;

impl Grammar for Sections {
    fn find(&self, text: &str, name: &str) -> Result<Vec<Range<usize>>, EditError> {
        let items = items(text)?;
        let is_it = |item: &Item<'_>| item.section == SERVER && item.name == name;
        Ok(items.into_iter().filter(is_it).filter_map(|item| item.value).collect())
    }

    fn add(&self, text: &str, name: &str, value: &str) -> Result<Insertion, EditError> {
        let items = items(text)?;
        let is_header = |item: &Item<'_>| item.is_header && item.name == SERVER;
        let Some(header) = items.iter().rposition(is_header) else {
            return Ok(Insertion::at_end(text, &format!("{SERVER}:\n{INDENT}{name}: {value}\n")));
        };
        // What is included may begin another section: the item stands before it.
        let is_own = |item: &&Item<'_>| !item.is_header && !item.name.starts_with("include");
        let own = items.get(header + 1..).unwrap_or_default().iter().take_while(is_own).count();
        let (Some(last), next) = (items.get(header + own), items.get(header + own + 1)) else {
            return Err(EditError::Unclear { name: name.to_owned(), value: value.to_owned() });
        };
        if next.is_some_and(|next| next.start < end_of_line(text, last.end)) {
            return Ok(Insertion { at: last.end, text: format!(" {name}: {value}") });
        }
        let indent = if own == 0 { None } else { indent_of(text, last.start) }.unwrap_or(INDENT);
        Ok(Insertion::after_line(text, last.end, &format!("{indent}{name}: {value}")))
    }
}

/// A name with its value, or the header of a section.
struct Item<'a> {
    /// The section that it is in, or begins.
    section: &'a str,
    name: &'a str,
    is_header: bool,
    /// Without quotes; `None` where there is none.
    value: Option<Range<usize>>,
    start: usize,
    /// After its last word.
    end: usize,
}

/// The items of a configuration.
fn items(text: &str) -> Result<Vec<Item<'_>>, EditError> {
    let mut items: Vec<Item<'_>> = Vec::new();
    let mut section = "";
    let mut at = 0;
    while let Some(start) = next_word(text, at) {
        let word = text.get(start..).unwrap_or_default();
        let Some(name) = name_at(word) else {
            // One more value of the item before.
            let (_, end) = value_at(text, start)?;
            if let Some(item) = items.last_mut() {
                item.end = end;
            }
            at = end;
            continue;
        };
        let mut end = start + name.len() + 1;
        let is_header = SECTIONS.contains(&name);
        let mut value = None;
        if is_header {
            section = name;
        } else if let Some(begin) = next_word(text, end).filter(|begin| *begin < end_of_line(text, end)) {
            let (range, after) = value_at(text, begin)?;
            (value, end) = (Some(range), after);
        }
        items.push(Item { section, name, is_header, value, start, end });
        at = end;
    }
    Ok(items)
}

/// Where the next word begins, after blanks and comments.
fn next_word(text: &str, mut at: usize) -> Option<usize> {
    loop {
        let rest = text.get(at..)?;
        let blanks = rest.len() - rest.trim_start().len();
        at += blanks;
        match text.get(at..)?.chars().next()? {
            '#' => at = end_of_line(text, at),
            _ => return Some(at),
        }
    }
}

/// The name of an item, which has a colon after it.
fn name_at(word: &str) -> Option<&str> {
    let (name, _) = word.split_once(':')?;
    let is_of_name = |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '-';
    (name.starts_with(|letter: char| letter.is_ascii_lowercase()) && name.chars().all(is_of_name))
        .then_some(name)
}

/// The place of a value without its quotes, and where it ends with them.
fn value_at(text: &str, start: usize) -> Result<(Range<usize>, usize), EditError> {
    let rest = text.get(start..).unwrap_or_default();
    match rest.chars().next().filter(|first| ['"', '\''].contains(first)) {
        Some(quote) => {
            let length = rest.get(1..).and_then(|rest| rest.find(quote));
            let length = length.ok_or_else(|| EditError::broken(text, start, "a quote without its end"))?;
            Ok((start + 1..start + 1 + length, start + length + 2))
        }
        None => {
            let end = start + rest.find(char::is_whitespace).unwrap_or(rest.len());
            Ok((start..end, end))
        }
    }
}

const SERVER: &str = "server";

/// The sections of both programs. What follows such a word is no value of it.
const SECTIONS: [&str; 18] = [
    SERVER,
    "remote-control",
    "zone",
    "pattern",
    "key",
    "tls-auth",
    "verify",
    "stub-zone",
    "forward-zone",
    "auth-zone",
    "view",
    "rpz",
    "python",
    "dynlib",
    "dnscrypt",
    "dnstap",
    "cachedb",
    "ipset",
];

//! Items that are indented below the name of their section: the language of Knot DNS.

use std::ops::Range;

use super::edit::{EditError, Grammar, INDENT, Insertion};

/// `knot.conf`: parameters stand in the section `server`; one of a module, `mod-rrl.slip`, in that of the module.
pub(super) struct Knot;

impl Grammar for Knot {
    fn find(&self, text: &str, name: &str) -> Result<Vec<Range<usize>>, EditError> {
        let (section, item) = place_of(name);
        let is_it = |line: &Line<'_>| line.section == section && line.name == item;
        Ok(lines(text).filter(is_it).filter_map(|line| line.value).collect())
    }

    fn add(&self, text: &str, name: &str, value: &str) -> Result<Insertion, EditError> {
        let (section, item) = place_of(name);
        if section != SERVER {
            return Err(EditError::NoModule { module: section.to_owned(), item: item.to_owned() });
        }
        let all: Vec<Line<'_>> = lines(text).collect();
        let Some(header) = all.iter().rposition(|line| line.is_header && line.section == section) else {
            return Ok(Insertion::at_end(text, &format!("{section}:\n{INDENT}{item}: {value}\n")));
        };
        let own = all.get(header + 1..).unwrap_or_default().iter().take_while(|line| !line.is_header).count();
        let indent = if own == 0 { None } else { all.get(header + 1).map(|line| line.indent) };
        let last = all.get(header + own).map_or(text.len(), |line| line.start);
        let indent = indent.unwrap_or(INDENT);
        Ok(Insertion::after_line(text, last, &format!("{indent}{item}: {value}")))
    }

    fn check(&self, text: &str, name: &str) -> Result<(), EditError> {
        let (section, _) = place_of(name);
        match section != SERVER && self.find(text, name)?.len() > 1 {
            true => Err(EditError::Several { name: name.to_owned() }),
            false => Ok(()),
        }
    }
}

/// The section and the item of a parameter.
fn place_of(name: &str) -> (&str, &str) {
    name.split_once('.').unwrap_or((SERVER, name))
}

/// A line that is not empty or a comment.
struct Line<'a> {
    section: &'a str,
    is_header: bool,
    indent: &'a str,
    name: &'a str,
    /// Without quotes.
    value: Option<Range<usize>>,
    start: usize,
}

fn lines(text: &str) -> impl Iterator<Item = Line<'_>> {
    let (mut section, mut start) = ("", 0);
    text.split_inclusive('\n').filter_map(move |whole| {
        let begin = start;
        start += whole.len();
        let line = without_comment(whole).trim_end();
        let content = line.trim_start();
        if content.is_empty() {
            return None;
        }
        let indent = line.get(..line.len() - content.len()).unwrap_or_default();
        // The first item of an entry has a dash before it.
        let item = content.strip_prefix('-').map_or(content, str::trim_start);
        let (name, value) = item.split_once(':').unwrap_or((item, ""));
        let name = name.trim_end();
        let is_header = indent.is_empty() && !content.starts_with('-');
        if is_header {
            section = name;
        }
        let value = value.trim_start();
        let offset = begin + line.len() - value.len();
        let inner = ['"', '\''].iter().find_map(|quote| value.strip_prefix(*quote)?.strip_suffix(*quote));
        let place = match inner {
            Some(inner) => offset + 1..offset + 1 + inner.len(),
            None => offset..offset + value.len(),
        };
        let value = Some(place).filter(|_| !value.is_empty());
        Some(Line { section, is_header, indent, name, value, start: begin })
    })
}

/// A line up to its comment: `#` at its beginning or after a blank, outside of quotes.
fn without_comment(line: &str) -> &str {
    let (mut quote, mut before) = (None, ' ');
    for (place, letter) in line.char_indices() {
        match quote {
            Some(open) if letter == open => quote = None,
            Some(_) => {}
            None if letter == '"' || letter == '\'' => quote = Some(letter),
            None if letter == '#' && before.is_whitespace() => return line.get(..place).unwrap_or(line),
            None => {}
        }
        before = letter;
    }
    line
}

const SERVER: &str = "server";

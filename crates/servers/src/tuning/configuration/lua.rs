//! Statements of Lua: the language of Knot Resolver before version 6.

use std::ops::Range;

use super::edit::{EditError, Grammar, Insertion, end_of_line, is_yaml};

/// `kresd.conf`: `cache.size = 100 * MB`, `net.bufsize(1232)`.
pub(super) struct KnotResolver;

impl Grammar for KnotResolver {
    fn find(&self, text: &str, name: &str) -> Result<Vec<Range<usize>>, EditError> {
        let mut places = Vec::new();
        for statement in statements(text)? {
            let rest = text.get(statement..).unwrap_or_default();
            if let Some(place) = assigned(rest, name).or_else(|| argument(rest, name, false)) {
                places.push(statement + place.start..statement + place.end);
            } else if let Some(place) = argument(rest, CACHE_OPEN, true).filter(|_| name == CACHE_SIZE) {
                places.push(statement + place.start..statement + place.end);
            }
        }
        Ok(places)
    }

    fn add(&self, text: &str, name: &str, value: &str) -> Result<Insertion, EditError> {
        let statement =
            if CALLS.contains(&name) { format!("{name}({value})\n") } else { format!("{name} = {value}\n") };
        Ok(Insertion::at_end(text, &statement))
    }

    fn check(&self, text: &str, name: &str) -> Result<(), EditError> {
        if is_yaml(text) { Err(EditError::Yaml { name: name.to_owned() }) } else { Ok(()) }
    }
}

/// Where statements begin that are in no parentheses: after a line break or a semicolon.
fn statements(text: &str) -> Result<Vec<usize>, EditError> {
    let (mut found, mut depth, mut is_start, mut at) = (Vec::new(), 0_usize, true, 0);
    while let Some(letter) = text.get(at..).and_then(|rest| rest.chars().next()) {
        if let Some(end) = past_comment_or_text(text, at)? {
            // A text is a part of a statement, a comment is none.
            is_start &= letter == '-';
            at = end;
            continue;
        }
        match letter {
            '\n' | ';' => is_start = depth == 0,
            _ if letter.is_whitespace() => {}
            _ => {
                if is_start && depth == 0 {
                    found.push(at);
                }
                is_start = false;
                match letter {
                    '(' | '{' | '[' => depth += 1,
                    ')' | '}' | ']' => depth = depth.saturating_sub(1),
                    _ => {}
                }
            }
        }
        at += letter.len_utf8();
    }
    Ok(found)
}

/// The value in `name = value`, to the end of the statement.
fn assigned(statement: &str, name: &str) -> Option<Range<usize>> {
    let after = after_name(statement, name)?;
    let rest = statement.get(after..)?.strip_prefix('=').filter(|rest| !rest.starts_with('='))?;
    let start = statement.len() - rest.trim_start_matches([' ', '\t']).len();
    let end = end_of_expression(statement, start, &['\n', ';']);
    let value = statement.get(start..end)?.trim_end();
    (!value.is_empty()).then(|| start..start + value.len())
}

/// What stands in the parentheses of `name(…)`; only the first argument of it, or all of them.
fn argument(statement: &str, name: &str, is_first: bool) -> Option<Range<usize>> {
    let after = after_name(statement, name)?;
    let rest = statement.get(after..)?.strip_prefix('(')?;
    let start = statement.len() - rest.trim_start().len();
    let end = end_of_expression(statement, start, if is_first { &[')', ','] } else { &[')'] });
    let value = statement.get(start..end)?.trim_end();
    (!value.is_empty()).then(|| start..start + value.len())
}

/// The place after a name and blanks, if a statement begins with it.
fn after_name(statement: &str, name: &str) -> Option<usize> {
    let rest = statement.strip_prefix(name)?;
    Some(statement.len() - rest.trim_start_matches([' ', '\t']).len())
}

/// The first of these letters that is in no parentheses, text or comment, or the beginning of a comment.
fn end_of_expression(text: &str, start: usize, ends: &[char]) -> usize {
    let (mut depth, mut at) = (0_usize, start);
    while let Some(letter) = text.get(at..).and_then(|rest| rest.chars().next()) {
        match past_comment_or_text(text, at) {
            Ok(Some(_)) if letter == '-' => return at,
            Ok(Some(end)) => {
                at = end;
                continue;
            }
            Ok(None) => {}
            Err(_) => return text.len(),
        }
        if depth == 0 && ends.contains(&letter) {
            return at;
        }
        match letter {
            '(' | '{' | '[' => depth += 1,
            ')' | '}' | ']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        at += letter.len_utf8();
    }
    text.len()
}

/// Where the comment or the quoted text ends that begins here; `None` where none begins.
fn past_comment_or_text(text: &str, at: usize) -> Result<Option<usize>, EditError> {
    let rest = text.get(at..).unwrap_or_default();
    let cut = |what| EditError::broken(text, at, what);
    if let Some(comment) = rest.strip_prefix("--") {
        return match end_of_long(comment) {
            Some(length) => Ok(Some(at + 2 + length.ok_or_else(|| cut("a comment without its end"))?)),
            None => Ok(Some(end_of_line(text, at))),
        };
    }
    if let Some(length) = end_of_long(rest) {
        return Ok(Some(at + length.ok_or_else(|| cut("a text without its end"))?));
    }
    let Some(quote) = rest.chars().next().filter(|letter| ['"', '\''].contains(letter)) else {
        return Ok(None);
    };
    let mut is_escaped = false;
    for (place, letter) in rest.char_indices().skip(1) {
        if letter == quote && !is_escaped {
            return Ok(Some(at + place + 1));
        }
        is_escaped = letter == '\\' && !is_escaped;
    }
    Err(cut("a quote without its end"))
}

/// The length of what begins with `[[` or `[==[`, with its end; the inner `None` where it has no end, the outer one
/// where nothing such begins.
fn end_of_long(text: &str) -> Option<Option<usize>> {
    let rest = text.strip_prefix('[')?;
    let level = rest.len() - rest.trim_start_matches('=').len();
    rest.get(level..)?.strip_prefix('[')?;
    let end = format!("]{}]", "=".repeat(level));
    Some(text.find(&end).map(|place| place + end.len()))
}

/// Parameters that are set by a call.
const CALLS: [&str; 5] =
    ["cache.max_ttl", "cache.min_ttl", "net.bufsize", "net.tcp_in_idle", "net.tcp_pipeline"];

/// What has the size of the cache, too.
const CACHE_OPEN: &str = "cache.open";
const CACHE_SIZE: &str = "cache.size";

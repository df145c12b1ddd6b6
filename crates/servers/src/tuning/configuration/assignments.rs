//! Lines `name=value`: the language of PowerDNS.

use std::ops::Range;

use super::edit::{EditError, Grammar, Insertion, is_yaml};

/// `pdns.conf`, and `recursor.conf` before Recursor 5.
pub(super) struct PowerDns;

impl Grammar for PowerDns {
    fn find(&self, text: &str, name: &str) -> Result<Vec<Range<usize>>, EditError> {
        let mut start = 0;
        let places = text.split_inclusive('\n').filter_map(|whole| {
            let begin = start;
            start += whole.len();
            let (key, value) = without_comment(whole).split_once('=')?;
            let before = begin + key.len() + 1 + value.len() - value.trim_start().len();
            let value = value.trim();
            (key.trim() == name && !value.is_empty()).then(|| before..before + value.len())
        });
        Ok(places.collect())
    }

    fn add(&self, text: &str, name: &str, value: &str) -> Result<Insertion, EditError> {
        Ok(Insertion::at_end(text, &format!("{name}={value}\n")))
    }

    fn check(&self, text: &str, name: &str) -> Result<(), EditError> {
        if is_yaml(text) { Err(EditError::Yaml { name: name.to_owned() }) } else { Ok(()) }
    }
}

/// A line up to its comment: `#` at its beginning or after a blank.
fn without_comment(line: &str) -> &str {
    let mut before = ' ';
    let is_comment = |(_, letter): &(usize, char)| {
        let begins = *letter == '#' && before.is_whitespace();
        before = *letter;
        begins
    };
    let comment = line.char_indices().find(is_comment).map_or(line.len(), |(place, _)| place);
    line.get(..comment).unwrap_or(line)
}

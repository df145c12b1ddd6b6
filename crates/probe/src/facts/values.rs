//! Values in files.

use crate::files::Files;

/// The number that a small file holds.
pub(super) fn number(files: &Files, path: &str) -> Option<u64> {
    files.text(path).trim().parse().ok()
}

/// The word or words that a small file holds.
pub(super) fn word<'a>(files: &'a Files, path: &str) -> Option<&'a str> {
    Some(files.text(path).trim()).filter(|text| !text.is_empty())
}

/// The value in a file of lines `name value` or `name: value unit`.
pub(super) fn field(text: &str, name: &str) -> Option<u64> {
    let rest = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix([':', ' ', '\t']))?;
    rest.split_whitespace().next()?.parse().ok()
}

/// The different words, in order, with commas.
pub(super) fn listed<'a>(words: impl Iterator<Item = &'a str>) -> String {
    let mut words: Vec<&str> = words.collect();
    words.sort_unstable();
    words.dedup();
    words.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_is_found_by_its_whole_name() {
        assert_eq!(field("MemTotal:  5 kB\n", "MemTotal"), Some(5));
        assert_eq!(field("pswpinx 8\npswpin 7\n", "pswpin"), Some(7));
    }
}

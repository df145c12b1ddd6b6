//! The order of the runs of a row: by time, or by a label such as a version.

use std::cmp::Ordering;

use super::folder::HistoryRun;

/// What runs are ordered by.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Axis {
    /// Their start.
    #[default]
    Time,
    /// The value of a label, then their start.
    Label(String),
}

impl Axis {
    /// Reads `time` or the key of a label.
    pub fn parse(text: &str) -> Axis {
        if text == "time" { Axis::Time } else { Axis::Label(text.to_owned()) }
    }

    /// As in a sentence.
    pub fn word(&self) -> &str {
        match self {
            Axis::Time => "time",
            Axis::Label(key) => key,
        }
    }

    /// The order of two runs.
    pub(super) fn order(&self, one: &HistoryRun, other: &HistoryRun) -> Ordering {
        let by_start = || {
            let start = |run: &HistoryRun| run.entry.started_unix_ns;
            start(one).cmp(&start(other)).then_with(|| one.folder.cmp(&other.folder))
        };
        match self {
            Axis::Time => by_start(),
            Axis::Label(key) => {
                let value = |run: &HistoryRun| run.entry.labels.get(key).cloned().unwrap_or_default();
                by_version(&value(one), &value(other)).then_with(by_start)
            }
        }
    }
}

/// The order of versions: numbers by their size, other text by its letters; `3.10` is after `3.9`, and `3.9-rc1` before
/// `3.9`.
fn by_version(one: &str, other: &str) -> Ordering {
    let (mut ones, mut others) = (parts(one).into_iter(), parts(other).into_iter());
    loop {
        let order = match (ones.next(), others.next()) {
            (None, None) => return one.cmp(other),
            (Some(part), None) => if_longer(&part),
            (None, Some(part)) => if_longer(&part).reverse(),
            (Some(Part::Number(a)), Some(Part::Number(b))) => a.cmp(&b),
            (Some(Part::Text(a)), Some(Part::Text(b))) => a.cmp(&b),
            (Some(Part::Number(_)), Some(Part::Text(_))) => Ordering::Greater,
            (Some(Part::Text(_)), Some(Part::Number(_))) => Ordering::Less,
        };
        if order != Ordering::Equal {
            return order;
        }
    }
}

/// Whether a version with one part more is later: with a number it is, with a word such as `rc` it is not.
fn if_longer(part: &Part) -> Ordering {
    match part {
        Part::Number(_) => Ordering::Greater,
        Part::Text(_) => Ordering::Less,
    }
}

enum Part {
    Number(u64),
    Text(String),
}

fn parts(version: &str) -> Vec<Part> {
    let mut parts = Vec::new();
    let mut rest = version;
    while let Some(first) = rest.chars().next() {
        let is_digit = first.is_ascii_digit();
        let end = rest.find(|letter: char| letter.is_ascii_digit() != is_digit).unwrap_or(rest.len());
        let (part, after) = rest.split_at(end);
        match part.parse() {
            Ok(number) => parts.push(Part::Number(number)),
            // Points and dashes part, and nothing more.
            Err(_) => {
                let word = part.trim_matches(|letter: char| !letter.is_alphanumeric());
                parts.extend((!word.is_empty()).then(|| Part::Text(word.to_owned())));
            }
        }
        rest = after;
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_ordered_by_their_numbers() {
        let mut versions = ["3.10.1", "3.9", "3.9.1", "3.9-rc1", "10", "3.9-rc10", "3.9-rc2", ""];
        versions.sort_by(|one, other| by_version(one, other));
        assert_eq!(versions, ["", "3.9-rc1", "3.9-rc2", "3.9-rc10", "3.9", "3.9.1", "3.10.1", "10"]);
    }
}

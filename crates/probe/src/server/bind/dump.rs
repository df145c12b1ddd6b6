//! What `rndc stats` writes: dumps of all counters as text, each behind the one before it in the file.
//!
//! ```text
//!   +++ Statistics Dump +++ (1795699254)
//!   ++ Name Server Statistics ++
//!                     72 UDP queries received
//!   ++ Resolver Statistics ++
//!   [View: default]
//!                     12 IPv6 queries sent
//!   --- Statistics Dump --- (1795699254)
//! ```

use std::collections::BTreeMap;
use std::io::{self, Read, Seek, SeekFrom};
use std::sync::LazyLock;

use super::series;
use crate::source::Reading;

/// The newest dump in a file.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::server) struct Dump {
    pub(super) name: DumpName,
    pub(in crate::server) text: String,
}

/// Which dump it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::server) struct DumpName {
    /// Its first octet in the file.
    begin: u64,
    /// When it was written, in seconds since 1970, as it says.
    pub(super) written_s: u64,
}

impl Dump {
    /// Finds the last dump of a file that was written whole. `None` where there is none.
    ///
    /// # Errors
    /// The file cannot be read.
    pub(in crate::server) fn newest(file: &mut (impl Read + Seek)) -> io::Result<Option<Dump>> {
        let length = file.seek(SeekFrom::End(0))?;
        let Some(end) = last_line_with(file, length, END)? else { return Ok(None) };
        let Some(begin) = last_line_with(file, end, BEGIN)? else { return Ok(None) };
        file.seek(SeekFrom::Start(begin))?;
        let mut bytes = Vec::new();
        // What is of single zones comes last, and is not used.
        file.take((end - begin).min(LONGEST_DUMP_BYTES)).read_to_end(&mut bytes)?;
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let first = text.lines().next().unwrap_or_default();
        let written = first.rsplit_once('(').and_then(|(_, rest)| rest.strip_suffix(')')?.parse().ok());
        let name = DumpName { begin, written_s: written.unwrap_or(0) };
        Ok(Some(Dump { name, text }))
    }
}

/// The place of the last line that begins so, before this octet of a file.
fn last_line_with(file: &mut (impl Read + Seek), before: u64, words: &[u8]) -> io::Result<Option<u64>> {
    let mut to = before;
    let lowest = before.saturating_sub(LONGEST_SEARCH_BYTES);
    let mut bytes = Vec::new();
    while to > lowest {
        let from = to.saturating_sub(SEARCHED_AT_ONCE).max(lowest);
        // A line may begin in this part and end in the next one; and the octet before it tells that it begins there.
        let (begin, end) = (from.saturating_sub(1), (to + words.len() as u64).min(before));
        file.seek(SeekFrom::Start(begin))?;
        bytes.clear();
        file.by_ref().take(end - begin).read_to_end(&mut bytes)?;
        let is_line = |at: &usize| {
            let follows = at.checked_sub(1).map_or(begin == 0, |last| bytes.get(last) == Some(&b'\n'));
            follows && bytes.get(*at..).is_some_and(|rest| rest.starts_with(words))
        };
        if let Some(at) = (0..bytes.len()).rev().find(is_line) {
            return Ok(Some(begin + at as u64));
        }
        to = from;
    }
    Ok(None)
}

/// The series of a dump.
pub(in crate::server) fn add(text: &str, reading: &mut Reading) {
    numbers(text, &mut |path, value| series::add(path, value, reading));
    series::complete(reading);
}

/// Calls `found` with each number of a dump, and the keys that the statistics channel has for it as JSON.
fn numbers(text: &str, found: &mut impl FnMut(&[&str], u64)) {
    let (mut section, mut view) = (None, None);
    for line in text.lines() {
        if let Some(title) = line.strip_prefix("++ ").and_then(|rest| rest.strip_suffix(" ++")) {
            section = SECTIONS.iter().find(|section| section.title == title);
            view = None;
            continue;
        }
        if let Some(name) = line.strip_prefix('[') {
            view = name.strip_prefix("View: ").map(view_of);
            continue;
        }
        let number = line.trim_start().split_once(' ');
        let number = number.and_then(|(value, what)| Some((value.parse().ok()?, what)));
        if let (Some(section), Some((value, what))) = (section, number) {
            let name = section.texts.and_then(|group| NAMES.get(&(group, what)).copied()).unwrap_or(what);
            match (view, section.of_view, section.of_server) {
                (Some(view), Some(group), _) => found(&["views", view, "resolver", group, name], value),
                (None, _, Some(group)) => found(&[group, name], value),
                _ => {}
            }
        }
    }
}

/// The name of a view in `default]`, or in `internal (Cache: internal)]`.
fn view_of(rest: &str) -> &str {
    let name = rest.split_once(" (Cache: ").map_or(rest.trim_end_matches(']'), |(name, _)| name);
    if name == "default" { "_default" } else { name }
}

/// A section of a dump.
struct Section {
    title: &'static str,
    /// The key of what it has of the whole server, and of what it has of a view.
    of_server: Option<&'static str>,
    of_view: Option<&'static str>,
    /// The group of the texts that it has instead of names.
    texts: Option<&'static str>,
}

const fn section(
    title: &'static str,
    of_server: Option<&'static str>,
    of_view: Option<&'static str>,
    texts: Option<&'static str>,
) -> Section {
    Section { title, of_server, of_view, texts }
}

const SECTIONS: [Section; 11] = [
    section("Incoming Requests", Some("opcodes"), None, None),
    section("Incoming Queries", Some("qtypes"), None, None),
    section("Outgoing Rcodes", Some("rcodes"), None, None),
    section("Outgoing Queries", None, Some("qtypes"), None),
    section("Name Server Statistics", Some("nsstats"), None, Some("nsstats")),
    section("Zone Maintenance Statistics", Some("zonestats"), None, Some("zonestats")),
    section("Resolver Statistics", Some("resstats"), Some("stats"), Some("resstats")),
    section("Cache Statistics", None, Some("cachestats"), Some("cachestats")),
    section("Cache DB RRsets", None, Some("cache"), None),
    section("ADB stats", None, Some("adb"), Some("adb")),
    section("Socket I/O Statistics", Some("sockstats"), None, Some("sockstats")),
];

/// The name of a counter, by its group and its text.
static NAMES: LazyLock<BTreeMap<(&str, &str), &str>> = LazyLock::new(|| {
    let lines = TEXTS.lines().filter(|line| !line.starts_with('#'));
    let rows = lines.filter_map(|line| {
        let (group, rest) = line.split_once(' ')?;
        let (name, text) = rest.split_once(' ')?;
        Some(((group, text), name))
    });
    rows.collect()
});

/// A line for each: the group, the name, and the text.
const TEXTS: &str = include_str!("texts.txt");

const BEGIN: &[u8] = b"+++ Statistics Dump +++";
const END: &[u8] = b"--- Statistics Dump ---";

/// A view has some 10 kB.
const LONGEST_DUMP_BYTES: u64 = 16 << 20;

/// How far from the end of the file a dump is looked for: one has some hundred octets for each zone.
const LONGEST_SEARCH_BYTES: u64 = 1 << 30;

const SEARCHED_AT_ONCE: u64 = 1 << 16;

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;

    fn newest(text: &str) -> Option<(u64, u64, String)> {
        let dump = Dump::newest(&mut Cursor::new(text)).unwrap()?;
        Some((dump.name.begin, dump.name.written_s, dump.text))
    }

    #[test]
    fn the_newest_dump_that_was_written_whole_is_read() {
        let dump = |at: u64, queries: u64| {
            format!(
                "+++ Statistics Dump +++ ({at})\n++ Incoming Requests ++\n                  {queries} QUERY\n\
                 --- Statistics Dump --- ({at})\n"
            )
        };
        let (first, second) = (dump(10, 5), dump(20, 7));
        let text = format!("{first}{second}");
        let (begin, written_s, found) = newest(&text).unwrap();
        assert_eq!((begin, written_s), (first.len() as u64, 20));
        assert!(found.ends_with("7 QUERY\n"), "{found}");
        // The one that is being written is not whole.
        let cut = &text[..text.len() - 40];
        assert_eq!(newest(cut).map(|found| found.1), Some(10));
        for none in [
            "",
            "+++ Statistics Dump +++ (1)\n",
            "--- Statistics Dump --- (1)\n",
            "x+++ Statistics Dump +++\n",
        ] {
            assert_eq!(newest(none), None, "{none}");
        }
    }

    #[test]
    fn a_dump_is_found_behind_any_number_of_zones_wherever_the_parts_of_the_file_begin() {
        for zones in [0_usize, 1, 2_730, 2_731, 2_732, 2_733, 9_000] {
            for pad in 0..30 {
                let old = "#".repeat(pad) + "\n";
                let begin = "+++ Statistics Dump +++ (3)\n++ Incoming Requests ++\n       1 QUERY\n";
                let zones = "[some.zone.example.test]\n".repeat(zones);
                let text = format!(
                    "{old}{begin}++ Per Zone Query Statistics ++\n{zones}--- Statistics Dump --- (3)\n"
                );
                let found = newest(&text).unwrap();
                assert_eq!((found.0, found.2.starts_with(begin)), (old.len() as u64, true), "{pad}");
            }
        }
    }

    #[test]
    fn each_text_has_one_name_in_its_group() {
        let lines = TEXTS.lines().filter(|line| !line.starts_with('#')).count();
        assert_eq!(NAMES.len(), lines);
        let groups: Vec<_> = SECTIONS.iter().filter_map(|section| section.texts).collect();
        assert!(NAMES.keys().all(|(group, _)| groups.contains(group)));
    }
}

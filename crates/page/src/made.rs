//! How a run was made: its plan, its host, and a command that makes it again.

use std::io::Read;
use std::path::Path;

use dnsdyno_record::{Digest, HOST_FILE, PLAN_FILE, open_regular};
use jiff::Timestamp;
use serde_json::Value;

use crate::data::{Fact, RunConditions};

/// How the run at `path` was made. A file that is missing, or cannot be read, has nothing to show.
pub(crate) fn of(path: &Path, digest: &Digest) -> RunConditions {
    let folder = if path.is_dir() { path } else { path.parent().unwrap_or(path) };
    let header = &digest.header;
    let mut facts: Vec<_> = dnsdyno_report::head(digest)
        .into_iter()
        .filter(|(key, _)| !IN_FIRST_LINE.contains(key))
        .map(|(key, text)| Fact::new(key, text))
        .collect();
    facts.extend(header.queries_hash.as_ref().map(|hash| Fact::new("hash of the queries", hash)));
    facts.push(Fact::new("run", &header.run_id));
    RunConditions {
        command: command(&header.command_line),
        plan: text_of(&folder.join(PLAN_FILE)),
        host: host(&text_of(&folder.join(HOST_FILE))),
        facts,
    }
}

/// An instant as text, to the second.
pub fn utc(unix_ns: u64) -> String {
    let at = Timestamp::from_nanosecond(i128::from(unix_ns)).unwrap_or_default();
    at.strftime("%Y-%m-%d %H:%M:%S UTC").to_string()
}

/// The words as one would type them, the program by its name alone.
pub(crate) fn command(words: &[String]) -> String {
    let program = |word: &String| Path::new(word).file_name().map(|name| name.to_string_lossy().into_owned());
    let first = words.first().and_then(program);
    let words = first.iter().chain(words.iter().skip(1));
    words.map(|word| quoted(word)).collect::<Vec<_>>().join(" ")
}

/// The properties of `host.json`, in its order; a group by its paths.
fn host(json: &str) -> Vec<Fact> {
    let mut facts = Vec::new();
    if let Ok(host) = serde_json::from_str(json) {
        add(&mut facts, "", &host, 0);
    }
    facts
}

fn add(facts: &mut Vec<Fact>, path: &str, value: &Value, depth: usize) {
    let text = match value {
        // It is shown as the command to repeat the run.
        _ if path == "command_line" => return,
        Value::Object(object) if depth < DEEPEST => {
            for (key, value) in object {
                let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
                add(facts, &path, value, depth + 1);
            }
            return;
        }
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    if facts.len() < MOST_FACTS {
        facts.push(Fact::new(path, text));
    }
}

/// A word for a shell.
pub fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,+@%".contains(c);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

fn text_of(path: &Path) -> String {
    let mut bytes = Vec::new();
    let read = open_regular(path).and_then(|file| file.take(LONGEST_BYTES).read_to_end(&mut bytes));
    read.map_or(String::new(), |_| String::from_utf8_lossy(&bytes).into_owned())
}

/// The keys of the summary's head that the page has elsewhere.
const IN_FIRST_LINE: [&str; 4] = ["server", "load", "name", "note"];

/// `host.json` has groups of one level.
const DEEPEST: usize = 3;

/// More than a host has.
const MOST_FACTS: usize = 200;

/// A longer plan is not for reading.
const LONGEST_BYTES: u64 = 256 << 10;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_can_be_typed_again() {
        let words = ["/usr/bin/dnsdyno", "--ask", "www.example A", "it's", "", "$(x)"].map(str::to_owned);
        assert_eq!(command(&words), r"dnsdyno --ask 'www.example A' 'it'\''s' '' '$(x)'");
        assert_eq!(command(&[]), "");
    }

    #[test]
    fn the_host_is_listed_by_the_paths_of_its_properties() {
        let facts =
            host(r#"{"dnsdyno_version":"0.1.0","command_line":["x"],"sysctls":{"net.core.rmem_max":"1"}}"#);
        let listed: Vec<_> = facts.iter().map(|fact| format!("{} {}", fact.label, fact.value)).collect();
        assert_eq!(listed, ["dnsdyno_version 0.1.0", "sysctls.net.core.rmem_max 1"]);
        assert!(host("no JSON").is_empty());
    }

    #[test]
    fn an_instant_is_told_to_the_second() {
        assert_eq!(utc(1_760_000_000_000_000_000), "2025-10-09 08:53:20 UTC");
        assert_eq!(utc(0), "1970-01-01 00:00:00 UTC");
    }
}

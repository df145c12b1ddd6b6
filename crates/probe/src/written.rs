//! The text of a configuration: its words, and the files that it includes, in their places.
//!
//! ```text
//!   BIND                 options { include "more"; };      words, braces, semicolons
//!   NSD, Unbound, Knot   include: "more/*.conf"            a line for each
//! ```

use dnsdyno_servers::{Configuration, Language};

/// How a configuration is written.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Form {
    pub(crate) language: Language,
    /// The statement that names the folder in which the server works when it has read this.
    pub(crate) folder: Option<&'static str>,
}

impl Form {
    /// The form of a configuration.
    pub(crate) fn of(configuration: &Configuration) -> Form {
        Form { language: configuration.language, folder: configuration.folder }
    }
}

/// A text with the texts that it includes in their places; `included` gives those of a path.
pub(crate) fn with_included(
    text: &str,
    language: Language,
    included: &mut dyn FnMut(&str) -> Vec<String>,
) -> String {
    match language {
        Language::Braces => of_braces(text, included),
        Language::Lines => of_lines(text, included),
    }
}

fn of_lines(text: &str, included: &mut dyn FnMut(&str) -> Vec<String>) -> String {
    let mut whole = String::new();
    for line in text.lines() {
        let statement = line.split('#').next().unwrap_or_default().trim();
        let path = ["include:", "include-toplevel:"].iter().find_map(|word| statement.strip_prefix(word));
        match path.map(|path| path.trim().trim_matches(['"', '\''])).filter(|path| !path.is_empty()) {
            Some(path) => included(path).iter().for_each(|text| push_line(&mut whole, text)),
            None => push_line(&mut whole, line),
        }
    }
    whole
}

fn push_line(whole: &mut String, text: &str) {
    whole.push_str(text);
    if !text.ends_with('\n') {
        whole.push('\n');
    }
}

/// Also without its comments.
fn of_braces(text: &str, included: &mut dyn FnMut(&str) -> Vec<String>) -> String {
    let mut whole = String::new();
    let mut words = tokens(text).peekable();
    let mut is_first = true;
    while let Some(word) = words.next() {
        if is_first && word == "include" {
            let path = words.next().unwrap_or_default();
            included(path).iter().for_each(|text| push_line(&mut whole, text));
            words.next_if_eq(&";");
            continue;
        }
        is_first = ["{", "}", ";"].contains(&word);
        let is_plain = is_first || !word.is_empty() && !word.contains(is_end);
        whole.push_str(&if is_plain { word.to_owned() } else { format!("\"{word}\"") });
        whole.push(if is_first { '\n' } else { ' ' });
    }
    whole
}

/// The words of a text of braces, without comments and quotes.
pub(crate) fn tokens(mut rest: &str) -> impl Iterator<Item = &str> {
    std::iter::from_fn(move || {
        loop {
            rest = rest.trim_start();
            let comment_end = match rest {
                text if text.starts_with('#') || text.starts_with("//") => "\n",
                text if text.starts_with("/*") => "*/",
                _ => break,
            };
            rest = rest.split_once(comment_end).map_or("", |(_, after)| after);
        }
        let first = rest.chars().next()?;
        if let Some(quoted) = rest.strip_prefix('"') {
            let (word, after) = quoted.split_once('"').unwrap_or((quoted, ""));
            rest = after;
            return Some(word);
        }
        let length = if is_end(first) { first.len_utf8() } else { rest.find(is_end).unwrap_or(rest.len()) };
        let (word, after) = rest.split_at(length);
        rest = after;
        Some(word)
    })
}

fn is_end(c: char) -> bool {
    c.is_whitespace() || "{};\"#".contains(c)
}

/// The words of a configuration in any of the languages, without its comments. What ends a word in one of them ends it
/// here: `:` and `=` after a name, `;`, braces and quotes.
pub(crate) fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut rest = text;
    while let Some((comment, after)) = rest.split_once("/*") {
        words.extend(comment.lines().flat_map(words_of_line));
        rest = after.split_once("*/").map_or("", |(_, after)| after);
    }
    words.extend(rest.lines().flat_map(words_of_line));
    words
}

fn words_of_line(line: &str) -> Vec<String> {
    let comment = line.find('#').into_iter().chain(find_slashes(line)).min();
    let line = &line[..comment.unwrap_or(line.len())];
    let parts = line.split(|c: char| c.is_whitespace() || "{};\"'=".contains(c));
    parts.map(|word| word.trim_end_matches(':').to_owned()).filter(|word| !word.is_empty()).collect()
}

/// `//` begins a comment, except within a URL or a path.
fn find_slashes(line: &str) -> Option<usize> {
    line.match_indices("//").map(|(at, _)| at).find(|at| {
        line[..*at].chars().next_back().is_none_or(|before| before.is_whitespace() || "{};".contains(before))
    })
}

/// The word after this one.
pub(crate) fn after<'a>(words: &'a [String], name: &str) -> Option<&'a str> {
    let at = words.iter().position(|word| word == name)?;
    words.get(at + 1).map(String::as_str)
}

/// The value of an item in a section that begins at the margin, as in YAML: `listen` of `control`.
pub(crate) fn in_section(text: &str, section: &str, item: &str) -> Option<String> {
    let mut is_in = false;
    for line in text.lines() {
        let statement = line.split('#').next().unwrap_or_default();
        let Some((name, value)) = statement.split_once(':') else { continue };
        if !name.starts_with(char::is_whitespace) {
            is_in = name.trim_end() == section;
            continue;
        }
        let value = value.trim().trim_matches(|c: char| c.is_whitespace() || "\"'[]".contains(c));
        if is_in && name.trim().trim_start_matches("- ") == item && !value.is_empty() {
            return Some(
                value.split(',').next().unwrap_or_default().trim_matches([' ', '"', '\'']).to_owned(),
            );
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn included_files_stand_where_they_are_included() {
        let mut included = |path: &str| match path {
            "more" => vec!["tcp-clients 7;".to_owned()],
            "*.conf" => vec!["  tcp-count: 7".to_owned(), "  reuseport: yes\n".to_owned()],
            other => panic!("{other}"),
        };
        let braces =
            "options { /* include \"x\"; */ include \"more\"; directory \"a b\"; }; # include \"y\";\n";
        let expected = "options {\ntcp-clients 7;\ndirectory \"a b\" ;\n}\n;\n";
        assert_eq!(with_included(braces, Language::Braces, &mut included), expected);
        let lines = "server:\n  # include: x\n  include: \"*.conf\" # more\n  port: 5\n";
        let expected = "server:\n  # include: x\n  tcp-count: 7\n  reuseport: yes\n  port: 5\n";
        assert_eq!(with_included(lines, Language::Lines, &mut included), expected);
        for broken in ["include", "include \"", "options { include", "include: ", "include:\n\""] {
            for language in [Language::Braces, Language::Lines] {
                let _ = with_included(broken, language, &mut |_| Vec::new());
            }
        }
    }

    #[test]
    fn comments_end_where_they_do_and_paths_are_whole() {
        let found = words("a /* b\n c */ d;// e\nf: \"/tmp//x\" http://g/ # h\n{i=j}");
        assert_eq!(found, ["a", "d", "f", "/tmp//x", "http://g/", "i", "j"]);
    }

    #[test]
    fn an_item_is_that_of_its_section() {
        let text = "server:\n  listen: 127.0.0.1@53\ncontrol:\n  timeout: 5 # s\n  listen: \"/tmp/a b.sock\"\nlog:\n";
        let read = |section, item| in_section(text, section, item);
        assert_eq!(read("control", "listen").as_deref(), Some("/tmp/a b.sock"));
        assert_eq!(read("server", "listen").as_deref(), Some("127.0.0.1@53"));
        assert_eq!(read("control", "rundir"), None);
        let several = in_section("control:\n  listen: [ a.sock, b.sock ]\n", "control", "listen");
        assert_eq!(several.as_deref(), Some("a.sock"));
    }
}

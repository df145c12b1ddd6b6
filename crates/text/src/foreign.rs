//! Text from elsewhere, made safe to show.

use std::borrow::Cow;
use std::fmt::Write;

/// Foreign text as one line that a terminal can show: control characters, and those that change the direction of text
/// or are invisible, are escaped; a text longer than `longest` characters is cut and ends with `…`.
///
/// For everything that a server, a file or a record contains, before it is part of a message or a summary.
pub fn shown(text: &str, longest: usize) -> Cow<'_, str> {
    let is_long = text.chars().nth(longest).is_some();
    if !is_long && !text.chars().any(acts_on_a_terminal) {
        return Cow::Borrowed(text);
    }
    let mut out = String::new();
    for c in text.chars().take(longest) {
        match acts_on_a_terminal(c) {
            // Into a string, which takes everything.
            true => _ = write!(out, "{}", c.escape_unicode()),
            false => out.push(c),
        }
    }
    if is_long {
        out.push('…');
    }
    Cow::Owned(out)
}

/// The text as one line of bearable length: a reason of some sentences fits; the rest of a longer one is in the record.
pub fn safe(text: &str) -> String {
    shown(text, LONGEST_SHOWN).into_owned()
}

/// A line of the output of a program as it is, with its tabs: what a terminal would act on is escaped, and of a line
/// that nobody can read the end is left out.
pub fn verbatim(line: &str) -> String {
    let parts: Vec<Cow<'_, str>> = line.split('\t').map(|part| shown(part, LONGEST_LINE)).collect();
    let whole = parts.join("\t");
    match whole.char_indices().nth(LONGEST_LINE) {
        Some((end, _)) => format!("{}…", whole.get(..end).unwrap_or_default().trim_end_matches('…')),
        None => whole,
    }
}

/// Characters of a line of output.
const LONGEST_LINE: usize = 2_000;

/// Characters of one text.
const LONGEST_SHOWN: usize = 400;

/// Lines of output for an element of HTML that keeps spaces, tabs and ends of lines.
pub fn preformatted(lines: &[String]) -> String {
    let line = |line: &String| line.split('\t').map(escaped).collect::<Vec<_>>().join("\t");
    lines.iter().map(line).collect::<Vec<_>>().join("\n")
}

/// Whether a terminal may act on the character instead of showing it.
pub fn acts_on_a_terminal(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}')
        || matches!(c, '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

/// Text for an element or an attribute of HTML or SVG. Control characters have no meaning there, and some are not
/// allowed.
pub fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\t' | '\n' => out.push(' '),
            c if acts_on_a_terminal(c) => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_without_control_characters_is_shown_as_it_is() {
        assert!(matches!(shown("ns1.example, Größe 3 µs", 80), Cow::Borrowed(_)));
    }

    #[test]
    fn what_a_terminal_would_act_on_is_escaped_and_long_text_is_cut() {
        assert_eq!(shown("a\u{1b}[2Jb\r\n", 80), "a\\u{1b}[2Jb\\u{d}\\u{a}");
        assert_eq!(shown("\u{9b}31m\u{202e}x", 80), "\\u{9b}31m\\u{202e}x");
        assert_eq!(shown("abcdef", 5), "abcde…");
        assert_eq!(shown("abcde", 5), "abcde");
    }

    #[test]
    fn output_keeps_its_tabs_and_spaces_and_nothing_that_acts_on_a_terminal() {
        assert_eq!(verbatim("  qps:\t 1\t\t<2>  "), "  qps:\t 1\t\t<2>  ");
        assert_eq!(verbatim("a\u{1b}[2J\tb\r"), "a\\u{1b}[2J\tb\\u{d}");
        let long = verbatim(&"x\t".repeat(5_000));
        assert!(long.chars().count() == 2_001 && long.ends_with('…'), "{}", long.len());
        assert_eq!(
            preformatted(&["a\t<b>".to_owned(), String::new(), " c".to_owned()]),
            "a\t&lt;b&gt;\n\n c"
        );
    }

    #[test]
    fn markup_in_a_text_is_text() {
        assert_eq!(escaped("<a b='\"&'>\n\u{1b}"), "&lt;a b=&#39;&quot;&amp;&#39;&gt; \u{fffd}");
    }
}

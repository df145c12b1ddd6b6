//! What the check of the book reads in a document: its links, and the anchors of its headings as the web view of a
//! repository and mdBook both make them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path};

/// A document.
#[derive(Debug, Default)]
pub(super) struct Document {
    pub(super) links: Vec<Link>,
    pub(super) anchors: BTreeSet<String>,
}

/// A link, or a picture.
#[derive(Debug, PartialEq)]
pub(super) struct Link {
    /// The line that it is in, from 1 on.
    pub(super) line: usize,
    /// As it is written, up to the `#`; empty within a document.
    pub(super) path: String,
    pub(super) anchor: Option<String>,
}

impl Link {
    /// Whether it leads to something of the repository.
    pub(super) fn is_local(&self) -> bool {
        !self.path.contains("://") && !self.path.starts_with("mailto:")
    }

    /// `#anchor`, or nothing.
    pub(super) fn anchor_in_text(&self) -> String {
        self.anchor.as_ref().map_or_else(String::new, |anchor| format!("#{anchor}"))
    }
}

impl Document {
    pub(super) fn parse(text: &str) -> Document {
        let mut document = Document::default();
        let mut times = BTreeMap::new();
        for (number, line) in outside_of_blocks(text) {
            let line = without_code(line);
            let targets = targets(&line).into_iter().map(|(from, to)| line[from..to].to_owned());
            document.links.extend(targets.chain(in_tags(&line)).map(|target| link(number, &target)));
            document.anchors.extend(ids(&line));
        }
        for (_, line) in outside_of_blocks(text) {
            document.anchors.extend(heading(line).map(|heading| unique(&slug(&heading), &mut times)));
        }
        document
    }
}

/// A text with the path of each link replaced; a link for which there is none is left as it is.
pub(super) fn with_links(text: &str, replaced: impl Fn(&str) -> Option<String>) -> String {
    let mut out = String::new();
    let mut rest = 0;
    for (from, to) in targets(text) {
        out.push_str(&text[rest..from]);
        out.push_str(&replaced(&text[from..to]).unwrap_or_else(|| text[from..to].to_owned()));
        rest = to;
    }
    out + &text[rest..]
}

/// The path from the root of what a document names: `../METHODOLOGY.md` in `docs/find.md` is `METHODOLOGY.md`, and
/// nothing is the document itself. `None` outside of the root.
pub(super) fn resolved(document: &str, path: &str) -> Option<String> {
    if path.is_empty() {
        return Some(document.to_owned());
    }
    let mut parts: Vec<String> = Vec::new();
    let folder = Path::new(document).parent().unwrap_or(Path::new(""));
    for part in folder.join(path).components() {
        match part {
            Component::Normal(part) => parts.push(part.to_string_lossy().into_owned()),
            Component::ParentDir => drop(parts.pop()?),
            Component::CurDir => {}
            Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    Some(parts.join("/"))
}

/// The lines that are not in a block of code, with their numbers.
fn outside_of_blocks(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut fence: Option<&str> = None;
    text.lines().zip(1..).filter_map(move |(line, number)| {
        let start = line.trim_start();
        let marks = ["```", "~~~"].into_iter().find(|marks| start.starts_with(marks));
        match (fence, marks) {
            (None, Some(marks)) => fence = Some(marks),
            (Some(open), Some(marks)) if open == marks => fence = None,
            (None, None) => return Some((number, line)),
            _ => {}
        }
        None
    })
}

/// A line with blanks in place of its code, which has no links.
fn without_code(line: &str) -> String {
    let mut parts = line.split('`');
    let mut out = parts.next().unwrap_or_default().to_owned();
    let mut is_code = true;
    for part in parts {
        out.push(' ');
        out.push_str(if is_code { "" } else { part });
        is_code = !is_code;
    }
    out
}

/// Where the targets of `[text](target)` are.
fn targets(text: &str) -> Vec<(usize, usize)> {
    let starts = text.match_indices("](").map(|(at, marks)| at + marks.len());
    starts.filter_map(|from| Some((from, from + text.get(from..)?.find([')', ' ', '\n'])?))).collect()
}

/// The targets of tags of HTML: pictures, and their variants.
fn in_tags(line: &str) -> Vec<String> {
    let attributes = ["src=\"", "srcset=\"", "href=\""];
    attributes.iter().flat_map(|attribute| values(line, attribute)).collect()
}

/// The anchors that tags of HTML set.
fn ids(line: &str) -> Vec<String> {
    values(line, "id=\"")
}

/// The values of an attribute, which `start` begins: ` id="`.
pub(super) fn values(text: &str, start: &str) -> Vec<String> {
    let is_whole = |at: usize| text[..at].ends_with(|before: char| before.is_whitespace());
    text.match_indices(start)
        .filter(|(at, _)| is_whole(*at))
        .filter_map(|(at, _)| Some(text.get(at + start.len()..)?.split('"').next()?.to_owned()))
        .collect()
}

fn link(line: usize, target: &str) -> Link {
    let (path, anchor) = match target.split_once('#') {
        Some((path, anchor)) => (path, Some(anchor.to_owned())),
        None => (target, None),
    };
    Link { line, path: path.to_owned(), anchor }
}

/// The text of a heading as it is read: without its marks, code marks and the targets of its links.
fn heading(line: &str) -> Option<String> {
    let text = line.trim_start_matches('#');
    let level = line.len() - text.len();
    if !(1..=6).contains(&level) || !text.starts_with(' ') {
        return None;
    }
    let mut read = String::new();
    let mut rest = text.trim();
    while let Some((before, after)) = rest.split_once("](") {
        read.push_str(before);
        rest = after.split_once(')').map_or("", |(_, after)| after);
    }
    read.push_str(rest);
    Some(read)
}

/// The anchor of a heading: its letters in lower case, digits, `-` and `_`, with `-` for a space.
fn slug(heading: &str) -> String {
    let kept = heading.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.flat_map(char::to_lowercase).map(|c| if c == ' ' { '-' } else { c }).collect()
}

/// The same heading again has a number behind it.
fn unique(slug: &str, times: &mut BTreeMap<String, usize>) -> String {
    let before = times.entry(slug.to_owned()).or_default();
    *before += 1;
    match *before {
        1 => slug.to_owned(),
        times => format!("{slug}-{}", times - 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(text: &str) -> Vec<String> {
        let links = Document::parse(text).links;
        links.into_iter().map(|link| format!("{}{}", link.path, link.anchor_in_text())).collect()
    }

    #[test]
    fn links_pictures_and_tags_are_read_and_code_is_not() {
        assert_eq!(paths("[a](b.md) and ![c](d.png \"title\"), [`e`](f.md#g)"), ["b.md", "d.png", "f.md#g"]);
        assert_eq!(paths("`[a](b.md)`\n```\n[c](d.md)\n```\n~~~\n```\n[e](f.md)\n~~~\n[g](h.md)"), ["h.md"]);
        assert_eq!(paths("<img alt=\"\" src=\"a.png\"><source srcset=\"b.png\">"), ["a.png", "b.png"]);
        assert!(Document::parse("[a](https://example/#b)").links.iter().all(|link| !link.is_local()));
    }

    #[test]
    fn anchors_are_those_of_the_web_view() {
        let text = "# What broke first: `dnsdyno diagnose`\n## 1. A loop\n## The [record](run.md)\n\
                    ### `[[server]]`, `[[server.variant]]`\n## 1. A loop\n```\n# no heading\n```\n#no heading\n";
        let anchors = Document::parse(text).anchors;
        let expected = [
            "1-a-loop",
            "1-a-loop-1",
            "server-servervariant",
            "the-record",
            "what-broke-first-dnsdyno-diagnose",
        ];
        assert_eq!(anchors.iter().map(String::as_str).collect::<Vec<_>>(), expected);
        assert!(Document::parse("a <a id=\"here\"></a>\n").anchors.contains("here"));
    }

    #[test]
    fn the_paths_of_links_are_replaced_and_nothing_else() {
        let text = "- [A](a.md)\n  - [B](../B.md)\n";
        assert_eq!(with_links(text, |path| Some(format!("x/{path}"))), "- [A](x/a.md)\n  - [B](x/../B.md)\n");
    }
}

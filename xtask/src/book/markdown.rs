//! What the check of the book reads in a document: its links, and the anchors of its headings as the web view of a
//! repository and mdBook both make them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path};

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

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
        let mut heading: Option<String> = None;
        for (event, range) in Parser::new_ext(text, Options::ENABLE_TABLES).into_offset_iter() {
            let line = || text[..range.start].matches('\n').count() + 1;
            match event {
                Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
                    document.links.push(link(line(), &dest_url));
                }
                Event::Html(tags) | Event::InlineHtml(tags) => {
                    let targets =
                        ["src=\"", "srcset=\"", "href=\""].iter().flat_map(|start| values(&tags, start));
                    document.links.extend(targets.map(|target| link(line(), &target)));
                    document.anchors.extend(values(&tags, "id=\""));
                }
                Event::Start(Tag::Heading { .. }) => heading = Some(String::new()),
                Event::Text(words) | Event::Code(words) => {
                    heading.iter_mut().for_each(|heading| heading.push_str(&words));
                }
                Event::End(TagEnd::Heading(_)) => {
                    document
                        .anchors
                        .extend(heading.take().map(|heading| unique(&slug(&heading), &mut times)));
                }
                _ => {}
            }
        }
        document
    }
}

/// A text with the path of each link replaced; a link for which there is none is left as it is.
pub(super) fn with_links(text: &str, replaced: impl Fn(&str) -> Option<String>) -> String {
    let mut out = String::new();
    let mut rest = 0;
    for (event, range) in Parser::new(text).into_offset_iter() {
        let Event::Start(Tag::Link { dest_url, .. }) = event else { continue };
        let (Some(at), Some(path)) = (text[range.clone()].rfind(&*dest_url), replaced(&dest_url)) else {
            continue;
        };
        out.push_str(&text[rest..range.start + at]);
        out.push_str(&path);
        rest = range.start + at + dest_url.len();
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

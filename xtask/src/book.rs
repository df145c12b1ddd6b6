//! The book: `docs/SUMMARY.md` has each document once, and every link of a document leads to something.
//!
//! `scripts/xtask book` checks both in the sources;
//! `scripts/xtask book --sources FOLDER` writes what mdBook reads: the chapters where they are in the
//! repository, the files that they link to, and a summary whose paths begin at the root;
//! `scripts/xtask book --built FOLDER` checks the links of the pages that mdBook has made of it.

mod html;
mod markdown;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use markdown::{Document, Link, resolved};

/// The list of chapters.
const SUMMARY: &str = "docs/SUMMARY.md";

/// Folders whose documents are chapters, with the folders in them; of the root, only the files.
const FOLDERS: &[&str] = &["docs", "testbed"];

/// Runs one of the three; the findings.
pub(crate) fn run(root: &Path, arguments: &[String]) -> anyhow::Result<Vec<String>> {
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let documents = read_all(root)?;
    match words.as_slice() {
        [] => Ok(check(root, &documents)),
        ["--sources", folder] => {
            let findings = check(root, &documents);
            if findings.is_empty() {
                write_sources(root, &documents, Path::new(folder))?;
            }
            Ok(findings)
        }
        ["--built", folder] => html::check(Path::new(folder)),
        _ => anyhow::bail!("usage: scripts/xtask book [--sources FOLDER | --built FOLDER]"),
    }
}

/// All documents, by their paths from the root.
fn read_all(root: &Path) -> anyhow::Result<BTreeMap<String, Document>> {
    let mut paths = markdown_files(root, false)?;
    for folder in FOLDERS {
        paths.extend(markdown_files(&root.join(folder), true)?);
    }
    let mut documents = BTreeMap::new();
    for path in paths {
        let name = path.strip_prefix(root)?.to_string_lossy().into_owned();
        documents.insert(name, Document::parse(&fs::read_to_string(&path)?));
    }
    Ok(documents)
}

fn markdown_files(folder: &Path, is_deep: bool) -> anyhow::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() && is_deep {
            found.extend(markdown_files(&path, true)?);
        } else if path.is_file() && path.extension().is_some_and(|extension| extension == "md") {
            found.push(path);
        }
    }
    Ok(found)
}

/// What is wrong with the links and with the summary.
fn check(root: &Path, documents: &BTreeMap<String, Document>) -> Vec<String> {
    let mut findings = Vec::new();
    for (name, document) in documents {
        for link in document.links.iter().filter(|link| link.is_local()) {
            findings.extend(fault(root, documents, name, link).map(|fault| {
                format!("{name}:{}: {}{}: {fault}", link.line, link.path, link.anchor_in_text())
            }));
        }
    }
    findings.extend(summary_faults(documents));
    findings
}

/// Why a link of a document leads nowhere, if so.
fn fault(
    root: &Path,
    documents: &BTreeMap<String, Document>,
    name: &str,
    link: &Link,
) -> Option<&'static str> {
    let Some(target) = resolved(name, &link.path) else { return Some("leads out of the repository") };
    let is_document = target.ends_with(".md");
    match documents.get(&target).filter(|_| target != SUMMARY) {
        Some(document) => {
            let anchor = link.anchor.as_ref()?;
            (!document.anchors.contains(anchor)).then_some("no heading of that document has this anchor")
        }
        None if is_document => Some("no chapter of the book: no such document in the root, docs or testbed"),
        None => (!root.join(&target).is_file()).then_some("no such file"),
    }
}

/// The chapters, in their order.
fn chapters(documents: &BTreeMap<String, Document>) -> Vec<String> {
    let links = documents.get(SUMMARY).map_or(&[][..], |summary| &summary.links);
    links.iter().filter_map(|link| resolved(SUMMARY, &link.path)).collect()
}

/// Documents that are not in the summary, or twice.
fn summary_faults(documents: &BTreeMap<String, Document>) -> Vec<String> {
    let mut seen = BTreeSet::new();
    let chapters = chapters(documents);
    let twice = chapters.iter().filter(|chapter| !seen.insert(chapter.as_str()));
    let mut findings: Vec<String> =
        twice.map(|chapter| format!("{SUMMARY}: {chapter} is there twice")).collect();
    let missing = documents.keys().filter(|name| *name != SUMMARY && !seen.contains(name.as_str()));
    findings.extend(missing.map(|name| format!("{SUMMARY}: lacks {name}; each document is a chapter")));
    findings
}

/// Writes the sources of mdBook into a folder that is made anew.
fn write_sources(root: &Path, documents: &BTreeMap<String, Document>, folder: &Path) -> anyhow::Result<()> {
    if folder.exists() {
        fs::remove_dir_all(folder)?;
    }
    let chapters = chapters(documents);
    let linked = chapters.iter().flat_map(|chapter| {
        let links = documents.get(chapter).map_or(&[][..], |document| &document.links);
        links.iter().filter(|link| link.is_local()).filter_map(|link| resolved(chapter, &link.path))
    });
    for name in chapters.iter().cloned().chain(linked).collect::<BTreeSet<_>>() {
        let target = folder.join(&name);
        fs::create_dir_all(target.parent().unwrap_or(folder))?;
        fs::copy(root.join(&name), target)?;
    }
    let summary = fs::read_to_string(root.join(SUMMARY))?;
    fs::write(folder.join("SUMMARY.md"), markdown::with_links(&summary, |path| resolved(SUMMARY, path)))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Findings of documents in a folder of its own.
    fn findings(files: &[(&str, &str)]) -> Vec<String> {
        let root = std::env::temp_dir().join(format!("dnsdyno-book-{}-{:p}", std::process::id(), &files));
        for folder in ["docs", "testbed"] {
            fs::create_dir_all(root.join(folder)).unwrap();
        }
        for (name, text) in files {
            fs::write(root.join(name), text).unwrap();
        }
        let found = check(&root, &read_all(&root).unwrap());
        fs::remove_dir_all(&root).unwrap();
        found
    }

    #[test]
    fn links_to_documents_headings_and_files_hold() {
        let summary = ("docs/SUMMARY.md", "[All](../README.md)\n- [A](a.md)\n");
        let readme = (
            "README.md",
            "# All\n[a](docs/a.md#two-words), ![picture](docs/p.png), [web](https://example)\n",
        );
        let a = ("docs/a.md", "# A\n\n## Two `words`\n\n[up](../README.md), [here](#two-words)\n");
        assert_eq!(findings(&[summary, readme, a, ("docs/p.png", "")]), [""; 0]);
        let without_picture = findings(&[summary, readme, a]);
        assert_eq!(without_picture, ["README.md:2: docs/p.png: no such file"]);
    }

    #[test]
    fn a_heading_that_is_not_there_and_a_document_beside_the_book_are_found() {
        let summary = ("docs/SUMMARY.md", "[All](../README.md)\n");
        let found = findings(&[summary, ("README.md", "[a](#none), [b](docs/b.md), [c](../c.md)\n")]);
        assert_eq!(found.len(), 3, "{found:#?}");
        assert!(found[0].contains("README.md:1: #none: no heading"), "{found:#?}");
        assert!(found[1].contains("docs/b.md: no chapter"), "{found:#?}");
        assert!(found[2].contains("../c.md: leads out"), "{found:#?}");
    }

    #[test]
    fn a_document_that_the_summary_lacks_or_has_twice_is_found() {
        let summary = ("docs/SUMMARY.md", "[All](../README.md)\n- [All](../README.md)\n");
        let found = findings(&[summary, ("README.md", "# All\n"), ("docs/a.md", "# A\n")]);
        assert_eq!(
            found,
            [
                "docs/SUMMARY.md: README.md is there twice",
                "docs/SUMMARY.md: lacks docs/a.md; each document is a chapter"
            ]
        );
    }

    #[test]
    fn the_sources_have_the_chapters_what_they_link_to_and_a_summary_from_the_root() {
        let folder = std::env::temp_dir().join(format!("dnsdyno-book-sources-{}", std::process::id()));
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        write_sources(&root, &read_all(&root).unwrap(), &folder).unwrap();
        let summary = fs::read_to_string(folder.join("SUMMARY.md")).unwrap();
        assert!(
            summary.contains("](METHODOLOGY.md)") && summary.contains("](docs/first-hour.md)"),
            "{summary}"
        );
        for name in ["METHODOLOGY.md", "docs/first-hour.md", "docs/formats/run.schema.json", "LICENSE"] {
            assert!(folder.join(name).is_file(), "{name}");
        }
        assert!(!folder.join("docs/man").exists(), "what no chapter links to is left out");
        fs::remove_dir_all(&folder).unwrap();
    }
}

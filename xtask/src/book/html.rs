//! The links of the built book: each leads to a file in its folder, and to an anchor there.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use super::markdown::{resolved, values};

/// Links of pages that lead nowhere.
pub(super) fn check(folder: &Path) -> anyhow::Result<Vec<String>> {
    let mut pages = BTreeMap::new();
    for path in files(folder)? {
        let name = path.strip_prefix(folder)?.to_string_lossy().into_owned();
        if name.ends_with(".html") {
            pages.insert(name, fs::read_to_string(&path)?);
        }
    }
    anyhow::ensure!(!pages.is_empty(), "{} has no page; build the book: make book", folder.display());
    let anchors: BTreeMap<&str, BTreeSet<String>> = pages
        .iter()
        .map(|(name, text)| (name.as_str(), values(text, "id=\"").into_iter().collect()))
        .collect();
    let mut findings = BTreeSet::new();
    for (name, text) in pages.iter().filter(|(name, _)| !is_served_at_any_path(name)) {
        for target in values(text, "href=\"").into_iter().chain(values(text, "src=\"")) {
            let is_elsewhere =
                target.contains("://") || target.starts_with("mailto:") || target.starts_with("data:");
            if !is_elsewhere && !leads_somewhere(folder, &anchors, name, &target) {
                findings.insert(format!("{name}: {target}: leads nowhere"));
            }
        }
    }
    Ok(findings.into_iter().collect())
}

/// The page for what a web server does not find: its links begin at the server's root.
fn is_served_at_any_path(name: &str) -> bool {
    name == "404.html"
}

fn leads_somewhere(
    folder: &Path,
    anchors: &BTreeMap<&str, BTreeSet<String>>,
    page: &str,
    target: &str,
) -> bool {
    let (path, anchor) = target.split_once('#').unwrap_or((target, ""));
    let Some(file) = resolved(page, path) else { return false };
    let has_anchor = || anchors.get(file.as_str()).is_some_and(|ids| ids.contains(anchor));
    folder.join(&file).is_file() && (anchor.is_empty() || has_anchor())
}

fn files(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        match path.is_dir() {
            true => found.extend(files(&path)?),
            false => found.push(path),
        }
    }
    Ok(found)
}

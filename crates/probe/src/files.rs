//! The files of a host that tell what its kernel counts, here or elsewhere.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use crate::source::ReadError;

/// Reads files of one host.
pub(crate) trait FileReader: Send {
    /// Reads these files, all at about the same time. A `*` in a path stands for any name of a folder or file. A path
    /// that ends with `/` stands for the symbolic links in a folder: a line `NAME -> TARGET` each. What does not exist
    /// or cannot be read is left out.
    ///
    /// # Errors
    /// The host cannot be reached.
    fn read(&mut self, paths: &[String]) -> Result<Files, ReadError>;
}

/// The texts of files, by their paths.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Files(pub(crate) BTreeMap<String, String>);

impl Files {
    /// The text of a file; empty where it was not read.
    pub(crate) fn text(&self, path: &str) -> &str {
        self.0.get(path).map_or("", String::as_str)
    }

    /// The files whose paths begin with this.
    pub(crate) fn under<'a>(&'a self, prefix: &'a str) -> impl Iterator<Item = (&'a str, &'a str)> {
        let begins = self.0.range(prefix.to_owned()..);
        begins
            .take_while(move |(path, _)| path.starts_with(prefix))
            .map(|(path, text)| (path.as_str(), text.as_str()))
    }
}

/// The files of this host.
pub(crate) struct LocalFiles;

impl FileReader for LocalFiles {
    fn read(&mut self, paths: &[String]) -> Result<Files, ReadError> {
        let mut files = Files::default();
        for path in paths {
            for path in matching(path) {
                if let Some(text) = if path.ends_with('/') { links(&path) } else { text(&path) } {
                    files.0.insert(path, text);
                }
            }
        }
        Ok(files)
    }
}

/// Names of processes are what those chose.
fn text(path: &str) -> Option<String> {
    let bytes = fs::read(path).ok()?;
    Some(
        String::from_utf8(bytes)
            .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()),
    )
}

fn links(folder: &str) -> Option<String> {
    let mut lines = String::new();
    for entry in fs::read_dir(folder).ok()?.flatten().take(MOST_LINKS) {
        if let Ok(target) = fs::read_link(entry.path()) {
            let line = format!("{} -> {}\n", entry.file_name().to_string_lossy(), target.to_string_lossy());
            lines.push_str(&line);
        }
    }
    Some(lines)
}

/// The links of a folder in their text: name and target.
pub(crate) fn links_in(text: &str) -> impl Iterator<Item = (&str, &str)> {
    text.lines().filter_map(|line| line.split_once(" -> "))
}

/// Whether a file of this host can be read at all.
pub(crate) fn exists(path: &str) -> bool {
    Path::new(path).exists()
}

/// Links of a folder that are read: a server opens its listening sockets before its connections.
const MOST_LINKS: usize = 16_384;

/// The paths that a path with `*` in it stands for.
fn matching(path: &str) -> Vec<String> {
    if !path.contains('*') {
        return vec![path.to_owned()];
    }
    let mut found = vec![String::new()];
    for part in path.split('/').skip(1) {
        found = match part.split_once('*') {
            None => found.into_iter().map(|folder| format!("{folder}/{part}")).collect(),
            Some((before, after)) => found.iter().flat_map(|folder| entries(folder, before, after)).collect(),
        };
    }
    found
}

fn entries(folder: &str, before: &str, after: &str) -> Vec<String> {
    let is_wanted = |name: &String| {
        name.len() >= before.len() + after.len() && name.starts_with(before) && name.ends_with(after)
    };
    let names = fs::read_dir(folder).into_iter().flatten().flatten();
    let names = names.filter_map(|entry| entry.file_name().into_string().ok()).filter(is_wanted);
    names.map(|name| format!("{folder}/{name}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_any_name_and_missing_files_are_left_out() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().to_str().unwrap();
        for (path, text) in
            [("task/1/stat", "one"), ("task/22/stat", "two"), ("task/22/other", ""), ("x", "ex")]
        {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let paths = ["task/*/stat", "x", "none", "none/*/stat"].map(|path| format!("{root}/{path}"));
        let files = LocalFiles.read(&paths).unwrap();
        let tasks = format!("{root}/task/");
        let texts: Vec<_> = files.under(&tasks).map(|(_, text)| text).collect();
        assert_eq!((texts, files.text(&format!("{root}/x")), files.0.len()), (vec!["one", "two"], "ex", 3));
    }

    #[test]
    fn a_path_with_a_slash_at_its_end_stands_for_the_links_in_a_folder() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().to_str().unwrap();
        fs::create_dir(folder.path().join("fd")).unwrap();
        fs::write(folder.path().join("fd/file"), "").unwrap();
        std::os::unix::fs::symlink("socket:[17]", folder.path().join("fd/3")).unwrap();
        let files = LocalFiles.read(&[format!("{root}/*/"), format!("{root}/none/")]).unwrap();
        let text = files.text(&format!("{root}/fd/"));
        assert_eq!((links_in(text).collect::<Vec<_>>(), files.0.len()), (vec![("3", "socket:[17]")], 1));
    }
}

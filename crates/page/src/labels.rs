//! The names of runs on a page: each its own.

use std::collections::HashSet;
use std::path::Path;

use dnsdyno_record::Header;

/// The label of each run: the name that the user gave, else that of its folder; where that is not unique, both, and
/// then a number.
pub(crate) fn labels<'a>(runs: impl IntoIterator<Item = (&'a Path, &'a Header)>) -> Vec<String> {
    let mut taken = HashSet::new();
    let unique = |(path, header): (&Path, &Header)| {
        let folder = folder_name(path);
        let name = header.name.clone().filter(|name| !name.trim().is_empty());
        let both = name.as_ref().map(|name| format!("{name} ({folder})"));
        let first = [name, both].into_iter().flatten().chain([folder.clone()]);
        let numbered = (2..).map(|number| format!("{folder} ({number})"));
        first.chain(numbered).find(|label| taken.insert(label.clone())).unwrap_or(folder)
    };
    runs.into_iter().map(unique).collect()
}

/// The name of the folder of a run; of the file's folder where its file was named.
fn folder_name(path: &Path) -> String {
    let whole = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let folder = if whole.is_dir() { Some(whole.as_path()) } else { whole.parent() };
    let name = folder.and_then(Path::file_name).map(|name| name.to_string_lossy().into_owned());
    name.unwrap_or_else(|| "run".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(name: Option<&str>) -> Header {
        let json = serde_json::json!({ "started_unix_ns": 0, "interval_ns": 1, "timeout_ns": 1,
            "headline": "response", "types": [], "phases": [], "target": "::1", "address": "[::1]:53",
            "transport": "udp", "workers": 1, "clients": 1, "queries": 1, "bad_lines": 0, "send_only": false,
            "load": "", "name": name });
        serde_json::from_value(json).unwrap()
    }

    #[test]
    fn runs_with_equal_names_have_labels_of_their_own() {
        let (nightly, unnamed) = (named(Some("nightly")), named(None));
        let runs =
            [("/r/a", &nightly), ("/r/b", &nightly), ("/r/b", &nightly), ("/r/c/run.ndjson", &unnamed)];
        let labels = labels(runs.map(|(path, header)| (Path::new(path), header)));
        assert_eq!(labels[0], "nightly");
        assert_eq!(labels.iter().collect::<HashSet<_>>().len(), 4, "{labels:?}");
        assert!(labels[1].starts_with("nightly ("), "{labels:?}");
    }
}

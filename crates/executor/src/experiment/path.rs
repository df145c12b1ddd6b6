//! A path with delay and loss between the generator and a server, or between a server and a helper: `[path]`.

use dnsdyno_responder::relay::{Path, Way};

use super::file::PathTable;
use super::text::Text;

/// A path, and what it is between.
#[derive(Clone, Debug)]
pub(super) struct Between {
    /// The helper behind it; `None` = it is between the generator and the server.
    pub(super) helper: Option<String>,
    pub(super) path: Path,
    /// What it does, for people.
    pub(super) words: String,
}

impl Between {
    /// The path of a table; `seed` repeats its losses and delays.
    pub(super) fn of(table: &PathTable, helpers: &[&str], seed: u64) -> Result<Between, String> {
        let helper = helper(table, helpers)?;
        let words = words(table);
        let wrong = |error: &dyn std::fmt::Display| format!("a path: {error}");
        let both = Way::default().with(&words).map_err(|error| wrong(&error))?;
        let of = |more: &Option<String>| {
            both.with(more.as_deref().unwrap_or_default()).map_err(|error| wrong(&error))
        };
        let path = Path { to_server: of(&table.to_server)?, to_client: of(&table.to_client)?, seed };
        for way in [&path.to_server, &path.to_client] {
            way.validate().map_err(|error| wrong(&error))?;
        }
        Ok(Between { helper, path, words: said(table) })
    }
}

/// A change of a path while it is there: an [[event]].
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PathChange {
    /// As of [`Between`].
    pub(super) helper: Option<String>,
    /// What changes in both directions, to the server, and to the client.
    words: [String; 3],
    /// What it does, for people.
    pub(super) said: String,
}

impl PathChange {
    /// The change of a table.
    pub(super) fn new(table: &PathTable, helpers: &[&str]) -> Result<PathChange, String> {
        let own = |more: &Option<String>| more.clone().unwrap_or_default();
        let words = [words(table), own(&table.to_server), own(&table.to_client)];
        if words.iter().all(|words| words.trim().is_empty()) {
            return Err(
                "the `path` of an [[event]] says what changes, such as { delay = \"100ms\" }".to_owned()
            );
        }
        Ok(PathChange { helper: helper(table, helpers)?, words, said: said(table) })
    }

    /// `path` with what changes; the rest is as it was.
    ///
    /// # Errors
    /// What cannot be read, or is impossible on this path.
    pub(super) fn of(&self, path: &Path) -> Result<Path, String> {
        let wrong = |error: &dyn std::fmt::Display| format!("the `path` of an [[event]]: {error}");
        let [both, to_server, to_client] = &self.words;
        let of = |way: &Way, more: &str| {
            let way = way.with(both).and_then(|way| way.with(more)).map_err(|error| wrong(&error))?;
            way.validate().map(|()| way).map_err(|error| wrong(&error))
        };
        let (to_server, to_client) = (of(&path.to_server, to_server)?, of(&path.to_client, to_client)?);
        Ok(Path { to_server, to_client, seed: path.seed })
    }
}

/// The helper behind a path; `None` = the path is between the generator and the server.
fn helper(table: &PathTable, helpers: &[&str]) -> Result<Option<String>, String> {
    match table.between.as_deref() {
        None | Some("generator") => Ok(None),
        Some(helper) if helpers.contains(&helper) => Ok(Some(helper.to_owned())),
        Some(other) => {
            Err(format!("`between = \"{other}\"` of a path: write \"generator\", or the name of a helper"))
        }
    }
}

/// The options of both directions, as a direction is written.
fn words(table: &PathTable) -> String {
    let options: [(&str, &Option<Text>); 8] = [
        ("delay", &table.delay),
        ("loss", &table.loss),
        ("burst", &table.burst),
        ("duplicate", &table.duplicate),
        ("reorder", &table.reorder),
        ("rate", &table.rate),
        ("queue", &table.queue),
        ("order", &table.order),
    ];
    let given = options.iter().filter_map(|(key, text)| Some(format!("{key}={}", text.as_ref()?.0)));
    given.collect::<Vec<_>>().join(" ")
}

/// What a path does, for people: "path with delay=10ms; to the client: loss=1%".
pub(super) fn said(table: &PathTable) -> String {
    let mut said = vec![format!("path with {}", words(table)).trim_end_matches(" with ").to_owned()];
    said.extend(
        table.between.as_ref().filter(|helper| *helper != "generator").map(|helper| format!("to {helper}")),
    );
    said.extend(table.to_server.as_ref().map(|words| format!("to the server: {words}")));
    said.extend(table.to_client.as_ref().map(|words| format!("to the client: {words}")));
    said.join(", ")
}

//! The tables `[[load]]` of the file of an experiment, as they are written.

use dnsdyno_plan::Draft;
use serde::{Deserialize, Deserializer};

use super::text::Text;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum AnswersWord {
    Right,
    Any,
}

/// A load: options of `dnsdyno run`, of which `name` is its own; or a search; or another program.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) struct LoadTable {
    #[serde(flatten)]
    pub(super) own: LoadKeys,
    #[serde(flatten)]
    pub(super) draft: Draft,
}

/// What a load has beside the options of its runs.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
pub(super) struct LoadKeys {
    pub(super) steady: Option<Text>,
    pub(super) answers: Option<AnswersWord>,
    pub(super) repeats: Option<u32>,
    pub(super) drop_first: Option<u32>,
    pub(super) find: Option<FindWords>,
    pub(super) on: Option<Vec<String>>,
    pub(super) course: Option<bool>,
    pub(super) before: Option<String>,
    pub(super) command: Option<String>,
    pub(super) within: Option<Text>,
    pub(super) figure: Option<String>,
}

/// The options of a search, as those of `dnsdyno find`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct FindTable {
    pub(super) method: Option<String>,
    pub(super) find: Option<String>,
    pub(super) r#while: Vec<String>,
    pub(super) from: Option<Text>,
    pub(super) least: Option<Text>,
    pub(super) most: Option<Text>,
    pub(super) trial: Option<Text>,
    pub(super) rest: Option<Text>,
    pub(super) precision: Option<Text>,
    pub(super) trials: Option<Text>,
    pub(super) per_client: Option<Text>,
    pub(super) repeats: Option<Text>,
}

/// A search: its table, or its method alone.
#[derive(Clone, Debug)]
pub(super) struct FindWords(pub(super) FindTable);

impl<'de> Deserialize<'de> for FindWords {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<FindWords, D::Error> {
        let table = match toml::Value::deserialize(deserializer)? {
            toml::Value::String(method) => FindTable { method: Some(method), ..FindTable::default() },
            table => table.try_into().map_err(serde::de::Error::custom)?,
        };
        Ok(FindWords(table))
    }
}

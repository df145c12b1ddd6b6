//! Facts about a host, by name: what a doctor's rules look at.
//!
//! The unit is the end of a name (`_bytes`, `_percent`, `_ns`); names of kernel parameters are their own. A fact that
//! cannot be read is absent, and never guessed.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

/// The facts that could be read.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Facts(pub BTreeMap<String, Fact>);

/// The value of a fact.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Fact {
    /// A count or an amount.
    Number(u64),
    /// A word or a sentence.
    Text(String),
}

impl Facts {
    /// Adds a number, if it is known.
    pub fn number(&mut self, name: &str, value: Option<u64>) {
        self.0.extend(value.map(|value| (name.to_owned(), Fact::Number(value))));
    }

    /// Adds a text, if it is known and not empty.
    pub fn text(&mut self, name: &str, value: Option<&str>) {
        let value = value.filter(|value| !value.is_empty());
        self.0.extend(value.map(|value| (name.to_owned(), Fact::Text(value.to_owned()))));
    }

    /// A fact.
    pub fn get(&self, name: &str) -> Option<&Fact> {
        self.0.get(name)
    }
}

impl fmt::Display for Fact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fact::Number(value) => write!(f, "{value}"),
            Fact::Text(text) => f.write_str(text),
        }
    }
}

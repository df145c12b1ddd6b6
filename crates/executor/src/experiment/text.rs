//! A value of the file of an experiment that is a text, however it is written.

use std::fmt;

use dnsdyno_campaign::experiment::Column;
use dnsdyno_text::secret::Secret;
use serde::de::Visitor;
use serde::{Deserialize, Deserializer, Serialize};

/// A text, or a number or truth value as one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub(super) struct Text(pub(super) String);

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Text, D::Error> {
        let text = match toml::Value::deserialize(deserializer)? {
            toml::Value::String(text) => text,
            value @ (toml::Value::Integer(_) | toml::Value::Float(_) | toml::Value::Boolean(_)) => {
                value.to_string()
            }
            other => {
                let message =
                    format!("a text, a number, true or false is expected, not {}", other.type_str());
                return Err(serde::de::Error::custom(message));
            }
        };
        Ok(Text(text))
    }
}

/// The same, of what may be a secret: a password in the environment of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SecretText(pub(super) Secret);

impl<'de> Deserialize<'de> for SecretText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<SecretText, D::Error> {
        Text::deserialize(deserializer).map(|text| SecretText(Secret::new(text.0)))
    }
}

/// A column of the results.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ColumnText(pub(super) Column);

impl<'de> Deserialize<'de> for ColumnText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<ColumnText, D::Error> {
        deserializer.deserialize_str(ColumnReader)
    }
}

/// Reads a column while its place in the file is known, so that an error has its line and not that of the list.
struct ColumnReader;

impl Visitor<'_> for ColumnReader {
    type Value = ColumnText;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text with a column, such as \"server queries / s\"")
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<ColumnText, E> {
        Column::parse(text).map(ColumnText).map_err(E::custom)
    }
}

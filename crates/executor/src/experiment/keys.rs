//! The keys of a table, from the struct that it is read into, and the one that was probably meant.

use std::fmt;
use std::ops::Range;

use serde::de::{self, Deserialize, Deserializer, Visitor};
use serde::forward_to_deserialize_any;
use toml::de::DeTable;

/// A key that is not known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Unknown {
    key: String,
    /// The table: `[[server]]`.
    within: String,
    at: Range<usize>,
    known: Vec<String>,
    /// What is said instead of the key that is nearest.
    instead: Option<String>,
}

impl Unknown {
    /// The first key of a table that is none of `known`.
    pub(super) fn first(within: &str, table: &DeTable<'_>, known: &[&str]) -> Option<Unknown> {
        let is_unknown = |key: &str| !known.contains(&key);
        let mut unknown: Vec<_> = table.keys().filter(|key| is_unknown(key.get_ref())).collect();
        unknown.sort_by_key(|key| key.span().start);
        let key = unknown.first()?;
        Some(Unknown {
            key: key.get_ref().to_string(),
            within: within.to_owned(),
            at: key.span(),
            known: known.iter().map(|&key| key.to_owned()).collect(),
            instead: None,
        })
    }

    /// The same, with an advice for keys that belong elsewhere.
    pub(super) fn advised(self, elsewhere: &[&str], advice: &str) -> Unknown {
        let instead = elsewhere.contains(&self.key.as_str()).then(|| advice.to_owned());
        Unknown { instead, ..self }
    }

    /// What is wrong, with the line of the file's text, and the key that is nearest.
    pub(super) fn sentence(&self, text: &str) -> String {
        let before = text.get(..self.at.start).unwrap_or_default();
        let line = before.matches('\n').count() + 1;
        let Unknown { key, within, .. } = self;
        let advice = match (&self.instead, nearest(key, self.known.iter().map(String::as_str))) {
            (Some(instead), _) => instead.clone(),
            (None, Some(nearest)) => format!("did you mean `{nearest}`?"),
            (None, None) => format!("it has: {}", self.known.join(", ")),
        };
        format!("line {line}: {within} has no key `{key}`: {advice}")
    }
}

/// The one of `known` that differs least from `word`, if it differs little.
pub(super) fn nearest<'a>(word: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let distance = |other: &&str| strsim::damerau_levenshtein(word, other);
    let nearest = known.min_by_key(distance)?;
    (distance(&nearest) <= (word.chars().count() / 3).max(1)).then_some(nearest)
}

/// The keys of a struct, as serde knows them.
pub(super) fn fields_of<'de, T: Deserialize<'de>>() -> &'static [&'static str] {
    let mut found: &'static [&'static str] = &[];
    // It always fails, after it has seen the fields.
    let _ = T::deserialize(Fields(&mut found));
    found
}

/// A source of data that has none, and keeps the fields that it is asked for.
struct Fields<'a>(&'a mut &'static [&'static str]);

/// That there is no data.
#[derive(Debug)]
struct NoData;

impl fmt::Display for NoData {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("no data")
    }
}

impl std::error::Error for NoData {}

impl de::Error for NoData {
    fn custom<T: fmt::Display>(_: T) -> NoData {
        NoData
    }
}

impl<'de> Deserializer<'de> for Fields<'_> {
    type Error = NoData;

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, NoData> {
        Err(NoData)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        _: V,
    ) -> Result<V::Value, NoData> {
        *self.0 = fields;
        Err(NoData)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct
        newtype_struct seq tuple tuple_struct map enum identifier ignored_any
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fields_of_a_struct_are_found_without_a_value_of_it() {
        let fields = fields_of::<dnsdyno_plan::Draft>();
        assert!(fields.contains(&"edns-size") && fields.contains(&"for") && fields.len() > 60);
    }

    #[test]
    fn the_nearest_word_is_found_and_a_distant_one_is_not() {
        let known = || ["repeats", "retries", "cool-down"].into_iter();
        assert_eq!(nearest("repeat", known()), Some("repeats"));
        assert_eq!(nearest("cooldown", known()), Some("cool-down"));
        assert_eq!(nearest("colour", known()), None);
    }
}

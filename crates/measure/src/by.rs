//! Counters by reason, and the table in which reasons are declared.
//!
//! A reason ("refused", "timed out", ...) is a row of [`keys!`]: its doc comment, its key in the record and its
//! text in a summary. A [`By`] has a counter for each of them in an array, without a map.

use std::fmt;
use std::marker::PhantomData;

#[cfg(feature = "schema")]
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{IgnoredAny, MapAccess};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::{Counter, Group, Visitor};

/// A reason or a kind that something is counted by; [`keys!`] implements it.
pub trait Key: Copy + Eq + std::fmt::Debug + 'static {
    /// All keys, in the order of the record.
    const EACH: &'static [Self];

    /// The key in the record.
    fn key(self) -> &'static str;

    /// The words in a summary.
    fn words(self) -> &'static str;

    /// Its meaning in one sentence.
    fn meaning(self) -> &'static str;

    /// Its index in [`EACH`](Self::EACH).
    fn place(self) -> usize;
}

/// A counter for each of the `N` keys `K`. Written as an object; counters that are 0 are omitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct By<K, T, const N: usize> {
    counters: [T; N],
    keys: PhantomData<K>,
}

impl<K: Key, T, const N: usize> By<K, T, N> {
    /// The counter of `key`.
    #[inline]
    pub fn get(&self, key: K) -> &T {
        &self.counters[key.place()]
    }

    /// The counter of `key`, mutable.
    #[inline]
    pub fn get_mut(&mut self, key: K) -> &mut T {
        &mut self.counters[key.place()]
    }

    /// Each key with its counter.
    pub fn iter(&self) -> impl Iterator<Item = (K, &T)> {
        K::EACH.iter().copied().zip(&self.counters)
    }
}

impl<K: Key, const N: usize> By<K, u64, N> {
    /// Adds `count` to the counter of `key`.
    #[inline]
    pub fn add(&mut self, key: K, count: u64) {
        *self.get_mut(key) += count;
    }

    /// The count of `key`.
    #[inline]
    pub fn of(&self, key: K) -> u64 {
        *self.get(key)
    }

    /// The sum of all counts.
    pub fn total(&self) -> u64 {
        self.counters.iter().sum()
    }

    /// The keys with a count above 0, with their counts.
    pub fn by_reason(&self) -> impl Iterator<Item = (K, u64)> + '_ {
        self.iter().map(|(key, count)| (key, *count)).filter(|(_, count)| *count > 0)
    }
}

impl<K: Key, T: Default, const N: usize> Default for By<K, T, N> {
    fn default() -> Self {
        By { counters: std::array::from_fn(|_| T::default()), keys: PhantomData }
    }
}

impl<K: Key, T: Counter, const N: usize> Counter for By<K, T, N> {
    fn merge(&mut self, other: &Self) {
        self.counters.iter_mut().zip(&other.counters).for_each(|(mine, theirs)| mine.merge(theirs));
    }

    fn merge_in_time(&mut self, later: &Self) {
        self.counters.iter_mut().zip(&later.counters).for_each(|(mine, theirs)| mine.merge_in_time(theirs));
    }

    fn clear(&mut self) {
        self.counters.iter_mut().for_each(T::clear);
    }

    fn is_nothing(&self) -> bool {
        self.counters.iter().all(T::is_nothing)
    }

    fn visit(&self, key: &str, visitor: &mut dyn Visitor) {
        visitor.group(key, Some(self));
    }
}

impl<K: Key, T: Counter, const N: usize> Group for By<K, T, N> {
    fn visit_each(&self, visitor: &mut dyn Visitor) {
        self.iter().for_each(|(key, counter)| counter.visit(key.key(), visitor));
    }
}

impl<K: Key, T: Counter + Serialize, const N: usize> Serialize for By<K, T, N> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let counted = self.iter().filter(|(_, counter)| !counter.is_nothing());
        serializer.collect_map(counted.map(|(key, counter)| (key.key(), counter)))
    }
}

/// An unknown key was written by a newer version and is skipped.
impl<'de, K: Key, T: Default + Deserialize<'de>, const N: usize> Deserialize<'de> for By<K, T, N> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Counters(PhantomData))
    }
}

/// Reads the counters of known keys; a counter of another key takes no memory.
struct Counters<K, T, const N: usize>(PhantomData<(K, T)>);

impl<'de, K: Key, T: Default + Deserialize<'de>, const N: usize> de::Visitor<'de> for Counters<K, T, N> {
    type Value = By<K, T, N>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object of counters")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Self::Value, A::Error> {
        let mut by = By::default();
        while let Some(name) = entries.next_key::<String>()? {
            match K::EACH.iter().find(|key| key.key() == name) {
                Some(key) => *by.get_mut(*key) = entries.next_value()?,
                None => drop(entries.next_value::<IgnoredAny>()?),
            }
        }
        Ok(by)
    }
}

#[cfg(feature = "schema")]
impl<K: Key, T: JsonSchema, const N: usize> JsonSchema for By<K, T, N> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        std::any::type_name::<K>().into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let counter = generator.subschema_for::<T>();
        let mut properties = serde_json::Map::new();
        for key in K::EACH {
            let mut property = counter.clone();
            property.insert("description".to_owned(), key.meaning().into());
            properties.insert(key.key().to_owned(), property.into());
        }
        json_schema!({ "type": "object", "properties": properties })
    }
}

/// Declares the reasons or kinds that something is counted by, each with its key in the record and its words in a
/// summary; the doc comment goes into the schema.
macro_rules! keys {
    (
        $(#[$outer:meta])*
        pub enum $name:ident {
            $( $(#[doc = $doc:literal])+ $key:ident = $text:literal, $words:literal; )+
        }
    ) => {
        $(#[$outer])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum $name {
            $( $(#[doc = $doc])+ $key, )+
        }

        impl $name {
            /// All keys, in the order of the record.
            pub const ALL: [$name; [$($text),+].len()] = [$($name::$key),+];

            /// The key in the record.
            pub const fn key(self) -> &'static str {
                match self {
                    $( $name::$key => $text, )+
                }
            }

            /// The words in a summary.
            pub const fn words(self) -> &'static str {
                match self {
                    $( $name::$key => $words, )+
                }
            }
        }

        impl crate::Key for $name {
            const EACH: &'static [Self] = &Self::ALL;

            fn key(self) -> &'static str {
                self.key()
            }

            fn words(self) -> &'static str {
                self.words()
            }

            fn meaning(self) -> &'static str {
                match self {
                    $( $name::$key => concat!($($doc),+).trim_ascii(), )+
                }
            }

            #[inline]
            fn place(self) -> usize {
                self as usize
            }
        }
    };
}

pub(crate) use keys;

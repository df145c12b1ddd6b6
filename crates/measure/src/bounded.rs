//! Lists and maps of a record, read with a bound: a small text must not become much memory.
//!
//! A counter that is 0 is written as `{}` and takes 36 kB where it is a histogram. Whoever reads a list of them says
//! how many there can be.

use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;

use serde::de::{Error, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

/// Reads a list of at most `MOST` entries; for `deserialize_with`.
///
/// # Errors
/// It has more entries, or one of them is wrong.
pub fn list<'de, T, D, const MOST: usize>(deserializer: D) -> Result<Vec<T>, D::Error>
where
    T: Deserialize<'de>,
    D: Deserializer<'de>,
{
    deserializer.deserialize_seq(Entries::<T, MOST>(PhantomData))
}

struct Entries<T, const MOST: usize>(PhantomData<T>);

impl<'de, T: Deserialize<'de>, const MOST: usize> Visitor<'de> for Entries<T, MOST> {
    type Value = Vec<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a list of at most {MOST} entries")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut entries: A) -> Result<Vec<T>, A::Error> {
        let mut list = Vec::new();
        while list.len() < MOST {
            match entries.next_element()? {
                Some(entry) => list.push(entry),
                None => return Ok(list),
            }
        }
        match entries.next_element::<serde::de::IgnoredAny>()? {
            Some(_) => Err(A::Error::custom(format!("a list has more than {MOST} entries"))),
            None => Ok(list),
        }
    }
}

/// Reads a map by name of at most `MOST` entries; for `deserialize_with`.
///
/// # Errors
/// It has more entries, a name is longer than [`LONGEST_NAME`], or one of them is wrong.
pub fn map<'de, T, D, const MOST: usize>(deserializer: D) -> Result<BTreeMap<String, T>, D::Error>
where
    T: Deserialize<'de>,
    D: Deserializer<'de>,
{
    deserializer.deserialize_map(Pairs::<T, MOST>(PhantomData))
}

struct Pairs<T, const MOST: usize>(PhantomData<T>);

impl<'de, T: Deserialize<'de>, const MOST: usize> Visitor<'de> for Pairs<T, MOST> {
    type Value = BTreeMap<String, T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a map of at most {MOST} entries")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<BTreeMap<String, T>, A::Error> {
        let mut map = BTreeMap::new();
        while let Some((name, value)) = entries.next_entry::<String, T>()? {
            // Merged maps keep the names of many lines.
            if name.len() > LONGEST_NAME {
                return Err(A::Error::custom(format!("a name has more than {LONGEST_NAME} octets")));
            }
            map.insert(name, value);
            if map.len() > MOST {
                return Err(A::Error::custom(format!("a map has more than {MOST} entries")));
            }
        }
        Ok(map)
    }
}

/// Octets of a name in a map.
pub const LONGEST_NAME: usize = 200;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_read_up_to_its_bound_and_refused_beyond_it() {
        let read = |text: &str| {
            list::<u8, _, 3>(&mut serde_json::Deserializer::from_str(text)).map_err(|error| error.to_string())
        };
        assert_eq!(read("[]"), Ok(vec![]));
        assert_eq!(read("[1,2,3]"), Ok(vec![1, 2, 3]));
        assert!(read("[1,2,3,4]").is_err_and(|why| why.contains("more than 3 entries")));
        assert!(read("[1,999]").is_err());
    }

    #[test]
    fn a_map_is_read_up_to_its_bound_and_refused_beyond_it() {
        let read = |text: &str| map::<u8, _, 1>(&mut serde_json::Deserializer::from_str(text)).ok();
        assert_eq!(read("{\"a\":1}"), Some([("a".to_owned(), 1)].into()));
        assert_eq!((read("{\"a\":1,\"b\":2}"), read("{\"a\":999}")), (None, None));
        let named = |octets: usize| read(&format!("{{\"{}\":1}}", "a".repeat(octets))).is_some();
        assert_eq!((named(LONGEST_NAME), named(LONGEST_NAME + 1)), (true, false));
    }
}

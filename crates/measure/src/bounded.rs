//! Lists and maps of a record, read with a bound: a small text must not become much memory.
//!
//! A counter that is 0 is written as `{}` and takes 36 kB where it is a histogram. Whoever reads a list of them says
//! how many there can be.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{Error, SeqAccess, Visitor};
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
}

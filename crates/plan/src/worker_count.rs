//! How many workers a draft asks for: a number, or that which measuring finds.

use std::str::FromStr;

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::quantity::{needed_quantity, number};

/// The workers that a draft asks for. In a plan file a number or `"auto"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorkerCount {
    /// So many.
    Number(usize),
    /// The fewest with which the load is made, as trials before the run show: whoever makes the run replaces it by
    /// their number.
    Auto,
}

/// The word for [`WorkerCount::Auto`].
const AUTO: &str = "auto";

impl FromStr for WorkerCount {
    type Err = String;

    fn from_str(text: &str) -> Result<WorkerCount, String> {
        match text {
            AUTO => Ok(WorkerCount::Auto),
            _ => number(text)
                .map(WorkerCount::Number)
                .map_err(|_| format!("write a whole number, such as 4, or `{AUTO}`")),
        }
    }
}

impl Serialize for WorkerCount {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            WorkerCount::Number(number) => number.serialize(serializer),
            WorkerCount::Auto => serializer.serialize_str(AUTO),
        }
    }
}

impl<'de> Deserialize<'de> for WorkerCount {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<WorkerCount, D::Error> {
        needed_quantity(deserializer)?.parse().map_err(Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Draft;

    #[test]
    fn a_draft_has_a_number_of_workers_or_the_word_for_measuring() {
        let read = |value: &str| toml::from_str::<Draft>(&format!("workers = {value}"));
        assert_eq!(read("3").unwrap().workers, Some(WorkerCount::Number(3)));
        assert_eq!(read("\"auto\"").unwrap().workers, Some(WorkerCount::Auto));
        assert_eq!("2".parse(), Ok(WorkerCount::Number(2)));
        for bad in ["-1", "1.5", "\"many\"", "[1]"] {
            assert!(read(bad).is_err(), "{bad}");
        }
        assert!("all".parse::<WorkerCount>().unwrap_err().ends_with("or `auto`"));
    }

    #[test]
    fn a_written_draft_is_read_again() {
        for workers in [WorkerCount::Number(5), WorkerCount::Auto] {
            let draft = Draft { workers: Some(workers), ..Draft::default() };
            assert_eq!(toml::from_str::<Draft>(&toml::to_string(&draft).unwrap()).unwrap(), draft);
        }
    }
}

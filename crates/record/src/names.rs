//! Query types by name, for serde.

use dnsdyno_measure::{MOST_TYPES, bounded};
use dnsdyno_wire::{parse_type, type_name};
use serde::{Deserializer, Serializer, de::Error};

pub(crate) fn serialize<S: Serializer>(types: &[u16], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(types.iter().map(|rtype| type_name(*rtype)))
}

pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u16>, D::Error> {
    let names: Vec<String> = bounded::list::<_, _, MOST_TYPES>(deserializer)?;
    let unknown = |name: &String| D::Error::custom(format!("unknown query type {name:?}"));
    names.iter().map(|name| parse_type(name).ok_or_else(|| unknown(name))).collect()
}

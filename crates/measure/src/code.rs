//! Counters by RCODE or HTTP status: many values are possible, few are frequent.

use std::collections::BTreeMap;

#[cfg(feature = "schema")]
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};

use crate::{Counter, Group, Visitor};

/// Counts by code. The 32 codes from `FIRST` on are frequent and have an array.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ByCode<const FIRST: u16> {
    /// The codes `FIRST` to `FIRST + 31`.
    common: [u64; COMMON],
    /// Any other, in order of code.
    rare: Vec<(u16, u64)>,
}

impl<const FIRST: u16> ByCode<FIRST> {
    /// Adds `count` to the counter of `code`.
    #[inline]
    pub fn add(&mut self, code: u16, count: u64) {
        match self.common.get_mut(usize::from(code.wrapping_sub(FIRST))) {
            Some(slot) => *slot += count,
            None => self.add_rare(code, count),
        }
    }

    /// The codes that occurred, lowest first, with their counts.
    pub fn iter(&self) -> impl Iterator<Item = (u16, u64)> + '_ {
        let (below, above) = self.rare.split_at(self.rare.partition_point(|(code, _)| *code < FIRST));
        let common = (FIRST..).zip(self.common).filter(|(_, count)| *count > 0);
        below.iter().copied().chain(common).chain(above.iter().copied())
    }

    /// The count of `code`.
    pub fn of(&self, code: u16) -> u64 {
        self.iter().find(|(known, _)| *known == code).map_or(0, |(_, count)| count)
    }

    /// The sum of all counts.
    pub fn total(&self) -> u64 {
        self.iter().map(|(_, count)| count).sum()
    }

    /// Other codes are rare, so a sorted list is fast enough.
    #[cold]
    fn add_rare(&mut self, code: u16, count: u64) {
        match self.rare.binary_search_by_key(&code, |(known, _)| *known) {
            Ok(found) => self.rare[found].1 += count,
            Err(place) => self.rare.insert(place, (code, count)),
        }
    }
}

impl<const FIRST: u16> Counter for ByCode<FIRST> {
    fn merge(&mut self, other: &Self) {
        other.iter().for_each(|(code, count)| self.add(code, count));
    }

    fn merge_in_time(&mut self, later: &Self) {
        self.merge(later);
    }

    fn clear(&mut self) {
        self.common = [0; COMMON];
        self.rare.clear();
    }

    fn is_nothing(&self) -> bool {
        self.total() == 0
    }

    fn visit(&self, key: &str, visitor: &mut dyn Visitor) {
        visitor.group(key, Some(self));
    }
}

impl<const FIRST: u16> Group for ByCode<FIRST> {
    fn visit_each(&self, visitor: &mut dyn Visitor) {
        self.iter().for_each(|(code, count)| visitor.count(&code.to_string(), count));
    }
}

impl<const FIRST: u16> Serialize for ByCode<FIRST> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter())
    }
}

impl<'de, const FIRST: u16> Deserialize<'de> for ByCode<FIRST> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut codes = ByCode::default();
        for (code, count) in BTreeMap::deserialize(deserializer)? {
            if code > LARGEST_CODE {
                return Err(Error::custom(format!("{code} is neither an RCODE nor an HTTP status")));
            }
            codes.add(code, count);
        }
        Ok(codes)
    }
}

#[cfg(feature = "schema")]
impl<const FIRST: u16> JsonSchema for ByCode<FIRST> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "ByCode".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let count = generator.subschema_for::<u64>();
        json_schema!({ "type": "object", "additionalProperties": count, "propertyNames": { "pattern": "^[0-9]+$" } })
    }
}

/// The codes that servers use: RCODEs 0 to 31, HTTP statuses 200 to 231.
const COMMON: usize = 32;

/// An extended RCODE has 12 bits, a status three digits.
const LARGEST_CODE: u16 = 4095;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_codes_are_counted_and_listed_in_order() {
        let mut rcodes = ByCode::<0>::default();
        [0, 3, 16, 23, 31, 32, 4095, 4095, 33].iter().for_each(|code| rcodes.add(*code, 1));
        let listed: Vec<_> = rcodes.iter().collect();
        assert_eq!(listed, [(0, 1), (3, 1), (16, 1), (23, 1), (31, 1), (32, 1), (33, 1), (4095, 2)]);
        assert_eq!((rcodes.total(), rcodes.of(4095), rcodes.of(5)), (9, 2, 0));
        let mut statuses = ByCode::<200>::default();
        [(500, 2), (200, 9), (103, 1), (404, 1)].iter().for_each(|(status, n)| statuses.add(*status, *n));
        assert_eq!(statuses.iter().collect::<Vec<_>>(), [(103, 1), (200, 9), (404, 1), (500, 2)]);
    }
}

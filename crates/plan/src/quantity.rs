//! Quantities in a plan file: written as text with a unit, or as a bare number.

use std::fmt;

use serde::de::{Deserializer, Error, Visitor};

use dnsdyno_text::notation::parse_count;

/// Reads the quantity of an optional key.
pub(crate) fn quantity<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    needed_quantity(deserializer).map(Some)
}

/// Reads the quantity of a required key.
pub(crate) fn needed_quantity<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    deserializer.deserialize_any(QuantityVisitor)
}

/// Reads a whole number of the command line: `100`, `100k`.
pub(crate) fn number<T: TryFrom<u64> + Bounded>(text: &str) -> Result<T, String> {
    let number = parse_count(text).ok().and_then(|number| T::try_from(number).ok());
    number.ok_or_else(|| format!("write a whole number from 0 to {}, such as 100 or 10k", T::LARGEST))
}

/// A kind of number with its largest value.
pub(crate) trait Bounded {
    const LARGEST: u64;
}

impl Bounded for u8 {
    const LARGEST: u64 = u8::MAX as u64;
}

impl Bounded for u16 {
    const LARGEST: u64 = u16::MAX as u64;
}

impl Bounded for u32 {
    const LARGEST: u64 = u32::MAX as u64;
}

impl Bounded for u64 {
    const LARGEST: u64 = u64::MAX;
}

impl Bounded for usize {
    const LARGEST: u64 = usize::MAX as u64;
}

struct QuantityVisitor;

impl Visitor<'_> for QuantityVisitor {
    type Value = String;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number, or a text such as \"50k\" or \"1.5s\"")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<String, E> {
        Ok(text.to_owned())
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<String, E> {
        Ok(number.to_string())
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<String, E> {
        Ok(number.to_string())
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<String, E> {
        if number.is_finite() { Ok(number.to_string()) } else { Err(E::custom("not a finite number")) }
    }
}

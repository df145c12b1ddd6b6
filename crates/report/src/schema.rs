//! The JSON Schema of the summary, which `docs/formats/summary.schema.json` publishes.

#[cfg(feature = "schema")]
mod generate;
#[cfg(feature = "schema")]
mod kinds;
#[cfg(test)]
mod tests;

#[cfg(feature = "schema")]
pub use generate::summary_schema;

/// The schema (JSON Schema 2020-12) of the object that `show --json` prints.
pub const SUMMARY_SCHEMA: &str = include_str!("../../../docs/formats/summary.schema.json");

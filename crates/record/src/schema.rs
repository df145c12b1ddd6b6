//! The JSON schema of `run.ndjson`.

#[cfg(feature = "schema")]
mod generate;

#[cfg(feature = "schema")]
pub use generate::run_schema;

/// The schema (JSON Schema 2020-12) of each line of a run file: a dns-metrics object with our property.
pub const RUN_SCHEMA: &str = include_str!("../../../docs/formats/run.schema.json");

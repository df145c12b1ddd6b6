//! The JSON schema of `run.ndjson`, for whoever wants to check a record.

/// The schema (JSON Schema 2020-12) that each line of a run file follows: the objects of
/// dns-metrics, and our property in them.
pub const RUN_SCHEMA: &str = include_str!("../../../docs/formats/run.schema.json");

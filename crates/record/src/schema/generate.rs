//! Makes the schema of `run.ndjson` from the types that are written and their doc comments.

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, SchemaGenerator};
use serde_json::{Value, json};

use crate::line::{EVENT, HEADER, HeaderOfFormat, Object, STATS_PERIODIC, STATS_SUM, StoredInterval};
use crate::standard::{StandardEvent, StandardHeader, StandardStats};
use crate::{Event, Sum};

/// The schema of the types of this version; [`RUN_SCHEMA`](super::RUN_SCHEMA) is its text.
pub fn run_schema() -> Value {
    let mut generator = SchemaSettings::draft2020_12().for_serialize().into_generator();
    let lines = [
        line::<Object<'_, StandardHeader<'_>, HeaderOfFormat<'_>>>(&mut generator, HEADER),
        line::<Object<'_, StandardStats, StoredInterval<'_>>>(&mut generator, STATS_PERIODIC),
        line::<Object<'_, StandardEvent<'_>, Event>>(&mut generator, EVENT),
        line::<Object<'_, StandardStats, Sum>>(&mut generator, STATS_SUM),
    ];
    let mut schema = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "https://dnsdyno.invalid/formats/run.schema.json",
        "title": "A line of a dnsdyno run file",
        "description": "Each line of run.ndjson is one of these objects: a dns-metrics object with our property \
                        \"dnsdyno\". Properties whose name ends in _ns are nanoseconds, instants since the start of \
                        the run. An absent counter, and each counter of an absent group, is 0. Other properties and \
                        types of lines may be added without a new format: skip them.",
        "oneOf": lines,
        "$defs": generator.take_definitions(true),
    });
    without_links(&mut schema);
    schema
}

fn line<T: JsonSchema>(generator: &mut SchemaGenerator, kind: &str) -> Value {
    let mut schema = T::json_schema(generator).to_value();
    schema["title"] = kind.into();
    schema["description"].take();
    schema["properties"]["type"] = json!({ "const": kind });
    schema
}

/// Removes the links of doc comments: ``[`Tally`](crate::Tally)`` becomes `Tally`.
fn without_links(value: &mut Value) {
    match value {
        Value::Object(object) => {
            object.retain(|key, value| !(key == "description" && value.is_null()));
            for (key, value) in object {
                match value {
                    Value::String(text) if key == "description" => *text = unlinked(text),
                    value => without_links(value),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(without_links),
        _ => {}
    }
}

fn unlinked(text: &str) -> String {
    let mut parts = text.split("[`");
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let Some((name, rest)) = part.split_once("`]") else { continue };
        let rest =
            rest.strip_prefix('(').and_then(|link| link.split_once(')')).map_or(rest, |(_, rest)| rest);
        plain += &format!("`{name}`{rest}");
    }
    plain.replace('\n', " ")
}

//! What the schema of the summary is made of: kinds of values, objects with nothing unknown, and groups of counters.

use serde_json::{Map, Value, json};

/// The properties of a group of counters: of durations the summary has percentiles, and it has each counter.
pub(super) fn counters(group: &Value) -> Value {
    fn in_summary(value: &mut Value) {
        match value {
            Value::Object(object) => {
                if object.get("$ref").is_some_and(|name| name == "#/$defs/Histogram") {
                    object.insert("$ref".to_owned(), "#/$defs/Durations".into());
                }
                if let Some(properties) = object.get("properties").cloned()
                    && let Value::Object(group) = closed_object(properties)
                {
                    object.extend(group);
                }
                object.values_mut().for_each(in_summary);
            }
            Value::Array(items) => items.iter_mut().for_each(in_summary),
            _ => {}
        }
    }
    let mut properties = group["properties"].clone();
    in_summary(&mut properties);
    properties
}

/// The same schema, which allows no other properties than those it has.
pub(super) fn closed(mut schema: Value) -> Value {
    match &mut schema {
        Value::Object(object) => {
            object.values_mut().for_each(|value| *value = closed(value.take()));
            if object.contains_key("properties") {
                object.insert("additionalProperties".to_owned(), false.into());
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| *item = closed(item.take())),
        _ => {}
    }
    schema
}

/// An object with all of these properties, and no other.
pub(super) fn closed_object(properties: Value) -> Value {
    let names: Vec<&String> = properties.as_object().into_iter().flat_map(Map::keys).collect();
    let required = json!(names);
    json!({ "type": "object", "properties": properties, "required": required, "additionalProperties": false })
}

pub(super) fn with(mut properties: Value, more: Value) -> Value {
    if let (Value::Object(into), Value::Object(from)) = (&mut properties, more) {
        into.extend(from);
    }
    properties
}

fn described(kind: Value, about: &str) -> Value {
    json!({ "type": kind, "description": about })
}

pub(super) fn text(about: &str) -> Value {
    described("string".into(), about)
}

pub(super) fn or_null_text(about: &str) -> Value {
    described(json!(["string", "null"]), about)
}

pub(super) fn number(about: &str) -> Value {
    described("number".into(), about)
}

pub(super) fn or_null_number(about: &str) -> Value {
    described(json!(["number", "null"]), about)
}

pub(super) fn count(about: &str) -> Value {
    json!({ "type": "integer", "minimum": 0, "description": about })
}

pub(super) fn or_null_count(about: &str) -> Value {
    json!({ "type": ["integer", "null"], "minimum": 0, "description": about })
}

pub(super) fn refer(name: &str, about: &str) -> Value {
    json!({ "$ref": format!("#/$defs/{name}"), "description": about })
}

pub(super) fn or_null(name: &str, about: &str) -> Value {
    json!({ "anyOf": [{ "$ref": format!("#/$defs/{name}") }, { "type": "null" }], "description": about })
}

pub(super) fn list_of(name: &str, about: &str) -> Value {
    json!({ "type": "array", "items": { "$ref": format!("#/$defs/{name}") }, "description": about })
}

pub(super) fn map_of(value: Value, about: &str) -> Value {
    json!({ "type": "object", "additionalProperties": value, "description": about })
}

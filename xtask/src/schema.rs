//! Generates the JSON schemas of the record and of the summary, and the tables of the record's page, from the types, so
//! that they cannot differ from them.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use serde_json::{Map, Value};

use crate::generated;

/// Writes the files, or with `--check` reports which of them are out of date.
pub(crate) fn run(root: &Path) -> anyhow::Result<Vec<String>> {
    let schema = dnsdyno_record::schema::run_schema();
    let page = fs::read_to_string(root.join(PAGE))?;
    let made = [
        (SCHEMA, serde_json::to_string_pretty(&schema)? + "\n"),
        (SUMMARY, serde_json::to_string_pretty(&dnsdyno_report::summary_schema())? + "\n"),
        (PAGE, with_tables(&page, &tables(&schema))?),
    ];
    generated::keep(root, "schema", &made)
}

/// The page with new tables between its two markers.
fn with_tables(page: &str, tables: &str) -> anyhow::Result<String> {
    let parts = page.split_once(BEGIN).and_then(|(before, rest)| Some((before, rest.split_once(END)?.1)));
    let (before, after) = parts.ok_or_else(|| anyhow::anyhow!("{PAGE} has no place for the tables"))?;
    Ok(format!("{before}{BEGIN}\n\n{tables}{END}{after}"))
}

/// A table of properties for each type of line, and for each type of object.
fn tables(schema: &Value) -> String {
    let mut text = String::new();
    for line in schema["oneOf"].as_array().into_iter().flatten() {
        table(&mut text, &format!("A line `{}`", line["title"].as_str().unwrap_or_default()), line);
    }
    for (name, object) in schema["$defs"].as_object().into_iter().flatten() {
        table(&mut text, &format!("`{name}`"), object);
    }
    text
}

fn table(text: &mut String, title: &str, object: &Value) {
    let mut rows = String::new();
    let variants = object["oneOf"].as_array().into_iter().flatten();
    for one in [object].into_iter().chain(variants.clone()) {
        properties(&mut rows, "", &one["properties"]);
    }
    for one in variants.filter(|one| !one["const"].is_null()) {
        row(&mut rows, &one["const"].to_string(), "", one);
    }
    let about = object["description"].as_str().unwrap_or_default();
    // Writing to a String cannot fail.
    let _ = write!(text, "### {title}\n\n{about}\n\n");
    if !rows.is_empty() {
        let _ = write!(text, "| property | type | what |\n|---|---|---|\n{rows}\n");
    }
}

/// A row for each property; the properties of unnamed objects follow it.
fn properties(rows: &mut String, above: &str, properties: &Value) {
    for (name, property) in properties.as_object().unwrap_or(&Map::new()) {
        let name = format!("{above}{name}");
        row(rows, &name, &kind(property), property);
        self::properties(rows, &format!("{name}."), &property["properties"]);
    }
}

fn row(rows: &mut String, name: &str, kind: &str, property: &Value) {
    let about = property["description"].as_str().unwrap_or_default().replace('|', "\\|");
    let _ = writeln!(rows, "| `{name}` | {kind} | {about} |");
}

/// The type as text: for a reference the name, for a list the type of its items.
fn kind(property: &Value) -> String {
    if let Some(name) = property["$ref"].as_str() {
        return format!("`{}`", name.trim_start_matches("#/$defs/"));
    }
    if let Some(value) = property.get("const") {
        return format!("`{value}`");
    }
    if let Some(any) = property["anyOf"].as_array() {
        return any.iter().map(kind).collect::<Vec<_>>().join(" or ");
    }
    match &property["type"] {
        Value::String(kind) if kind == "array" => format!("list of {}", self::kind(&property["items"])),
        Value::String(kind) => kind.clone(),
        Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" or "),
        _ => String::new(),
    }
}

const SCHEMA: &str = "docs/formats/run.schema.json";
const SUMMARY: &str = "docs/formats/summary.schema.json";
const PAGE: &str = "docs/formats/run.md";
const BEGIN: &str = "<!-- Written by `scripts/xtask schema`. -->";
const END: &str = "<!-- End of what is written. -->";

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_property_has_a_row_with_its_type_and_comment() {
        let schema = json!({
            "oneOf": [],
            "$defs": { "Ends": { "description": "How they end.", "properties": {
                "answered": { "type": "integer", "description": "In time." },
                "not_sent": { "type": "object", "properties": { "no_route": { "type": "integer" } } },
                "parts": { "type": "array", "items": { "$ref": "#/$defs/Part" } },
            } } },
        });
        let text = tables(&schema);
        for row in
            ["| `answered` | integer | In time. |", "| `not_sent.no_route` | integer |", "list of `Part`"]
        {
            assert!(text.contains(row), "{row} in {text}");
        }
        let page = format!("before\n{BEGIN}\nold\n{END}\nafter\n");
        let new = with_tables(&page, "new\n").unwrap();
        assert!(
            new.contains("before") && new.contains("new") && new.contains("after") && !new.contains("old")
        );
        assert!(with_tables("no marks", "").is_err());
    }
}

//! Every line follows our schema, and that of dns-metrics where a copy of it exists.

mod common;

use std::fs;
use std::path::{Path, PathBuf};

use common::{header, write_run};
use dnsdyno_record::{Headline, HostInfo, PACKED_FILE, RUN_FILE, RunWriter, schema::RUN_SCHEMA};
use jsonschema::Validator;
use serde_json::Value;

fn ours() -> Validator {
    jsonschema::validator_for(&serde_json::from_str(RUN_SCHEMA).unwrap()).unwrap()
}

/// Lines of a full run, of one in closed loop, and of one that failed.
fn sample_lines() -> Vec<Value> {
    let dir = tempfile::tempdir().unwrap();
    write_run(&dir.path().join("full"), &header(Headline::Response, 3), 6);
    write_run(&dir.path().join("closed"), &header(Headline::Service, 0), 2);
    let empty = common::sum(&[]);
    let failed = dnsdyno_record::Ended::Failed { why: "no socket".into() };
    let mut writer = RunWriter::create(
        &dir.path().join("failed"),
        &header(Headline::Response, 0),
        "",
        &HostInfo::default(),
    )
    .unwrap();
    let nothing = dnsdyno_measure::Tally::new(3);
    writer.finish(&dnsdyno_record::Sum { ended: failed, tally: nothing, ..empty }).unwrap();
    ["full", "closed", "failed"]
        .iter()
        .flat_map(|name| lines_of(&dir.path().join(name).join(RUN_FILE)))
        .collect()
}

fn lines_of(path: &Path) -> Vec<Value> {
    fs::read_to_string(path).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn assert_valid(validator: &Validator, lines: &[Value]) {
    for line in lines {
        let errors: Vec<_> = validator.iter_errors(line).map(|error| error.to_string()).collect();
        assert!(errors.is_empty(), "{} {errors:?}", line["type"]);
    }
}

#[test]
fn every_line_follows_our_schema() {
    let lines = sample_lines();
    assert_eq!(lines.len(), 9 + 5 + 2);
    assert_valid(&ours(), &lines);
}

#[test]
fn every_line_follows_the_schema_of_dns_metrics() {
    if let Some(validator) = dns_metrics() {
        assert_valid(&validator, &sample_lines());
    }
}

fn dns_metrics() -> Option<Validator> {
    let path: PathBuf =
        [env!("CARGO_MANIFEST_DIR"), "../../../shared/reference/dns-metrics.schema.json"].iter().collect();
    let Ok(text) = fs::read_to_string(&path) else {
        println!("skipped: {} is not there", path.display());
        return None;
    };
    Some(jsonschema::validator_for(&serde_json::from_str(&text).unwrap()).unwrap())
}

#[test]
fn the_decompressed_lines_of_a_long_run_follow_both_schemas() {
    let dir = tempfile::tempdir().unwrap();
    write_run(dir.path(), &header(Headline::Response, 3), 1_100);
    let packed = fs::File::open(dir.path().join(PACKED_FILE)).unwrap();
    let text = std::io::read_to_string(zstd::Decoder::new(packed).unwrap()).unwrap();
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 1 + 1_100 + 1 + 1);
    let few: Vec<Value> = lines.iter().step_by(37).chain(lines.last()).cloned().collect();
    assert_valid(&ours(), &few);
    if let Some(standard) = dns_metrics() {
        assert_valid(&standard, &few);
    }
}

#[test]
fn the_schema_knows_every_property_that_is_written() {
    let mut schema: Value = serde_json::from_str(RUN_SCHEMA).unwrap();
    close(&mut schema);
    let closed = jsonschema::validator_for(&schema).unwrap();
    for line in sample_lines() {
        assert_valid(&closed, std::slice::from_ref(&line));
        for place in
            ["", "/dnsdyno", "/dnsdyno/ends", "/dnsdyno/ends/not_sent", "/dnsdyno/arrivals/anomalies"]
        {
            let mut with = line.clone();
            let Some(Value::Object(object)) = with.pointer_mut(place) else { continue };
            object.insert("more".to_owned(), 1.into());
            assert!(!closed.is_valid(&with), "{} with {place}/more", line["type"]);
        }
    }
}

#[test]
fn a_value_of_another_type_is_refused() {
    let validator = ours();
    for line in sample_lines() {
        for (key, value) in line["dnsdyno"].as_object().unwrap() {
            let mut other = line.clone();
            other["dnsdyno"][key] = if value.is_boolean() { "no".into() } else { true.into() };
            assert!(!validator.is_valid(&other), "{} with another {key}", line["type"]);
        }
    }
}

#[cfg(feature = "schema")]
#[test]
fn the_schema_file_is_up_to_date() {
    let written: Value = serde_json::from_str(RUN_SCHEMA).unwrap();
    assert!(written == dnsdyno_record::schema::run_schema(), "run scripts/xtask schema");
}

/// Forbids additional properties in every object.
fn close(schema: &mut Value) {
    match schema {
        Value::Object(object) => {
            if object.contains_key("properties") {
                object.insert("unevaluatedProperties".to_owned(), false.into());
            }
            // Alternatives of an object that has properties besides are closed together with those.
            let is_whole = |key: &str| key != "oneOf" || !object.contains_key("properties");
            let keys: Vec<String> = object.keys().filter(|key| is_whole(key)).cloned().collect();
            keys.iter().for_each(|key| close(&mut object[key]));
        }
        Value::Array(items) => items.iter_mut().for_each(close),
        _ => {}
    }
}

#[test]
fn the_example_on_the_page_is_a_valid_line() {
    let page = include_str!("../../../docs/formats/run.md");
    let example = page.lines().find(|line| line.starts_with("{\"runid\"")).unwrap();
    assert_valid(&ours(), &[serde_json::from_str(example).unwrap()]);
}

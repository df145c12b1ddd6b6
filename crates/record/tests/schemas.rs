//! Every line follows our schema, and that of dns-metrics where it lies beside the checkout.

mod common;

use std::fs;
use std::path::{Path, PathBuf};

use common::{header, write_run};
use dnsdyno_record::{Headline, HostInfo, RUN_FILE, RunWriter, schema::RUN_SCHEMA};
use jsonschema::Validator;
use serde_json::Value;

fn ours() -> Validator {
    jsonschema::validator_for(&serde_json::from_str(RUN_SCHEMA).unwrap()).unwrap()
}

/// Lines of a full run, of one without any answer, and of one that failed.
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
fn every_line_follows_dns_metrics_where_its_schema_is_at_hand() {
    let path: PathBuf =
        [env!("CARGO_MANIFEST_DIR"), "../../../shared/reference/dns-metrics.schema.json"].iter().collect();
    let Ok(text) = fs::read_to_string(&path) else {
        println!("skipped: {} is not there", path.display());
        return;
    };
    let validator = jsonschema::validator_for(&serde_json::from_str(&text).unwrap()).unwrap();
    assert_valid(&validator, &sample_lines());
}

#[test]
fn a_line_without_any_one_of_our_properties_or_with_one_more_is_refused() {
    let validator = ours();
    for line in sample_lines() {
        for path in [
            "/dnsdyno",
            "/dnsdyno/ends",
            "/dnsdyno/ends/not_sent",
            "/dnsdyno/beside",
            "/dnsdyno/arrivals",
            "/dnsdyno/arrivals/connections",
            "/dnsdyno/fallback",
            "/dnsdyno/fallback/udp_failed",
            "/dnsdyno/fallback/tcp_failed",
            "/dnsdyno/members/0",
            "/dnsdyno/mix/0",
        ] {
            let Some(Value::Object(object)) = line.pointer(path) else { continue };
            for key in object.keys() {
                let mut without = line.clone();
                without.pointer_mut(path).unwrap().as_object_mut().unwrap().remove(key);
                assert!(!validator.is_valid(&without), "{} without {path}/{key}", line["type"]);
            }
            let mut with = line.clone();
            with.pointer_mut(path).unwrap()["more"] = 1.into();
            assert!(!validator.is_valid(&with), "{} with {path}/more", line["type"]);
        }
    }
}

#[test]
fn every_property_of_the_schema_is_explained_to_the_user() {
    let page = include_str!("../../../docs/formats/run.md");
    let schema: Value = serde_json::from_str(RUN_SCHEMA).unwrap();
    let mut names = Vec::new();
    property_names(&schema, &mut names);
    assert!(names.len() > 80, "{}", names.len());
    for name in names {
        let is_told = page.contains(&format!("`{name}`")) || page.contains(&format!("`{name}[]"));
        assert!(is_told, "docs/formats/run.md does not tell of {name:?}");
    }
}

#[test]
fn the_example_on_the_page_is_a_valid_line() {
    let page = include_str!("../../../docs/formats/run.md");
    let example = page.lines().find(|line| line.starts_with("{\"runid\"")).unwrap();
    assert_valid(&ours(), &[serde_json::from_str(example).unwrap()]);
}

/// The keys of every `properties` in `schema`.
fn property_names(schema: &Value, names: &mut Vec<String>) {
    match schema {
        Value::Object(object) => {
            if let Some(Value::Object(properties)) = object.get("properties") {
                names.extend(properties.keys().cloned());
            }
            object.values().for_each(|value| property_names(value, names));
        }
        Value::Array(items) => items.iter().for_each(|item| property_names(item, names)),
        _ => {}
    }
}

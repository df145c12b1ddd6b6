//! Runs of every kind, held against the schema.

use std::io;

use dnsdyno_record::Interval;
use jsonschema::Validator;
use serde_json::{Map, Value};

use super::*;
use crate::expect::expectations_json;
use crate::{sample, write_json};

fn validator() -> Validator {
    jsonschema::validator_for(&serde_json::from_str(SUMMARY_SCHEMA).unwrap()).unwrap()
}

fn errors(validator: &Validator, json: &Value) -> Vec<String> {
    validator.iter_errors(json).map(|error| format!("{}: {error}", error.instance_path())).collect()
}

fn written(digest: &dnsdyno_record::Digest, more: Map<String, Value>) -> Value {
    let intervals = [sample::second(0, 2_000, 0), sample::second(1, 0, 0)];
    let intervals = intervals.into_iter().map(Ok::<Interval, io::Error>);
    let mut out = Vec::new();
    write_json(&mut out, digest, more, intervals).unwrap();
    serde_json::from_slice(&out).unwrap()
}

#[test]
fn every_kind_of_run_follows_the_schema() {
    let validator = validator();
    let runs = [
        sample::stair(),
        sample::killed(),
        sample::doubtful(),
        sample::closed_loop(),
        sample::send_only(),
        sample::silent(),
        sample::over_tcp(),
        sample::over_doh(),
        sample::ten_queries(),
        sample::falling_back(),
        sample::mixed(),
        sample::checked(),
        sample::agents(&[]),
        sample::agents(&[1]),
    ];
    for digest in runs.iter().chain(&sample::hostile()) {
        let found = errors(&validator, &written(digest, Map::new()));
        assert!(found.is_empty(), "{}: {found:#?}", digest.header.load);
    }
}

#[test]
fn the_outcomes_of_expectations_follow_the_schema() {
    let digest = sample::stair();
    let of_run = dnsdyno_record::expect::evaluate(&sample::expectations(&["loss<1%", "p99<5ms"]), &digest);
    let each = dnsdyno_plan::expect::Expectation::parse_of_part("loss<1%").unwrap();
    let mut of_each = dnsdyno_record::expect::Each::new(&digest.header, &[each]);
    [(2_000, 0), (2_000, 100)]
        .into_iter()
        .enumerate()
        .for_each(|(i, (qps, lost))| of_each.interval(&sample::second(i as u64, qps, lost)));
    let outcomes =
        expectations_json(&of_run, &of_each.finish(u64::MAX, dnsdyno_record::expect::AtEnd::default()))
            .unwrap();
    let json = written(&digest, Map::from_iter([("expectations".to_owned(), outcomes)]));
    assert_eq!(errors(&validator(), &json), Vec::<String>::new());
}

#[test]
fn an_unknown_key_and_a_missing_one_do_not_follow_the_schema() {
    let validator = validator();
    let json = written(&sample::over_doh(), Map::new());
    for place in
        ["", "/run", "/queries", "/response/p50", "/connections/encrypted/failed", "/intervals/0", "/workers"]
    {
        let mut changed = json.clone();
        let Some(Value::Object(object)) = changed.pointer_mut(place) else { continue };
        object.insert("unknown".to_owned(), 1.into());
        assert!(!validator.is_valid(&changed), "an unknown key in {place}");
        let Some(Value::Object(object)) = changed.pointer_mut(place) else { continue };
        object.remove("unknown");
        let first = object.keys().next().cloned().unwrap();
        object.remove(&first);
        assert!(!validator.is_valid(&changed), "no {first} in {place}");
    }
}

#[cfg(feature = "schema")]
#[test]
fn the_published_schema_is_that_of_this_version() {
    let published: Value = serde_json::from_str(SUMMARY_SCHEMA).unwrap();
    assert!(published == summary_schema(), "run scripts/xtask schema");
}

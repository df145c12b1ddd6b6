//! The results of an experiment as one JSON object: `results.json`.

use dnsdyno_measure::PERCENTILES;
use serde_json::{Map, Value, json};

use super::{ExperimentReport, words};
use crate::compare::Figure;
use crate::compare::report::comparison_json;
use crate::experiment::{
    CellResult, CellState, ExperimentResult, Found, LoadKind, Moment, Spread, Step, steady_from_ns,
};

/// The results for programs.
pub fn experiment_json(report: &ExperimentReport<'_>) -> Value {
    let result = report.result;
    json!({
        "title": report.title,
        "state": words::state(result),
        "runs": result.runs,
        "seed": result.design.seed,
        "conditions": report.conditions,
        "servers": servers(report),
        "loads": loads(result),
        "cells": cells(report),
        "differences": differences(result),
        "discarded": discarded(result),
        "notes": result.notes,
    })
}

fn servers(report: &ExperimentReport<'_>) -> Vec<Value> {
    let subjects = report.result.design.subjects.iter().zip(&report.versions);
    subjects
        .map(|(subject, version)| {
            json!({
                "name": subject.name,
                "version": version,
                "against": subject.against.and_then(|against| server_name(report.result, against)),
                "changed": subject.differs,
            })
        })
        .collect()
}

fn loads(result: &ExperimentResult) -> Vec<Value> {
    let loads = result.design.loads.iter();
    loads
        .map(|load| {
            json!({
                "name": load.name,
                "kind": kind_key(load.kind),
                "repeats": load.repeats,
                "dropped_of_each_cell": load.dropped,
            })
        })
        .collect()
}

fn cells(report: &ExperimentReport<'_>) -> Vec<Value> {
    let cells = report.result.cells.iter().zip(&report.diagnoses);
    cells
        .map(|(cell, diagnosed)| {
            let mut value = cell_json(cell);
            value.insert("server".to_owned(), json!(server_name(report.result, cell.cell.subject)));
            value.insert("load".to_owned(), json!(load_name(report.result, cell.cell.load)));
            let findings: Map<String, Value> =
                diagnosed.findings.iter().map(|(rule, runs)| (rule.clone(), json!(runs))).collect();
            value.insert(
                "diagnosis".to_owned(),
                json!({ "verdict": diagnosed.verdict, "findings": findings }),
            );
            value.insert("beside".to_owned(), beside(report.result, cell));
            Value::Object(value)
        })
        .collect()
}

fn differences(result: &ExperimentResult) -> Vec<Value> {
    let differences = result.differences.iter();
    differences
        .map(|difference| {
            let (found, why) = match &difference.found {
                Ok(comparison) => (Some(comparison_json(comparison)), None),
                Err(why) => (None, Some(why)),
            };
            json!({
                "load": load_name(result, difference.load),
                "server": server_name(result, difference.subject),
                "against": server_name(result, difference.against),
                "sentence": words::difference(result, difference),
                "not_compared": why,
                "comparison": found,
            })
        })
        .collect()
}

fn discarded(result: &ExperimentResult) -> Vec<Value> {
    let discarded = result.discarded.iter();
    discarded
        .map(|run| {
            let why: Vec<String> = run.doubts.iter().map(ToString::to_string).collect();
            json!({
                "run": run.number,
                "server": server_name(result, run.cell.subject),
                "load": load_name(result, run.cell.load),
                "why": why,
            })
        })
        .collect()
}

fn server_name(result: &ExperimentResult, number: usize) -> Option<&str> {
    result.design.subjects.get(number).map(|subject| subject.name.as_str())
}

fn load_name(result: &ExperimentResult, number: usize) -> Option<&str> {
    result.design.loads.get(number).map(|load| load.name.as_str())
}

fn cell_json(cell: &CellResult) -> Map<String, Value> {
    let mut value = Map::new();
    let mut add = |key: &str, of: Value| drop(value.insert(key.to_owned(), of));
    add("state", json!(state_key(cell.state)));
    add("runs", json!(cell.runs.iter().map(|run| run.number).collect::<Vec<_>>()));
    add(
        "found",
        json!(cell.found.iter().map(|(number, found)| found_json(*number, found)).collect::<Vec<_>>()),
    );
    add("asked_qps", json!(cell.asked_qps));
    let figures = [
        ("answered_qps", cell.answered),
        ("answered_share", cell.share),
        ("server_cpu_ns_per_answer", cell.cpu_ns),
        ("server_cpu_share", cell.cpu_share),
        ("server_memory_bytes", cell.memory_bytes),
        ("bits_per_s", cell.bits_per_s),
        ("wobble", cell.wobble),
    ];
    figures.into_iter().for_each(|(key, of)| add(key, spread(of, false)));
    let latencies = [("average", cell.average), ("shortest", cell.shortest), ("longest", cell.longest)];
    let percentiles = PERCENTILES.iter().map(|(key, ..)| *key).zip(cell.percentiles.values);
    percentiles.chain(latencies).for_each(|(key, of)| add(key, spread(of, true)));
    add("steps", cell.steps.iter().map(step).collect());
    if !cell.course.is_empty() {
        add("course", cell.course.iter().map(moment).collect());
        add("even_from_ns", json!(steady_from_ns(&cell.course)));
    }
    value
}

/// An interval of a load whose course is shown.
fn moment(moment: &Moment) -> Value {
    let mut value = json!({
        "from_ns": moment.from_ns,
        "to_ns": moment.to_ns,
        "answered_qps": spread(moment.answered, false),
    });
    for ((key, ..), of) in PERCENTILES.iter().zip(moment.percentiles.values) {
        value[*key] = spread(of, true);
    }
    value
}

/// A rate of a load that has several.
fn step(step: &Step) -> Value {
    let mut value = json!({
        "asked_qps": step.asked_qps,
        "answered_qps": spread(step.answered, false),
        "answered_share": spread(step.share, false),
    });
    for ((key, ..), of) in PERCENTILES.iter().zip(step.percentiles.values) {
        value[*key] = spread(of, true);
    }
    value
}

fn found_json(number: u32, found: &Found) -> Value {
    let figure = found.figure.as_ref().map(|figure| {
        json!({
            "value": figure.value,
            "unit": figure.unit,
            "from": figure.from,
            "to": figure.to,
            "at_least": figure.is_at_least,
        })
    });
    json!({ "run": number, "answer": found.answer, "figure": figure, "text": words::lines(found) })
}

fn kind_key(kind: LoadKind) -> &'static str {
    match kind {
        LoadKind::Run => "run",
        LoadKind::Search => "search",
        LoadKind::Program => "program",
    }
}

/// The columns that are made of watched series, by their keys.
fn beside(result: &ExperimentResult, cell: &CellResult) -> Value {
    let of = |at: usize| spread(cell.columns.get(at).copied().flatten(), false);
    result.columns.iter().enumerate().map(|(at, column)| (column.key.clone(), of(at))).collect()
}

/// The key of a state.
fn state_key(state: CellState) -> &'static str {
    match state {
        CellState::Complete => "complete",
        CellState::Short => "short",
        CellState::InDoubt => "in_doubt",
        CellState::NotMeasured => "not_measured",
        CellState::Unfinished => "unfinished",
    }
}

/// Latencies are objects, as in the other forms, because they may be bounds only.
fn spread(spread: Option<Spread>, is_latency: bool) -> Value {
    let of = |figure: Figure| match is_latency {
        true => json!({ "ns": figure.value as u64, "beyond_timeout": figure.beyond_timeout }),
        false => json!(figure.value),
    };
    spread.map_or(Value::Null, |spread| {
        let mut value =
            json!({ "lowest": of(spread.lowest), "median": of(spread.median), "highest": of(spread.highest) });
        match is_latency {
            true => value["wide"] = spread.is_wide.into(),
            false => value["mean"] = spread.mean.into(),
        }
        value
    })
}

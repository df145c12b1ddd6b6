//! What is printed of a history: text, Markdown, JSON, JUnit.

use std::collections::BTreeMap;

use crate::history::accept::Accepted;
use crate::history::axis::Axis;
use crate::history::gate::{Gate, judge_gate};
use crate::history::sample::stepped;
use crate::history::{History, HistoryRun, Row, What, judge, rows};

use super::*;

fn history(runs: Vec<HistoryRun>, gates: &[&str], accepted: &[Accepted]) -> History {
    let rows = rows::rows(runs, &Axis::Time, &[]).into_iter();
    let rows: Vec<_> = rows.map(|row| (row.clone(), judge::judge(&row, accepted, 1))).collect();
    let gates = gates.iter().flat_map(|gate| judge_gate(&Gate::parse(gate).unwrap(), &rows)).collect();
    History {
        axis: Axis::Time,
        rows,
        gates,
        unreadable: Vec::new(),
        in_progress: 0,
        not_meant: 0,
        read: 0,
        unknown_accepted: Vec::new(),
        no_index: None,
        is_cut: false,
    }
}

#[test]
fn a_step_is_told_with_its_run_in_all_forms() {
    let history = history(stepped(40, 25, 0.9), &["rate=5%"], &[]);
    let text = history_text(&history, 100);
    assert!(
        text.contains("answers 45,") && text.contains("step -10.") && text.contains("from 025"),
        "{text}"
    );
    assert!(text.contains("1 step worse in 1 row.") && text.contains("exceeded: rate=5% (-"), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
    let markdown = history_markdown(&history);
    assert!(
        markdown.contains("| ❌ | answers |") && markdown.contains("- ❌ exceeded: rate=5%"),
        "{markdown}"
    );
    let junit = history_junit(&history);
    assert!(junit.contains("failures=\"1\"") && junit.contains("<failure message=\"exceeded: -"), "{junit}");
    let json = history_json(&history);
    let step = &json["rows"][0]["metrics"][0]["steps"][0];
    assert_eq!((&step["began"], &step["verdict"]), (&"025".into(), &"worse".into()));
    assert!((step["change"].as_f64().unwrap() + 0.1).abs() < 0.02);
    assert_eq!(json["gates"][0]["state"], "exceeded");
}

#[test]
fn an_accepted_step_has_its_reason_and_is_no_regression() {
    let accepted = Accepted { run: "025".into(), reason: "new <host>".into(), unix_ns: 1 };
    let history = history(stepped(40, 25, 0.9), &["rate=5%"], &[accepted]);
    let text = history_text(&history, 400);
    assert!(text.contains("accepted step -10.") && text.contains("accepted: new <host>"), "{text}");
    assert!(text.contains("1 step accepted in 1 row.") && text.contains("kept: rate=5%"), "{text}");
    assert!(!history_markdown(&history).contains("<host>"), "no markup of others");
    assert!(history_junit(&history).contains("failures=\"0\""));
}

#[test]
fn without_a_step_the_smallest_that_could_be_shown_is_told() {
    let text = history_text(&history(stepped(40, 40, 1.0), &[], &[]), 100);
    assert!(text.contains("no step that these runs could show (smallest: "), "{text}");
    let few = history_text(&history(stepped(5, 5, 1.0), &["rate=5%"], &[]), 100);
    assert!(few.contains("not judged: 5 runs are too few to show a step, 10 are needed"), "{few}");
    assert!(few.contains("not judged: rate=5% (5 runs of this kind, and 10 are needed)"), "{few}");
    let none = history_text(&history(Vec::new(), &["rate=5%"], &[]), 100);
    assert!(none.contains("There is no run, search or experiment to follow."), "{none}");
    assert!(none.contains("not judged: rate=5% (no run has the metric rate)"), "{none}");
}

#[test]
fn the_name_of_a_row_begins_with_what_a_reader_asks_first() {
    let differs = [
        ("clients", "not given"),
        ("do", "false"),
        ("edns-size", "1232"),
        ("load", "5k"),
        ("server", "knot"),
    ];
    let differs = differs.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
    let row = Row { what: What::Run, differs, asked: BTreeMap::new(), runs: Vec::new() };
    assert!(
        words::row_name(&row).starts_with("server knot; load 5k; edns-size 1232; "),
        "{}",
        words::row_name(&row)
    );
}

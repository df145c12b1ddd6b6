//! The figures and the page of an experiment with real servers, against the lines of the records themselves: each
//! column is computed here anew from `run.ndjson`, and the page says what `results.json` says.

use std::collections::BTreeMap;

use dnsdyno_lab::{Need, require};
use dnsdyno_text::units::{bits_per_s, bytes, duration, percent, rate};
use serde_json::Value;

use crate::beside::experiment::{experiment, results};
use crate::support::Workplace;

const FILE: &str = r#"
title = "columns"
repeats = 1
drop-first = 0
cool-down = "20ms"
steady = "off"
in-doubt = "keep"
columns = [
  "queries seen = server queries",
  "of each query = server queries / queries",
  "process context_switches.voluntary / s",
  "server no.such.series",
]

[run]
for = "1s"
timeout = "300ms"

[[server]]
name = "nsd"
template = "nsd"

[[server.variant]]
name = "reuseport"
values = { reuseport = "yes" }

[[server]]
name = "knot"
template = "knot"

[[load]]
name = "slow"
rate = 200
for = "4s"

[[load]]
name = "fast"
rate = 500

[[load]]
name = "window"
outstanding = 2

[[load]]
name = "stair"
stair = "200..600"
step = "200"
hold = "1s"
for = "3s"

[[load]]
name = "said"
command = "printf '  <a>\tb  |\n\nrate:\t1,234\n'"
figure = "rate:"
"#;

/// The lines of a record: its header, its intervals and its sum.
struct Lines {
    header: Value,
    intervals: Vec<Value>,
    sum: Value,
}

fn lines(work: &Workplace, run: u64) -> Lines {
    let text = work.read(&format!("out/runs/{run:03}/run.ndjson"));
    let all: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let of = |kind: &str| -> Vec<Value> {
        let own = all.iter().filter(|line| line["type"] == kind);
        own.map(|line| line["dnsdyno"].clone()).collect()
    };
    Lines { header: of("header").remove(0), intervals: of("stats_periodic"), sum: of("stats_sum").remove(0) }
}

impl Lines {
    /// The number of the source of this kind that is the server's.
    fn source(&self, kind: &str) -> usize {
        let is_it = |watched: &Value| watched["kind"] == kind && watched["side"] == "server";
        let watched = self.header["watched"].as_array().unwrap();
        watched.iter().position(is_it).unwrap_or_else(|| panic!("no {kind} is watched: {watched:?}"))
    }

    fn counter(&self, kind: &str, name: &str) -> f64 {
        let samples = &self.sum["watched"][self.source(kind)];
        samples["counters"][name].as_f64().or_else(|| samples["gauges"][name].as_f64()).unwrap()
    }

    fn lasted_s(&self) -> f64 {
        self.sum["to_ns"].as_f64().unwrap() * 1e-9
    }

    /// The answers that arrived in each second that the load covers wholly.
    fn seconds(&self) -> Vec<f64> {
        let length_ns = self.header["interval_ns"].as_u64().unwrap();
        let whole = self.intervals.iter().filter(|interval| interval.get("covered_ns").is_none());
        let answered: Vec<f64> =
            whole.map(|interval| interval["arrivals"]["answered"].as_f64().unwrap_or(0.0)).collect();
        let parts = (1_000_000_000 / length_ns) as usize;
        answered.chunks_exact(parts).map(|second| second.iter().sum()).collect()
    }

    /// What the process used of a CPU in the intervals with load in which it was read.
    fn cpu_share(&self) -> f64 {
        let process = self.source("process");
        let (mut used, mut over) = (0.0, 0.0);
        for interval in self.intervals.iter().filter(|interval| interval["covered_ns"] != 0) {
            let Some(samples) = interval["watched"][process].as_object() else { continue };
            let cpu_ns = samples.get("counters").and_then(|counters| counters["cpu_ns"].as_f64());
            used += cpu_ns.unwrap_or(0.0);
            over += interval["to_ns"].as_f64().unwrap() - interval["from_ns"].as_f64().unwrap();
        }
        used / over
    }
}

/// A row of `results.csv` by its titles.
fn rows(work: &Workplace) -> Vec<BTreeMap<String, String>> {
    let text = work.read("out/results.csv");
    let mut lines = text.lines().map(|line| line.split(',').map(str::to_owned).collect::<Vec<_>>());
    let titles = lines.next().unwrap();
    lines.map(|cells| titles.iter().cloned().zip(cells).collect()).collect()
}

fn is(row: &BTreeMap<String, String>, title: &str, expected: f64) {
    let found: f64 = row[title].parse().unwrap_or_else(|_| panic!("{title} is missing: {row:?}"));
    assert!(
        (found - expected).abs() <= expected.abs() * 1e-9 + 1e-12,
        "{title}: {found}, not {expected}: {row:?}"
    );
}

/// Holds a row of the table of runs against the record of its run.
fn holds(work: &Workplace, row: &BTreeMap<String, String>) {
    let record = lines(work, row["run"].parse().unwrap());
    let sum = &record.sum;
    let number = |value: &Value| value.as_f64().unwrap_or_else(|| panic!("no number in {sum}"));
    let schedule_s = number(&sum["schedule_ns"]) * 1e-9;
    is(row, "bits_per_s", number(&sum["bytes_answered"]) * 8.0 / schedule_s);
    let latency = &sum[record.header["headline"].as_str().unwrap()];
    let mean = number(&latency["sum_ns"]) / number(&latency["count"]);
    assert!((row["average_ns"].parse::<f64>().unwrap() - mean).abs() <= 1.0, "{row:?}");
    is(row, "shortest_ns", number(&latency["min_ns"]));
    // A counter that is 0 is not in the record.
    if sum["ends"]["answered"] == sum["scheduled"] {
        is(row, "longest_ns", number(&latency["max_ns"]));
    }
    is(row, "server_memory_bytes", record.counter("process", "memory_bytes"));
    let cpu_ns = record.counter("process", "cpu_ns");
    if cpu_ns > 0.0 {
        is(row, "server_cpu_ns_per_answer", cpu_ns / number(&sum["ends"]["answered"]));
    }
    // A process whose time is told in hundredths of a second may have used none in the intervals.
    match record.cpu_share() {
        share if share > 0.0 => is(row, "server_cpu_share", share),
        _ if cpu_ns > 0.0 => is(row, "server_cpu_share", cpu_ns * 1e-9 / record.lasted_s()),
        _ => assert_eq!(row["server_cpu_share"], ""),
    }
    let switches = record.counter("process", "context_switches.voluntary");
    is(row, "process context_switches.voluntary / s", switches / record.lasted_s());
    assert_eq!(row["server no.such.series"], "");
    if row["server"].starts_with("nsd") {
        let seen = record.counter("server", "queries");
        is(row, "queries seen", seen);
        is(row, "of each query", seen / number(&sum["scheduled"]));
        // What the server itself counts are the queries that it was sent, and the check before them at most.
        assert!(seen >= number(&sum["ends"]["answered"]), "{row:?}");
    }
    if row["load"] == "slow" {
        let seconds = record.seconds();
        assert!(seconds.len() >= 3, "{seconds:?}");
        let mean = seconds.iter().sum::<f64>() / seconds.len() as f64;
        let squares: f64 = seconds.iter().map(|second| (second - mean).powi(2)).sum();
        is(row, "wobble", (squares / (seconds.len() - 1) as f64).sqrt() / mean);
    } else {
        assert_eq!(row["wobble"], "", "it is too short, or changes its rate");
    }
}

/// The row of the page's table of details that `results.json` asks for.
fn row_of_details(cell: &Value) -> String {
    let of = |value: &Value, text: &dyn Fn(f64) -> String| value.as_f64().map_or("-".to_owned(), text);
    let latency = |end: &Value| {
        assert_eq!(end["beyond_timeout"], false, "{cell}");
        of(&end["ns"], &|ns| duration(ns as u64))
    };
    let figures = [
        of(&cell["answered_qps"]["mean"], &rate),
        of(&cell["answered_qps"]["lowest"], &rate),
        of(&cell["answered_qps"]["highest"], &rate),
        of(&cell["wobble"]["median"], &percent),
        latency(&cell["average"]["median"]),
        latency(&cell["shortest"]["lowest"]),
        latency(&cell["longest"]["highest"]),
        of(&cell["server_cpu_share"]["median"], &percent),
        of(&cell["server_memory_bytes"]["highest"], &bytes),
        of(&cell["bits_per_s"]["median"], &bits_per_s),
    ];
    let cells: String = figures.iter().map(|figure| format!("<td class=\"right\">{figure}</td>")).collect();
    let (load, server) = (cell["load"].as_str().unwrap(), cell["server"].as_str().unwrap());
    format!("<tr><th scope=\"row\">{load}</th><td>{server}</td>{cells}</tr>")
}

#[test]
fn each_column_is_that_of_the_records_and_the_page_says_what_the_results_say() {
    if !require(&[Need::Server("nsd"), Need::Server("knot")]) {
        return;
    }
    let work = Workplace::new();
    work.write("x.toml", FILE);
    let ran = experiment(&work, "-o out").gives(0);
    let rows = rows(&work);
    assert_eq!(rows.len(), 12, "three servers under four loads");
    rows.iter().for_each(|row| holds(&work, row));
    assert!(
        ran.stdout.contains("no run has a figure for the column `server no.such.series`"),
        "{}",
        ran.stdout
    );

    let (found, page) = (results(&work, "out"), work.read("out/index.html"));
    let cells = found["cells"].as_array().unwrap();
    let measured: Vec<&Value> = cells.iter().filter(|cell| cell["load"] != "said").collect();
    for cell in &measured {
        if cell["longest"]["highest"]["beyond_timeout"] == false {
            let row = row_of_details(cell);
            assert!(page.contains(&row), "no {row} in the page");
        }
    }
    // Rates at their rates, the closed loop beside them, and each rate of the stair.
    assert!(page.contains(">asked, queries/s</text>") && page.contains(">window</text>"), "{page}");
    assert!(!page.contains(">slow</text>"), "a load with a rate has no place of its own");
    for (at, asked) in [200.0, 400.0, 600.0].into_iter().enumerate() {
        let stair = measured.iter().find(|cell| cell["load"] == "stair" && cell["server"] == "knot").unwrap();
        let step = &stair["steps"][at];
        assert!((step["asked_qps"].as_f64().unwrap() - asked).abs() < 1.0, "{step}");
        let answered = rate(step["answered_qps"]["median"].as_f64().unwrap());
        let title = format!("<title>knot under stair at {} queries/s: {answered}/s</title>", rate(asked));
        assert!(page.contains(&title), "no {title} in the page");
    }
    // Any two servers, and the way to each run.
    for pair in ["pair-0-1", "pair-0-2", "pair-1-2"] {
        assert!(
            page.contains(&format!("href=\"#{pair}\"")) && page.contains(&format!("id=\"{pair}\"")),
            "{pair}"
        );
    }
    for run in 1..=15 {
        assert!(page.contains(&format!("href=\"runs/{run:03}/\"")), "no link to run {run}");
    }

    // What a program has printed: to the character.
    let printed = "  <a>\tb  |\n\nrate:\t1,234\n";
    assert_eq!(work.read("out/runs/013/output.txt"), printed);
    assert!(ran.stdout.contains(printed), "{}", ran.stdout);
    assert!(work.read("out/results.md").contains("      <a>\tb  |\n\n    rate:\t1,234\n"));
    assert!(page.contains("<pre>  &lt;a&gt;\tb  |\n\nrate:\t1,234</pre>"), "{page}");
}

#[test]
fn columns_are_added_to_a_finished_experiment_and_its_page_leads_to_pages_of_runs() {
    if !require(&[Need::Server("nsd")]) {
        return;
    }
    let work = Workplace::new();
    let file = |columns: &str| {
        format!(
            "{columns}repeats = 1\ndrop-first = 0\ncool-down = \"20ms\"\nsteady = \"off\"\nin-doubt = \"keep\"\n\
             [run]\nfor = \"1s\"\n[[server]]\nname = \"nsd\"\ntemplate = \"nsd\"\n\
             [[load]]\nname = \"l\"\nrate = 200\n"
        )
    };
    work.write("x.toml", file(""));
    experiment(&work, "-o out").gives(0);
    assert!(!work.read("out/results.md").contains("seen by it"));
    work.dnsdyno("report out/runs/001").gives(0);
    work.write("x.toml", file("columns = [\"seen by it = server queries\"]\n"));
    let ran = experiment(&work, "-o out").gives(0);
    assert!(ran.stdout.contains("1 runs were made"), "none is made again: {}", ran.stdout);
    let seen = &results(&work, "out")["cells"][0]["beside"]["seen by it"]["median"];
    assert!((200.0..=202.0).contains(&seen.as_f64().unwrap()), "{seen}");
    assert!(work.read("out/results.md").contains("| seen by it |") && ran.stdout.contains("seen by it"));
    assert!(work.read("out/index.html").contains("href=\"runs/001/report.html\""));
    work.write("x.toml", file("columns = [\"seen by it = sever queries\"]\n"));
    experiment(&work, "-o out")
        .ends_refused(2, &["at line 1, column 12", "`sever` in `sever queries` is neither"]);
}

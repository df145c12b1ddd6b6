//! What is printed, and to what: terminals, pipes, files, scripts.

use dnsdyno_responder::{Faults, Share};
use serde_json::Value;

use crate::support::{Workplace, has_program, responder};

/// Runs the program on a terminal with these settings; what it printed.
fn on_a_terminal(work: &Workplace, settings: &str, words: &str) -> String {
    let script = format!("{settings} script -qec \"stty rows 24 cols 40; $0 {words}\" /dev/null");
    work.shell(&script).gives(0).stdout
}

#[test]
fn only_a_capable_terminal_has_a_screen_and_colours_are_not_forced_on_anyone() {
    let work = Workplace::new();
    let server = responder(Faults::default());
    let run = format!("run -s {} --ask www.example --rate 500 --for 1s --interval 250ms", server.address());
    let live = on_a_terminal(&work, "env -u NO_COLOR TERM=xterm", &format!("{run} -o live"));
    assert!(live.contains("\u{1b}[?1049h") && !live.contains("1 s  asked"), "{live:?}");
    let others = [
        ("TERM=xterm NO_COLOR=1", "colourless", ""),
        ("TERM=dumb", "dumb", ""),
        ("env -u NO_COLOR TERM=xterm", "plain", "--plain"),
    ];
    for (settings, name, flag) in others {
        let lines = on_a_terminal(&work, settings, &format!("{run} -o {name} {flag}"));
        assert!(lines.contains("1 s  asked 500") && !lines.contains('\u{1b}'), "{lines:?}");
        let widest = lines.lines().map(|line| line.trim_end().chars().count()).max();
        assert!(widest.is_some_and(|widest| widest <= 40), "{widest:?}: {lines}");
    }
    let pipe = work.dnsdyno(&format!("{run} -o pipe")).gives(0);
    assert!(!(pipe.stdout + &pipe.stderr).contains('\u{1b}'));
}

#[test]
fn a_closed_output_ends_no_run() {
    let work = Workplace::new();
    let server = responder(Faults::default());
    let run = format!("run -s {} --ask www.example --rate 500 --count 100", server.address());
    work.shell(&format!("$0 {run} -o out >&-")).gives(0);
    work.shell(&format!("$0 {run} -o err 2>&-")).gives(0);
    work.shell(&format!("$0 {run} -o pipe | true")).gives(0);
    for name in ["out", "err", "pipe"] {
        assert_eq!(work.record(name).tally().ends.answered, 100);
    }
}

#[test]
fn scripts_get_every_interval_as_json_and_as_csv() {
    let work = Workplace::new();
    let server = responder(Faults::default());
    let run = format!("run -s {} --ask www.example --stair 1k..2k --step 1k", server.address());
    let ran = work.dnsdyno(&format!("{run} --hold 500ms --interval 100ms --quiet -o run")).gives(0);
    assert!(ran.stdout.contains("steps: "), "{}", ran.stdout);
    let digest = work.record("run");
    let json: Value = serde_json::from_str(&work.dnsdyno("show run --json").gives(0).stdout).unwrap();
    let intervals = json["intervals"].as_array().unwrap();
    assert_eq!(intervals.len() as u64, digest.intervals);
    let scheduled = |interval: &Value| interval["queries"]["scheduled"].as_u64();
    assert_eq!(intervals.iter().filter_map(scheduled).sum::<u64>(), 1_500);
    let csv = work.dnsdyno("show run run --csv").gives(0).stdout;
    let lines: Vec<Vec<&str>> = csv.lines().map(|line| line.split(',').collect()).collect();
    assert_eq!(lines.len() as u64, 1 + 2 * digest.intervals);
    let column = |title: &str| lines[0].iter().position(|one| *one == title).unwrap();
    for (line, interval) in lines[1..].iter().zip(intervals) {
        assert_eq!(
            line[column("p50_ns")],
            interval["p50"]["ns"].as_u64().map_or(String::new(), |ns| ns.to_string())
        );
        assert_eq!(line[column("scheduled")].parse().ok(), scheduled(interval));
    }
    // The record has the same percentiles.
    let recorded = work.read("run/run.ndjson");
    let recorded = recorded.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let recorded: Vec<_> = recorded.filter(|line| line["type"] == "stats_periodic").collect();
    for (line, interval) in recorded.iter().zip(intervals) {
        assert_eq!(line["dnsdyno"]["percentiles"]["p50"], interval["p50"]);
    }
    let steps = work.dnsdyno("show run --csv --rows").gives(0).stdout;
    assert_eq!(steps.lines().count(), 3, "{steps}");
    work.dnsdyno("show run --csv --json").gives(2);
}

/// The recipes on the page about the record: blocks of shell, one command each.
fn recipes() -> Vec<String> {
    let page = include_str!("../../../../../docs/formats/run.md");
    let blocks = page.split("```sh\n").skip(1).filter_map(|rest| rest.split_once("\n```"));
    blocks.map(|(block, _)| block.to_owned()).collect()
}

#[test]
fn every_recipe_of_the_page_about_the_record_prints_something() {
    let work = Workplace::new();
    if !has_program("jq") {
        return;
    }
    let server = responder(Faults::default());
    let run = format!("run -s {} --ask www.example --rate 2k --for 1s --interval 500ms", server.address());
    work.dnsdyno(&format!("{run} --quiet -o runs/NAME")).gives(0);
    // A second of only timeouts, and a warning.
    let silent = responder(Faults { loss: Share::new(1.0).unwrap(), ..Faults::default() });
    let run = format!("run -s {} --ask www.example --rate 1k --for 1s --timeout 100ms", silent.address());
    work.dnsdyno(&format!("{run} --quiet -o lost")).completes();
    assert!(recipes().len() > 4);
    for recipe in recipes() {
        let of = |run: &str| {
            let ours = recipe.strip_prefix("dnsdyno ").map(|rest| format!("\"$0\" {rest}"));
            let script = ours.unwrap_or(recipe.clone()).replace("run.ndjson", &format!("{run}/run.ndjson"));
            work.shell(&script).gives(0).stdout
        };
        assert!(!(of("runs/NAME") + &of("lost")).is_empty() || recipe.contains("warnings"), "{recipe}");
    }
}

#[test]
fn the_version_and_its_formats_are_there_as_json() {
    let work = Workplace::new();
    let plain = work.dnsdyno("--version").gives(0).stdout;
    for words in ["--version --json", "--json -V"] {
        let told: Value = serde_json::from_str(&work.dnsdyno(words).gives(0).stdout).unwrap();
        assert_eq!(format!("dnsdyno {}\n", told["version"].as_str().unwrap()), plain);
        assert_eq!(told["formats"]["record"]["written"].as_u64(), Some(u64::from(dnsdyno_record::FORMAT)));
        assert!(told["target"].as_str().unwrap().ends_with("-linux-gnu"), "{told}");
    }
}

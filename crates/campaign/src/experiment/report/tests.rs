//! The forms of the results, with figures that are known: those of made records.

use dnsdyno_measure::{Side, Watched, WatchedKind};
use dnsdyno_record::{Digest, Header, Interval, Phase};
use serde_json::Value;

use super::*;
use crate::compare::ComparedRun;
use crate::compare::sample::{MADE, SECOND, SyntheticRun, header, run_of, samples, second, source};
use crate::experiment::tests::{carry_out, design, of_equals, times};
use crate::experiment::{
    Column, Design, ExperimentResult, Found, LoadKind, Next, Outcome, ReadRun, Seconds, Subject, results,
};

/// What the made runs watch: the process of the server, its statistics, and a database behind it.
fn watched() -> Vec<Watched> {
    vec![
        source(WatchedKind::Process, Side::Server, "pdns"),
        source(WatchedKind::Server, Side::Server, "pdns"),
        source(WatchedKind::Server, Side::Other, "mariadb"),
    ]
}

/// A run of four seconds at 1,000 queries a second, which are all answered, with 200 octets each. So many answers more,
/// or fewer, arrive in each second; the server uses half a CPU and `megabytes` of memory.
fn made(number: u32, arrive: [i64; 4], megabytes: u64) -> ReadRun {
    let label = format!("{number:03}");
    let synthetic = SyntheticRun { started_s: number.into(), ..MADE };
    let head = Header { watched: watched(), ..header(&label, synthetic) };
    let mut seconds = Seconds::new(&head);
    let mut digest = Digest::new(head.clone());
    for (index, more) in (0..).zip(arrive) {
        let mut interval = second(index, synthetic);
        interval.arrivals.answered = 1_000_u64.saturating_add_signed(more);
        interval.tally.bytes_answered = 200 * 1_000;
        interval.watched = vec![samples(&[("cpu_ns", SECOND / 2)], &[]), None, None];
        seconds.interval(&interval);
        digest.interval(&interval);
    }
    let mut sum = run_of(&label, synthetic, head).digest.sum.unwrap();
    (sum.tally, sum.arrivals) = (digest.tally().clone(), digest.arrivals().clone());
    (sum.to_ns, sum.schedule_ns) = (digest.to_ns(), digest.schedule_ns());
    sum.watched = vec![
        samples(&[("cpu_ns", 2 * SECOND)], &[("memory_bytes", megabytes * 1_000_000)]),
        samples(&[("cache.hits", 3_000), ("cache.misses", 1_000)], &[]),
        samples(&[("statements.select", 12_000)], &[]),
    ];
    digest.sum(&sum);
    let path = format!("runs/{label}");
    ReadRun { run: ComparedRun { label: path.clone(), path: path.into(), digest, plan: None }, seconds }
}

const COLUMNS: [&str; 4] = [
    "hits, of all = server cache.hits / server cache.hits + server cache.misses",
    "mariadb statements.select / answers",
    "process cpu_ns / s",
    "server dropped.queue",
];

/// Two runs of a server that wobbles, and of one that does not.
fn wobbling() -> ExperimentResult {
    let columns = COLUMNS.map(|text| Column::parse(text).unwrap()).to_vec();
    let design = Design { columns, ..times(0, 2, design(2, 1)) };
    let experiment = carry_out(design, |_, _| Ok(made(1, [0; 4], 10).run.digest));
    let of = |number: u32| match number {
        1 => made(number, [-100, 100, -100, 100], 20),
        3 => made(number, [-200, 200, -200, 200], 30),
        _ => made(number, [0; 4], 10),
    };
    results(&experiment, |number| Ok(of(number))).unwrap()
}

fn report(result: &ExperimentResult) -> ExperimentReport<'_> {
    ExperimentReport {
        title: "made",
        result,
        versions: vec![None; result.design.subjects.len()],
        diagnoses: vec![CellDiagnosis::default(); result.cells.len()],
        conditions: Vec::new(),
    }
}

fn close(found: &Value, expected: f64) {
    let found = found.as_f64().unwrap_or_else(|| panic!("{found} is no number"));
    assert!((found - expected).abs() <= expected.abs() * 1e-9, "{found} is not {expected}");
}

/// The standard deviation of four seconds, two of which are this share above the mean, and two below.
fn wobble(share: f64) -> f64 {
    share * (4.0_f64 / 3.0).sqrt()
}

#[test]
fn json_has_the_figures_that_the_records_were_made_with() {
    let result = wobbling();
    let json = experiment_json(&report(&result));
    let cell = &json["cells"][0];
    for (key, expected) in [("lowest", wobble(0.1)), ("median", wobble(0.15)), ("highest", wobble(0.2))] {
        close(&cell["wobble"][key], expected);
    }
    close(&cell["wobble"]["mean"], wobble(0.15));
    close(&json["cells"][1]["wobble"]["highest"], 0.0);
    close(&cell["answered_qps"]["mean"], 1_000.0);
    close(&cell["bits_per_s"]["median"], 200.0 * 8.0 * 1_000.0);
    close(&cell["server_cpu_share"]["median"], 0.5);
    close(&cell["server_cpu_ns_per_answer"]["median"], 2e9 / 4_000.0);
    close(&cell["server_memory_bytes"]["lowest"], 20e6);
    close(&cell["server_memory_bytes"]["highest"], 30e6);
    // Latencies from 200 µs on, each a microsecond longer than the one before.
    assert_eq!(cell["shortest"]["median"]["ns"], 200_000);
    assert_eq!(cell["longest"]["median"]["ns"], 1_199_000);
    assert_eq!(cell["average"]["median"]["ns"], 699_500);
    let beside = &cell["beside"];
    close(&beside["hits, of all"]["median"], 0.75);
    close(&beside["mariadb statements.select / answers"]["median"], 3.0);
    close(&beside["process cpu_ns / s"]["median"], 0.5e9);
    assert!(beside["server dropped.queue"].is_null() && beside["udp_receive_errors"].is_null());
}

#[test]
fn csv_has_the_same_figures_for_each_run() {
    let result = wobbling();
    let text = experiment_csv(&report(&result));
    let mut reader = ::csv::Reader::from_reader(text.as_bytes());
    let titles = reader.headers().unwrap().clone();
    let rows: Vec<::csv::StringRecord> = reader.records().map(Result::unwrap).collect();
    assert_eq!(rows.len(), 4);
    let at = |row: usize, title: &str| {
        let column = titles.iter().position(|known| known == title).unwrap_or_else(|| panic!("no {title}"));
        rows[row][column].to_owned()
    };
    let number = |row: usize, title: &str| at(row, title).parse::<f64>().unwrap();
    assert_eq!([0, 1, 2, 3].map(|row| at(row, "run")), ["1", "2", "3", "4"]);
    for (row, expected) in [(0, wobble(0.1)), (1, 0.0), (2, wobble(0.2))] {
        assert!((number(row, "wobble") - expected).abs() < 1e-12, "{}", at(row, "wobble"));
    }
    for (title, expected) in [
        ("bits_per_s", 1.6e6),
        ("server_cpu_share", 0.5),
        ("server_memory_bytes", 20e6),
        ("average_ns", 699_500.0),
        ("shortest_ns", 200_000.0),
        ("longest_ns", 1_199_000.0),
        ("hits, of all", 0.75),
        ("mariadb statements.select / answers", 3.0),
    ] {
        assert_eq!(number(0, title), expected, "{title}");
    }
    assert_eq!(
        (at(0, "longest_beyond_timeout"), at(0, "server dropped.queue")),
        ("no".into(), String::new())
    );
}

#[test]
fn a_terminal_has_a_second_table_of_details_in_its_width_and_an_unknown_series_is_noted() {
    let result = wobbling();
    let text = experiment_text(&report(&result), 80);
    let wide: Vec<&str> = text.lines().filter(|line| line.chars().count() > 80).collect();
    assert!(wide.is_empty(), "{wide:?}");
    // Each column is there, though they do not fit beside each other.
    for title in ["mean/s", "lowest/s", "wobble", "avg", "CPU", "memory", "bits/s", "hits, of all"] {
        assert!(text.contains(title), "no {title} in {text}");
    }
    assert!(text.contains("17.32 %") && text.contains("50.00 %") && text.contains("30 MB"), "{text}");
    assert!(text.contains("1.60 Mbit/s") && text.contains("200 µs") && text.contains("1.20 ms"), "{text}");
    assert!(text.contains("no run has a figure for the column `server dropped.queue`"), "{text}");
    assert!(!text.contains("UDP receive errors"), "the first table has what it had");
}

#[test]
fn markdown_has_the_same_tables() {
    let result = wobbling();
    let text = experiment_markdown(&report(&result));
    assert!(text.contains("| l0 | s0 | 1,000 | 1,000 | 1,000 | 17.32 % |"), "{text}");
    assert!(text.contains("| 50.00 % | 30 MB | 1.60 Mbit/s |"), "{text}");
    assert!(text.contains("## Watched beside the load") && text.contains("| hits, of all |"), "{text}");
    assert!(text.contains("| l0 | s0 | 75.00 % | 3.00 | 50.00 % | - |"), "{text}");
    assert!(!text.contains("## Rates of a load"), "{text}");
}

/// An experiment with a stair of two rates of a second each, of which the second one loses `lost` queries.
fn of_stair(lost: [u64; 2]) -> ExperimentResult {
    let stair = |number: u32| {
        let label = format!("{number:03}");
        let made = SyntheticRun { started_s: number.into(), ..MADE };
        let phase =
            |n: u64| Phase { label: format!("step {n}"), from_ns: n * SECOND, to_ns: (n + 1) * SECOND };
        let head = Header { phases: (0..2).map(phase).collect(), ..header(&label, made) };
        let mut digest = Digest::new(head.clone());
        let of_run = lost[(number as usize + 1) % 2];
        let step = |index: u64, rate: u64, lost: u64| -> Interval {
            second(index, SyntheticRun { rate, lost, ..made })
        };
        digest.interval(&step(0, 1_000, 0));
        digest.interval(&step(1, 4_000, of_run));
        let mut sum = run_of(&label, made, head).digest.sum.unwrap();
        sum.tally = digest.tally().clone();
        digest.sum(&sum);
        let path = format!("runs/{label}");
        let seconds = Seconds::new(&digest.header);
        ReadRun { run: ComparedRun { label: path.clone(), path: path.into(), digest, plan: None }, seconds }
    };
    let mut design = times(0, 2, design(1, 1));
    design.loads[0].has_course = true;
    let experiment = carry_out(design, |_, _| Ok(stair(1).run.digest));
    results(&experiment, |number| Ok(stair(number))).unwrap()
}

#[test]
fn a_stair_has_each_of_its_rates_over_its_runs() {
    let result = of_stair([400, 800]);
    let json = experiment_json(&report(&result));
    let steps = json["cells"][0]["steps"].as_array().unwrap();
    assert_eq!(steps.len(), 2);
    close(&steps[0]["asked_qps"], 1_000.0);
    close(&steps[0]["answered_share"]["lowest"], 1.0);
    close(&steps[1]["asked_qps"], 4_000.0);
    close(&steps[1]["answered_qps"]["lowest"], 3_200.0);
    close(&steps[1]["answered_qps"]["highest"], 3_600.0);
    close(&steps[1]["answered_share"]["median"], 0.85);
    assert_eq!(steps[1]["p99"]["median"]["beyond_timeout"], true);
    let text = experiment_markdown(&report(&result));
    assert!(
        text.contains("## Rates of a load")
            && text.contains("| l0 | s0 | 4,000 | 3,400/s (3,200/s..3,600/s) |")
    );
    // A load of one rate has none.
    assert_eq!(wobbling().cells[0].steps, []);
}

#[test]
fn a_load_whose_course_is_shown_has_each_of_its_intervals_over_its_runs() {
    let result = of_stair([400, 800]);
    let json = experiment_json(&report(&result));
    let course = json["cells"][0]["course"].as_array().unwrap();
    assert_eq!(course.len(), 2);
    assert_eq!(
        (course[1]["from_ns"].as_u64(), course[1]["to_ns"].as_u64()),
        (Some(SECOND), Some(2 * SECOND))
    );
    close(&course[0]["answered_qps"]["median"], 1_000.0);
    close(&course[1]["answered_qps"]["lowest"], 3_200.0);
    close(&course[1]["answered_qps"]["highest"], 3_600.0);
    let text = experiment_markdown(&report(&result));
    assert!(
        text.contains("## Course of a load")
            && text.contains("| l0 | s0 | 1 s | 3,400/s (3,200/s..3,600/s) |")
    );
    assert!(experiment_text(&report(&result), 100).contains("s0 under l0: not even at its end"));
    assert_eq!(wobbling().cells[0].course, [], "no other load has one");
}

#[test]
fn a_server_that_is_ten_times_slower_is_told_so_as_a_factor() {
    let result = of_equals(5, 1, 10.0);
    let json = experiment_json(&report(&result));
    let sentence = json["differences"][0]["sentence"].as_str().unwrap();
    assert!(sentence.contains("higher by a factor of ") && !sentence.contains("900"), "{sentence}");
    let factor = &json["differences"][0]["comparison"]["metrics"][0]["change"]["factor"];
    let [low, estimate, high] = ["low", "estimate", "high"].map(|key| factor[key].as_f64().unwrap());
    // Of 6 against 6 runs with a noise of 5 %: within five standard errors.
    assert!((8.5..11.5).contains(&estimate) && low < estimate && estimate < high, "{factor}");
    assert!(low > 7.0 && high < 14.0, "{factor}");
}

#[test]
fn what_a_program_has_printed_is_shown_as_it_is_and_of_a_long_text_the_end() {
    let mut of_program = times(0, 1, design(1, 1));
    of_program.loads[0].kind = LoadKind::Program;
    of_program.subjects = vec![Subject { name: "s".to_owned(), against: None, differs: String::new() }];
    let mut experiment = crate::experiment::Experiment::new(of_program);
    let lines: Vec<String> = (1..=70).map(|n| format!("  line {n}:\t{n}  | x")).collect();
    let printed = format!("{}\n\n\u{1b}[1mqps:\t<1,234>\n", lines.join("\n"));
    let found = Found { answer: "qps: 1,234".to_owned(), figure: None, text: printed, doubt: None };
    assert_eq!(experiment.learn_found(found), Outcome::Counted);
    assert_eq!(experiment.next(), Next::Done);
    let result = results(&experiment, |_| panic!("a program leaves no record")).unwrap();
    let text = experiment_text(&report(&result), 40);
    assert!(text.contains("\n  line 70:\t70  | x\n\n\\u{1b}[1mqps:\t<1,234>\n"), "{text}");
    assert!(text.contains("  line 13:\t13") && !text.contains("line 12:"), "{text}");
    let markdown = experiment_markdown(&report(&result));
    assert!(markdown.contains("\n      line 70:\t70  | x\n\n    \\u{1b}[1mqps:\t<1,234>\n"), "{markdown}");
    assert!(markdown.contains("12 lines before are in the files of the run."), "{markdown}");
    let json = experiment_json(&report(&result));
    let lines = json["cells"][0]["found"][0]["text"].as_array().unwrap();
    assert_eq!((lines.len(), lines[57].as_str()), (60, Some("  line 70:\t70  | x")));
}

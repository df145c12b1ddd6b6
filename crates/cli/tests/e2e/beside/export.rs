//! Exports, read by the programs that they are made for: `readers.py` beside this file says what these see.

use std::path::{Path, PathBuf};
use std::process::Command;

use dnsdyno_lab::{Need, require};
use dnsdyno_record::{Digest, FORMAT};
use dnsdyno_report::SUMMARY_SCHEMA;
use dnsdyno_responder::{Faults, Share};
use jsonschema::validator_for;
use serde_json::{Value, json};

use crate::beside::respond::RespondProcess;
use crate::support::{Workplace, has_readers, responder};

/// A run over UDP with losses, and one over DoT; both with expectations, of which one is not met.
fn with_two_runs() -> Workplace {
    let work = Workplace::with_queries();
    let lossy = responder(Faults { loss: Share::new(0.1).unwrap(), ..Faults::default() });
    let run = format!("run -s {} -d q.txt --stair 1k..2k --step 1k --hold 500ms", lossy.address());
    work.dnsdyno(&format!(
        "{run} --interval 250ms --timeout 300ms --quiet -o udp --expect loss<1% --expect p50<250ms \
         --expect-each loss<90%"
    ))
    .gives(1);
    let words = "respond --listen 127.0.0.1:0 --dot 127.0.0.1:0 --write-ca ca.pem";
    let server = RespondProcess::start(&work, words);
    let run = format!("run -s {} -d q.txt --transport dot --insecure --clients 4", server.addresses[1]);
    work.dnsdyno(&format!("{run} --rate 1k --for 1s --interval 250ms --quiet -o dot")).gives(0);
    server.end();
    work
}

/// What the readers see in a file.
fn read(work: &Workplace, format: &str, file: &str, more: &[&Path]) -> Value {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/e2e/readers.py");
    let mut command = Command::new(python());
    command.arg(script).arg(format).arg(file).args(more).current_dir(work.path(""));
    let ran = command.output().unwrap();
    assert!(ran.status.success(), "{format} {file}: {}", String::from_utf8_lossy(&ran.stderr));
    serde_json::from_slice(&ran.stdout).unwrap()
}

fn python() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/readers/bin/python")
}

fn percentile_ns(digest: &Digest, q: f64) -> Option<u64> {
    let latency = digest.header.latency_of(digest.tally());
    latency.quantile(q).map(|at| at.written(digest.header.timeout_ns).ns)
}

#[test]
fn duckdb_reads_the_csv_as_it_is_and_its_sums_are_those_of_the_records() {
    if !has_readers() {
        return;
    }
    let work = with_two_runs();
    work.dnsdyno("export csv udp dot -o runs.csv").gives(0);
    let seen = read(&work, "csv", "runs.csv", &[]);
    let digests = ["udp", "dot"].map(|run| work.record(run));
    let sum = |figure: fn(&Digest) -> u64| digests.iter().map(figure).sum::<u64>();
    assert_eq!(seen["lines"], sum(|digest| digest.intervals));
    assert_eq!(seen["scheduled"], sum(|digest| digest.tally().scheduled));
    assert_eq!(seen["answered"], sum(|digest| digest.tally().ends.answered));
    assert_eq!(seen["responses"], sum(|digest| digest.tally().response.count()));
    assert_eq!((&seen["longest_ns"], &seen["runs"]), (&json!(300_000_000), &json!(2)));
    // All others are numbers.
    assert_eq!(
        seen["texts"],
        json!(["run_id", "phase", "response_beyond_timeout_from", "service_beyond_timeout_from"])
    );
}

#[test]
fn the_reader_of_hdrhistogram_sees_the_percentiles_of_the_summary() {
    if !has_readers() {
        return;
    }
    let work = with_two_runs();
    for (run, queries) in [("udp", 1_500), ("dot", 1_000)] {
        work.dnsdyno(&format!("export hlog {run} -o {run}.hlog")).gives(0);
        let seen = read(&work, "hlog", &format!("{run}.hlog"), &[]);
        let digest = work.record(run);
        let intervals = seen["intervals"].as_array().unwrap();
        assert_eq!(intervals.len() as u64, digest.intervals);
        assert!(intervals.iter().all(|one| one[1] == 250 && one[2] == "response"), "{intervals:?}");
        assert_eq!(seen["total"], queries);
        for (name, q) in [("50", 0.5), ("90", 0.9), ("95", 0.95), ("99", 0.99)] {
            let (ours_ns, theirs_ns) = (percentile_ns(&digest, q).unwrap(), &seen["percentiles"][name]);
            // One bucket: of the timeout the log has the bucket.
            let error = theirs_ns.as_f64().unwrap() / ours_ns as f64 - 1.0;
            assert!(error.abs() < 0.01, "{run} p{name}: {ours_ns} and {theirs_ns}");
        }
    }
}

#[test]
fn a_validator_finds_nothing_in_the_json() {
    if !has_readers() {
        return;
    }
    let work = with_two_runs();
    let schema = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/formats/summary.schema.json");
    for run in ["udp", "dot"] {
        work.dnsdyno(&format!("export json {run} -o {run}.json")).gives(0);
        assert_eq!(read(&work, "json", &format!("{run}.json"), &[&schema]), json!({ "errors": [] }));
    }
    // It is what `show` prints, and the outcomes of the expectations in the plan.
    let mut exported: Value = serde_json::from_str(&work.read("udp.json")).unwrap();
    let outcomes = exported.as_object_mut().unwrap().remove("expectations").unwrap();
    assert_eq!(outcomes.as_array().map(Vec::len), Some(3));
    let shown: Value = serde_json::from_str(&work.dnsdyno("show --json udp").gives(0).stdout).unwrap();
    assert!(exported == shown);
}

#[test]
fn a_parser_of_junit_sees_each_expectation_and_its_outcome() {
    if !has_readers() {
        return;
    }
    let work = with_two_runs();
    work.dnsdyno("export junit udp dot -o junit.xml").gives(0);
    let seen = read(&work, "junit", "junit.xml", &[]);
    let suites = seen["suites"].as_array().unwrap();
    assert_eq!((&suites[0][0], &suites[0][1], &suites[0][2]), (&json!("udp"), &json!(4), &json!(1)));
    assert_eq!((&suites[1][0], &suites[1][1], &suites[1][2]), (&json!("dot"), &json!(2), &json!(0)));
    let cases = seen["cases"].as_array().unwrap();
    let names: Vec<_> = cases.iter().filter_map(|case| case[0].as_str()).collect();
    assert_eq!(names, ["loss<1%", "p50<250ms", "each loss<90%", "generator", "answers", "generator"]);
    assert_eq!([&cases[0][1], &cases[1][1], &cases[2][1]], ["failed", "passed", "passed"]);
    assert!(cases[0][2].as_str().unwrap().contains("of 1,500)"), "{cases:?}");
}

#[test]
fn shotguns_files_follow_the_rules_of_its_programs() {
    if !has_readers() {
        return;
    }
    let work = with_two_runs();
    work.dnsdyno("export shotgun udp dot -o shotgun/").gives(0).says(&["wrote shotgun/udp.json"]);
    for run in ["udp", "dot"] {
        let seen = read(&work, "shotgun", &format!("shotgun/{run}.json"), &[]);
        let digest = work.record(run);
        let tally = digest.tally();
        assert_eq!(
            (&seen["requests"], &seen["answers"]),
            (&json!(tally.scheduled), &json!(tally.ends.answered))
        );
        assert_eq!(seen["sum"]["requests"], seen["requests"]);
        assert_eq!(seen["nxdomain"], tally.rcodes.of(3));
        let opened = digest.arrivals().connections.as_ref().map_or(0, |connections| connections.opened);
        assert_eq!((&seen["handshakes"], &seen["sum"]["conn_active"]), (&json!(opened), &json!(0)));
        // Their counts are whole milliseconds, rounded down.
        for (key, q) in [("p50_ms", 0.5), ("p99_ms", 0.99)] {
            let ours_ms = percentile_ns(&digest, q).unwrap() / 1_000_000;
            assert!(
                seen[key].as_u64().unwrap().abs_diff(ours_ms) <= 1 + ours_ms / 100,
                "{run} {key}: {seen}"
            );
        }
    }
}

#[test]
fn gnuplot_plots_the_file_of_resperf_and_the_percentiles() {
    if !require(&[Need::Program { name: "gnuplot", package: "gnuplot-nox" }]) {
        return;
    }
    let work = with_two_runs();
    work.dnsdyno("export gnuplot udp -o udp.gnuplot").gives(0);
    work.dnsdyno("export hgrm udp -o udp.hgrm").gives(0);
    work.write("plot", GNUPLOT);
    let plotted = work.shell("gnuplot plot").gives(0).stdout;
    let figures: Vec<f64> = plotted.split_whitespace().map(|figure| figure.parse().unwrap()).collect();
    let digest = work.record("udp");
    let answered = digest.tally().ends.answered as f64;
    // Four intervals of 250 ms: the lines, the lowest and highest rate asked, and the answers.
    assert_eq!(figures[..3], [4.0, 1_000.0, 2_000.0], "{plotted}");
    assert!((figures[3] * 0.25 - answered).abs() < 0.1, "{answered} answers in {plotted}");
    // The last percentile is the timeout.
    assert_eq!(figures[4], 300.0, "{plotted}");
    for picture in ["rate.svg", "latency.svg", "percentiles.svg"] {
        assert!(work.read(picture).contains("<path"), "{picture}");
    }
}

/// The plots of resperf-report and of HdrHistogram, and figures that gnuplot has found in the files.
const GNUPLOT: &str = "\
set print '-'
stats 'udp.gnuplot' using 2:4 nooutput name 'R'
print R_records, R_min_x, R_max_x, R_sum_y
stats 'udp.hgrm' skip 2 using 1 nooutput name 'P'
print P_max
set terminal svg
set output 'rate.svg'
plot 'udp.gnuplot' using 1:3 with lines, '' using 1:4 with lines, '' using 1:5 with lines
set output 'latency.svg'
plot 'udp.gnuplot' using 1:6 with lines
set output 'percentiles.svg'
set logscale x
plot 'udp.hgrm' skip 2 using 4:1 with lines
";

#[test]
fn the_step_summary_names_what_was_expected_and_what_was_measured() {
    let work = with_two_runs();
    let text = work.dnsdyno("export github udp dot").gives(0).stdout;
    assert!(text.starts_with("## ❌ udp: 1 of 3 expectations not met\n"), "{text}");
    assert!(text.contains("| ✅ met | p50&#60;250ms |"), "{text}");
    assert!(text.contains("\n## dot\n\n"), "{text}");
    assert!(text.contains(" | 1,000 | ") && text.contains(" | 2,000 | "), "{text}");
}

#[test]
fn a_run_without_answers_one_that_sent_only_and_one_cut_short_are_exported_to_every_format() {
    let work = Workplace::new();
    let silent = responder(Faults { loss: Share::new(1.0).unwrap(), ..Faults::default() });
    let run = format!("run -s {} --ask www.example --for 500ms --interval 250ms --quiet", silent.address());
    work.dnsdyno(&format!("{run} --rate 100 --timeout 100ms -o silent")).gives(1);
    work.dnsdyno(&format!("{run} --rate 200 --send-only -o sent")).gives(0);
    let whole = work.read("silent/run.ndjson");
    let half: Vec<&str> = whole.lines().take(2).collect();
    work.write("half.ndjson", format!("{}\n{{\"runid\":", half.join("\n")));
    work.write("header.ndjson", format!("{}\n", half[0]));
    for format in ["json", "csv", "hlog", "hgrm", "gnuplot", "shotgun", "junit", "github"] {
        for run in ["silent", "sent", "half.ndjson"] {
            let text = work.dnsdyno(&format!("export {format} {run}")).gives(0).stdout;
            assert!(!text.contains("NaN") && !text.contains(" inf"), "{format} {run}:\n{text}");
        }
        let code = if format == "shotgun" { 2 } else { 0 };
        work.dnsdyno(&format!("export {format} header.ndjson")).gives(code);
    }
    if !has_readers() {
        return;
    }
    for (run, requests) in [("silent", 50), ("sent", 0)] {
        work.dnsdyno(&format!("export shotgun {run} -o {run}.json")).gives(0);
        let seen = read(&work, "shotgun", &format!("{run}.json"), &[]);
        assert_eq!((&seen["requests"], &seen["answers"]), (&json!(requests), &json!(0)));
        work.dnsdyno(&format!("export hlog {run} -o {run}.hlog")).gives(0);
        assert_eq!(read(&work, "hlog", &format!("{run}.hlog"), &[])["total"], requests);
        work.dnsdyno(&format!("export csv {run} -o {run}.csv")).gives(0);
        assert_eq!(read(&work, "csv", &format!("{run}.csv"), &[])["answered"], 0);
    }
}

#[test]
fn what_cannot_be_exported_is_refused_and_nothing_is_written() {
    let work = with_two_runs();
    work.dnsdyno("export hgrm udp dot -o both.hgrm").ends_refused(2, &["holds one run", "-o FOLDER/"]);
    work.dnsdyno("export hgrm udp udp -o both/").ends_refused(2, &["both/udp.hgrm would be written for two"]);
    work.dnsdyno("export csv none").ends_refused(2, &["cannot export none", "name a run's folder"]);
    work.dnsdyno("export csv udp -o none/runs.csv").ends_refused(3, &["cannot write none/runs.csv"]);
    let newer = work.read("udp/run.ndjson").replacen(
        &format!("\"format\":{FORMAT}"),
        &format!("\"format\":{}", FORMAT + 1),
        1,
    );
    work.write("newer.ndjson", newer);
    work.dnsdyno("export json newer.ndjson").ends_refused(2, &["use the version that wrote it"]);
    std::fs::write(work.path("dot/plan.toml"), "expect = [\"p99\"]\n").unwrap();
    work.dnsdyno("export junit dot -o junit.xml").ends_refused(2, &["the plan of the run"]);
    for name in ["both.hgrm", "both", "none", "junit.xml", "junit.xml.part"] {
        assert!(!work.has(name), "{name}");
    }
}

#[test]
fn an_export_into_a_pipe_that_closes_is_no_failure() {
    let work = with_two_runs();
    let ran = work.shell("(\"$0\" export csv udp; echo $? > code) | head -c 1; cat code").gives(0);
    assert_eq!(ran.stdout, "r0\n");
}

#[test]
fn the_schema_of_the_summary_is_one_of_2020_12() {
    let schema: Value = serde_json::from_str(SUMMARY_SCHEMA).unwrap();
    assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
    validator_for(&schema).unwrap();
}

#[test]
fn a_comparison_is_a_suite_with_a_case_for_each_bound() {
    let work = with_two_runs();
    let compare = "$0 compare udp --against dot --even-if-unlike";
    // One run against one shows nothing: the bound is not judged.
    work.shell(&format!("{compare} --fail-if 'p50 +500%' --junit junit.xml")).gives(2);
    let text = work.read("junit.xml");
    assert!(text.contains("tests=\"1\" skipped=\"0\" failures=\"0\" errors=\"1\""), "{text}");
    assert!(text.contains("<error message=\"NOT JUDGED"), "{text}");
    let ran = work.shell(&format!("{compare} --junit no/junit.xml"));
    ran.ends_refused(3, &["cannot write no/junit.xml", "--junit"]);
    if has_readers() {
        let seen = read(&work, "junit", "junit.xml", &[]);
        assert_eq!(seen["suites"], serde_json::json!([["dnsdyno compare", 1, 0, 0]]));
    }
}

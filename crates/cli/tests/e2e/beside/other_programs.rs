//! What the command lines of resperf and queryperf print, compared with the originals; the reports of resperf-report;
//! and the links by their names.
//!
//! `other_programs/lines.txt` has the command lines, `other_programs/expected.txt` what resperf 2.16 and the queryperf
//! of BIND 9.11 print for them, with figures replaced. No package has these versions, so the file was written by
//! programs built from their sources: `DNSDYNO_RESPERF=… DNSDYNO_QUERYPERF=… cargo test -p dnsdyno-cli --test e2e
//! other_programs` writes it again.

use std::fs;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use dnsdyno_responder::Faults;

use crate::support::{DNSDYNO, Workplace, responder};

const LINES: &str = include_str!("other_programs/lines.txt");
const EXPECTED: &str = include_str!("other_programs/expected.txt");

fn lines() -> impl Iterator<Item = &'static str> {
    LINES.lines().filter(|line| !line.is_empty() && !line.starts_with('#'))
}

/// The words of a line; `@` is the responder. Standard input is the file of queries.
fn run(program: &Path, first: &[&str], work: &Workplace, port: u16, line: &str) -> String {
    let port = port.to_string();
    let words = line.split(' ').skip(1).flat_map(|word| match word {
        "@" => vec!["-s", "127.0.0.1", "-p", port.as_str()],
        "''" => vec![""],
        word => vec![word],
    });
    let ran = Command::new(program)
        .args(first)
        .args(words)
        .current_dir(work.path(""))
        .env("LC_ALL", "C")
        .stdin(Stdio::from(File::open(work.path("queries")).unwrap()))
        .output()
        .unwrap();
    let [out, error] = [&ran.stdout, &ran.stderr].map(|bytes| normal(&String::from_utf8_lossy(bytes), &port));
    let code = ran.status.code().unwrap_or(-1);
    format!("exit {code}\n{out}--- stderr\n{error}")
}

/// Without what must differ: figures of the statistics, times, the path of the program, lines of ours.
fn normal(text: &str, port: &str) -> String {
    let mut lines = Vec::new();
    let mut is_usage = false;
    for line in text.replace(&format!("-p {port}"), "-p PORT").lines() {
        // The usage is compared once, by the tests of the crate and by eye: here its first line stands for it.
        if line.starts_with("Usage: ") {
            is_usage = true;
            lines.push(line.split(' ').take(2).collect::<Vec<_>>().join(" "));
        }
        if is_usage || line.starts_with("dnsdyno: ") {
            continue;
        }
        let is_figure = line.starts_with("  ") || line.contains("Fell behind");
        let line = if is_figure { without_figures(line) } else { line.to_owned() };
        lines.push(match line.find(": invalid option").or(line.find(": option requires")) {
            Some(at) => format!("PROGRAM{}", &line[at..]),
            None => line,
        });
    }
    lines.into_iter().map(|line| line + "\n").collect()
}

/// Each number is `N`, and a time of day `TIME`.
fn without_figures(line: &str) -> String {
    if let Some((label, _)) = line.split_once("ed at: ") {
        return format!("{label}ed at: TIME");
    }
    let mut out = String::new();
    for letter in line.chars() {
        match letter {
            '0'..='9' | '.' | '-' if out.ends_with('N') => {}
            '0'..='9' | '-' => {
                // The width of a number differs with its digits.
                out.truncate(out.trim_end_matches(' ').len());
                out.push_str(" N");
            }
            _ => out.push(letter),
        }
    }
    out
}

fn write_files(work: &Workplace) {
    let queries: String = (0..500).map(|number| format!("host{number}.example A\n")).collect();
    work.write("queries", queries);
    work.write(
        "five",
        "a.example A\nb.example aaaa\n; comment\n\nc.example MX\nd.example TXT\ne.example NS\n",
    );
    work.write("one", "a.example A\n");
    work.write("bad", "a.example\nb.example NOPE\nc.example A\n");
    work.write("empty", "");
}

#[test]
fn each_command_line_of_resperf_and_queryperf_prints_what_the_original_prints() {
    let (work, server) = (Workplace::new(), responder(Faults::default()));
    write_files(&work);
    let port = server.address().port();
    let originals = ["DNSDYNO_RESPERF", "DNSDYNO_QUERYPERF"].map(std::env::var_os);
    if let [Some(resperf), Some(queryperf)] = originals {
        let block = |line: &str| {
            let program = if line.starts_with("resperf") { &resperf } else { &queryperf };
            format!("=== {line}\n{}", run(Path::new(program), &[], &work, port, line))
        };
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/e2e/beside/other_programs/expected.txt");
        fs::write(path, lines().map(block).collect::<String>()).unwrap();
        return;
    }
    let mut wrong = String::new();
    let mut compared = 0;
    for (line, block) in lines().zip(EXPECTED.split("=== ").skip(1)) {
        let (words, want) = block.split_once('\n').unwrap();
        assert_eq!(line, words, "the expected output is of other lines: write it again");
        let program = line.split(' ').next().unwrap();
        let found = run(Path::new(DNSDYNO), &[program], &work, port, line);
        if found != want {
            wrong += &format!("=== {line}\nwant {want}\nfound {found}\n");
        }
        compared += 1;
    }
    assert_eq!(compared, lines().count());
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn a_run_of_resperf_has_a_plot_of_the_time_up_to_its_end_and_a_record() {
    let (work, server) = (Workplace::new(), responder(Faults::default()));
    write_files(&work);
    let server = server.address();
    let line = format!("-s {} -p {} -d queries -m 200 -r 1 -i .25 -R", server.ip(), server.port());
    let ran = work.dnsdyno(&format!("resperf {line}")).gives(0);
    assert!(ran.stdout.contains("Queries sent:         100\n"), "{}", ran.stdout);
    assert!(ran.stderr.contains("record: runs/"), "{}", ran.stderr);
    let plot = work.read("resperf.gnuplot");
    let sent: f64 = plot.lines().skip(1).map(|line| figure(line, 2)).sum();
    assert_eq!((plot.lines().count(), sent * 0.25), (5, 100.0), "{plot}");
    // An early end: the point in which it was is left out.
    work.dnsdyno(&format!("resperf {line} -q 0 ")).gives(1);
    let ran = work.dnsdyno(&format!("resperf {line} -P cut -F 1")).gives(0);
    let ends = "[Status] Waiting for more responses\n[Status] Testing complete\n";
    assert!(ran.stdout.contains("[Status] Fell behind by ") && ran.stdout.contains(ends), "{}", ran.stdout);
    assert!(work.read("cut").lines().count() < 5);
}

fn figure(line: &str, column: usize) -> f64 {
    line.split_whitespace().nth(column).and_then(|text| text.parse().ok()).unwrap_or(f64::NAN)
}

#[test]
fn two_reports_of_the_same_minute_are_both_kept() {
    let (work, server) = (Workplace::new(), responder(Faults::default()));
    write_files(&work);
    let server = server.address();
    let line = format!("resperf-report -s {} -p {} -d queries -m 100 -r .5", server.ip(), server.port());
    let [first, second] = [(), ()].map(|()| work.dnsdyno(&line).gives(0).stderr.clone());
    let page = |told: &str| told.trim().rsplit(' ').next().unwrap_or_default().to_owned();
    assert_ne!(page(&first), page(&second));
    for page in [page(&first), page(&second)] {
        let id = page.trim_end_matches(".html").to_owned();
        for ending in ["html", "gnuplot", "output", "rate.svg", "latency.svg", "report.html"] {
            assert!(work.has(&format!("{id}.{ending}")), "{id}.{ending}");
        }
        assert!(work.read(&page).contains("Maximum throughput:"));
    }
    let refused = work.dnsdyno("resperf-report -r 0").gives(1).stderr;
    assert!(refused.contains("error running resperf") && refused.contains("must not both be 0"), "{refused}");
}

#[test]
fn links_replace_no_other_program_unless_that_is_wanted() {
    let work = Workplace::new();
    let made = work.dnsdyno("install-links bin").gives(0).stdout.clone();
    assert!(made.contains("bin/dnsperf -> ") && made.contains("bin/queryperf -> "), "{made}");
    let target = fs::read_link(work.path("bin/resperf")).unwrap();
    assert_eq!(target, PathBuf::from(DNSDYNO));
    work.shell("bin/resperf -h").gives(0);
    work.dnsdyno("install-links bin").gives(0);
    fs::remove_file(work.path("bin/queryperf")).unwrap();
    work.write("bin/queryperf", "another program");
    let refused = work.dnsdyno("install-links bin").gives(2).stderr;
    assert!(refused.contains("bin/queryperf is another program") && refused.contains("--force"), "{refused}");
    assert_eq!(work.read("bin/queryperf"), "another program");
    work.dnsdyno("install-links bin --force --to /opt/dnsdyno").gives(0);
    assert_eq!(fs::read_link(work.path("bin/queryperf")).unwrap(), PathBuf::from("/opt/dnsdyno"));
}

//! dnsperf's command lines: what ours prints, byte by byte, compared with the original; and the queries on the wire.
//!
//! `dnsperf/lines.txt` has the command lines, `dnsperf/expected.txt` what dnsperf 2.16 prints for them, after what must
//! differ was replaced. Ours must print the same, and so must the original where it is installed: Debian's is older,
//! and is not asked for what it does not have. To write the expected output again, with dnsperf 2.16:
//! `DNSDYNO_ORIGINAL=/path/to/dnsperf DNSDYNO_WRITE_EXPECTED=1 cargo test -p dnsdyno-cli --test e2e dnsperf`.

mod normal;
mod wire;

use std::fs::{self, File};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use dnsdyno_responder::{Config, Faults, Responder, Running, Share, Transport};
use rustix::process::Signal;

use self::normal::normal;
use crate::support::{DNSDYNO, Workplace, has_program, responder};

/// A line of the table.
struct Line {
    words: String,
    /// Whether dnsperf before 2.16 does something else.
    is_new: bool,
}

fn lines() -> Vec<Line> {
    let is_line = |line: &&str| !line.is_empty() && !line.starts_with('#');
    let one = |line: &str| match line.strip_prefix("2.16| ") {
        Some(words) => Line { words: words.to_owned(), is_new: true },
        None => Line { words: line.to_owned(), is_new: false },
    };
    fs::read_to_string(LINES).unwrap().lines().filter(is_line).map(one).collect()
}

/// The servers of the table.
struct Servers {
    answers: Running,
    silent: Running,
    confuses: Running,
}

impl Servers {
    fn start() -> Servers {
        let loopback = || vec![SocketAddr::from(([127, 0, 0, 1], 0))];
        let start = |config: Config| Responder::start(config).unwrap_or_else(|error| panic!("{error}"));
        let always = Share::new(1.0).unwrap();
        let with = |faults| Config { faults, ..Config::default() };
        Servers {
            answers: start(Config { dot: loopback(), doh: loopback(), ..Config::default() }),
            silent: start(with(Faults { loss: always, ..Faults::default() })),
            confuses: start(with(Faults { wrong_id: always, ..Faults::default() })),
        }
    }

    /// The words of a line for a shell-less start, and the file of its standard input.
    fn words(&self, line: &str) -> (Vec<String>, Option<String>) {
        let (line, input) = line.split_once(" < ").map_or((line, None), |(line, file)| (line, Some(file)));
        let words = line.split(' ').flat_map(|word| match word {
            "''" => vec![String::new()],
            word => match self.ports().into_iter().find(|(name, _)| word.strip_prefix('@') == Some(name)) {
                Some((_, port)) => ["-s", "127.0.0.1", "-p", &port.to_string()].map(str::to_owned).to_vec(),
                None => vec![word.to_owned()],
            },
        });
        (words.collect(), input.map(str::to_owned))
    }

    fn ports(&self) -> [(&'static str, u16); 5] {
        [
            ("answers", self.answers.address().port()),
            ("silent", self.silent.address().port()),
            ("confuses", self.confuses.address().port()),
            ("dot", self.answers.addresses_of(Transport::Dot)[0].port()),
            ("doh", self.answers.addresses_of(Transport::Doh)[0].port()),
        ]
    }
}

/// The original, where there is one: that of the variable, or the installed one.
fn original() -> Option<PathBuf> {
    match std::env::var_os("DNSDYNO_ORIGINAL") {
        Some(path) => Some(path.into()),
        None => has_program("dnsperf").then(|| PathBuf::from("dnsperf")),
    }
}

/// Runs a line, and returns what was printed as the expected output has it.
fn run(program: &Path, first: &[&str], folder: &Path, servers: &Servers, line: &str) -> String {
    let (words, input) = servers.words(line);
    let input = input.map_or_else(Stdio::null, |file| File::open(folder.join(file)).unwrap().into());
    // A program that does not end must not hold up the others.
    let ran = Command::new("timeout")
        .arg("30")
        .arg(program)
        .args(first)
        .args(words)
        .current_dir(folder)
        .env("LC_ALL", "C")
        .stdin(input)
        .output()
        .unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let is_timed = line.contains("-l .") || line.contains("-l 0.");
    let [out, error] = [&ran.stdout, &ran.stderr].map(|bytes| {
        let text = normal(&text(bytes), is_timed);
        // dnsperf prints the key, ours does not.
        let text = if first.is_empty() { without_key(&text) } else { text };
        // Once, the usage is compared itself.
        let text = if line == "-h" {
            text
        } else {
            USAGES.iter().fold(text, |text, usage| text.replace(usage, "(the usage)\n"))
        };
        // Before 2.16, it was printed before the options were read.
        let text = if text == BANNER { String::new() } else { text };
        let named = |text: String, (name, port): (&str, u16)| {
            text.replace(&format!(":{port})"), &format!(":{name})"))
                .replace(&format!("-p {port}"), &format!("-p {name}"))
        };
        servers.ports().into_iter().fold(text, named)
    });
    format!("exit {}\n{out}--- stderr\n{error}", ran.status.code().unwrap_or(-1))
}

/// The text with a placeholder for the key in the command line.
fn without_key(text: &str) -> String {
    let line =
        |line: &str| match line.split_once(" -y ").filter(|_| line.starts_with("[Status] Command line:")) {
            Some((before, key)) => {
                let rest = key.split_once(' ').map_or(String::new(), |(_, rest)| format!(" {rest}"));
                format!("{before} -y (secret){rest}\n")
            }
            None => format!("{line}\n"),
        };
    if text.contains(" -y ") { text.lines().map(line).collect() } else { text.to_owned() }
}

/// The command lines.
const LINES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/e2e/beside/dnsperf/lines.txt");

/// What dnsperf 2.16 prints for them.
const EXPECTED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/e2e/beside/dnsperf/expected.txt");

/// The usage, which follows each mistake: that of 2.16, and that of the versions before.
const USAGES: [&str; 2] = [include_str!("dnsperf/usage.txt"), include_str!("dnsperf/usage-2.14.txt")];

/// The first lines, without the number of the version.
const BANNER: &str = "DNS Performance Testing Tool\nVersion  (differs)\n\n";

/// What is expected of each line.
fn expected(text: &str) -> Vec<(&str, &str)> {
    let blocks = text.split("=== dnsperf ").skip(1);
    blocks.map(|block| block.split_once('\n').unwrap()).collect()
}

#[test]
fn each_command_line_of_dnsperf_prints_what_dnsperf_prints() {
    let (work, servers) = (Workplace::new(), Servers::start());
    write_files(&work);
    let lines = lines();
    assert!(lines.len() >= 150);
    let folder = work.path("");
    let original = original();
    if let (Some(original), Some(_)) = (&original, std::env::var_os("DNSDYNO_WRITE_EXPECTED")) {
        let block = |line: &Line| {
            format!("=== dnsperf {}\n{}", line.words, run(original, &[], &folder, &servers, &line.words))
        };
        fs::write(EXPECTED, lines.iter().map(block).collect::<String>()).unwrap();
        return;
    }
    let text = fs::read_to_string(EXPECTED).unwrap();
    let expected = expected(&text);
    let mut wrong = String::new();
    for (line, (words, want)) in lines.iter().zip(&expected) {
        assert_eq!(line.words, *words, "the expected output is of other lines: write it again");
        let mut compare = |who: &str, found: String| {
            if found != *want {
                wrong += &format!("== {who}: dnsperf {words}\n{}", difference(want, &found));
            }
        };
        compare("ours", run(Path::new(DNSDYNO), &["dnsperf"], &folder, &servers, words));
        if let Some(original) = original.as_ref().filter(|_| !line.is_new) {
            compare("the original", run(original, &[], &folder, &servers, words));
        }
    }
    assert_eq!(lines.len(), expected.len());
    assert!(wrong.is_empty(), "{wrong}");
}

/// The lines that are only in one of two texts.
fn difference(want: &str, found: &str) -> String {
    let without = |text: &str, other: &str, mark: &str| -> String {
        let other: Vec<&str> = other.lines().collect();
        text.lines().filter(|line| !other.contains(line)).map(|line| format!("{mark} {line}\n")).collect()
    };
    format!("{}{}", without(want, found, "-"), without(found, want, "+"))
}

/// The data files of the table.
fn write_files(work: &Workplace) {
    let names: Vec<String> = (0..10).map(|i| format!("n{i}.example.com A\n")).collect();
    work.write("q.txt", names.concat());
    work.write("one.txt", "www.example.com A\n");
    work.write("empty.txt", "");
    work.write("comments.txt", "; one\n\n;two\n\n");
    work.write(
        "mixed.txt",
        "; c\nwww.example.com A\n\nbad\na.example.com AXX\nb..example.com A\nc.example.com MX\n",
    );
    work.write("onlybad.txt", "bad\n a.example.com A\na.example.com AXX\n");
    work.write("blank.txt", " www.example.com A\n\twww.example.com A\nx.example.com A\n");
    let types =
        ["A", "aaaa", "aa", "M", "n", "TYPE65", "type0", "TYPE65535", "ANY", "SVCB", "https", "NSEC3P"];
    work.write("types.txt", types.map(|qtype| format!("t.example.com {qtype}\n")).concat());
    let types = ["*", "AXX", "TYPE", "TYPE65536", "TYPEx", "1", "A6A"];
    let lines: String = types.map(|qtype| format!("t.example.com {qtype}\n")).concat();
    work.write("badtypes.txt", format!("{lines}t.example.com A\n"));
    let label = "x".repeat(63);
    let longest = format!("{label}.{label}.{label}.{}", "y".repeat(61));
    work.write(
        "names.txt",
        format!(
            ". NS\nExample.COM A\nexample.com. A\na\\.b.example.com A\n\\a.com A\n{label}.com A\n{longest} A\n\
             _sip._udp.x SRV\nx.example.com\tA\nx.example.com \t A rest of the line\n"
        ),
    );
    work.write(
        "badnames.txt",
        format!(
            "{label}x.com A\n{longest}yy A\n.a A\na..b A\n.. A\na\\ A\na\\1 A\na\\25x.b A\nok.example.com A\n"
        ),
    );
    write_escapes(work);
    work.write("noend.txt", "a.example.com A\nb.example.com A");
    let update =
        "example.com\nprohibit x.example.com A\nadd x 300 A 192.0.2.1\ndelete y.example.com. TXT\nsend\n";
    work.write("updates.txt", format!("{update}; again\n{update}"));
    let message = |i: u8| {
        let mut message = b"\0\x1d\0\0\x01\0\0\x01\0\0\0\0\0\0\x03www\x07example\0\0\x01\0\x01".to_vec();
        message[1] = (message.len() - 2) as u8;
        message[17] = b'a' + i;
        message
    };
    work.write("invalid.txt", "invalid\n");
    work.write("cut.bin", [message(0), b"\0\x1d\0\0\x01".to_vec()].concat());
    work.write("q.bin", (0..5).flat_map(message).collect::<Vec<u8>>());
}

/// Files with `\DDD` in their names.
fn write_escapes(work: &Workplace) {
    work.write("escapes.txt", wire::ESCAPES.map(|(name, _)| format!("{name} A\n")).concat());
    work.write(
        "badescapes.txt",
        format!("{}\\255 A\n", wire::BAD_ESCAPES.map(|name| format!("{name} A\n")).concat()),
    );
    work.write(
        "updateescapes.txt",
        wire::UPDATES.map(|(zone, command, _)| format!("{zone}\n{command}\nsend\n")).concat(),
    );
}

#[test]
fn a_link_named_dnsperf_makes_a_run_with_a_record_that_has_a_report() {
    let (work, server) = (Workplace::new(), responder(Faults::default()));
    write_files(&work);
    let port = server.address().port();
    std::os::unix::fs::symlink(DNSDYNO, work.path("dnsperf")).unwrap();
    let ran =
        work.shell(&format!("DNSDYNO_RUNS=kept ./dnsperf -s 127.0.0.1 -p {port} -d q.txt -n 2")).gives(0);
    assert!(ran.stdout.contains("  Queries sent:         20\n"), "{}", ran.stdout);
    // On a busy host a doubt about the generator comes before it.
    assert!(ran.stderr.lines().any(|line| line.starts_with("dnsdyno: record: kept/")), "{}", ran.stderr);
    let run = work.shell("ls kept").stdout;
    let record = work.record(&format!("kept/{}", run.trim()));
    assert_eq!((record.tally().scheduled, record.header.load.as_str()), (20, "closed loop, 100 outstanding"));
    work.dnsdyno(&format!("report kept/{}", run.trim())).gives(0);
    let ran = work.shell(&format!("./dnsperf -s 127.0.0.1 -p {port} -d q.txt -O record=off")).gives(0);
    assert!(!ran.stderr.contains("record:") && !work.has("runs"), "{}", ran.stderr);
}

#[test]
fn the_first_ctrl_c_ends_the_run_with_its_outstanding_queries_interrupted() {
    let silent = Faults { loss: Share::new(1.0).unwrap(), ..Faults::default() };
    let (work, server) = (Workplace::new(), responder(silent));
    write_files(&work);
    let port = server.address().port();
    let mut started = work.start(&format!("dnsperf -s 127.0.0.1 -p {port} -d q.txt -q 4 -v -t 60"));
    started.until("all queries of the window are sent", || server.book().udp.counts.received >= 4);
    started.signal(Signal::INT);
    let ran = started.wait().gives(0);
    let out = &ran.stdout;
    assert!(out.contains("[Status] Testing complete (interruption)"), "{out}");
    assert!(out.contains("  Queries interrupted:  4 (100.00%)"), "{out}");
    assert_eq!(out.matches("> I n").count(), 4, "{out}");
}

#[test]
fn a_rate_is_held_in_each_second_and_time_in_which_the_window_was_full_is_lost() {
    let slow = Faults { loss: Share::new(1.0).unwrap(), ..Faults::default() };
    let (work, server) = (Workplace::new(), responder(slow));
    write_files(&work);
    let port = server.address().port();
    // Each query of the window is lost after 0.5 s: 2 queries each 0.5 s at most, and not the 1,000 of the rate.
    let line = format!("dnsperf -s 127.0.0.1 -p {port} -d q.txt -q 2 -Q 1000 -l 1.8 -t .5");
    let out = work.dnsdyno(&line).gives(0).stdout;
    let sent = out.lines().find_map(|line| line.strip_prefix("  Queries sent:         ")).unwrap();
    assert!((2..=8).contains(&sent.parse::<u64>().unwrap()), "{out}");
}

#[test]
fn a_public_server_needs_consent_in_the_environment() {
    let work = Workplace::new();
    write_files(&work);
    let ran = work.dnsdyno("dnsperf -s 8.8.8.8 -d one.txt").gives(1);
    assert!(ran.stderr.contains("set DNSDYNO_I_MAY_LOAD_THIS_SERVER=1"), "{}", ran.stderr);
}

#[test]
fn data_files_that_cannot_be_read_are_refused_and_long_lines_are_malformed() {
    let (work, server) = (Workplace::new(), responder(Faults::default()));
    write_files(&work);
    let run = |file: &str| {
        let port = server.address().port();
        work.dnsdyno(&format!("dnsperf -s 127.0.0.1 -p {port} -d {file}"))
    };
    assert_eq!(run(".").gives(1).stderr, "Error: unable to open file: .\n");
    let long = "x".repeat(100_000);
    work.write("long.txt", format!("a.example A\r\n{long} A\nb.example A {long}\n"));
    let ran = run("long.txt").gives(0);
    assert!(ran.stdout.contains("  Queries sent:         2\n"), "{}", ran.stdout);
    assert!(ran.stderr.starts_with("Warning: invalid domain name (or out of space): xxxxx"));
    work.write("short.bin", b"\0\x1d\0\0\x01");
    let ran = run("short.bin -B").gives(1);
    assert!(ran.stderr.starts_with("dnsdyno: ") && ran.stderr.contains("short.bin"), "{}", ran.stderr);
    assert!(ran.stderr.ends_with("Error: input file contains no data\n"), "{}", ran.stderr);
}

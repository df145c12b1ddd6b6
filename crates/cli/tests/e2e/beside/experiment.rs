//! Experiments with real servers: run through, stopped in each way and resumed, with servers that fail in each way; and
//! nothing is left of them on the host.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use dnsdyno_lab::{Need, require};
use dnsdyno_responder::{Faults, Share};
use rustix::process::Signal;
use serde_json::Value;

use crate::support::{Ran, Workplace, may_unshare, responder};

/// Two servers, one of them with a variant, under two loads.
const SERVERS: &str = r#"
[[server]]
name = "nsd"
template = "nsd"

[[server.variant]]
name = "reuseport"
values = { reuseport = "yes" }

[[server]]
name = "knot"
template = "knot"
"#;

const LOADS: &str = r#"
[[load]]
name = "slow"
rate = 200

[[load]]
name = "fast"
rate = 600
"#;

/// Runs of a fifth of a second, whose figures nobody looks at: what is in doubt on a busy host counts here too.
pub(crate) const SHORT: &str = r#"
repeats = 2
cool-down = "20ms"
steady = "off"
in-doubt = "keep"
retries = 1
watch = "off"

[run]
for = "200ms"
timeout = "300ms"
"#;

fn has_servers() -> bool {
    require(&[Need::Server("nsd"), Need::Server("knot")])
}

fn write(work: &Workplace, text: &str) {
    work.write("x.toml", text);
}

pub(crate) fn results(work: &Workplace, folder: &str) -> Value {
    serde_json::from_str(&work.read(&format!("{folder}/results.json"))).unwrap()
}

/// For each server and load: how many runs count.
fn counted(results: &Value) -> BTreeMap<String, usize> {
    let cell = |cell: &Value| {
        let name = format!("{} {}", cell["server"].as_str().unwrap(), cell["load"].as_str().unwrap());
        (name, cell["runs"].as_array().unwrap().len())
    };
    results["cells"].as_array().unwrap().iter().map(cell).collect()
}

/// The lines of a journal that say what began, without those of runs that were cut off and made again.
fn made(work: &Workplace, folder: &str) -> Vec<(u64, String)> {
    let mut began: Vec<(u64, String)> = Vec::new();
    for line in work.read(&format!("{folder}/journal.ndjson")).lines() {
        // The last line may be in writing.
        let Ok(line) = serde_json::from_str::<Value>(line) else { break };
        if let Some(number) = line["began"].as_u64() {
            began.retain(|(known, _)| *known != number);
            began.push((number, line["why"].as_str().unwrap().to_owned()));
        }
    }
    began
}

/// The processes that the experiment of a process has started, as their folders in /proc.
pub(crate) fn processes_of(ran_as: u32) -> Vec<PathBuf> {
    let mark = mark_of(ran_as);
    let is_marked = |path: &PathBuf| {
        fs::read(path.join("environ")).is_ok_and(|text| String::from_utf8_lossy(&text).contains(&mark))
    };
    fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.path()).filter(is_marked).collect()
}

/// What the names of the folders of an experiment start with.
fn mark_of(ran_as: u32) -> String {
    format!("dnsdyno-experiment-{ran_as}-")
}

/// Checks that nothing of an experiment is left: processes with its mark, folders, namespaces of processes that ended.
pub(crate) fn nothing_is_left(ran_as: u32) {
    assert_eq!(processes_of(ran_as), Vec::<PathBuf>::new());
    let names = |folder: &str, start: &str| -> Vec<String> {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
        names.filter(|name| name.starts_with(start)).collect()
    };
    let temporary = std::env::temp_dir().display().to_string();
    assert_eq!(names(&temporary, &mark_of(ran_as)), [""; 0]);
    assert_eq!(names("/run/netns", &format!("dnsdyno-{ran_as}-")), [""; 0]);
}

/// Runs the experiment of `x.toml` to its end.
pub(crate) fn experiment(work: &Workplace, more: &str) -> Ran {
    let started = work.start(&format!("experiment x.toml {more}"));
    let pid = u32::try_from(started.pid().as_raw_nonzero().get()).unwrap();
    let ran = started.wait();
    nothing_is_left(pid);
    ran
}

#[test]
fn servers_and_a_variant_are_measured_in_turn_and_compared() {
    if !has_servers() {
        return;
    }
    let work = Workplace::new();
    write(&work, &format!("{SHORT}\n{SERVERS}\n{LOADS}"));
    let planned = work.dnsdyno("experiment x.toml --dry-run").gives(0).stdout;
    assert!(planned.contains("18 runs: 3 servers × 2 loads × (1 + 2 repeats), in turn"), "{planned}");
    assert!(planned.contains("nsd/reuseport (values.reuseport = yes), compared with nsd"), "{planned}");
    assert!(!work.has("runs"), "a dry run makes nothing");

    let ran = experiment(&work, "-o out").gives(0);
    assert!(
        ran.stdout.contains("18 runs were made, 12 of them count") || ran.stdout.contains("discarded"),
        "{}",
        ran.stdout
    );
    let found = results(&work, "out");
    let counts = counted(&found);
    assert_eq!(counts.len(), 6);
    assert!(counts.values().all(|runs| *runs == 2), "{counts:?}");
    let differences: Vec<String> = found["differences"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| {
            format!(
                "{} {} {}",
                one["server"].as_str().unwrap(),
                one["against"].as_str().unwrap(),
                one["load"].as_str().unwrap()
            )
        })
        .collect();
    assert_eq!(
        differences,
        ["nsd/reuseport nsd slow", "knot nsd slow", "nsd/reuseport nsd fast", "knot nsd fast"]
    );

    // Each record is whole, of the server that it is said to be of, and has its configuration.
    let config = work.read("out/runs/002/server.conf");
    assert!(config.contains("reuseport: yes"), "{config}");
    assert!(work.read("out/runs/003/server.conf").contains("udp-workers: 1"));
    let facts: Value = serde_json::from_str(&work.read("out/runs/003/server.json")).unwrap();
    assert!(facts["version"].as_str().unwrap().starts_with(char::is_numeric));
    let record = work.record("out/runs/003");
    assert_eq!((record.tally().scheduled, record.header.name.as_deref()), (40, Some("knot slow")));

    // The same figures in each form.
    let csv = work.read("out/results.csv");
    assert_eq!(csv.lines().count(), 13, "{csv}");
    let markdown = work.read("out/results.md");
    assert!(
        markdown.contains("| slow | nsd/reuseport | 2 |") && markdown.contains("## Discarded"),
        "{markdown}"
    );
    let page = work.read("out/index.html");
    for words in ["Answered share", "nsd/reuseport", "<svg", "aria-labelledby", "values.reuseport = yes"] {
        assert!(page.contains(words), "no {words} in the page");
    }
    assert!(!page.contains("<script") && !page.contains("http://") && !page.contains("https://"));

    // The same command makes nothing twice.
    let before = made(&work, "out");
    experiment(&work, "-o out").gives(0);
    assert_eq!(made(&work, "out"), before);
    write(&work, &format!("{}\n{SERVERS}\n{LOADS}", SHORT.replace("repeats = 2", "repeats = 3")));
    experiment(&work, "-o out").ends_refused(2, &["holds another campaign, or one with other options"]);
}

#[test]
fn an_experiment_stopped_in_three_ways_and_resumed_makes_the_same_runs() {
    if !has_servers() {
        return;
    }
    let work = Workplace::with_own_temporary_files();
    write(&work, &format!("{SHORT}\n{SERVERS}\n{LOADS}"));
    let mut killed = 0;
    for (signal, code, at) in
        [(Signal::INT, Some(130), 3), (Signal::TERM, Some(143), 6), (Signal::KILL, None, 9)]
    {
        let mut started = work.start("experiment x.toml -o out");
        let pid = u32::try_from(started.pid().as_raw_nonzero().get()).unwrap();
        started.until("some runs", || work.has("out/journal.ndjson") && made(&work, "out").len() >= at);
        started.signal(signal);
        let ran = started.wait();
        assert_eq!(ran.code(), code, "{ran:?}");
        match code {
            Some(_) => {
                nothing_is_left(pid);
                assert!(ran.stderr.contains("stopped; the same command goes on"), "{ran:?}");
            }
            None => killed = pid,
        }
    }
    let left = format!("dnsdyno-experiment-{killed}-0");
    assert!(work.has(&format!("tmp/{left}")), "a process that is killed cleans nothing up");
    let ran = experiment(&work, "-o out").gives(0);
    nothing_is_left(killed);
    assert!(
        ran.stderr.contains(&format!("{left}, which was left of an earlier experiment")),
        "{}",
        ran.stderr
    );
    assert!(ran.stderr.contains("goes on after"), "{}", ran.stderr);

    experiment(&work, "-o through").gives(0);
    let (resumed, through) = (results(&work, "out"), results(&work, "through"));
    assert_eq!(counted(&resumed), counted(&through));
    let numbers: Vec<u64> = made(&work, "out").iter().map(|(number, _)| *number).collect();
    assert_eq!(numbers, (1..=numbers.len() as u64).collect::<Vec<_>>(), "no run is missing or made twice");
    // Where no run was in doubt, they are the same runs.
    if resumed["discarded"].as_array().unwrap().is_empty()
        && through["discarded"].as_array().unwrap().is_empty()
    {
        assert_eq!(made(&work, "out"), made(&work, "through"));
    }
}

#[test]
fn a_stopped_server_does_not_outlive_an_experiment_that_was_killed() {
    if !has_servers() {
        return;
    }
    let work = Workplace::new();
    // A stopped process does not follow the signal that it gets when its parent ends.
    let event = "[[event]]\nat = 0\nserver = \"stop\"\n";
    let slow = SHORT.replace("for = \"200ms\"", "for = \"30s\"");
    write(
        &work,
        &format!(
            "answers = \"any\"\n{slow}\n{event}\n[[server]]\nname = \"nsd\"\ntemplate = \"nsd\"\n{LOADS}"
        ),
    );
    let mut started = work.start("experiment x.toml -o out");
    let pid = u32::try_from(started.pid().as_raw_nonzero().get()).unwrap();
    let is_stopped = |path: &PathBuf| {
        let stat = fs::read_to_string(path.join("stat")).unwrap_or_default();
        stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with('T'))
    };
    started.until("a server that stands still", || processes_of(pid).iter().any(is_stopped));
    started.signal(Signal::KILL);
    started.wait();
    // Where nobody is left who could let it go on, the kernel does that (POSIX.1, orphaned process groups).
    std::thread::sleep(Duration::from_secs(2));
    let is_left = !processes_of(pid).is_empty();
    write(&work, &format!("{SHORT}\n{SERVERS}\n{LOADS}"));
    // Another experiment cleans up too.
    let ran = experiment(&work, "-o other").gives(0);
    nothing_is_left(pid);
    assert_eq!(ran.stderr.contains("ended nsd"), is_left, "{}", ran.stderr);
}

/// An experiment of one server by a template of the user.
fn with_template(work: &Workplace, template: &str, more: &str) {
    work.write("mine.toml", template);
    let server =
        format!("[[server]]\nname = \"mine\"\ntemplate = \"./mine.toml\"\nready-within = \"300ms\"\n{more}");
    write(work, &format!("{SHORT}\n{server}\n[[load]]\nname = \"l\"\nrate = 100\n"));
}

/// A template whose program is a shell with this script.
fn shell_template(script: &str) -> String {
    format!(
        "package = \"none\"\nprogram = \"sh\"\ncommand = [\"-c\", '{script}']\nconfig = \"\"\n\
         version = {{ arguments = [\"-c\", \"echo version 1\"], after = \"version \" }}\n\
         [ready]\ntype = \"SOA\"\ntransports = [\"udp\"]\nport_taken = [\"in use\"]\n"
    )
}

#[test]
fn ctrl_c_calls_off_the_start_of_a_server() {
    let initialises = "initialise = [\"sleep\", \"300\"]\n[ready]";
    let silent = shell_template("exec sleep 300");
    let nsd = |more: &str| format!("[[server]]\nname = \"mine\"\ntemplate = \"nsd\"\n{more}");
    let mine = |more: &str| format!("[[server]]\nname = \"mine\"\ntemplate = \"./mine.toml\"\n{more}");
    let mut starts = vec![
        (silent.clone(), mine("")),
        (silent.replace("[ready]", initialises), mine("")),
        (silent, mine("prepare = \"sleep 300\"")),
    ];
    if has_servers() {
        starts.push((String::new(), nsd("ready-when = \"sleep 300\"")));
    }
    for (template, server) in starts {
        let work = Workplace::new();
        work.write("mine.toml", &template);
        let patient = format!("{server}\nready-within = \"5m\"\n[[load]]\nname = \"l\"\nrate = 100\n");
        write(&work, &format!("{SHORT}\n{patient}"));
        let mut started = work.start("experiment x.toml -o out");
        let pid = u32::try_from(started.pid().as_raw_nonzero().get()).unwrap();
        let sleeps = |path: &PathBuf| {
            let words = fs::read(path.join("cmdline")).unwrap_or_default();
            words.split(|byte| *byte == 0).next().is_some_and(|program| program.ends_with(b"sleep"))
        };
        started.until("the start has begun", || processes_of(pid).iter().any(sleeps));
        started.signal(Signal::INT);
        let ran = started.wait();
        assert_eq!(ran.code(), Some(130), "{server}: {ran:?}");
        assert!(ran.stderr.contains("stopped; the same command goes on"), "{server}: {ran:?}");
        nothing_is_left(pid);
        assert_eq!(made(&work, "out"), [], "{server}: no run has begun");
    }
}

#[test]
fn a_server_that_never_starts_or_listens_elsewhere_is_told_with_its_log_which_is_kept() {
    let work = Workplace::new();
    with_template(&work, &shell_template("echo out of luck; exit 3"), "");
    experiment(&work, "-o ends").gives(3).says(&[
        "mine cannot be measured",
        "ended by itself",
        "out of luck",
    ]);
    assert_eq!(work.read("ends/failed-mine.log"), "out of luck\n");
    with_template(&work, &shell_template("echo listens on port 1; sleep 60"), "");
    experiment(&work, "-o elsewhere")
        .gives(3)
        .says(&["mine cannot be measured", "no correct response within 300ms"]);
    with_template(&work, &shell_template("sleep 60"), "prepare = \"echo no space; exit 4\"\n");
    experiment(&work, "-o unprepared").gives(3).says(&["`prepare` ended with exit status: 4", "no space"]);
}

#[test]
fn a_server_that_dies_during_its_runs_is_given_up_and_the_others_are_measured() {
    if !has_servers() {
        return;
    }
    let work = Workplace::new();
    // Found by its folder, which is in the environment of the command, and not by its name.
    let event = "[[event]]\nat = \"50ms\"\nrun = \"kill -9 $DNSDYNO_SERVER_PID\"\non = [\"knot\"]\n";
    let short = SHORT;
    write(
        &work,
        &format!("answers = \"any\"\n{short}\n{event}\n{SERVERS}\n[[load]]\nname = \"l\"\nrate = 100\n"),
    );
    let ran = experiment(&work, "-o out").gives(1);
    assert!(
        ran.stderr.contains("discarded: knot: the server ended during the run (signal: 9")
            && ran.stderr.contains("the last line of its log: "),
        "{}",
        ran.stderr
    );
    let found = results(&work, "out");
    let states: Vec<&str> =
        found["cells"].as_array().unwrap().iter().map(|cell| cell["state"].as_str().unwrap()).collect();
    assert_eq!(states[2], "not_measured");
    let of_knot =
        found["differences"].as_array().unwrap().iter().find(|one| one["server"] == "knot").unwrap();
    assert!(of_knot["not_compared"].is_string());
    assert!(work.read("out/results.md").contains("the server ended during the run"));
}

#[test]
fn a_server_that_answers_wrongly_is_void_and_that_is_said() {
    if !has_servers() {
        return;
    }
    let work = Workplace::new();
    // The check before the load asks the first name; the other one is of no zone of the server.
    let ask = "ask = [\"host-000.dyno.example A\", \"www.example.org A\"]\n";
    let load = format!("[[load]]\nname = \"l\"\nrate = 100\n{ask}");
    let short = SHORT;
    write(&work, &format!("{short}\n[[server]]\nname = \"nsd\"\ntemplate = \"nsd\"\n{load}"));
    let ran = experiment(&work, "-o out").gives(1);
    assert!(ran.stderr.contains("discarded: void: 50.0 % of the answers are REFUSED"), "{}", ran.stderr);
    assert!(work.read("out/index.html").contains("void: 50.0 % of the answers are REFUSED"));
    assert_eq!(results(&work, "out")["cells"][0]["state"], "not_measured");

    // Answers to other questions, of a server that is there already.
    let faults = Faults { wrong_question: Share::new(0.3).unwrap(), ..Faults::default() };
    let server = responder(faults);
    let there = format!("[[server]]\nname = \"there\"\naddress = \"{}\"\n", server.address());
    let load = "[[load]]\nname = \"l\"\nrate = 200\nask = [\"www.example A\"]\ncheck = false\n";
    write(&work, &format!("{short}\n{there}\n{load}"));
    let ran = experiment(&work, "-o there").gives(1);
    assert!(ran.stderr.contains("are malformed, or answer another question"), "{}", ran.stderr);
}

#[test]
fn a_pause_and_a_command_happen_at_their_time_and_are_kept() {
    if !has_servers() {
        return;
    }
    let work = Workplace::new();
    let events = "[[event]]\nat = \"100ms\"\npause = \"300ms\"\n\n[[event]]\nat = \"50ms\"\nrun = \"echo at \
                  $DNSDYNO_SERVER_PORT; exit 5\"\n";
    let long = SHORT.replace("for = \"200ms\"", "for = \"600ms\"").replace("repeats = 2", "repeats = 1");
    write(
        &work,
        &format!(
            "drop-first = 0\n{long}\n{events}\n[[server]]\nname = \"nsd\"\ntemplate = \"nsd\"\n[[load]]\n\
            name = \"l\"\nrate = 100\n"
        ),
    );
    let ran = experiment(&work, "-o out").gives(0);
    assert!(ran.stderr.contains("exit status: 5"), "{}", ran.stderr);
    let facts: Value = serde_json::from_str(&work.read("out/runs/001/server.json")).unwrap();
    let events = facts["events"].as_array().unwrap();
    assert_eq!(events.len(), 2);
    assert!(events[0]["at_ns"].as_u64().unwrap() >= 50_000_000 && events[0]["succeeded"] == false);
    assert!(events[1]["took_ns"].as_u64().unwrap() >= 300_000_000, "{events:?}");
    assert!(work.read("out/runs/001/commands.log").starts_with("at "));
    // The server stood still: the longest answer waited for it, or was lost.
    let record = work.record("out/runs/001");
    let slowest = record.tally().response.exact().map_or(0, |exact| exact.max_ns);
    assert!(slowest >= 100_000_000 || record.tally().ends.unanswered() > 0, "{slowest}");
}

#[test]
fn mistakes_in_the_file_are_told_with_their_line_and_what_was_probably_meant() {
    let work = Workplace::new();
    let nsd = "[[server]]\nname = \"nsd\"\ntemplate = \"nsd\"\n";
    let load = "[[load]]\nname = \"l\"\nrate = 100\nfor = 1\n";
    let year = format!("repeats = 9000\n[run]\nfor = \"1h\"\n{nsd}[[load]]\nname = \"l\"\nrate = 100\n");
    let cases: Vec<(String, &[&str])> = vec![
        (
            format!("repeat = 3\n{nsd}{load}"),
            &["line 1: the file has no key `repeat`: did you mean `repeats`?"],
        ),
        (
            format!("{nsd}thread = 2\n{load}"),
            &["line 4: [[server]] has no key `thread`: did you mean `threads`?"],
        ),
        (format!("{nsd}{load}rat = 2\n"), &["line 8: [[load]] has no key `rat`: did you mean `rate`?"]),
        (format!("{nsd}{load}[[event]]\nat = 1\nwhen = 2\n"), &["line 10: [[event]] has no key `when`"]),
        (format!("{nsd}[[server.variant]]\nname = \"v\"\n{load}"), &["variant `nsd/v` changes nothing"]),
        (
            format!(
                "{nsd}[[server.variant]]\nname = \"v\"\nthreads = 2\nvalues = {{ reuseport = \"yes\" }}\n{load}"
            ),
            &["changes several things (threads = 2; values.reuseport = yes)", "`changes = \"several\"`"],
        ),
        (
            format!("{nsd}values = {{ reusport = \"yes\" }}\n{load}"),
            &["no value `reusport`: did you mean `reuseport`?"],
        ),
        (format!("{nsd}{load}server = \"::1\"\n"), &["load `l`: the server is that of a [[server]]"]),
        (format!("{nsd}{load}rate = 7\n"), &["duplicate key"]),
        (format!("{nsd}{nsd}{load}"), &["two servers are named `nsd`"]),
        (load.to_owned(), &["there is no [[server]]"]),
        (nsd.to_owned(), &["there is no [[load]]"]),
        (nsd.replace("\"nsd\"\n", "\"nsd/x\"\n") + load, &["is no name of a server"]),
        (format!("{nsd}address = \"::1\"\n{load}"), &["has a `template` and an `address`"]),
        (
            format!("{nsd}sysctl = {{ \"kernel.panic\" = 1 }}\n{load}"),
            &["`kernel.panic` is of the whole host"],
        ),
        (year, &["this takes ", "add --dry-run", "--yes"]),
    ];
    for (text, words) in cases {
        write(&work, &text);
        experiment(&work, "-o out").ends_refused(2, words);
        assert!(!work.has("out"), "nothing is made");
    }
    experiment(&work, "--full").ends_refused(2, &["has no"]);
    work.dnsdyno("experiment none.toml").ends_refused(2, &["cannot read none.toml"]);
}

#[test]
fn a_disk_that_fills_stops_the_experiment_which_goes_on_when_there_is_space() {
    if !has_servers() || !may_unshare("-m") {
        return;
    }
    let work = Workplace::new();
    write(&work, &format!("{SHORT}\n{SERVERS}\n{LOADS}"));
    // The records of the first half fit; then the ballast is removed.
    let script = "mkdir full && mount -t tmpfs -o size=400k none full; \
                  \"$0\" experiment x.toml -o full/out 2> said; echo $? > code; \
                  mount -o remount,size=100m full; exec \"$0\" experiment x.toml -o full/out";
    let ran = work.shell_apart("-m", script).gives(0);
    let said = work.read("said");
    assert!(["3\n", "4\n"].contains(&work.read("code").as_str()), "{said}");
    assert!(said.contains("No space left") && !said.contains("panicked"), "{said}");
    assert!(ran.stderr.contains("goes on after"), "{}", ran.stderr);
    assert!(ran.stdout.contains("12 of them count"), "{}", ran.stdout);
}

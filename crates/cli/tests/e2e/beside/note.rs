//! Notes from another shell to a run in progress: they are in its record and in all that is made of it, and only the
//! user of the run can give them, while it lasts.

use std::fs;
use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};

use dnsdyno_lab::{Need, require};
use dnsdyno_record::{Event, RunReader};
use dnsdyno_responder::Faults;
use rustix::process::Signal;
use serde_json::Value;

use crate::beside::serve::{address_of, json};
use crate::support::{DNSDYNO, Started, Workplace, responder};

/// `dnsdyno note` as from another shell: exit code, standard output, standard error.
fn note(work: &Workplace, run: &str, text: &str) -> (Option<i32>, String, String) {
    let mut command = Command::new(DNSDYNO);
    let ran = command.args(["note", run, text]).current_dir(work.path("")).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (ran.status.code(), text(&ran.stdout), text(&ran.stderr))
}

#[track_caller]
fn is_noted(work: &Workplace, run: &str, text: &str, folder: &str) {
    assert_eq!(note(work, run, text), (Some(0), format!("noted in {folder}\n"), String::new()));
}

#[track_caller]
fn is_refused(work: &Workplace, run: &str, text: &str, words: &str) {
    let (code, stdout, stderr) = note(work, run, text);
    assert_eq!((code, stdout.as_str()), (Some(2), ""), "{stderr}");
    assert!(stderr.starts_with("dnsdyno: ") && stderr.contains(words), "{stderr}");
}

/// A run that lasts until it is stopped.
fn begun<'a>(work: &'a Workplace, server: &str, folder: &str, options: &str) -> Started<'a> {
    let words =
        format!("run -s {server} -d q.txt --rate 200 --for 50s --interval 100ms -o {folder} {options}");
    let mut run = work.start(&words);
    run.until("two intervals settle", || work.intervals(folder).len() >= 2);
    run
}

fn notes_of(events: &[Event]) -> Vec<&str> {
    events.iter().filter(|event| event.kind == "note").map(|event| event.message.as_str()).collect()
}

fn now_ns() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos() as u64
}

#[test]
fn a_note_is_in_the_record_at_its_instant_and_in_every_output() {
    let work = Workplace::with_queries();
    let server = responder(Faults::default());
    let mut run = begun(&work, &server.address().to_string(), "runs/now", "--plain");
    let started_ns = RunReader::open(&work.path("runs/now")).unwrap().header().started_unix_ns;
    let text = "cache flushed, \"twice\" <b>";
    let before_ns = now_ns() - started_ns;
    is_noted(&work, "runs/now", text, "runs/now");
    let after_ns = now_ns() - started_ns;
    let shown = "dnsdyno: note: cache flushed, \"twice\" <b>\n";
    run.until("it is told beside the figures", || work.stderr().contains(shown));
    // By the name of its folder, and by the folder that holds it.
    is_noted(&work, "now", "second", "runs/now");
    is_noted(&work, "runs", "third", "runs/now");
    assert!(!work.has("runs/now/note.pending"));

    let mut serving = work.start("serve runs --listen 127.0.0.1:0");
    let address = address_of(&work, &mut serving);
    let first = || json(address, "/runs/now/data")["data"]["runs"][0]["events"][0]["message"].clone();
    run.until("it is served", || first() == format!("note: {text}"));
    serving.signal(Signal::TERM);
    serving.wait().gives(0);
    run.signal(Signal::INT);
    run.wait().gives(130);

    let record = work.record("runs/now");
    assert_eq!(notes_of(&record.events), [text, "second", "third"]);
    let at_ns = record.events[0].at_ns;
    assert!((before_ns..=after_ns).contains(&at_ns), "{before_ns} {at_ns} {after_ns}");
    let shown = work.dnsdyno("show runs/now").gives(0).stdout;
    assert!(shown.contains(": note: cache flushed, \"twice\" <b>\n"), "{shown}");
    let summary: Value = serde_json::from_str(&work.dnsdyno("show runs/now --json").gives(0).stdout).unwrap();
    assert_eq!(
        (&summary["events"][0]["kind"], &summary["events"][0]["message"]),
        (&"note".into(), &text.into())
    );
    let table = work.dnsdyno("show runs/now --csv").gives(0).stdout;
    let lines: Vec<&str> =
        table.lines().filter(|line| line.ends_with("\"cache flushed, \"\"twice\"\" <b>\",0")).collect();
    assert_eq!(lines.len(), 1, "{table}");
    let index: u64 = lines[0].split(',').nth(1).unwrap().parse().unwrap();
    assert_eq!(index, at_ns / 100_000_000);
    work.dnsdyno("report runs/now").gives(0);
    let page = work.read("runs/now/report.html");
    assert!(page.contains("note: cache flushed") && !page.contains("<b>"), "on the timeline, and no markup");
    let mut files: Vec<_> =
        fs::read_dir(work.path("runs/now")).unwrap().map(|file| file.unwrap().file_name()).collect();
    files.sort();
    assert_eq!(files, ["host.json", "plan.toml", "report.html", "run.ndjson"], "nothing is left");
    is_refused(&work, "runs/now", "too late", "has ended, and its record is closed");
}

#[test]
fn what_is_no_note_or_has_no_run_is_refused() {
    let work = Workplace::with_queries();
    let server = responder(Faults::default());
    let run = begun(&work, &server.address().to_string(), "now", "--quiet");
    is_refused(&work, "now", "", "the note is empty");
    is_refused(&work, "now", " \t ", "the note is empty");
    is_refused(&work, "now", "two\nlines", "the note has the character \\u{a}");
    is_refused(&work, "now", "\u{1b}[2J", "the note has the character \\u{1b}");
    is_refused(&work, "now", &"x".repeat(401), "has 401 characters, and the limit is 400");
    is_refused(&work, "elsewhere", "x", "elsewhere is not the folder of a run in progress");
    is_refused(&work, "/dev/null", "x", "/dev/null is not the folder of a run in progress");
    fs::create_dir(work.path("empty")).unwrap();
    is_refused(&work, "empty", "x", "empty is not the folder of a run in progress");
    let other = begun(&work, &server.address().to_string(), "other", "--quiet");
    is_refused(&work, ".", "x", "several runs in progress are meant by .: name one of ./now, ./other");
    other.signal(Signal::INT);
    other.wait().gives(130);
    if require(&[Need::Root]) {
        std::os::unix::fs::chown(work.path("now/run.ndjson"), Some(65_534), None).unwrap();
        is_refused(&work, "now", "x", "is that of another user");
        assert!(!work.has("now/note.pending"));
    }
    run.signal(Signal::KILL);
    run.wait().dies_of(Signal::KILL);
    is_refused(&work, "now", "x", "has ended, and its record is closed");
    assert!(work.record("now").events.is_empty());
}

#[test]
fn notes_that_are_given_at_once_are_all_taken() {
    let work = Workplace::with_queries();
    let server = responder(Faults::default());
    let run = begun(&work, &server.address().to_string(), "now", "--quiet");
    std::thread::scope(|scope| {
        for number in 0..5 {
            let work = &work;
            scope.spawn(move || is_noted(work, "now", &format!("note {number}"), "now"));
        }
    });
    run.signal(Signal::INT);
    run.wait().gives(130);
    let record = work.record("now");
    let mut notes = notes_of(&record.events);
    notes.sort_unstable();
    assert_eq!(notes, ["note 0", "note 1", "note 2", "note 3", "note 4"]);
}

#[test]
fn what_is_watched_and_the_trial_of_a_search_take_notes_too() {
    let work = Workplace::with_queries();
    let mut watching = work.start("watch host --interval 100ms --for 50s -o w --quiet");
    watching.until("its record begins", || {
        work.has("w/run.ndjson") && dnsdyno_record::is_in_progress(&work.path("w"))
    });
    is_noted(&work, "w", "fan replaced", "w");
    watching.signal(Signal::INT);
    watching.wait().gives(130);
    assert_eq!(notes_of(&work.record("w").events), ["fan replaced"]);

    let server = responder(Faults::default());
    let words = format!("find -s {} -d q.txt --trial 40s --from 200 -o f --quiet", server.address());
    let mut search = work.start(&words);
    search.until("a trial begins", || dnsdyno_record::is_in_progress(&work.path("f/runs/001")));
    is_noted(&work, "f", "in a trial", "f/runs/001");
    search.signal(Signal::INT);
    search.wait().gives(130);
    assert_eq!(notes_of(&work.record("f/runs/001").events), ["in a trial"]);
}

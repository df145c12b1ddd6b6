//! `show` with records that no run has written: a clear error or a summary, in little memory, and nothing that a
//! terminal would act on.

use serde_json::{Value, json};

use crate::support::{Ran, Workplace};

/// An escape sequence, a bell, a C1 control character, the end of a line, a change of direction.
const DIRTY: &str = "x\u{1b}]0;title\u{7}\u{9b}2J\r\n\u{202e}y";

/// A record of so many intervals of which each is one query that was answered.
fn lines(intervals: u64) -> Vec<Value> {
    let header = json!({ "runid": "r", "type": "header", "generator_version": "0.1.0", "generator_params": [],
        "dnsdyno": { "format": 2, "started_unix_ns": 1, "name": "n", "note": "n", "interval_ns": SECOND,
        "timeout_ns": SECOND, "headline": "response", "types": ["A"], "phases": [], "target": "t",
        "address": "127.0.0.1:53", "transport": "udp", "workers": 1, "clients": 1, "queries": 1, "bad_lines": 0,
        "send_only": false, "load": "l", "checks": [] } });
    let sum = json!({ "runid": "r", "type": "stats_sum", "dnsdyno": { "to_ns": intervals * SECOND,
        "scheduled": intervals, "requests": intervals, "ends": { "answered": intervals },
        "types": [{ "sent": intervals, "answered": intervals }], "arrivals": { "sent": intervals }, "warnings": [],
        "ended": { "how": "by_time" }, "evidence": {}, "late_after_settled": 0, "workers": [],
        "schedule_ns": intervals * SECOND, "passes": 1.0, "interface": null } });
    let interval = |n: u64| {
        json!({ "runid": "r", "type": "stats_periodic", "dnsdyno": { "index": n, "from_ns": n * SECOND,
            "to_ns": (n + 1) * SECOND, "asked_qps": 1.0, "scheduled": 1, "requests": 1, "ends": { "answered": 1 },
            "types": [{ "sent": 1, "answered": 1 }], "arrivals": { "sent": 1 }, "workers": [] } })
    };
    std::iter::once(header).chain((0..intervals).map(interval)).chain([sum]).collect()
}

const SECOND: u64 = 1_000_000_000;

fn text(lines: &[Value]) -> String {
    lines.iter().map(|line| format!("{line}\n")).collect()
}

/// `show` with an address space of 200 MB, of which it uses a part without any record.
fn show_in_little_memory(work: &Workplace, file: &str) -> Ran {
    work.shell(&format!("ulimit -v 200000; exec \"$0\" show {file}"))
}

#[test]
fn a_record_with_intervals_far_apart_is_shown() {
    let work = Workplace::new();
    let mut far = lines(40);
    for (n, line) in (1..).zip(&mut far[1..41]) {
        let from_ns = n * (1_u64 << 50);
        line["dnsdyno"]["index"] = from_ns.into();
        line["dnsdyno"]["from_ns"] = from_ns.into();
        line["dnsdyno"]["to_ns"] = (from_ns + SECOND).into();
    }
    work.write("far.ndjson", text(&far));
    let ran = show_in_little_memory(&work, "far.ndjson").gives(0);
    assert!(
        ran.stdout.contains("answered   40  100 %") && !ran.stderr.contains("panicked"),
        "{}{}",
        ran.stdout,
        ran.stderr
    );
}

#[test]
fn a_small_file_does_not_take_much_memory() {
    let work = Workplace::new();
    work.write("good.ndjson", text(&lines(3)));
    show_in_little_memory(&work, "good.ndjson").gives(0);
    // A row with its histograms for each change of the phase.
    let mut phases = lines(2);
    phases[0]["dnsdyno"]["phases"] = json!([
        { "label": "1", "from_ns": 0, "to_ns": SECOND },
        { "label": "2", "from_ns": SECOND, "to_ns": 2 * SECOND },
    ]);
    let alternating: Vec<Value> = (0..10_000).map(|n| phases[1 + n % 2].clone()).collect();
    work.write("alternating.ndjson", text(&phases[..1]) + &text(&alternating));
    show_in_little_memory(&work, "alternating.ndjson")
        .ends_refused(2, &["alternating.ndjson, line 4", "interval 0", "is not after the one before it"]);
    // Two histograms for each `{}`.
    let mut members = lines(1);
    members[1]["dnsdyno"]["members"] = Value::Array(vec![json!({}); 1_000_000]);
    work.write("members.ndjson", text(&members));
    show_in_little_memory(&work, "members.ndjson").ends_refused(2, &["line 2", "more than 32 entries"]);
    // A list that nobody reads: in the present format it is skipped, of the oldest one each line is read as a tree.
    let mut skipped = lines(1);
    skipped[1]["dnsdyno"]["more"] = Value::Array(vec![0.into(); 4_000_000]);
    work.write("skipped.ndjson", text(&skipped));
    show_in_little_memory(&work, "skipped.ndjson").gives(0);
    skipped[0]["dnsdyno"]["format"] = 1.into();
    work.write("old.ndjson", text(&skipped));
    show_in_little_memory(&work, "old.ndjson")
        .ends_refused(2, &["line 2", "bytes, and the limit is 2097152"]);
    let mut long = lines(1);
    long[1]["more"] = "x".repeat(60_000_000).into();
    work.write("long.ndjson", text(&long));
    show_in_little_memory(&work, "long.ndjson").ends_refused(2, &["line 2", "longer than 8 MiB"]);
    show_in_little_memory(&work, "/dev/zero").ends_refused(2, &["/dev/zero", "not a regular file"]);
    let bomb = text(&lines(1)[..1]) + &"{\"type\":\"other\"}\n".repeat(10_000_000);
    work.write("run.ndjson.zst", zstd::bulk::compress(bomb.as_bytes(), 1).unwrap());
    show_in_little_memory(&work, "run.ndjson.zst")
        .ends_refused(2, &["expands to more than 1000 times its size"]);
}

#[test]
fn a_record_whose_figures_do_not_fit_together_is_refused_with_its_line() {
    let work = Workplace::new();
    let mut wrong = lines(3);
    wrong[2]["dnsdyno"]["ends"]["answered"] = 9.into();
    work.write("ends.ndjson", text(&wrong));
    work.dnsdyno("show ends.ndjson").ends_refused(
        2,
        &["line 3: its ends add up to 9, but 1 queries were scheduled", "the record was changed"],
    );
    let mut wrong = lines(3);
    wrong[4]["dnsdyno"]["requests"] = 900.into();
    work.write("sum.ndjson", text(&wrong));
    work.dnsdyno("show --json sum.ndjson")
        .ends_refused(2, &["line 5: its `requests` is 900, but the intervals before it add up to 3"]);
}

#[test]
fn no_text_of_a_record_reaches_a_terminal_as_it_is() {
    let work = Workplace::new();
    let mut dirty = lines(2);
    let checks = json!([{ "transport": DIRTY, "query": DIRTY, "rcode": DIRTY, "problem": DIRTY, "version": DIRTY,
        "nsid": DIRTY, "tls": { "version": DIRTY, "cipher_suite": DIRTY, "alpn": DIRTY, "subject": DIRTY,
        "issuer": DIRTY, "names": [DIRTY], "valid_until": DIRTY } }]);
    let xdp = json!({ "interface": DIRTY, "queues": 1, "mode": DIRTY, "zero_copy": false, "source": "::1",
        "first_port": 1, "last_port": 2, "next_hop": DIRTY, "vlan": null, "mtu": 1500 });
    let phase = |n: u64| json!({ "label": DIRTY, "from_ns": n * SECOND, "to_ns": (n + 1) * SECOND });
    let own = dirty[0]["dnsdyno"].as_object_mut().unwrap();
    for name in ["name", "note", "target", "transport", "load"] {
        own.insert(name.to_owned(), DIRTY.into());
    }
    own.insert("backend".to_owned(), json!({ "why": DIRTY, "xdp": xdp }));
    let member = json!({ "transport": DIRTY, "share": 1.0, "address": "[::1]:53" });
    own.insert("mix".to_owned(), json!([member, member]));
    own.insert("phases".to_owned(), json!([phase(0), phase(1)]));
    own.insert("checks".to_owned(), checks);
    for name in ["runid", "generator_version"] {
        dirty[0][name] = DIRTY.into();
    }
    dirty[0]["generator_params"] = json!([DIRTY]);
    let event = json!({ "runid": "r", "type": "event", "msg": DIRTY, "msg_type": DIRTY, "dnsdyno": { "at_ns": 5,
        "kind": DIRTY, "message": DIRTY, "figures": { DIRTY: DIRTY } } });
    dirty.insert(1, event);
    let sum = dirty.last_mut().unwrap();
    sum["dnsdyno"]["ended"] = json!({ "how": "failed", "why": DIRTY });
    sum["dnsdyno"]["explanations"] = json!([{ "about": "stream.status", "words": DIRTY }, { "about": DIRTY,
        "words": DIRTY }]);
    sum["dnsdyno"]["interface"] = json!({ "name": DIRTY, "sent": 1, "send_dropped": 1, "send_errors": 1,
        "received": 1, "receive_dropped": 1, "receive_errors": 1 });
    work.write("dirty.ndjson", text(&dirty));
    for words in [
        "show dirty.ndjson",
        "show --verbose dirty.ndjson",
        "show --json dirty.ndjson",
        "show --csv dirty.ndjson",
        "export json dirty.ndjson",
        "export csv dirty.ndjson",
        "export junit dirty.ndjson",
        "export github dirty.ndjson",
    ] {
        is_clean(&work.dnsdyno(words).gives(0));
    }
    // Errors repeat what the file contains, and how the file is called.
    for (line, place) in
        [(0, "/dnsdyno/headline"), (0, "/type"), (0, "/dnsdyno/types/0"), (4, "/dnsdyno/ended/how")]
    {
        let mut wrong = dirty.clone();
        *wrong[line].pointer_mut(place).unwrap() = DIRTY.into();
        let name = "wrong\u{1b}[2J\u{7}.ndjson";
        work.write(name, text(&wrong));
        is_clean(&work.shell("exec \"$0\" show wrong*").gives(2));
    }
}

/// Lines of characters that a terminal only shows.
#[track_caller]
fn is_clean(ran: &Ran) {
    for text in [&ran.stdout, &ran.stderr] {
        let acted_on = |c: &char| (c.is_control() && *c != '\n') || *c == '\u{202e}';
        assert_eq!(text.chars().find(acted_on), None, "{text:?}");
    }
    assert!(ran.stdout.contains("title") || ran.stderr.contains("wrong"), "{ran:?}");
}

//! Small inputs that were misread once, as users meet them: each has its right value here, and in the tests of the
//! crate that reads it.

use crate::support::{Workplace, responder};
use dnsdyno_responder::Faults;
use serde_json::Value;

/// The counts of a capture.
fn contents(work: &Workplace, file: &str) -> Value {
    let shown = work.dnsdyno(&format!("capture show --json {CAPTURES}/{file}")).gives(0).stdout;
    serde_json::from_str(&shown).unwrap_or_else(|error| panic!("{error}: {shown}"))
}

#[test]
fn captures_of_each_kind_are_read() {
    let work = Workplace::new();
    let count = |of: &Value, key: &str| of[key].as_u64().unwrap_or_else(|| panic!("no {key} in {of:#}"));
    for file in [
        "01-obsolete-packet-block.pcapng",
        "19-erspan.pcap",
        "19-gre.pcap",
        "19-mpls.pcap",
        "19-pppoe.pcap",
        "19-vxlan.pcap",
        "20-nflog.pcap",
        "20-ppp.pcap",
    ] {
        assert_eq!(count(&contents(&work, file), "queries"), 1, "{file}");
    }
    for file in ["02-responses-with-queries.dnstap", "02b-empty-query-frames.dnstap"] {
        let of = contents(&work, file);
        assert_eq!((count(&of, "queries"), count(&of, "responses")), (3, 3), "{file}");
    }
    let work = Workplace::new();
    let filter = format!("capture filter {CAPTURES}/04-no-question.pcap -o x.txt");
    work.dnsdyno(&filter).gives(2).says(&["the format cannot hold them"]);
    assert!(!work.has("x.txt"));
}

#[test]
fn a_replay_keeps_the_time_between_its_queries() {
    let (work, server) = (Workplace::new(), responder(Faults::default()));
    let replay = |file: &str, run: &str| {
        let words = format!("run -s {} --replay {CAPTURES}/{file} --quiet -o {run}", server.address());
        work.dnsdyno(&words).gives(0);
        work.record(run)
    };
    let late = replay("15-time-goes-back.pcap", "back");
    assert_eq!(late.schedule_ns() / 1_000_000_000, 4, "{:?}", late.schedule_ns());
    let without = replay("14-query-without-time.dnstap", "without");
    assert_eq!((without.tally().ends.answered, without.schedule_ns() / 1_000_000_000), (2, 0));
}

#[test]
fn names_servers_and_lines_are_read_as_their_files_say() {
    let (work, server) = (Workplace::new(), responder(Faults::default()));
    let (ip, port) = (server.address().ip(), server.address().port());
    let words = format!(
        "run -s {ip}:{port} -d {QUERIES}/05-two-names.txt --queries-format names --types A --passes 1 --quiet -o names"
    );
    work.dnsdyno(&words).gives(0);
    assert_eq!(work.record("names").tally().scheduled, 2);
    let ran = work.dnsdyno(&format!("dnsperf -s {ip} -p {port} -d {QUERIES}/26-nul.txt")).gives(0);
    assert!(ran.stdout.contains("  Queries sent:         3\n"), "{}", ran.stdout);
    assert!(ran.stderr.contains("invalid query input format: x"), "{}", ran.stderr);
    work.write("servers.txt", format!("{ip}:{port} 2 3\n"));
    work.dnsdyno("run --servers servers.txt --ask www.example --count 1").gives(2).says(&[
        "servers.txt",
        "line 1",
        "ADDRESS WEIGHT",
    ]);
    work.write("bom.toml", format!("\u{feff}server = \"{ip}:{port}\"\nask = [\"www.example\"]\ncount = 5\n"));
    work.dnsdyno("run --plan bom.toml --quiet -o bom").gives(0);
    let utf16: Vec<u8> = "a.example A\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    work.write("utf16.txt", utf16);
    work.dnsdyno(&format!("run -s {ip}:{port} -d utf16.txt")).gives(2).says(&["UTF-16", "iconv"]);
}

const CAPTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../capture/tests/cases");
const QUERIES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../queries/tests/cases");

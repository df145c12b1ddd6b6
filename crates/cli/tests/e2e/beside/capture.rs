//! Captures: what `dnsdyno capture` says of them compared with what was sent, and what it writes, read by other
//! programs.

use std::net::SocketAddr;

use dnsdyno_capture::{DnsMessage, MessageWriter, OutputFormat, Protocol};
use dnsdyno_lab::{Need, require};
use dnsdyno_wire::{QueryForm, encode_name};
use rustix::process::Signal;
use serde_json::Value;

use crate::support::{Workplace, may_unshare, responder};

#[test]
fn what_tcpdump_has_captured_of_a_run_is_what_its_record_says() {
    let needs = ["tcpdump", "ethtool"].map(|name| Need::Program { name, package: name });
    if !require(&needs) || !may_unshare("-n") {
        return;
    }
    let work = Workplace::new();
    // tcpdump writes what it has captured a moment later. On the host that sends, datagrams that are handed to the
    // kernel together are one frame to it, unless the interface does not take such frames.
    let script = r#"
        soon() { for i in $(seq 300); do "$@" > seen 2>&1 && return; sleep 0.1; done; cat seen >&2; exit 9; }
        ip link set lo up; ethtool -K lo tx-udp-segmentation off || exit 7
        "$0" respond -l 127.0.0.1:53 > respond.txt 2>&1 & responder=$!
        tcpdump -i lo -U -w lo.pcap port 53 2> lo.txt & first=$!
        tcpdump -i any -y LINUX_SLL --time-stamp-precision=nano -U -w any.pcap port 53 2> any.txt & second=$!
        soon grep listening lo.txt; soon grep listening any.txt; soon grep . respond.txt
        "$0" run -s 127.0.0.1 --ask www.example --ask x.example/AAAA -r 500 --count 600 --mix udp=60,tcp=40 \
            --clients 4 --dnssec-ok --quiet -o run || exit 8
        has_all() { "$0" capture show --json $1 | grep -q '"responses":600,'; }
        soon has_all lo.pcap; soon has_all any.pcap
        kill $first $second $responder; wait; exit 0"#;
    work.shell_apart("-n", script).gives(0);
    let tally = work.record("run").tally().clone();
    assert_eq!(tally.ends.answered, 600);
    for file in ["lo.pcap", "any.pcap"] {
        let contents = contents(&work, file);
        assert_eq!((number(&contents, "queries"), number(&contents, "responses")), (600, 600), "{file}");
        assert_eq!(number(&contents["pairs"], "answered"), 600, "{file}");
        assert_eq!(number(&contents["edns"], "dnssec_ok"), 600, "{file}");
        for (name, queries) in [("udp", 360), ("tcp", 240)] {
            let of = |transport: &&Value| transport["name"] == name;
            let transport = contents["transports"].as_array().unwrap().iter().find(of).unwrap();
            assert_eq!(number(transport, "queries"), queries, "{file}: {name}");
        }
        let types: Vec<_> =
            contents["types"].as_array().unwrap().iter().map(|t| number(t, "count")).collect();
        assert_eq!(types, [300, 300], "{file}");
    }
}

#[test]
fn a_capture_in_any_format_and_compression_has_the_same_contents() {
    let work = Workplace::new();
    work.write("c.pcap", capture(OutputFormat::Pcap, 500));
    let mut want = contents(&work, "c.pcap");
    without_reading(&mut want);
    assert_eq!((number(&want, "queries"), number(&want["clients"], "clients")), (500, 50));
    for name in ["a.pcap.gz", "b.pcapng.zst", "c.dnstap.xz", "d.pcapng", "e.dnstap"] {
        work.dnsdyno(&format!("capture filter c.pcap -o {name}"))
            .gives(0)
            .says(&["wrote 1,000 of 1,000 messages"]);
        let mut contents = contents(&work, name);
        without_reading(&mut contents);
        assert_eq!(contents, want, "{name}");
    }
    // Two halves, merged, are the whole.
    work.dnsdyno("capture filter c.pcap --to 2s -o first.pcap").gives(0);
    work.dnsdyno("capture filter c.pcap --from 2s -o second.dnstap").gives(0);
    let mut both = json(&work.dnsdyno("capture show second.dnstap first.pcap --json").gives(0).stdout);
    without_reading(&mut both);
    assert_eq!(both, want);
}

#[test]
fn other_programs_read_what_is_written() {
    let needs = [("tcpdump", "tcpdump"), ("dnstap-ldns", "dnstap-ldns"), ("dnsperf", "dnsperf")];
    if !require(&needs.map(|(name, package)| Need::Program { name, package })) {
        return;
    }
    let work = Workplace::new();
    work.write("c.pcap", capture(OutputFormat::Pcap, 200));
    for name in ["a.pcapng", "a.dnstap", "a.txt", "a.bin"] {
        work.dnsdyno(&format!("capture filter c.pcap -o {name}")).gives(0);
    }
    let lines = |script: &str| work.shell(script).gives(0).stdout.lines().count();
    // 40 of the queries are over TCP, each in a connection of its own with its two SYN.
    assert_eq!(lines("tcpdump -n -r a.pcapng udp 2> err"), 2 * 160);
    assert_eq!(lines("tcpdump -n -r a.pcapng 'tcp[tcpflags] & tcp-syn = 0' 2> err"), 2 * 40);
    assert_eq!(lines("dnstap-ldns -r a.dnstap -q"), 400);
    let server = responder(Default::default());
    let at = format!("-s 127.0.0.1 -p {} -n 1", server.address().port());
    for (n, words) in [(1, "-d a.txt"), (2, "-B -d a.bin")] {
        work.shell(&format!("dnsperf {at} {words}")).gives(0);
        assert_eq!(server.book().udp.counts.received, n * 200, "{words}");
    }
}

#[test]
fn a_share_of_the_clients_is_kept_with_all_their_messages_in_every_format() {
    let work = Workplace::new();
    work.write("c.pcap", capture(OutputFormat::Pcap, 1_000));
    work.write("c.dnstap", capture(OutputFormat::Dnstap, 1_000));
    let kept = |words: &str| {
        let ran = work.dnsdyno(&format!("capture show --json {words}"));
        let contents = json(&ran.gives(0).stdout);
        let clients = number(&contents["clients"], "clients");
        // Each client has 20 queries, each with its response.
        assert_eq!(number(&contents, "queries"), clients * 20, "{words}");
        assert_eq!(number(&contents, "responses"), clients * 20, "{words}");
        let of = |client: &Value| client["address"].as_str().unwrap().to_owned();
        (clients, contents["clients"]["top"].as_array().unwrap().iter().map(of).collect::<Vec<_>>())
    };
    let tenth = kept("c.pcap --clients 10%");
    assert!((1..=12).contains(&tenth.0), "{tenth:?}");
    assert_eq!(kept("c.dnstap --clients 10%"), tenth);
    assert_ne!(kept("c.pcap --clients 10% --seed 2").1, tenth.1);
    assert_eq!(kept("c.pcap --clients 100%").0, 50);
    assert_eq!(kept("c.pcap --client 10.0.0.0/31").1, ["10.0.0.0", "10.0.0.1"]);
}

#[test]
fn a_capture_that_is_cut_short_is_used_as_far_as_it_goes() {
    let work = Workplace::new();
    let whole = capture(OutputFormat::Pcap, 100);
    work.write("cut.pcap", &whole[..whole.len() - 7]);
    let ran = work.dnsdyno("capture show cut.pcap").gives(2);
    assert!(ran.stdout.contains("100 queries, 99 responses"), "{}", ran.stdout);
    ran.says(&["cut.pcap is cut short: it ends at byte", "packets before it were read"]);
    let ran = work.dnsdyno("capture filter cut.pcap -o kept.pcap").gives(2);
    ran.says(&["wrote 199 of 199 messages to kept.pcap", "cut.pcap is cut short"]);
    assert_eq!(number(&contents(&work, "kept.pcap"), "responses"), 99);
}

#[test]
fn names_with_control_characters_do_not_reach_the_terminal() {
    let work = Workplace::new();
    let mut writer = MessageWriter::new(OutputFormat::Pcap, Vec::new()).unwrap();
    let bytes = query("\\027[2J\\010x.example");
    writer.write(&message(0, 1, Protocol::Udp, &bytes)).unwrap();
    work.write("c.pcap", writer.finish().unwrap().0);
    let text = work.dnsdyno("capture filter c.pcap -o - --format text").gives(0).stdout;
    assert_eq!(text, "\\027[2J\\010x.example A\n");
    work.write("\u{1b}[2J.pcap", "");
    let ran = work.shell("\"$0\" capture show *2J.pcap").gives(2);
    assert!(!ran.stderr.contains('\u{1b}'), "{:?}", ran.stderr);
}

#[test]
fn an_output_that_is_not_complete_is_not_there() {
    let work = Workplace::new();
    work.write("c.pcap", capture(OutputFormat::Pcap, 1_000));
    work.write("out.pcap", "before");
    work.write("start", "\0\0\0\0\0\0\0\u{22}\0\0\0\u{2}\0\0\0\u{1}\0\0\0\u{16}protobuf:dnstap.Dnstap");
    // Standard input has no end, because the program can write to it: it waits for more of the capture.
    let mut started = work.start_shell_with_keys(
        "mkfifo more && exec 3<>more && cat start >&3 && exec \"$0\" capture filter - -o out.pcap <&3",
    );
    started.until("the output is begun", || work.has("out.pcap.part"));
    // The file is there a moment before its signals are handled.
    started.until("signals are handled", || work.stdout().is_empty() && handles_interrupt(&work));
    started.signal(Signal::INT);
    started.wait().gives(130).says(&["ended before out.pcap was complete: nothing was written"]);
    assert!(!work.has("out.pcap.part"));
    assert_eq!(work.read("out.pcap"), "before");
    if may_unshare("-m") {
        let script = "mkdir full && mount -t tmpfs -o size=16k none full && \
                      \"$0\" capture filter c.pcap -o full/out.pcap; code=$?; ls full > left; exit $code";
        work.shell_apart("-m", script).ends_refused(3, &["cannot write", "full/out.pcap", "No space left"]);
        assert_eq!(work.read("left"), "");
    }
}

#[test]
fn a_reader_that_closes_its_pipe_is_no_failure() {
    let work = Workplace::new();
    work.write("c.pcap", capture(OutputFormat::Pcap, 5_000));
    let ran =
        work.shell("(\"$0\" capture filter c.pcap -o - --format pcap; echo $? > code) | head -c 30 > head");
    ran.gives(0);
    assert_eq!(work.read("code"), "0\n");
    let ran =
        work.shell("\"$0\" capture filter - -o - --format dnstap < c.pcap | \"$0\" capture show -").gives(0);
    assert!(ran.stdout.contains("5,000 queries, 5,000 responses"), "{}", ran.stdout);
}

/// Whether a program in the folder handles SIGINT: the kernel says which signals a process catches.
fn handles_interrupt(work: &Workplace) -> bool {
    let folder = work.path("").canonicalize().unwrap();
    let processes = std::fs::read_dir("/proc").unwrap().filter_map(Result::ok).map(|entry| entry.path());
    let mut ours =
        processes.filter(|path| std::fs::read_link(path.join("cwd")).is_ok_and(|cwd| cwd == folder));
    ours.any(|path| {
        let status = std::fs::read_to_string(path.join("status")).unwrap_or_default();
        let mask = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
        mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).is_some_and(|mask| mask & 2 != 0)
    })
}

/// A capture of queries of 50 clients, 10 ms apart, a fifth of them over TCP, with their responses.
fn capture(format: OutputFormat, queries: u32) -> Vec<u8> {
    let mut writer = MessageWriter::new(format, Vec::new()).unwrap();
    for n in 0..queries {
        let protocol = if n % 5 == 4 { Protocol::Tcp } else { Protocol::Udp };
        let mut bytes = query(&format!("n{n}.example"));
        bytes[..2].copy_from_slice(&(n as u16).to_be_bytes());
        let query = message(u64::from(n) * 10_000_000, n, protocol, &bytes);
        writer.write(&query).unwrap();
        let mut answer = bytes.clone();
        answer[2] |= 0x80;
        let at_unix_ns = query.at_unix_ns + 1_000_000;
        let (source, destination) = (query.destination, query.source);
        writer.write(&DnsMessage { at_unix_ns, source, destination, bytes: &answer, ..query }).unwrap();
    }
    writer.finish().unwrap().0
}

fn message(after_ns: u64, n: u32, protocol: Protocol, bytes: &[u8]) -> DnsMessage<'_> {
    let port = 10_000 + (n / 50) as u16;
    DnsMessage {
        at_unix_ns: 1_718_884_800_000_000_000 + after_ns,
        protocol,
        source: SocketAddr::from(([10, 0, 0, (n % 50) as u8], port)),
        destination: SocketAddr::from(([192, 0, 2, 53], 53)),
        bytes,
    }
}

fn query(name: &str) -> Vec<u8> {
    let (mut wire, mut query) = (Vec::new(), Vec::new());
    encode_name(name.as_bytes(), &mut wire).unwrap();
    QueryForm::default().encode(&wire, 1, &mut query);
    query
}

fn contents(work: &Workplace, file: &str) -> Value {
    json(&work.dnsdyno(&format!("capture show --json {file}")).gives(0).stdout)
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// Removes what depends on the file and not on its messages.
fn without_reading(contents: &mut Value) {
    let fields = contents.as_object_mut().unwrap();
    fields.remove("captures");
    fields.remove("read");
}

fn number(of: &Value, field: &str) -> u64 {
    of[field].as_u64().unwrap_or_else(|| panic!("{field} of {of}"))
}

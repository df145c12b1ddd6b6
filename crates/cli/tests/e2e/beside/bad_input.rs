//! Wrong input: a message says what is wrong and what to do, and the exit code tells the kind; nothing is sent, and
//! no partial record is left.

use std::fs;
use std::net::UdpSocket;

use dnsdyno_measure::Ends;
use dnsdyno_record::PLAN_FILE;

use crate::support::{Ran, Workplace, has_program, may_unshare, responder};

/// A server that gets no query: the error is found before.
const NEVER_QUERIED: &str = "run -s 127.0.0.1:9 -o run";

/// Runs with `words` must be refused with this code and these words in the message, and leave no folder.
#[track_caller]
fn refused(work: &Workplace, words: &str, code: i32, message: &[&str]) -> Ran {
    let ran = work.dnsdyno(&format!("{NEVER_QUERIED} {words}")).ends_refused(code, message);
    assert!(!work.has("run"), "{ran:?}: an empty record");
    ran
}

/// 4 good lines, 7 bad ones.
const MIXED: &str = "\
; a comment, then an empty line

www.example. A
no-type
www.example. NOTYPE
a..b A
bad\\escape\\25 A
www.example. TYPE65280 what follows is ignored
\tblanks.example.\t \tAAAA
.. A
.leading A
  . NS
trailing\\ A
";

#[test]
fn a_missing_or_empty_query_file_is_named_in_the_error() {
    let work = Workplace::new();
    work.write("empty.txt", "");
    work.write("comments.txt", "; nothing\n\n;\n");
    work.write("bad.txt", "one\ntwo words\n");
    refused(&work, "-d none.txt", 2, &["cannot open the query file", "none.txt", "No such file", "-d FILE"]);
    refused(&work, "-d .", 2, &["is a folder", "-d FILE"]);
    for empty in ["empty.txt", "comments.txt"] {
        refused(&work, &format!("-d {empty}"), 2, &[empty, "has no queries", "`name type`"]);
    }
    refused(
        &work,
        "-d bad.txt",
        2,
        &["no line is well formed", "bad.txt:1:", "no query type", "`name type`"],
    );
    refused(&work, "", 2, &["no queries", "-d FILE", "--ask"]);
    refused(
        &work,
        "-d bad.txt --ask www.example",
        2,
        &["--queries and --ask both give the queries", "remove"],
    );
    refused(&work, "--ask www..example", 2, &["`www..example` is not a question", "a label is empty"]);
    work.dnsdyno_reading("", &format!("{NEVER_QUERIED} -d -"))
        .ends_refused(2, &["standard input", "has no queries"]);
}

#[test]
fn a_malformed_line_is_reported_with_its_number_skipped_and_counted() {
    let work = Workplace::new();
    work.write("mixed.txt", MIXED);
    let server = responder(Default::default());
    let ran = work
        .dnsdyno(&format!("run -s {} -d mixed.txt --lenient --rate 500 --passes 25 -o run", server.address()))
        .gives(0)
        .says(&["mixed.txt:4: no query type", "mixed.txt:5: `NOTYPE`", "mixed.txt:6: a label is empty"])
        .says(&["mixed.txt:7: bad escape", "mixed.txt:10: ", "mixed.txt:11: ", "mixed.txt:13: "]);
    assert_eq!(ran.stderr.matches("skipped").count(), 7, "{}", ran.stderr);
    assert!(ran.stdout.contains("7 malformed lines skipped"), "{}", ran.stdout);
    let record = work.record("run");
    assert_eq!((record.header.queries, record.header.bad_lines), (4, 7));
    assert_eq!(record.tally().ends, Ends { answered: 100, ..Ends::default() });
    assert_eq!(record.header.types.len(), 4, "A, TYPE65280, AAAA, NS: {:?}", record.header.types);
    assert_eq!(server.book().udp.counts.received, 100);

    work.write("many.txt", format!("www.example. A\n{}", "bad\n".repeat(1000)));
    let ran = work
        .dnsdyno(&format!("run -s {} -d many.txt --lenient -r 500 --count 10 -o many", server.address()))
        .gives(0);
    assert!(ran.stderr.lines().count() < 30, "a screenful at most:\n{}", ran.stderr);
    ran.says(&["many.txt:2:", "skipped 980 more malformed lines"]);
    assert_eq!(work.record("many").header.bad_lines, 1000);
}

#[test]
fn a_malformed_line_ends_a_strict_run_before_it_starts() {
    let work = Workplace::new();
    work.write("mixed.txt", MIXED);
    refused(&work, "-d mixed.txt --strict", 2, &["mixed.txt:4: ", "no-type", "correct it", "--strict"]);
    work.dnsdyno_reading(MIXED, &format!("{NEVER_QUERIED} -d - --strict"))
        .ends_refused(2, &["standard input:4: ", "no-type"]);
}

#[test]
fn names_and_labels_that_are_too_long_are_reported_with_the_limit() {
    let work = Workplace::new();
    let label = "x".repeat(63);
    // Each label takes a byte for its length, and the root one more.
    let longest = format!("{label}.{label}.{label}.{}", "y".repeat(61));
    work.write("longest.txt", format!("{longest} A\n"));
    work.write("name.txt", format!("{longest}y A\n"));
    work.write("label.txt", format!("{label}x.example. A\n"));
    refused(&work, "-d name.txt", 2, &["name.txt:1:", "the name is 256 bytes", "255", "shorten"]);
    refused(&work, "-d label.txt", 2, &["label.txt:1:", "a label is 64 bytes", "63", "shorten"]);
    let server = responder(Default::default());
    work.dnsdyno(&format!("run -s {} -d longest.txt -r 500 --count 10 -o longest", server.address()))
        .gives(0);
    assert_eq!(work.record("longest").tally().ends.answered, 10);
}

#[test]
fn a_file_from_windows_gives_the_same_queries_as_one_from_unix() {
    let work = Workplace::new();
    work.write("unix.txt", "www.example. A\n\n; a comment\nwww.example. AAAA\nmail.example. MX\n");
    work.write(
        "windows.txt",
        "\u{feff}www.example. A\r\n\r\n; a comment\r\nwww.example. AAAA\r\nmail.example. MX",
    );
    let server = responder(Default::default());
    let [unix, windows] = ["unix", "windows"].map(|from| {
        let words = format!("run -s {} -d {from}.txt --strict -r 1k --passes 20 -o {from}", server.address());
        work.dnsdyno(&words).gives(0);
        work.record(from)
    });
    assert_eq!(windows.header.types, unix.header.types);
    assert_eq!((windows.tally().scheduled, windows.tally().ends.answered), (60, 60));
    assert_eq!(windows.tally().bytes_sent, unix.tally().bytes_sent);
}

#[test]
fn a_run_from_standard_input_is_repeated_from_its_own_plan() {
    let work = Workplace::new();
    let server = responder(Default::default());
    // Odd names must come back as they were.
    let input = "www.example. A\nsp\\032ace.example. AAAA\nd\\.ot.example. TYPE65280\n\
                 \\000\\255\\;\\\\. MX\nbad\n. NS\n";
    let words = "--stair 200..600 --step 200 --hold 200ms --edns-size 1400 --clients 3 --timeout 3s";
    work.dnsdyno_reading(input, &format!("run -s {} -d - {words} -o first", server.address()))
        .gives(0)
        .says(&["standard input:5:"]);
    work.dnsdyno("run --plan first/plan.toml -o second").gives(0);

    let [first, second] = ["first", "second"].map(|run| work.record(run));
    let plan = work.read("first/plan.toml");
    assert_eq!(work.read("second/plan.toml"), plan);
    assert!(plan.contains("seed") && plan.contains("first/queries.txt"), "{plan}");
    assert_eq!(first.tally().scheduled, 240, "(200 + 400 + 600)/s, 200 ms each");
    assert_eq!(first.header.bad_lines, 1);
    assert_eq!(second.tally().scheduled, first.tally().scheduled);
    assert_eq!(second.tally().types, first.tally().types);
    assert_eq!(second.tally().bytes_sent, first.tally().bytes_sent, "the same names");
    assert_eq!((&second.header.types, &second.header.phases), (&first.header.types, &first.header.phases));
    assert_eq!(second.header.load, first.header.load);
    // Flags override the plan file.
    work.dnsdyno("run --plan first/plan.toml --count 30 -o third").gives(0);
    assert_eq!(work.record("third").tally().scheduled, 30);
}

#[test]
fn an_error_in_a_plan_file_is_reported_with_its_line() {
    let work = Workplace::new();
    work.write("unknown.toml", "server = \"127.0.0.1\"\nqps = 5\n");
    work.write("broken.toml", "server = \n");
    refused(&work, "--plan none.toml", 2, &["cannot read the plan file none.toml", "No such file"]);
    refused(&work, "--plan unknown.toml", 2, &["unknown.toml", "qps", "line 2"]);
    refused(&work, "--plan broken.toml", 2, &["broken.toml", "line 1"]);
}

#[test]
fn invalid_loads_are_refused() {
    let work = Workplace::with_queries();
    let cases: &[(&str, &[&str])] = &[
        ("--rate 0", &["--rate must be above 0"]),
        ("--rate fast", &["--rate", "`fast` is not a rate", "50k"]),
        ("--rate=-5", &["--rate", "`-5`"]),
        ("--outstanding 0", &["--outstanding must be above 0"]),
        ("--outstanding 70000 -c 1", &["--outstanding 70000", "65536", "--clients 2"]),
        ("--rate 5k --outstanding 0", &["--outstanding must be above 0"]),
        ("--ramp 1..5 --stair 1..5 --over 5s", &["--ramp", "--stair", "remove one"]),
        ("--ramp 1k..5k", &["--ramp needs --over"]),
        ("--rate 5 --over 5s", &["--over", "--ramp"]),
        ("--outstanding 5 --send-only", &["--send-only", "--rate"]),
        ("--rate 5 --for 0s", &["--for must be above 0"]),
        ("--rate 5 --for soon", &["--for", "`soon` is not a duration", "30s"]),
        ("--rate 5 --timeout 0s", &["--timeout", "out of range", "1ms"]),
        ("--rate 5 --clients 0", &["--clients must be above 0"]),
        ("--rate 5 --clients 4 --local-ports 20000..20001", &["--local-ports", "has 2 port", "--clients 2"]),
        ("--rate 5 --edns-size 100", &["--edns-size 100", "512"]),
        ("--rate 5 --class CHAOS", &["--class", "CHAOS", "CH"]),
    ];
    for (words, message) in cases {
        refused(&work, &format!("-d q.txt {words}"), 2, message);
    }
}

#[test]
fn flags_that_do_not_exist_are_refused_with_the_usage() {
    let work = Workplace::with_queries();
    let ran = work
        .dnsdyno("run -s 127.0.0.1 -d q.txt --walk 5 -o run")
        .gives(2)
        .says(&["--walk", "Usage", "--help"]);
    assert_eq!((ran.stdout.as_str(), work.has("run")), ("", false));
    work.dnsdyno("walk").gives(2).says(&["walk", "Usage"]);
    work.dnsdyno("run -s 127.0.0.1 -d").gives(2).says(&["--queries"]);
    work.dnsdyno("").gives(2).says(&["run", "show", "Exit codes"]);
}

#[test]
fn invalid_servers_and_those_of_another_family_are_refused() {
    let work = Workplace::with_queries();
    let refused = |words: &str, message: &[&str]| {
        work.dnsdyno(&format!("run -d q.txt -o run {words}")).ends_refused(2, message);
        assert!(!work.has("run"), "{words}");
    };
    refused("", &["no server", "-s ADDRESS"]);
    refused("-s 127.0.0.1:99999", &["`127.0.0.1:99999` is not a server", "from 1 to 65535"]);
    refused("-s 127.0.0.1:0", &["a port is a number from 1 to 65535"]);
    refused("-s 127.0.0.1:5300 -p 53", &["given twice", "5300", "53", "remove one"]);
    refused(
        "-s ::1 --local-address 127.0.0.1",
        &["`::1` has no IPv4 address", "--family", "--local-address"],
    );
    refused("-s 127.0.0.1 --family v6", &["`127.0.0.1` has no IPv6 address", "--family"]);
    refused(
        "-s ::1 --family v6 --local-address 127.0.0.1",
        &["--local-address 127.0.0.1", "IPv6", "--family"],
    );
    refused("-s 127.0.0.1 --local-address here", &["--local-address", "`here`"]);
}

#[test]
fn a_server_name_that_does_not_resolve_is_refused() {
    let work = Workplace::with_queries();
    let ran = work
        .dnsdyno("run -d q.txt -o run -s name.invalid")
        .ends_refused(2, &["the server `name.invalid` has no address", "give an address instead"]);
    assert!(!work.has("run"), "{ran:?}");
    // The bound is the resolver's timeout: two servers, twice five seconds each.
    assert!(ran.took.as_secs() < 30, "{:?}", ran.took);
}

#[test]
fn a_public_server_is_not_loaded_without_permission() {
    let work = Workplace::with_queries();
    for server in ["192.0.0.8", "8.8.8.8", "8.8.8.8:5300", "2001:4860:4860::8888", "::ffff:8.8.8.8"] {
        work.dnsdyno(&format!("run -s {server} -d q.txt --rate 1 --count 1 -o run"))
            .ends_refused(2, &["is a public address", "looks like an attack", "--i-may-load-this-server"]);
        assert!(!work.has("run"), "{server}");
    }
}

/// Counted in a network namespace in which every address is local.
#[test]
fn nothing_is_sent_to_a_public_server_without_permission() {
    if !may_unshare("-n") || !has_program("ip") {
        return;
    }
    let work = Workplace::with_queries();
    let script = "ip link set lo up; ip route add default dev lo; \
                  \"$0\" run -s SERVER -d q.txt --rate 100 --count 5 -t 100ms -o out; code=$?; \
                  cp /proc/self/net/snmp counters; exit $code";
    let sent = |server: &str, code| {
        work.shell_apart("-n", &script.replace("SERVER", server)).gives(code);
        udp_datagrams_sent(&work.read("counters"))
    };
    assert_eq!(sent("8.8.8.8", 2), 0);
    assert_eq!(sent("192.0.0.8", 2), 0);
    // A documentation address needs no permission, and shows that the counter works.
    // Nothing answers there.
    assert_eq!(sent("192.0.2.1", 1), 5);
}

/// `Udp: InDatagrams NoPorts InErrors OutDatagrams …`, then the figures in the same places.
fn udp_datagrams_sent(counters: &str) -> u64 {
    let lines: Vec<Vec<&str>> = counters
        .lines()
        .filter(|line| line.starts_with("Udp:"))
        .map(|line| line.split_whitespace().collect())
        .collect();
    let place = lines[0].iter().position(|name| *name == "OutDatagrams").unwrap();
    lines[1][place].parse().unwrap()
}

#[test]
fn an_address_of_another_host_cannot_be_the_source() {
    let work = Workplace::with_queries();
    refused(
        &work,
        "-d q.txt --local-address 192.0.2.77",
        3,
        &["cannot send from 192.0.2.77", "not an address of this host"],
    );
}

#[test]
fn a_local_port_that_is_taken_is_named() {
    let work = Workplace::with_queries();
    let holder = UdpSocket::bind("127.0.0.1:0").unwrap();
    let port = holder.local_addr().unwrap().port();
    let words = format!("-d q.txt --clients 1 --local-ports {port}");
    refused(&work, &words, 3, &[&format!("port {port}"), "another program uses it", "--local-ports"]);
}

#[test]
fn local_ports_are_used_and_so_is_the_local_address() {
    let work = Workplace::with_queries();
    let server = responder(Default::default());
    // A port that is free now is probably still free when the run starts.
    let free = UdpSocket::bind("127.0.0.1:0").and_then(|socket| socket.local_addr()).unwrap().port();
    let words =
        format!("--clients 1 --local-ports {free} --local-address 127.0.0.1 -r 500 --count 50 -o run");
    // With the check before the load, which has no part in these ports.
    work.shell(&format!("exec \"$0\" run -s {} -d q.txt {words}", server.address())).gives(0);
    assert_eq!(work.record("run").tally().ends.answered, 50);
}

#[test]
fn too_few_open_files_are_reported_with_the_number_needed() {
    let work = Workplace::with_queries();
    let ran = work.shell("ulimit -n 80; \"$0\" run -s 127.0.0.1:9 -d q.txt -q 100 --clients 100 -o run");
    ran.ends_refused(3, &["--clients 100", "164 open files", "80", "ulimit -n 164", "fewer clients"]);
    assert!(!work.has("run"));
    // A soft limit alone is raised silently.
    let server = responder(Default::default());
    let words = format!("-s {} -d q.txt -q 100 --clients 100 --count 1000 -o run", server.address());
    work.shell(&format!("ulimit -S -n 80; exec \"$0\" run {words}")).gives(0);
    assert_eq!(work.record("run").tally().ends.answered, 1000);
}

#[test]
fn a_run_is_never_overwritten() {
    let work = Workplace::with_queries();
    let server = responder(Default::default());
    let words = format!("run -s {} -d q.txt -r 500 --count 20 -o run", server.address());
    work.dnsdyno(&words).gives(0);
    let before = fs::read(work.path("run/run.ndjson")).unwrap();
    work.dnsdyno(&words)
        .ends_refused(3, &["run/run.ndjson", "run.ndjson exists", "never overwritten", "another folder"]);
    assert_eq!(fs::read(work.path("run/run.ndjson")).unwrap(), before);
    // Not even trials, and nothing else is written there.
    work.dnsdyno(&format!("{words} --workers auto")).ends_refused(3, &["never overwritten"]);
    work.dnsdyno(&format!("{words} --check-answers")).ends_refused(3, &["never overwritten"]);
    assert_eq!(server.book().udp.counts.received, 20, "nothing of the other runs was sent");
    let find = format!("find -s {} -d q.txt -o run", server.address());
    let found = work.dnsdyno(&find).ends_refused(2, &["run.ndjson exists", "never overwritten"]);
    assert!(!found.stderr.contains("to resume"), "{found:?}");
    assert!(!work.has("run/journal.ndjson") && !work.has("run/runs"));
    work.dnsdyno("export csv run -o run/run.ndjson").ends_refused(2, &["is a file of a record"]);
    let traced = words.replace("-o run", "-o traced --trace 1/10 --trace-file q.txt");
    work.dnsdyno(&traced).ends_refused(2, &["--trace-file", "the run reads it"]);
    work.dnsdyno("respond --listen 127.0.0.1:0 --book none/b.json")
        .ends_refused(2, &["--book", "folder that exists"]);
    assert_eq!(fs::read(work.path("run/run.ndjson")).unwrap(), before);

    // A folder with other files is not used either.
    fs::create_dir(work.path("other")).unwrap();
    work.write(&format!("other/{PLAN_FILE}"), "mine");
    work.dnsdyno(&words.replace("-o run", "-o other"))
        .ends_refused(3, &["other/plan.toml", "another folder"]);
    assert_eq!((work.read("other/plan.toml"), work.has("other/run.ndjson")), ("mine".to_owned(), false));
}

#[test]
fn each_run_without_a_given_folder_gets_its_own() {
    let work = Workplace::with_queries();
    let server = responder(Default::default());
    let mut folders = Vec::new();
    for _ in 0..3 {
        let ran = work
            .dnsdyno(&format!("run -s {} -d q.txt -r 1k --count 10 --name a/b", server.address()))
            .gives(0);
        let folder = ran.stdout.lines().find_map(|line| line.strip_prefix("record: ")).unwrap().to_owned();
        assert!(folder.starts_with("runs/20") && folder.contains("-a-b"), "{folder}");
        assert_eq!(work.record(&folder).tally().ends.answered, 10);
        folders.push(folder);
    }
    folders.dedup();
    assert_eq!(folders.len(), 3);
}

#[test]
fn only_a_record_can_be_shown() {
    let work = Workplace::new();
    work.write("text", "no json\n");
    work.write("json", "{\"type\":\"header\"}\n");
    work.write("nothing", "");
    fs::create_dir(work.path("folder")).unwrap();
    let cases: &[(&str, &[&str])] = &[
        ("none", &["cannot open none", "No such file", "run.ndjson"]),
        ("folder", &["folder/run.ndjson", "No such file"]),
        ("text", &["text, line 1", "not a line of a dnsdyno record"]),
        ("json", &["json, line 1", "another program wrote it"]),
        ("nothing", &["nothing has no run"]),
    ];
    for (name, message) in cases {
        work.dnsdyno(&format!("show {name}")).ends_refused(2, message);
    }
    work.dnsdyno("show").gives(2).says(&["<RUN>"]);
}

//! The statistics of real servers: what each has counted of a run is what the generator sent and received, and what the
//! server's own tool says.

use std::collections::BTreeMap;
use std::fs;
use std::process::Command;

use dnsdyno_lab::{Server, ServerOptions};
use dnsdyno_measure::Samples;
use dnsdyno_record::Digest;
use dnsdyno_wire::{rcode_name, type_name};

use crate::support::{Workplace, real_server};

/// Counters by their names.
type Counts = BTreeMap<String, u64>;

/// A way to watch a server, and what to compare it with.
struct Watch {
    /// As in `--watch`.
    words: String,
    /// The common series that this server does not count.
    lacks: &'static [&'static str],
}

/// Runs 100,000 queries of which some are truncated and asked again over TCP, and compares every common series with
/// the generator's figures. Returns what was watched, with the settings of the server.
fn is_counted(work: &Workplace, server: &Server, watch: &Watch) -> (Digest, Samples) {
    let queries = example_queries_and_a_large_one();
    let passes = QUERIES.div_ceil(queries.lines().count() as u64);
    work.write("all.txt", queries);
    let Watch { words, lacks } = watch;
    let address = server.address();
    work.dnsdyno(&format!(
        "run -s {address} -d all.txt --transport udp+tcp --outstanding 20 --passes {passes} --timeout 10s \
         --watch {words} -o run"
    ))
    .gives(0);
    let digest = work.record("run");
    assert_eq!(digest.events, []);
    let samples = digest.watched()[0].clone().expect("samples");
    let mut wanted = generated(&digest);
    wanted.retain(|name, _| !lacks.contains(&name.as_str()));
    assert!(wanted["queries"] >= QUERIES, "{wanted:?}");
    let counted: Counts = wanted.keys().map(|name| (name.clone(), samples.counter(name))).collect();
    assert_eq!(counted, wanted, "{words}");
    // The responses of other RCODEs, and the queries of other types and transports, are none.
    for (name, value) in &samples.counters {
        let is_kind = ["queries.", "responses."].iter().any(|kind| name.starts_with(kind));
        assert!(!is_kind || *value == 0 || wanted.contains_key(name), "{name} {value}");
    }
    (digest, samples)
}

/// Checks that a run with this `--watch` ends before its load, and says why.
#[track_caller]
fn is_refused(work: &Workplace, server: &Server, watch: &str, why: &str) {
    let words = format!("run -s {} --ask dyno.example --count 1 --rate 1k --watch {watch}", server.address());
    work.dnsdyno(&words).ends_refused(3, &["--watch ", why]);
}

/// What the generator has sent and received, by the names of the series.
fn generated(digest: &Digest) -> Counts {
    let (tally, anomalies) = (digest.tally(), &digest.arrivals().anomalies);
    let fallback = tally.fallback.as_deref().expect("a run with fallback");
    assert_eq!(tally.ends.answered, tally.scheduled, "{:?}", tally.ends);
    assert!(fallback.started > 0 && fallback.started == anomalies.truncated, "{anomalies:?}");
    let mut counts = Counts::from(
        [
            ("queries", tally.requests),
            ("queries.udp", fallback.udp_requests),
            ("queries.tcp", fallback.tcp_requests),
            ("responses", tally.requests),
            ("responses.truncated", anomalies.truncated),
        ]
        .map(|(name, value)| (name.to_owned(), value)),
    );
    for (rtype, count) in digest.header.types.iter().zip(&tally.types) {
        let name = type_name(*rtype);
        // Only TXT is too large.
        let again = if name == "TXT" { fallback.tcp_requests } else { 0 };
        counts.insert(format!("queries.type.{name}"), count.sent + again);
    }
    for (rcode, answered) in tally.rcodes.iter() {
        let truncated = if rcode == 0 { anomalies.truncated } else { 0 };
        counts.insert(format!("responses.rcode.{}", rcode_name(rcode)), answered + truncated);
    }
    counts
}

fn example_queries_and_a_large_one() -> String {
    let queries = dnsdyno_lab::example_queries().lines().filter(|line| !line.starts_with(';'));
    queries.chain(["large.dyno.example. TXT"]).map(|line| format!("{line}\n")).collect()
}

/// Checks that each counter of the server's own tool has risen as its raw series; `but` begin the names of those that
/// move by themselves. The tool's counts are those before and after the run.
#[track_caller]
fn equals_tool(before: &Counts, after: &Counts, samples: &Samples, but: &[&str]) {
    let mut compared = 0;
    for (name, now) in after.iter().filter(|(name, _)| !but.iter().any(|but| name.contains(but))) {
        let Some(rise) = samples.counters.get(&format!("raw.{name}")) else { continue };
        assert_eq!(now - before.get(name).copied().unwrap_or(0), *rise, "{name}");
        compared += 1;
    }
    assert!(compared >= 10, "{compared} series: {after:?}");
    println!("{compared} counters are equal to those of the server's tool");
}

fn with_parts(parts: &[&str]) -> ServerOptions {
    ServerOptions { parts: parts.iter().map(|part| (*part).to_owned()).collect(), ..ServerOptions::default() }
}

fn with_values(values: &[(&str, &str)]) -> ServerOptions {
    let values = values.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    ServerOptions { values: values.collect(), ..ServerOptions::default() }
}

/// What a command prints.
fn printed(command: &mut Command) -> String {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// Lines of a name and a whole number.
fn counts(text: &str, between: &str) -> Counts {
    let pairs = text.lines().filter_map(|line| line.split_once(between));
    pairs.filter_map(|(name, value)| Some((name.trim().to_owned(), value.trim().parse().ok()?))).collect()
}

#[track_caller]
fn has_settings(digest: &Digest, software: &str, settings: &[(&str, &str)]) {
    let watched = &digest.header.watched[0];
    assert_eq!(watched.software.as_deref(), Some(software));
    assert!(watched.version.as_deref().is_some_and(|version| version.contains('.')), "{watched:?}");
    for (name, value) in settings {
        assert_eq!(watched.settings.get(*name).map(String::as_str), Some(*value), "{watched:?}");
    }
}

#[test]
fn bind_counts_what_was_sent_and_what_rndc_says() {
    let work = Workplace::new();
    let Some(server) = real_server("bind", &with_parts(&["statistics", "control"])) else { return };
    let channel = server.listener("statistics").unwrap();
    let before = rndc_stats(&server);
    let watch = Watch { words: format!("bind=http://{channel}/"), lacks: &[] };
    let (digest, samples) = is_counted(&work, &server, &watch);
    let after = rndc_stats(&server);
    for (theirs, raw) in RNDC {
        let rise = after.get(*theirs).unwrap_or(&0) - before.get(*theirs).unwrap_or(&0);
        assert_eq!(rise, samples.counter(raw), "{theirs}: {after:?}");
    }
    has_settings(&digest, "bind", &[("tcp-clients", "150"), ("tcp-listen-queue", "10")]);
}

#[test]
fn bind_counts_the_same_as_xml_and_in_its_statistics_file() {
    let work = Workplace::new();
    let Some(server) = real_server("bind", &with_parts(&["statistics", "control"])) else { return };
    let channel = server.listener("statistics").unwrap();
    // Writes the configuration of `rndc`.
    rndc_stats(&server);
    let (file, rndc) = (server.folder().join("named.stats"), server.folder().join("rndc.conf"));
    for words in
        [format!("bind=http://{channel}/xml/v3"), format!("bind={},rndc={}", file.display(), rndc.display())]
    {
        let (digest, _) = is_counted(&work, &server, &Watch { words, lacks: &[] });
        has_settings(&digest, "bind", &[("tcp-clients", "150")]);
        fs::remove_dir_all(work.path("run")).unwrap();
    }
}

/// Lines of `rndc stats`, and the series of the same counters.
const RNDC: &[(&str, &str)] = &[
    ("IPv4 requests received", "raw.nsstats.Requestv4"),
    ("TCP requests received", "raw.nsstats.ReqTCP"),
    ("responses sent", "raw.nsstats.Response"),
    ("truncated responses sent", "raw.nsstats.TruncatedResp"),
    ("queries resulted in successful answer", "raw.nsstats.QrySuccess"),
    ("queries resulted in NXDOMAIN", "raw.nsstats.QryNXDOMAIN"),
    ("UDP queries received", "raw.nsstats.QryUDP"),
    ("TCP queries received", "raw.nsstats.QryTCP"),
    ("QUERY", "queries"),
    ("NOERROR", "responses.rcode.NOERROR"),
    ("A", "queries.type.A"),
    ("TXT", "queries.type.TXT"),
];

/// The counts of `rndc stats`, by their texts.
fn rndc_stats(server: &Server) -> Counts {
    let control = server.listener("control").unwrap();
    let config = server.folder().join("rndc.conf");
    let key = "key \"testbed\" { algorithm hmac-sha256; secret \"dGVzdGJlZA==\"; };\n";
    let (ip, port) = (control.ip(), control.port());
    let options = format!("default-key \"testbed\"; default-server {ip}; default-port {port};");
    fs::write(&config, format!("{key}options {{ {options} }};\n")).unwrap();
    let statistics = server.folder().join("named.stats");
    let _ = fs::remove_file(&statistics);
    printed(Command::new("rndc").arg("-c").arg(&config).arg("stats"));
    let text = fs::read_to_string(statistics).unwrap();
    let lines = text.lines().filter_map(|line| line.trim().split_once(' '));
    let mut counts = Counts::new();
    for (value, name) in lines {
        // Of counters with the same text, as those of outgoing queries, the first is that of the server.
        if let Ok(value) = value.parse() {
            counts.entry(name.to_owned()).or_insert(value);
        }
    }
    counts
}

#[test]
fn the_check_before_the_load_is_not_counted() {
    let work = Workplace::with_queries();
    let Some(server) = real_server("bind", &with_parts(&["statistics"])) else { return };
    let (address, channel) = (server.address(), server.listener("statistics").unwrap());
    let words =
        format!("run -s {address} -d q.txt --passes 2 --outstanding 5 --watch bind=http://{channel} -o run");
    work.checked(&words).gives(0);
    let digest = work.record("run");
    let samples = digest.watched()[0].clone().unwrap();
    assert_eq!((samples.counter("queries"), samples.counter("raw.nsstats.Requestv4")), (250, 250));
}

#[test]
fn unbound_counts_what_was_sent_and_what_unbound_control_says() {
    let work = Workplace::new();
    let Some(server) = real_server("unbound", &ServerOptions::default()) else { return };
    let socket = server.folder().join("control");
    unbound_is_counted(&work, &server, &format!("unbound={}", socket.display()));
}

#[test]
fn unbound_counts_the_same_over_tls() {
    let work = Workplace::new();
    printed(Command::new("unbound-control-setup").arg("-d").arg(work.path("")));
    let keys = work.path("").display().to_string();
    let options =
        ServerOptions { parts: vec!["control".to_owned()], ..with_values(&[("keys_folder", &keys)]) };
    let Some(server) = real_server("unbound", &options) else { return };
    let control = server.listener("control").unwrap();
    unbound_is_counted(&work, &server, &format!("unbound={control},keys={keys}"));

    let other = work.path("other");
    fs::create_dir(&other).unwrap();
    printed(Command::new("unbound-control-setup").arg("-d").arg(&other));
    is_refused(&work, &server, &format!("unbound={control},keys=other"), "its certificate is not that");
    is_refused(&work, &server, &format!("unbound={control},keys=none"), "unbound-control-setup");
}

fn unbound_is_counted(work: &Workplace, server: &Server, words: &str) {
    let mut tool = Command::new("unbound-control");
    tool.arg("-c").arg(server.folder().join("server.conf")).arg("stats_noreset");
    let before = counts(&printed(&mut tool), "=");
    // It counts no truncated responses.
    let watch = Watch { words: words.to_owned(), lacks: &["responses.truncated"] };
    let (digest, samples) = is_counted(work, server, &watch);
    equals_tool(&before, &counts(&printed(&mut tool), "="), &samples, &[]);
    has_settings(&digest, "unbound", &[("incoming-num-tcp", "10"), ("num-threads", "1")]);
}

#[test]
fn nsd_counts_what_was_sent_and_what_nsd_control_says() {
    let work = Workplace::new();
    let Some(server) = real_server("nsd", &ServerOptions::default()) else { return };
    let socket = server.folder().join("control");
    nsd_is_counted(&work, &server, &format!("nsd={}", socket.display()));
}

#[test]
fn nsd_counts_the_same_over_tls() {
    let work = Workplace::new();
    printed(Command::new("nsd-control-setup").arg("-d").arg(work.path("")));
    let keys = work.path("").display().to_string();
    let options =
        ServerOptions { parts: vec!["control".to_owned()], ..with_values(&[("keys_folder", &keys)]) };
    let Some(server) = real_server("nsd", &options) else { return };
    let control = server.listener("control").unwrap();
    nsd_is_counted(&work, &server, &format!("nsd={control},keys={keys}"));
}

fn nsd_is_counted(work: &Workplace, server: &Server, words: &str) {
    let mut tool = Command::new("nsd-control");
    tool.arg("-c").arg(server.folder().join("server.conf")).arg("stats_noreset");
    let before = counts(&printed(&mut tool), "=");
    let (digest, samples) = is_counted(work, server, &Watch { words: words.to_owned(), lacks: &[] });
    equals_tool(&before, &counts(&printed(&mut tool), "="), &samples, &[]);
    has_settings(&digest, "nsd", &[("rrl-ratelimit", "0"), ("tcp-count", "100")]);
}

#[test]
fn knot_counts_what_was_sent_and_what_knotc_says() {
    let work = Workplace::new();
    let Some(server) = real_server("knot", &with_values(&[("sections", MOD_STATS)])) else { return };
    let socket = server.folder().join("knot.sock");
    let mut tool = Command::new("knotc");
    tool.arg("-s").arg(&socket).args(["-f", "stats"]);
    let mut told = || counts(&printed(&mut tool).replace('[', ".").replace(']', ""), " = ");
    let before = told();
    let watch = Watch { words: format!("knot={}", socket.display()), lacks: &[] };
    let (digest, samples) = is_counted(&work, &server, &watch);
    equals_tool(&before, &told(), &samples, &[]);
    has_settings(&digest, "knot", &[("tcp-max-clients", "1000")]);
}

/// Everything that Knot DNS can count, for all zones.
const MOD_STATS: &str = "mod-stats:\n  - id: all\n    query-type: on\n    flag-presence: on\n\
     template:\n  - id: default\n    global-module: mod-stats/all\n";

#[test]
fn pdns_counts_what_was_sent_and_what_pdns_control_says() {
    let work = Workplace::new();
    work.write("key", "testbed\n");
    let Some(server) = real_server("pdns", &with_values(&[("api", "yes")])) else { return };
    let api = server.listener("api").unwrap();
    let before = pdns_control(&server);
    // It counts no truncated responses.
    let watch = Watch { words: format!("pdns=http://{api}/,keys=key"), lacks: &["responses.truncated"] };
    let (digest, samples) = is_counted(&work, &server, &watch);
    equals_tool(&before, &pdns_control(&server), &samples, &PDNS_MOVES);
    has_settings(&digest, "pdns", &[("max-tcp-connections", "1000"), ("receiver-threads", "1")]);

    work.write("other", "wrong\n");
    is_refused(
        &work,
        &server,
        &format!("pdns=http://{api}/,keys=other"),
        "the key is not that of this server",
    );
    is_refused(&work, &server, &format!("pdns=http://{api}/"), "it wants a key");
    is_refused(&work, &server, &format!("bind=http://{api}/"), "HTTP status");
}

#[test]
fn pdns_counts_the_same_by_its_control_socket() {
    let work = Workplace::new();
    let Some(server) = real_server("pdns", &ServerOptions::default()) else { return };
    let socket = server.folder().join("pdns.controlsocket");
    let before = pdns_control(&server);
    let watch = Watch {
        words: format!("pdns={}", socket.display()),
        lacks: &["responses.truncated", "responses.rcode.NOERROR", "responses.rcode.NXDOMAIN"],
    };
    let (digest, samples) = is_counted(&work, &server, &watch);
    equals_tool(&before, &pdns_control(&server), &samples, &PDNS_MOVES);
    has_settings(&digest, "pdns", &[("max-tcp-connections", "1000")]);
}

fn pdns_control(server: &Server) -> Counts {
    let mut socket_dir = std::ffi::OsString::from("--socket-dir=");
    socket_dir.push(server.folder());
    counts(&printed(Command::new("pdns_control").arg(socket_dir).arg("list")).replace(',', "\n"), "=")
}

/// The counters of PowerDNS that are of the host, or of its CPU time.
const PDNS_MOVES: [&str; 3] = ["msec", "cpu-", "-errors"];

#[test]
fn pdns_is_read_from_its_metrics_too() {
    let work = Workplace::new();
    let Some(server) = real_server("pdns", &with_values(&[("api", "yes")])) else { return };
    let api = server.listener("api").unwrap();
    let watch = Watch { words: format!("openmetrics=http://{api}/metrics"), lacks: &METRICS_LACK };
    let (digest, samples) = is_counted(&work, &server, &watch);
    assert_eq!(samples.counter("raw.pdns_auth_udp_queries"), samples.counter("queries.udp"));
    assert_eq!(digest.header.watched[0].software.as_deref(), Some("pdns"));
}

/// What dnsdist does not count.
const NO_TYPES: [&str; 8] = [
    "responses.truncated",
    "queries.type.A",
    "queries.type.AAAA",
    "queries.type.MX",
    "queries.type.NS",
    "queries.type.SOA",
    "queries.type.SRV",
    "queries.type.TXT",
];

/// What the metrics of PowerDNS do not have.
const METRICS_LACK: [&str; 10] = [
    "responses.truncated",
    "responses.rcode.NOERROR",
    "responses.rcode.NXDOMAIN",
    "queries.type.A",
    "queries.type.AAAA",
    "queries.type.MX",
    "queries.type.NS",
    "queries.type.SOA",
    "queries.type.SRV",
    "queries.type.TXT",
];

#[test]
fn dnsdist_counts_what_was_sent() {
    let work = Workplace::new();
    work.write("key", "testbed\n");
    let Some(back_end) = real_server("nsd", &ServerOptions::default()) else { return };
    let options = ServerOptions { stub: Some(back_end.address()), ..with_parts(&["api"]) };
    let Some(server) = real_server("dnsdist", &options) else { return };
    let api = server.listener("api").unwrap();
    let watch = Watch { words: format!("dnsdist=http://{api}/,keys=key"), lacks: &NO_TYPES };
    let (digest, _) = is_counted(&work, &server, &watch);
    has_settings(&digest, "dnsdist", &[("max-outstanding", "65535")]);
}

/// Queries of a run.
const QUERIES: u64 = 100_000;

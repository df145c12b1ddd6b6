//! Each thing is watched once, in whatever ways it is named, and counts for the server only if it is the server's; what
//! is told of a parameter was read.

use std::collections::BTreeSet;

use dnsdyno_lab::{Need, Place, Server, ServerOptions, ServerSpec, VethPair, require};
use dnsdyno_measure::{Side, WatchedKind};
use dnsdyno_record::Digest;
use serde_json::Value;

use crate::support::{Workplace, real_server};

/// What was watched: kind, side and label.
fn watched(digest: &Digest) -> Vec<(WatchedKind, Side, String)> {
    digest.header.watched.iter().map(|watched| (watched.kind, watched.side, watched.label.clone())).collect()
}

fn diagnosed(work: &Workplace, run: &str) -> Value {
    let ran = work.dnsdyno(&format!("diagnose {run} --json")).gives(0);
    serde_json::from_str(&ran.stdout).unwrap()
}

/// Of a run without losses: each place has counted as many messages as the one before it.
#[track_caller]
fn nothing_is_missing(found: &Value, places: usize) {
    let compared = found["cross_check"].as_array().unwrap();
    assert!(compared.len() >= places, "{found:#}");
    assert!(compared.iter().all(|one| one["missing"] == 0), "{found:#}");
    assert_eq!(found["findings"], Value::Array(Vec::new()), "{found:#}");
}

#[test]
fn a_server_that_is_found_and_named_too_is_watched_once_and_nothing_is_lost() {
    if !require(&[Need::Root]) {
        return;
    }
    let pair = VethPair::new(1).unwrap();
    let options = ServerOptions {
        address: pair.far().ipv4.into(),
        place: Place::in_namespace(pair.far()),
        parts: vec!["statistics".to_owned()],
        ..ServerOptions::default()
    };
    let Some(server) = real_server("bind", &options) else { return };
    let work = Workplace::with_queries();
    let (address, pid, channel) = (server.address(), server.pid(), server.listener("statistics").unwrap());
    let words = format!(
        "run -s {address} -d q.txt --count 1000 --outstanding 20 --watch auto --watch bind=http://{channel}/ --watch \
         process={pid} --watch host={pid} --watch bind=http://{channel}/json --watch host -o run"
    );
    work.start_in(pair.near(), &words).wait().gives(0);
    let digest = work.record("run");
    let expected = [
        (WatchedKind::Server, Side::Server, format!("BIND at {channel}")),
        (WatchedKind::Process, Side::Server, format!("named ({pid})")),
        (WatchedKind::Host, Side::Server, format!("the network namespace of named ({pid})")),
        (WatchedKind::Host, Side::Generator, "this host".to_owned()),
    ];
    assert_eq!(watched(&digest), expected);
    assert_eq!(digest.watched()[0].as_ref().unwrap().counter("queries"), 1_000);
    nothing_is_missing(&diagnosed(&work, "run"), 5);
}

#[test]
fn a_local_socket_that_is_found_and_named_in_two_ways_is_one() {
    for (name, socket) in [("knot", "knot.sock"), ("nsd", "control"), ("pdns", "pdns.controlsocket")] {
        let Some(server) = real_server(name, &ServerOptions::default()) else { return };
        let work = Workplace::with_queries();
        let (address, pid, folder) = (server.address(), server.pid(), server.folder().display());
        let ways = [
            format!("{folder}/{socket}"),
            format!("/proc/{pid}/root{folder}/../{}/{socket}", end_of(&server)),
        ];
        let words = format!(
            "run -s {address} -d q.txt --count 500 --outstanding 20 --watch auto --watch {name}={} --watch {name}={} \
             -o run",
            ways[0], ways[1]
        );
        work.dnsdyno(&words).gives(0).says(&["are the same server: its statistics are read once"]);
        let digest = work.record("run");
        let kinds: Vec<_> = watched(&digest).into_iter().map(|(kind, side, _)| (kind, side)).collect();
        let expected = [
            (WatchedKind::Server, Side::Server),
            (WatchedKind::Host, Side::Both),
            (WatchedKind::Process, Side::Server),
        ];
        assert_eq!(kinds, expected, "{name}: {:?}", digest.header.watched);
    }
}

/// The name of the folder of a server.
fn end_of(server: &Server) -> String {
    server.folder().file_name().unwrap().to_string_lossy().into_owned()
}

/// A resolver, and the server through which it resolves, which has counters of its own.
#[test]
fn counters_of_a_helper_are_not_those_of_the_server() {
    if !require(&[Need::Root, Need::Server("unbound"), Need::Server("bind")]) {
        return;
    }
    let pair = VethPair::new(1).unwrap();
    let place = Place::in_namespace(pair.far());
    let of = |stub| ServerOptions {
        address: pair.far().ipv4.into(),
        place: place.clone(),
        stub,
        ..ServerOptions::default()
    };
    let with_statistics = ServerOptions { parts: vec!["statistics".to_owned()], ..of(None) };
    let Some(auth) = real_server("bind", &with_statistics) else { return };
    let mut options = of(Some(auth.address()));
    options.values.insert("clients".to_owned(), "10.77.0.0/24".to_owned());
    let Some(server) = real_server("unbound", &options) else { return };
    let work = Workplace::with_queries();
    let channel = auth.listener("statistics").unwrap();
    // Half of the queries are asked for a second time, and answered from the cache.
    work.write(
        "half.txt",
        (0..500).map(|n| format!("n{n}.wild.dyno.example A\n").repeat(2)).collect::<String>(),
    );
    let words = format!(
        "run -s {} -d half.txt --count 1000 --rate 500 --watch auto --watch process={} --watch bind=http://{channel}/ \
         -o run",
        server.address(),
        auth.pid()
    );
    work.start_in(pair.near(), &words).wait().gives(0);
    let digest = work.record("run");
    assert_eq!(digest.tally().ends.answered, 1_000);
    let sides: Vec<_> = watched(&digest).into_iter().map(|(kind, side, _)| (kind, side)).collect();
    let expected = [
        (WatchedKind::Process, Side::Other),
        (WatchedKind::Server, Side::Other),
        (WatchedKind::Host, Side::Generator),
        (WatchedKind::Host, Side::Server),
        (WatchedKind::Process, Side::Server),
        (WatchedKind::Server, Side::Server),
    ];
    assert_eq!(sides, expected, "{:?}", digest.header.watched);
    let asked = digest.watched()[1].as_ref().unwrap().counter("queries");
    assert!((450..1_000).contains(&asked), "{asked}");
    // At the host, what the resolver asks is counted too: it is not lost in the resolver.
    let found = diagnosed(&work, "run");
    let compared = found["cross_check"].as_array().unwrap();
    assert!(compared.iter().all(|one| one["between"] != "server"), "{found:#}");
    let way = compared.iter().find(|one| one["between"] == "way").unwrap();
    assert_eq!((&way["to_count"], &way["missing"]), (&Value::from(1_000), &Value::from(0)), "{found:#}");
}

/// The parameters that rules tell of this software.
fn told(software: &str) -> BTreeSet<String> {
    let rules = include_str!("../../../../report/src/diagnosis/rules.toml");
    let begin = format!("{{ of = \"{software}\", name = \"");
    let names = rules.lines().filter_map(|line| line.trim().strip_prefix(&begin)?.split('"').next());
    names.map(str::to_owned).collect()
}

#[test]
fn every_parameter_that_a_rule_tells_is_read_or_known_to_be_unset() {
    // A pattern of `mod-rrl` needs the module.
    for name in ["bind", "knot", "nsd", "pdns", "unbound"] {
        let Some(server) = real_server(name, &with_statistics(name)) else { return };
        let work = Workplace::with_queries();
        let words = format!("run -s {} -d q.txt --count 100 --watch auto -o run", server.address());
        work.dnsdyno(&words).gives(0);
        let digest = work.record("run");
        let read = digest.header.watched.iter().find(|watched| watched.kind == WatchedKind::Server).unwrap();
        let unknown: Vec<_> = told(name)
            .into_iter()
            .filter(|parameter| !read.settings.contains_key(parameter) && !read.unset.contains(parameter))
            .filter(|parameter| !NEWER.contains(&(name, parameter)))
            .collect();
        assert!(!told(name).is_empty() && unknown.is_empty(), "{name}: {unknown:?} of {read:#?}");
        let both: Vec<_> = read.unset.iter().filter(|name| read.settings.contains_key(*name)).collect();
        assert!(both.is_empty(), "{name}: {both:?}");
    }
}

/// Parameters that older versions do not know.
const NEWER: [(&str, &str); 0] = [];

fn with_statistics(name: &str) -> ServerOptions {
    let mut options = ServerOptions::default();
    if name == "bind" {
        options.parts.push("statistics".to_owned());
    }
    options
}

/// A server of a template of the testbed with these parts of its text replaced.
fn changed(name: &str, changes: &[(&str, &str)]) -> Option<Server> {
    if !require(&[Need::Server(name)]) {
        return None;
    }
    let path = format!("{}/../../testbed/servers/{name}.toml", env!("CARGO_MANIFEST_DIR"));
    let mut text = std::fs::read_to_string(path).unwrap();
    for (from, to) in changes {
        assert!(text.contains(from), "{from}");
        text = text.replace(from, to);
    }
    let spec = ServerSpec::from_toml(name, &text).unwrap();
    Some(spec.start(&with_statistics(name)).unwrap_or_else(|error| panic!("{error}")))
}

/// The statistics of a server that `auto` finds: its label, and its record.
#[track_caller]
fn found(server: &Server) -> dnsdyno_measure::Watched {
    let work = Workplace::with_queries();
    let words =
        format!("run -s {} -d q.txt --count 100 --outstanding 5 --watch auto -o run", server.address());
    let ran = work.dnsdyno(&words).gives(0);
    let digest = work.record("run");
    let read = digest.header.watched.iter().find(|watched| watched.kind == WatchedKind::Server);
    read.unwrap_or_else(|| panic!("no statistics were found: {}", ran.stderr)).clone()
}

#[test]
fn the_control_socket_of_knot_is_where_its_configuration_has_it() {
    let elsewhere = [("listen: \"{dir}/knot.sock\"", "timeout: 5\n    listen: \"{dir}/ctl\"")];
    let Some(server) = changed("knot", &elsewhere) else { return };
    assert_eq!(found(&server).label, format!("Knot DNS at {}/ctl", server.folder().display()));
    // From the folder that is `rundir`.
    let Some(server) = changed("knot", &[("listen: \"{dir}/knot.sock\"", "listen: ctl")]) else { return };
    assert_eq!(found(&server).label, format!("Knot DNS at {}/ctl", server.folder().display()));
}

#[test]
fn a_configuration_with_a_relative_path_is_found_where_the_server_was_started() {
    let moved = |program: &str, words: &str| {
        format!(
            "program = \"sh\"\ncommand = [\"-c\", \"mkdir -p moved && exec {program} {words} -c server.conf\"]"
        )
    };
    let nsd = moved("nsd", "-d");
    let changes = [
        ("program = \"nsd\"\ncommand = [\"-d\", \"-c\", \"{config_file}\"]", nsd.as_str()),
        ("zonesdir: \"{dir}\"", "zonesdir: \"{dir}/moved\""),
    ];
    let Some(server) = changed("nsd", &changes) else { return };
    let read = found(&server);
    assert_eq!(read.label, format!("NSD at {}/control", server.folder().display()));
    assert_eq!((read.settings["tcp-count"].as_str(), read.settings["reuseport"].as_str()), ("100", "no"));

    let bind = moved("named", "-g -n 1");
    let changes = [
        (
            "program = \"named\"\ncommand = [\"-g\", \"-n\", \"{threads}\", \"-c\", \"{config_file}\"]",
            bind.as_str(),
        ),
        ("directory \"{dir}\"", "directory \"{dir}/moved\""),
    ];
    let Some(server) = changed("bind", &changes) else { return };
    let read = found(&server);
    let channel = server.listener("statistics").unwrap();
    assert_eq!(read.label, format!("BIND at {channel}"));
    let settings = ["tcp-clients", "minimal-responses", "named -n"].map(|name| read.settings[name].as_str());
    assert_eq!(settings, ["150", "no-auth-recursive", "1"]);
}

#[test]
fn of_a_configuration_of_which_a_part_cannot_be_read_nothing_is_told() {
    // BIND has read a file that is gone since.
    let include = "include \"{dir}/more.conf\";\noptions {";
    let start = "program = \"sh\"\ncommand = [\"-c\", \"echo 'tls x { };' > more.conf && exec named -g -n 1 -c \
                 {config_file}\"]";
    let changes = [
        ("program = \"named\"\ncommand = [\"-g\", \"-n\", \"{threads}\", \"-c\", \"{config_file}\"]", start),
        ("options {", include),
    ];
    let Some(server) = changed("bind", &changes) else { return };
    std::fs::remove_file(server.folder().join("more.conf")).unwrap();
    let read = found(&server);
    assert_eq!((read.settings.len(), read.unset.len()), (0, 0), "{read:?}");
    assert!(read.missing.iter().any(|why| why.contains("more.conf cannot be read")), "{read:?}");
}

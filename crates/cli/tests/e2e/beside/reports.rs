//! Small versions of the field reports in docs/reports, with what must hold on any host: counters of servers against
//! those of the generator, Little's law, what a closed loop hides.

use dnsdyno_lab::{Need, require};
use dnsdyno_measure::{Side, WatchedKind};
use serde_json::Value;

use crate::beside::experiment::{experiment, results};
use crate::support::Workplace;

/// Unbound before BIND, 20 ms away: each cache miss takes that long, on any host.
const RESOLVER: &str = r#"
repeats = 1
drop-first = 0
cool-down = "20ms"
steady = "off"
in-doubt = "keep"
retries = 3

[run]
timeout = "5s"
watch = ["auto", "bind=http://{server.address}:{auth.port_statistics}/"]

[[helper]]
name = "auth"
template = "bind"
parts = ["statistics_everywhere"]

[[server]]
name = "unbound"
template = "unbound"
stub = "auth"
path = { between = "auth", delay = "10ms" }
"#;

/// What a server that was watched beside a run has counted, by the words of its label.
fn counted(work: &Workplace, run: &str, software: &str, counter: &str) -> u64 {
    let record = work.record(run);
    let is_it = |watched: &&dnsdyno_measure::Watched| {
        watched.kind == WatchedKind::Server && watched.label.to_lowercase().contains(software)
    };
    let at = record.header.watched.iter().position(|watched| is_it(&watched));
    let at = at.unwrap_or_else(|| panic!("{software} was not watched: {:?}", record.header.watched));
    let samples = record.watched()[at].as_ref().unwrap_or_else(|| panic!("{software} could not be read"));
    samples.counters.get(counter).copied().unwrap_or(0)
}

#[test]
fn a_resolver_counts_the_misses_that_were_asked_for_and_its_authoritative_server_counts_the_same() {
    if !require(&[Need::Root, Need::Server("unbound"), Need::Server("bind")]) {
        return;
    }
    let work = Workplace::new();
    let loads = r#"
[[load]]
name = "misses"
ask = ["{rand:8}.wild.dyno.example A"]
rate = 200
count = 400

[[load]]
name = "half"
ask = ["{rand:8}.wild.dyno.example A"]
hit-rate = "50%"
ttl = "1h"
hot = 20
rate = 200
count = 400

[[load]]
name = "hits"
ask = ["host-001.dyno.example A"]
rate = 200
count = 400
"#;
    work.write("x.toml", format!("{RESOLVER}{loads}"));
    experiment(&work, "-o out").gives(0);
    for (cell, misses) in [(0, 400..=400), (1, 195..=225), (2, 0..=1)] {
        let results = results(&work, "out");
        let run = results["cells"][cell]["runs"][0].as_u64().unwrap();
        let run = format!("out/runs/{run:03}");
        let unbound = |counter: &str| counted(&work, &run, "unbound", counter);
        assert_eq!(unbound("queries"), 400, "{run}");
        assert_eq!(unbound("cache.hits") + unbound("cache.misses"), 400, "{run}");
        assert!(misses.contains(&unbound("cache.misses")), "{run}: {}", unbound("cache.misses"));
        let asked = unbound("raw.num.query.udpout");
        assert_eq!(counted(&work, &run, "bind", "queries.udp"), asked, "{run}");
        // Every query was answered, whatever else its host and the authoritative server have counted.
        let found = work.dnsdyno(&format!("diagnose {run} --json")).gives(0).stdout;
        let found: Value = serde_json::from_str(&found).unwrap();
        let lost = |one: &Value| one["missing"].as_i64().unwrap() > 0;
        assert!(!found["cross_check"].as_array().unwrap().iter().any(lost), "{run}: {found:#}");
        let sides =
            work.record(&run).header.watched.into_iter().filter(|one| one.kind == WatchedKind::Server);
        let sides: Vec<_> = sides.map(|one| (one.software.unwrap(), one.side)).collect();
        assert_eq!(sides, [("bind".to_owned(), Side::Other), ("unbound".to_owned(), Side::Server)], "{run}");
        // Two misses of one name at a time are asked for once; on a busy host Unbound may ask again.
        assert!(asked.abs_diff(unbound("cache.misses")) <= 20, "{run}: {asked}");
    }
}

#[test]
fn a_ladder_of_windows_obeys_littles_law_whatever_the_path() {
    if !require(&[Need::Root, Need::Server("unbound"), Need::Server("bind")]) {
        return;
    }
    let work = Workplace::new();
    let load = "[[load]]\nname = \"windows\"\nask = [\"{rand:8}.wild.dyno.example A\"]\n\
                [load.find]\nmethod = \"window\"\nmost = \"20\"\ntrial = \"2s\"\nrest = \"50ms\"\n\
                while = [\"loss<50%\"]\n";
    work.write("x.toml", format!("{RESOLVER}{load}"));
    experiment(&work, "-o out").gives(0);
    let found: Value = serde_json::from_str(&work.read("out/runs/001/find.json")).unwrap();
    let trials = found["trials"].as_array().unwrap();
    let windows: Vec<u64> = trials.iter().map(|trial| trial["load"].as_f64().unwrap() as u64).collect();
    assert_eq!(windows, [5, 10, 20]);
    for trial in trials {
        let number = |key: &str| trial[key].as_f64().unwrap();
        let outstanding = number("answered_qps") * number("mean_ns") * 1e-9;
        assert!((outstanding / number("load") - 1.0).abs() < 0.15, "{outstanding} of {trial}");
        // Two times 10 ms: a closed loop can have no more than this, whatever the server could do.
        assert!(number("answered_qps") <= number("load") / 0.020 * 1.05, "{trial}");
    }
}

#[test]
fn a_closed_loop_hides_the_loss_that_an_open_load_shows() {
    let work = Workplace::new();
    let template = format!(
        "package = \"none\"\nprogram = \"{}\"\nconfig = \"\"\n\
         command = [\"respond\", \"--listen\", \"{{address}}:{{port}}\", \"--limit\", \"500\", \
         \"--limit-queue\", \"50ms\"]\n\
         version = {{ arguments = [\"--version\"], after = \"dnsdyno \" }}\n\
         [ready]\ntype = \"A\"\ntransports = [\"udp\"]\nport_taken = [\"in use\"]\n",
        env!("CARGO_BIN_EXE_dnsdyno")
    );
    work.write("limited.toml", &template);
    let rest = "repeats = 1\ndrop-first = 0\nsteady = \"off\"\nin-doubt = \"keep\"\nwatch = \"off\"\n\
                [run]\nask = [\"www.example A\"]\nfor = \"3s\"\ntimeout = \"1s\"\n\
                [[server]]\nname = \"limited\"\ntemplate = \"./limited.toml\"\n\
                [[load]]\nname = \"closed\"\noutstanding = 10\n\
                [[load]]\nname = \"open\"\nrate = 1500\n";
    work.write("x.toml", rest);
    experiment(&work, "-o out").gives(0);
    let results = results(&work, "out");
    let median = |at: usize, key: &str| results["cells"][at][key]["median"].as_f64().unwrap();
    assert!(median(0, "answered_share") > 0.99, "{results}");
    // A third of three times the limit, and what waits in its queue.
    assert!(median(1, "answered_share") < 0.42, "{results}");
    assert!(median(1, "answered_qps") < 600.0, "{results}");
}

#[test]
fn more_hits_take_fewer_queries_to_name_servers_and_a_flood_of_random_names_takes_one_for_each() {
    if !require(&[Need::Root, Need::Server("unbound")]) {
        return;
    }
    let work = Workplace::new();
    let experiments = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments");
    let experiments = experiments.canonicalize().unwrap();
    let mut file = std::fs::read_to_string(experiments.join("resolvers.toml")).unwrap();
    // One resolver, once, with a fiftieth of the queries.
    let unbound =
        file.find("[[server]]\nname = \"bind\"").unwrap()..file.find("# As many new names").unwrap();
    file.replace_range(unbound, "");
    for (whole, short) in [
        ("repeats = 5", "repeats = 1"),
        ("./templates", experiments.join("templates").to_str().unwrap()),
        ("{here}", experiments.to_str().unwrap()),
        ("warm 4k 0% 1k", "warm 100 0% 100"),
        ("warm 8k 50% 1k", "warm 200 50% 100"),
        ("warm 30k 90% 1k", "warm 1000 90% 100"),
        ("warm 150k 99% 1k", "warm 3k 99% 100"),
        ("warm 1k 0% 1k", "warm 10 0% 10"),
        ("count = 20000", "count = 200"),
    ] {
        assert!(file.contains(whole), "{whole}");
        file = file.replace(whole, short);
    }
    work.write("x.toml", file);
    experiment(&work, "-o out").gives(0);
    let results = results(&work, "out");
    let of = |load: &str, key: &str| {
        let cells = results["cells"].as_array().unwrap();
        let cell = cells.iter().find(|cell| cell["load"] == load).unwrap_or_else(|| panic!("{results:#}"));
        cell["beside"][key]["median"].as_f64().unwrap_or_else(|| panic!("{load}: {key}: {cell:#}"))
    };
    for (load, hits) in [("hits-0", 0.0), ("hits-50", 0.5), ("hits-90", 0.9), ("hits-99", 0.99)] {
        assert!((of(load, "cache_hits") - hits).abs() < 1e-9, "{load}: {}", of(load, "cache_hits"));
        let out = of(load, "queries_out_per_query");
        assert!(out >= (1.0 - hits) * 0.9, "{load}: {out}");
    }
    let out = ["hits-0", "hits-50", "hits-90", "hits-99"].map(|load| of(load, "queries_out_per_query"));
    assert!(out.windows(2).all(|two| two[0] > two[1]), "{out:?}");
    // The zone is known after the first of them; on a busy host a query may be sent twice.
    let flood = of("random-names", "queries_out_per_query");
    assert!((1.0..1.3).contains(&flood), "{flood}");
    assert_eq!(of("random-names", "cache_hits"), 0.0);
}

#[test]
fn each_encrypted_transport_is_asked_at_its_own_port() {
    if !require(&[Need::Root, Need::Server("unbound"), Need::Program { name: "openssl", package: "openssl" }])
    {
        return;
    }
    let work = Workplace::new();
    let experiments = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments");
    let experiments = experiments.canonicalize().unwrap();
    let mut file = std::fs::read_to_string(experiments.join("transports.toml")).unwrap();
    for (whole, short) in [
        ("repeats = 7", "repeats = 1"),
        ("./templates", experiments.join("templates").to_str().unwrap()),
        ("for = \"1500ms\"", "count = 60"),
        ("outstanding = 1000", "outstanding = 60"),
        ("clients = 1000", "clients = 60"),
        ("timeout = \"2s\"", "timeout = \"10s\""),
    ] {
        assert!(file.contains(whole), "{whole}");
        file = file.replace(whole, short);
    }
    work.write("x.toml", file);
    experiment(&work, "-o out").gives(0);
    let results = results(&work, "out");
    let cells = results["cells"].as_array().unwrap();
    assert_eq!(cells.len(), 12 + 20, "DoQ and DoH/3 are of one of the servers");
    for cell in cells {
        assert_eq!(cell["answered_share"]["median"].as_f64(), Some(1.0), "{cell:#}");
        let (server, load) = (cell["server"].as_str().unwrap(), cell["load"].as_str().unwrap());
        let transport = load.split('-').next().unwrap();
        if server != "unbound" {
            continue;
        }
        let run = format!("out/runs/{:03}", cell["runs"][0].as_u64().unwrap());
        // The server says over what it was asked.
        assert_eq!(counted(&work, &run, "unbound", &format!("queries.{transport}")), 60, "{load}");
    }
}

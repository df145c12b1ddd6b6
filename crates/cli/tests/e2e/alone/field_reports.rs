//! Small versions of the reports on the fallback to TCP and on jitter: what they say, as far as it does not depend on
//! the speed of the host.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use dnsdyno_lab::{Need, Server, ServerOptions, Zone, require};
use serde_json::Value;

use crate::support::{Started, Workplace, has_program, real_server};

/// The counters that BIND has over HTTP.
fn counters(server: &Server) -> Value {
    let address = server.listener("statistics").unwrap();
    let mut stream = TcpStream::connect(address).unwrap();
    write!(stream, "GET /json/v1/server HTTP/1.0\r\nHost: bind\r\n\r\n").unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    let (_, body) = text.split_once("\r\n\r\n").unwrap();
    serde_json::from_str::<Value>(body).unwrap()["nsstats"].clone()
}

#[test]
fn each_truncated_answer_of_bind_is_followed_by_one_query_over_tcp_and_bind_counts_the_same() {
    let zone = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testbed/zones/naptr-202.zone");
    let values = [
        ("max_records_per_type", "0"),
        ("minimal_responses", "no"),
        ("tcp_clients", "1000"),
        ("tcp_listen_queue", "1000"),
    ];
    let options = ServerOptions {
        zone: Zone::from_file("epc.mnc001.mcc001.3gppnetwork.example.", &zone).unwrap(),
        parts: vec!["statistics".to_owned()],
        values: values.map(|(name, value)| (name.to_owned(), value.to_owned())).into(),
        ..ServerOptions::default()
    };
    let Some(server) = real_server("bind", &options) else { return };
    let work = Workplace::new();
    work.write("naptr.txt", include_str!("../../../../../testbed/queries/naptr.txt"));
    let before = counters(&server);
    work.dnsdyno(&format!(
        "run -s {} -d naptr.txt --keep-order --transport udp+tcp --edns-size 4096 --tcp-edns none --rate 500 \
         --count 2000 --quiet -o run",
        server.address()
    ))
    .gives(0);
    let after = counters(&server);
    let rose = |name: &str| {
        let of = |counters: &Value| counters[name].as_u64().unwrap_or(0);
        of(&after) - of(&before)
    };
    let digest = work.record("run");
    let (tally, fallback) = (digest.tally(), digest.tally().fallback.as_deref().unwrap());
    assert_eq!((tally.scheduled, tally.ends.answered), (2_000, 2_000), "{:?}", tally.ends);
    // 304 of each 1,000 have an answer that fits no datagram.
    assert_eq!((fallback.started, fallback.answered), (608, 608));
    let truncated = digest.sum.as_ref().unwrap().truncated.as_ref().unwrap();
    let [one] = &truncated.questions[..] else { panic!("{truncated:?}") };
    let name = "tac-lb01.tac-hb10.tac.epc.mnc001.mcc001.3gppnetwork.example";
    assert_eq!((one.name.as_str(), one.rtype.as_str(), one.count, truncated.others), (name, "NAPTR", 608, 0));
    assert_eq!((fallback.udp_requests, fallback.tcp_requests), (2_000, 608));
    assert_eq!((rose("QryUDP"), rose("QryTCP"), rose("TruncatedResp")), (2_000, 608, 608), "{after:#}");
    // Over UDP with EDNS, over TCP without.
    assert_eq!((rose("ReqEdns0"), rose("ReqTCP"), rose("Response")), (2_000, 608, 2_608), "{after:#}");
}

#[test]
fn a_longer_queue_of_connections_overflows_no_more_while_the_server_stands_still() {
    if !require(&[Need::Server("bind"), Need::Root]) {
        return;
    }
    let work = Workplace::new();
    work.write("x.toml", EXPERIMENT);
    work.dnsdyno("experiment x.toml -o out").gives(0);
    let overflows = |run: &str| {
        let digest = work.record(run);
        // A server that stands still may not answer what watches it either.
        let events: Vec<_> = digest.events.iter().filter(|event| !event.kind.starts_with("watch_")).collect();
        let marks: Vec<&str> = events.iter().map(|event| event.kind.as_str()).collect();
        assert_eq!(marks, ["happens", "happened"], "{events:?}");
        assert!(events[0].at_ns >= 500_000_000, "{events:?}");
        assert_eq!(events[0].message, "a reload of large zones");
        let sources = digest.watched().iter().flatten();
        sources.map(|source| source.counter("netstat.TcpExt.ListenOverflows")).sum::<u64>()
    };
    // Twenty connections begin in each tenth of a second.
    let (before, after) = (overflows("out/runs/001"), overflows("out/runs/002"));
    assert!(before > 20, "{before} overflows of a queue of 10");
    assert_eq!(after, 0, "overflows of a queue of 1,000");
    // The page of a run marks what happened.
    work.dnsdyno("report out/runs/001 -o page.html").gives(0);
    assert!(work.read("page.html").contains("a reload of large zones"));
}

/// BIND before and after a change, which stands still while clients connect.
const EXPERIMENT: &str = r#"
repeats = 1
drop-first = 0
in-doubt = "keep"
answers = "any"
steady = "off"

[run]
ask = ["host-000.dyno.example A"]
transport = "tcp"
queries-per-connection = 1
rate = 200
for = "2s"
timeout = "1s"

[[server]]
name = "bind"
template = "bind"
parts = ["statistics"]

[[server.variant]]
name = "listen-queue"
values = { tcp_listen_queue = "1000" }

[[load]]
name = "connections"

[[event]]
name = "a reload of large zones"
at = "500ms"
pause = "800ms"
"#;

/// A BIND with these further options and zones.
fn bind(part: &str, more_options: String, more_zones: String) -> Option<Server> {
    let values = [
        ("more_options", more_options),
        ("more_zones", more_zones),
        ("tcp_clients", "4096".to_owned()),
        ("tcp_listen_queue", "4096".to_owned()),
    ];
    let options = ServerOptions {
        parts: vec![part.to_owned()],
        values: values.map(|(name, value)| (name.to_owned(), value)).into(),
        ..ServerOptions::default()
    };
    real_server("bind", &options)
}

/// The number of zones of a server, as itself counts them.
fn zones_of(work: &Workplace, server: &Server) -> u64 {
    let control = server.listener("control").unwrap();
    let (address, port) = (control.ip().to_string(), control.port().to_string());
    let mut rndc = Command::new("rndc");
    let asked = rndc.args(["-s", &address, "-p", &port, "-k"]).arg(work.path("key")).arg("status").output();
    let text = String::from_utf8_lossy(&asked.unwrap().stdout).into_owned();
    let line = text.lines().find_map(|line| line.strip_prefix("number of zones: "));
    line.and_then(|rest| rest.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}

/// Waits until a server has so many zones.
#[track_caller]
fn has_zones(work: &Workplace, server: &Server, wanted: u64) {
    let since = Instant::now();
    while zones_of(work, server) != wanted {
        let log = || std::fs::read_to_string(server.log_path()).unwrap_or_default();
        assert!(since.elapsed() < Duration::from_secs(30), "{} zones: {}", zones_of(work, server), log());
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn each_zone_that_a_catalog_gets_under_load_is_served_at_its_end() {
    if !["kdig", "knsupdate", "rndc", "seq", "awk"].into_iter().all(has_program) {
        return;
    }
    let work = Workplace::new();
    work.write("catalog.sh", include_str!("../../../../../experiments/templates/catalog.sh"));
    work.write("key", "key \"testbed\" { algorithm hmac-sha256; secret \"dGVzdGJlZA==\"; };\n");
    let shell = |script: &str, environment: &[(&str, String)]| {
        let mut command = Command::new("sh");
        command.args(["-c", script]).current_dir(work.path("")).envs(environment.iter().cloned());
        let output = command.output().unwrap();
        assert!(output.status.success(), "{script}: {output:?}");
    };
    shell("sh catalog.sh 20", &[]);
    let include = format!("include \"{}\";", work.path("zones.conf").display());
    let Some(primary) = bind("statistics", String::new(), include) else { return };
    let (options, zones) = secondary_of(primary.address());
    let Some(secondary) = bind("control", options, zones) else { return };
    // Its own, that of the managed keys, the catalog, and 20 members.
    let before = 23;
    has_zones(&work, &secondary, before);

    let at = |name: &str, address: SocketAddr| {
        let of = |fact: &str| format!("DNSDYNO_{name}_{fact}");
        [(of("ADDRESS"), address.ip().to_string()), (of("PORT"), address.port().to_string())]
    };
    let folder = ("DNSDYNO_SERVER_FOLDER".to_owned(), secondary.folder().display().to_string());
    let mut environment = vec![folder];
    environment.extend(at("PRIMARY", primary.address()).into_iter().chain(at("SERVER", secondary.address())));
    let environment: Vec<(&str, String)> =
        environment.iter().map(|(name, value)| (name.as_str(), value.clone())).collect();

    let words = format!(
        "run -s {} --ask www.m{{n:0..19}}.members.example --clients 64 --rate 200 --for 6s --quiet -o load",
        secondary.address()
    );
    let mut load: Started<'_> = work.start(&words);
    load.until("a load", || work.has("load") && !work.intervals("load").is_empty());
    // In, out and in again; and a hundred more.
    for (members, zones) in [(10, before + 10), (10, before), (10, before + 10), (100, before + 100)] {
        shell(&format!("sh change-members {members}"), &environment);
        has_zones(&work, &secondary, zones);
    }
    load.wait().gives(0);
    let digest = work.record("load");
    let tally = digest.tally();
    assert_eq!((tally.scheduled, tally.ends.answered, tally.rcodes.of(0)), (1_200, 1_200, 1_200));

    let served = format!(
        "run -s {} --ask www.new{{n:1..100}}.members.example --count 100 --rate 500 --quiet -o served",
        secondary.address()
    );
    work.dnsdyno(&served).gives(0);
    assert_eq!(work.record("served").tally().rcodes.of(0), 100);
}

/// The options and zones of a secondary that follows the catalog of 20 zones of a primary.
fn secondary_of(primary: SocketAddr) -> (String, String) {
    let primaries = format!("{{ {} port {}; }}", primary.ip(), primary.port());
    let options = format!(
        "allow-notify {{ any; }}; serial-query-rate 1000; transfers-in 100; transfers-per-ns 100; catalog-zones {{ \
         zone \"catalog-20.example\" default-primaries {primaries} in-memory yes min-update-interval 1; }};"
    );
    let zones = format!(
        "zone \"catalog-20.example\" {{ type secondary; file \"catalog\"; primaries {primaries}; }};"
    );
    (options, zones)
}

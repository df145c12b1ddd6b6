//! A real BIND that has resolved names tells the same counters as JSON, as XML, and in the file of `rndc stats`.

use std::collections::BTreeMap;
use std::fs;
use std::net::{SocketAddr, UdpSocket};
use std::path::PathBuf;
use std::time::Duration;

use dnsdyno_lab::{Need, Server, ServerOptions, ServerSpec, require};
use dnsdyno_measure::Watched;
use dnsdyno_probe::{Reading, Targets, open};
use dnsdyno_wire::{QueryForm, encode_name};

/// Asks for names that exist and that do not, of types that the server has and that it has not.
fn ask(server: SocketAddr) {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    for (name, rtype) in
        [("www.dyno.example", 1), ("none.dyno.example", 28), ("dyno.example", 6), ("dyno.example", 65_280)]
    {
        for _ in 0..5 {
            let (mut wire, mut query) = (Vec::new(), Vec::new());
            encode_name(name.as_bytes(), &mut wire).unwrap();
            QueryForm::default().encode(&wire, rtype, &mut query);
            socket.send_to(&query, server).unwrap();
            socket.recv(&mut [0; 4_096]).unwrap();
        }
    }
}

/// A resolver that has resolved names, and the server that it asks.
fn resolver() -> Option<(Server, Server)> {
    if !require(&[Need::Server("bind")]) {
        return None;
    }
    let spec = ServerSpec::named("bind").unwrap();
    let behind = spec.start(&ServerOptions::default()).unwrap();
    let parts = ["statistics", "control"].map(str::to_owned).into();
    let options = ServerOptions { stub: Some(behind.address()), parts, ..ServerOptions::default() };
    let resolver = spec.start(&options).unwrap();
    ask(resolver.address());
    Some((resolver, behind))
}

fn opened(watch: &str) -> (Reading, Watched) {
    let mut opened = open(&[watch.parse().unwrap()], &Targets::default()).unwrap();
    (opened.sources[0].read().unwrap(), opened.sources[0].watched().clone())
}

/// The statistics file of a server, and a configuration of `rndc` for it.
fn statistics_file(server: &Server) -> (PathBuf, PathBuf) {
    let control = server.listener("control").unwrap();
    let configuration = server.folder().join("rndc.conf");
    let key = "key \"testbed\" { algorithm hmac-sha256; secret \"dGVzdGJlZA==\"; };";
    let (ip, port) = (control.ip(), control.port());
    let options = format!("default-key \"testbed\"; default-server {ip}; default-port {port};");
    fs::write(&configuration, format!("{key}\noptions {{ {options} }};\n")).unwrap();
    (server.folder().join("named.stats"), configuration)
}

#[test]
fn a_resolver_tells_each_series_the_same_as_json_and_as_xml() {
    let Some((server, _behind)) = resolver() else { return };
    let channel = server.listener("statistics").unwrap();
    let (before, of_json) = opened(&format!("bind=http://{channel}/"));
    let (xml, of_xml) = opened(&format!("bind=http://{channel}/xml"));
    let (after, _) = opened(&format!("bind=http://{channel}/json"));
    assert_eq!(before, after, "the server is at rest");
    assert_eq!(xml, before);
    assert_eq!((&of_xml.version, of_xml.version.is_some()), (&of_json.version, true));
    for (name, least) in [
        ("queries.udp", 20),
        ("queries.type.OTHERS", 5),
        ("responses.rcode.NXDOMAIN", 5),
        ("cache.misses", 1),
        ("raw.views._default.resolver.stats.Queryv4", 3),
    ] {
        assert!(xml.counters.get(name).is_some_and(|value| *value >= least), "{name}: {xml:?}");
    }
    for group in
        ["raw.traffic.dns-udp-requests-sizes-received-ipv4.", "raw.views._default.resolver.cachestats."]
    {
        assert!(xml.counters.keys().any(|name| name.starts_with(group)), "{group}: {xml:?}");
    }
    assert!(xml.gauges.get("raw.views._default.resolver.cache.A").is_some_and(|sets| *sets >= 1), "{xml:?}");
}

#[test]
fn a_resolver_tells_each_series_the_same_in_its_statistics_file() {
    let Some((server, _behind)) = resolver() else { return };
    let (path, configuration) = statistics_file(&server);
    let with_rndc = format!("bind={},rndc={}", path.display(), configuration.display());
    let (dump, of_file) = opened(&with_rndc);
    let channel = server.listener("statistics").unwrap();
    let (json, of_json) = opened(&format!("bind=http://{channel}/"));
    assert_eq!((&of_file.version, &of_file.missing), (&of_json.version, &of_json.missing));
    assert_eq!(of_file.settings, of_json.settings);
    // The file has no sizes of messages, and leaves out what is 0; it has sockets, which cost much to ask for.
    let without = |series: &BTreeMap<String, u64>, start: &str| {
        let rest = series.iter().filter(|(name, value)| !name.starts_with(start) && **value > 0);
        rest.map(|(name, value)| (name.clone(), *value)).collect::<BTreeMap<String, u64>>()
    };
    let counters = without(&dump.counters, "raw.sockstats.");
    assert!(counters.len() >= 25 && counters["queries.udp"] >= 20, "{counters:?}");
    assert_eq!(counters, without(&json.counters, "raw.traffic."));
    assert_eq!(without(&dump.gauges, "raw.sockstats."), without(&json.gauges, "raw.traffic."));
    assert!(dump.counters["raw.sockstats.UDP4Open"] > 0);
    assert!(dump.gauges["raw.sockstats.UDP4Active"] > 0);
}

#[test]
fn without_rndc_the_file_is_read_as_it_is_and_that_is_said() {
    let Some((server, _behind)) = resolver() else { return };
    let (path, configuration) = statistics_file(&server);
    let plain = format!("bind={}", path.display());
    let error = open(&[plain.parse().unwrap()], &Targets::default()).err().expect("no file yet").to_string();
    assert!(error.contains("`rndc stats` writes it"), "{error}");
    let (first, _) = opened(&format!("{plain},rndc={}", configuration.display()));
    ask(server.address());
    let (again, watched) = opened(&plain);
    assert_eq!(again.counters["queries"], first.counters["queries"], "nobody has given `rndc stats`");
    assert!(watched.missing.iter().any(|what| what.contains("add ,rndc to the path")), "{watched:?}");
    let (new, _) = opened(&format!("{plain},rndc={}", configuration.display()));
    assert_eq!(new.counters["queries"], first.counters["queries"] + 20);
    // A server that does not take the key.
    fs::write(&configuration, "options { default-server 127.0.0.1; default-port 1; };\n").unwrap();
    let refused = format!("{plain},rndc={}", configuration.display());
    let error = open(&[refused.parse().unwrap()], &Targets::default()).err().expect("no key").to_string();
    assert!(error.contains("rndc stats: rndc: "), "{error}");
}

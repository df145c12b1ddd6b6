//! The servers of the house, started for real. A server that is not installed skips its test, with a printed
//! reason; `DNSDYNO_REQUIRE_PRIVILEGED=1` makes that a failure.

mod common;

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::str::FromStr;

use common::{addresses, ask_tcp, ask_udp};
use dnsdyno_lab::{Need, Server, ServerOptions, ServerSpec, Zone, example_queries, require};
use domain::base::iana::{Rcode, Rtype};

/// A name of the example zone, and its address.
const HOST: &str = "host-042.dyno.example.";
const HOST_ADDRESS: Ipv4Addr = Ipv4Addr::new(198, 51, 100, 42);

/// The signal that asks to end.
const SIGTERM: i32 = 15;

fn start(name: &str, options: &ServerOptions) -> Server {
    let spec = ServerSpec::named(name).expect("a template of that name");
    spec.start(options).unwrap_or_else(|error| panic!("{error}"))
}

fn process_exists(pid: u32) -> bool {
    Path::new(&format!("/proc/{pid}")).exists()
}

/// What must hold for every server.
fn serves_the_example_zone(name: &str) {
    if !require(&[Need::Server(name)]) {
        return;
    }
    let server = start(name, &ServerOptions::default());
    assert!(server.address().ip().is_loopback());
    assert!(server.log_path().starts_with(server.folder()) && server.log_path().is_file());
    let program = ServerSpec::named(name).and_then(|spec| spec.program()).expect("it is installed");
    let running = std::fs::read_link(format!("/proc/{}/exe", server.pid())).expect("it runs");
    assert_eq!(running, program.canonicalize().expect("its true path"), "the pid is the server's own");

    assert_eq!(addresses(&ask_udp(server.address(), HOST, Rtype::A)), [HOST_ADDRESS]);
    assert_eq!(addresses(&ask_tcp(server.address(), HOST, Rtype::A)), [HOST_ADDRESS]);
    let wildcard = ask_udp(server.address(), "any-label.wild.dyno.example.", Rtype::A);
    assert_eq!(addresses(&wildcard), [Ipv4Addr::new(192, 0, 2, 99)]);
    let large = ask_udp(server.address(), "large.dyno.example.", Rtype::TXT);
    assert!(large.header().tc(), "1,600 bytes do not fit a datagram without EDNS");
    let whole = ask_tcp(server.address(), "large.dyno.example.", Rtype::TXT);
    assert_eq!((whole.header().tc(), whole.header_counts().ancount()), (false, 8));
    let elsewhere = ask_udp(server.address(), "www.example.net.", Rtype::A);
    assert_eq!(elsewhere.header().rcode(), Rcode::REFUSED, "no question may leave the host");

    let (pid, folder) = (server.pid(), server.folder().to_owned());
    let status = server.stop().expect("it stops");
    // PowerDNS leaves the signal to the kernel.
    let was_asked = status.success() || status.signal() == Some(SIGTERM);
    assert!(was_asked, "{name} ended when asked to, not by force: {status}");
    assert!(!process_exists(pid) && !folder.exists());
}

#[test]
fn nsd_serves_the_example_zone_and_stops() {
    serves_the_example_zone("nsd");
}

#[test]
fn bind_serves_the_example_zone_and_stops() {
    serves_the_example_zone("bind");
}

#[test]
fn unbound_serves_the_example_zone_and_stops() {
    serves_the_example_zone("unbound");
}

#[test]
fn knot_serves_the_example_zone_and_stops() {
    serves_the_example_zone("knot");
}

#[test]
fn pdns_serves_the_example_zone_and_stops() {
    serves_the_example_zone("pdns");
}

#[test]
fn hickory_serves_the_example_zone_and_stops() {
    serves_the_example_zone("hickory");
}

/// Every template of a server with zones of its own, so that a server added as data is held to it too.
fn installed() -> Vec<ServerSpec> {
    let all = ServerSpec::all().into_iter();
    let has_zones = all.filter(|spec| spec.answers_queries() && !spec.asks_another());
    has_zones.filter(|spec| require(&[Need::Server(spec.name())])).collect()
}

#[test]
fn each_server_prints_its_version() {
    for spec in installed() {
        let version = spec.version().unwrap_or_else(|error| panic!("{error}"));
        assert!(version.starts_with(|first: char| first.is_ascii_digit()), "{}: {version:?}", spec.name());
    }
}

#[test]
fn each_server_answers_the_example_queries_with_the_same_codes() {
    for spec in installed() {
        let server = start(spec.name(), &ServerOptions::default());
        let mut absent = 0;
        let lines = example_queries().lines().filter(|line| !line.starts_with(';'));
        for line in lines {
            let (name, rtype) = line.split_once(' ').expect("name type");
            let answer = ask_udp(server.address(), name, Rtype::from_str(rtype).expect("a type"));
            assert!(!answer.header().tc(), "{line}");
            match answer.header().rcode() {
                Rcode::NOERROR => assert!(answer.header_counts().ancount() > 0, "{}: {line}", spec.name()),
                Rcode::NXDOMAIN => {
                    assert!(name.starts_with("absent-"), "{}: {line}", spec.name());
                    absent += 1;
                }
                other => panic!("{}: {line}: {other}", spec.name()),
            }
        }
        assert_eq!(absent, 12, "{}", spec.name());
    }
}

#[test]
fn each_server_listens_on_ipv6_with_several_threads_and_no_rate_limit() {
    let options =
        ServerOptions { address: IpAddr::V6(Ipv6Addr::LOCALHOST), threads: 2, ..ServerOptions::default() };
    for spec in installed() {
        let server = start(spec.name(), &options);
        assert!(server.address().is_ipv6());
        // NSD as Debian builds it would stop at 200 a second.
        for _ in 0..1_000 {
            assert_eq!(addresses(&ask_udp(server.address(), HOST, Rtype::A)), [HOST_ADDRESS]);
        }
    }
}

#[test]
fn each_server_killed_and_restarted_answers_at_the_same_address() {
    for spec in installed() {
        let mut server = start(spec.name(), &ServerOptions::default());
        let (address, first_pid) = (server.address(), server.pid());
        server.kill().expect("it is killed");
        assert!(!server.is_running() && !process_exists(first_pid));
        server.restart().unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(server.address(), address);
        assert!(server.is_running());
        assert_eq!(addresses(&ask_udp(address, HOST, Rtype::A)), [HOST_ADDRESS]);

        server.restart().unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(addresses(&ask_tcp(address, HOST, Rtype::A)), [HOST_ADDRESS]);
    }
}

#[test]
fn all_servers_run_at_once_and_each_twice() {
    let servers: Vec<Server> = installed()
        .iter()
        .flat_map(|spec| {
            [start(spec.name(), &ServerOptions::default()), start(spec.name(), &ServerOptions::default())]
        })
        .collect();
    let ports: BTreeSet<u16> = servers.iter().map(|server| server.address().port()).collect();
    assert_eq!(ports.len(), servers.len());
    for server in &servers {
        assert_eq!(addresses(&ask_udp(server.address(), HOST, Rtype::A)), [HOST_ADDRESS]);
    }
}

#[test]
fn a_dropped_server_leaves_no_process_and_no_folder() {
    for spec in installed() {
        let server = start(spec.name(), &ServerOptions::default());
        let (pid, folder) = (server.pid(), server.folder().to_owned());
        assert!(process_exists(pid) && folder.exists());
        drop(server);
        assert!(!process_exists(pid) && !folder.exists(), "{}", spec.name());
    }
}

#[test]
fn a_server_outlives_the_thread_that_started_it() {
    if !require(&[Need::Server("nsd")]) {
        return;
    }
    let starter = std::thread::spawn(|| start("nsd", &ServerOptions::default()));
    let server = starter.join().expect("the thread ends");
    assert_eq!(addresses(&ask_udp(server.address(), HOST, Rtype::A)), [HOST_ADDRESS]);
}

/// Starts a resolver before NSD, asks it, ends NSD, and asks it again.
fn resolves_through_a_stub_and_keeps_the_answer(resolver: &str) {
    if !require(&[Need::Server(resolver), Need::Server("nsd")]) {
        return;
    }
    let mut upstream = start("nsd", &ServerOptions::default());
    let resolver =
        start(resolver, &ServerOptions { stub: Some(upstream.address()), ..ServerOptions::default() });
    let answer = ask_udp(resolver.address(), HOST, Rtype::A);
    assert_eq!(addresses(&answer), [HOST_ADDRESS]);
    assert!(answer.header().ra() && !answer.header().aa(), "an answer of a resolver");

    upstream.kill().expect("it is killed");
    assert_eq!(addresses(&ask_udp(resolver.address(), HOST, Rtype::A)), [HOST_ADDRESS], "from the cache");
}

#[test]
fn unbound_resolves_through_a_stub_and_keeps_the_answer() {
    resolves_through_a_stub_and_keeps_the_answer("unbound");
}

#[test]
fn bind_resolves_through_a_stub_and_keeps_the_answer() {
    resolves_through_a_stub_and_keeps_the_answer("bind");
}

#[test]
fn knot_resolver_resolves_through_a_stub_and_keeps_the_answer() {
    resolves_through_a_stub_and_keeps_the_answer("knot-resolver");
}

#[test]
fn pdns_recursor_resolves_through_a_stub_and_keeps_the_answer() {
    resolves_through_a_stub_and_keeps_the_answer("pdns-recursor");
}

#[test]
fn a_zone_of_the_callers_own_is_served_from_text_and_from_a_file() {
    let text = "$TTL 60\n@ SOA ns host 1 1 1 1 1\n@ NS ns\nns A 192.0.2.7\n";
    let file = tempfile::NamedTempFile::new().expect("a temporary file");
    std::fs::write(file.path(), text).expect("it is written");
    let zones = [
        Zone::from_text("own.example.", text).expect("a name"),
        Zone::from_file("own.example.", file.path()).expect("a file"),
    ];
    for spec in installed() {
        for zone in &zones {
            let server =
                start(spec.name(), &ServerOptions { zone: zone.clone(), ..ServerOptions::default() });
            let answer = ask_udp(server.address(), "ns.own.example.", Rtype::A);
            assert_eq!(addresses(&answer), [Ipv4Addr::new(192, 0, 2, 7)], "{}", spec.name());
        }
    }
}

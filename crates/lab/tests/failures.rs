//! The error when a server does not start, and that nothing is left behind when the caller is killed.

mod common;

use std::fs;
use std::io::{BufRead, BufReader};
use std::net::{IpAddr, Ipv6Addr};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use common::{addresses, ask_tcp, ask_udp};
use dnsdyno_lab::{
    LabError, Need, ServerOptions, ServerSpec, StartFailure, StartFailureReason, Zone, require,
};
use domain::base::iana::Rtype;

fn template(name: &str) -> String {
    let path = format!("{}/../../testbed/servers/{name}.toml", env!("CARGO_MANIFEST_DIR"));
    fs::read_to_string(path).expect("a template")
}

/// Starts what must not start, checks what every such error has, and removes the folder it kept.
fn failure(name: &str, template: &str, options: &ServerOptions) -> Box<StartFailure> {
    let spec = ServerSpec::from_toml(name, template).expect("it parses");
    let failure = match spec.start(options) {
        Err(LabError::Start(failure)) => failure,
        Err(other) => panic!("another error: {other}"),
        Ok(server) => panic!("{} came up", server.name()),
    };
    assert!(failure.log_path.is_file(), "the log is kept");
    let message = failure.to_string();
    let program = spec.program().expect("it is installed").display().to_string();
    assert!(
        message.contains(&program) && message.contains(&failure.log_path.display().to_string()),
        "{message}"
    );
    let folder = failure.log_path.parent().expect("a folder").to_owned();
    fs::remove_dir_all(folder).expect("it is removed");
    failure
}

#[test]
fn a_broken_configuration_is_an_error_with_the_text_of_the_log() {
    let mistakes = [
        ("nsd", "tcp-count:", "tcp-cuont:", "syntax error"),
        ("bind", "querylog no;", "querlog no;", "unknown option 'querlog'"),
        ("unbound", "so-reuseport:", "so-resuport:", "so-resuport"),
        ("knot", "tcp-workers:", "tcp-wrokers:", "tcp-wrokers"),
    ];
    for (name, right, wrong, words) in mistakes {
        if !require(&[Need::Server(name)]) {
            continue;
        }
        let broken = template(name).replace(right, wrong);
        assert_ne!(broken, template(name), "the mistake is in the template of {name}");
        let failure = failure(name, &broken, &ServerOptions::default());
        assert!(matches!(failure.reason, StartFailureReason::Ended(_)), "{failure}");
        assert!(failure.log_tail.contains(words), "{failure}");
    }
}

#[test]
fn a_server_that_runs_but_cannot_load_its_zone_is_an_error_with_its_last_response() {
    if !require(&[Need::Server("nsd")]) {
        return;
    }
    let zone = Zone::from_text("dyno.example.", "no zone at all").expect("a name");
    let options =
        ServerOptions { zone, ready_within: Duration::from_millis(500), ..ServerOptions::default() };
    let failure = failure("nsd", &template("nsd"), &options);
    match &failure.reason {
        StartFailureReason::NoAnswer { last, .. } => assert!(last.contains("SERVFAIL"), "{failure}"),
        other => panic!("another reason: {other}"),
    }
}

#[test]
fn a_port_in_use_is_replaced_by_another_and_then_reported() {
    // A database has no port, and what has its zones in one does not start without it.
    let needs_database = |spec: &ServerSpec| spec.defaults().contains_key("database_socket");
    let all = ServerSpec::all().into_iter();
    for spec in all.filter(|spec| spec.answers_queries() && !needs_database(spec)) {
        if !require(&[Need::Server(spec.name())]) {
            continue;
        }
        let held = std::net::UdpSocket::bind("127.0.0.1:0").expect("a port");
        let port = held.local_addr().expect("its address").port();
        let fixed = template(spec.name()).replace("{port}", &port.to_string());
        let failure = failure(spec.name(), &fixed, &ServerOptions::default());
        assert!(matches!(failure.reason, StartFailureReason::PortTaken(_)), "{failure}");
    }
}

#[test]
fn a_placeholder_that_nothing_fills_is_named_before_anything_starts() {
    if !require(&[Need::Server("knot")]) {
        return;
    }
    let spec =
        ServerSpec::from_toml("knot", &template("knot").replace("{threads}", "{treads}")).expect("it parses");
    let error = spec.start(&ServerOptions::default()).expect_err("nothing fills it");
    assert!(error.to_string().contains("{treads}"), "{error}");
}

#[test]
fn a_value_or_part_that_the_template_lacks_is_refused_with_those_it_has() {
    if !require(&[Need::Server("unbound")]) {
        return;
    }
    let spec = ServerSpec::named("unbound").expect("a template");
    let values = [("tcp-clients".to_owned(), "1".to_owned())].into();
    let error = spec.start(&ServerOptions { values, ..ServerOptions::default() }).expect_err("no such value");
    assert!(error.to_string().contains("it has: cert_file, clients, ip6, key_file"), "{error}");
    let parts = vec!["quic".to_owned()];
    let error = spec.start(&ServerOptions { parts, ..ServerOptions::default() }).expect_err("no such part");
    assert!(error.to_string().contains("dot_doh, hierarchy, stub, zone"), "{error}");
}

#[test]
fn a_stub_is_refused_by_a_server_that_only_has_zones() {
    if !require(&[Need::Server("nsd")]) {
        return;
    }
    let stub = Some("127.0.0.1:53".parse().expect("an address"));
    let spec = ServerSpec::named("nsd").expect("a template");
    let error = spec.start(&ServerOptions { stub, ..ServerOptions::default() }).expect_err("no stub");
    assert!(matches!(error, LabError::NoStub { .. }), "{error}");
}

#[test]
fn an_address_that_the_host_lacks_is_named() {
    if !require(&[Need::Server("nsd")]) {
        return;
    }
    let address = IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1));
    let spec = ServerSpec::named("nsd").expect("a template");
    let error = spec.start(&ServerOptions { address, ..ServerOptions::default() }).expect_err("not ours");
    assert!(error.to_string().contains("2001:db8::1"), "{error}");
}

#[test]
fn a_part_with_a_listener_of_its_own_gets_a_port_of_its_own() {
    if !require(&[Need::Server("nsd")]) {
        return;
    }
    let text = template("nsd").replace("    port: {port}\n", "    {second}\n    port: {port}\n")
        + "\n[parts.second]\nsecond = \"ip-address: {address}@{port_second}\"\n";
    let spec = ServerSpec::from_toml("nsd", &text).expect("it parses");
    let parts = vec!["second".to_owned()];
    let server = spec.start(&ServerOptions { parts, ..ServerOptions::default() }).expect("it starts");
    let second = server.listener("second").expect("it has a port");
    assert_ne!(second, server.address());
    for answer in
        [ask_udp(second, "www.dyno.example.", Rtype::A), ask_tcp(second, "www.dyno.example.", Rtype::A)]
    {
        assert_eq!(addresses(&answer).len(), 1);
    }
    assert_eq!(server.listener("third"), None);
}

/// Not a test of its own: the process that the next test kills. It starts a server, prints its pid and
/// folder, and then waits for a line that is never written.
#[test]
#[ignore = "started by the next test"]
fn start_a_server_and_wait_to_be_killed() {
    let server =
        ServerSpec::named("nsd").and_then(|spec| spec.start(&ServerOptions::default())).expect("it starts");
    println!("\nserver {} {}", server.pid(), server.folder().display());
    let _ = std::io::stdin().read_line(&mut String::new());
}

#[test]
fn a_server_ends_when_the_process_that_started_it_is_killed() {
    if !require(&[Need::Server("nsd")]) {
        return;
    }
    let arguments = ["--ignored", "--exact", "--nocapture", "start_a_server_and_wait_to_be_killed"];
    let mut parent = Command::new(std::env::current_exe().expect("our own path"))
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("it runs");
    let output = BufReader::new(parent.stdout.take().expect("a pipe"));
    let told = output.lines().map_while(Result::ok).find(|line| line.starts_with("server "));
    let told = told.expect("the server's pid and folder");
    let mut words = told.split(' ').skip(1);
    let pid: u32 = words.next().and_then(|pid| pid.parse().ok()).expect("a pid");
    let folder = PathBuf::from(words.next().expect("a folder"));
    assert!(is_running(pid));

    parent.kill().expect("it is killed");
    parent.wait().expect("it has ended");
    let deadline = Instant::now() + Duration::from_secs(10);
    while is_running(pid) {
        assert!(Instant::now() < deadline, "process {pid} outlived its parent");
        std::thread::yield_now();
    }
    fs::remove_dir_all(folder).expect("a killed process cannot remove it");
}

/// Whether the process is there and not a zombie that waits for init.
fn is_running(pid: u32) -> bool {
    let status =
        fs::read_to_string(Path::new("/proc").join(pid.to_string()).join("status")).unwrap_or_default();
    status.lines().any(|line| line.starts_with("State:") && !line.contains("Z ("))
}

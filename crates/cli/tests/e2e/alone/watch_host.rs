//! The kernel of a server's network namespace, and its process: what they count is what the generator sent and lost.

use std::fs;
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use dnsdyno_lab::{Need, Place, Server, ServerOptions, VethPair, require};
use dnsdyno_measure::{Samples, Watched};
use dnsdyno_record::Digest;
use rustix::process::{Pid, Signal, kill_process};

use crate::support::{Workplace, has_program, real_server};

/// Knot DNS, which is one process with one UDP socket, at the far end of a pair of namespaces.
fn knot_far_away() -> Option<(VethPair, Server)> {
    if !require(&[Need::Root]) {
        return None;
    }
    let pair = VethPair::new(1).unwrap();
    let options = ServerOptions {
        address: pair.far().ipv4.into(),
        place: Place::in_namespace(pair.far()),
        ..ServerOptions::default()
    };
    real_server("knot", &options).map(|server| (pair, server))
}

fn signal(server: &Server, signal: Signal) {
    kill_process(Pid::from_raw(server.pid() as i32).unwrap(), signal).unwrap();
}

/// Stops a server, and waits until each of its threads stands still.
fn stand_still(server: &Server) {
    signal(server, Signal::STOP);
    let deadline = Instant::now() + Duration::from_secs(20);
    let is_still = |task: fs::DirEntry| {
        let stat = fs::read_to_string(task.path().join("stat")).unwrap();
        stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with('T'))
    };
    let tasks = || fs::read_dir(format!("/proc/{}/task", server.pid())).unwrap().flatten();
    while !tasks().all(is_still) {
        assert!(Instant::now() < deadline, "the server runs on");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn watched(digest: &Digest) -> &[Watched] {
    &digest.header.watched
}

fn samples(digest: &Digest, source: usize) -> &Samples {
    digest.watched()[source].as_ref().expect("samples of the whole run")
}

/// A counter of `/proc/net/snmp` in a namespace, read by the test itself.
fn udp_errors(pair: &VethPair) -> u64 {
    let text = pair.far().enter(|| fs::read_to_string("/proc/thread-self/net/snmp")).unwrap().unwrap();
    let mut lines = text.lines().filter_map(|line| line.strip_prefix("Udp: "));
    let (names, values) = (lines.next().unwrap(), lines.next().unwrap());
    let at = names.split(' ').position(|name| name == "RcvbufErrors").unwrap();
    values.split(' ').nth(at).unwrap().parse().unwrap()
}

#[test]
fn the_namespace_of_a_server_has_received_exactly_what_was_sent_and_its_own_parameters_are_told() {
    let Some((pair, server)) = knot_far_away() else { return };
    let work = Workplace::with_queries();
    let set = || fs::write("/proc/sys/net/core/somaxconn", "77");
    pair.far().enter(set).unwrap().unwrap();
    let (address, pid) = (server.address(), server.pid());
    let words = format!(
        "run -s {address} -d q.txt --rate 1000 --for 3s --watch host={pid} --watch process={pid} --watch host -o run"
    );
    work.start_in(pair.near(), &words).wait().gives(0);
    let digest = work.record("run");
    let (sent, host) = (digest.tally().scheduled, samples(&digest, 0));
    assert_eq!((sent, digest.tally().ends.answered), (3_000, 3_000));
    assert_eq!((host.counter("snmp.Udp.InDatagrams"), host.counter("snmp.Udp.RcvbufErrors")), (sent, 0));
    assert!(host.counter("interface.far.rx_bytes") > 0 && host.counter("cpu.user_ns") > 0, "{host:?}");
    let [far, process, near] = watched(&digest) else { panic!("three sources") };
    assert_eq!(far.settings["net.core.somaxconn"], "77");
    assert_ne!(near.settings["net.core.somaxconn"], "77");
    assert!(
        far.settings.contains_key("interface.far.mtu") && near.settings.contains_key("interface.near.mtu")
    );
    // The generator is where the load begins, and the counters there are not those of the server.
    assert_eq!(samples(&digest, 2).counter("snmp.Udp.InDatagrams"), sent);
    assert_eq!(process.label, format!("knotd ({pid})"));
    assert_eq!((process.software.as_deref(), process.missing.as_slice()), (Some("knot"), &[][..]));
    let process = samples(&digest, 1);
    assert!(process.counter("cpu_ns") > 0 && process.gauge("files.open") > 0, "{process:?}");
    assert!(
        process.counters.iter().any(|(name, cpu)| name.starts_with("thread.knotd/") && *cpu > 0),
        "{process:?}"
    );
}

#[test]
fn a_server_that_stands_still_loses_what_its_socket_and_its_namespace_have_dropped() {
    let Some((pair, server)) = knot_far_away() else { return };
    let work = Workplace::with_queries();
    let (address, pid) = (server.address(), server.pid());
    let words = format!(
        "run -s {address} -d q.txt --rate 3000 --for 4s --timeout 4s --watch process={pid} --watch host={pid} -o run"
    );
    let mut run = work.start_in(pair.near(), &words);
    let before = udp_errors(&pair);
    run.until("an interval has its samples", || !work.intervals("run").is_empty());
    signal(&server, Signal::STOP);
    run.until("the receive queue overflows", || udp_errors(&pair) >= before + 500);
    signal(&server, Signal::CONT);
    run.wait();
    let digest = work.record("run");
    let lost = digest.tally().scheduled - digest.tally().ends.answered;
    let (process, host) = (samples(&digest, 0), samples(&digest, 1));
    assert!(lost >= 500, "{lost}");
    let socket = format!("socket.udp.{address}/0.drops");
    assert_eq!((process.counter("udp.drops"), process.counter(&socket)), (lost, lost));
    assert_eq!(host.counter("snmp.Udp.RcvbufErrors"), lost);
    assert!(watched(&digest)[0].settings.contains_key("udp.receive_buffer_bytes"));
    // What arrived is what was read and what was dropped.
    assert_eq!(host.counter("snmp.Udp.InDatagrams") + lost, digest.tally().scheduled);
}

#[test]
fn connections_that_a_server_does_not_accept_are_counted_against_its_backlog() {
    let Some((pair, server)) = knot_far_away() else { return };
    let work = Workplace::with_queries();
    stand_still(&server);
    let (address, pid) = (server.address(), server.pid());
    let connect = || (0..3).map(|_| TcpStream::connect(address).unwrap()).collect::<Vec<_>>();
    let _waiting = pair.near().enter(connect).unwrap();
    let words =
        format!("run -s {address} -d q.txt --rate 50 --for 1s --timeout 500ms --watch process={pid} -o run");
    work.start_in(pair.near(), &words).wait().completes();
    signal(&server, Signal::CONT);
    let digest = work.record("run");
    let process = samples(&digest, 0);
    assert_eq!((process.gauge("tcp.accept_queue"), process.gauge("tcp.open")), (3, 0), "{process:?}");
    assert!(process.gauge("tcp.accept_backlog") >= 3, "{process:?}");
    assert!(process.gauge("udp.receive_queue_bytes") > 0, "queries that wait: {process:?}");
}

#[test]
fn a_process_that_ends_in_the_middle_is_an_event_and_its_namespace_is_still_read() {
    let Some((pair, mut server)) = knot_far_away() else { return };
    let work = Workplace::with_queries();
    let (address, pid) = (server.address(), server.pid());
    let words = format!(
        "run -s {address} -d q.txt --rate 200 --for 2s --interval 100ms --timeout 200ms --watch process={pid} --watch \
         host={pid} -o run"
    );
    let mut run = work.start_in(pair.near(), &words);
    run.until("some intervals have their samples", || work.intervals("run").len() >= 3);
    server.kill().unwrap();
    run.wait().completes();
    let digest = work.record("run");
    let events: Vec<_> = digest.events.iter().filter(|event| event.kind.starts_with("watch_")).collect();
    let [lost] = &events[..] else { panic!("one event: {events:?}") };
    assert_eq!((lost.kind.as_str(), lost.figures["source"].as_u64()), ("watch_lost", Some(0)));
    assert_eq!(lost.message, format!("knotd ({pid}) cannot be read: it has ended"));
    assert_eq!(digest.tally().scheduled, 400);
    let host = samples(&digest, 1);
    assert!(host.counter("snmp.Udp.NoPorts") > 0, "queries that arrived at a closed port: {host:?}");
}

#[test]
fn what_only_root_can_read_is_said_to_be_missing() {
    let Some((pair, server)) = knot_far_away() else { return };
    if !has_program("setpriv") {
        return;
    }
    let work = Workplace::with_queries();
    // In a folder that every user may enter; the program must be in one too.
    let script = format!(
        "d=$(mktemp -d) && chmod 777 $d && cp \"$0\" $d/program && cp q.txt $d && chmod 755 $d/program $d/q.txt; \
         ip netns exec {} setpriv --reuid=65534 --clear-groups $d/program run --no-check -s {} -d $d/q.txt --rate 50 \
         --for 1s --watch host={pid} --watch process={pid} -o $d/run; code=$?; cp -r $d/run run; rm -r $d; exit $code",
        pair.near().name(),
        server.address(),
        pid = server.pid()
    );
    work.shell(&script).gives(0);
    let digest = work.record("run");
    let [host, process] = watched(&digest) else { panic!("two sources") };
    assert!(
        host.missing.iter().any(|what| what.contains("cannot be entered") && what.ends_with("run as root"))
    );
    assert!(!host.settings.contains_key("net.core.somaxconn"), "{:?}", host.settings);
    assert!(
        process.missing.iter().any(|what| what.contains("belongs to another user")),
        "{:?}",
        process.missing
    );
    // What everyone can read is read.
    assert_eq!(samples(&digest, 0).counter("snmp.Udp.InDatagrams"), digest.tally().scheduled);
    assert!(samples(&digest, 1).counters.contains_key("cpu_ns"));
}

#[test]
fn what_cannot_be_watched_is_refused_before_the_run() {
    let work = Workplace::with_queries();
    let free: SocketAddr = crate::support::closed_port();
    let run = |watch: &str| work.dnsdyno(&format!("run -s {free} -d q.txt --for 1s --watch {watch} -o run"));
    let none = u32::MAX / 2;
    run(&format!("host={none}")).ends_refused(3, &["this host has no process"]);
    run(&format!("process={none}")).ends_refused(3, &["this host has no process"]);
    run("process").ends_refused(3, &["no process listens at", "start the server first"]);
    assert!(!work.has("run"));
}

//! Unusual conditions of clients: exhausted ports, a full accept queue of the server, queries sent with the SYN, closed
//! ports. Most tests use a network namespace with its own kernel settings.

use std::time::Duration;

use dnsdyno_measure::{ConnectFailure, Connections, Histogram, NotSentReason};
use dnsdyno_responder::Faults;
use rustix::process::Signal;

use crate::support::{Workplace, closed_port, has_program, may_unshare, responder};

/// Runs `load` over TCP in a network namespace with these settings (paths under `/proc/sys/net`, and their values),
/// against a responder that writes its counts to `book`. Between the two values of `pause`, in seconds, the responder
/// is stopped. `None` where a namespace cannot be created.
fn measured_apart(
    work: &Workplace,
    settings: &[(&str, &str)],
    respond: &str,
    pause: Option<f32>,
    load: &str,
) -> Option<(Connections, String)> {
    if !may_unshare("-n") || !has_program("ip") {
        return None;
    }
    // Older kernels lack one of them, and do not need it.
    let set = |(path, value): &(&str, &str)| {
        format!("! [ -e /proc/sys/net/{path} ] || echo '{value}' > /proc/sys/net/{path}\n")
    };
    let settings: String = settings.iter().map(set).collect();
    let (stop, resume) = match pause {
        Some(seconds) => ("kill -STOP $server".to_owned(), format!("sleep {seconds}; kill -CONT $server")),
        None => (String::new(), String::new()),
    };
    let script = format!(
        "set -e
        ip link set lo up
        {settings}
        $0 respond --listen 127.0.0.1:5300 --for 60s --book book {respond} 2> heard & server=$!
        until grep -q listening heard; do sleep 0.02; done
        {stop}
        $0 run -s 127.0.0.1:5300 --ask www.example --transport tcp {load} --quiet -o run > said & run=$!
        {resume}
        code=0; wait $run || code=$?
        cat /proc/net/netstat > netstat
        kill -INT $server; wait $server || true
        exit $code"
    );
    work.shell_apart("-n", &script).gives(0);
    let digest = work.record("run");
    Some((digest.arrivals().connections.as_deref().cloned()?, work.read("said")))
}

#[test]
fn exhausted_local_ports_are_reported_with_the_figure_and_advice() {
    let work = Workplace::new();
    let ports = [("ipv4/ip_local_port_range", "40000 40099")];
    // Kept connections: the clients that have one send the queries of those that have none.
    let load = "--clients 300 --rate 500 --for 2s";
    let Some((connections, said)) = measured_apart(&work, &ports, "", None, load) else { return };
    let failed = connections.failed(ConnectFailure::NoLocalPort);
    assert_eq!((connections.open_max, failed > 0), (100, true), "{connections:?}");
    assert_eq!(work.record("run").tally().ends.answered, 1_000);
    for words in [
        &format!("local ports exhausted: {failed} connections") as &str,
        "--local-address",
        "ip_local_port_range",
    ] {
        assert!(said.contains(words), "{words}: {said}");
    }
}

#[test]
fn queries_without_a_free_local_port_are_counted_by_that_reason() {
    let work = Workplace::new();
    let ports = [("ipv4/ip_local_port_range", "40000 40099"), ("ipv4/tcp_timestamps", "0")];
    let load = "--queries-per-connection 1 --rate 500 --for 2s -t 1s";
    let Some((connections, _)) = measured_apart(&work, &ports, "", None, load) else { return };
    let ends = work.record("run").tally().ends;
    let no_port = ends.not_sent.of(NotSentReason::NoLocalPort);
    assert_eq!(ends.answered + no_port, 1_000, "{ends:?}");
    assert!(no_port > 100 && connections.failed(ConnectFailure::NoLocalPort) > 0, "{ends:?}");
    assert_eq!(ends.answered, connections.established);
}

/// Ten times as many connections as ports, each of which is in TIME_WAIT after its connection.
#[test]
fn a_port_is_used_again_after_its_connection() {
    let work = Workplace::new();
    let ports = [("ipv4/ip_local_port_range", "40000 40099"), ("ipv4/tcp_tw_reuse", "0")];
    let load = "--queries-per-connection 1 --rate 500 --for 2s -t 1s";
    let Some((connections, _)) = measured_apart(&work, &ports, "", None, load) else { return };
    assert_eq!((connections.established, connections.failed(ConnectFailure::NoLocalPort)), (1_000, 0));
    assert_eq!(work.record("run").tally().ends.answered, 1_000);
}

#[test]
fn a_full_accept_queue_of_the_server_affects_only_the_connect_time() {
    let work = Workplace::new();
    let settings = [
        // Two connections wait to be accepted; further SYNs are dropped.
        ("core/somaxconn", "1"),
        ("ipv4/tcp_syncookies", "0"),
        // SYNs are retransmitted after 1, 3, 7 s; since Linux 6.5 after each second by default.
        ("ipv4/tcp_syn_linear_timeouts", "0"),
    ];
    // The first 0.4 s miss twice, the rest of the 1.4 s once.
    let load = "--queries-per-connection 1 --workers 1 --rate 50 --for 2s -t 20s";
    let Some((connections, _)) = measured_apart(&work, &settings, "", Some(1.4), load) else { return };
    assert_eq!((connections.established, connections.failed_total()), (100, 0));
    let near = |at_s: f64, ns: u64| (at_s - 0.05..at_s + 0.3).contains(&(ns as f64 / 1e9));
    let (mut after_1s, mut after_3s) = (0, 0);
    for bucket in connections.connect.buckets().filter(|bucket| bucket.from_ns > 200_000_000) {
        match bucket.from_ns {
            ns if near(1.0, ns) => after_1s += bucket.count,
            ns if near(3.0, ns) => after_3s += bucket.count,
            // A retransmitted SYN may find the queue full again.
            ns => assert!(near(7.0, ns) || near(15.0, ns), "a connect time of {ns} ns"),
        }
    }
    assert!(after_1s >= 20 && after_3s >= 5, "{after_1s} after 1 s, {after_3s} after 3 s");
    // Those in the queue were connected, and waited for the server.
    assert!(count_above(&connections.query, 200_000_000) <= 3, "{:?}", connections.query.exact());
    let digest = work.record("run");
    assert!(count_above(&digest.tally().response, 900_000_000) >= after_1s + after_3s);
}

#[test]
fn the_first_query_is_sent_with_the_syn_where_both_ends_allow_it() {
    let work = Workplace::new();
    // 1: as client, 2: as server, 0x400: for every listener.
    let settings = [("ipv4/tcp_fastopen", "1027")];
    let load = "--queries-per-connection 1 --count 200 --outstanding 1 --fast-open";
    let Some((connections, _)) = measured_apart(&work, &settings, "", None, load) else { return };
    assert_eq!(work.record("run").tally().ends.answered, 200);
    assert_eq!((connections.established, connections.connect.count()), (200, 200));
    let netstat = work.read("netstat");
    // Each worker's first connection, or both, had to ask for the cookie.
    for counter in ["TCPFastOpenActive", "TCPFastOpenPassive"] {
        let count = kernel_count(&netstat, counter);
        assert!((190..=200).contains(&count), "{counter} {count}");
    }
}

#[test]
fn a_closed_loop_limits_its_connection_attempts_to_a_closed_port() {
    let work = Workplace::new();
    let words = format!("run -s {} --ask www.example --transport tcp --for 1s --quiet -o run", closed_port());
    let ran = work.dnsdyno(&format!("{words} --outstanding 10 --workers 1")).completes();
    let ends = work.record("run").tally().ends;
    // Ten at a time, at most once per millisecond.
    assert!(ends.refused >= 10 && ends.refused <= 11_000, "{ends:?}");
    assert!(ran.took < Duration::from_secs(20));
}

/// A counter of `/proc/net/netstat`, where a line of names precedes each line of values.
fn kernel_count(netstat: &str, name: &str) -> u64 {
    let lines: Vec<_> = netstat.lines().collect();
    let found = lines.windows(2).find_map(|pair| {
        let place = pair[0].split(' ').position(|word| word == name)?;
        pair[1].split(' ').nth(place)?.parse().ok()
    });
    found.unwrap_or_else(|| panic!("no {name}"))
}

fn count_above(histogram: &Histogram, bound_ns: u64) -> u64 {
    histogram.buckets().filter(|bucket| bucket.from_ns >= bound_ns).map(|bucket| bucket.count).sum()
}

#[test]
fn the_buffers_that_are_asked_for_are_those_of_the_sockets() {
    if !has_program("ss") {
        return;
    }
    let work = Workplace::new();
    let server = responder(Faults::default());
    let load = "--rate 200 --for 20s --clients 2 --receive-buffer 77k --send-buffer 99k --quiet";
    let mut run = work.start(&format!("run -s {} --ask www.example {load}", server.address()));
    // The kernel doubles what it is asked for, for its own use.
    let expected = [77 * 1024 * 2, 99 * 1024 * 2].map(|octets| octets.to_string());
    let of_server = format!("dport = :{}", server.address().port());
    run.until("two sockets with these buffers", || {
        let listed = work.shell(&format!("ss -H -u -a -n -m '{of_server}'")).stdout;
        listed.matches(&format!("rb{},", expected[0])).count() == 2
            && listed.matches(&format!("tb{},", expected[1])).count() == 2
    });
    run.signal(Signal::INT);
    run.wait().gives(130);
}

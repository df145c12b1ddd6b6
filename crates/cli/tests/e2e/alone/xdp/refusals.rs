//! Obstacles to AF_XDP are reported before anything is sent, and nothing is left behind.

use std::net::UdpSocket;

use dnsdyno_responder::Faults;
use rustix::process::Signal;

use super::{nothing_is_left, respond, run, start, veth_pair};
use crate::support::has_program;

#[test]
fn flags_that_cannot_be_combined_are_bad_input() {
    let work = crate::support::Workplace::new();
    let refused = |words: &str, said: &[&str]| {
        work.dnsdyno(&format!("run -s 127.0.0.1 --ask www.example {words}")).ends_refused(2, said);
    };
    refused("--interface eth0", &["--interface is for AF_XDP", "--backend xdp"]);
    refused("--backend sockets --vlan 7", &["--vlan is for AF_XDP"]);
    refused("--xdp-mode generic", &["--xdp-mode is for AF_XDP"]);
    refused("--backend auto --next-hop 2:0:0:0:0:1", &["--next-hop", "--backend xdp"]);
    refused("--backend fast", &["`fast` is not a backend", "auto"]);
    refused("--backend xdp --next-hop 3:0:0:0:0:1", &["--next-hop", "one host"]);
    refused("--backend xdp --vlan 4095", &["--vlan 4095 is out of range"]);
    refused("--backend xdp --source-prefix 10.0.0.0/40", &["--source-prefix", "is not a prefix"]);
    refused("--backend xdp --xdp-copy some", &["--xdp-copy", "zero-copy"]);
    let both = "--backend xdp --local-address 127.0.0.1 --source-prefix 127.0.0.0/24";
    refused(both, &["--local-address and --source-prefix", "remove one"]);
    refused("--backend xdp --source-prefix fd00::/64", &["no IPv6 address"]);
}

#[test]
fn each_obstacle_on_the_host_is_reported_with_advice() {
    let Some((work, pair)) = veth_pair(1) else { return };
    let far = pair.far().ipv4;
    let refused = |words: &str, said: &[&str]| {
        run(&work, &pair, &format!("--backend xdp --count 10 {words}")).ends_refused(3, said);
        assert!(!work.has("run"), "a run that failed to start has no record");
        nothing_is_left(&pair);
    };
    refused("-s 10.77.0.99", &["no neighbour", "10.77.0.99", "--next-hop"]);
    refused("-s 203.0.113.9", &["no route to 203.0.113.9"]);
    refused("-s 10.77.0.1", &["on this host", "--backend sockets"]);
    refused("-s 127.0.0.1", &["on this host", "--backend sockets"]);
    refused(&format!("-s {far} --interface eth9"), &["no interface eth9", "ip link"]);
    refused(
        &format!("-s {far} --local-address 10.77.0.9"),
        &["10.77.0.9", "not an address of near", "--source-prefix"],
    );
    refused(
        &format!("-s {far} --workers 2 --outstanding 10"),
        &["2 workers", "--workers 1", "ethtool -L near"],
    );
    refused(
        &format!("-s {far} --clients 11 --source-prefix 10.77.0.250/24 --local-ports 20000"),
        &["11 clients", "there are 6"],
    );
    refused(&format!("-s {far} --xdp-copy zero-copy"), &["does not support zero copy", "--xdp-copy auto"]);
    pair.near().ip(&["link", "set", "near", "down"]).unwrap();
    refused(&format!("-s {far} --interface near"), &["near is down", "ip link set near up"]);
}

#[test]
fn a_query_that_is_longer_than_a_packet_is_refused() {
    let Some((work, pair)) = veth_pair(1) else { return };
    pair.near().ip(&["link", "set", "near", "mtu", "100"]).unwrap();
    let label = "a".repeat(60);
    let words = format!("run -s {} --ask {label}.{label}.example --backend xdp -o run", pair.far().ipv4);
    work.start_in(pair.near(), &words)
        .wait()
        .ends_refused(3, &["the longest query", "the MTU of near is 100", "mtu"]);
    nothing_is_left(&pair);
}

#[test]
fn missing_privileges_are_reported_with_advice() {
    let Some((work, pair)) = veth_pair(1) else { return };
    if !has_program("setpriv") {
        return;
    }
    // In a folder that every user may enter; the program must be in one too, or the test is skipped.
    let script = format!(
        "cp \"$0\" /tmp/dnsdyno-unprivileged-$$ && chmod 755 /tmp/dnsdyno-unprivileged-$$; \
         ip netns exec {} setpriv --reuid=65534 --clear-groups /tmp/dnsdyno-unprivileged-$$ \
         run --no-check -s {} --ask www.example --backend xdp -o run; code=$?; \
         rm /tmp/dnsdyno-unprivileged-$$; exit $code",
        pair.near().name(),
        pair.far().ipv4
    );
    work.shell(&script)
        .ends_refused(3, &["AF_XDP needs privilege", "run as root", "CAP_NET_ADMIN", "--backend sockets"]);
    nothing_is_left(&pair);
}

#[test]
fn a_second_run_on_an_interface_is_refused_and_the_first_continues() {
    let Some((work, pair)) = veth_pair(1) else { return };
    let server = respond(&pair, pair.far().ipv4.into(), Faults::default());
    let words = |name: &str| {
        format!(
            "run -s {} --ask www.example --backend xdp --rate 500 --interval 100ms --for 50s --quiet -o {name}",
            server.address()
        )
    };
    let mut first = work.start_in(pair.near(), &words("first"));
    first.until("three intervals settle", || work.intervals("first").len() >= 3);
    for ports in ["", " --local-ports 20000..20255"] {
        let second = work.start_in(pair.near(), &format!("{}{ports}", words("second")));
        second.wait().ends_refused(3, &["another XDP program is attached to near", "another run?"]);
    }
    let before = work.intervals("first").len();
    first.until("it goes on", || work.intervals("first").len() >= before + 3);
    first.signal(Signal::INT);
    first.wait().gives(130);
    let ends = work.record("first").tally().ends;
    assert_eq!(
        (ends.timed_out, ends.not_sent.total(), ends.answered),
        (0, 0, server.stop().udp.counts.answered)
    );
    nothing_is_left(&pair);
}

#[test]
fn a_port_of_another_program_is_not_used() {
    let Some((work, pair)) = veth_pair(1) else { return };
    let server = respond(&pair, pair.far().ipv4.into(), Faults::default());
    let other =
        pair.near().enter(|| UdpSocket::bind((pair.near().ipv4, super::FIRST_PORT + 5)).unwrap()).unwrap();
    let words = format!("-s {} --backend xdp --count 100", server.address());
    run(&work, &pair, &format!("{words} --local-ports 20000..20255"))
        .ends_refused(3, &["10.77.0.1:20005", "cannot reserve", "--local-ports"]);
    run(&work, &pair, &words).gives(0);
    let digest = work.record("run");
    assert_eq!(digest.tally().ends.answered, 100);
    assert!(digest.header.backend.xdp.unwrap().first_port > super::FIRST_PORT + 5);
    drop(other);

    // During a run no other program can bind one of its ports.
    let mut first = work.start_in(
        pair.near(),
        &format!(
            "run --ask www.example -s {} --backend xdp --rate 100 --interval 100ms --for 50s --quiet -o held",
            server.address()
        ),
    );
    first.until("an interval settles", || !work.intervals("held").is_empty());
    let taken = pair.near().enter(|| UdpSocket::bind((pair.near().ipv4, super::FIRST_PORT))).unwrap();
    assert_eq!(taken.unwrap_err().kind(), std::io::ErrorKind::AddrInUse);
    first.signal(Signal::INT);
    first.wait().gives(130);
    nothing_is_left(&pair);
}

#[test]
fn a_port_in_use_is_reported_to_a_run_without_a_server() {
    let Some((work, pair)) = veth_pair(1) else { return };
    let _other = pair.near().enter(|| UdpSocket::bind(("0.0.0.0", 30_000)).unwrap()).unwrap();
    let words = format!("-s {} --backend xdp --count 1 --clients 1 --local-ports 30000", pair.far().ipv4);
    start(&work, &pair, &words).wait().ends_refused(3, &["10.77.0.1:30000"]);
    nothing_is_left(&pair);
}

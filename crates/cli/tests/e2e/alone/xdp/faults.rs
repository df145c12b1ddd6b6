//! Changes of the interface during a run: the run ends in time, and the record says what happened.

use std::time::Duration;

use dnsdyno_measure::NotSentReason;
use dnsdyno_record::Ended;
use dnsdyno_responder::{Delay, Faults};
use rustix::process::Signal;

use super::{nothing_is_left, respond, respond_at_length, run, start, veth_pair};
use crate::support::has_program;

#[test]
fn ctrl_c_waits_for_outstanding_queries_and_leaves_nothing_behind() {
    let Some((work, pair)) = veth_pair(1) else { return };
    let faults = Faults { delay: Some(Delay::Fixed(Duration::from_millis(300))), ..Faults::default() };
    let server = respond(&pair, pair.far().ipv4.into(), faults);
    let words = format!("-s {} --backend xdp --rate 500 --for 50s --interval 100ms", server.address());
    let mut asking = start(&work, &pair, &words);
    asking.until("an interval settles", || !work.intervals("run").is_empty());
    asking.signal(Signal::INT);
    asking.wait().gives(130);
    let digest = work.record("run");
    let ends = digest.tally().ends;
    assert_eq!(digest.ended(), Some(&Ended::Interrupted));
    assert_eq!((ends.answered + ends.interrupted, ends.timed_out), (digest.tally().scheduled, 0), "{ends:?}");
    assert_eq!(ends.answered, server.stop().udp.counts.answered);
    nothing_is_left(&pair);
}

#[test]
fn a_killed_run_leaves_no_program_and_no_port_behind() {
    let Some((work, pair)) = veth_pair(1) else { return };
    let server = respond(&pair, pair.far().ipv4.into(), Faults::default());
    let words = format!("-s {} --backend xdp --rate 500 --for 50s --interval 100ms", server.address());
    let mut asking = start(&work, &pair, &words);
    asking.until("three intervals settle", || work.intervals("run").len() >= 3);
    let link = pair.near().ip(&["-d", "link", "show", "near"]).unwrap();
    assert!(link.contains("xdp"), "{link}");
    asking.signal(Signal::KILL);
    asking.wait().dies_of(Signal::KILL);
    nothing_is_left(&pair);
    // The next run works.
    let words =
        format!("run -s {} --ask www.example --backend xdp --count 100 --quiet -o next", server.address());
    work.start_in(pair.near(), &words).wait().gives(0);
    assert_eq!(work.record("next").tally().ends.answered, 100);
}

#[test]
fn an_interface_that_goes_down_is_reported_and_the_run_ends_in_time() {
    let Some((work, pair)) = veth_pair(1) else { return };
    let server = respond(&pair, pair.far().ipv4.into(), Faults::default());
    let words =
        format!("-s {} --backend xdp --rate 1k --for 3s --interval 100ms --timeout 500ms", server.address());
    let mut asking = start(&work, &pair, &words);
    asking.until("three intervals settle", || work.intervals("run").len() >= 3);
    pair.near().ip(&["link", "set", "near", "down"]).unwrap();
    let ran = asking.wait().gives(0);
    assert!(ran.took < Duration::from_secs(10), "{:?}", ran.took);
    let digest = work.record("run");
    let ends = digest.tally().ends;
    assert_eq!((digest.tally().scheduled, ends.total()), (3_000, 3_000));
    assert!(ends.answered > 100 && ends.not_sent.of(NotSentReason::NoRoute) > 500, "{ends:?}");
    assert!(digest.events.iter().any(|event| event.kind == "link"), "{:?}", digest.events);
    assert!(digest.warnings().iter().any(|warning| warning.name() == "sends_missing"));
    let said = ran.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("near went down"), "{said}");
    nothing_is_left(&pair);
}

#[test]
fn a_change_of_queues_is_reported_and_the_run_ends_in_time() {
    if !has_program("ethtool") {
        return;
    }
    let Some((work, pair)) = veth_pair(2) else { return };
    let channels = |count: &str| {
        let arguments =
            ["netns", "exec", pair.near().name(), "ethtool", "-L", "near", "rx", count, "tx", count];
        let done = std::process::Command::new("ip").args(arguments).output().unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    };
    channels("1");
    let server = respond(&pair, pair.far().ipv4.into(), Faults::default());
    let words =
        format!("-s {} --backend xdp --rate 1k --for 3s --interval 100ms --timeout 500ms", server.address());
    let mut asking = start(&work, &pair, &words);
    asking.until("three intervals settle", || work.intervals("run").len() >= 3);
    channels("2");
    let ran = asking.wait().gives(0);
    assert!(ran.took < Duration::from_secs(10), "{:?}", ran.took);
    let digest = work.record("run");
    assert_eq!((digest.tally().scheduled, digest.tally().ends.total()), (3_000, 3_000));
    let told = digest.events.iter().find(|event| event.kind == "queues").expect("an event");
    assert!(
        told.message.contains("now has 2 queues") && told.message.contains("sockets on 1"),
        "{}",
        told.message
    );
    nothing_is_left(&pair);
}

#[test]
fn responses_larger_than_a_packet_are_counted_as_fragments_and_not_as_loss_of_the_server() {
    let Some((work, pair)) = veth_pair(1) else { return };
    let server = respond_at_length(&pair, 1_200);
    pair.far().ip(&["link", "set", "far", "mtu", "700"]).unwrap();
    let words =
        format!("-s {} --backend xdp --edns-size 1400 --rate 500 --for 1s --timeout 300ms", server.address());
    let ran = run(&work, &pair, &words).completes();
    let digest = work.record("run");
    assert_eq!((digest.tally().ends.timed_out, server.stop().udp.counts.answered), (500, 500));
    // Two for each response.
    assert_eq!(digest.sum.as_ref().unwrap().evidence.fragments, 1_000);
    assert!(digest.warnings().iter().any(|warning| warning.name() == "answers_in_fragments"));
    let said = ran.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("AF_XDP does not reassemble the 1,000 IP fragments that arrived"), "{said}");
    assert!(said.contains("not the server's limit"), "{said}");
}

#[test]
fn a_flood_that_does_not_reach_the_interface_gives_a_warning() {
    let Some((work, pair)) = veth_pair(1) else { return };
    let vanished = |folder: &str| {
        let names: Vec<_> = work.record(folder).warnings().iter().map(|warning| warning.name()).collect();
        names.contains(&"sends_vanished")
    };
    // No host has this address: the kernel accepts the queries, and its ARP request gets no reply.
    let ran = run(&work, &pair, "-s 10.77.0.77 --send-only --for 1s").gives(0);
    assert!(ran.stdout.contains("sends vanished"), "{}", ran.stdout);
    assert!(vanished("run"));
    let there = "run -s 10.77.0.2 --ask www.example --send-only --for 1s --quiet -o there";
    work.start_in(pair.near(), there).wait().gives(0);
    assert!(!vanished("there"));
}

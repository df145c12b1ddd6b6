//! Figures over AF_XDP compared with those of the other end.

use std::net::IpAddr;
use std::time::Duration;

use dnsdyno_lab::{Need, VethPair, require, within_tries};
use dnsdyno_measure::Quantile;
use dnsdyno_responder::{Delay, Faults, Share};
use dnsdyno_sys::interface::Interface;
use dnsdyno_sys::thread::allowed_cpus;
use dnsdyno_sys::xdp::{Attach, Discard, Reflect};

use super::{nothing_is_left, respond, run, veth_pair};
use crate::alone::truth::TRIES;
use crate::support::Workplace;

#[test]
fn each_counter_agrees_with_the_responder_over_both_families() {
    let Some((work, pair)) = veth_pair(1) else { return };
    let percent = Share::new(0.01).unwrap();
    let faults = Faults {
        loss: percent,
        duplicate: percent,
        wrong_id: percent,
        wrong_question: percent,
        garbage: percent,
        seed: 42,
        ..Faults::default()
    };
    for (address, mode) in [(IpAddr::from(pair.far().ipv4), "native"), (pair.far().ipv6.into(), "auto")] {
        let server = respond(&pair, address, faults.clone());
        let words = format!(
            "-s {} --backend xdp --xdp-mode {mode} --rate 5k --for 2s --timeout 500ms -o {mode}",
            server.address()
        );
        let words = format!("run --ask www.example --ask mail.example/AAAA --quiet {words}");
        work.start_in(pair.near(), &words).wait().gives(0);
        let digest = work.record(mode);
        let (ends, anomalies, did) =
            (digest.tally().ends, digest.arrivals().anomalies, server.stop().udp.counts);
        assert!([did.dropped, did.duplicated, did.wrong_ids, did.garbage].iter().all(|n| *n > 50), "{did:?}");
        assert_eq!((ends.total(), did.received, digest.tally().scheduled), (10_000, 10_000, 10_000));
        assert_eq!(anomalies.duplicates, did.duplicated, "duplicates");
        assert_eq!(anomalies.unexpected, did.wrong_ids, "unexpected IDs");
        assert_eq!(anomalies.wrong_question, did.wrong_questions, "wrong questions");
        assert_eq!(anomalies.malformed, did.garbage, "malformed");
        let lost = did.dropped + did.wrong_ids + did.wrong_questions + did.garbage;
        assert_eq!((ends.timed_out, ends.answered), (lost, 10_000 - lost));
        let xdp = digest.header.backend.xdp.clone().unwrap();
        assert_eq!((xdp.interface.as_str(), xdp.mode.as_str()), ("near", "native"));
        assert_eq!(digest.sum.unwrap().evidence.fragments, 0);
        nothing_is_left(&pair);
    }
}

#[test]
fn generic_mode_receives_the_same_responses() {
    let Some((work, pair)) = veth_pair(1) else { return };
    let server = respond(&pair, pair.far().ipv4.into(), Faults::default());
    let words = format!(
        "-s {} --backend xdp --xdp-mode generic --xdp-copy copy --outstanding 1 --count 2k",
        server.address()
    );
    run(&work, &pair, &words).gives(0);
    let digest = work.record("run");
    assert_eq!((digest.tally().ends.answered, server.stop().udp.counts.answered), (2_000, 2_000));
    assert_eq!(digest.header.backend.xdp.unwrap().mode, "generic");
    nothing_is_left(&pair);
}

#[test]
fn service_times_agree_with_the_delays_of_the_responder() {
    let Some((work, pair)) = veth_pair(1) else { return };
    let ms = Duration::from_millis;
    let delay = Some(Delay::Uniform { from: ms(20), to: ms(60) });
    within_tries(TRIES, "hold times over AF_XDP", |number| {
        let server = respond(&pair, pair.far().ipv4.into(), Faults { delay, seed: 7, ..Faults::default() });
        let words = format!("-s {} --backend xdp --rate 2k --for 3s -o run-{number}", server.address());
        let ran = work.start_in(pair.near(), &format!("run --ask www.example --quiet {words}"));
        ran.wait().gives(0);
        let (digest, book) = (work.record(&format!("run-{number}")), server.stop());
        assert_eq!((digest.tally().ends.answered, book.udp.counts.answered), (6_000, 6_000));
        let wrong = [0.5, 0.9, 0.99].into_iter().find_map(|q| {
            let Some(Quantile::At(measured)) = digest.tally().service_latency().quantile(q) else {
                return Some(format!("no quantile {q}"));
            };
            let truth = book.udp.hold_ns(q).unwrap();
            let is_close = measured.abs_diff(truth) as f64 <= truth as f64 * 0.03;
            (!is_close).then(|| format!("p{}: measured {measured} ns, true {truth} ns", q * 100.0))
        });
        wrong.map_or(Ok(()), Err)
    });
}

#[test]
fn two_workers_on_two_queues_lose_no_query() {
    if allowed_cpus().unwrap().len() < 2 {
        println!("skipped: with one CPU veth uses one queue");
        return;
    }
    let Some((work, pair)) = veth_pair(2) else { return };
    let server = respond(&pair, pair.far().ipv4.into(), Faults::default());
    let words =
        format!("-s {} --backend xdp --workers 2 --outstanding 64 --count 40k --verbose", server.address());
    let ran = run(&work, &pair, &words).gives(0);
    let digest = work.record("run");
    assert_eq!((digest.tally().ends.answered, server.stop().udp.counts.answered), (40_000, 40_000));
    assert_eq!((digest.header.workers, digest.header.clients), (2, 256));
    let each: Vec<u64> = digest.workers().iter().map(|one| one.answered).collect();
    assert!(each.iter().all(|answered| *answered > 1_000) && each.iter().sum::<u64>() == 40_000, "{each:?}");
    assert!(ran.stdout.contains("CPU wait"), "{}", ran.stdout);
}

#[test]
fn tagged_queries_from_a_prefix_are_answered() {
    let Some((work, pair)) = veth_pair(1) else { return };
    let far = pair.far().enter(|| {
        let far = Interface::named("far").unwrap();
        (far.mac().unwrap(), Reflect::attach(&far, Attach::Native, 53).unwrap())
    });
    let (mac, _reflect) = far.unwrap();
    let mac = mac.map(|byte| format!("{byte:02x}")).join(":");
    let words = format!(
        "-s {} --backend xdp --interface near --vlan 7 --next-hop {mac} --source-prefix 10.99.0.200/24 \
         --clients 112 --rate 5k --for 1s",
        pair.far().ipv4
    );
    run(&work, &pair, &words).gives(0);
    let digest = work.record("run");
    assert_eq!(digest.tally().ends.answered, 5_000);
    let xdp = digest.header.backend.xdp.unwrap();
    // 56 addresses up to the end of the prefix, so two ports each.
    assert_eq!((xdp.vlan, xdp.next_hop, xdp.source), (Some(7), mac, "10.99.0.200".parse().unwrap()));
    assert_eq!(xdp.last_port - xdp.first_port, 1);
}

#[test]
fn the_sent_count_of_a_flood_agrees_with_the_interface() {
    let Some((work, pair)) = veth_pair(1) else { return };
    flood(&work, &pair, false);
    // With a program there, the other end receives what is injected.
    let far = || Discard::attach(&Interface::named("far").unwrap(), Attach::Native, 53).unwrap();
    let _discard = pair.far().enter(far).unwrap();
    let before = packets(&pair);
    let sent = flood(&work, &pair, true);
    let by_others = (packets(&pair) - before).checked_sub(sent);
    assert!(by_others.is_some_and(|others| others < 100), "{sent} sent, {before} before, {}", packets(&pair));
}

/// Packets that the far end has received.
fn packets(pair: &VethPair) -> u64 {
    let counts = pair.far().ip(&["-s", "-j", "link", "show", "far"]).unwrap();
    let counts: serde_json::Value = serde_json::from_str(&counts).unwrap();
    counts[0]["stats64"]["rx"]["packets"].as_u64().unwrap()
}

/// Floods the far end and compares the counts. Returns how many queries were sent.
fn flood(work: &Workplace, pair: &VethPair, injects: bool) -> u64 {
    // More than a test host can send, so that much of it is attempted and not sent.
    let name = if injects { "injected" } else { "through-the-stack" };
    let words = format!(
        "run -s {} --ask www.example --ask mail.example/AAAA --quiet --backend xdp --send-only --rate 20M --for 500ms \
         --timeout 100ms --interval 100ms -o {name}",
        pair.far().ipv4
    );
    let ran = work.start_in(pair.near(), &words).wait().gives(0);
    let digest = work.record(name);
    assert_eq!(digest.header.backend.xdp.as_ref().unwrap().injects, injects);
    let (tally, sum) = (digest.tally(), digest.sum.as_ref().unwrap());
    assert_eq!(tally.scheduled, 10_000_000);
    assert_eq!(tally.ends.sent_only + tally.ends.not_sent.total(), tally.scheduled);
    assert!(tally.ends.not_sent.total() > 0 && tally.ends.sent_only == tally.requests);
    let counted = sum.interface.as_ref().unwrap();
    assert_eq!(counted.name, "near");
    // A few packets of the host itself may be among them.
    let by_others = counted.sent.checked_sub(tally.requests);
    assert!(
        by_others.is_some_and(|others| others < 100),
        "{} of {}: {counted:?}",
        tally.requests,
        tally.scheduled
    );
    assert!(ran.stdout.contains("the interface near counted"), "{}", ran.stdout);
    tally.requests
}

#[test]
fn auto_uses_af_xdp_where_available_and_otherwise_says_why_not() {
    let Some((work, pair)) = veth_pair(1) else { return };
    let server = respond(&pair, pair.far().ipv4.into(), Faults::default());
    let words =
        |name: &str, server| format!("-s {server} --backend auto --count 100 --name {name} --timeout 200ms");
    run(&work, &pair, &words("taken", server.address())).gives(0);
    let taken = work.record("run");
    assert!(taken.header.backend.xdp.is_some() && taken.header.backend.why.is_some());
    assert_eq!(taken.tally().ends.answered, 100);
    // The recorded plan names the chosen backend.
    assert!(work.read("run/plan.toml").contains("backend = \"xdp\""));
    if require(&[Need::Root]) {
        let here = crate::support::responder(Faults::default());
        let words = format!("run --ask www.example --quiet -o here {}", words("here", here.address()));
        let ran = work.dnsdyno(&words).gives(0).says(&["sockets, because AF_XDP is not available"]);
        let digest = work.record("here");
        let why = digest.header.backend.why.as_deref().unwrap_or_default();
        assert!(digest.header.backend.xdp.is_none() && why.contains("on this host"), "{why}");
        assert!(ran.stdout.contains("sockets, because"), "{}", ran.stdout);
        assert!(work.read("here/plan.toml").contains("backend = \"sockets\""));
    }
}

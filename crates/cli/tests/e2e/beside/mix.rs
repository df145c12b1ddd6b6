//! Several transports in one run by weight.

use dnsdyno_measure::{MemberTally, NotSentReason};
use dnsdyno_record::{Digest, MemberInfo};
use dnsdyno_responder::{Book, Config, Faults, Responder, Rule, Running, Share, Transport};
use serde_json::Value;

use crate::support::{Workplace, responder};

fn measured(work: &Workplace, server: Running, load: &str) -> (Digest, Book) {
    let words = format!(
        "run -s {} --ask www.example --ask mail.example/AAAA {load} --quiet -o run",
        server.address()
    );
    work.dnsdyno(&words).gives(0);
    (work.record("run"), server.stop())
}

/// Each transport of the mix with its tally, after checking that it adds up.
#[track_caller]
fn members(digest: &Digest) -> Vec<(&MemberInfo, &MemberTally)> {
    let tally = digest.tally();
    assert_eq!(digest.header.mix.len(), tally.members.len());
    let sum = |of: fn(&MemberTally) -> u64| tally.members.iter().map(of).sum::<u64>();
    assert_eq!(sum(|member| member.scheduled), tally.scheduled);
    assert_eq!(sum(|member| member.ends.total()), tally.ends.total());
    assert_eq!(sum(|member| member.ends.answered), tally.ends.answered);
    assert_eq!(sum(|member| member.sent), tally.types.iter().map(|count| count.sent).sum::<u64>());
    digest.header.mix.iter().zip(&tally.members).collect()
}

#[test]
fn shares_are_exact_in_each_second_at_any_rate_and_the_responder_counts_the_same() {
    for (load, seconds) in
        [("--rate 40 --for 3s", 3), ("--rate 3k --for 3s", 3), ("--outstanding 30 --for 2s", 2)]
    {
        let work = Workplace::new();
        let (digest, book) =
            measured(&work, responder(Faults::default()), &format!("--mix udp=60,tcp=40 --clients 4 {load}"));
        let tally = digest.tally();
        assert_eq!(tally.ends.answered, tally.scheduled, "{load}: {:?}", tally.ends);
        let [(udp, of_udp), (tcp, of_tcp)] = members(&digest)[..] else { panic!("two members") };
        assert_eq!((udp.transport.as_str(), udp.share), ("udp", 0.6));
        assert_eq!((tcp.transport.as_str(), tcp.share), ("tcp", 0.4));
        assert_eq!((of_udp.sent, of_tcp.sent), (book.udp.counts.received, book.tcp.counts.received));
        assert_eq!(book.tcp.connections.accepted, 4);
        let full: Vec<_> = work.intervals("run").into_iter().take(seconds).collect();
        assert_eq!(full.len(), seconds);
        for interval in full {
            let (all, udp) = (interval.tally.scheduled as f64, interval.tally.members[0].scheduled as f64);
            // Two workers, and a query or two of each at both ends of the second.
            assert!((udp - 0.6 * all).abs() <= 6.0, "{load}: {udp} of {all} over UDP");
        }
    }
}

#[test]
fn only_the_member_with_fallback_retries_over_tcp() {
    let work = Workplace::new();
    let server =
        Responder::start(Config { rule: Rule::Truncate(Box::default()), ..Config::default() }).unwrap();
    let (digest, book) =
        measured(&work, server, "--mix udp=50,udp+tcp=25,tcp=25 --rate 1k --for 2s --clients 40 --workers 1");
    assert_eq!(digest.tally().ends.answered, 2_000, "{:?}", digest.tally().ends);
    let [(_, udp), (_, both), (_, tcp)] = members(&digest)[..] else { panic!("three members") };
    assert!(udp.sent.abs_diff(1_000) <= 3 && both.sent.abs_diff(500) <= 3 && tcp.sent.abs_diff(500) <= 3);
    let fallback = digest.tally().fallback.as_deref().unwrap();
    assert_eq!(
        (fallback.udp_requests, fallback.started, fallback.answered),
        (both.sent, both.sent, both.sent)
    );
    assert_eq!(book.udp.counts.truncated, udp.sent + both.sent);
    assert_eq!(book.tcp.counts.answered, both.sent + tcp.sent);
    // Kept connections for queries over TCP, a new one for each retry.
    let established = digest.arrivals().connections.as_deref().unwrap().established;
    assert!((both.sent..=both.sent + 20).contains(&established), "{established}");
    assert!(both.service.mean_ns() > udp.service.mean_ns());
}

#[test]
fn every_transport_can_be_in_a_mix_with_its_own_port() {
    let work = Workplace::new();
    let any = || vec!["127.0.0.1:0".parse().unwrap()];
    let config = Config { dot: any(), doh: any(), doq: any(), doh3: any(), ..Config::default() };
    let server = Responder::start(config).unwrap_or_else(|error| panic!("{error}"));
    let port = |transport| server.addresses_of(transport)[0].port();
    let [dot, doh, doq, doh3] = [Transport::Dot, Transport::Doh, Transport::Doq, Transport::Doh3].map(port);
    let load = format!(
        "--mix udp=30,tcp=20,dot@{dot}=20,doh@{doh}=10,doq@{doq}=10,doh3@{doh3}=10 --insecure --rate 1k --for 2s \
         --clients 12"
    );
    let (digest, book) = measured(&work, server, &load);
    assert_eq!(digest.tally().ends.answered, 2_000, "{:?}", digest.tally().ends);
    let members = members(&digest);
    let sides = [&book.udp, &book.tcp, &book.dot, &book.doh, &book.doq, &book.doh3];
    for (((info, member), side), share) in members.iter().zip(sides).zip([0.3, 0.2, 0.2, 0.1, 0.1, 0.1]) {
        let wanted = 2_000.0 * share;
        assert!((member.sent as f64 - wanted).abs() <= 4.0, "{}: {} sent", info.transport, member.sent);
        assert_eq!(member.sent, side.counts.answered, "{}", info.transport);
    }
    assert_eq!(members[2].0.address.port(), dot);
    let connections = digest.arrivals().connections.as_deref().unwrap();
    assert_eq!(connections.opened, connections.established + connections.failed_total());
    assert!(connections.encrypted.as_ref().is_some_and(|encrypted| encrypted.done_total() > 0));
}

#[test]
fn a_stalled_transport_does_not_change_the_load_of_the_others() {
    let work = Workplace::new();
    let faults = Faults { silent: Share::new(1.0).unwrap(), ..Faults::default() };
    let (digest, book) = measured(
        &work,
        responder(faults),
        "--mix udp=50,tcp=50 --queries-per-connection 1 --clients 10 --rate 1k --for 2s --timeout 500ms",
    );
    let [(_, udp), (_, tcp)] = members(&digest)[..] else { panic!("two members") };
    assert_eq!((udp.ends.answered, udp.scheduled), (book.udp.counts.received, book.udp.counts.received));
    assert!(udp.scheduled.abs_diff(1_000) <= 4 && tcp.ends.answered == 0, "{tcp:?}");
    assert!(tcp.ends.not_sent.of(NotSentReason::NoFreeConnection) > 0, "{:?}", tcp.ends);
    let second = work.intervals("run");
    assert!(second[1].tally.members[0].ends.answered.abs_diff(500) <= 4);
}

#[test]
fn the_summary_lists_the_transports_and_the_plan_gives_the_same_run() {
    let work = Workplace::new();
    let server = responder(Faults::default());
    let words = format!(
        "run -s {} --ask www.example --mix udp=3,tcp=1 --count 400 --workers 1 --quiet -o run",
        server.address()
    );
    let shown = work.dnsdyno(&words).gives(0).stdout;
    assert!(shown.contains("over udp, tcp") && shown.contains("75.00 %"), "{shown}");
    let json: Value = serde_json::from_str(&work.dnsdyno("show --json run").gives(0).stdout).unwrap();
    assert_eq!((&json["mix"][0]["transport"], &json["mix"][0]["share_asked"]), (&"udp".into(), &0.75.into()));
    let sent = json["mix"][0]["share_sent"].as_f64().unwrap();
    assert!((0.74..0.76).contains(&sent) && json["mix"][1]["response"]["p50"]["ns"].is_u64(), "{sent}");
    assert!(work.read("run/plan.toml").contains("udp=3,tcp=1"));
    work.dnsdyno("run --plan run/plan.toml --quiet -o again").gives(0);
    let (first, again) = (work.record("run"), work.record("again"));
    let scheduled =
        |digest: &Digest| members(digest).iter().map(|(_, member)| member.scheduled).collect::<Vec<_>>();
    assert_eq!(scheduled(&first), scheduled(&again));
}

#[test]
fn an_invalid_mix_is_refused() {
    let work = Workplace::new();
    let run = |words: &str| work.dnsdyno(&format!("run -s 127.0.0.1 --ask a --for 1s {words} -o none"));
    run("--mix udp").ends_refused(2, &["--mix udp", "udp=60,tcp=40"]);
    run("--mix udp=1,udp=1").ends_refused(2, &["twice"]);
    run("--mix udp=1,tcp=0").ends_refused(2, &["weight above 0"]);
    run("--mix udp=1,dot@0=1").ends_refused(2, &["not a port"]);
    run("--mix udp=1,tcp=1 --insecure").ends_refused(2, &["--insecure"]);
    run("--mix udp=1,tcp=1 --transport tcp").ends_refused(2, &["--transport and --mix"]);
    run("--mix udp=1,tcp=1 --send-only").ends_refused(2, &["--send-only"]);
}

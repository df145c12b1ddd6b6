//! What clients ask and in which order, and what they make of the responses.

mod common;

use common::clients as clients_of;
use common::{S, Server, clients, drive};
use dnsdyno_clients::{Clients, Ended, Outcome};
use dnsdyno_measure::{CachingClients, LookupStep, ProcedureKind};

const OPERATOR: &str = "epc.mnc010.mcc440.3gppnetwork.org";

fn tac(number: u8) -> String {
    format!("tac-lb{number:02x}.tac-hb00.tac.{OPERATOR}")
}

fn apn(name: &str) -> String {
    format!("{name}.apn.{OPERATOR}")
}

/// One client of one tracking area and one access point, at which one user does `what` after a second.
fn one_user(what: &str, rest: &str) -> Clients {
    let rates = if what == "attach" {
        r#""arrivals": {"attaches": 0, "handovers": 0},
           "events": [{"at_s": 1, "event": "mass", "tac": 1, "attaches": 1, "within_s": 0}]"#
    } else {
        r#""arrivals": {"attaches": 0, "handovers": 1}"#
    };
    clients(&format!(
        r#"{{"kind": "epc", "mcc": "440", "mnc": "010", "tacs": [1], "apns": ["net"], {rates}{rest}}}"#
    ))
}

/// The zone of the examples: the serving gateway by a host, the other gateways by two branches and SRV.
fn server() -> Server {
    let mut server = Server::default();
    server
        .add("zone.test", "SOA", 300, &["60"])
        .add(&tac(1), "NAPTR", 300, &["1 1 a x-3gpp-sgw:x-s5-gtp topon.s5.sgw1.tokyo.node"])
        .add(
            &apn("net"),
            "NAPTR",
            300,
            &[
                "1 1 - x-3gpp-pgw:x-s5-gtp west.test",
                "1 2 - x-3gpp-pgw:x-s5-gtp+nc-nr nr.test",
                "1 3 - x-3gpp-pgw:x-s5-gtp east.test",
            ],
        )
        .add("west.test", "NAPTR", 300, &["1 1 s x-3gpp-pgw:x-s5-gtp _pgw.west.test"])
        .add("east.test", "NAPTR", 300, &["1 1 s x-3gpp-pgw:x-s5-gtp _pgw.east.test"])
        .add("_pgw.west.test", "SRV", 300, &["1 1 topon.s5.pgw1.osaka.node"])
        .add("_pgw.east.test", "SRV", 300, &["1 1 topon.s5.pgw1.tokyo.node"])
        .add("topon.s5.sgw1.tokyo.node", "A", 300, &["-"])
        .add("topon.s5.sgw1.tokyo.node", "AAAA", 300, &["-"])
        .add("topon.s5.pgw1.tokyo.node", "A", 300, &["-"])
        .add("topon.s5.pgw1.osaka.node", "A", 300, &["-"]);
    server
}

/// Runs until an instant; returns what ended.
fn run(clients: &mut Clients, server: &mut Server, until_s: u64) -> Vec<Ended> {
    drive(clients, until_s * S, |_, question, message| *message = server.respond(question));
    clients.ended().collect()
}

#[test]
fn an_attach_asks_for_the_area_then_through_all_branches_then_for_the_pair() {
    let (mut clients, mut server) = (one_user("attach", ""), server());
    let ended = run(&mut clients, &mut server, 2);
    assert_eq!(
        server.asked,
        [
            format!("{} NAPTR", tac(1)),
            format!("{} NAPTR", apn("net")),
            "west.test NAPTR".to_owned(),
            "east.test NAPTR".to_owned(),
            "_pgw.west.test SRV".to_owned(),
            "_pgw.east.test SRV".to_owned(),
            "topon.s5.sgw1.tokyo.node A".to_owned(),
            "topon.s5.pgw1.tokyo.node A".to_owned(),
        ]
    );
    let [end] = ended[..] else { panic!("{ended:?}") };
    assert_eq!((end.kind, end.outcome, end.began_ns), (ProcedureKind::Attach, Outcome::Done, S));
    let counts = clients.counts();
    assert_eq!(LookupStep::ALL.map(|step| counts.asked_by_step.of(step)), [1, 1, 2, 2, 2, 0, 0]);
    assert_eq!(counts.asked.of(ProcedureKind::Attach), 8);
}

#[test]
fn a_handover_asks_for_the_serving_gateway_alone_and_for_both_addresses_where_asked() {
    let lookups = r#", "lookups": {"ipv6": true}"#;
    let (mut clients, mut server) = (one_user("handover", lookups), server());
    let ended = run(&mut clients, &mut server, 60);
    let gateway = "topon.s5.sgw1.tokyo.node";
    let expected = [format!("{} NAPTR", tac(1)), format!("{gateway} A"), format!("{gateway} AAAA")];
    assert_eq!(server.asked, expected, "after that all is in the cache");
    assert!(ended.len() > 20 && ended.iter().all(|end| end.outcome == Outcome::Done));
    assert_eq!(clients.counts().hits, 3 * (ended.len() as u64 - 1));
}

#[test]
fn what_the_additional_section_brings_is_not_asked_for() {
    let bring = |server: &mut Server| {
        server.bring((&tac(1), "NAPTR"), &[("topon.s5.sgw1.tokyo.node", "A")]);
    };
    for (count, entries) in [("names", 1), ("rrsets", 2)] {
        let cache = format!(r#", "cache": {{"count": "{count}"}}"#);
        let (mut clients, mut server) = (one_user("handover", &cache), server());
        bring(&mut server);
        run(&mut clients, &mut server, 60);
        assert_eq!(server.asked.len(), 1, "{count}: {:?}", server.asked);
        assert_eq!(clients.entries(), entries, "{count}");
    }
    let (mut clients, mut server) = (one_user("handover", r#", "lookups": {"additional": false}"#), server());
    bring(&mut server);
    run(&mut clients, &mut server, 60);
    assert_eq!(server.asked.len(), 2);
}

#[test]
fn a_capability_chooses_the_records_of_its_branch() {
    let (mut clients, mut server) = (one_user("attach", r#", "lookups": {"capability": "nr"}"#), server());
    server
        .add(
            &tac(1),
            "NAPTR",
            300,
            &[
                "1 1 a x-3gpp-sgw:x-s5-gtp+nc-nrs wrong.test",
                "2 1 a x-3gpp-sgw:x-s5-gtp+nc-nr.5gs right.test",
            ],
        )
        .add("nr.test", "NAPTR", 300, &["1 1 a x-3gpp-pgw:x-s5-gtp+nc-nr gw.test"])
        .add("right.test", "A", 300, &["-"])
        .add("gw.test", "A", 300, &["-"]);
    assert_eq!(run(&mut clients, &mut server, 2)[0].outcome, Outcome::Done);
    assert_eq!(server.asked[2..], ["nr.test NAPTR", "right.test A", "gw.test A"]);
}

#[test]
fn without_a_usable_record_a_procedure_fails_and_the_absence_is_cached() {
    let (mut clients, mut server) = (one_user("handover", ""), Server::default());
    server.add("zone.test", "SOA", 300, &["40"]);
    let ended = run(&mut clients, &mut server, 39);
    assert!(ended.len() > 10 && ended.iter().all(|end| end.outcome == Outcome::NotFound));
    assert_eq!(server.asked.len(), 1);
    run(&mut clients, &mut server, 60);
    assert_eq!((server.asked.len(), clients.counts().no_name), (2, 2), "after 40 s it is asked again");
}

#[test]
fn a_gateway_without_an_address_is_passed_over_for_the_next_one() {
    // A pair: the closest gateway of the packet network has no address, the one of the other branch has.
    let (mut clients, mut attached) = (one_user("attach", ""), server());
    attached.remove("topon.s5.pgw1.tokyo.node", "A");
    let ended = run(&mut clients, &mut attached, 10);
    assert_eq!(ended.iter().map(|end| end.outcome).collect::<Vec<_>>(), [Outcome::Done]);
    let last: Vec<_> = attached.asked.iter().rev().take(2).cloned().collect();
    assert_eq!(last, ["topon.s5.pgw1.osaka.node A", "topon.s5.pgw1.tokyo.node A"]);
    assert_eq!(clients.counts().passed_over, 1);

    // One of two addresses is enough; and where all gateways lack one, the procedure fails.
    let (mut clients, mut handed_over) = (one_user("handover", ""), server());
    handed_over.add(
        &tac(1),
        "NAPTR",
        300,
        &[
            "1 1 a x-3gpp-sgw:x-s5-gtp topon.s5.sgw8.tokyo.node",
            "1 2 a x-3gpp-sgw:x-s5-gtp topon.s5.sgw9.tokyo.node",
        ],
    );
    let ended = run(&mut clients, &mut handed_over, 10);
    assert!(!ended.is_empty() && ended.iter().all(|end| end.outcome == Outcome::NotFound));
    assert_eq!(clients.counts().passed_over, 2 * ended.len() as u64);
    assert_eq!(handed_over.asked.len(), 3, "absent addresses are cached: {:?}", handed_over.asked);
}

#[test]
fn loops_end_and_are_counted() {
    let next = |target: &str| format!("1 1 - x-3gpp-sgw:x-s5-gtp {target}");
    let (mut clients, mut server) = (one_user("handover", ""), Server::default());
    server
        .add(&tac(1), "NAPTR", 300, &[&next("b.test"), &next("c.test")])
        .add("b.test", "NAPTR", 300, &[&next("d.test")])
        .add("c.test", "NAPTR", 300, &[&next("d.test")])
        .add("d.test", "NAPTR", 300, &[&next(&tac(1)), &next("d.test")]);
    let ended = run(&mut clients, &mut server, 20);
    assert_eq!(ended[0].outcome, Outcome::NotFound);
    let counts = clients.counts();
    assert_eq!((server.asked.len(), counts.loops, counts.bounded), (4, 2 * ended.len() as u64, 0));
}

#[test]
fn chains_and_branches_are_bounded() {
    let (mut clients, mut server) = (one_user("handover", ""), Server::default());
    let name = |depth: u32| if depth == 0 { tac(1) } else { format!("n{depth}.test") };
    for depth in 0..20 {
        let next = format!("1 1 - x-3gpp-sgw:x-s5-gtp {}", name(depth + 1));
        server.add(&name(depth), "NAPTR", 300, &[&next]);
    }
    assert_eq!(run(&mut clients, &mut server, 1)[0].outcome, Outcome::NotFound);
    assert_eq!((server.asked.len(), clients.counts().bounded > 0), (9, true));

    let (mut clients, mut server) = (one_user("attach", ""), Server::default());
    let branches: Vec<String> =
        (0..1_500).map(|branch| format!("1 1 - x-3gpp-sgw:x-s5-gtp b{branch}.test")).collect();
    let branches: Vec<&str> = branches.iter().map(String::as_str).collect();
    server.add(&tac(1), "NAPTR", 300, &branches);
    run(&mut clients, &mut server, 1);
    assert_eq!((server.asked.len(), clients.counts().bounded), (1_024, 477));
}

#[test]
fn a_question_is_asked_after_3_6_and_12_seconds_and_then_given_up() {
    let mut clients = one_user("attach", "");
    let mut due = Vec::new();
    let mut ended = Vec::new();
    while let Some(now_ns) = clients.next_event_ns() {
        while let Some(ask) = clients.next_ask(now_ns) {
            clients.count_sent(&ask);
            assert_eq!((ask.due_ns, ask.step), (now_ns, LookupStep::TacNaptr));
            due.push((ask.due_ns / S, ask.wait_ns / S, ask.retry));
            clients.failed(ask.id);
        }
        ended.extend(clients.ended());
    }
    assert_eq!(due, [(1, 3, 0), (4, 6, 1), (10, 12, 2)]);
    let [end] = ended[..] else { panic!("{ended:?}") };
    assert_eq!((end.outcome, end.ended_ns / S), (Outcome::Unanswered, 22));
    let counts = clients.counts();
    assert_eq!((counts.given_up, counts.queries(), counts.asked_again.of(ProcedureKind::Attach)), (1, 3, 2));
}

#[test]
fn a_server_in_trouble_is_asked_again_by_the_same_timetable() {
    let (mut clients, mut server) = (one_user("attach", ""), server());
    server.refuse(2);
    assert_eq!(run(&mut clients, &mut server, 5), []);
    assert_eq!((server.asked.len(), clients.counts().refused), (2, 2));
    server.refuse(0);
    let ended = run(&mut clients, &mut server, 10);
    assert_eq!((ended[0].outcome, ended[0].ended_ns / S), (Outcome::Done, 10));
}

#[test]
fn a_response_to_any_query_answers_the_question_however_late_it_is() {
    // Asked at 1, 4 and 10 s; the response to the first comes at 5 s, that to the second is of no use then.
    let (mut clients, mut server) = (one_user("attach", ""), server());
    let first = clients.next_ask(S).unwrap();
    assert_eq!((clients.next_ask(4 * S - 1), clients.next_event_ns()), (None, Some(4 * S)));
    let second = clients.next_ask(4 * S).unwrap();
    assert_eq!((second.retry, second.due_ns, second.id != first.id), (1, 4 * S, true));
    assert_eq!(clients.question(first.id), clients.question(second.id));
    let message = server.respond(clients.question(first.id));
    clients.answered(first.id, 5 * S, &message);
    let next = clients.next_ask(5 * S).unwrap();
    assert_eq!((next.step, next.retry), (LookupStep::ApnNaptr, 0));
    clients.answered(second.id, 6 * S, &message);
    assert_eq!(clients.counts().answers, 1);
    // The timer of what was answered is gone.
    assert_eq!(clients.next_event_ns(), Some(8 * S));
    assert_eq!(clients.question(second.id), b"", "it has ended");
}

#[test]
fn users_who_need_other_gateways_are_a_part_and_share_the_cache() {
    let lookups = r#", "lookups": {"others": [{"part": 1, "capability": "nr", "ipv6": true}]}"#;
    let (mut clients, mut server) = (one_user("attach", lookups), server());
    let (sgw, pgw) = ("sgw.test", "pgw.test");
    server
        .add(
            &tac(1),
            "NAPTR",
            300,
            &["1 1 a x-3gpp-sgw:x-s5-gtp wrong.test", "1 1 a x-3gpp-sgw:x-s5-gtp+nc-nr sgw.test"],
        )
        .add("nr.test", "NAPTR", 300, &["1 1 a x-3gpp-pgw:x-s5-gtp+nc-nr pgw.test"])
        .add(sgw, "AAAA", 300, &["-"])
        .add(pgw, "AAAA", 300, &["-"]);
    assert_eq!(run(&mut clients, &mut server, 2)[0].outcome, Outcome::Done);
    assert_eq!(server.asked[2..], ["nr.test NAPTR", "sgw.test AAAA", "pgw.test AAAA"]);

    // A third of the users: within five standard deviations.
    let mut clients = clients_of(
        r#"{"kind": "epc", "mcc": "440", "mnc": "010", "tacs": [1], "apns": ["net"], "cache": {"entries": 0},
            "arrivals": {"attaches": 0, "handovers": 100},
            "lookups": {"others": [{"part": 0.3, "capability": "nr", "ipv6": true}]}}"#,
    );
    server.asked.clear();
    run(&mut clients, &mut server, 30);
    let of = |asked: &str| server.asked.iter().filter(|other| *other == asked).count() as f64;
    let (other, rest) = (of("sgw.test AAAA"), of("wrong.test A"));
    let all = other + rest;
    assert!((other - 0.3 * all).abs() < 5.0 * (0.21 * all).sqrt(), "{other} of {all}");
}

#[test]
fn an_entry_takes_as_much_as_it_has_records_or_octets() {
    let records: Vec<String> = (0..40).map(|n| format!("1 {n} a x-3gpp-sgw:x-s5-gtp gw{n}.test")).collect();
    let records: Vec<&str> = records.iter().map(String::as_str).collect();
    // The answer of 40 records and the one address; of all octets the address alone has room.
    for (count, entries, kept) in [
        ("rrsets", 2, 2),
        ("records", 41, 2),
        ("records", 40, 1),
        ("records", 39, 1),
        ("octets", 4_000, 2),
        ("octets", 500, 1),
    ] {
        let cache = format!(r#", "cache": {{"count": "{count}", "entries": {entries}}}"#);
        let (mut clients, mut server) = (one_user("handover", &cache), Server::default());
        server.add(&tac(1), "NAPTR", 300, &records).add("gw0.test", "A", 300, &["-"]);
        run(&mut clients, &mut server, 60);
        assert_eq!(clients.entries(), kept, "{count}, {entries}");
        let per_procedure = server.asked.len() as f64 / clients.counts().begun.total() as f64;
        assert_eq!(per_procedure < 1.0, kept == 2, "{count}, {entries}: {per_procedure}");
    }
}

#[test]
fn users_of_one_client_wait_for_the_same_response() {
    let mut clients = clients(
        r#"{"kind": "epc", "mcc": "440", "mnc": "010", "tacs": [1], "apns": ["net"], "arrivals": {"attaches": 0,
            "handovers": 0}, "events": [{"at_s": 1, "event": "mass", "tac": 1, "attaches": 50, "within_s": 0}]}"#,
    );
    let mut server = server();
    let ask = clients.next_ask(S).unwrap();
    clients.count_sent(&ask);
    assert_eq!(clients.next_ask(2 * S), None, "one question for 50 users");
    assert_eq!((clients.under_way(), clients.counts().joined), (50, 49));
    let message = server.respond(clients.question(ask.id));
    clients.answered(ask.id, 2 * S, &message);
    assert_eq!(clients.next_ask(2 * S).map(|ask| ask.step), Some(LookupStep::ApnNaptr));
    clients.finish(3 * S);
    assert!(clients.ended().all(|end| end.outcome == Outcome::Interrupted && end.ended_ns == 3 * S));
    assert_eq!((clients.counts().interrupted.of(ProcedureKind::Attach), clients.next_event_ns()), (50, None));
}

#[test]
fn a_restart_empties_the_cache_of_one_client() {
    let mut clients = clients(
        r#"{"kind": "epc", "mcc": "440", "mnc": "010", "tacs": [1, 2], "apns": ["net"], "clients": 2,
            "arrivals": {"attaches": 0, "handovers": 100},
            "events": [{"at_s": 10, "event": "restart", "client": 1, "attaches": 0, "within_s": 0}]}"#,
    );
    let mut server = server();
    server.add(&tac(2), "NAPTR", 300, &["1 1 a x-3gpp-sgw:x-s5-gtp topon.s5.sgw1.tokyo.node"]);
    run(&mut clients, &mut server, 9);
    assert_eq!((server.asked.len(), clients.entries()), (4, 4));
    run(&mut clients, &mut server, 20);
    assert_eq!(server.asked[4..], [format!("{} NAPTR", tac(2)), "topon.s5.sgw1.tokyo.node A".to_owned()]);
    assert_eq!(clients.counts().cleared, 2);
}

#[test]
fn ttl_0_and_small_caches_work() {
    for (ttl_s, entries, per_procedure) in
        [(0, 10, 2.0), (1 << 31, 10, 2.0), (300, 0, 2.0), (300, 1, 2.0), (300, 2, 0.0)]
    {
        let cache = format!(r#", "cache": {{"entries": {entries}}}"#);
        let (mut clients, mut server) = (one_user("handover", &cache), server());
        server.add(&tac(1), "NAPTR", ttl_s, &["1 1 a x-3gpp-sgw:x-s5-gtp gw.test"]).add(
            "gw.test",
            "A",
            ttl_s,
            &["-"],
        );
        let ended = run(&mut clients, &mut server, 100);
        assert!(ended.iter().all(|end| end.outcome == Outcome::Done));
        let expected = (per_procedure * ended.len() as f64).max(2.0);
        assert_eq!(server.asked.len() as f64, expected, "TTL {ttl_s}, {entries} entries");
        assert!(clients.entries() <= entries);
    }
}

#[test]
fn an_answer_of_another_version_of_the_zone_is_counted() {
    let (mut clients, mut server) = (one_user("handover", r#", "cache": {"entries": 0}"#), server());
    run(&mut clients, &mut server, 20);
    assert_eq!(clients.counts().changed, 0);
    server.add(&tac(1), "NAPTR", 300, &["1 1 a x-3gpp-sgw:x-s5-gtp topon.s5.pgw1.tokyo.node"]);
    run(&mut clients, &mut server, 40);
    assert_eq!(clients.counts().changed, 1);
}

#[test]
fn every_query_ends_once_and_every_procedure_is_counted() {
    let mut clients = clients(
        r#"{"kind": "epc", "mcc": "440", "mnc": "010", "tacs": [1, 2, 3], "apns": ["net", "none"], "clients": 3,
            "cache": {"entries": 3}, "arrivals": {"attaches": 50, "handovers": 50}}"#,
    );
    let mut server = server();
    let mut total = CachingClients::default();
    let (mut queries, mut ends, mut random) = (0, 0, 1u64);
    let mut open = std::collections::VecDeque::new();
    let mut now_ns = 0;
    while now_ns < 100 * S {
        now_ns += S / 100;
        while let Some(ask) = clients.next_ask(now_ns) {
            clients.count_sent(&ask);
            assert!(!open.iter().any(|(_, id)| *id == ask.id), "a number that is in use");
            open.push_back((now_ns + S / 50, ask.id));
            queries += 1;
        }
        while let Some((_, id)) = open.front().copied().filter(|(at_ns, _)| *at_ns <= now_ns) {
            open.pop_front();
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let message = server.respond(clients.question(id));
            match random >> 61 {
                0 => clients.failed(id),
                1 => clients.answered(id, now_ns, &message[..message.len() / 2]),
                _ => clients.answered(id, now_ns, &message),
            }
            // It has ended: what comes after it is nothing.
            clients.answered(id, now_ns, &message);
            clients.failed(id);
        }
        ends += clients.ended().count();
        total.merge_in_time(&clients.take_counts());
    }
    clients.finish(now_ns);
    ends += clients.ended().count();
    total.merge_in_time(clients.counts());
    assert_eq!(total.queries(), queries);
    assert_eq!(total.begun.total(), ends as u64);
    assert_eq!(total.done.total() + total.failed.total() + total.interrupted.total(), ends as u64);
    assert!(total.done.total() > 1_000 && total.malformed > 20 && total.given_up > 0, "{total:?}");
    assert_eq!(total.misses, total.asked.total());
    assert_eq!(total.stored, total.evicted + total.expired + clients.entries() as u64);
}

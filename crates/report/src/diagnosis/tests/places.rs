//! What was lost between two places that count the same messages.

use super::*;

#[test]
fn what_is_lost_between_two_places_is_stated_with_its_size() {
    let mut scene = Scene::over("udp");
    scene.lost(4, 400);
    for second in 0..10 {
        // 100 are lost on the path, 300 in the kernel of the server's host.
        let read = if second == 4 { 600 } else { 1_000 };
        scene.counter(second, HOST, "snmp.Udp.InDatagrams", read);
        scene.counter(second, HOST, "snmp.Udp.OutDatagrams", read);
        scene.counter(second, SERVER, "queries.udp", read);
        scene.counter(second, SERVER, "responses", read);
    }
    scene.counter(4, HOST, "snmp.Udp.InErrors", 300);
    scene.counter(4, PROCESS, "udp.drops", 300);
    let found = scene.diagnose();
    let differences: Vec<_> =
        found.cross_check.iter().map(|one| (one.between.as_str(), one.missing)).collect();
    let expected = [("path", 100), ("server-kernel", 300), ("server", 0), ("server-kernel", 0), ("path", 0)];
    assert_eq!(differences, expected, "{:#?}", found.cross_check);
    assert_eq!(
        found.cross_check[1].sentence,
        "queries over UDP: 9,900 arrived at the server's host, 9,600 given to its programs: 300 (3.03 %) lost in the \
         kernel of the server's host."
    );
    let explained: Vec<_> =
        found.findings.iter().map(|finding| (finding.rule.as_str(), finding.explains.unanswered)).collect();
    assert_eq!(
        (explained.as_slice(), found.unexplained),
        ([("udp-receive-queue", 300), ("path-loss", 100)].as_slice(), 0)
    );
}

#[test]
fn what_a_server_has_not_read_was_not_lost_on_the_path() {
    let mut scene = Scene::over("udp");
    scene.lost(4, 400);
    for second in 0..10 {
        // All arrive; in one second the server leaves 400 unread, and 10 segments of TCP and a message of ICMP come.
        let read = if second == 4 { 600 } else { 1_000 };
        for (name, value) in [
            ("snmp.Ip.InDelivers", 1_011),
            ("snmp.Tcp.InSegs", 10),
            ("snmp.Icmp.InMsgs", 1),
            ("snmp.Udp.InDatagrams", read),
        ] {
            scene.counter(second, HOST, name, value);
        }
    }
    let found = scene.diagnose();
    let differences: Vec<_> =
        found.cross_check.iter().map(|one| (one.between.as_str(), one.missing)).collect();
    assert_eq!(
        differences,
        [("path", 0), ("server-kernel", 0), ("server-queue", 400)],
        "{:#?}",
        found.cross_check
    );
    assert_eq!(
        found.cross_check[2].sentence,
        "queries over UDP: 10,000 put into queues of its programs, 9,600 read by them: 400 (4.00 %) lost in receive \
         queues, where the server had left them to the end."
    );
    assert!(found.findings.iter().all(|finding| finding.rule != "path-loss"), "{:#?}", found.findings);
}

#[test]
fn counters_of_helpers_are_not_those_of_the_server() {
    // A resolver whose every query was answered, and half of them by asking the server that it resolves through.
    let healthy = |change: &dyn Fn(&mut Scene)| {
        let mut scene = Scene::over("udp");
        for second in 0..10 {
            for name in ["queries.udp", "responses"] {
                scene.counter(second, SERVER, name, 1_000);
            }
            scene.counter(second, HOST, "snmp.Udp.InDatagrams", 1_000);
            scene.counter(second, HOST, "snmp.Udp.OutDatagrams", 1_000);
        }
        change(&mut scene);
        scene.diagnose()
    };
    let alone = healthy(&|_| ());
    let helped = |side| {
        healthy(&|scene| {
            let helper = Watched {
                side,
                label: "BIND at 127.0.0.1:8054".into(),
                ..scene.header.watched[SERVER].clone()
            };
            scene.header.watched.push(helper);
            for second in 0..10 {
                let samples = Samples {
                    counters: [
                        ("queries.udp".to_owned(), 500),
                        ("responses".to_owned(), 500),
                        ("dropped.rate-limit".to_owned(), 500),
                    ]
                    .into(),
                    ..Samples::default()
                };
                scene.seconds[second].watched.push(Some(samples));
            }
        })
    };
    let beside = helped(Side::Other);
    assert_eq!((&beside.cross_check, &beside.not_compared), (&alone.cross_check, &alone.not_compared));
    assert!(beside.cross_check.iter().all(|one| one.missing == 0), "{:#?}", beside.cross_check);
    // Records of older versions have helpers as the server's: then nobody knows whose the counters are.
    let older = helped(Side::Server);
    assert!(older.cross_check.iter().all(|one| one.missing == 0), "{:#?}", older.cross_check);
    assert!(older.not_compared[0].starts_with("servers' statistics: several are watched"), "{older:#?}");
}

#[test]
fn what_a_resolver_asks_others_is_not_lost_in_it() {
    let resolver = |arrived: u64, left: u64| {
        let mut scene = Scene::over("udp");
        for second in 0..10 {
            for (source, name, value) in [
                (SERVER, "queries.udp", 1_000),
                (SERVER, "responses", 1_000),
                (HOST, "snmp.Udp.InDatagrams", arrived),
                (HOST, "snmp.Udp.OutDatagrams", left),
            ] {
                scene.counter(second, source, name, value);
            }
        }
        scene.diagnose()
    };
    // Half of the queries are asked on, and the answers arrive at the same host.
    let found = resolver(1_500, 1_500);
    let between: Vec<_> = found.cross_check.iter().map(|one| (one.between.as_str(), one.missing)).collect();
    assert_eq!(between, [("path", -5_000), ("server-kernel", 0), ("way", 0), ("path", 0)]);
    assert_eq!(
        found.cross_check[2].sentence,
        "queries over UDP: 10,000 sent by the generator, 10,000 counted by the server: none is missing."
    );
    assert!(found.not_compared[0].contains("5,000 at least are of other traffic there"), "{found:#?}");
    // As many of the queries are lost before the host, so that what arrives is no more than was sent.
    let found = resolver(1_000, 1_500);
    assert!(found.cross_check.iter().all(|one| one.between != "server"), "{:#?}", found.cross_check);
}

#[test]
fn hosts_that_both_sides_share_are_not_compared() {
    let mut scene = drops("udp", PROCESS, &["udp.drops"]);
    scene.header.watched[HOST].side = Side::Both;
    (0..10).for_each(|second| scene.counter(second, HOST, "snmp.Udp.InDatagrams", 5_000));
    let found = scene.diagnose();
    assert!(found.cross_check.is_empty(), "{:#?}", found.cross_check);
    assert!(found.not_compared[0].contains("share a host"));
}

//! Invented runs whose bottleneck is known: which rule finds it, and which stay silent.

use std::collections::BTreeMap;

use dnsdyno_measure::{ConnectFailure, NotSentReason, Samples, Side, Watched, WatchedKind};
use dnsdyno_record::{Digest, Header, Interval};

use super::*;
use crate::sample;

mod order;

/// The sources of every invented run, in this order.
const HOST: usize = 0;
const PROCESS: usize = 1;
const SERVER: usize = 2;
const GENERATOR_HOST: usize = 3;

/// An invented run of ten seconds at 1,000 queries/s.
struct Scene {
    header: Header,
    seconds: Vec<Interval>,
}

impl Scene {
    fn over(transport: &str) -> Scene {
        let watched = |kind, side, label: &str, software: Option<&str>, settings: &[(&str, &str)]| Watched {
            kind,
            side,
            label: label.into(),
            software: software.map(str::to_owned),
            version: None,
            settings: settings.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect(),
            unset: Vec::new(),
            missing: Vec::new(),
        };
        let of_host = [
            ("cpus", "4"),
            ("net.core.rmem_max", "212992"),
            ("interface.eth0.speed_mbps", "1000"),
            ("net.netfilter.nf_conntrack_max", "65536"),
        ];
        let header = Header {
            phases: Vec::new(),
            transport: transport.into(),
            watched: vec![
                watched(WatchedKind::Host, Side::Server, "the server's host", None, &of_host),
                watched(
                    WatchedKind::Process,
                    Side::Server,
                    "named (4711)",
                    Some("bind"),
                    &[("limit.files", "1024")],
                ),
                watched(
                    WatchedKind::Server,
                    Side::Server,
                    "BIND at 127.0.0.1:8053",
                    Some("bind"),
                    &[("tcp-clients", "150")],
                ),
                watched(WatchedKind::Host, Side::Generator, "this host", None, &[("cpus", "4")]),
            ],
            ..sample::header()
        };
        let seconds = (0..10).map(|index| sample::second(index, 1_000, 0)).collect();
        let mut scene = Scene { header, seconds };
        for second in 0..10 {
            for (source, name, value) in [
                (HOST, "cpu.idle_ns", 2_500_000_000),
                (HOST, "cpu.user_ns", 1_400_000_000),
                (HOST, "cpu.steal_ns", 1_000_000),
                (HOST, "interface.eth0.tx_bytes", 200_000),
                (PROCESS, "cpu_ns", 300_000_000),
                (PROCESS, "cpu_wait_ns", 20_000_000),
                (PROCESS, "thread.isc-net-0000/12.cpu_ns", 150_000_000),
                (PROCESS, "thread.isc-net-0001/13.cpu_ns", 150_000_000),
            ] {
                scene.counter(second, source, name, value);
            }
            scene.gauge(second, PROCESS, "files.open", 60);
            scene.gauge(second, SERVER, "tcp.open", 20);
            scene.gauge(second, SERVER, "recursing", 2);
            scene.gauge(second, HOST, "conntrack.entries", 900);
        }
        scene
    }

    fn samples(&mut self, second: usize, source: usize) -> &mut Samples {
        let watched = &mut self.seconds[second].watched;
        watched.resize(4, Some(Samples::default()));
        watched[source].get_or_insert_default()
    }

    fn counter(&mut self, second: usize, source: usize, name: &str, value: u64) {
        self.samples(second, source).counters.insert(name.into(), value);
    }

    fn gauge(&mut self, second: usize, source: usize, name: &str, value: u64) {
        self.samples(second, source).gauges.insert(name.into(), value);
    }

    /// Queries of a second that time out.
    fn lost(&mut self, second: usize, queries: u64) -> &mut Scene {
        let watched = std::mem::take(&mut self.seconds[second].watched);
        self.seconds[second] = Interval { watched, ..sample::second(second as u64, 1_000, queries) };
        self
    }

    /// Responses of a second that take 200 ms longer.
    fn slow(&mut self, second: usize) {
        let tally = &mut self.seconds[second].tally;
        (0..100).for_each(|_| tally.response.record(240_000_000));
        (0..100).for_each(|_| tally.service.record(240_000_000));
    }

    fn digest(&self) -> Digest {
        let mut digest = Digest::new(self.header.clone());
        self.seconds.iter().for_each(|second| digest.interval(second));
        let totals = digest.watched().to_vec();
        let sum = dnsdyno_record::Sum { watched: totals, ..sample::calm_sum(&digest) };
        digest.sum(&sum);
        digest
    }

    fn diagnose(&self) -> Diagnosis {
        let digest = self.digest();
        let mut diagnoser = Diagnoser::new(&digest);
        self.seconds.iter().for_each(|second| diagnoser.add(second));
        diagnoser.finish()
    }
}

/// A run in which the queries of second 4 are lost, and this counter rose in it as often.
fn drops(transport: &str, source: usize, series: &[&str]) -> Scene {
    let mut scene = Scene::over(transport);
    scene.lost(4, 400);
    for series in series {
        scene.counter(4, source, series, 400);
    }
    scene
}

/// A run in each second of which so many queries are lost, and so many responses truncated.
fn all_limited(of_second: &dyn Fn(u64) -> [u64; 2]) -> Scene {
    let mut scene = Scene::over("udp");
    for second in 0..10 {
        let [lost, truncated] = of_second(second);
        scene.lost(second as usize, lost);
        scene.seconds[second as usize].arrivals.anomalies.truncated = truncated;
    }
    scene
}

/// The run for each rule, by its name; and runs in which nothing is to be found.
fn scenes() -> Vec<(&'static str, Scene)> {
    let with = |mut scene: Scene, change: &dyn Fn(&mut Scene)| {
        change(&mut scene);
        scene
    };
    let all_lossy = |transport: &str, change: &dyn Fn(&mut Scene, usize)| {
        let mut scene = Scene::over(transport);
        for second in 2..10 {
            scene.lost(second, 300);
            change(&mut scene, second);
        }
        scene
    };
    vec![
        ("healthy", Scene::over("udp")),
        ("healthy", Scene::over("tcp")),
        (
            "healthy",
            // Counters that move by chance, in seconds in which nothing is lost.
            with(Scene::over("udp"), &|scene| {
                scene.counter(3, PROCESS, "udp.drops", 2);
                scene.counter(7, HOST, "softnet.dropped", 5);
            }),
        ),
        (
            "unexplained",
            // Losses, and a counter that moves all the time.
            with(Scene::over("udp"), &|scene| {
                scene.lost(4, 400);
                (0..10).for_each(|second| scene.counter(second, HOST, "softnet.dropped", 100));
            }),
        ),
        (
            "unexplained",
            // Losses in one second, and a counter that rose in another one.
            with(Scene::over("udp"), &|scene| {
                scene.lost(2, 400);
                scene.counter(7, PROCESS, "udp.drops", 400);
            }),
        ),
        (
            "unexplained",
            // A counter that is too small.
            with(Scene::over("udp"), &|scene| {
                scene.lost(4, 900);
                scene.counter(4, PROCESS, "udp.drops", 2);
            }),
        ),
        (
            "generator",
            with(Scene::over("udp"), &|scene| {
                scene.lost(4, 50);
                scene.seconds[4].arrivals.socket_drops = 50;
            }),
        ),
        (
            "generator",
            with(Scene::over("udp"), &|scene| {
                for second in [5, 6] {
                    scene.slow(second);
                    (0..200).for_each(|_| scene.seconds[second].tally.lateness.record(200_000_000));
                }
            }),
        ),
        (
            "local-ports",
            with(Scene::over("tcp"), &|scene| {
                let ends = &mut scene.seconds[4].tally.ends;
                ends.answered -= 80;
                ends.not_sent.add(NotSentReason::NoLocalPort, 80);
                scene.seconds[4].arrivals.connections_mut().add_failed(ConnectFailure::NoLocalPort, 80);
            }),
        ),
        (
            "open-files",
            all_lossy("tcp", &|scene, second| {
                scene.gauge(second, PROCESS, "files.open", 1_024);
                scene.counter(second, HOST, "netstat.TcpExt.ListenOverflows", 500);
            }),
        ),
        (
            "cpu-throttled",
            all_lossy("udp", &|scene, second| {
                scene.counter(second, HOST, "cgroup.throttled_ns", 600_000_000);
                scene.counter(second, PROCESS, "udp.drops", 290);
            }),
        ),
        (
            "cpu-throttled",
            all_lossy("udp", &|scene, second| {
                scene.counter(second, HOST, "cpu.idle_ns", 20_000_000);
                let (stood_still, waited) =
                    if second % 3 == 2 { (2_900_000_000, 8_700_000_000) } else { (0, 0) };
                scene.counter(second, PROCESS, "cgroup.throttled_periods", 5);
                scene.counter(second, PROCESS, "cgroup.throttled_ns", stood_still);
                // Also where a thread ran for a moment, and the pause goes on.
                scene.counter(second, PROCESS, "cpu_wait_ns", if second == 4 { 970_000_000 } else { waited });
                scene.counter(second, PROCESS, "udp.drops", 290);
            }),
        ),
        (
            "cpu-steal",
            with(Scene::over("udp"), &|scene| {
                for second in [5, 6] {
                    scene.slow(second);
                    scene.counter(second, HOST, "cpu.steal_ns", 1_500_000_000);
                }
            }),
        ),
        (
            "memory",
            with(Scene::over("udp"), &|scene| {
                for second in [5, 6] {
                    scene.slow(second);
                    scene.counter(second, HOST, "pressure.memory.full_ns", 700_000_000);
                }
            }),
        ),
        (
            "server-tcp-limit",
            all_lossy("tcp", &|scene, second| {
                scene.gauge(second, SERVER, "tcp.open", 150);
                scene.counter(second, HOST, "netstat.TcpExt.ListenOverflows", 500);
            }),
        ),
        ("back-end", all_lossy("udp", &|scene, second| scene.gauge(second, SERVER, "recursing", 900))),
        (
            "back-end",
            with(Scene::over("udp"), &|scene| {
                scene.seconds[4].tally.rcodes.add(2, 300);
                scene.counter(4, SERVER, "responses.rcode.SERVFAIL", 300);
            }),
        ),
        (
            "cpu-one-thread",
            all_lossy("udp", &|scene, second| {
                scene.counter(second, PROCESS, "cpu_ns", 1_010_000_000);
                scene.counter(second, PROCESS, "thread.isc-net-0001/13.cpu_ns", 990_000_000);
                scene.counter(second, PROCESS, "udp.drops", 290);
                scene.counter(second, HOST, "snmp.Udp.RcvbufErrors", 290);
            }),
        ),
        (
            "cpu-all",
            all_lossy("udp", &|scene, second| {
                scene.counter(second, HOST, "cpu.idle_ns", 20_000_000);
                scene.counter(second, PROCESS, "cpu_ns", 3_800_000_000);
                scene.counter(second, PROCESS, "thread.isc-net-0000/12.cpu_ns", 1_900_000_000);
                scene.counter(second, PROCESS, "udp.drops", 290);
            }),
        ),
        ("conntrack", drops("udp", HOST, &["conntrack.drop"])),
        ("backlog", drops("udp", HOST, &["softnet.dropped"])),
        ("link", drops("udp", HOST, &["qdisc.eth0.drops", "snmp.Udp.SndbufErrors"])),
        (
            "link",
            all_lossy("tcp", &|scene, second| {
                scene.counter(second, HOST, "interface.eth0.tx_bytes", 124_000_000);
            }),
        ),
        ("fragments", drops("udp", GENERATOR_HOST, &["snmp.Ip.ReasmFails"])),
        ("rate-limit", drops("udp", SERVER, &["dropped.rate-limit"])),
        ("rate-limit", all_limited(&|second| [480 + second % 7, 486 - second % 5])),
        // All that arrives is truncated: the half of it that does not is lost by something else.
        ("unexplained", all_limited(&|_| [500, 500])),
        // As many in all, but not in each second.
        ("unexplained", all_limited(&|second| if second < 5 { [600, 200] } else { [200, 600] })),
        (
            "udp-receive-queue-one-socket",
            with(drops("udp", PROCESS, &["udp.drops", "socket.udp.10.0.0.1:53/0.drops"]), &|scene| {
                scene.counter(4, PROCESS, "socket.udp.10.0.0.1:53/1.drops", 0);
                scene.counter(4, PROCESS, "socket.udp.127.0.0.1:53/0.drops", 0);
            }),
        ),
        (
            "udp-receive-queue",
            with(drops("udp", PROCESS, &["udp.drops"]), &|scene| {
                scene.counter(4, HOST, "snmp.Udp.RcvbufErrors", 400);
                scene.counter(4, PROCESS, "socket.udp.10.0.0.1:53/0.drops", 210);
                scene.counter(4, PROCESS, "socket.udp.10.0.0.1:53/1.drops", 190);
            }),
        ),
        ("udp-receive-queue", drops("udp", HOST, &["snmp.Udp.RcvbufErrors"])),
        ("udp-send-queue", drops("udp", HOST, &["snmp.Udp.SndbufErrors"])),
        (
            "accept-queue",
            drops("tcp", HOST, &["netstat.TcpExt.ListenOverflows", "netstat.TcpExt.ListenDrops"]),
        ),
        ("syn-queue", drops("tcp", HOST, &["netstat.TcpExt.TCPReqQFullDrop", "netstat.TcpExt.ListenDrops"])),
        ("tcp-memory", drops("tcp", HOST, &["netstat.TcpExt.TCPBacklogDrop"])),
        ("path-loss", drops("tcp", HOST, &["snmp.Tcp.RetransSegs"])),
        (
            "path-loss",
            with(Scene::over("udp"), &|scene| {
                scene.lost(4, 400);
                for second in 0..10 {
                    let arrived = if second == 4 { 600 } else { 1_000 };
                    scene.counter(second, HOST, "snmp.Udp.InDatagrams", arrived);
                    scene.counter(second, HOST, "snmp.Udp.OutDatagrams", arrived);
                }
            }),
        ),
    ]
}

#[test]
fn each_bottleneck_is_found_by_its_rule_and_by_no_other_one() {
    let mut wrong = Vec::new();
    for (expected, scene) in scenes() {
        let found = scene.diagnose();
        let rules: Vec<_> = found.findings.iter().map(|finding| finding.rule.as_str()).collect();
        let wanted: &[&str] = match expected {
            "healthy" | "unexplained" => &[],
            rule => &[rule],
        };
        if rules != wanted || (expected == "unexplained") != (found.unexplained > 0) {
            wrong.push(format!("{expected}: {rules:?}, {} unexplained\n{found:#?}", found.unexplained));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_rule_has_a_run_that_it_is_found_in() {
    let known: Vec<_> = scenes().into_iter().map(|(rule, _)| rule).collect();
    for rule in rules() {
        assert!(known.contains(&rule.name.as_str()), "{}", rule.name);
    }
}

#[test]
fn the_sentence_of_a_finding_has_its_figures_and_the_parameters_their_values() {
    let mut scene = Scene::over("udp");
    scene.header.watched[SERVER].unset = vec!["udp-receive-buffer".into()];
    scene.lost(4, 765).lost(5, 235);
    scene.counter(5, PROCESS, "udp.drops", 1_000);
    scene.counter(5, HOST, "snmp.Udp.RcvbufErrors", 1_000);
    let found = scene.diagnose();
    let finding = &found.findings[0];
    assert_eq!(
        finding.sentence,
        "1,000 of the 1,000 unanswered queries were due in 2 seconds in which the UDP receive queue of named (4711) \
         overflowed, by 1,000 packets."
    );
    let values: BTreeMap<_, _> = finding
        .parameters
        .iter()
        .map(|parameter| (parameter.name.as_str(), parameter.value.as_str()))
        .collect();
    assert_eq!(values["net.core.rmem_max"], "212,992");
    assert_eq!(values["udp-receive-buffer"], "not set (default 0)");
    assert_eq!(values["net.core.rmem_default"], "not known");
    assert!(!values.contains_key("so-rcvbuf"));
    let series: Vec<_> = finding.evidence.iter().map(|evidence| evidence.series.as_str()).collect();
    assert_eq!(series, ["udp.drops", "snmp.Udp.RcvbufErrors"]);
    assert_eq!(
        found.verdict,
        "The server's UDP receive queue overflowed: this explains 1,000 of the 1,000 unanswered queries (100 %)."
    );
    assert_eq!((found.unexplained, finding.share), (0, 1.0));
}

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
fn a_parameter_that_was_not_read_is_not_known_and_neither_is_its_default() {
    let values = |unset: &[&str]| {
        let mut scene = drops("tcp", HOST, &["netstat.TcpExt.TCPReqQFullDrop"]);
        scene.header.watched[SERVER].unset = unset.iter().map(|name| (*name).to_owned()).collect();
        let finding = scene.diagnose().findings.remove(0);
        let of = |name| {
            finding.parameters.iter().find(|parameter| parameter.name == name).map(|one| one.value.clone())
        };
        [of("tcp-listen-queue"), of("net.core.somaxconn")].map(Option::unwrap)
    };
    assert_eq!(values(&[]), ["not known", "not known"]);
    assert_eq!(values(&["tcp-listen-queue"]), ["not set (default 10)", "not known"]);
}

#[test]
fn a_limit_that_was_not_read_is_not_known_to_be_reached() {
    // BIND allows 150 connections where its configuration does not say it; here it may allow any number.
    let found = |set: &dyn Fn(&mut Watched)| {
        let mut scene = Scene::over("tcp");
        set(&mut scene.header.watched[SERVER]);
        for second in 2..10 {
            scene.lost(second, 300);
            scene.gauge(second, SERVER, "tcp.open", 150);
        }
        let findings = scene.diagnose().findings;
        findings.first().map(|finding| (finding.rule.clone(), finding.sentence.clone()))
    };
    let is_not_read = found(&|bind| drop(bind.settings.remove("tcp-clients")));
    assert_eq!(is_not_read, None);
    let is_higher = found(&|bind| drop(bind.settings.insert("tcp-clients".into(), "1000".into())));
    assert_eq!(is_higher, None);
    let (rule, sentence) = found(&|bind| {
        bind.settings.clear();
        bind.unset = vec!["tcp-clients".into()];
    })
    .unwrap();
    assert_eq!(rule, "server-tcp-limit");
    assert!(sentence.contains("had 150 of the 150 TCP connections that it may have"), "{sentence}");
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
fn a_helper_is_no_bottleneck_of_the_server_and_its_parameters_are_not_told() {
    let mut scene = drops("udp", PROCESS, &["udp.drops"]);
    scene.header.watched[SERVER].side = Side::Other;
    scene.header.watched[SERVER].unset = vec!["udp-receive-buffer".into()];
    scene.counter(4, SERVER, "dropped.rate-limit", 400);
    let found = scene.diagnose();
    let rules: Vec<_> = found.findings.iter().map(|finding| finding.rule.as_str()).collect();
    assert_eq!(rules, ["udp-receive-queue"]);
    let of_bind = found.findings[0].parameters.iter().find(|one| one.name == "udp-receive-buffer").unwrap();
    assert_eq!((of_bind.of.as_str(), of_bind.value.as_str()), ("named (4711)", "not known"));
}

#[test]
fn a_cause_is_told_before_its_effect_also_where_the_effect_explains_more() {
    let mut scene = Scene::over("udp");
    for second in 2..10 {
        scene.lost(second, 300);
        scene.counter(second, PROCESS, "udp.drops", 300);
        // In most seconds some CPU time was left.
        scene.counter(second, HOST, "cpu.idle_ns", if second < 4 { 20_000_000 } else { 600_000_000 });
        scene.counter(second, PROCESS, "cpu_ns", 3_600_000_000);
    }
    let found = scene.diagnose();
    let explained: Vec<_> =
        found.findings.iter().map(|finding| (finding.rule.as_str(), finding.explains.unanswered)).collect();
    assert_eq!(explained, [("cpu-all", 600), ("udp-receive-queue", 1_800)]);
    assert!(found.verdict.starts_with("The CPUs of the server's host were used up"), "{}", found.verdict);
}

#[test]
fn a_rate_limit_that_the_server_does_not_tell_is_named_by_what_it_does() {
    let found = all_limited(&|_| [480, 490]).diagnose();
    assert_eq!(
        found.verdict,
        "The server answers as one that limits the rate of its responses: this explains 4,800 of the 4,800 unanswered \
         queries (100 %)."
    );
    assert_eq!(
        found.findings[0].sentence,
        "4,800 of the 4,800 unanswered queries were due in 10 seconds in which 4,900 truncated responses came, about \
         as many as there are queries without an answer: so it is where every second response above a limit is \
         truncated and the others are dropped (slip 2)."
    );
    let named: Vec<_> = found.findings[0].parameters.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(named, ["responses-per-second", "slip"]);
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

#[test]
fn the_text_fits_its_width_and_shows_no_control_character_of_a_server() {
    let mut scene = drops("udp", PROCESS, &["udp.drops"]);
    scene.header.watched[PROCESS].label = "named\x1b[2J (4711)".into();
    scene.header.watched[HOST].settings.insert("net.core.rmem_max".into(), "1\x1b]0;x".into());
    let found = scene.diagnose();
    let text = diagnosis_text(&found, 100);
    assert!(!text.contains('\x1b') && !diagnosis_json(&found).contains('\x1b'), "{text}");
    assert!(text.starts_with("The server's UDP receive queue overflowed"), "{text}");
    let expected = ["[udp-receive-queue]", "udp.drops", "net.core.rmem_max", "try: ", "then: "];
    expected.iter().for_each(|words| assert!(text.contains(words), "{words}: {text}"));
}

#[test]
fn a_long_run_is_diagnosed_from_joined_intervals() {
    let mut scene = Scene::over("udp");
    scene.lost(4, 400);
    scene.counter(4, PROCESS, "udp.drops", 400);
    let digest = scene.digest();
    let mut diagnoser = Diagnoser::new(&digest);
    scene.seconds.iter().for_each(|second| diagnoser.add(second));
    for index in 10..30_000 {
        diagnoser.add(&sample::second(index, 2, 0));
    }
    assert!(diagnoser.timeline.entries.len() <= 7_200);
    let found = diagnoser.finish();
    assert_eq!((found.findings[0].explains.unanswered, found.unexplained), (400, 0));
    assert!(found.findings[0].sentence.contains("in 1 interval in which"), "{}", found.findings[0].sentence);
}

#[test]
fn a_generator_in_doubt_is_said_first() {
    let mut digest = drops("udp", PROCESS, &["udp.drops"]).digest();
    if let Some(sum) = &mut digest.sum {
        sum.warnings = vec![dnsdyno_measure::Warning::CpuSaturated { share: 0.99 }];
    }
    let found = Diagnoser::new(&digest).finish();
    assert!(found.verdict.starts_with("Rate and loss are in doubt"), "{}", found.verdict);
    let text = diagnosis_text(&found, 200);
    assert!(text.starts_with("in doubt: CPU saturated"), "{text}");
    assert_eq!(text.matches("add --workers").count(), 1, "{text}");
}

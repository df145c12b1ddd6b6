//! Several servers in one run, and members with settings of their own: each has the figures that its server counted.

use std::time::Duration;

use dnsdyno_measure::MemberTally;
use dnsdyno_record::{Digest, MemberInfo};
use dnsdyno_responder::{Config, Delay, Faults, Responder, Running, Share, Transport};
use serde_json::Value;

use crate::support::{Workplace, closed_port, responder};

/// A responder that answers as it should, one that takes 20 ms, and one that drops a third.
fn three() -> [Running; 3] {
    let slow = Faults { delay: Some(Delay::Fixed(SLOW)), ..Faults::default() };
    let lossy = Faults { loss: Share::new(1.0 / 3.0).unwrap(), ..Faults::default() };
    [Faults::default(), slow, lossy].map(responder)
}

/// Each member with its tally, after checking that they add up to the run.
#[track_caller]
fn members(digest: &Digest) -> Vec<(&MemberInfo, &MemberTally)> {
    let tally = digest.tally();
    let sum = |of: fn(&MemberTally) -> u64| tally.members.iter().map(of).sum::<u64>();
    assert_eq!(digest.header.mix.len(), tally.members.len());
    assert_eq!(sum(|member| member.scheduled), tally.scheduled);
    assert_eq!(sum(|member| member.ends.answered), tally.ends.answered);
    assert_eq!(sum(|member| member.ends.total()), tally.ends.total());
    digest.header.mix.iter().zip(&tally.members).collect()
}

fn addresses(servers: &[Running]) -> Vec<String> {
    servers.iter().map(|server| server.address().to_string()).collect()
}

const SLOW: Duration = Duration::from_millis(20);
const NAMES: &str = "--ask www.example --ask mail.example/AAAA";

#[test]
fn servers_get_the_queries_in_turn_and_each_has_the_figures_that_it_counted() {
    for (load, workers) in
        [("--rate 900 --for 2s", 1), ("--rate 900 --for 2s", 2), ("--outstanding 20 --count 600", 2)]
    {
        let (work, servers) = (Workplace::new(), three());
        let names = addresses(&servers);
        let run =
            format!("run -s {} {NAMES} --timeout 300ms {load} --workers {workers} -o run", names.join(","));
        work.dnsdyno(&format!("{run} --quiet")).gives(0);
        let digest = work.record("run");
        assert_eq!((digest.header.transport.as_str(), digest.header.udp_sockets), ("udp", None));
        // Several servers make no connections of datagrams.
        assert!(digest.arrivals().connections.is_none());
        assert!(digest.sum.as_ref().unwrap().evidence.datagrams_only);
        let all = members(&digest);
        let each = digest.tally().scheduled / 3;
        for (((info, member), server), name) in all.iter().zip(servers).zip(&names) {
            let counts = server.stop().udp.counts;
            assert_eq!((&info.name, &info.address.to_string()), (name, name));
            assert!(member.scheduled.abs_diff(each) <= workers, "{} of {each}", member.scheduled);
            assert_eq!((member.sent, member.ends.answered), (counts.received, counts.answered), "{name}");
            assert_eq!(member.ends.timed_out, counts.dropped, "{name}");
        }
        let at_least = |member: &MemberTally| member.service.at_rank(1).unwrap_or(0);
        assert!(Duration::from_nanos(at_least(all[1].1)) >= SLOW && at_least(all[0].1) < at_least(all[1].1));
        assert!(all[2].1.ends.timed_out > 0 && all[0].1.ends.timed_out == 0);
    }
}

#[test]
fn servers_of_a_file_get_their_shares_by_weight() {
    let (work, servers) = (Workplace::new(), three());
    let names = addresses(&servers);
    work.write(
        "servers.txt",
        format!("# ours\n{} 6\n{} 3\n\n{}  # the old one\n", names[0], names[1], names[2]),
    );
    let words = format!(
        "run --servers servers.txt {NAMES} --timeout 300ms --rate 1k --for 1s --workers 1 --quiet -o run"
    );
    work.dnsdyno(&words).gives(0);
    let digest = work.record("run");
    let counted = servers.map(|server| server.stop().udp.counts.received);
    for (((info, member), counted), share) in members(&digest).iter().zip(counted).zip([0.6, 0.3, 0.1]) {
        assert_eq!((info.share, member.sent), (share, counted));
        assert!((member.scheduled as f64 - 1_000.0 * share).abs() <= 3.0, "{}", member.scheduled);
    }
    let plan = work.read("run/plan.toml");
    assert!(plan.contains(&format!("server = \"{}=6,{}=3,{}\"", names[0], names[1], names[2])), "{plan}");
}

#[test]
fn the_figures_of_each_server_are_shown_in_each_form_and_the_plan_gives_the_same_run() {
    let (work, servers) = (Workplace::new(), [Faults::default(), Faults::default()].map(responder));
    let names = addresses(&servers);
    let run = format!("run -s {} {NAMES} --count 400 --rate 2k --workers 1 --quiet -o run", names.join(","));
    let shown = work.dnsdyno(&run).gives(0).stdout;
    assert!(shown.contains(&format!("{}, {} over udp\n", names[0], names[1])), "{shown}");
    assert!(
        shown.contains("\n  server ") && shown.contains(&format!("\n  {}  50.00 %", names[0])),
        "{shown}"
    );
    let json: Value = serde_json::from_str(&work.dnsdyno("show --json run").gives(0).stdout).unwrap();
    assert_eq!(
        (json["mix"][1]["name"].as_str(), json["mix"][1]["answered"].as_u64()),
        (Some(&*names[1]), Some(200))
    );
    assert_eq!(json["mix"][1]["server"], "127.0.0.1");
    let csv = work.dnsdyno("export csv run").gives(0).stdout;
    let column = format!("members_{}_scheduled", names[0].replace(['.', ':'], "_"));
    assert!(csv.lines().next().is_some_and(|titles| titles.contains(&column)), "{csv}");
    work.dnsdyno("report run -o page.html").gives(0);
    let page = work.read("page.html");
    assert!(page.contains("By server") && page.contains(&format!("response time, {}", names[0])));
    work.dnsdyno("run --plan run/plan.toml --quiet -o again").gives(0);
    let (first, again) = (work.record("run"), work.record("again"));
    assert_eq!(first.header.mix, again.header.mix);
    for ((_, one), (_, other)) in members(&first).iter().zip(members(&again)) {
        assert_eq!(one.scheduled, other.scheduled);
    }
}

#[test]
fn each_server_can_have_each_transport() {
    let work = Workplace::new();
    let start = || {
        let any = || vec!["127.0.0.1:0".parse().unwrap()];
        Responder::start(Config { dot: any(), ..Config::default() }).unwrap_or_else(|error| panic!("{error}"))
    };
    let servers = [start(), start()];
    let names = addresses(&servers);
    let words = format!(
        "run -s {},{}=3 {NAMES} --mix udp=50,tcp=50 --rate 1k --for 2s --clients 8 --workers 1 --quiet -o run",
        names[0], names[1]
    );
    work.dnsdyno(&words).gives(0);
    let digest = work.record("run");
    let all = members(&digest);
    let shares: Vec<_> = all.iter().map(|(info, _)| (info.name.as_str(), info.share)).collect();
    let name = |transport: &str, server: usize| format!("{transport} {}", names[server]);
    let want =
        [(name("udp", 0), 0.125), (name("tcp", 0), 0.125), (name("udp", 1), 0.375), (name("tcp", 1), 0.375)];
    assert_eq!(shares, want.each_ref().map(|(name, share)| (name.as_str(), *share)));
    let dot: Vec<String> =
        servers.iter().map(|server| server.addresses_of(Transport::Dot)[0].to_string()).collect();
    let over_dot =
        format!("run -s {} -m dot --insecure {NAMES} --count 200 --rate 1k --quiet -o dot", dot.join(","));
    work.dnsdyno(&over_dot).gives(0);
    let of_dot = work.record("dot");
    for (number, server) in servers.into_iter().enumerate() {
        let book = server.stop();
        let sent = |at: usize| all[2 * number + at].1.sent;
        assert_eq!((sent(0), sent(1)), (book.udp.counts.answered, book.tcp.counts.answered));
        assert_eq!((members(&of_dot)[number].1.sent, book.dot.counts.answered), (100, 100));
    }
}

#[test]
fn members_of_a_plan_file_differ_in_the_behaviour_of_their_clients() {
    let (work, servers) = (Workplace::new(), [Faults::default(), Faults::default()].map(responder));
    let names = addresses(&servers);
    let member = |name: &str, server: &str, more: &str| {
        format!("[[member]]\nname = \"{name}\"\ntransport = \"tcp\"\nserver = \"{server}\"\n{more}\n")
    };
    let kept = member("kept", &names[0], "clients = 3");
    let short = member("short", &names[1], "clients = 20\nqueries-per-connection = 1\nweight = 2");
    work.write(
        "plan.toml",
        format!("ask = [\"www.example\"]\nrate = 300\nfor = \"2s\"\nworkers = 1\n{kept}{short}"),
    );
    let shown = work.dnsdyno("run --plan plan.toml --quiet -o run").gives(0).stdout;
    assert!(
        shown.contains("23 clients") && shown.contains("\n  server ") && shown.contains("\n  short  "),
        "{shown}"
    );
    let digest = work.record("run");
    assert_eq!(digest.header.transport, "tcp");
    let [_, (_, short)] = members(&digest)[..] else { panic!("two members") };
    assert!(short.scheduled.abs_diff(400) <= 3, "{}", short.scheduled);
    work.dnsdyno("run --plan run/plan.toml --for 1s --quiet -o again").gives(0);
    let again = work.record("again");
    assert_eq!(again.header.mix, digest.header.mix);
    let [of_kept, of_short] = servers.map(|server| server.stop().tcp);
    let sent = |number: usize| members(&digest)[number].1.sent + members(&again)[number].1.sent;
    assert_eq!((of_kept.counts.answered, of_short.counts.answered), (sent(0), sent(1)));
    assert_eq!((of_kept.connections.accepted, of_short.connections.accepted), (6, sent(1)));
}

#[test]
fn a_server_that_does_not_answer_is_named_before_the_load() {
    let (work, server) = (Workplace::new(), responder(Faults::default()));
    let (good, closed) = (server.address().to_string(), closed_port().to_string());
    let words = format!("run -s {good},{closed} {NAMES} --rate 20 --for 200ms -o run");
    work.checked(&words).ends_refused(3, &[&format!("{closed} refused the query over udp"), "--no-check"]);
    assert!(!work.has("run"));
    // Without the check, its queries are refused and those of the other are answered.
    work.dnsdyno(&format!("{words} --quiet")).gives(0);
    let digest = work.record("run");
    let [(_, answered), (_, refused)] = members(&digest)[..] else { panic!("two members") };
    assert_eq!((answered.ends.answered, refused.ends.answered), (answered.scheduled, 0));
}

#[test]
fn each_server_is_checked_and_named_with_what_it_says_of_itself() {
    let (work, servers) = (Workplace::new(), [Faults::default(), Faults::default()].map(responder));
    let names = addresses(&servers);
    let words = format!("run -s {} {NAMES} --rate 20 --for 200ms --quiet -o run", names.join(","));
    let shown = work.checked(&words).gives(0).stdout;
    for name in &names {
        assert!(shown.contains(&format!("over udp by {name} in ")), "{shown}");
    }
    let checks = work.record("run").header.checks;
    let asked: Vec<_> = checks.iter().map(|check| check.server.clone().unwrap_or_default()).collect();
    assert_eq!(asked, names);
}

#[test]
fn a_run_that_does_not_wait_for_responses_has_several_servers_too() {
    let (work, servers) = (Workplace::new(), [Faults::default(), Faults::default()].map(responder));
    let words = format!(
        "run -s {} {NAMES} --send-only --rate 500 --for 1s --workers 1 --quiet -o run",
        addresses(&servers).join(",")
    );
    work.dnsdyno(&words).gives(0);
    let digest = work.record("run");
    for ((_, member), server) in members(&digest).iter().zip(servers) {
        assert_eq!((member.sent, server.stop().udp.counts.received), (250, 250));
    }
}

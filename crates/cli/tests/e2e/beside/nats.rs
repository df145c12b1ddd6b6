//! Agents at a NATS broker: they make one load as those over pipes do, lose nothing with the broker, and make runs only
//! for whom their own host trusts.

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use dnsdyno_measure::MemberTally;
use dnsdyno_record::Ended;
use dnsdyno_responder::Faults;
use rustix::process::Signal;

use crate::support::broker::{Broker, TOKEN, agent, free_port, key, received, run, start, url};
use crate::support::{DNSDYNO, Workplace, check_record, has_program, responder};

/// What agents have left in their folders.
fn left_behind(work: &Workplace) -> Vec<PathBuf> {
    let folders = ["one", "two"].map(|name| fs::read_dir(work.path(&format!("agent-{name}"))));
    folders.into_iter().flatten().flatten().flatten().map(|entry| entry.path()).collect()
}

#[test]
fn agents_at_a_broker_make_one_load_for_one_coordinator_after_another() {
    if !has_program("nats-server") {
        return;
    }
    let work = Workplace::with_queries();
    let server = responder(Faults::default());
    let (broker, trusted) = (Broker::start(&work, free_port()), key(&work));
    let mut agents = ["one", "two", "other"].map(|name| agent(&work, &broker.url(), name, &trusted));
    agents.iter_mut().for_each(|agent| agent.until_it_says("waits at"));
    let listed = run(&work, &format!("agents '{}?site=here&count=3' --json", broker.url())).gives(0);
    let names: Vec<_> = listed.stdout.lines().filter_map(|line| line.split('"').nth(3)).collect();
    assert_eq!(names, ["one", "other", "two"], "{}", listed.stdout);
    agents[2].terminate();
    for folder in ["first", "second"] {
        let before = received(&server);
        let words = format!(
            "run -s {} -d q.txt --rate 3k --for 3s --on '{}?site=here&count=2*2' --start-within 1s -o {folder} --plain",
            server.address(),
            broker.url()
        );
        let ran = run(&work, &words).gives(0);
        assert!(!format!("{}{}", ran.stdout, ran.stderr).contains(TOKEN));
        work.shell(&format!("! grep -rl {TOKEN} {folder}")).gives(0);
        assert_eq!(received(&server) - before, 9_000);
        let joined = work.record(folder);
        assert_eq!((joined.tally().scheduled, joined.ended()), (9_000, Some(&Ended::ByTime)));
        assert!(!joined.header.command_line.join(" ").contains(TOKEN), "{:?}", joined.header.command_line);
        let names: Vec<&str> = joined.header.agents.iter().map(|agent| agent.name.as_str()).collect();
        assert_eq!(names, ["one", "two"]);
        let mut sum = MemberTally::default();
        for agent in &joined.header.agents {
            let own = check_record(&work.path(&format!("{folder}/agents")).join(&agent.name));
            assert_eq!(own.tally().scheduled, 4_500);
            sum.response.merge(&own.tally().response);
        }
        assert_eq!(sum.response, joined.tally().response);
    }
    let named = format!(
        "run -s {} -d q.txt --count 50 --on '{}?name=two&count=1' --start-within 1s",
        server.address(),
        broker.url()
    );
    run(&work, &named).gives(0);
    for agent in &mut agents[..2] {
        assert!(agent.terminate().success(), "{}", agent.said());
    }
    assert!(left_behind(&work).is_empty(), "{:?}", left_behind(&work));
    run(&work, &named).ends_refused(3, &["0 agents have these labels"]);
}

#[test]
fn a_broker_that_restarts_loses_nothing() {
    if !has_program("nats-server") {
        return;
    }
    let work = Workplace::with_queries();
    let server = responder(Faults::default());
    let (port, trusted) = (free_port(), key(&work));
    // They wait for the broker too.
    let mut agents = ["one", "two"].map(|name| agent(&work, &url(port), name, &trusted));
    agents[0].until_it_says("waiting for it");
    let mut broker = Broker::start(&work, port);
    agents.iter_mut().for_each(|agent| agent.until_it_says("waits at"));
    let words = format!(
        "run -s {} -d q.txt --rate 500 --for 8s --interval 100ms --on '{}?count=2' --start-within 1s -o kept --plain",
        server.address(),
        broker.url()
    );
    let mut coordinator = start(&work, &words);
    for settled in [5, 40] {
        coordinator.until("intervals settle", || work.intervals("kept").len() > settled);
        broker.restart();
    }
    let ran = coordinator.wait();
    assert!(!ran.stderr.contains("is lost"), "{}", ran.stderr);
    let joined = work.record("kept");
    assert_eq!(joined.tally().scheduled, joined.tally().ends.total());
    assert_eq!(received(&server), joined.tally().scheduled, "what was sent is in the record");
    assert!(joined.rows().iter().all(|row| row.partial_intervals == 0));
    // An agent that hears nothing for 3.5 s ends its load: only on a host that takes so long to start a broker.
    if joined.ended() == Some(&Ended::ByTime) {
        assert_eq!(joined.tally().scheduled, 4_000);
    }
}

#[test]
fn without_its_coordinator_an_agent_ends_its_load_and_waits_for_another() {
    if !has_program("nats-server") {
        return;
    }
    let work = Workplace::with_queries();
    let server = responder(Faults::default());
    let (broker, trusted) = (Broker::start(&work, free_port()), key(&work));
    let mut one = agent(&work, &broker.url(), "one", &trusted);
    one.until_it_says("waits at");
    let load = |more: &str| {
        format!(
            "run -s {} -d q.txt --on '{}?count=1' --start-within 1s {more}",
            server.address(),
            broker.url()
        )
    };
    let mut coordinator = start(&work, &load("--rate 200 --for 100s --interval 200ms -o gone --plain"));
    coordinator.until("intervals settle", || work.intervals("gone").len() > 2);
    let listed = Command::new("sh")
        .args(["-c", &format!("exec \"$0\" agents '{}'", broker.url()), DNSDYNO])
        .current_dir(work.path(""))
        .output()
        .unwrap();
    let listed = String::from_utf8_lossy(&listed.stdout).into_owned();
    assert!(listed.contains("not looked at: it makes a run"), "{listed}");
    let second = Command::new("sh")
        .args(["-c", &format!("HOME=$PWD/home exec \"$0\" {} 2>&1", load("--count 5")), DNSDYNO])
        .current_dir(work.path(""))
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&second.stdout).into_owned();
    assert!(said.contains("it makes the load of another coordinator"), "{said}");
    coordinator.signal(Signal::KILL);
    coordinator.wait().dies_of(Signal::KILL);
    std::thread::sleep(Duration::from_secs(5));
    let after = received(&server);
    std::thread::sleep(Duration::from_secs(1));
    assert_eq!(received(&server), after, "something is still sent");
    // The next one need not wait until the session of the first is forgotten.
    let since = Instant::now();
    while run(&work, &load("--count 50 --quiet")).code() != Some(0) {
        assert!(since.elapsed() < Duration::from_secs(20), "{}", work.stderr());
    }
    assert_eq!(received(&server), after + 50);
    assert!(one.terminate().success(), "{}", one.said());
    assert!(one.said().contains("has not received the record whole"), "{}", one.said());
    let kept = left_behind(&work);
    assert_eq!(kept.len(), 1, "{kept:?}");
}

#[test]
fn an_agent_makes_runs_only_for_whom_its_host_trusts() {
    if !has_program("nats-server") {
        return;
    }
    let work = Workplace::with_queries();
    let server = responder(Faults::default());
    let broker = Broker::start(&work, free_port());
    let load = format!(
        "run -s {} -d q.txt --quiet --start-within 1s --on '{}?count=1'",
        server.address(),
        broker.url()
    );
    let refused = |config: &str, options: &str, words: &str| {
        let mut agent = agent(&work, &broker.url(), "one", config);
        agent.until_it_says("waits at");
        let ran = run(&work, &format!("{load} {options}"));
        assert!(ran.stderr.contains(words), "{words}: {}", ran.stderr);
        assert_ne!(ran.code(), Some(0));
        agent.until_it_says(&format!("refused: {words}"));
        agent.terminate();
    };
    let plain = "--rate 10 --for 1s";
    let mut waits = agent(&work, &broker.url(), "one", "");
    waits.until_it_says("it trusts no key");
    run(&work, &format!("{load} {plain}")).ends_refused(2, &["make a key with `dnsdyno agent keys`"]);
    drop(waits);
    let trusted = key(&work);
    work.shell("HOME=$PWD/home exec \"$0\" agent keys").ends_refused(2, &["a key is never overwritten"]);
    refused("", plain, "it trusts no key");
    let other = "trusted-keys = [\"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\"]";
    refused(other, plain, "the key");
    refused(&format!("{trusted}\ntargets = [\"192.0.2.0/24\"]"), plain, "this agent may not load 127.0.0.1");
    refused(&format!("{trusted}\nmost-qps = \"5\""), plain, "this agent may send at most 5 queries/s");
    assert_eq!(received(&server), 0);
    // The key of signatures stays out of the broker; the path of a file is no secret.
    let mut trusts = agent(&work, &broker.url(), "one", &trusted);
    trusts.until_it_says("waits at");
    let given = "--tsig k.test:bm90IGEgc2VjcmV0IGtleSBhdCBhbGw=";
    run(&work, &format!("{load} {plain} {given}")).ends_refused(2, &["secrets do not pass a broker"]);
    refused_names_and_tokens(&work, &broker);
    assert_eq!(received(&server), 0);
}

fn refused_names_and_tokens(work: &Workplace, broker: &Broker<'_>) {
    let wrong = broker.url().replace(TOKEN, "another-word");
    let said = run(work, &format!("agents '{wrong}'")).ends_refused(3, &["authorization violation"]);
    assert!(!said.stderr.contains("another-word"), "{}", said.stderr);
    work.dnsdyno(&format!("agent --nats {wrong}")).ends_refused(3, &["authorization violation"]);
    let right = broker.url();
    work.dnsdyno(&format!("agent --nats {right} --name ../one"))
        .ends_refused(2, &["cannot be the name of an agent"]);
    work.dnsdyno(&format!("agent --nats {right} --label a/b=c"))
        .ends_refused(2, &["write labels as KEY=VALUE"]);
    work.dnsdyno(&format!("agent --nats {right}?site=a")).ends_refused(2, &["--label KEY=VALUE"]);
    work.dnsdyno("agent --nats http://127.0.0.1").ends_refused(2, &["write nats://HOST:PORT"]);
}

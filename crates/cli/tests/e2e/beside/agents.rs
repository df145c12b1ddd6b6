//! Runs that several agents make together: dealt without a query too many, joined exactly, and what becomes of them
//! when an agent or the coordinator is lost.

use std::collections::BTreeSet;
use std::fs;
use std::time::{Duration, Instant};

use dnsdyno_measure::MemberTally;
use dnsdyno_record::{AgentEnd, Ended, Event, RunReader};
use dnsdyno_responder::{Faults, Running, Share};
use rustix::process::{Pid, Signal, kill_process};

use crate::beside::replay::capture_of_clients;
use crate::support::{DNSDYNO, Remote, Started, Workplace, check_record, responder};

/// The agents that a coordinator has started, by their process numbers.
fn agents_of(coordinator: &Started<'_>) -> Vec<Pid> {
    let pid = coordinator.pid().as_raw_nonzero();
    let mut all: Vec<i32> = Vec::new();
    for task in fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten() {
        let children = fs::read_to_string(task.path().join("children")).unwrap_or_default();
        all.extend(children.split_whitespace().filter_map(|number| number.parse::<i32>().ok()));
    }
    all.sort_unstable();
    all.into_iter().filter_map(Pid::from_raw).collect()
}

/// The queries that a responder has received.
pub(super) fn received(server: &Running) -> u64 {
    server.book().total().counts.received
}

/// Whether a process runs; one that nobody has waited for does not.
pub(super) fn runs(pid: Pid) -> bool {
    let stat = fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero())).unwrap_or_default();
    stat.rsplit(')').next().and_then(|rest| rest.split_whitespace().next()).is_some_and(|state| state != "Z")
}

pub(super) fn ended_within(pids: &[Pid], most: Duration) -> Duration {
    let since = Instant::now();
    while pids.iter().any(|pid| runs(*pid)) {
        assert!(since.elapsed() < most, "an agent runs on after {most:?}");
        std::thread::sleep(Duration::from_millis(20));
    }
    since.elapsed()
}

/// The agents' own folders are in the folder of the test.
fn with_cache(words: &str) -> String {
    format!("XDG_CACHE_HOME=$PWD/cache exec \"$0\" {words}")
}

pub(super) fn run_on<'a>(work: &'a Workplace, words: &str) -> Started<'a> {
    work.start_shell_with_keys(&with_cache(words))
}

/// Folders of agents that were not removed.
fn left_behind(work: &Workplace) -> Vec<String> {
    let folders = fs::read_dir(work.path("cache/dnsdyno")).into_iter().flatten().flatten();
    folders.map(|folder| folder.path().display().to_string()).collect()
}

#[test]
fn agents_send_the_queries_of_one_schedule_and_their_records_add_up() {
    let work = Workplace::with_queries();
    let server = responder(Faults { delay: Some("1ms".parse().unwrap()), ..Faults::default() });
    let words = format!(
        "run -s {} -d q.txt --rate 3k --for 3s --on local,local*2,local --clients 7 -o together --plain",
        server.address()
    );
    run_on(&work, &words).wait().gives(0);
    let joined = work.record("together");
    assert_eq!(received(&server), 9_000);
    assert_eq!((joined.tally().scheduled, joined.ended()), (9_000, Some(&Ended::ByTime)));
    let header = &joined.header;
    let agents: Vec<(&str, u32, u32)> =
        header.agents.iter().map(|agent| (agent.name.as_str(), agent.workers, agent.first_worker)).collect();
    assert_eq!(agents, [("local-1", 1, 0), ("local-2", 2, 1), ("local-3", 1, 3)]);
    assert_eq!((header.workers, header.clients), (4, 7));
    let intervals: Vec<_> =
        work.intervals("together").into_iter().filter(|one| one.tally.scheduled > 0).collect();
    assert_eq!(intervals.len(), 3);
    for interval in &intervals {
        let of_agents: Vec<u64> = interval.agents.iter().flatten().map(|agent| agent.scheduled).collect();
        assert_eq!((interval.tally.scheduled, of_agents), (3_000, vec![750, 1_500, 750]));
        assert_eq!((interval.asked_qps, interval.covered_ns, interval.workers.len()), (3_000.0, None, 4));
    }
    // Bucket by bucket the histograms are those of the records that the agents have kept.
    let mut sum = MemberTally::default();
    for agent in &header.agents {
        let own = check_record(&work.path("together/agents").join(&agent.name));
        assert_eq!(own.header.workers, agent.workers);
        sum.response.merge(&own.tally().response);
        sum.service.merge(&own.tally().service);
    }
    assert_eq!((&sum.response, &sum.service), (&joined.tally().response, &joined.tally().service));
    let ends = &joined.sum.as_ref().unwrap().agents;
    assert!(ends.iter().all(|end| end.lost.is_none() && end.missing_intervals == 0), "{ends:?}");
    let (spread_ns, bound_ns) = AgentEnd::start_spread_ns(&header.agents, ends).unwrap();
    assert!(
        spread_ns < 1_000_000_000 && bound_ns.is_some_and(|ns| ns < 1_000_000),
        "{spread_ns} ± {bound_ns:?}"
    );
    assert!(left_behind(&work).is_empty(), "{:?}", left_behind(&work));
}

#[test]
fn each_kind_of_load_is_dealt() {
    let work = Workplace::with_queries();
    let server = responder(Faults::default());
    let at = server.address();
    let mut asked = 0;
    for (name, load, queries) in [
        ("window", "--outstanding 10 --count 1000", Some(1_000)),
        ("stair", "--stair 500..1000 --step 500 --hold 1s", Some(1_500)),
        ("tcp", "--transport tcp --clients 5 --rate 500 --for 1s", Some(500)),
        ("limited", "--outstanding 4 --rate-limit 300 --for 1s", None),
        ("count", "--rate 1k --count 701", Some(701)),
    ] {
        run_on(&work, &format!("run -s {at} -d q.txt {load} --on local:3 -o {name} --quiet")).wait().gives(0);
        let digest = work.record(name);
        let answered = digest.tally().ends.answered;
        assert_eq!(digest.tally().scheduled, answered, "{name}");
        assert!(queries.is_none_or(|queries| queries == answered), "{name}: {answered}");
        assert!(queries.is_some() || answered <= 300, "{name}: {answered}");
        asked += answered;
        assert_eq!(received(&server), asked, "{name}");
    }
    // In every phase of a stair the rate is that of the step.
    let rates: Vec<f64> = work.record("stair").rows().iter().map(|row| row.asked_qps()).collect();
    assert_eq!(rates, [500.0, 1_000.0]);
}

#[test]
fn a_client_of_a_capture_stays_with_one_agent() {
    let work = Workplace::new();
    let server = responder(Faults::default());
    let at = server.address();
    // 90 queries of six clients, at their instants.
    work.write("clients.pcap", capture_of_clients(6, 15));
    run_on(&work, &format!("run -s {at} --replay clients.pcap --on local:2 -o replayed --quiet"))
        .wait()
        .gives(0);
    let digest = work.record("replayed");
    assert_eq!((digest.tally().scheduled, digest.tally().ends.answered), (90, 90));
    let of_agents: Vec<u64> =
        digest.sum.as_ref().unwrap().agents.iter().map(|agent| agent.tally.scheduled).collect();
    assert_eq!(of_agents, [45, 45]);
    assert_eq!(digest.header.clients, 6);
}

#[test]
fn a_lost_agent_ends_the_run_or_leaves_its_intervals_partial() {
    let work = Workplace::with_queries();
    let server = responder(Faults::default());
    let at = server.address();
    for (folder, what, code) in [("ended", "end", 3), ("continued", "continue", 0)] {
        let words = format!(
            "run -s {at} -d q.txt --rate 600 --for 6s --interval 200ms --on local:3 --if-an-agent-fails {what} \
             -o {folder} --plain"
        );
        let mut run = run_on(&work, &words);
        run.until("intervals settle", || work.intervals(folder).len() > 3);
        let agents = agents_of(&run);
        assert_eq!(agents.len(), 3);
        kill_process(agents[1], Signal::KILL).unwrap();
        let ran = run.wait().gives(code);
        ended_within(&agents, Duration::from_secs(5));
        assert!(ran.stderr.contains("the agent local-2 is lost"), "{}", ran.stderr);
        let digest = check_record(&work.path(folder));
        let ends = &digest.sum.as_ref().unwrap().agents;
        let lost: Vec<bool> = ends.iter().map(|end| end.lost.is_some()).collect();
        assert_eq!(lost, [false, true, false]);
        let intervals = work.intervals(folder);
        let partial = intervals.iter().filter(|interval| interval.is_partial()).count() as u64;
        assert!(partial > 0 && partial == ends[1].missing_intervals, "{partial} {ends:?}");
        let missing = |interval: &&dnsdyno_record::Interval| interval.agents[1].is_none();
        assert!(intervals.iter().filter(|one| one.is_partial()).all(|one| missing(&one)));
        // Each query has its end, or stands in an interval that is said to be partial.
        assert_eq!(digest.tally().scheduled, digest.tally().ends.total());
        assert!(digest.warnings().iter().any(|warning| warning.name() == "partial_intervals"));
        if code == 0 {
            assert!(digest.schedule_ns() >= 5_900_000_000);
        }
    }
}

#[test]
fn an_agent_that_stands_still_is_named_and_waited_for() {
    let work = Workplace::with_queries();
    let server = responder(Faults::default());
    let words = format!(
        "run -s {} -d q.txt --rate 300 --for 6s --timeout 1s --interval 500ms --on local:2 \
         --if-an-agent-fails continue -o still --plain",
        server.address()
    );
    let mut run = run_on(&work, &words);
    run.until("intervals settle", || work.intervals("still").len() > 2);
    let agents = agents_of(&run);
    kill_process(agents[0], Signal::STOP).unwrap();
    run.until("it is named", || work.stderr().contains("the agent local-1 has said nothing for"));
    kill_process(agents[0], Signal::CONT).unwrap();
    let ran = run.wait();
    assert!(ran.stderr.contains("the agent local-1 is there again"), "{}", ran.stderr);
    let digest = check_record(&work.path("still"));
    assert_eq!(digest.tally().scheduled, digest.tally().ends.total());
    assert!(digest.rows().iter().all(|row| row.partial_intervals == 0), "it came back in time");
    ended_within(&agents, Duration::from_secs(5));
}

#[test]
fn without_their_coordinator_agents_end_their_load_within_five_seconds() {
    let work = Workplace::with_queries();
    let server = responder(Faults::default());
    let words = format!(
        "run -s {} -d q.txt --rate 500 --for 100s --interval 200ms --on local:2 -o lost",
        server.address()
    );
    for (signal, is_stopped) in [(Signal::KILL, false), (Signal::STOP, true)] {
        let mut run = run_on(&work, &format!("{words}-{is_stopped} --quiet"));
        let folder = format!("lost-{is_stopped}");
        run.until("intervals settle", || work.intervals(&folder).len() > 2);
        let agents = agents_of(&run);
        run.signal(signal);
        let before = received(&server);
        if is_stopped {
            // It is there, and says nothing: the pipes are open.
            std::thread::sleep(Duration::from_secs(5));
            let after = received(&server);
            std::thread::sleep(Duration::from_secs(1));
            assert_eq!(received(&server), after, "something is still sent");
            assert!(after > before);
            run.signal(Signal::KILL);
        }
        let took = ended_within(&agents, Duration::from_secs(5));
        assert!(took < Duration::from_secs(5));
        run.wait().dies_of(Signal::KILL);
    }
    // Their own records are whole, and are kept because nobody has received them.
    let kept: Vec<_> = left_behind(&work);
    assert_eq!(kept.len(), 4, "{kept:?}");
    for folder in kept {
        let record = check_record(&std::path::Path::new(&folder).join("run-1"));
        assert!(record.is_complete() && record.ended() == Some(&Ended::HungUp), "{:?}", record.ended());
    }
}

#[test]
fn one_ctrl_c_stops_all_agents_and_a_second_ends_them_at_once() {
    let work = Workplace::with_queries();
    let server = responder(Faults { delay: Some("2s".parse().unwrap()), ..Faults::default() });
    for presses in [1, 2] {
        let folder = format!("pressed-{presses}");
        let words = format!(
            "run -s {} -d q.txt --rate 100 --for 100s --interval 200ms --on local:2 -o {folder} --plain",
            server.address()
        );
        let mut run = run_on(&work, &words);
        run.until("intervals settle", || work.intervals(&folder).len() > 1);
        let agents = agents_of(&run);
        run.signal(Signal::INT);
        if presses == 2 {
            run.until("it stops", || work.stderr().contains("stopping (stopped by the user)"));
            run.signal(Signal::INT);
        }
        run.wait().gives(130);
        ended_within(&agents, Duration::from_secs(5));
        let digest = check_record(&work.path(&folder));
        assert_eq!(digest.ended(), Some(&Ended::Interrupted));
        assert_eq!(digest.tally().scheduled, digest.tally().ends.total());
        let interrupted = digest.tally().ends.interrupted;
        // The first press interrupts only what was due and not sent.
        assert!(if presses == 1 { interrupted < 10 } else { interrupted > 10 }, "{interrupted}");
    }
    assert!(left_behind(&work).is_empty(), "{:?}", left_behind(&work));
}

#[test]
fn what_an_agent_may_load_is_decided_on_its_own_host() {
    let work = Workplace::with_queries();
    let server = responder(Faults::default());
    fs::create_dir_all(work.path("home/.config/dnsdyno")).unwrap();
    let refused = |config: &str, options: &str, words: &str| {
        work.write("home/.config/dnsdyno/agent.toml", config);
        let script =
            with_cache(&format!("run -s {} -d q.txt {options} --on local:2 --quiet", server.address()));
        let ran = work.shell(&format!("HOME=$PWD/home {script}")).ends_refused(2, &[words]);
        assert!(ran.stderr.contains("local-"), "{}", ran.stderr);
    };
    refused("targets = [\"192.0.2.0/24\"]", "--rate 10 --for 1s", "may not load 127.0.0.1");
    refused(
        "most-qps = \"100\"",
        "--rate 300 --for 1s",
        "at most 100 queries/s, and its part of this load has 150",
    );
    refused("most-qps = \"100\"", "--outstanding 3 --for 1s", "a closed loop has no such limit");
    refused("longest = \"1s\"", "--rate 10 --for 2s", "for at most 1s");
    assert_eq!(received(&server), 0);
    work.write(
        "home/.config/dnsdyno/agent.toml",
        "targets = [\"127.0.0.0/8\"]\nmost-qps = \"100\"\nlongest = \"1s\"",
    );
    let script =
        with_cache(&format!("run -s {} -d q.txt --rate 200 --for 1s --on local:2 --quiet", server.address()));
    work.shell(&format!("HOME=$PWD/home {script}")).gives(0);
    assert_eq!(received(&server), 200);
}

#[test]
fn what_cannot_be_dealt_or_reached_is_refused_before_the_load() {
    let work = Workplace::with_queries();
    let server = responder(Faults::default());
    let refused = |options: &str, code: i32, words: &str| {
        let words_of_run = format!("run -s {} -d q.txt {options} --quiet", server.address());
        run_on(&work, &words_of_run).wait().ends_refused(code, &[words]);
    };
    refused("--rate 10 --for 1s --on local:3 --workers 2", 2, "2 workers cannot be divided over 3 agents");
    refused("--rate 10 --for 1s --on local*2,local --workers 4", 2, "by weights of 3 together");
    refused("--rate 10 --for 1s --on local:2 --part 1/2", 2, "--part cannot be used with --on");
    refused("--outstanding 1 --count 5 --on local:2", 2, "1 workers cannot be divided over 2 agents");
    refused("--rate 10 --for 1s --on ftp://a", 2, "write HOST");
    refused("--rate 10 --for 1s --on local:2 --start-within 1ns", 3, "its clock is known to");
    refused("--rate 10 --for 1s --start-within 1ms", 2, "--on");
    let gone = "--rate 10 --for 1s --on ssh://nobody@127.0.0.1:1";
    refused(
        gone,
        3,
        "this must work without a question: ssh -o BatchMode=yes -p 1 nobody@127.0.0.1 dnsdyno --version",
    );
    assert_eq!(received(&server), 0);
    assert!(left_behind(&work).is_empty(), "{:?}", left_behind(&work));
}

#[test]
fn a_search_and_conditions_hold_over_all_agents() {
    let work = Workplace::with_queries();
    let server = responder(Faults::default());
    let at = server.address();
    let find = format!(
        "find -s {at} -d q.txt --from 300 --most 600 --trial 300ms --rest 100ms --trials 10 --on local:2 -o found"
    );
    let found = run_on(&work, &find).wait().gives(1).stdout;
    assert!(found.contains("capacity at least 600 qps: no higher load was tried"), "{found}");
    let slow = responder(Faults { loss: Share::new(1.0).unwrap(), ..Faults::default() });
    let words = format!(
        "run -s {} -d q.txt --rate 400 --for 60s --timeout 200ms --interval 200ms --stop-when 'loss>50%' --on local:2 \
         -o stopped --plain",
        slow.address()
    );
    run_on(&work, &words).wait().gives(1);
    let digest = work.record("stopped");
    assert!(matches!(digest.ended(), Some(Ended::ByCondition { .. })), "{:?}", digest.ended());
    assert!(digest.to_ns() < 30_000_000_000);
    let kinds: BTreeSet<String> = events(&work, "stopped").into_iter().map(|event| event.kind).collect();
    assert_eq!(kinds.into_iter().collect::<Vec<_>>(), ["condition"]);
}

fn events(work: &Workplace, folder: &str) -> Vec<Event> {
    let lines = RunReader::open(&work.path(folder)).unwrap().map(Result::unwrap);
    lines
        .filter_map(|line| if let dnsdyno_record::Line::Event(event) = line { Some(event) } else { None })
        .collect()
}

#[test]
fn agents_over_ssh_need_nothing_on_their_host_but_the_program() {
    let Some(remote) = Remote::start("") else { return };
    let Some(server) = remote.server("nsd") else { return };
    let work = Workplace::with_queries();
    let agent = format!("{}{DNSDYNO}", remote.address());
    let on = |agents: &[&str]| {
        agents.iter().map(|weight| format!("{agent}{weight}")).collect::<Vec<_>>().join(",")
    };
    let load = |more: &str| format!("-s {} -d q.txt {more}", server.address());
    let words = load(&format!("--rate 900 --for 2s --on {} -o ssh --quiet", on(&["", "*2", ""])));
    remote.run(&work, &words).wait().gives(0);
    let digest = work.record("ssh");
    assert_eq!((digest.tally().scheduled, digest.tally().ends.answered), (1_800, 1_800));
    let names: Vec<_> =
        digest.header.agents.iter().map(|agent| (agent.name.clone(), agent.workers)).collect();
    let name = |number: u32| format!("{}-{number}", remote.pair.far().ipv4);
    assert_eq!(names, [(name(1), 1), (name(2), 2), (name(3), 1)]);
    for interval in work.intervals("ssh").iter().filter(|interval| interval.tally.scheduled > 0) {
        let of_agents: Vec<u64> = interval.agents.iter().flatten().map(|agent| agent.scheduled).collect();
        assert_eq!(of_agents, [225, 450, 225], "interval {}", interval.index);
    }
    // A connection that is cut.
    let words = load(&format!("--rate 300 --for 60s --interval 200ms --on {} -o cut --plain", on(&["", ""])));
    let mut run = remote.run(&work, &words);
    run.until("intervals settle", || work.intervals("cut").len() > 3);
    let links = agents_of(&run);
    assert_eq!(links.len(), 2, "an ssh each");
    kill_process(links[0], Signal::KILL).unwrap();
    run.wait().gives(3).says(&[&format!("the agent {} is lost", name(1))]);
    // Where the program is not.
    let words = load(&format!("--rate 10 --for 1s --on {}/none/dnsdyno --quiet", remote.address()));
    remote
        .run(&work, &words)
        .wait()
        .ends_refused(3, &["/none/dnsdyno", "this must work without a question: ssh"]);
    // Nobody logs in with this key.
    remote.configure("other_key", "known_hosts");
    let words = load(&format!("--rate 10 --for 1s --on {} --quiet", on(&[""])));
    remote.run(&work, &words).wait().ends_refused(3, &["Permission denied"]);
}

#[test]
fn a_pause_between_two_runs_is_no_silence_of_the_agents() {
    let work = Workplace::with_queries();
    let server = responder(Faults::default());
    // Longer than what makes an agent count as lost.
    let words = format!(
        "find -s {} -d q.txt --from 300 --most 600 --trial 300ms --rest 11s --trials 10 --on local:2 -o rested",
        server.address()
    );
    let found = run_on(&work, &words).wait().gives(1);
    assert!(found.stdout.contains("capacity at least 600 qps"), "{}{}", found.stdout, found.stderr);
}

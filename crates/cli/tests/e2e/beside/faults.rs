//! Faults during a run: the run continues or ends normally, and the record says what happened.

use std::time::Duration;

use dnsdyno_lab::ServerOptions;
use dnsdyno_measure::{Ends, NotSentReason};
use dnsdyno_record::{Ended, Interval};
use dnsdyno_responder::{Delay, Faults, Share};
use rustix::process::Signal;
use serde_json::Value;

use crate::support::{Workplace, closed_port, has_program, may_unshare, real_server, responder};

/// Intervals with queries, all answered.
fn answered_well(interval: &Interval) -> bool {
    interval.tally.scheduled > 0 && interval.tally.ends.answered == interval.tally.scheduled
}

/// Intervals with queries, none answered.
fn answered_nothing(interval: &Interval) -> bool {
    interval.tally.scheduled > 0 && interval.tally.ends.answered == 0
}

fn silent() -> Faults {
    Faults { loss: Share::new(1.0).unwrap(), ..Faults::default() }
}

fn slow(by: Duration) -> Faults {
    Faults { delay: Some(Delay::Fixed(by)), ..Faults::default() }
}

#[test]
fn a_closed_port_refuses_queries_which_are_not_timeouts() {
    let work = Workplace::with_queries();
    let run = format!("run -s {} -d q.txt --timeout 500ms", closed_port());
    // Slow enough that the kernel does not hold its ICMP errors back.
    let ran = work.dnsdyno(&format!("{run} --rate 200 --count 100 -o open")).completes();
    let open = work.record("open");
    assert_eq!(open.tally().ends, Ends { refused: 100, ..Ends::default() });
    assert!(
        ran.stdout.contains("refused by the network") && ran.stdout.contains("loss 100 %"),
        "{}",
        ran.stdout
    );
    assert!(ran.stdout.contains("no query was answered in time"), "{}", ran.stdout);
    work.dnsdyno("show open --expect loss<1%").gives(1);

    work.dnsdyno(&format!("{run} --outstanding 20 --count 2000 -o closed")).completes();
    let ends = work.record("closed").tally().ends;
    assert_eq!((ends.refused + ends.timed_out, ends.answered), (2000, 0));
    assert!(ends.refused > 0, "{ends:?}");
}

#[test]
fn all_queries_to_a_silent_server_time_out() {
    let work = Workplace::with_queries();
    let server = responder(silent());
    let run = format!("run -s {} -d q.txt --timeout 200ms", server.address());
    let ran = work.dnsdyno(&format!("{run} --rate 500 --count 250 -o open")).completes();
    assert_eq!(work.record("open").tally().ends, Ends { timed_out: 250, ..Ends::default() });
    assert!(ran.stdout.contains(">200 ms"), "timeouts are in the percentiles:\n{}", ran.stdout);
    work.dnsdyno(&format!("{run} --outstanding 50 --count 150 -o closed")).completes();
    assert_eq!(work.record("closed").tally().ends, Ends { timed_out: 150, ..Ends::default() });
}

#[test]
fn responses_after_the_timeout_are_late_and_not_lost() {
    let work = Workplace::with_queries();
    let server = responder(slow(Duration::from_millis(300)));
    let run = format!("run -s {} -d q.txt --timeout 100ms", server.address());
    work.dnsdyno(&format!("{run} --rate 500 --for 1s --interval 100ms -o run")).completes();
    let record = work.record("run");
    let ends = record.tally().ends;
    assert_eq!((ends.answered, ends.answered_late + ends.timed_out), (0, 500), "{ends:?}");
    // The run does not wait for those after its last timeout.
    assert!(ends.answered_late >= 250, "{ends:?}");
    assert_eq!(record.arrivals().anomalies.unexpected, 0, "each was paired");
}

#[test]
fn a_restart_of_the_server_is_in_the_record() {
    let work = Workplace::with_queries();
    let Some(mut server) = real_server("knot", &ServerOptions::default()) else { return };
    let mut run = work.start(&format!(
        "run -s {} -d q.txt --rate 500 --timeout 200ms --interval 50ms --for 50s -o run",
        server.address()
    ));
    let seen = |what: fn(&Interval) -> bool, count| {
        let work = &work;
        move || work.intervals("run").iter().filter(|interval| what(interval)).count() >= count
    };
    run.until("the server answers", seen(answered_well, 4));
    server.kill().unwrap();
    run.until("its end is seen", seen(answered_nothing, 4));
    server.restart().unwrap();
    let before = work.intervals("run").len();
    let again = || work.intervals("run").iter().skip(before).filter(|one| answered_well(one)).count() >= 4;
    run.until("it answers again", again);
    run.signal(Signal::INT);
    run.wait().gives(130);

    let record = work.record("run");
    let ends = record.tally().ends;
    assert!(ends.answered > 0 && ends.refused > 0, "{ends:?}");
    assert_eq!(ends.not_sent.total(), 0, "a server that is away keeps nothing from being sent: {ends:?}");
    let answers = record.tally().rcodes.total();
    assert_eq!(answers, ends.answered + ends.answered_late);
}

#[test]
fn ctrl_c_stops_sending_and_waits_for_outstanding_queries() {
    let work = Workplace::with_queries();
    let server = responder(slow(Duration::from_millis(400)));
    for load in ["--rate 200", "--outstanding 20"] {
        let name = load.trim_start_matches('-').split(' ').next().unwrap();
        let words =
            format!("run -s {} -d q.txt {load} --for 50s --interval 100ms -o {name}", server.address());
        let mut run = work.start(&words);
        run.until("two intervals settle", || work.intervals(name).len() >= 2);
        run.signal(Signal::INT);
        let ran = run.wait().gives(130).says(&["stopping", "outstanding queries", "Ctrl-C again"]);
        assert!(ran.stdout.contains("ended by the user"), "{}", ran.stdout);

        let record = work.record(name);
        assert!(record.is_complete() && record.ended() == Some(&Ended::Interrupted));
        let tally = record.tally();
        // It waited for outstanding queries, though each took 400 ms.
        assert_eq!(tally.ends.answered, tally.requests, "{load}: {:?}", tally.ends);
        assert_eq!(tally.ends.answered + tally.ends.interrupted, tally.scheduled, "{load}: {:?}", tally.ends);
        assert_eq!(record.events.iter().filter(|event| event.kind == "interrupt").count(), 1);
        assert_eq!(
            work.dnsdyno(&format!("show {name}")).gives(0).stdout + &format!("\nrecord: {name}\n"),
            ran.stdout
        );
    }
}

#[test]
fn ctrl_c_twice_ends_immediately_and_still_writes_the_record() {
    let work = Workplace::with_queries();
    let server = responder(silent());
    let words = format!("run -s {} -d q.txt -q 10 --timeout 90s --interval 100ms -o run", server.address());
    let mut run = work.start(&words);
    run.until("all ten are received", || server.book().udp.counts.received == 10);
    run.signal(Signal::INT);
    // The message after the first: the program waits for the ten.
    run.until("it reports that it stops", || work.stderr().contains("stopping"));
    run.signal(Signal::INT);
    let ran = run.wait().gives(130);
    assert!(ran.took < Duration::from_secs(30), "ten minutes were not waited for: {:?}", ran.took);
    let record = work.record("run");
    assert!(record.is_complete());
    assert_eq!(record.tally().ends, Ends { interrupted: 10, ..Ends::default() });
    assert_eq!(server.book().udp.counts.received, 10, "nothing more was sent");
}

#[test]
fn a_run_continues_to_its_end_if_the_reader_of_its_progress_closes() {
    let work = Workplace::new();
    let server = responder(Faults::default());
    let run =
        format!("run -s {} --ask www.example --rate 200 --for 2s --interval 100ms -o run", server.address());
    // `head` ends after the first line, so the next one fails with a broken pipe.
    work.shell(&format!("{{ $0 {run} 2>&3 >/dev/null; }} 3>&1 | head -n 1"));
    let digest = work.record("run");
    assert!(digest.is_complete());
    assert_eq!(digest.tally().ends.answered, 400);
}

#[test]
fn the_record_of_a_killed_generator_can_be_read() {
    let work = Workplace::with_queries();
    let server = responder(Default::default());
    let words = format!("run -s {} -d q.txt -r 1k --for 50s --interval 50ms -o run", server.address());
    let mut run = work.start(&words);
    let mut settled = 0;
    run.until("ten intervals settle", || {
        settled = work.intervals("run").len() as u64;
        settled >= 10
    });
    run.signal(Signal::KILL);
    let ran = run.wait().dies_of(Signal::KILL);
    assert_eq!(ran.stdout, "");

    let record = work.record("run");
    assert!(!record.is_complete() && record.sum.is_none());
    assert!(record.intervals >= settled, "{} of {settled} at least", record.intervals);
    assert_eq!(record.tally().ends.answered, record.tally().scheduled);
    assert_eq!(record.tally().scheduled, record.intervals * 50, "1,000/s in intervals of 50 ms");
    let shown = work.dnsdyno("show run").gives(0);
    assert!(shown.stdout.starts_with("INCOMPLETE: nothing writes this record any more"), "{}", shown.stdout);
    let json: Value = serde_json::from_str(&work.dnsdyno("show run --json").gives(0).stdout).unwrap();
    assert_eq!(json["complete"], false);
    assert_ne!(json["generator"]["ok"], true, "what has no end cannot be called ok");
    assert_eq!(json["queries"]["scheduled"], record.tally().scheduled);

    // And with an incomplete last line, as after a crash of the host.
    let text = std::fs::read(work.path("run/run.ndjson")).unwrap();
    std::fs::create_dir(work.path("torn")).unwrap();
    work.write("torn/run.ndjson", &text[..text.len() - 100]);
    let shown = work.dnsdyno("show torn").gives(0);
    assert!(shown.stdout.contains("its last line is incomplete"), "{}", shown.stdout);
    assert_eq!(work.record("torn").intervals, record.intervals - 1);
}

#[test]
fn without_a_route_nothing_is_recorded_and_the_message_names_the_interface() {
    if !may_unshare("-n") {
        return;
    }
    let work = Workplace::with_queries();
    // A network namespace in which even the loopback interface is down.
    for (server, address) in
        [("127.0.0.1:53", "127.0.0.1"), ("[::1]:53", "::1"), ("192.0.2.1:53", "192.0.2.1")]
    {
        work.shell_apart("-n", &format!("exec \"$0\" run -s {server} -d q.txt -r 10 --count 5 -o run"))
            .ends_refused(
                3,
                &[
                    &format!("no route to {server}"),
                    "is the interface up?",
                    &format!("ip route get {address}"),
                ],
            );
        assert!(!work.has("run"), "{server}");
    }
}

#[test]
fn queries_without_a_route_are_counted_as_not_sent_until_it_is_back() {
    if !may_unshare("-n") || !has_program("ip") {
        return;
    }
    let work = Workplace::with_queries();
    work.write("story.sh", ROUTE_GOES_AWAY);
    work.shell_apart("-n", "exec sh -e story.sh \"$0\"").gives(130);
    let record = work.record("run");
    let ends = record.tally().ends;
    assert!(ends.not_sent.of(NotSentReason::NoRoute) > 0, "{ends:?}");
    assert_eq!(ends.not_sent.of(NotSentReason::NoRoute), ends.not_sent.total(), "{ends:?}");
    assert!(ends.answered > 0, "{ends:?}");
    let last = work.intervals("run").into_iter().rev().take(15);
    assert!(last.into_iter().any(|interval| answered_well(&interval)), "{ends:?}");
    let shown = work.dnsdyno("show run").gives(0).stdout;
    assert!(shown.contains("not sent: no route"), "{shown}");
    assert!(shown.contains("generator: in doubt"), "what was not sent is not the server's loss:\n{shown}");
}

/// In a network namespace, where the address of the server can be removed. `until_` repeats a command until it
/// succeeds, as long as the run continues.
const ROUTE_GOES_AWAY: &str = r#"
route="local 192.0.2.1 dev lo table local"
ip link set lo up
ip addr add 192.0.2.1/32 dev lo
"$1" respond --listen 192.0.2.1:5300 2> told & server=$!
trap 'kill $server' EXIT
run=$server
until_() { until "$@" 2> /dev/null; do kill -0 $run; sleep 0.02; done; }
lines() { [ "$(wc -l < run/run.ndjson)" -gt $1 ]; }
until_ grep -q listening told
"$1" run -s 192.0.2.1:5300 -d q.txt -r 500 --for 50s --timeout 300ms --interval 50ms -o run 2> said & run=$!
until_ lines 10
ip route del $route
until_ grep -q '"no_route":[1-9]' run/run.ndjson
ip route add $route
until_ lines $(($(wc -l < run/run.ndjson) + 30))
kill -INT $run
wait $run
"#;

//! The relay: its delays, losses and order against what tcpdump saw on both sides, runs through it over UDP and TCP,
//! and its end.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::net::SocketAddr;
use std::ops::Range;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use dnsdyno_capture::CaptureReader;
use dnsdyno_lab::{Need, require};
use dnsdyno_record::Interval;
use dnsdyno_responder::{Config, Faults, Responder, Rule};
use dnsdyno_wire::peek;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::alone::truth::quantile_ns;
use crate::beside::experiment::experiment;
use crate::support::{DNSDYNO, Workplace, closed_port, has_program, may_unshare, responder};

const MS: u64 = 1_000_000;

/// A datagram that tcpdump saw: when, the name asked, and the client's address or the relay's for it.
#[derive(Clone, Debug)]
struct Seen {
    at_ns: u64,
    name: Vec<u8>,
    octets: u64,
    client: SocketAddr,
}

/// What passed the relay, on both sides, in the order of time.
struct Sides {
    /// Client to relay, and relay to server.
    queries: [Vec<Seen>; 2],
    /// Server to relay, and relay to client.
    responses: [Vec<Seen>; 2],
    counts: Value,
}

/// 1,000 queries with names of their own through a relay, all captured; `None` where this host cannot do it.
fn captured(work: &Workplace, relay: &str, load: &str) -> Option<Sides> {
    let needs = [Need::Program { name: "tcpdump", package: "tcpdump" }];
    if !require(&needs) || !has_program("ethtool") || !may_unshare("-n") {
        return None;
    }
    work.write("names.txt", (0..1_000).map(|n| format!("n{n:03}.example A\n")).collect::<String>());
    // Each side has port 53 of an address of its own. What the kernel would cut apart later could not be told apart
    // in the capture.
    let script = format!(
        r#"
        soon() {{ for i in $(seq 300); do "$@" > seen 2>&1 && return; sleep 0.1; done; cat seen >&2; exit 9; }}
        ip link set lo up; ethtool -K lo tx-udp-segmentation off || exit 7
        "$0" respond -l 127.0.0.1:53 > respond.txt 2>&1 & responder=$!
        "$0" relay -l 127.0.0.2:53 --to 127.0.0.1:53 --book relay.json {relay} > relay.txt 2>&1 & relay=$!
        tcpdump -i lo -B 16384 --immediate-mode --time-stamp-precision=nano -U -w lo.pcap port 53 2> lo.txt & dump=$!
        soon grep listening lo.txt; soon grep . respond.txt; soon grep . relay.txt
        "$0" run -s 127.0.0.2 -d names.txt --passes 1 {load} -t 1s --quiet -o run > run.txt 2>&1
        sleep 0.3; kill -INT $relay; wait $relay || exit 8
        all=$(awk '/"(received|passed|duplicated)"/ {{ n += $2 }} END {{ print n }}' relay.json)
        has_all() {{ [ $(tcpdump -n -r lo.pcap 2> err | wc -l) -ge $all ]; }}
        soon has_all
        kill $dump $responder; wait; exit 0"#
    );
    work.shell_apart("-n", &script).gives(0);
    let mut sides = Sides {
        queries: Default::default(),
        responses: Default::default(),
        counts: json(work, "relay.json"),
    };
    let (relay, server) = ("127.0.0.2:53".parse().unwrap(), "127.0.0.1:53".parse().unwrap());
    let mut capture = CaptureReader::open(&work.path("lo.pcap")).unwrap();
    while let Some(message) = capture.next().unwrap() {
        let (side, client) = match (message.source, message.destination) {
            (client, to) if to == relay => (&mut sides.queries[0], client),
            (from, client) if from == server => (&mut sides.responses[0], client),
            (client, to) if to == server => (&mut sides.queries[1], client),
            (_, client) => (&mut sides.responses[1], client),
        };
        let name = peek(message.bytes).unwrap().question.to_vec();
        let octets = message.bytes.len() as u64;
        side.push(Seen { at_ns: message.at_unix_ns, name, octets, client });
    }
    Some(sides)
}

impl Sides {
    fn count(&self, way: &str, what: &str) -> u64 {
        self.counts[way]["datagrams"][what].as_u64().unwrap()
    }
}

/// How long each datagram of the far side took from the near one, in nanoseconds, ascending.
fn delays_ns([near, far]: &[Vec<Seen>; 2]) -> Vec<u64> {
    let came: BTreeMap<&[u8], u64> = near.iter().map(|seen| (&*seen.name, seen.at_ns)).collect();
    let mut delays: Vec<u64> = far.iter().map(|seen| seen.at_ns - came[&*seen.name]).collect();
    delays.sort_unstable();
    delays
}

/// The names that each client of the near side asked, and those of them that the far side saw, in their orders.
fn orders([near, far]: &[Vec<Seen>; 2]) -> Vec<[Vec<&[u8]>; 2]> {
    let clients: BTreeSet<_> = near.iter().map(|seen| seen.client).collect();
    let of = |client| {
        let asked: Vec<&[u8]> =
            near.iter().filter(|seen| seen.client == client).map(|seen| &*seen.name).collect();
        let wanted: BTreeSet<_> = asked.iter().copied().collect();
        let arrived: Vec<&[u8]> =
            far.iter().map(|seen| &*seen.name).filter(|name| wanted.contains(name)).collect();
        let there: BTreeSet<_> = arrived.iter().copied().collect();
        [asked.into_iter().filter(|name| there.contains(name)).collect(), arrived]
    };
    clients.into_iter().map(of).collect()
}

fn tell(what: &str, delays_ns: &[u64], delay_ns: u64) {
    let beyond_us = |share: usize| (delays_ns[delays_ns.len() * share / 100] - delay_ns) as f64 / 1e3;
    println!("{what}: error of the delay {:.1} µs (median), {:.1} µs (p99)", beyond_us(50), beyond_us(99));
}

#[test]
fn tcpdump_saw_the_delay_the_losses_and_the_order_that_were_asked_for() {
    let work = Workplace::new();
    let words = "--delay 10ms --to-server loss=10% --to-client delay=4ms";
    let Some(sides) = captured(&work, words, "--rate 500 --clients 8") else { return };
    for (what, side, delay_ns) in
        [("queries", &sides.queries, 10 * MS), ("responses", &sides.responses, 4 * MS)]
    {
        let delays = delays_ns(side);
        tell(what, &delays, delay_ns);
        assert!(delays[0] >= delay_ns, "{what}: {} ns", delays[0]);
        assert!(delays[delays.len() / 2] < delay_ns + 20 * MS, "{what}: {} ns", delays[delays.len() / 2]);
        assert!(orders(side).iter().all(|[asked, arrived]| asked == arrived), "{what}");
    }
    let [asked, arrived] = &sides.queries;
    // 100 of 1,000 are lost, within four standard deviations.
    assert!((862..=938).contains(&arrived.len()), "{}", arrived.len());
    assert_eq!((asked.len() as u64, arrived.len() as u64), (1_000, sides.count("to_server", "passed")));
    assert_eq!(sides.count("to_server", "lost"), 1_000 - arrived.len() as u64);
    assert_eq!((sides.responses[1].len(), sides.counts["kernel_drops"].as_u64()), (arrived.len(), Some(0)));
    let ports = |side: &[Seen]| side.iter().map(|seen| seen.client).collect::<BTreeSet<_>>().len();
    assert_eq!((ports(asked), ports(arrived)), (8, 8));
    // And the record of the run says the same.
    let ends = work.record("run").tally().ends;
    assert_eq!((ends.answered, ends.timed_out), (arrived.len() as u64, 1_000 - arrived.len() as u64));
    for words in ["passing on to 127.0.0.1:53", "it delays by itself", "to the server: delay 10ms, loss 10%"]
    {
        assert!(work.read("relay.txt").contains(words), "{}", work.read("relay.txt"));
    }
}

#[test]
fn jitter_and_a_share_without_delay_change_the_order_and_some_arrive_twice() {
    let work = Workplace::new();
    let words = "--to-server 'delay=uniform:1ms..30ms duplicate=10%' --to-client 'delay=20ms reorder=20%'";
    let Some(sides) = captured(&work, words, "--rate 500") else { return };
    let changed = |side| orders(side).iter().any(|[asked, arrived]| asked != arrived);
    assert!(changed(&sides.queries));
    let delays = delays_ns(&sides.queries);
    assert!(
        delays[0] >= MS && delays[delays.len() - 1] >= 25 * MS,
        "{} {}",
        delays[0],
        delays[delays.len() - 1]
    );
    let twice = sides.count("to_server", "duplicated");
    assert_eq!(sides.queries[1].len() as u64, 1_000 + twice);
    assert!((62..=138).contains(&twice), "{twice}");
    // Each duplicate was answered too, and so a name is there twice: only the share is looked at.
    let responses = sides.count("to_client", "received");
    let at_once = sides.count("to_client", "at_once");
    assert_eq!(responses, 1_000 + twice);
    assert!((responses * 14 / 100..=responses * 26 / 100).contains(&at_once), "{at_once} of {responses}");
}

#[test]
fn a_rate_limit_holds_on_the_wire_and_its_full_queue_drops() {
    let work = Workplace::new();
    let words = "--to-server 'rate=200kbit queue=20ms'";
    let Some(sides) = captured(&work, words, "--rate 1000") else { return };
    let arrived = &sides.queries[1];
    // With the headers of IP and UDP.
    let takes_ns = (28 + arrived[0].octets) * 8 * 1_000_000_000 / 200_000;
    // What the relay sent late may stand closer together: the whole counts.
    let took_ns = arrived[arrived.len() - 1].at_ns - arrived[0].at_ns;
    let least_ns = (arrived.len() as u64 - 1) * takes_ns;
    let late_ns = sides.counts["to_server"]["late"]["max_ns"].as_u64().unwrap();
    assert!(took_ns + late_ns >= least_ns, "{} in {took_ns} ns", arrived.len());
    let dropped = sides.count("to_server", "queue_full");
    assert!(dropped > 100, "{dropped}");
    assert_eq!(dropped + arrived.len() as u64, 1_000);
    // One on its way, and 20 ms of others before it.
    let delays = delays_ns(&sides.queries);
    let longest_ns = 20 * MS + 2 * takes_ns;
    assert!(delays[delays.len() / 2] <= longest_ns + 20 * MS, "{}", delays[delays.len() / 2]);
}

/// A `dnsdyno relay` process, in addition to the program that the workplace runs.
struct RelayProcess {
    child: Child,
    address: SocketAddr,
}

impl RelayProcess {
    /// Starts it on a free port, and waits until it has printed its address to `relay.txt`.
    fn start(work: &Workplace, words: &str) -> RelayProcess {
        RelayProcess::changing(work, words, &[])
    }

    /// The same, with these changes of its path.
    fn changing(work: &Workplace, words: &str, changes: &[&str]) -> RelayProcess {
        let mut command = Command::new(DNSDYNO);
        command
            .args(["relay", "--listen", "127.0.0.1:0", "--book", "relay.json"])
            .args(words.split_whitespace())
            .args(changes.iter().flat_map(|change| ["--at", change]));
        let said = File::create(work.path("relay.txt")).unwrap();
        let mut child = command.current_dir(work.path("")).stderr(said).spawn().unwrap();
        let end = Instant::now() + Duration::from_secs(30);
        let address = loop {
            let said = work.read("relay.txt");
            let is_whole = said.contains("to the client");
            if let Some(address) =
                said.split_whitespace().find_map(|word| word.parse().ok()).filter(|_| is_whole)
            {
                break address;
            }
            assert!(child.try_wait().unwrap().is_none() && Instant::now() < end, "{said}");
            std::thread::sleep(Duration::from_millis(5));
        };
        RelayProcess { child, address }
    }

    /// Ends it with `signal`; it must exit with code 0. Gives its counts.
    fn end(mut self, work: &Workplace, signal: Signal) -> Value {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
        assert!(self.child.wait().unwrap().success());
        json(work, "relay.json")
    }
}

impl Drop for RelayProcess {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_run_over_tcp_has_the_delay_of_both_directions_and_no_loss() {
    let work = Workplace::new();
    let server = responder(Faults::default());
    let relay = RelayProcess::start(&work, &format!("--to {} --delay 15ms --loss 30%", server.address()));
    let words = format!(
        "run -s {} --ask www.example --transport tcp --clients 4 --queries-per-connection 0 --rate 200 --count 300 \
         --quiet -o run",
        relay.address
    );
    work.dnsdyno(&words).completes();
    let digest = work.record("run");
    assert_eq!(digest.tally().ends.answered, 300);
    let low_ns = quantile_ns(digest.tally().service_latency(), 0.01);
    assert!(low_ns >= 30 * MS, "{low_ns}");
    assert!(work.read("relay.txt").contains("TCP has the delay and the rate only"));
    let counts = relay.end(&work, Signal::TERM);
    assert_eq!(counts["connections"]["accepted"], server.book().tcp.connections.accepted);
    assert_eq!(counts["to_server"]["datagrams"]["received"], 0);
}

#[test]
fn truncated_responses_are_asked_again_over_tcp_through_the_relay() {
    let work = Workplace::new();
    let server =
        Responder::start(Config { rule: Rule::Truncate(Box::default()), ..Config::default() }).unwrap();
    let relay = RelayProcess::start(&work, &format!("--to {} --delay 5ms", server.address()));
    let words = format!(
        "run -s {} --ask www.example --transport udp+tcp --rate 200 --count 200 --quiet -o run",
        relay.address
    );
    work.dnsdyno(&words).completes();
    let digest = work.record("run");
    assert_eq!((digest.tally().ends.answered, digest.tally().requests), (200, 400));
    let counts = relay.end(&work, Signal::INT);
    assert_eq!(counts["to_client"]["datagrams"]["passed"], 200);
    assert_eq!(counts["connections"]["accepted"], 200);
}

#[test]
fn a_server_that_is_away_is_a_timeout_for_the_client_and_a_count_of_the_relay() {
    let work = Workplace::new();
    let relay = RelayProcess::start(&work, &format!("--to {}", closed_port()));
    let words =
        format!("run -s {} --ask www.example --rate 50 --count 20 -t 300ms --quiet -o run", relay.address);
    work.dnsdyno(&words).completes();
    assert_eq!(work.record("run").tally().ends.timed_out, 20);
    let counts = relay.end(&work, Signal::INT);
    let to_server = &counts["to_server"]["datagrams"];
    assert!(to_server["refused"].as_u64().is_some_and(|refused| (1..=20).contains(&refused)), "{counts:#}");
    assert_eq!((&to_server["received"], &to_server["passed"]), (&20.into(), &20.into()));
}

/// The intervals of a run whose queries were due in this part of it, in ms, with their service latencies: the lowest
/// hundredth and the median, in ns.
fn latencies_ns(work: &Workplace, run: &str, due_ms: Range<u64>) -> Vec<[u64; 2]> {
    let is_in = |one: &Interval| one.from_ns >= due_ms.start * MS && one.to_ns <= due_ms.end * MS;
    let all = work.intervals(run);
    let latency = |one: &Interval| [0.01, 0.5].map(|share| quantile_ns(one.tally.service_latency(), share));
    all.iter().filter(|one| is_in(one)).map(latency).collect()
}

/// Checks latencies against a path of `delay_ms` in each direction, whose relay was late by what its book says.
fn have_the_delay(latencies_ns: &[[u64; 2]], delay_ms: u64, book: &Value) {
    assert!(latencies_ns.len() >= 3, "{latencies_ns:?}");
    let late_ns = |way: &str| book[way]["late"]["max_ns"].as_u64().unwrap();
    // What generator and server add to a round trip on a busy host.
    let highest_ns = 2 * delay_ms * MS + late_ns("to_server") + late_ns("to_client") + 20 * MS;
    for [low_ns, middle_ns] in latencies_ns {
        assert!(*low_ns >= 2 * delay_ms * MS && *middle_ns <= highest_ns, "{delay_ms} ms: {latencies_ns:?}");
    }
}

/// What the relay has lost on command, in both directions.
fn lost(book: &Value) -> u64 {
    ["to_server", "to_client"].iter().map(|way| book[way]["datagrams"]["lost"].as_u64().unwrap()).sum()
}

#[test]
fn a_path_that_changes_has_the_delay_and_the_losses_of_before_and_after_in_run_and_book() {
    let work = Workplace::new();
    let server = responder(Faults::default());
    let words = format!("--to {} --delay 10ms", server.address());
    let relay = RelayProcess::changing(&work, &words, &["3s delay=60ms loss=5%"]);
    work.dnsdyno(&format!(
        "run -s {} --ask www.example --rate 200 --for 5s --interval 100ms -t 500ms --quiet -o run",
        relay.address
    ))
    .completes();
    let book = relay.end(&work, Signal::TERM);
    let [change] = &book["changes"].as_array().unwrap()[..] else { panic!("{book:#}") };
    assert!(change["at_ns"].as_u64().unwrap() >= 3_000 * MS, "{change}");
    assert_eq!(
        (&change["to_server"], &change["to_client"]),
        (&change["to_client"], &"delay 60ms, loss 5%".into())
    );
    assert!(
        work.read("relay.txt").contains("s: to the server: delay 60ms, loss 5%; to the client: delay 60ms")
    );
    let digest = work.record("run");
    let at_ms = (change["at_unix_ns"].as_u64().unwrap() - digest.header.started_unix_ns) / MS;
    have_the_delay(&latencies_ns(&work, "run", 0..at_ms - 50), 10, &book);
    have_the_delay(&latencies_ns(&work, "run", at_ms + 150..5_000), 60, &book);
    let tally = digest.tally();
    assert_eq!((tally.ends.timed_out, tally.scheduled), (lost(&book), 1_000));
    assert!(lost(&book) > 15, "{book:#}");
    let before = &change["to_server_before"];
    assert_eq!((&before["lost"], before["received"].as_u64() > Some(0)), (&0.into(), true), "{change}");
}

#[test]
fn an_event_changes_the_path_of_each_run_and_the_next_run_begins_on_the_old_one() {
    let work = Workplace::new();
    let template = format!(
        "package = \"none\"\nprogram = \"{DNSDYNO}\"\nconfig = \"\"\n\
         command = [\"respond\", \"--listen\", \"{{address}}:{{port}}\"]\n\
         version = {{ arguments = [\"--version\"], after = \"dnsdyno \" }}\n\
         [ready]\ntype = \"A\"\ntransports = [\"udp\"]\nport_taken = [\"in use\"]\n"
    );
    work.write("respond.toml", &template);
    let text = r#"
repeats = 2
drop-first = 0
cool-down = "20ms"
start = "kept"
steady = "off"
in-doubt = "keep"
watch = "off"

[run]
ask = ["www.example A"]
rate = 200
for = "2s"
timeout = "500ms"
interval = "100ms"

[[server]]
name = "respond"
template = "./respond.toml"
path = { delay = "10ms" }

[[load]]
name = "steady"

[[event]]
at = "900ms"
path = { delay = "60ms", to-client = "loss=10%" }
"#;
    work.write("x.toml", text);
    experiment(&work, "-o out").gives(0);
    let mut lost_before = 0;
    for (number, run) in ["out/runs/001", "out/runs/002"].into_iter().enumerate() {
        let digest = work.record(run);
        let marks: Vec<_> = digest.events.iter().map(|event| (&*event.kind, event.at_ns)).collect();
        let [("happens", from_ns), ("happened", to_ns)] = marks[..] else { panic!("{marks:?}") };
        assert!(digest.events[0].message.contains("delay=60ms, to the client: loss=10%"), "{marks:?}");
        let facts: Value = json(&work, &format!("{run}/server.json"));
        let book = &facts["paths"][0][1];
        have_the_delay(&latencies_ns(&work, run, 0..from_ns / MS - 100), 10, book);
        have_the_delay(&latencies_ns(&work, run, to_ns / MS + 150..2_000), 60, book);
        // The relay stays from run to run, and its book goes on.
        assert_eq!(digest.tally().ends.timed_out, lost(book) - lost_before, "{book:#}");
        assert!(lost(book) > lost_before + 5, "{book:#}");
        lost_before = lost(book);
        assert_eq!(book["to_server"]["datagrams"]["lost"], 0);
        let changes: Vec<&str> = book["changes"]
            .as_array()
            .unwrap()
            .iter()
            .map(|one| one["to_client"].as_str().unwrap())
            .collect();
        let expected = ["delay 60ms, loss 10%", "delay 10ms", "delay 60ms, loss 10%"];
        assert_eq!(changes, expected[..2 * number + 1]);
    }
}

#[test]
fn a_change_of_the_path_that_cannot_be_is_told_before_it_listens() {
    let work = Workplace::new();
    for (at, words) in [
        ("'delay=5ms'", "--at 'delay=5ms'"),
        ("'5s'", "say what changes"),
        ("'5s delay=5'", "'5' is not a delay"),
        ("'5s to-client reorder=1%'", "add --delay"),
        ("'1s delay=5ms' --at '2s delay=0s reorder=1%'", "--at '2s delay=0s reorder=1%'"),
    ] {
        let ran = work.shell(&format!("\"$0\" relay --listen 127.0.0.1:0 --to 127.0.0.1:9 --at {at}"));
        ran.ends_refused(2, &[words]);
    }
}

#[test]
fn it_ends_by_itself_and_what_it_cannot_do_it_says() {
    let work = Workplace::new();
    let ran = work
        .dnsdyno("relay --listen 127.0.0.1:0 --to 127.0.0.1:9 --delay 1min --memory 4M --for 200ms")
        .gives(0);
    let counts: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(counts["to_server"]["datagrams"]["received"], 0);
    ran.says(&["holds 273 short datagrams a second", "raise --memory"]);
    let taken = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    let at = taken.local_addr().unwrap();
    work.dnsdyno(&format!("relay --listen {at} --to 127.0.0.1:9"))
        .ends_refused(3, &["in use", "another port"]);
    work.dnsdyno("relay --listen 127.0.0.1:0 --to 127.0.0.1:9 --delay file:none")
        .ends_refused(2, &["No such file"]);
    if may_unshare("-n") {
        // A namespace without any interface that is up.
        let ran = work.shell_apart("-n", "\"$0\" relay --listen 127.0.0.1:0 --to 192.0.2.1:53");
        ran.ends_refused(3, &["cannot send to 192.0.2.1:53", "route"]);
    }
    work.write("latencies.txt", "3ms\n4ms\nfast\n");
    work.dnsdyno("relay --listen 127.0.0.1:0 --to 127.0.0.1:9 --delay file:latencies.txt")
        .ends_refused(2, &["line 3", "'fast'"]);
}

fn json(work: &Workplace, name: &str) -> Value {
    serde_json::from_str(&work.read(name)).unwrap()
}

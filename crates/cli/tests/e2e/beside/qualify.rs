//! Qualifications of servers that fail in a known way: each fails the right test with the right sentence, also when the
//! generator is killed in each test and started again.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use dnsdyno_lab::{Need, Server, ServerOptions, ServerSpec, require, within_tries};
use dnsdyno_record::{Line, RunReader};
use dnsdyno_responder::{Delay, Faults, Limit};
use rustix::process::Signal;
use serde_json::Value;

use crate::support::{DNSDYNO, Ran, Workplace, has_program, may_unshare, responder};

/// Two steps of a second, a burst of 11 s, a long run of 3 s, rests of a second.
const SCALED: &str = "--stair 50..300 --step 250 --hold 10s --burst 110s --long 30s --scale 1/10 --timeout 2s \
                      --response-time 2s --seed 1";

/// Starts the qualification again and again; it is killed when it has recorded a second of each of `tests`, in turn.
fn killed_in(work: &Workplace, words: &str, tests: &[&str]) -> Ran {
    for test in tests {
        let mut started = work.start(words);
        started.until(&format!("the {test}"), || has_reached(work, test));
        started.signal(Signal::KILL);
        started.wait().dies_of(Signal::KILL);
    }
    work.dnsdyno(words)
}

/// Whether the last run is one of this test with a second in its record, or one of a later test.
fn has_reached(work: &Workplace, test: &str) -> bool {
    let runs = runs(work);
    let of_it = |(_, why): &(u64, String)| why.starts_with(test);
    match runs.last() {
        Some(last) if of_it(last) => is_in(work, last, test),
        _ => runs.iter().any(of_it),
    }
}

/// The runs in the journal, in the order in which they began: number and what each is for.
fn runs(work: &Workplace) -> Vec<(u64, String)> {
    if !work.has("q/journal.ndjson") {
        return Vec::new();
    }
    let lines = work.read("q/journal.ndjson");
    let lines = lines.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    lines.filter_map(|line| Some((line["began"].as_u64()?, line["why"].as_str()?.to_owned()))).collect()
}

/// Whether this is a run of the test, and the record of its first second is on the disk.
fn is_in(work: &Workplace, (number, why): &(u64, String), test: &str) -> bool {
    let record = work.path(&format!("q/runs/{number:03}"));
    let is_interval = |line: Result<Line, _>| matches!(line, Ok(Line::Interval(_)));
    why.starts_with(test) && RunReader::open(&record).is_ok_and(|mut lines| lines.any(is_interval))
}

/// The verdict that was written, which is that in `ran`.
fn verdict(work: &Workplace) -> Value {
    serde_json::from_str(&work.read("q/qualify.json")).unwrap()
}

/// Complains unless the sentence has each of these words; a generator in doubt may be the reason, and then it is tried
/// again.
fn must_say(work: &Workplace, ran: &Ran, words: &[&str]) -> Result<(), String> {
    let verdict = verdict(work);
    let sentence = verdict["sentence"].as_str().unwrap();
    assert!(ran.stdout.starts_with(sentence), "{ran:?}");
    match words.iter().find(|word| !sentence.contains(**word)) {
        None => Ok(()),
        Some(word) => Err(format!("no {word:?} in {sentence}\n{}\n{}", ran.stdout, ran.stderr)),
    }
}

/// Each test that was made as `burst 500 failed`. One that was repeated because the host is busy counts once.
fn tests(verdict: &Value) -> Vec<String> {
    let of = |test: &Value| {
        let outcome = test["outcome"].as_str().unwrap().replace("undecided", "failed");
        format!("{} {} {outcome}", test["test"].as_str().unwrap(), test["qps"])
    };
    let mut tests: Vec<_> = verdict["tests"].as_array().unwrap().iter().map(of).collect();
    tests.dedup();
    tests
}

#[test]
fn a_server_that_holds_the_load_is_qualified_and_its_result_is_kept() {
    let work = Workplace::with_queries();
    let server = responder(Faults::default());
    let words = format!(
        "qualify -s {} -d q.txt --stair 50..100 --step 50 --hold 1s --burst 1s --long 2s --timeout 1s -o q",
        server.address()
    );
    let ran = work.dnsdyno(&words).gives(0);
    assert!(
        ran.stdout.starts_with("qualified: at least 100 queries/s pass the stair, the burst of 1 s and"),
        "{ran:?}"
    );
    let verdict = verdict(&work);
    assert_eq!(tests(&verdict), ["stair 100.0 passed", "burst 100.0 passed", "long 100.0 passed"]);
    assert_eq!(verdict["notes"][0], "the function test was not made (no --function)");
    let page = work.read("q/report.html");
    assert!(page.contains("qualified: at least 100 queries/s") && page.contains("burst at 100 queries/s"));
    // Typed again it reads what it has, and makes no run.
    let again = work.dnsdyno(&format!("{words} --json")).gives(0);
    assert_eq!(serde_json::from_str::<Value>(&again.stdout).unwrap(), verdict);
    assert_eq!(runs(&work).len(), 3);
    // Another question is another qualification.
    work.dnsdyno(&format!("{words} --need 1k")).ends_refused(2, &["holds another campaign"]);
    let low = work.dnsdyno(&format!("{words}2 --need 1k --skip long")).gives(1);
    assert!(low.stdout.contains("less than the 1,000 that are needed"), "{low:?}");
}

#[test]
fn a_dry_run_says_what_it_does_and_how_long_it_takes() {
    let work = Workplace::with_queries();
    let ran = work.dnsdyno("qualify -s 127.0.0.1:9 -d q.txt --scale 1/48 --dry-run").gives(0);
    // 24 steps of 1.25 s, 12.5 s and an hour.
    for words in
        ["rehearsal at scale 1/48", "2,000 to 25,000 queries/s in 24 steps of 1.2 s", "it takes 60 min 40 s"]
    {
        assert!(ran.stdout.contains(words), "{words}: {ran:?}");
    }
    assert!(!work.has("runs"));
    work.dnsdyno("qualify -s 127.0.0.1:9 -d q.txt --long 1000h").ends_refused(2, &["add --however-long"]);
}

#[test]
fn ctrl_c_ends_with_the_command_that_resumes_it() {
    let work = Workplace::with_queries();
    let server = responder(Faults::default());
    let words = format!(
        "qualify -s {} -d q.txt --stair 50..50 --hold 1s --skip burst --long 4s --timeout 1s -o q",
        server.address()
    );
    let mut started = work.start(&words);
    started.until("the long run", || runs(&work).last().is_some_and(|run| is_in(&work, run, "long run")));
    started.signal(Signal::INT);
    let ran = started.wait().gives(130);
    let resume = ran.stderr.lines().find_map(|line| line.strip_prefix("dnsdyno: to resume: ")).unwrap();
    let resumed = work.shell(resume).gives(0);
    assert!(resumed.stdout.contains("the long run at 50 queries/s was without load for"), "{resumed:?}");
    let long = &verdict(&work)["tests"][1];
    assert_eq!((long["runs"].as_array().unwrap().len(), &long["runs"][0]["cut"]), (2, &Value::Bool(true)));
}

#[test]
fn a_full_disk_ends_it_and_with_space_it_is_resumed() {
    if !may_unshare("--mount") {
        return;
    }
    let work = Workplace::with_queries();
    let server = responder(Faults::default());
    let words = format!(
        "qualify -s {} -d q.txt --stair 50..50 --hold 1s --burst 1s --skip long --timeout 1s --quiet -o full/q",
        server.address()
    );
    let ran = work.shell_apart(
        "--mount",
        &format!(
            "mkdir full && mount -t tmpfs -o size=12k none full && \"$0\" {words}; echo \"first $?\"; \
             mount -o remount,size=50m full && \"$0\" {words}"
        ),
    );
    let ran = ran.gives(0).says(&["dnsdyno: to resume: ", "No space left on device"]);
    assert!(
        ran.stdout.contains("first 3\n") && ran.stdout.contains("qualified: at least 50 queries/s"),
        "{ran:?}"
    );
}

#[test]
fn a_limit_that_shows_only_after_some_time_fails_the_burst_and_the_load_is_lowered() {
    within_tries(3, "the limit of 150 queries/s", |_| {
        let work = Workplace::with_queries();
        let second = Duration::from_secs(1);
        let limit = Some(Limit { work: Delay::Fixed(second / 150), after: 8 * second });
        let server = responder(Faults { limit, limit_queue: Some(second), ..Faults::default() });
        let words = format!("qualify -s {} -d q.txt {SCALED} -o q", server.address());
        let ran = killed_in(&work, &words, &["stair", "burst", "long run"]);
        must_say(
            &work,
            &ran,
            &[
                "50 queries/s pass the stair, the burst of 11 s and the long run of 3 s; at 300 queries/s the burst ",
                "failed: continuous errors (queries without an answer in time for 3 s)",
                "(rehearsal at scale 1/10",
            ],
        )?;
        let verdict = verdict(&work);
        let expected = ["stair 300.0 passed", "burst 300.0 failed", "burst 50.0 passed", "long 50.0 passed"];
        let cut = verdict["gaps"].as_array().unwrap().len();
        match tests(&verdict) == expected && cut == 1 && ran.code() == Some(0) {
            true => Ok(()),
            false => Err(format!("{:?} {cut} {ran:?}", tests(&verdict))),
        }
    });
}

#[test]
fn a_server_that_leaks_memory_and_dies_in_the_long_run_fails_it_with_when_it_died() {
    within_tries(3, "a server that leaks memory", |_| {
        let work = Workplace::with_queries();
        let mut server = Leaking::start();
        let words = format!(
            "qualify -s {} -d q.txt {} -o q --skip stair",
            server.address,
            SCALED.replace("30s", "10m")
        );
        // The generator is killed in the burst and in the long run. The memory lasts for both and a third of the long
        // run, and then it is the server that dies.
        for test in ["burst", "long run"] {
            let mut started = work.start(&words);
            started.until(test, || has_reached(&work, test));
            started.signal(Signal::KILL);
            started.wait().dies_of(Signal::KILL);
        }
        let ran = work.dnsdyno(&words).gives(1);
        let died = server.process.try_wait().unwrap().expect("the server has died by itself");
        assert_eq!(died.code(), Some(3), "for want of memory: {died}");
        must_say(
            &work,
            &ran,
            &[
                "not qualified: at 300 queries/s the long run failed: the server stopped answering, ",
                " in; it did not answer again",
            ],
        )?;
        let expected = ["burst 300.0 passed", "long 300.0 failed", "burst 50.0 failed"];
        let verdict = verdict(&work);
        match tests(&verdict) == expected {
            true => Ok(()),
            false => Err(format!("{:?}", tests(&verdict))),
        }
    });
}

#[test]
fn a_secondary_that_stops_following_fails_the_function_test_by_its_name() {
    let has_servers = require(&[Need::Server("bind")]) && has_program("knsupdate") && has_program("kdig");
    if !has_servers {
        return;
    }
    within_tries(3, "a secondary that stops following", |_| {
        let work = Workplace::with_queries();
        let primary = ServerOptions {
            values: [("zone_options".to_owned(), "allow-update { any; };".to_owned())].into(),
            ..ServerOptions::default()
        };
        let primary = ServerSpec::named("bind").unwrap().start(&primary).unwrap();
        let path = Path::start(primary.address());
        let secondary = secondary_of(path.address);
        work.write("commands.toml", timetable(&primary, &secondary));
        let words = format!(
            "qualify -s {} -d q.txt --stair 50..50 --hold 1s --burst 1s --function commands.toml --skip long \
             --timeout 1s -o q",
            primary.address()
        );
        // It follows, and the generator is killed in the function test: that is made again from its begin.
        let ran = killed_in(&work, &words, &["function"]);
        must_say(
            &work,
            &ran,
            &["qualified: at least 50 queries/s pass the stair, the burst of 1 s and the function test"],
        )?;
        let function = verdict(&work)["tests"][2].clone();
        let of = |look: Value| {
            let commands = function["commands"].as_array().unwrap();
            commands
                .iter()
                .filter(|command| command["look_for"] == look)
                .map(|c| c["succeeded"].as_u64().unwrap())
                .sum::<u64>()
        };
        assert_eq!((of(Value::Null), of("the secondary".into())), (6, 6), "{function:#}");

        // It stops following in the second round, and still answers.
        std::fs::remove_dir_all(work.path("q")).unwrap();
        let mut started = work.start(&words);
        let results = || runs(&work).last().map(|(number, _)| format!("q/runs/{number:03}/commands.ndjson"));
        started.until("the first round", || {
            results().is_some_and(|file| work.has(&file) && work.read(&file).contains("\"the secondary\""))
        });
        path.ends();
        let ran = started.wait().gives(1);
        must_say(
            &work,
            &ran,
            &[
                "not qualified",
                "at 50 queries/s the function test failed: ",
                "the secondary did not show it within",
            ],
        )
    });
}

/// Records that are added and deleted on the primary, and looked for on the secondary.
fn timetable(primary: &Server, secondary: &Server) -> String {
    let update = |command: &str| {
        let (at, port) = (primary.address().ip(), primary.address().port());
        format!(
            "printf 'server {at} {port}\\nzone dyno.example.\\nupdate {command}\\nsend\\n' | knsupdate -t 5"
        )
    };
    let ask = format!(
        "kdig +short +timeout=1 +retry=0 @{} -p {} n$DNSDYNO_ROUND.dyno.example. A",
        secondary.address().ip(),
        secondary.address().port()
    );
    let task = |name: &str, after: u32, update: String, seen: String| {
        format!(
            "[[task]]\nname = \"{name}\"\nevery = \"5s\"\nafter = \"{after}s\"\ntimeout = \"5s\"\nrun = \
            '''{update}'''\n\
             [[task.look-for]]\nname = \"the secondary\"\nrun = '''{seen}'''\nwithin = \"10s\"\n"
        )
    };
    let add = update("add n'$DNSDYNO_ROUND'.dyno.example. 60 A 192.0.2.99");
    let delete = update("delete n'$DNSDYNO_ROUND'.dyno.example. A");
    format!(
        "for = \"28s\"\n{}{}",
        task("add", 0, add, format!("{ask} | grep -q 192.0.2.99")),
        task("delete", 3, delete, format!("test -z \"$({ask})\""))
    )
}

/// BIND as a secondary that asks the primary each second.
fn secondary_of(primary: SocketAddr) -> Server {
    let text = include_str!("../../../../../testbed/servers/bind.toml");
    let primaries = format!(
        "type secondary; primaries port {} {{ {}; }}; max-refresh-time 1; min-refresh-time 1; max-retry-time 1; \
         min-retry-time 1;",
        primary.port(),
        primary.ip()
    );
    let text = text.replace("type primary;", &primaries);
    ServerSpec::from_toml("secondary", &text).unwrap().start(&ServerOptions::default()).unwrap()
}

/// The path between primary and secondary, over UDP and TCP, that can end.
struct Path {
    address: SocketAddr,
    ended: Arc<AtomicBool>,
}

impl Path {
    fn start(to: SocketAddr) -> Path {
        let (tcp, udp) = (0..100)
            .find_map(|_| {
                let udp = UdpSocket::bind("127.0.0.1:0").ok()?;
                Some((TcpListener::bind(udp.local_addr().ok()?).ok()?, udp))
            })
            .expect("a port that is free for both");
        let (address, ended) = (udp.local_addr().unwrap(), Arc::new(AtomicBool::new(false)));
        let of_udp = Arc::clone(&ended);
        udp.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
        thread::spawn(move || {
            let mut bytes = [0; 65_535];
            while !of_udp.load(Ordering::Relaxed) {
                let Ok((length, from)) = udp.recv_from(&mut bytes) else { continue };
                let answer = || -> std::io::Result<usize> {
                    let out = UdpSocket::bind("127.0.0.1:0")?;
                    out.set_read_timeout(Some(Duration::from_secs(1)))?;
                    out.send_to(&bytes[..length], to)?;
                    let length = out.recv(&mut bytes)?;
                    udp.send_to(&bytes[..length], from)
                };
                let mut answer = answer;
                let _ = answer();
            }
        });
        let of_tcp = Arc::clone(&ended);
        tcp.set_nonblocking(true).unwrap();
        thread::spawn(move || {
            while !of_tcp.load(Ordering::Relaxed) {
                match tcp.accept() {
                    Ok((inside, _)) => drop(forward(inside, to)),
                    Err(_) => thread::sleep(Duration::from_millis(10)),
                }
            }
        });
        Path { address, ended }
    }

    fn ends(&self) {
        self.ended.store(true, Ordering::Relaxed);
    }
}

impl Drop for Path {
    fn drop(&mut self) {
        self.ends();
    }
}

/// Both directions of a connection, each in a thread until its end.
fn forward(inside: TcpStream, to: SocketAddr) -> std::io::Result<()> {
    inside.set_nonblocking(false)?;
    let outside = TcpStream::connect(to)?;
    for (mut from, mut into) in
        [(inside.try_clone()?, outside.try_clone()?), (outside.try_clone()?, inside.try_clone()?)]
    {
        thread::spawn(move || {
            let mut bytes = [0; 4_096];
            while let Ok(length @ 1..) = from.read(&mut bytes) {
                if into.write_all(&bytes[..length]).is_err() {
                    break;
                }
            }
            let _ = into.shutdown(std::net::Shutdown::Write);
        });
    }
    Ok(())
}

/// A server in a process of its own that leaks memory, of which it may have only so much.
struct Leaking {
    process: Child,
    address: SocketAddr,
}

impl Leaking {
    fn start() -> Leaking {
        let mut command = Command::new("sh");
        let limited = format!("ulimit -d {MEMORY_KIB}; exec \"$0\" respond --listen 127.0.0.1:0 --leak 16k");
        command.args(["-c", &limited, DNSDYNO]).stdin(Stdio::null()).stdout(Stdio::null());
        let mut process = command.stderr(Stdio::piped()).spawn().unwrap();
        let mut said = Vec::new();
        let stderr = process.stderr.as_mut().unwrap();
        let mut byte = [0];
        while said.last() != Some(&b'\n') && stderr.read(&mut byte).unwrap() > 0 {
            said.push(byte[0]);
        }
        let said = String::from_utf8(said).unwrap();
        let address = said.split_whitespace().find_map(|word| word.parse().ok());
        Leaking { process, address: address.unwrap_or_else(|| panic!("{said}")) }
    }
}

impl Drop for Leaking {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// What the server may have: 16 KiB for each of some 12,000 queries. Two bursts of 11 s and the begin of two long runs
/// of a minute, each at 300 queries a second, are 3,300 to 9,000 of them.
const MEMORY_KIB: u64 = 200 * 1024;

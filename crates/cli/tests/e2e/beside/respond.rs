//! `dnsdyno respond`: its message at the start, and its counts at the end.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::support::{DNSDYNO, Workplace};

/// A `dnsdyno respond` process, in addition to the program that the workplace runs.
pub(crate) struct RespondProcess {
    child: Child,
    pub(crate) address: SocketAddr,
    /// All addresses that it printed, in its order.
    pub(crate) addresses: Vec<SocketAddr>,
}

impl RespondProcess {
    /// Starts it, and waits until it has printed its addresses.
    pub(crate) fn start(work: &Workplace, words: &str) -> RespondProcess {
        let mut command = Command::new(DNSDYNO);
        command.args(words.split_whitespace()).current_dir(work.path("")).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut said = String::new();
        BufReader::new(child.stderr.take().unwrap()).read_line(&mut said).unwrap();
        let addresses: Vec<_> = said.split_whitespace().filter_map(|word| word.parse().ok()).collect();
        let address = *addresses.first().unwrap_or_else(|| panic!("no address in {said:?}"));
        RespondProcess { child, address, addresses }
    }

    /// Ends it with SIGINT; it must exit with code 0.
    pub(crate) fn end(mut self) {
        kill_process(Pid::from_child(&self.child), Signal::INT).unwrap();
        assert!(self.child.wait().unwrap().success());
    }
}

impl Drop for RespondProcess {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn it_prints_its_addresses_at_the_start_and_writes_its_counts_at_the_end() {
    let work = Workplace::new();
    let server =
        RespondProcess::start(&work, "respond --listen 127.0.0.1:0 --loss 10% --seed 3 --book book.json");
    let words = format!("run -s {} --ask www.example --count 1000 -t 500ms --quiet -o run", server.address);
    work.dnsdyno(&words).gives(0);
    server.end();
    let book: Value = serde_json::from_str(&work.read("book.json")).unwrap();
    let (counts, digest) = (&book["udp"]["counts"], work.record("run"));
    assert_eq!((counts["received"].as_u64(), digest.tally().scheduled), (Some(1_000), 1_000));
    assert!(counts["dropped"].as_u64() > Some(50));
    assert_eq!(counts["dropped"].as_u64(), Some(digest.tally().ends.timed_out));
    assert!(book["udp"]["hold"]["p99_ns"].is_u64(), "{book:#}");
}

#[test]
fn it_ends_by_itself_and_prints_the_book() {
    let work = Workplace::new();
    let ran = work.dnsdyno("respond --listen 127.0.0.1:0 --for 200ms").gives(0);
    let book: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(book["udp"]["counts"]["received"].as_u64(), Some(0));
}

/// Runs it where each table of files has 128 places, and opens 160 connections; returns what it said and counted.
fn with_160_connections(threads: usize) -> (String, Value) {
    let work = Workplace::new();
    let limited = format!(
        "ulimit -n 128; exec {DNSDYNO} respond --listen 127.0.0.1:0 --threads {threads} --book book.json 2> said"
    );
    let mut child = Command::new("sh").args(["-c", &limited]).current_dir(work.path("")).spawn().unwrap();
    let said = |what: &str| {
        (0..1_000).any(|_| {
            std::thread::sleep(Duration::from_millis(20));
            work.path("said").exists() && work.read("said").contains(what)
        })
    };
    assert!(said("Ctrl-C to stop"));
    let text = work.read("said");
    let address: SocketAddr = text.split_whitespace().find_map(|word| word.parse().ok()).unwrap();
    let mut streams: Vec<_> = (0..160).map(|_| TcpStream::connect(address).unwrap()).collect();
    if threads == 1 {
        assert!(said("new connections wait"));
        // They are served when others have ended.
        streams.drain(..80);
    }
    for stream in &mut streams {
        stream.write_all(b"\0\x15\x12\x34\x01\0\0\x01\0\0\0\0\0\0\x03www\0\0\x01\0\x01").unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        stream.read_exact(&mut [0; 4]).unwrap();
    }
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    assert!(child.wait().unwrap().success());
    (work.read("said"), serde_json::from_str(&work.read("book.json")).unwrap())
}

#[test]
fn it_says_where_its_limit_of_files_ends() {
    let (said, book) = with_160_connections(1);
    assert!(said.contains("a thread has 128 files open") && said.contains("Add --threads"), "{said}");
    assert_eq!(said.matches("new connections wait").count(), 1, "{said}");
    let connections = &book["tcp"]["connections"];
    assert_eq!(connections["accepted"].as_u64(), Some(160));
    assert!(connections["out_of_files"].as_u64() > Some(0), "{connections}");
}

#[test]
fn each_of_its_threads_may_have_as_many_files() {
    // Of 8 threads none has 60 of 160 connections.
    let (said, book) = with_160_connections(8);
    assert!(!said.contains("new connections wait"), "{said}");
    let connections = &book["tcp"]["connections"];
    assert_eq!(
        (connections["accepted"].as_u64(), connections["out_of_files"].as_u64()),
        (Some(160), Some(0))
    );
}

#[test]
fn what_it_cannot_do_it_says() {
    let work = Workplace::new();
    work.write("bad.zone", "example. 300 IN SOA a. b. 1 2 3 4 5\nwww 300 IN A not-an-address\n");
    work.dnsdyno("respond --listen 127.0.0.1:0 --zone bad.zone --origin example.")
        .ends_refused(2, &["bad.zone:2"]);
    work.dnsdyno("respond --listen 127.0.0.1:0 --loss 120%").gives(2).says(&["120%"]);
    work.dnsdyno("respond --delay 5parsecs").gives(2).says(&["5parsecs"]);
    let taken = std::net::UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let held = std::net::UdpSocket::bind(taken).unwrap();
    work.dnsdyno(&format!("respond --listen {taken}")).ends_refused(3, &["in use", "another port"]);
    drop(held);
}

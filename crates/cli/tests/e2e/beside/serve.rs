//! `dnsdyno serve` from the command line: a folder of runs, one of them in progress.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};

use dnsdyno_responder::Faults;
use rustix::process::Signal;
use serde_json::Value;

use crate::support::{Started, Workplace, responder};

/// The address in the line that it prints at its start.
pub(crate) fn address_of(work: &Workplace, serving: &mut Started<'_>) -> SocketAddr {
    let address = || {
        let stdout = work.stdout();
        stdout.split("at http://").nth(1)?.split('/').next()?.parse().ok()
    };
    serving.until("the address is printed", || address().is_some());
    address().unwrap()
}

/// Status and body of a response.
pub(crate) fn get(address: SocketAddr, path: &str) -> (String, String) {
    let mut stream = TcpStream::connect(address).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nHost: {address}\r\n\r\n").unwrap();
    let mut response = String::new();
    stream.read_to_string(&mut response).unwrap();
    let (head, body) = response.split_once("\r\n\r\n").unwrap();
    (head.lines().next().unwrap().to_owned(), body.to_owned())
}

pub(crate) fn json(address: SocketAddr, path: &str) -> Value {
    let (status, body) = get(address, path);
    assert_eq!(status, "HTTP/1.1 200 OK", "{path}: {body}");
    serde_json::from_str(&body).unwrap()
}

#[test]
fn a_folder_of_runs_is_served_until_ctrl_c() {
    let work = Workplace::with_queries();
    let server = responder(Faults::default());
    for name in ["a", "b"] {
        let words = format!("run -s {} -d q.txt --rate 500 --for 200ms -o runs/{name}", server.address());
        work.dnsdyno(&words).gives(0);
    }
    let mut serving = work.start("serve --listen 127.0.0.1:0");
    let address = address_of(&work, &mut serving);
    let list = json(address, "/api/runs");
    let entries = list["runs"].as_array().unwrap();
    let folders: Vec<_> = entries.iter().map(|run| run["folder"].as_str().unwrap()).collect();
    assert_eq!(folders, ["b", "a"], "newest first");
    let (status, page) = get(address, "/runs/a/");
    assert_eq!(status, "HTTP/1.1 200 OK");
    assert!(page.starts_with("<!doctype html>"), "{}", &page[..200]);
    // The page in a folder of its own has the same data of the run.
    let sentence = entries[1]["sentence"].as_str().unwrap();
    assert!(page.contains(sentence), "{sentence}");
    assert_eq!(get(address, "/report?run=a&run=b").0, "HTTP/1.1 200 OK");
    let (status, compared) = get(address, "/compare?a=a&b=b");
    assert_eq!(status, "HTTP/1.1 200 OK", "{compared}");
    assert_eq!(get(address, "/runs/a/files/plan.toml").1, work.read("runs/a/plan.toml"));
    serving.signal(Signal::INT);
    let ran = serving.wait().gives(0);
    assert!(ran.stdout.starts_with("serving runs at http://127.0.0.1:"), "{}", ran.stdout);
    assert_eq!(ran.stderr, "");
}

#[test]
fn a_run_in_progress_is_shown_until_it_has_ended() {
    let work = Workplace::with_queries();
    let server = responder(Faults::default());
    let words =
        format!("run -s {} -d q.txt --rate 200 --for 50s --interval 100ms -o runs/now", server.address());
    let mut run = work.start(&words);
    run.until("two intervals settle", || work.intervals("runs/now").len() >= 2);
    // Both print to the same files: the run is quiet on standard output until its end.
    let mut serving = work.start("serve runs --listen 127.0.0.1:0");
    let address = address_of(&work, &mut serving);
    let data = || json(address, "/runs/now/data")["data"].clone();
    let to_ns = |data: &Value| data["runs"][0]["to_ns"].as_u64().unwrap();
    let first = data();
    assert_eq!(first["live"]["url"], "/runs/now/data");
    assert_eq!(json(address, "/api/runs")["runs"][0]["state"], "running");
    run.until("newer data has more intervals", || to_ns(&data()) > to_ns(&first));
    run.signal(Signal::INT);
    run.wait().gives(130);
    assert_eq!(data()["live"], Value::Null);
    assert_eq!(json(address, "/api/runs")["runs"][0]["state"], "ended");
    serving.signal(Signal::TERM);
    serving.wait().gives(0);
}

#[test]
fn what_cannot_be_served_is_an_error_that_says_what_to_do() {
    let work = Workplace::with_queries();
    work.dnsdyno("serve").ends_refused(2, &["cannot read the folder runs", "name a folder that holds runs"]);
    std::fs::create_dir(work.path("runs")).unwrap();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let in_use = format!("serve --listen {}", taken.local_addr().unwrap());
    work.dnsdyno(&in_use).ends_refused(3, &["cannot serve at 127.0.0.1:", "in use", "--listen"]);
    work.dnsdyno("serve --listen localhost").gives(2).says(&["a port alone"]);
    let server = responder(Faults::default());
    let words = format!("run -s {} -d q.txt --rate 100 --for 100ms -o runs/one", server.address());
    work.dnsdyno(&words).gives(0);
    work.dnsdyno("serve runs/one").ends_refused(2, &["runs/one is a run", "the folder that holds it"]);
}

#[test]
fn an_address_that_others_can_reach_is_served_with_a_warning() {
    let work = Workplace::new();
    std::fs::create_dir(work.path("runs")).unwrap();
    let mut serving = work.start("serve --listen 0.0.0.0:0");
    address_of(&work, &mut serving);
    serving.signal(Signal::INT);
    serving.wait().gives(0).says(&["whoever can reach this address", "no password"]);
}

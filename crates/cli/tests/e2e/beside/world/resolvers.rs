//! The resolvers that a world is tried with: what each counts of what it sends, and what the book calls the same.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::net::UnixStream;
use std::process::Command;
use std::time::Duration;

use dnsdyno_lab::Server;
use serde_json::Value;

/// A resolver.
pub(crate) struct Resolver {
    /// Of the file in `testbed/servers`.
    pub(crate) name: &'static str,
    pub(crate) parts: &'static [&'static str],
    /// What it says it has sent, a number for each of `booked`.
    pub(crate) sent: fn(&Server) -> Vec<u64>,
    /// The same in the book: sums and differences of what is at these places.
    booked: &'static [&'static str],
}

/// It sends several queries over a connection, and counts the connection.
pub(crate) const UNBOUND: Resolver = Resolver {
    name: "unbound",
    parts: &[],
    sent: |server| {
        let mut command = Command::new("unbound-control");
        let asked = command.arg("-c").arg(server.config_path()).arg("stats_noreset").output().unwrap();
        assert!(asked.status.success(), "{asked:?}");
        let lines = String::from_utf8(asked.stdout).unwrap();
        ["num.query.udpout=", "num.query.tcpout="].map(|name| value_of(&lines, name)).into()
    },
    booked: &["/udp", "/connections/accepted"],
};

pub(crate) const BIND: Resolver = Resolver {
    name: "bind",
    parts: &["statistics"],
    sent: |server| {
        let json = over_http(server.listener("statistics").unwrap(), "/json/v1/server");
        let json: Value = serde_json::from_str(&json).unwrap();
        vec![json["views"]["_default"]["resolver"]["stats"]["Queryv4"].as_u64().unwrap()]
    },
    booked: &["/udp + /tcp"],
};

pub(crate) const KNOT_RESOLVER: Resolver = Resolver {
    name: "knot-resolver",
    parts: &[],
    sent: |server| {
        let mut socket = UnixStream::connect(server.folder().join("counters")).unwrap();
        socket.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        socket.write_all(b"worker.stats().udp .. ' ' .. worker.stats().tcp\n").unwrap();
        let said = BufReader::new(socket).lines().find_map(|line| {
            let line = line.unwrap();
            let words = line.trim_matches(|c: char| !c.is_ascii_digit()).split(' ');
            words.map(|word| word.parse().ok()).collect::<Option<Vec<u64>>>()
        });
        said.unwrap()
    },
    booked: &["/udp", "/tcp"],
};

pub(crate) const POWERDNS_RECURSOR: Resolver = Resolver {
    name: "pdns-recursor",
    parts: &[],
    sent: |server| {
        let mut command = Command::new("rec_control");
        command.arg(format!("--config-dir={}", server.folder().display()));
        command.arg(format!("--socket-dir={}", server.folder().display()));
        let asked = command.args(["get", "all-outqueries", "chain-resends"]).output().unwrap();
        assert!(asked.status.success(), "{asked:?}");
        let said = String::from_utf8(asked.stdout).unwrap();
        let mut counts = said.split_whitespace().map(|number| number.parse::<u64>().unwrap());
        // What waits for the answer to the same query of another client is counted, and not sent.
        vec![counts.next().unwrap() - counts.next().unwrap()]
    },
    // The query that is sent again without EDNS is not counted.
    booked: &["/udp + /tcp - /faults/edns-formerr"],
};

impl Resolver {
    /// What a book has of what this resolver counts.
    pub(crate) fn booked(&self, book: &Value) -> Vec<u64> {
        let number =
            |at: &str| book.pointer(at).and_then(Value::as_u64).unwrap_or_else(|| panic!("{at}: {book:#}"));
        // A fault that was not met is not there.
        let fault = |at: &str| book.pointer(at).and_then(Value::as_u64).unwrap_or(0);
        let of = |sum: &&str| {
            let (sum, less) = sum.split_once(" - ").unwrap_or((sum, ""));
            sum.split(" + ").map(number).sum::<u64>() - if less.is_empty() { 0 } else { fault(less) }
        };
        self.booked.iter().map(of).collect()
    }
}

/// What is at a path of a server for HTTP.
fn over_http(server: SocketAddr, path: &str) -> String {
    let mut stream = TcpStream::connect(server).unwrap();
    write!(stream, "GET {path} HTTP/1.0\r\n\r\n").unwrap();
    let mut response = String::new();
    stream.read_to_string(&mut response).unwrap();
    response.split_once("\r\n\r\n").map(|(_, body)| body.to_owned()).unwrap_or(response)
}

/// The value of a counter that a line has after its name.
fn value_of(lines: &str, name: &str) -> u64 {
    let value = lines.lines().find_map(|line| line.strip_prefix(name));
    value.and_then(|value| value.trim().parse().ok()).unwrap_or_else(|| panic!("{name}: {lines}"))
}

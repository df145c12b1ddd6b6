//! `dnsdyno world`, the name servers behind a resolver: the sums of its book, a line of JSON for each connection to its
//! local socket.

use std::cell::Cell;
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};

use dnsdyno_measure::Watched;
use dnsdyno_text::shown;
use serde_json::Value;
use socket2::SockAddr;

use super::common::{LONGEST_TEXT, numbers};
use super::control::Timed;
use super::statistics::Statistics;
use crate::source::{ReadError, Reading};

pub(super) struct World {
    path: PathBuf,
    /// The process that has answered.
    process: Cell<Option<u32>>,
}

impl World {
    pub(super) fn new(path: &Path) -> World {
        World { path: path.to_owned(), process: Cell::new(None) }
    }

    fn sums(&self) -> Result<Value, ReadError> {
        let ask = || -> io::Result<Value> {
            let socket = Timed::connect(&SockAddr::unix(&self.path)?)?;
            self.process.set(socket.process());
            let mut line = String::new();
            socket.take(LONGEST_ANSWER_BYTES).read_to_string(&mut line)?;
            Ok(serde_json::from_str(&line)?)
        };
        let sums = ask().map_err(|error| {
            let reason = match error.kind() {
                ErrorKind::WouldBlock | ErrorKind::TimedOut => "no answer in time".to_owned(),
                ErrorKind::NotFound | ErrorKind::ConnectionRefused => {
                    "nothing listens there: is the world running, with --counters of this path?".to_owned()
                }
                ErrorKind::InvalidData | ErrorKind::UnexpectedEof => NOT_A_WORLD.to_owned(),
                _ => shown(&error.to_string(), LONGEST_TEXT).into_owned(),
            };
            ReadError(format!("{}: {reason}", self.path.display()))
        })?;
        match (sums["udp"].is_u64(), sums["ends"].is_object()) {
            (true, true) => Ok(sums),
            _ => Err(ReadError(format!("{}: {NOT_A_WORLD}", self.path.display()))),
        }
    }
}

impl Statistics for World {
    fn describe(&mut self, watched: &mut Watched) -> Result<(), ReadError> {
        let sums = self.sums()?;
        watched.version = sums["version"].as_str().map(|version| shown(version, LONGEST_TEXT).into_owned());
        watched
            .settings
            .extend(sums["threads"].as_u64().map(|count| ("threads".to_owned(), count.to_string())));
        Ok(())
    }

    fn process(&self) -> Option<u32> {
        self.process.get()
    }

    fn read(&mut self) -> Result<Reading, ReadError> {
        let mut reading = Reading::default();
        add(&self.sums()?, &mut reading);
        Ok(reading)
    }
}

/// The series of the sums of a book.
pub(super) fn add(sums: &Value, reading: &mut Reading) {
    numbers(sums, &mut Vec::new(), &mut |path, value| match path {
        ["format" | "threads"] => {}
        path => {
            reading.counter(format!("raw.{}", path.join(".")), value);
            common(path, value, reading);
        }
    });
}

fn common(path: &[&str], value: u64, reading: &mut Reading) {
    match path {
        [transport @ ("udp" | "tcp")] => {
            reading.counter("queries", value);
            reading.transport(transport, value);
        }
        ["types", rtype] => reading.query_type(rtype, value),
        ["rcodes", rcode] => reading.rcode(rcode, value),
        ["ends", "sent"] => reading.counter("responses", value),
        ["ends", "truncated"] => reading.counter("responses.truncated", value),
        ["ends", "send_errors"] => reading.dropped("send-error", value),
        ["ends", "over_bound"] | ["kernel_drops"] => reading.dropped("queue", value),
        ["connections", "turned_away"] => reading.counter("tcp.refused", value),
        _ => {}
    }
}

const NOT_A_WORLD: &str = "what answers there is no `dnsdyno world`";

/// Many times the sums of a book.
const LONGEST_ANSWER_BYTES: u64 = 1 << 20;

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::os::unix::net::UnixListener;

    use serde_json::json;

    use super::*;

    #[test]
    fn sums_are_series_and_queries_are_those_of_both_transports() {
        let sums = json!({
            "format": 1, "threads": 2, "udp": 7, "tcp": 2, "kernel_drops": 3, "types": {"AAAA": 4},
            "rcodes": {"NXDOMAIN": 5}, "ends": {"sent": 8, "lost": 1, "over_bound": 6, "truncated": 2},
            "faults": {"lame-refused": 9}, "connections": {"turned_away": 1}, "failures": ["a thread"],
        });
        let mut reading = Reading::default();
        add(&sums, &mut reading);
        let expected = [
            ("queries", 9),
            ("queries.udp", 7),
            ("queries.tcp", 2),
            ("queries.type.AAAA", 4),
            ("responses", 8),
            ("responses.rcode.NXDOMAIN", 5),
            ("responses.truncated", 2),
            ("dropped.queue", 9),
            ("tcp.refused", 1),
            ("raw.ends.lost", 1),
            ("raw.faults.lame-refused", 9),
        ];
        for (name, value) in expected {
            assert_eq!(reading.counters.get(name), Some(&value), "{name}");
        }
        assert!(!reading.counters.contains_key("raw.threads"));
    }

    #[test]
    fn what_is_no_world_is_said() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("socket");
        let said = || World::new(&path).sums().unwrap_err().0;
        assert!(said().contains("--counters"), "{}", said());
        let listener = UnixListener::bind(&path).unwrap();
        let other = std::thread::spawn(move || {
            for text in ["hello\n", "{\"udp\": 1}\n", ""] {
                let _ = listener.accept().unwrap().0.write_all(text.as_bytes());
            }
        });
        for _ in 0..3 {
            assert!(said().contains("no `dnsdyno world`"), "{}", said());
        }
        other.join().unwrap();
    }
}

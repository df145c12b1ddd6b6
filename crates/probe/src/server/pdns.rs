//! PowerDNS, Authoritative Server and Recursor: their API over HTTP, or the control socket of the Authoritative Server.

use std::cell::Cell;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use dnsdyno_measure::Watched;
use dnsdyno_plan::At;
use dnsdyno_servers::StatisticsKind;
use dnsdyno_text::shown;
use serde_json::Value;
use socket2::SockAddr;

use super::common::{LONGEST_TEXT, pairs};
use super::control::Timed;
use super::http::{API_KEY, Http, JSON};
use super::parameters::has_parameter;
use super::statistics::Statistics;
use crate::source::{OpenError, ReadError, Reading};

pub(super) enum Pdns {
    Api(Http),
    Socket(PathBuf, Cell<Option<u32>>),
}

impl Pdns {
    pub(super) fn new(at: &At, keys: Option<&Path>) -> Result<Pdns, OpenError> {
        Ok(match at {
            At::Url(url) => Pdns::Api(Http::with_key(url.exposed(), API_KEY, keys)?),
            At::Address(address) => Pdns::Api(Http::with_key(address, API_KEY, keys)?),
            At::Path(path) => Pdns::Socket(path.clone(), Cell::new(None)),
        })
    }

    fn api(http: &Http, path: &str) -> Result<Value, ReadError> {
        let answer = http.get(&format!("{SERVER}{path}"), JSON)?;
        serde_json::from_str(&answer.body).map_err(|_| answer.is_not("that of the API of PowerDNS"))
    }
}

impl Statistics for Pdns {
    fn describe(&mut self, watched: &mut Watched) -> Result<(), ReadError> {
        match self {
            Pdns::Api(http) => {
                let server = Pdns::api(http, "")?;
                match server["daemon_type"].as_str() {
                    Some("authoritative") => {}
                    Some("recursor") => watched.software = Some("pdns-recursor".to_owned()),
                    Some("dnsdist") => {
                        return Err(ReadError("dnsdist answers there: use dnsdist=URL".to_owned()));
                    }
                    _ => return Err(ReadError("what answers there is not PowerDNS".to_owned())),
                }
                watched.version =
                    server["version"].as_str().map(|text| shown(text, LONGEST_TEXT).into_owned());
                for setting in Pdns::api(http, "/config")?.as_array().into_iter().flatten() {
                    add_setting(setting["name"].as_str(), setting["value"].as_str(), watched);
                }
            }
            Pdns::Socket(path, process) => {
                let ask = |command| ask(path, command, process);
                watched.version = Some(shown(ask("VERSION")?.trim(), LONGEST_TEXT).into_owned());
                watched.missing.push(
                    "responses by RCODE: only the API has them (webserver=yes, api=yes, api-key=…)"
                        .to_owned(),
                );
                // What is not set stands there as a comment, with its default.
                for (name, value) in pairs(&ask("CURRENT-CONFIG")?, '=') {
                    add_setting(Some(name.trim_start_matches(['#', ' '])), Some(value), watched);
                }
            }
        }
        self.read().map(drop)
    }

    fn process(&self) -> Option<u32> {
        match self {
            Pdns::Api(_) => None,
            Pdns::Socket(_, process) => process.get(),
        }
    }

    fn read(&mut self) -> Result<Reading, ReadError> {
        let mut reading = Reading::default();
        match self {
            Pdns::Api(http) => add_items(&Pdns::api(http, "/statistics")?, &mut reading),
            Pdns::Socket(path, process) => {
                add_text(&ask(path, "SHOW *", process)?, &mut reading);
                add_types(&ask(path, "QTYPES", process)?, &mut reading);
            }
        }
        if let Some(questions) = reading.counters.get("raw.questions").copied() {
            let over_tcp = reading.counters.get("raw.tcp-questions").copied().unwrap_or(0);
            reading.transport("udp", questions.saturating_sub(over_tcp));
        }
        match reading.counters.contains_key("queries") {
            true => Ok(reading),
            false => Err(ReadError("what answers there has no statistics of PowerDNS".to_owned())),
        }
    }
}

fn add_setting(name: Option<&str>, value: Option<&str>, watched: &mut Watched) {
    if let (Some(name), Some(value)) = (name.filter(|name| has_parameter(StatisticsKind::Pdns, name)), value)
    {
        watched.settings.insert(name.to_owned(), shown(value.trim(), LONGEST_TEXT).into_owned());
    }
}

/// Sends a command to the control socket of the Authoritative Server, which closes the connection after its answer.
fn ask(path: &Path, command: &str, process: &Cell<Option<u32>>) -> Result<String, ReadError> {
    let exchange = || -> io::Result<String> {
        let mut socket = Timed::connect(&SockAddr::unix(path)?)?;
        process.set(socket.process());
        socket.write_all(format!("{command}\n").as_bytes())?;
        let mut bytes = Vec::new();
        socket.take(LONGEST_ANSWER_BYTES).read_to_end(&mut bytes)?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    };
    let text = exchange().map_err(|error| ReadError(format!("{}: {error}", path.display())))?;
    match text.is_empty() || text.starts_with("Unknown command") {
        false => Ok(text),
        true => Err(ReadError(format!(
            "{}: what answers there is not the control socket of the PowerDNS Authoritative Server; of the Recursor \
             give the API, pdns=URL",
            path.display()
        ))),
    }
}

/// The series of the answer to `SHOW *`: `name=value,name=value`.
pub(super) fn add_text(text: &str, reading: &mut Reading) {
    for (name, value) in text.split(',').filter_map(|item| item.trim().split_once('=')) {
        if let Ok(value) = value.parse() {
            add_item(name, value, reading);
        }
    }
}

/// Those of the answer to `QTYPES`: lines of a type and a count.
pub(super) fn add_types(text: &str, reading: &mut Reading) {
    for (name, value) in pairs(text, '\t') {
        value
            .trim()
            .parse()
            .into_iter()
            .for_each(|value| add_to_map("response-by-qtype", name, value, reading));
    }
}

/// Those of the API: items, and maps of items.
pub(super) fn add_items(items: &Value, reading: &mut Reading) {
    let number = |item: &Value| item["value"].as_str().and_then(|value| value.parse().ok());
    for item in items.as_array().into_iter().flatten() {
        let Some(name) = item["name"].as_str() else { continue };
        if let Some(value) = number(item) {
            add_item(name, value, reading);
        }
        if item["type"] != "MapStatisticItem" {
            continue;
        }
        for entry in item["value"].as_array().into_iter().flatten() {
            if let (Some(key), Some(value)) = (entry["name"].as_str(), number(entry)) {
                add_to_map(name, key, value, reading);
            }
        }
    }
}

fn add_item(name: &str, value: u64, reading: &mut Reading) {
    match is_gauge(name) {
        true => reading.gauge(format!("raw.{name}"), value),
        false => reading.counter(format!("raw.{name}"), value),
    }
    common(name, value, reading);
}

fn add_to_map(map: &str, key: &str, value: u64, reading: &mut Reading) {
    reading.counter(format!("raw.{map}.{key}"), value);
    match map {
        // Counted when the response is sent: one that was not answered is not among them.
        "response-by-qtype" => reading.query_type(key, value),
        "response-by-rcode" => {
            let number = RCODES.iter().position(|text| *text == key);
            reading.rcode(&number.map_or_else(|| key.to_owned(), |number| number.to_string()), value);
        }
        _ => {}
    }
}

/// The common names of both servers.
pub(super) fn common(name: &str, value: u64, reading: &mut Reading) {
    const NS_PER_US: u64 = 1_000;
    match name {
        "udp-queries" | "tcp-queries" => {
            reading.counter("queries", value);
            reading.transport(&name[..3], value);
        }
        "udp-answers" | "tcp-answers" => reading.counter("responses", value),
        // A response from the cache of packets asks no other cache.
        "packetcache-hit" | "packetcache-hits" | "cache-hits" => reading.counter("cache.hits", value),
        "packetcache-miss" | "cache-misses" => reading.counter("cache.misses", value),
        "overload-drops" | "over-capacity-drops" => reading.dropped("queue", value),
        "timedout-packets" => reading.dropped("timeout", value),
        "latency" | "latency-ewma" | "qa-latency" => {
            reading.gauge("latency_ns", value.saturating_mul(NS_PER_US))
        }
        "open-tcp-connections" | "tcp-clients" => reading.gauge("tcp.open", value),
        "concurrent-queries" => reading.gauge("recursing", value),
        // Of the Recursor, which has no count of what came over UDP alone.
        "questions" => reading.counter("queries", value),
        "tcp-questions" => reading.transport("tcp", value),
        "noerror-answers" => reading.rcode("NOERROR", value),
        "nxdomain-answers" => reading.rcode("NXDOMAIN", value),
        "servfail-answers" => reading.rcode("SERVFAIL", value),
        "tcp-client-overflow" | "tcp-overflow" => reading.counter("tcp.refused", value),
        _ => {}
    }
}

fn is_gauge(name: &str) -> bool {
    const ENDS: [&str; 10] = [
        "-size",
        "-capacity",
        "latency",
        "-ewma",
        "uptime",
        "-usage",
        "-entries",
        "-clients",
        "-status",
        "qsize-q",
    ];
    ENDS.iter().any(|end| name.ends_with(end))
        || ["open-tcp-connections", "concurrent-queries", "xfr-queue", "max-mthread-stack"].contains(&name)
}

const SERVER: &str = "/api/v1/servers/localhost";

/// How PowerDNS writes RCODEs, by their numbers.
const RCODES: [&str; 11] = [
    "No Error",
    "Form Error",
    "Server Failure",
    "Non-Existent domain",
    "Not Implemented",
    "Query Refused",
    "Name Exists when it should not",
    "RR Set Exists when it should not",
    "RR Set that should exist does not",
    "Server Not Authoritative for zone / Not Authorized",
    "Name not contained in zone",
];

const LONGEST_ANSWER_BYTES: u64 = 16 << 20;

//! BIND: its statistics channel, as JSON.
//!
//! Only `/json/v1/server` and `/json/v1/traffic` are asked for: their cost does not grow with the number of zones, and
//! that of `/json/v1/zones` does.

use dnsdyno_measure::Watched;
use dnsdyno_servers::StatisticsKind;
use dnsdyno_text::shown;
use serde_json::Value;

use super::common::{LONGEST_TEXT, numbers};
use super::http::{Http, JSON};
use super::parameters::{self, Owners};
use super::statistics::Statistics;
use crate::source::{OpenError, ReadError, Reading};

pub(super) struct Bind {
    http: Http,
    owners: Owners,
}

impl Bind {
    pub(super) fn new(url: &str, owners: Owners) -> Result<Bind, OpenError> {
        Ok(Bind { http: Http::new(url, None)?, owners })
    }

    fn get(&self, path: &str) -> Result<Value, ReadError> {
        let answer = self.http.get(path, JSON)?;
        let document = serde_json::from_str(&answer.body).unwrap_or_default();
        match is_statistics(&document) {
            true => Ok(document),
            false => Err(answer.is_not("that of a statistics channel of BIND as JSON")),
        }
    }
}

impl Statistics for Bind {
    fn describe(&mut self, watched: &mut Watched) -> Result<(), ReadError> {
        let document = self.get(SERVER)?;
        watched.version =
            document["version"].as_str().map(|version| shown(version, LONGEST_TEXT).into_owned());
        parameters::add(StatisticsKind::Bind, parameters::of_bind, &self.owners, watched);
        Ok(())
    }

    fn read(&mut self) -> Result<Reading, ReadError> {
        let mut reading = Reading::default();
        for path in [SERVER, TRAFFIC] {
            add(&self.get(path)?, &mut reading);
        }
        Ok(reading)
    }
}

fn is_statistics(document: &Value) -> bool {
    document["json-stats-version"].is_string()
}

/// The series of a document of the statistics channel. BIND leaves out most counters that are 0.
pub(super) fn add(document: &Value, reading: &mut Reading) {
    if !document["opcodes"].is_object() {
        // That of the traffic: sizes only.
        numbers(document, &mut Vec::new(), &mut |path, value| reading.counter(raw(path), value));
        return;
    }
    ALWAYS.iter().for_each(|name| reading.counter(*name, 0));
    numbers(document, &mut Vec::new(), &mut |path, value| {
        if is_gauge(path) {
            reading.gauge(raw(path), value);
        } else {
            reading.counter(raw(path), value);
        }
        match path {
            ["opcodes", "QUERY"] => reading.counter("queries", value),
            ["qtypes", name] => reading.query_type(name, value),
            ["rcodes", name] if value > 0 || !name.starts_with("RESERVED") => reading.rcode(name, value),
            ["nsstats", name] => server_counter(name, value, reading),
            ["views", "_default", "resolver", "cachestats", "QueryHits"] => {
                reading.counter("cache.hits", value)
            }
            ["views", "_default", "resolver", "cachestats", "QueryMisses"] => {
                reading.counter("cache.misses", value)
            }
            _ => {}
        }
    });
}

fn server_counter(name: &str, value: u64, reading: &mut Reading) {
    match name {
        "QryUDP" => reading.transport("udp", value),
        "QryTCP" => reading.transport("tcp", value),
        "Response" => reading.counter("responses", value),
        "TruncatedResp" => reading.counter("responses.truncated", value),
        "RateDropped" => reading.dropped("rate-limit", value),
        "RateSlipped" => reading.counter("responses.slipped", value),
        "QryDropped" | "RecLimitDropped" => reading.dropped("recursion", value),
        "QryDuplicate" => reading.dropped("duplicate", value),
        "UpdateQuota" => reading.dropped("update-quota", value),
        "TCPConnHighWater" => reading.gauge("tcp.high_water", value),
        "RecursClients" => reading.gauge("recursing", value),
        _ => {}
    }
}

/// Of many documents these say how it is now; the others count.
fn is_gauge(path: &[&str]) -> bool {
    let name = path.last().copied().unwrap_or_default();
    match path {
        ["nsstats", ..] => ["TCPConnHighWater", "RecursClients", "RecursHighwater"].contains(&name),
        ["resstats", ..] | ["views", _, "resolver", "stats", ..] => {
            name.starts_with("QueryCur") || ["NumFetch", "BucketSize"].contains(&name)
        }
        ["views", _, "resolver", "cachestats", ..] => {
            name.starts_with("Cache") && !["CacheHits", "CacheMisses"].contains(&name) || name.contains("Mem")
        }
        ["views", _, "resolver", "cache" | "adb", ..] => true,
        _ => false,
    }
}

fn raw(path: &[&str]) -> String {
    format!("raw.{}", path.join("."))
}

const SERVER: &str = "/json/v1/server";
const TRAFFIC: &str = "/json/v1/traffic";

/// What is 0 where the channel does not mention it.
const ALWAYS: [&str; 8] = [
    "queries",
    "queries.udp",
    "queries.tcp",
    "responses",
    "responses.truncated",
    "dropped.rate-limit",
    "dropped.recursion",
    "dropped.duplicate",
];

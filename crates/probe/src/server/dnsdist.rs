//! dnsdist: its API, with the counters of the whole program and those of its listeners ("frontends").

use std::path::Path;

use dnsdyno_measure::Watched;
use dnsdyno_servers::StatisticsKind;
use dnsdyno_text::shown;
use serde_json::Value;

use super::common::LONGEST_TEXT;
use super::http::{API_KEY, Http, JSON};
use super::parameters::has_parameter;
use super::statistics::Statistics;
use crate::source::{OpenError, ReadError, Reading};

pub(super) struct Dnsdist(Http);

impl Dnsdist {
    pub(super) fn new(url: &str, keys: Option<&Path>) -> Result<Dnsdist, OpenError> {
        Ok(Dnsdist(Http::with_key(url, API_KEY, keys)?))
    }

    fn get(&self, path: &str) -> Result<Value, ReadError> {
        let answer = self.0.get(path, JSON)?;
        serde_json::from_str(&answer.body).map_err(|_| answer.is_not("that of the API of dnsdist"))
    }

    fn server(&self) -> Result<Value, ReadError> {
        let server = self.get(SERVER)?;
        match server["daemon_type"].as_str() {
            Some("dnsdist") => Ok(server),
            Some(_) => Err(ReadError("PowerDNS answers there: use pdns=URL".to_owned())),
            None => Err(ReadError("what answers there is not dnsdist".to_owned())),
        }
    }
}

impl Statistics for Dnsdist {
    fn describe(&mut self, watched: &mut Watched) -> Result<(), ReadError> {
        watched.version =
            self.server()?["version"].as_str().map(|text| shown(text, LONGEST_TEXT).into_owned());
        for setting in self.get(&format!("{SERVER}/config"))?.as_array().into_iter().flatten() {
            let Some(name) =
                setting["name"].as_str().filter(|name| has_parameter(StatisticsKind::Dnsdist, name))
            else {
                continue;
            };
            let value = setting["value"].as_str().map_or_else(|| setting["value"].to_string(), str::to_owned);
            watched.settings.insert(name.to_owned(), shown(&value, LONGEST_TEXT).into_owned());
        }
        Ok(())
    }

    fn read(&mut self) -> Result<Reading, ReadError> {
        let mut reading = Reading::default();
        add(&self.get(STATISTICS)?, &mut reading);
        add_server(&self.server()?, &mut reading);
        Ok(reading)
    }
}

/// The series of the whole program.
pub(super) fn add(statistics: &Value, reading: &mut Reading) {
    for (name, value) in statistics.as_object().into_iter().flatten() {
        let Some(value) = value.as_f64().filter(|value| *value >= 0.0) else { continue };
        if name == "latency-avg100" {
            // In microseconds, with a fraction.
            reading.gauge("latency_ns", (value * 1e3) as u64);
        }
        // No count of a run is beyond what a float holds exactly.
        let value = value as u64;
        match is_gauge(name) {
            true => reading.gauge(format!("raw.{name}"), value),
            false => reading.counter(format!("raw.{name}"), value),
        }
        match name.as_str() {
            "queries" => reading.counter("queries", value),
            "cache-hits" => reading.counter("cache.hits", value),
            "cache-misses" => reading.counter("cache.misses", value),
            "frontend-noerror" => reading.rcode("NOERROR", value),
            "frontend-nxdomain" => reading.rcode("NXDOMAIN", value),
            "frontend-servfail" => reading.rcode("SERVFAIL", value),
            "acl-drops" => reading.dropped("acl", value),
            "rule-drop" => reading.dropped("rule", value),
            "dyn-blocked" => reading.dropped("rate-limit", value),
            "downstream-timeouts" => reading.dropped("timeout", value),
            "over-capacity-drops" => reading.dropped("queue", value),
            _ => {}
        }
    }
}

/// Those of its listeners and its back ends.
pub(super) fn add_server(server: &Value, reading: &mut Reading) {
    let number = |value: &Value| value.as_u64().unwrap_or(0);
    let (mut open, mut high_water, mut waiting) = (0_u64, 0_u64, 0_u64);
    for (index, listener) in server["frontends"].as_array().into_iter().flatten().enumerate() {
        let queries = number(&listener["queries"]);
        let transport = transport(listener["type"].as_str().unwrap_or_default());
        reading.transport(transport, queries);
        reading.counter("responses", number(&listener["responses"]));
        for name in ["queries", "responses", "tcpGaveUp", "tcpDiedReadingQuery", "tcpClientTimeouts"] {
            reading.counter(format!("raw.frontend.{index}.{transport}.{name}"), number(&listener[name]));
        }
        open = open.saturating_add(number(&listener["tcpCurrentConnections"]));
        high_water = high_water.saturating_add(number(&listener["tcpMaxConcurrentConnections"]));
    }
    for (index, back_end) in server["servers"].as_array().into_iter().flatten().enumerate() {
        for name in
            ["queries", "responses", "sendErrors", "tcpConnectTimeouts", "tcpReadTimeouts", "tcpGaveUp"]
        {
            reading.counter(format!("raw.server.{index}.{name}"), number(&back_end[name]));
        }
        waiting = waiting.saturating_add(number(&back_end["outstanding"]));
    }
    reading.gauge("tcp.open", open);
    reading.gauge("tcp.high_water", high_water);
    reading.gauge("recursing", waiting);
}

/// The transport of a listener: `UDP`, `TCP`, `TCP DNS over TLS`, `DNS over HTTPS`…
fn transport(kind: &str) -> &'static str {
    let kind = kind.to_ascii_lowercase();
    match () {
        () if kind.contains("https") || kind.contains("doh") => "doh",
        () if kind.contains("quic") || kind.contains("doq") => "doq",
        () if kind.contains("tls") || kind.contains("dot") => "dot",
        () if kind.contains("tcp") => "tcp",
        () => "udp",
    }
}

fn is_gauge(name: &str) -> bool {
    ["latency-avg", "-size", "-usage", "uptime", "security-status"].iter().any(|part| name.contains(part))
}

const STATISTICS: &str = "/jsonstat?command=stats";
const SERVER: &str = "/api/v1/servers/localhost";

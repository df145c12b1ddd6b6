//! Unbound: its control protocol.

use std::path::Path;

use dnsdyno_measure::Watched;
use dnsdyno_plan::At;
use dnsdyno_servers::StatisticsKind;
use dnsdyno_text::shown;

use super::common::{LONGEST_TEXT, pairs, seconds_as_ns};
use super::control::{Control, Dialect};
use super::parameters::parameters_of;
use super::statistics::Statistics;
use crate::source::{OpenError, ReadError, Reading};

pub(super) struct Unbound(Control);

impl Unbound {
    pub(super) fn new(at: &At, keys: Option<&Path>) -> Result<Unbound, OpenError> {
        Ok(Unbound(Control::new(at, keys, &DIALECT)?))
    }

    fn statistics(&self) -> Result<String, ReadError> {
        let text = self.0.ask("stats_noreset")?;
        match text.contains("total.num.queries=") {
            true => Ok(text),
            false => Err(ReadError("the answer is not that of Unbound to `stats_noreset`".to_owned())),
        }
    }
}

impl Statistics for Unbound {
    fn describe(&mut self, watched: &mut Watched) -> Result<(), ReadError> {
        let status = self.0.ask("status")?;
        let version = status.lines().find_map(|line| line.strip_prefix("version: "));
        watched.version = version.map(|version| shown(version, LONGEST_TEXT).into_owned());
        if !self.statistics()?.contains("num.query.tcp=") {
            watched.missing.push(
                "queries by type and transport, and responses by RCODE: set `extended-statistics: yes` in unbound.conf"
                    .to_owned(),
            );
        }
        for option in parameters_of(StatisticsKind::Unbound) {
            // An older version does not know all of them.
            if let Ok(value) = self.0.ask(&format!("get_option {option}")) {
                watched.settings.insert(option.to_owned(), shown(value.trim(), LONGEST_TEXT).into_owned());
            }
        }
        Ok(())
    }

    fn process(&self) -> Option<u32> {
        self.0.process()
    }

    fn read(&mut self) -> Result<Reading, ReadError> {
        let mut reading = Reading::default();
        add(&self.statistics()?, &mut reading);
        Ok(reading)
    }
}

/// The series of an answer to `stats_noreset`.
pub(super) fn add(text: &str, reading: &mut Reading) {
    for (name, value) in pairs(text, '=') {
        if name.starts_with("histogram.") {
            continue;
        }
        if name.starts_with("time.") || name.contains(".time.") {
            if let Some(ns) = seconds_as_ns(value) {
                reading.gauge(format!("raw.{name}_ns"), ns);
            }
        } else if is_gauge(name) {
            // Some are averages.
            let value = value.split('.').next().unwrap_or_default();
            if let Ok(value) = value.parse() {
                reading.gauge(format!("raw.{name}"), value);
            }
        } else if let Ok(value) = value.parse() {
            reading.counter(format!("raw.{name}"), value);
        }
        if let Ok(value) = value.parse() {
            common(name, value, reading);
        }
    }
    transports(reading);
}

fn common(name: &str, value: u64, reading: &mut Reading) {
    if let Some(rtype) = name.strip_prefix("num.query.type.") {
        return reading.query_type(rtype, value);
    }
    if let Some(rcode) = name.strip_prefix("num.answer.rcode.") {
        // Responses without data have the RCODE NOERROR, and are counted there too.
        if rcode != "nodata" {
            reading.rcode(rcode, value);
            reading.counter("responses", value);
        }
        return;
    }
    match name {
        "total.num.queries" => reading.counter("queries", value),
        "total.num.cachehits" => reading.counter("cache.hits", value),
        "total.num.cachemiss" => reading.counter("cache.misses", value),
        "total.requestlist.current.user" => reading.gauge("recursing", value),
        "total.tcpusage" => reading.gauge("tcp.open", value),
        "total.requestlist.exceeded" | "total.requestlist.overwritten" => reading.dropped("queue", value),
        "total.num.queries_ip_ratelimited" | "num.query.ratelimited" => reading.dropped("rate-limit", value),
        "total.num.queries_discard_timeout" => reading.dropped("timeout", value),
        "total.num.queries_wait_limit" => reading.dropped("quota", value),
        _ => {}
    }
}

/// Unbound counts what came over HTTPS under TLS too, and both under TCP; what is left came over UDP.
fn transports(reading: &mut Reading) {
    let raw = |name: &str| reading.counters.get(&format!("raw.{name}")).copied();
    let (Some(all), Some(streams)) = (raw("total.num.queries"), raw("num.query.tcp")) else { return };
    let [tls, https, quic] =
        ["num.query.tls", "num.query.https", "num.query.quic"].map(|name| raw(name).unwrap_or(0));
    reading.transport("udp", all.saturating_sub(streams).saturating_sub(quic));
    reading.transport("tcp", streams.saturating_sub(tls));
    reading.transport("dot", tls.saturating_sub(https));
    reading.transport("doh", https);
    reading.transport("doq", quic);
}

fn is_gauge(name: &str) -> bool {
    let is_of_list =
        name.contains(".requestlist.") && !name.ends_with(".overwritten") && !name.ends_with(".exceeded");
    is_of_list || name.ends_with(".tcpusage") || name.ends_with(".count") || name.starts_with("mem.")
}

const DIALECT: Dialect = Dialect { protocol: "UBCT1", files: "unbound", keys: "/etc/unbound" };

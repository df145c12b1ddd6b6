//! NSD: its control protocol. It tells no parameters but the rate limit.
//!
//! Before 4.8.0 (change "faster stats") NSD gathers its statistics by a reload: new server processes take over, and the
//! old ones end, with the TCP connections that they have.

use std::path::Path;

use dnsdyno_measure::Watched;
use dnsdyno_plan::At;
use dnsdyno_servers::StatisticsKind;
use dnsdyno_text::shown;

use super::common::{LONGEST_TEXT, pairs, seconds_as_ns};
use super::control::{Control, Dialect};
use super::parameters::{self, Owners};
use super::statistics::Statistics;
use crate::source::{OpenError, ReadError, Reading};

pub(super) struct Nsd {
    control: Control,
    owners: Owners,
    /// Reading its statistics makes it reload.
    reloads: bool,
}

impl Nsd {
    pub(super) fn new(at: &At, keys: Option<&Path>, owners: Owners) -> Result<Nsd, OpenError> {
        Ok(Nsd { control: Control::new(at, keys, &DIALECT)?, owners, reloads: true })
    }

    fn statistics(&self) -> Result<String, ReadError> {
        let text = self.control.ask("stats_noreset")?;
        match text.contains("num.queries=") && !text.contains("total.num.queries=") {
            true => Ok(text),
            false => Err(ReadError("the answer is not that of NSD to `stats_noreset`".to_owned())),
        }
    }
}

impl Statistics for Nsd {
    fn describe(&mut self, watched: &mut Watched) -> Result<(), ReadError> {
        self.statistics()?;
        let pids = self.owners.pids.iter().copied().chain(self.process()).collect();
        parameters::add(StatisticsKind::Nsd, parameters::of_nsd, &Owners { pids, ..self.owners }, watched);
        let status = self.control.ask("status")?;
        for (name, value) in pairs(&status, ':') {
            let value = shown(value.trim(), LONGEST_TEXT).into_owned();
            match name {
                "version" => {
                    self.reloads = reloads_for_statistics(&value);
                    watched.version = Some(value);
                }
                "ratelimit" => {
                    // Also where the configuration does not set it.
                    watched.unset.retain(|name| name != RATE_LIMIT);
                    watched.settings.insert(RATE_LIMIT.to_owned(), value);
                }
                _ => {}
            }
        }
        if self.reloads {
            watched.missing.push(
                "the statistics of each second: NSD before 4.8 starts new server processes for each reading, which \
                 ends TCP connections; they are read before and after the load"
                    .to_owned(),
            );
        }
        Ok(())
    }

    fn disturbs(&self) -> bool {
        self.reloads
    }

    fn process(&self) -> Option<u32> {
        self.control.process()
    }

    fn read(&mut self) -> Result<Reading, ReadError> {
        let mut reading = Reading::default();
        add(&self.statistics()?, &mut reading);
        Ok(reading)
    }
}

/// Whether this version makes new server processes for each reading of its statistics.
fn reloads_for_statistics(version: &str) -> bool {
    let mut numbers = version.split('.').map_while(|number| number.parse::<u32>().ok());
    (numbers.next(), numbers.next()) < (Some(4), Some(8))
}

/// The series of an answer to `stats_noreset`.
pub(super) fn add(text: &str, reading: &mut Reading) {
    for (name, value) in pairs(text, '=') {
        if name.starts_with("time.") {
            if let Some(ns) = seconds_as_ns(value) {
                reading.gauge(format!("raw.{name}_ns"), ns);
            }
            continue;
        }
        let Ok(value) = value.parse() else { continue };
        if name.starts_with("size.") || name.starts_with("zone.") {
            reading.gauge(format!("raw.{name}"), value);
        } else {
            reading.counter(format!("raw.{name}"), value);
            common(name, value, reading);
        }
    }
}

fn common(name: &str, value: u64, reading: &mut Reading) {
    if let Some(rtype) = name.strip_prefix("num.type.") {
        return reading.query_type(rtype, value);
    }
    if let Some(rcode) = name.strip_prefix("num.rcode.") {
        reading.counter("responses", value);
        return reading.rcode(rcode, value);
    }
    match name {
        "num.queries" => reading.counter("queries", value),
        "num.udp" | "num.udp6" => reading.transport("udp", value),
        "num.tcp" | "num.tcp6" => reading.transport("tcp", value),
        "num.tls" | "num.tls6" => reading.transport("dot", value),
        "num.truncated" => reading.counter("responses.truncated", value),
        "num.dropped" => reading.dropped("rate-limit", value),
        "num.txerr" => reading.dropped("send-error", value),
        _ => {}
    }
}

const RATE_LIMIT: &str = "rrl-ratelimit";

const DIALECT: Dialect = Dialect { protocol: "NSDCT1", files: "nsd", keys: "/etc/nsd" };

#[cfg(test)]
mod tests {
    use super::reloads_for_statistics;

    #[test]
    fn only_old_versions_reload() {
        let reload = ["4.6.1", "4.7.0", "3.9", "4", "unknown"].map(reloads_for_statistics);
        let do_not = ["4.8.0", "4.10.1", "5.0"].map(reloads_for_statistics);
        assert_eq!((reload, do_not), ([true; 5], [false; 3]));
    }
}

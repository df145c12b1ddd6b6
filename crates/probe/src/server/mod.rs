//! The statistics that servers keep about themselves, each asked for in the way that the server offers.
//!
//! ```text
//!   http, control, …    get a text                what is slow, too long or somebody else's is an error
//!   bind, unbound, …    a text becomes a Reading  raw names under `raw.`, and the common names of `common`
//! ```
//!
//! Whatever a server sends is foreign: numbers that are not numbers are left out, and texts are made safe to show.

mod bind;
mod common;
mod control;
mod dnsdist;
#[cfg(feature = "fuzzing")]
pub mod fuzz;
mod http;
mod knot;
mod mariadb;
mod nsd;
mod openmetrics;
mod parameters;
mod pdns;
mod statistics;
#[cfg(test)]
mod tests;
mod unbound;

use dnsdyno_measure::{Side, Watched, WatchedKind};
use dnsdyno_plan::{At, ServerKind, ServerWatch};

use self::statistics::Statistics;
use crate::opened::{Opened, Targets};
use crate::source::{OpenError, ReadError, Reading, Source};

/// Asks a server once: it must answer now, because an address that was mistyped is seen before the load.
pub(crate) fn open(server: &ServerWatch, targets: &Targets, opened: &mut Opened) -> Result<(), OpenError> {
    let mut statistics = statistics(server, targets)?;
    let (software, label) = names(server);
    let mut watched = Watched {
        kind: WatchedKind::Server,
        side: Side::Server,
        label,
        software: software.map(str::to_owned),
        version: None,
        settings: Default::default(),
        unset: Vec::new(),
        missing: Vec::new(),
    };
    statistics.describe(&mut watched)?;
    opened.sources.push(Box::new(ServerSource { statistics, watched }));
    Ok(())
}

struct ServerSource {
    statistics: Box<dyn Statistics>,
    watched: Watched,
}

impl Source for ServerSource {
    fn watched(&self) -> &Watched {
        &self.watched
    }

    fn is_disturbed(&self) -> bool {
        self.statistics.disturbs()
    }

    fn read(&mut self) -> Result<Reading, ReadError> {
        self.statistics.read()
    }
}

fn statistics(server: &ServerWatch, targets: &Targets) -> Result<Box<dyn Statistics>, OpenError> {
    let ServerWatch { kind, at, keys } = server;
    let keys = keys.as_deref();
    Ok(match (kind, at) {
        (ServerKind::Bind, At::Url(url)) => Box::new(bind::Bind::new(url, targets)?),
        (ServerKind::Unbound, at) => Box::new(unbound::Unbound::new(at, keys)?),
        (ServerKind::Nsd, at) => Box::new(nsd::Nsd::new(at, keys, targets)?),
        (ServerKind::Knot, At::Path(path)) => Box::new(knot::Knot::new(path)?),
        (ServerKind::Pdns, at) => Box::new(pdns::Pdns::new(at, keys)?),
        (ServerKind::Dnsdist, At::Url(url)) => Box::new(dnsdist::Dnsdist::new(url, keys)?),
        (ServerKind::MariaDb, At::Path(path)) => Box::new(mariadb::MariaDb::new(path)),
        (ServerKind::OpenMetrics, At::Url(url)) => Box::new(openmetrics::OpenMetrics::new(url)?),
        // Refused when the plan was read.
        (kind, _) => return Err(OpenError::new(format!("{} cannot be asked there", kind.word()))),
    })
}

/// The software, where the kind tells it, and the label for people.
fn names(server: &ServerWatch) -> (Option<&'static str>, String) {
    let (software, name) = match server.kind {
        ServerKind::Bind => (Some("bind"), "BIND"),
        ServerKind::Unbound => (Some("unbound"), "Unbound"),
        ServerKind::Nsd => (Some("nsd"), "NSD"),
        ServerKind::Knot => (Some("knot"), "Knot DNS"),
        ServerKind::Pdns => (Some("pdns"), "PowerDNS"),
        ServerKind::Dnsdist => (Some("dnsdist"), "dnsdist"),
        ServerKind::MariaDb => (Some("mariadb"), "MariaDB"),
        ServerKind::OpenMetrics => (None, "metrics"),
    };
    let place = match &server.at {
        At::Url(url) => {
            url.split_once("://").map_or(url.as_str(), |(_, rest)| rest).trim_end_matches('/').to_owned()
        }
        At::Address(address) => address.clone(),
        At::Path(path) => path.display().to_string(),
    };
    (software, format!("{name} at {place}"))
}

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
pub(crate) mod fuzz;
mod http;
mod knot;
mod knot_resolver;
mod mariadb;
mod nsd;
mod openmetrics;
mod parameters;
mod pdns;
mod statistics;
#[cfg(test)]
mod tests;
mod unbound;
mod world;
mod xml;

use std::net::SocketAddr;
use std::os::unix::fs::MetadataExt;

use dnsdyno_measure::{Side, Watched, WatchedKind};
use dnsdyno_plan::{At, ServerWatch};
use dnsdyno_servers::StatisticsKind;

use self::control::resolved;
use self::parameters::Owners;
use self::statistics::Statistics;
use crate::found::{Asked, is_local};
use crate::opened::{Opening, Whose};
use crate::place::listeners;
use crate::source::{OpenError, ReadError, Reading, Source};
use crate::thing::{Spot, Thing};

/// Asks a server once: it must answer now, because an address that was mistyped is seen before the load.
pub(crate) fn open(server: &ServerWatch, opening: &mut Opening<'_>) -> Result<(), OpenError> {
    let address = address_of(server);
    let mut owners = owners_of(server, address);
    let mut statistics = statistics(server, owners.clone())?;
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
    owners.pids.extend(statistics.process());
    let whose = match server.kind {
        // A database answers no queries of DNS.
        StatisticsKind::MariaDb => Whose::Known(Side::Other),
        // It is behind a resolver, unless it receives the load itself.
        StatisticsKind::World if opening.loaded().has(&owners.pids) != Some(true) => {
            Whose::Known(Side::Other)
        }
        _ => Whose::of(opening.loaded().has(&owners.pids), address.map(|address| address.ip())),
    };
    let software = watched.software.clone();
    let thing = Thing::Statistics { software, pids: owners.pids, at: spot(server, address) };
    let label = watched.label.clone();
    let source = Box::new(ServerSource { statistics, watched });
    let same = opening.add(source, thing, whose).map(|same| same.label.clone());
    if let Some(same) = same.filter(|same| *same != label) {
        opening.notes.push(format!("{label} and {same} are the same server: its statistics are read once"));
    }
    Ok(())
}

/// The address at which statistics are asked for; a local socket has none.
fn address_of(server: &ServerWatch) -> Option<SocketAddr> {
    let text = match &server.at {
        At::Url(url) => {
            let (base, _) = http::split(url.exposed());
            let (scheme, host) = base.split_once("://")?;
            let has_port = host.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok());
            let usual = if scheme == "https" { 443 } else { 80 };
            if has_port { host.to_owned() } else { format!("{host}:{usual}") }
        }
        At::Address(text) => text.clone(),
        At::Path(_) => return None,
    };
    resolved(&text).ok()
}

/// The processes of this host that listen where statistics are asked for.
fn owners_of(server: &ServerWatch, address: Option<SocketAddr>) -> Owners {
    let Some(address) = address else {
        return Owners { pids: Vec::new(), are_here: matches!(server.at, At::Path(_)) };
    };
    let place = listeners(address, Asked::Streams).ok().flatten();
    let pids = place.map(|place| place.servers.concat()).unwrap_or_default();
    Owners { are_here: is_local(address.ip()) || !pids.is_empty(), pids }
}

/// Where statistics are asked for, as what can be compared.
fn spot(server: &ServerWatch, address: Option<SocketAddr>) -> Option<Spot> {
    match &server.at {
        At::Path(path) => {
            let metadata = path.metadata().ok()?;
            Some(Spot::File(metadata.dev(), metadata.ino()))
        }
        // An exporter may have the figures of several servers, each under a path of its own.
        At::Url(url) if server.kind == StatisticsKind::OpenMetrics => {
            Some(Spot::Address(address?, http::split(url.exposed()).1.to_owned()))
        }
        At::Url(_) | At::Address(_) => Some(Spot::Address(address?, String::new())),
    }
}

struct ServerSource {
    statistics: Box<dyn Statistics>,
    watched: Watched,
}

impl Source for ServerSource {
    fn watched(&self) -> &Watched {
        &self.watched
    }

    fn watched_mut(&mut self) -> &mut Watched {
        &mut self.watched
    }

    fn is_disturbed(&self) -> bool {
        self.statistics.disturbs()
    }

    fn read(&mut self) -> Result<Reading, ReadError> {
        self.statistics.read()
    }
}

fn statistics(server: &ServerWatch, owners: Owners) -> Result<Box<dyn Statistics>, OpenError> {
    let ServerWatch { kind, at, keys, rndc } = server;
    let keys = keys.as_deref();
    Ok(match (kind, at) {
        (StatisticsKind::Bind, At::Url(url)) => Box::new(bind::Bind::new(url.exposed(), owners)?),
        (StatisticsKind::Bind, At::Path(path)) => {
            Box::new(bind::file::StatisticsFile::new(path, rndc.as_ref(), owners))
        }
        (StatisticsKind::Unbound, at) => Box::new(unbound::Unbound::new(at, keys)?),
        (StatisticsKind::Nsd, at) => Box::new(nsd::Nsd::new(at, keys, owners)?),
        (StatisticsKind::Knot, At::Path(path)) => Box::new(knot::Knot::new(path)?),
        (StatisticsKind::KnotResolver, At::Path(path)) => Box::new(knot_resolver::KnotResolver::new(path)),
        (StatisticsKind::Pdns, at) => Box::new(pdns::Pdns::new(at, keys)?),
        (StatisticsKind::Dnsdist, At::Url(url)) => Box::new(dnsdist::Dnsdist::new(url.exposed(), keys)?),
        (StatisticsKind::MariaDb, At::Path(path)) => Box::new(mariadb::MariaDb::new(path)),
        (StatisticsKind::World, At::Path(path)) => Box::new(world::World::new(path)),
        (StatisticsKind::OpenMetrics, At::Url(url)) => {
            Box::new(openmetrics::OpenMetrics::new(url.exposed())?)
        }
        // Refused when the plan was read.
        (kind, _) => return Err(OpenError::new(format!("{} cannot be asked there", kind.row().word))),
    })
}

/// The software, where the kind tells it, and the label for people.
fn names(server: &ServerWatch) -> (Option<&'static str>, String) {
    let row = server.kind.row();
    let place = server.at.to_string();
    let place = match &server.at {
        At::Url(_) => place.split_once("://").map_or(place.as_str(), |(_, rest)| rest).trim_end_matches('/'),
        At::Address(_) | At::Path(_) => &place,
    };
    (row.server, format!("{} at {place}", row.name))
}

//! What is looked for, and what was found: each thing once, and whose it is.
//!
//! ```text
//!   process=4711, auto      ──► one process      named in two ways: one source
//!   the process at the target              ──► the server's
//!   another one, such as its back end      ──► something else's: never added to the server
//!   nobody at the target is seen           ──► the server's, where there is no other that it could be
//! ```

use std::cell::OnceCell;
use std::net::{IpAddr, SocketAddr};

use dnsdyno_measure::{Side, Watched, WatchedKind};

use crate::loaded::Loaded;
use crate::source::Source;
use crate::thing::Thing;

/// Where the load goes: what is looked for where `--watch` does not say it.
#[derive(Clone, Debug, Default)]
pub struct Targets {
    /// The addresses of the servers.
    pub addresses: Vec<SocketAddr>,
}

/// What `--watch` has found.
#[derive(Default)]
pub struct Opened {
    /// The sources, in the order of the record.
    pub sources: Vec<Box<dyn Source>>,
    /// What was found without being told, and how to get more: sentences for the user.
    pub notes: Vec<String>,
}

/// What is being opened.
pub(crate) struct Opening<'a> {
    pub(crate) targets: &'a Targets,
    pub(crate) notes: Vec<String>,
    found: Vec<Found>,
    loaded: OnceCell<Loaded>,
}

struct Found {
    source: Box<dyn Source>,
    thing: Thing,
    whose: Whose,
}

/// What is known of whose counters a source has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Whose {
    /// They are on this side.
    Known(Side),
    /// They may be the server's, or those of something beside it. It is asked at this address, where it has one.
    Unknown(Option<IpAddr>),
}

impl Whose {
    /// What it is for a source that is the server's, that is not, or of which that is not known.
    pub(crate) fn of(is_servers: Option<bool>, asked_at: Option<IpAddr>) -> Whose {
        match is_servers {
            Some(true) => Whose::Known(Side::Server),
            Some(false) => Whose::Known(Side::Other),
            None => Whose::Unknown(asked_at),
        }
    }
}

impl<'a> Opening<'a> {
    pub(crate) fn new(targets: &'a Targets) -> Opening<'a> {
        Opening { targets, notes: Vec::new(), found: Vec::new(), loaded: OnceCell::new() }
    }

    /// The servers that the load goes to.
    pub(crate) fn loaded(&self) -> &Loaded {
        self.loaded.get_or_init(|| Loaded::find(&self.targets.addresses))
    }

    /// Adds a source, unless what it reads is watched already; then it returns what that is.
    pub(crate) fn add(&mut self, source: Box<dyn Source>, thing: Thing, whose: Whose) -> Option<&Watched> {
        if let Some(same) = self.found.iter().position(|found| found.thing.is(&thing)) {
            return self.found.get(same).map(|found| found.source.watched());
        }
        self.found.push(Found { source, thing, whose });
        None
    }

    /// The process with this number, where it is watched.
    pub(crate) fn process(&self, pid: u32) -> Option<&Watched> {
        let has = |found: &&Found| matches!(&found.thing, Thing::Process { pids, .. } if pids.contains(&pid));
        self.found.iter().find(has).map(|found| found.source.watched())
    }

    /// Everything, each source on its side.
    pub(crate) fn finish(mut self) -> Opened {
        for kind in [WatchedKind::Host, WatchedKind::Process, WatchedKind::Server] {
            self.decide(kind);
        }
        // Where there is no load, all that is watched is what one looks at.
        let is_beside_load = !self.targets.addresses.is_empty();
        let sides = self.found.iter_mut().map(|found| (&mut found.source, found.whose));
        sides.for_each(|(source, whose)| settle(source.watched_mut(), whose, is_beside_load));
        Opened { sources: self.found.into_iter().map(|found| found.source).collect(), notes: self.notes }
    }

    /// Of sources of a kind that may be the server's: the only one at the address of a server is that server's, and one
    /// without any other.
    fn decide(&mut self, kind: WatchedKind) {
        let mut of_kind: Vec<&mut Found> =
            self.found.iter_mut().filter(|found| found.source.watched().kind == kind).collect();
        for address in &self.targets.addresses {
            let is_there = |found: &&mut &mut Found| found.whose == Whose::Unknown(Some(address.ip()));
            let mut there = of_kind.iter_mut().filter(is_there);
            if let (Some(found), None) = (there.next(), there.next()) {
                found.whose = Whose::Known(Side::Server);
            }
        }
        let has_server = of_kind.iter().any(|found| found.whose == Whose::Known(Side::Server));
        let mut unknown = of_kind.iter_mut().filter(|found| matches!(found.whose, Whose::Unknown(_)));
        if let (false, Some(found), None) = (has_server, unknown.next(), unknown.next()) {
            found.whose = Whose::Known(Side::Server);
        }
    }
}

fn settle(watched: &mut Watched, whose: Whose, is_beside_load: bool) {
    watched.side = match whose {
        Whose::Known(side) => side,
        Whose::Unknown(_) if !is_beside_load => Side::Server,
        Whose::Unknown(_) => {
            watched.missing.push(
                "whether it is the server's: several are watched, and which of them the load goes to is not seen from \
                 here; it is not counted as the server"
                    .to_owned(),
            );
            Side::Other
        }
    };
}

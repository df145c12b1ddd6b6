//! The truth about a name: its path of delegations with all servers, what is there, and whether a resolver can find it.
//! Tests compare with this what resolvers give.

use std::fmt::Write as _;

use dnsdyno_text::units::duration;
use dnsdyno_wire::encode_name;
use domain::base::iana::Rtype;
use serde::Serialize;

use crate::WorldError;
use crate::answer::ReplyKind;
use crate::name::{Name, text};
use crate::rrset::{Data, RrSet};
use crate::servers::NameServer;
use crate::shares::Fault;
use crate::tree::{Hierarchy, Zone};
use crate::world::World;

/// What a world has at a name.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Explanation {
    /// In lower case, with the final dot.
    pub name: String,
    /// From the root to the zone that the name is in.
    pub zones: Vec<ExplainedZone>,
    /// How its query for addresses ends: `answer`, `no_data` or `no_name`; `refusal` where the capture that the world
    /// is from shows that it fails.
    pub outcome: &'static str,
    /// The records at the name, an alias among them: TTL, type and data each.
    pub records: Vec<String>,
    /// Why no resolver can find it: the first zone on the way without a server that answers for it, the aliases
    /// included. `None` where it can be found.
    pub unreachable: Option<String>,
    /// The first zone on the way whose servers answer only queries without EDNS: since 2019 resolvers need not ask
    /// so where a query was not answered, and then do not find it. `None` where it can be found with EDNS, or not at
    /// all.
    pub needs_plain: Option<String>,
    /// The first signed zone on the way whose servers answer without EDNS only, so without signatures: a resolver that
    /// validates does not believe them. `None` where it can be validated, or not be found with EDNS.
    pub unverifiable: Option<String>,
    /// The name that it is an alias of.
    pub alias_of: Option<Box<Explanation>>,
}

/// A zone on the way to a name.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ExplainedZone {
    /// Its name.
    pub apex: String,
    /// Whether it is signed, and so whether its parent has a DS record for it.
    pub is_signed: bool,
    /// Whether it has keys that do not fit into a usual UDP response.
    pub has_large_keys: bool,
    /// Its name servers.
    pub servers: Vec<ExplainedServer>,
}

/// A name server of a zone.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ExplainedServer {
    /// Its name.
    pub host: String,
    /// Where it is asked.
    pub addresses: Vec<String>,
    /// Whether the referral to the zone has its address.
    pub has_glue: bool,
    /// Where it is; `None` where nothing is far.
    pub region: Option<String>,
    /// The time from a query to its answer.
    pub rtt_ns: u64,
    /// Its fault for whatever it is asked.
    pub fault: Option<&'static str>,
    /// Its fault for this zone.
    pub lame: Option<&'static str>,
}

/// What a resolver needs of the servers of a zone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Need {
    /// An answer, whatever has to be tried.
    Any,
    /// An answer, if only FORMERR, to a query with EDNS.
    Edns,
    /// Of a signed zone its signatures.
    Signatures,
}

impl World {
    /// The truth about a name.
    ///
    /// # Errors
    /// If it is not a domain name.
    pub fn explain(&self, name: &str) -> Result<Explanation, WorldError> {
        let mut wire = Vec::new();
        encode_name(name.as_bytes(), &mut wire)
            .map_err(|error| WorldError::Option(format!("`{name}` is not a name: {error}")))?;
        let name = Name::from_octets(wire.to_ascii_lowercase().into())
            .map_err(|error| WorldError::Option(format!("`{name}` is not a name: {error}")))?;
        Ok(self.hierarchy.explain(&name, MOST_ALIASES))
    }
}

impl Hierarchy {
    fn explain(&self, name: &Name, aliases_left: u32) -> Explanation {
        let path = self.path(name);
        let zones = path
            .iter()
            .enumerate()
            .map(|(at, zone)| self.explained(zone, at.checked_sub(1).map(|at| &path[at])));
        let zones = zones.collect();
        let reply = path.last().map(|zone| self.authoritative(zone, name, Rtype::A));
        let outcome = reply.as_ref().map_or(ReplyKind::NoName, |reply| reply.kind);
        // A wildcard stands for what is not there: its records are those of the answer.
        let at_name = path.last().and_then(|zone| self.node(zone, name));
        let sets = at_name.or_else(|| reply.map(|reply| reply.answer)).unwrap_or_default();
        let target = sets.iter().flat_map(|set| &set.data).find_map(|data| match data {
            Data::Cname(cname) => Some(cname.cname().clone()),
            _ => None,
        });
        let next = aliases_left.checked_sub(1);
        let alias_of = target.zip(next).map(|(target, left)| Box::new(self.explain(&target, left)));
        let failing = |need: Need, of_alias: fn(&Explanation) -> &Option<String>| {
            let own = self.failing(&path, need).map(|zone| text(&zone.apex));
            own.or_else(|| alias_of.as_deref().and_then(|alias| of_alias(alias).clone()))
        };
        let unreachable = failing(Need::Any, |alias| &alias.unreachable);
        let needs_plain = failing(Need::Edns, |alias| &alias.needs_plain).filter(|_| unreachable.is_none());
        let is_found = unreachable.is_none() && needs_plain.is_none();
        let unverifiable = failing(Need::Signatures, |alias| &alias.unverifiable).filter(|_| is_found);
        let outcome = alias_of.as_ref().map_or(outcome.key(), |alias| alias.outcome);
        Explanation {
            name: text(name),
            zones,
            outcome,
            records: sets.iter().flat_map(record_texts).collect(),
            unreachable,
            needs_plain,
            unverifiable,
            alias_of,
        }
    }

    /// The first zone of a path without a server that gives what is needed.
    fn failing<'a>(&self, path: &'a [Zone], need: Need) -> Option<&'a Zone> {
        let parents = std::iter::once(None).chain(path.iter().map(Some));
        let mut pairs = path.iter().zip(parents);
        pairs.find(|(zone, parent)| !self.gives(zone, *parent, need)).map(|(zone, _)| zone)
    }

    /// Whether a zone has a server that gives what is needed, whose address can be found.
    fn gives(&self, zone: &Zone, parent: Option<&Zone>, need: Need) -> bool {
        self.servers_of(zone).into_iter().any(|server| {
            let can = match self.server(server.id).fault {
                Some(Fault::Silent) => false,
                Some(Fault::EdnsDropped) => need == Need::Any,
                Some(Fault::EdnsFormerr) => need != Need::Signatures || !self.is_signed(zone),
                _ => true,
            };
            if !can || self.lame(zone, server.id).is_some() {
                return false;
            }
            // Of the root the addresses are known; a hoster's own zone has glue, so this ends. Addresses of name
            // servers need not be validated.
            let of_host = if need == Need::Any { Need::Any } else { Need::Edns };
            has_glue(&server, parent) || self.failing(&self.path(&server.host), of_host).is_none()
        })
    }

    fn explained(&self, zone: &Zone, parent: Option<&Zone>) -> ExplainedZone {
        let server = |server: NameServer| {
            let is_like = self.server(server.id);
            let (v4, v6) = self.addresses(server.id);
            ExplainedServer {
                host: text(&server.host),
                addresses: v4.into_iter().chain(v6).map(|address| address.to_string()).collect(),
                has_glue: has_glue(&server, parent),
                region: is_like.region.map(str::to_owned),
                rtt_ns: is_like.rtt.as_nanos() as u64,
                fault: is_like.fault.map(Fault::key),
                lame: self.lame(zone, server.id).map(Fault::key),
            }
        };
        ExplainedZone {
            apex: text(&zone.apex),
            is_signed: self.is_signed(zone),
            has_large_keys: self.has_large_keys(zone),
            servers: self.servers_of(zone).into_iter().map(server).collect(),
        }
    }
}

impl Explanation {
    /// For a person: a block for the name, and for each name that it is an alias of.
    pub fn to_text(&self) -> String {
        let mut out = format!("{}\n", self.name);
        for zone in &self.zones {
            let signed = if zone.is_signed { ", signed" } else { "" };
            let large = if zone.has_large_keys { ", large DNSKEY" } else { "" };
            let _ = writeln!(out, "  zone {}{signed}{large}", zone.apex);
            for server in &zone.servers {
                let mut notes: Vec<String> = Vec::new();
                notes.extend(
                    server.region.as_ref().map(|region| format!("{} {region}", duration(server.rtt_ns))),
                );
                notes.extend((!server.has_glue).then(|| "no glue".to_owned()));
                notes.extend(server.fault.map(str::to_owned));
                notes.extend(server.lame.map(str::to_owned));
                let addresses = server.addresses.join(" ");
                let _ = writeln!(out, "    {:<28} {addresses:<15}  {}", server.host, notes.join(", "));
            }
        }
        for record in &self.records {
            let _ = writeln!(out, "  {record}");
        }
        let _ = match (&self.unreachable, &self.needs_plain, &self.unverifiable) {
            (Some(zone), ..) => {
                writeln!(out, "  not to be found: no server of {zone} that can be found answers for it")
            }
            (_, Some(zone), _) => {
                writeln!(out, "  A: {}, if servers of {zone} are asked again without EDNS", self.outcome)
            }
            (.., Some(zone)) => {
                writeln!(out, "  A: {}, and not to be validated: no EDNS at {zone}", self.outcome)
            }
            _ => writeln!(out, "  A: {}", self.outcome),
        };
        if let Some(alias) = &self.alias_of {
            out += &alias.to_text();
        }
        out
    }
}

/// Whether a referral from `parent` has the address of a server.
fn has_glue(server: &NameServer, parent: Option<&Zone>) -> bool {
    parent.is_none_or(|parent| server.host.ends_with(&parent.apex))
}

fn record_texts(set: &RrSet) -> impl Iterator<Item = String> + '_ {
    set.data.iter().map(|data| format!("{} {} {data}", set.ttl_s, set.rtype))
}

/// More than any chain of aliases has: one in the zone, and those over zones.
const MOST_ALIASES: u32 = 16;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::tests::options;

    #[test]
    fn what_faults_leave_of_a_zone_is_told() {
        let of = |faults: &str| {
            let flags = format!("--zones 1k --signed --own-servers 100 --share cname=0% --fault {faults}");
            let world = World::new(&options(&flags)).unwrap();
            let zone = text(&world.hierarchy.population.nth_zone(7));
            let explanation = world.explain(&zone).unwrap();
            let shown = explanation.to_text();
            let told = [explanation.unreachable, explanation.needs_plain, explanation.unverifiable];
            let told = told.map(|of| of.is_some());
            (told, shown)
        };
        let cases = [
            ("slow=100%", [false; 3], "A: answer\n"),
            ("silent=100%", [true, false, false], "not to be found"),
            ("lame=100%", [true, false, false], "not to be found"),
            ("edns-dropped=100%", [false, true, false], "asked again without EDNS"),
            ("edns-formerr=100%", [false, false, true], "not to be validated"),
        ];
        for (faults, expected, words) in cases {
            let (told, shown) = of(faults);
            assert_eq!(told, expected, "{faults}: {shown}");
            assert!(shown.contains(words), "{faults}: {shown}");
        }
    }
}

//! What a server answers: a pure function of the server, the name, the type, and whether signatures are wanted.
//!
//! ```text
//!  zones on the path of the name ──► the deepest that this server has
//!      none             REFUSED
//!      delegates on     referral: NS, glue, DS or the proof that there is none
//!      else             answer, alias, wildcard, no data, no name; each with its proofs where the zone is signed
//! ```

use dnsdyno_responder::message::{NXDOMAIN, REFUSED, SERVFAIL};
use domain::base::iana::Rtype;

use crate::name::{Name, below, labels, lower, suffix};
use crate::rrset::{Data, RrSet};
use crate::servers::ServerId;
use crate::shares::Fault;
use crate::tree::{Hierarchy, Kind, Zone};

/// An answer before it is put into octets.
#[derive(Clone, Debug)]
pub(crate) struct Reply {
    pub(crate) kind: ReplyKind,
    pub(crate) rcode: u8,
    pub(crate) is_authoritative: bool,
    pub(crate) answer: Vec<RrSet>,
    pub(crate) authority: Vec<RrSet>,
    pub(crate) additional: Vec<RrSet>,
    /// The delegation that is lame here.
    pub(crate) fault: Option<Fault>,
    /// The zone that it is from, and what is to be proved of it where it is signed.
    pub(crate) zone: Option<Zone>,
    pub(crate) proofs: Vec<Proof>,
    /// The name at which a record that signing adds is asked for.
    pub(crate) signed_name: Option<Name>,
}

/// What an answer is, for the book.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum ReplyKind {
    Answer,
    Referral,
    NoData,
    NoName,
    /// The server does not have the name, or fails for it.
    Refusal,
    /// The query cannot be read, or asks for what is not implemented.
    Malformed,
}

/// Something that a signed zone proves.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Proof {
    /// The name is there without the type.
    NoType(Name),
    /// Neither the name is there nor the wildcard that could stand for it; below its closest encloser.
    NoName { name: Name, encloser: Name },
    /// A wildcard stands for a name that is not there.
    Wildcard { name: Name, encloser: Name },
    /// The same, and it lacks the type.
    WildcardNoType { name: Name, encloser: Name },
    /// A delegation to a zone: that it is signed (DS), or that it is not.
    Delegation(Zone),
}

impl Hierarchy {
    /// The answer of a server for a name in lower case.
    pub(crate) fn reply(&self, server: ServerId, name: &Name, rtype: Rtype) -> Reply {
        let path = self.path(name);
        let at_apex = rtype == Rtype::DS && path.last().is_some_and(|zone| zone.apex == *name);
        // DS is in the parent; only a server that lacks it answers from the zone itself.
        let parent = if at_apex { path.len().checked_sub(2) } else { None };
        let order = parent.into_iter().chain((0..path.len()).rev());
        let Some(at) = order.into_iter().find(|at| self.has(server, &path[*at])) else {
            return Reply::refusal(REFUSED, None);
        };
        let zone = &path[at];
        if let Some(fault) = self.lame(zone, server) {
            return self.lame_reply(fault);
        }
        match path.get(at + 1) {
            Some(child) if !(rtype == Rtype::DS && child.apex == *name) => self.referral(zone, child),
            Some(child) => self.delegation_signer(zone, child),
            None => self.authoritative(zone, name, rtype),
        }
    }

    /// The answer that a resolver comes to for a name, without what its aliases lead to in other zones.
    pub(crate) fn final_reply(&self, name: &Name, rtype: Rtype) -> Reply {
        let mut path = self.path(name);
        let child = path.pop_if(|zone| rtype == Rtype::DS && zone.apex == *name && zone.kind != Kind::Root);
        match (path.last(), child) {
            (Some(zone), Some(child)) => self.delegation_signer(zone, &child),
            (Some(zone), None) => self.authoritative(zone, name, rtype),
            (None, _) => Reply::refusal(REFUSED, None),
        }
    }

    /// The closest name above `name`, or itself, that a zone has.
    fn encloser(&self, zone: &Zone, name: &Name) -> Name {
        let least = labels(&zone.apex).len();
        let depths = (least..labels(name).len()).rev();
        let mut above = depths.map(|depth| suffix(name, depth));
        above.find(|above| self.node(zone, above).is_some()).unwrap_or_else(|| zone.apex.clone())
    }

    fn referral(&self, zone: &Zone, child: &Zone) -> Reply {
        let servers = self.name_servers(child);
        // Glue: addresses of servers in the zone that is left, which are below it or below another delegation of it.
        let glue = self.servers_of(child).into_iter().filter(|server| server.host.ends_with(&zone.apex));
        let additional = glue.flat_map(|server| self.server_addresses(&server.host, server.id)).collect();
        let proofs = vec![Proof::Delegation(child.clone())];
        let reply = Reply::of(ReplyKind::Referral, zone, proofs);
        Reply { authority: vec![servers], additional, is_authoritative: false, ..reply }
    }

    /// The answer of a parent for the DS of its child: the records themselves come with the signatures.
    fn delegation_signer(&self, zone: &Zone, child: &Zone) -> Reply {
        if self.is_signed(child) {
            return Reply::of(ReplyKind::Answer, zone, vec![Proof::Delegation(child.clone())]);
        }
        let reply = Reply::of(ReplyKind::NoData, zone, vec![Proof::NoType(child.apex.clone())]);
        Reply { authority: vec![self.soa(zone)], ..reply }
    }

    /// The answer of a zone for a name in it that no delegation is above.
    pub(crate) fn authoritative(&self, zone: &Zone, name: &Name, rtype: Rtype) -> Reply {
        let mut reply = Reply::of(ReplyKind::Answer, zone, Vec::new());
        let mut name = name.clone();
        // By rule aliases within a zone end: each leads to a host. The bound holds whatever a capture shows.
        for _ in 0..MOST_ALIASES {
            if self.population.captured().is_some_and(|captured| captured.fails(&name, rtype)) {
                // Whoever asks for the end of a chain alone is told that it fails.
                return if reply.answer.is_empty() { Reply::refusal(SERVFAIL, None) } else { reply };
            }
            let (sets, wildcard) = match self.node(zone, &name) {
                Some(sets) => (sets, None),
                None => {
                    let encloser = self.encloser(zone, &name);
                    let source = below("*", &encloser);
                    let Some(sets) = self.node(zone, &source) else {
                        reply.proofs.push(Proof::NoName { name, encloser });
                        return self.negative(reply, zone, NXDOMAIN, ReplyKind::NoName);
                    };
                    (sets.into_iter().map(|set| from_wildcard(set, &name, &source)).collect(), Some(encloser))
                }
            };
            let found = match rtype {
                Rtype::ANY => sets.first(),
                _ => sets.iter().find(|set| set.rtype == rtype || set.rtype == Rtype::CNAME),
            };
            let Some(set) = found else {
                // Keys and their like are not among the records by rule: they are added with the signatures.
                let has_own = wildcard.is_none() && !sets.is_empty();
                if self.is_key_type(zone, &name, rtype) || has_own && self.is_of_signing(zone, rtype) {
                    reply.signed_name = Some(name);
                    return reply;
                }
                reply.proofs.push(match wildcard {
                    None => Proof::NoType(name),
                    Some(encloser) => Proof::WildcardNoType { name, encloser },
                });
                return self.negative(reply, zone, 0, ReplyKind::NoData);
            };
            reply.answer.push(set.clone());
            reply.proofs.extend(wildcard.map(|encloser| Proof::Wildcard { name: name.clone(), encloser }));
            let target = match &set.data[..] {
                [Data::Cname(cname)] if rtype != Rtype::CNAME && rtype != Rtype::ANY => lower(cname.cname()),
                _ => break,
            };
            let is_again = reply.answer.iter().any(|set| set.owner == target);
            if is_again || !target.ends_with(&zone.apex) || self.cut(zone, &target).is_some() {
                break;
            }
            name = target;
        }
        // The addresses that a resolver needs when it starts (RFC 9609).
        if zone.kind == Kind::Root && rtype == Rtype::NS {
            let servers = self.servers_of(zone).into_iter();
            reply.additional =
                servers.flat_map(|server| self.server_addresses(&server.host, server.id)).collect();
        }
        reply
    }

    /// Whether these are records that signing adds.
    fn is_key_type(&self, zone: &Zone, name: &Name, rtype: Rtype) -> bool {
        let is_one = rtype == Rtype::DNSKEY || rtype == Rtype::NSEC3PARAM && self.has_nsec3(zone);
        is_one && zone.apex == *name && self.is_signed(zone)
    }

    /// Whether signing adds a record of this type at each name with records.
    fn is_of_signing(&self, zone: &Zone, rtype: Rtype) -> bool {
        let is_one = rtype == Rtype::RRSIG || rtype == Rtype::NSEC && !self.has_nsec3(zone);
        is_one && self.is_signed(zone)
    }

    /// Whether a zone proves with NSEC3; else with NSEC.
    pub(crate) fn has_nsec3(&self, zone: &Zone) -> bool {
        zone.draw.at(crate::draw::Purpose::Denial).is(self.rules.share(crate::shares::Share::Nsec3))
    }

    fn negative(&self, reply: Reply, zone: &Zone, rcode: u8, kind: ReplyKind) -> Reply {
        // What an alias in the answer led to is told, but the answer is one.
        let kind = if reply.answer.is_empty() { kind } else { ReplyKind::Answer };
        Reply { rcode, kind, authority: vec![self.soa(zone)], ..reply }
    }

    fn lame_reply(&self, fault: Fault) -> Reply {
        match fault {
            Fault::LameReferral => {
                let root = self.root();
                let reply = Reply::refusal(0, Some(fault));
                Reply { kind: ReplyKind::Referral, authority: vec![self.name_servers(&root)], ..reply }
            }
            Fault::LameServfail => Reply::refusal(SERVFAIL, Some(fault)),
            _ => Reply::refusal(REFUSED, Some(fault)),
        }
    }
}

impl Reply {
    fn of(kind: ReplyKind, zone: &Zone, proofs: Vec<Proof>) -> Reply {
        Reply { kind, is_authoritative: true, zone: Some(zone.clone()), proofs, ..Reply::refusal(0, None) }
    }

    fn refusal(rcode: u8, fault: Option<Fault>) -> Reply {
        Reply {
            kind: ReplyKind::Refusal,
            rcode,
            is_authoritative: false,
            answer: Vec::new(),
            authority: Vec::new(),
            additional: Vec::new(),
            fault,
            zone: None,
            proofs: Vec::new(),
            signed_name: None,
        }
    }
}

impl ReplyKind {
    /// All of them.
    pub(crate) const ALL: [ReplyKind; 6] = [
        ReplyKind::Answer,
        ReplyKind::Referral,
        ReplyKind::NoData,
        ReplyKind::NoName,
        ReplyKind::Refusal,
        ReplyKind::Malformed,
    ];

    /// Its word.
    pub(crate) fn key(self) -> &'static str {
        match self {
            ReplyKind::Answer => "answer",
            ReplyKind::Referral => "referral",
            ReplyKind::NoData => "no_data",
            ReplyKind::NoName => "no_name",
            ReplyKind::Refusal => "refusal",
            ReplyKind::Malformed => "malformed",
        }
    }
}

fn from_wildcard(set: RrSet, name: &Name, source: &Name) -> RrSet {
    RrSet { owner: name.clone(), wildcard: Some(source.clone()), ..set }
}

/// Aliases that one answer follows within its zone.
const MOST_ALIASES: usize = 12;

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use domain::base::iana::Rcode;

    use super::*;
    use crate::name::text;
    use crate::options::tests::options;
    use crate::resolver::{Found, Resolver};
    use crate::world::World;

    pub(crate) fn world(flags: &str) -> World {
        World::new(&options(flags)).unwrap()
    }

    /// Names of all kinds in zones all over the world.
    fn sample(world: &World, zones: u64) -> Vec<Name> {
        let labels =
            ["www", "mail", "api", "e0", "e3", "txt", "many", "sip", "nothing", "dept", "ns1", "_udp", "*"];
        let names = (0..zones).flat_map(|number| {
            let zone = world.hierarchy.population.drawn_zone(world.hierarchy.rules.draw.nth(number));
            let host = below(labels[number as usize % labels.len()], &zone);
            [below("a.b", &zone), below("x", &host), host, below("www", &below("dept", &zone)), zone]
        });
        names.collect()
    }

    /// What a resolver finds for a name is what the world says that it finds.
    fn assert_found(world: &World, name: &Name, rtype: Rtype) -> Result<Found, String> {
        let truth = world.explain(&text(name)).unwrap();
        let mut resolver = Resolver::new(world);
        let found = resolver.resolve(name, rtype);
        match (&found, &truth.unreachable) {
            (Err(_), Some(_)) => return found,
            (Ok(_), None) => {}
            // An alias may lead over a zone that no one reaches, or the answer have been complete before it.
            (result, unreachable) => panic!("{}: {result:?}, and the truth is {unreachable:?}", text(name)),
        }
        let found_here = found.as_ref().unwrap();
        let mut aliases = vec![truth.name.clone()];
        let mut at = &truth;
        while let Some(next) = &at.alias_of {
            aliases.push(next.name.clone());
            at = next;
        }
        assert_eq!(found_here.chain.iter().map(text).collect::<Vec<_>>(), aliases);
        if rtype == Rtype::A {
            let outcome = match (found_here.rcode, found_here.count) {
                (Rcode::NXDOMAIN, _) => "no_name",
                (_, 0) => "no_data",
                _ => "answer",
            };
            assert_eq!(outcome, truth.outcome, "{}", text(name));
        }
        found
    }

    #[test]
    fn every_name_resolves_from_the_root_to_what_the_world_says() {
        let world = world("--zones 100k --share child=30%,wildcard=30%,large=30%,naptr=30%");
        let mut outcomes = BTreeMap::new();
        for name in sample(&world, 400) {
            for rtype in [Rtype::A, Rtype::AAAA, Rtype::TXT] {
                let found = assert_found(&world, &name, rtype).unwrap();
                *outcomes.entry((found.rcode.to_int(), found.count > 0)).or_insert(0) += 1;
            }
        }
        // All three ends are among them.
        assert!(outcomes.len() == 3 && outcomes.values().all(|count| *count > 50), "{outcomes:?}");
    }

    #[test]
    fn faults_keep_resolvers_from_what_the_world_says_and_from_nothing_else() {
        let world = world(
            "--zones 100k --own-servers 3k --fault lame=15%,silent=10%,no-edns=20%,tcp-only=10%,slow=5%",
        );
        let all = sample(&world, 300);
        let failed = all.iter().filter(|name| assert_found(&world, name, Rtype::A).is_err()).count();
        assert!(failed > 10 && failed < all.len() / 2, "{failed} of {}", all.len());
    }

    #[test]
    fn names_of_a_list_resolve() {
        let hierarchy = crate::tree::tests::listed(
            "",
            &[
                "www.shop.co.uk",
                "a.b.example.com MX",
                "alias.example.com CNAME",
                "example.com",
                "de",
                "6.example.org AAAA",
            ],
        );
        let world = World::of(hierarchy);
        for name in [
            "www.shop.co.uk",
            "a.b.example.com",
            "b.example.com",
            "alias.example.com",
            "e2.example.com",
            "shop.co.uk",
            "nothing.example.com",
            "no.co.uk",
            "6.example.org",
        ] {
            assert_found(&world, &crate::tree::tests::name(name), Rtype::A).unwrap();
        }
        let found = assert_found(&world, &crate::tree::tests::name("6.example.org"), Rtype::AAAA).unwrap();
        assert_eq!(found.count, 1);
    }

    #[test]
    fn the_same_seed_gives_the_same_octets_and_another_one_others() {
        let octets = |seed: u32| {
            let world = world(&format!("--zones 10k --seed {seed} --prefix6 fd00:64::/64"));
            let mut all = Vec::new();
            for name in sample(&world, 50) {
                let mut resolver = Resolver::new(&world);
                resolver.resolve(&name, Rtype::A).unwrap();
                let messages = resolver
                    .answers
                    .iter()
                    .map(|row| &row.2)
                    .chain(resolver.referrals.iter().map(|row| &row.1));
                messages.for_each(|message| all.extend_from_slice(message.as_slice()));
            }
            all
        };
        let first = octets(1);
        assert!(first.len() > 10_000);
        assert_eq!(first, octets(1));
        assert_ne!(first, octets(2));
    }

    #[test]
    fn a_server_refuses_what_it_does_not_have_and_glue_is_in_the_zone_that_is_left() {
        let world = world("--zones 10k");
        let hierarchy = &world.hierarchy;
        let zone = hierarchy.path(&hierarchy.population.nth_zone(3)).pop().unwrap();
        let other = hierarchy.path(&hierarchy.population.nth_zone(4)).pop().unwrap();
        let server = hierarchy.servers_of(&zone)[0].id;
        if !hierarchy.has(server, &other) {
            assert_eq!(hierarchy.reply(server, &other.apex, Rtype::A).rcode, REFUSED);
        }
        assert_eq!(hierarchy.reply(server, &Name::root_bytes(), Rtype::NS).rcode, REFUSED);
        let mut with_glue = 0;
        for number in 0..500 {
            let path = hierarchy.path(&hierarchy.population.nth_zone(number));
            let server = hierarchy.servers_of(&path[1])[0].id;
            let reply = hierarchy.reply(server, &path[2].apex, Rtype::A);
            assert!(reply.kind == ReplyKind::Referral && !reply.is_authoritative && reply.answer.is_empty());
            assert!(reply.additional.iter().all(|set| set.owner.ends_with(&path[1].apex)));
            let is_own = hierarchy.servers_of(&path[2])[0].host.ends_with(&path[2].apex);
            assert!(!is_own || !reply.additional.is_empty());
            with_glue += usize::from(is_own);
        }
        assert!(with_glue > 80, "{with_glue}");
    }
}

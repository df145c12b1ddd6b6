//! A small iterative resolver for tests: it knows the addresses of the root and follows octets from there, so what it
//! finds was in the answers. It asks without EDNS where that fails, and over TCP where an answer is truncated.

use std::net::IpAddr;

use bytes::Bytes;
use dnsdyno_wire::{QueryForm, patch_id};
use domain::base::iana::{Rcode, Rtype};
use domain::base::{Message, ParsedName, Record, ToName};
use domain::rdata::AllRecordData;

use crate::Transport;
use crate::name::{Name, lower, text};
use crate::world::{Effect, World};

pub(crate) type ParsedRecord = Record<Name, AllRecordData<Bytes, ParsedName<Bytes>>>;

/// A resolver with an empty cache.
pub(crate) struct Resolver<'a> {
    world: &'a World,
    pub(crate) dnssec_ok: bool,
    pub(crate) queries: u32,
    /// Each authoritative answer that it has used, with what was asked.
    pub(crate) answers: Vec<(Name, Rtype, Message<Bytes>)>,
    /// Zones that it was referred to, with the message.
    pub(crate) referrals: Vec<(Name, Message<Bytes>)>,
}

/// How a question ended.
#[derive(Debug, PartialEq)]
pub(crate) struct Found {
    pub(crate) rcode: Rcode,
    /// Names from the one that was asked to the last alias.
    pub(crate) chain: Vec<Name>,
    /// Records of the type at the end of the chain.
    pub(crate) count: usize,
}

impl<'a> Resolver<'a> {
    pub(crate) fn new(world: &'a World) -> Self {
        Resolver { world, dnssec_ok: false, queries: 0, answers: Vec::new(), referrals: Vec::new() }
    }

    /// Resolves a name over its aliases.
    pub(crate) fn resolve(&mut self, name: &Name, rtype: Rtype) -> Result<Found, String> {
        let mut chain = vec![name.clone()];
        for _ in 0..MOST_ALIASES {
            let asked = chain.last().unwrap().clone();
            let message = self.ask_down(&asked, rtype, 0)?;
            let mut at = asked.clone();
            let records = answer(&message);
            loop {
                let here = records.iter().filter(|record| lower(record.owner()) == at);
                let count = here.clone().filter(|record| record.rtype() == rtype).count();
                let alias = here.clone().find_map(|record| match record.data() {
                    AllRecordData::Cname(cname) if rtype != Rtype::CNAME => Some(lower(cname.cname())),
                    _ => None,
                });
                match alias {
                    Some(_) if chain.len() > MOST_ALIASES => {
                        return Err(format!("{}: aliases in a circle", text(name)));
                    }
                    Some(target) => {
                        chain.push(target.clone());
                        at = target;
                    }
                    // The last alias leads out of the zone, unless this is the answer.
                    None if at != asked
                        && here.count() == 0
                        && message.header().rcode() == Rcode::NOERROR =>
                    {
                        let is_negative =
                            message.authority().unwrap().flatten().any(|r| r.rtype() == Rtype::SOA);
                        if is_negative {
                            return Ok(Found { rcode: Rcode::NOERROR, chain, count: 0 });
                        }
                        break;
                    }
                    None => return Ok(Found { rcode: message.header().rcode(), chain, count }),
                }
            }
        }
        Err(format!("{}: more aliases than a resolver follows", text(name)))
    }

    /// Follows referrals from the root to an authoritative answer.
    fn ask_down(&mut self, name: &Name, rtype: Rtype, depth: u32) -> Result<Message<Bytes>, String> {
        if depth > 4 {
            return Err(format!("{}: name servers in a circle", text(name)));
        }
        let root = self.world.hierarchy.root();
        let mut zone = Name::root_bytes();
        let roots = self.world.hierarchy.servers_of(&root);
        let mut addresses: Vec<IpAddr> =
            roots.iter().map(|server| self.world.hierarchy.addresses(server.id).0.unwrap()).collect();
        for _ in 0..10 {
            let usable = |message: &Message<Bytes>| {
                let header = message.header();
                let is_downward = referred(message)
                    .is_some_and(|to| to.ends_with(&zone) && to != zone && name.ends_with(&to));
                matches!(header.rcode(), Rcode::NOERROR | Rcode::NXDOMAIN) && (header.aa() || is_downward)
            };
            let mut answers = addresses.iter().filter_map(|address| self.ask(*address, name, rtype));
            let found = answers.find(usable);
            let message =
                found.ok_or_else(|| format!("{}: no usable answer for {}", text(&zone), text(name)))?;
            if message.header().aa() {
                self.answers.push((name.clone(), rtype, message.clone()));
                return Ok(message);
            }
            let child = referred(&message).unwrap();
            self.referrals.push((child.clone(), message.clone()));
            addresses = self.addresses_of(&message, &zone, depth)?;
            zone = child;
        }
        Err(format!("{}: more referrals than labels", text(name)))
    }

    /// The addresses in a referral, or where it has none, those that are found for its name servers.
    fn addresses_of(
        &mut self,
        referral: &Message<Bytes>,
        zone: &Name,
        depth: u32,
    ) -> Result<Vec<IpAddr>, String> {
        let hosts: Vec<Name> = records(referral.authority().unwrap())
            .into_iter()
            .filter_map(|record| match record.data() {
                AllRecordData::Ns(ns) => Some(lower(ns.nsdname())),
                _ => None,
            })
            .collect();
        let glue: Vec<IpAddr> = records(referral.additional().unwrap())
            .iter()
            .filter(|record| hosts.contains(record.owner()) && record.owner().ends_with(zone))
            .filter_map(v4)
            .collect();
        let mut all = glue;
        for host in hosts.iter().filter(|host| !host.ends_with(zone)) {
            if let Ok(message) = self.ask_down(host, Rtype::A, depth + 1) {
                all.extend(answer(&message).iter().filter_map(v4));
            }
        }
        Ok(all)
    }

    /// Asks one server, as resolvers do: with EDNS, then without; over TCP where the answer is truncated.
    fn ask(&mut self, address: IpAddr, name: &Name, rtype: Rtype) -> Option<Message<Bytes>> {
        let with = self.send(address, name, rtype, true, Transport::Udp);
        let is_refused = |message: &Message<Bytes>| message.header().rcode() == Rcode::FORMERR;
        let (message, edns) = match with.filter(|message| !is_refused(message)) {
            Some(message) => (message, true),
            None => (self.send(address, name, rtype, false, Transport::Udp)?, false),
        };
        match message.header().tc() {
            true => self.send(address, name, rtype, edns, Transport::Tcp),
            false => Some(message),
        }
    }

    /// Sends one query and takes its answer.
    fn send(
        &mut self,
        address: IpAddr,
        name: &Name,
        rtype: Rtype,
        has_edns: bool,
        via: Transport,
    ) -> Option<Message<Bytes>> {
        self.queries += 1;
        let form = QueryForm {
            edns_size: has_edns.then_some(1_232),
            dnssec_ok: has_edns && self.dnssec_ok,
            ..QueryForm::default()
        };
        let mut query = Vec::new();
        form.encode(name.as_slice(), rtype.to_int(), &mut query);
        patch_id(&mut query, self.queries as u16);
        let mut octets = Vec::new();
        let handled = self.world.handle(&query, address, 53, via, &mut octets);
        if !matches!(handled.effect, Effect::Answered { .. }) {
            assert!(octets.is_empty());
            return None;
        }
        assert!(
            via == Transport::Tcp || octets.len() <= if has_edns { 1_232 } else { 512 },
            "{}",
            octets.len()
        );
        let message = Message::from_octets(Bytes::from(octets)).unwrap();
        assert_eq!((message.header().id(), message.header().qr()), (self.queries as u16, true));
        assert_eq!(lower(message.sole_question().unwrap().qname()), *name);
        Some(message)
    }
}

/// Aliases that it follows.
const MOST_ALIASES: usize = 20;

/// The zone that a message refers to.
pub(crate) fn referred(message: &Message<Bytes>) -> Option<Name> {
    let is_empty = message.header_counts().ancount() == 0;
    let authority = records(message.authority().ok()?);
    let servers = authority.iter().find(|record| record.rtype() == Rtype::NS)?;
    is_empty.then(|| servers.owner().clone())
}

pub(crate) fn answer(message: &Message<Bytes>) -> Vec<ParsedRecord> {
    records(message.answer().unwrap())
}

/// The records of a section, of which each must be readable; their owners in lower case.
pub(crate) fn records(section: domain::base::message::RecordSection<'_, Bytes>) -> Vec<ParsedRecord> {
    let read = |record: domain::base::ParsedRecord<'_, Bytes>| {
        let record = record.to_any_record::<AllRecordData<Bytes, ParsedName<Bytes>>>().unwrap();
        let owner: Name = record.owner().to_canonical_name();
        Record::new(owner, record.class(), record.ttl(), record.into_data())
    };
    section.map(|record| read(record.unwrap())).filter(|record| record.rtype() != Rtype::OPT).collect()
}

fn v4(record: &ParsedRecord) -> Option<IpAddr> {
    match record.data() {
        AllRecordData::A(a) => Some(a.addr().into()),
        _ => None,
    }
}

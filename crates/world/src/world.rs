//! A world: what is done with each query, whoever carries the octets.

use std::net::IpAddr;
use std::time::Duration;

use dnsdyno_responder::message::{Parsed, Query, REFUSED, Silence, parse};
use domain::base::iana::{Class, Rtype};

use crate::answer::ReplyKind;
use crate::message::{Shape, encode, encode_bad_version, encode_formerr, encode_refusal};
use crate::name::{Name, lower, text};
use crate::options::{Rules, WorldOptions};
use crate::servers::ServerId;
use crate::shares::Fault;
use crate::sign::Signer;
use crate::tree::Hierarchy;
use crate::{Transport, WorldError};

/// A hierarchy of zones with its name servers. It keeps no table of zones: each answer is made when it is asked for.
#[derive(Debug)]
pub struct World {
    pub(crate) hierarchy: Hierarchy,
    pub(crate) signer: Signer,
}

/// What became of a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Handled {
    /// `None` where it was sent to an address that no server has.
    pub(crate) server: Option<ServerId>,
    /// `None` where it has no question that can be read.
    pub(crate) asked: Option<Asked>,
    pub(crate) effect: Effect,
    /// How long after it the answer is due: the round trip, and what a slow server adds.
    pub(crate) delay: Duration,
    pub(crate) fault: Option<Fault>,
}

/// What a query asks, as far as the book keeps it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Asked {
    pub(crate) rtype: u16,
    pub(crate) has_edns: bool,
    pub(crate) dnssec_ok: bool,
}

/// How a query ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    Answered {
        kind: ReplyKind,
        rcode: u16,
        is_truncated: bool,
    },
    /// On the way.
    Lost,
    /// By a fault of the server.
    Dropped,
    /// It is no query.
    Ignored,
    /// No server has the address.
    Outside,
}

impl World {
    /// Makes a world.
    ///
    /// # Errors
    /// If the options contradict each other, or the list of names cannot be read.
    pub fn new(options: &WorldOptions) -> Result<World, WorldError> {
        let hierarchy = Hierarchy::new(Rules::new(options)?)?;
        hierarchy.check_prefixes()?;
        Ok(World::of(hierarchy))
    }

    /// A world of a hierarchy.
    pub(crate) fn of(hierarchy: Hierarchy) -> World {
        let signer = Signer::new(hierarchy.rules.options.seed);
        World { hierarchy, signer }
    }

    /// How many addresses of IPv4 have a server.
    pub fn server_count(&self) -> u32 {
        self.hierarchy.server_count()
    }

    /// The trust anchor: the DS and DNSKEY records of the root's key as lines of a zone file. `None` where nothing is
    /// signed.
    pub fn trust_anchor(&self) -> Option<String> {
        let root = self.hierarchy.root();
        let keys = self.signer.dnskey(&self.hierarchy, &root);
        let signing = keys.data.first().filter(|_| self.hierarchy.is_signed(&root))?;
        let ds = self.signer.ds(&self.hierarchy, &root);
        let ds: String = ds.data.iter().map(|data| format!(". {} IN DS {data}\n", ds.ttl_s)).collect();
        Some(format!("{ds}. {} IN DNSKEY {signing}\n", keys.ttl_s))
    }

    /// The hints of the root for a resolver, as lines of a zone file.
    pub fn root_hints(&self) -> String {
        let root = self.hierarchy.root();
        let servers = self.hierarchy.servers_of(&root);
        let names = servers.iter().map(|server| format!(". {HINT_TTL_S} IN NS {}\n", text(&server.host)));
        let addresses = servers.iter().flat_map(|server| {
            let (v4, v6) = self.hierarchy.addresses(server.id);
            let line = |rtype: &str, address: IpAddr| {
                format!("{} {HINT_TTL_S} IN {rtype} {address}\n", text(&server.host))
            };
            [v4.map(|address| line("A", address)), v6.map(|address| line("AAAA", address))]
        });
        names.chain(addresses.flatten()).collect()
    }

    /// Lines of the list with a type of which a world makes no records: their names are there all the same.
    pub fn other_types(&self) -> u64 {
        self.hierarchy.population.list().map_or(0, |list| list.other_types)
    }

    /// Handles a query that came to the address `local` from the port `peer_port`; appends the answer to `out`, if
    /// there is one.
    pub(crate) fn handle(
        &self,
        query: &[u8],
        local: IpAddr,
        peer_port: u16,
        via: Transport,
        out: &mut Vec<u8>,
    ) -> Handled {
        let ended =
            |server, effect| Handled { server, asked: None, effect, delay: Duration::ZERO, fault: None };
        let Some(id) = self.hierarchy.server_at(local) else { return ended(None, Effect::Outside) };
        let server = self.hierarchy.server(id);
        let parsed = match parse(query) {
            Parsed::Query(parsed) => parsed,
            Parsed::Silence(Silence::TooShort | Silence::NotAQuery) => {
                return ended(Some(id), Effect::Ignored);
            }
            Parsed::Refused { rcode, question_end } => {
                encode_refusal(query, question_end, rcode, out);
                let effect = Effect::malformed(rcode.into());
                return Handled { delay: server.rtt, ..ended(Some(id), effect) };
            }
        };
        let asked = Asked {
            rtype: parsed.qtype,
            has_edns: parsed.edns.is_some(),
            dnssec_ok: parsed.edns.as_ref().is_some_and(|edns| edns.dnssec_ok),
        };
        let handled = |effect, fault| Handled { asked: Some(asked), fault, ..ended(Some(id), effect) };
        if via == Transport::Udp && self.hierarchy.is_lost(id, query, peer_port) {
            return handled(Effect::Lost, None);
        }
        let slow = if server.fault == Some(Fault::Slow) {
            self.hierarchy.rules.options.slow
        } else {
            Duration::ZERO
        };
        let delay = server.rtt + slow;
        match server.fault {
            Some(Fault::Silent) => return handled(Effect::Dropped, server.fault),
            Some(Fault::EdnsDropped) if asked.has_edns => return handled(Effect::Dropped, server.fault),
            Some(Fault::EdnsFormerr) if asked.has_edns => {
                encode_formerr(query, &parsed, out);
                return Handled { delay, ..handled(Effect::malformed(1), server.fault) };
            }
            _ => {}
        }
        let has_edns = !matches!(server.fault, Some(Fault::EdnsDropped | Fault::EdnsFormerr));
        let shape = Shape {
            limit: limit(&parsed, server.edns_size, via),
            edns_size: (asked.has_edns && has_edns).then_some(server.edns_size),
            is_cut: server.fault == Some(Fault::TcpOnly) && via == Transport::Udp,
        };
        let (effect, reply_fault) = self.answer(query, &parsed, id, shape, out);
        let server_fault = match server.fault {
            Some(Fault::Slow) => server.fault,
            Some(Fault::TcpOnly) if shape.is_cut => server.fault,
            _ => None,
        };
        Handled { delay, ..handled(effect, server_fault.or(reply_fault)) }
    }

    /// Answers a query that nothing stands in the way of.
    fn answer(
        &self,
        query: &[u8],
        parsed: &Query<'_>,
        server: ServerId,
        shape: Shape,
        out: &mut Vec<u8>,
    ) -> (Effect, Option<Fault>) {
        if parsed.edns.as_ref().is_some_and(|edns| edns.version > 0) {
            encode_bad_version(query, parsed, shape.edns_size.unwrap_or(MOST_WITHOUT_EDNS), out);
            return (Effect::malformed(dnsdyno_responder::message::BADVERS), None);
        }
        let name =
            (parsed.qclass == Class::IN.to_int()).then(|| Name::from_octets(bytes_of(parsed.qname)).ok());
        let Some(name) = name.flatten() else {
            encode_refusal(query, parsed.question_end, REFUSED, out);
            let effect =
                Effect::Answered { kind: ReplyKind::Refusal, rcode: REFUSED.into(), is_truncated: false };
            return (effect, None);
        };
        let (name, rtype) = (lower(&name), Rtype::from_int(parsed.qtype));
        let mut reply = self.hierarchy.reply(server, &name, rtype);
        // A server that does not answer EDNS does not know the DO bit.
        let dnssec_ok = shape.edns_size.is_some() && parsed.edns.as_ref().is_some_and(|edns| edns.dnssec_ok);
        self.signer.complete(&self.hierarchy, &mut reply, (&name, rtype), dnssec_ok);
        let is_truncated = encode(query, parsed, &reply, shape, out);
        let has_large_keys = || reply.zone.as_ref().is_some_and(|zone| self.hierarchy.has_large_keys(zone));
        let large = (rtype == Rtype::DNSKEY && reply.fault.is_none() && has_large_keys())
            .then_some(Fault::LargeDnskey);
        (
            Effect::Answered { kind: reply.kind, rcode: reply.rcode.into(), is_truncated },
            reply.fault.or(large),
        )
    }
}

impl Effect {
    fn malformed(rcode: u16) -> Effect {
        Effect::Answered { kind: ReplyKind::Malformed, rcode, is_truncated: false }
    }
}

/// The most octets of an answer.
fn limit(parsed: &Query<'_>, server_size: u16, via: Transport) -> usize {
    let of_client = parsed.edns.as_ref().map_or(MOST_WITHOUT_EDNS, |edns| edns.size.max(MOST_WITHOUT_EDNS));
    match via {
        Transport::Udp => usize::from(of_client.min(server_size.max(MOST_WITHOUT_EDNS))),
        Transport::Tcp => usize::from(u16::MAX),
    }
}

fn bytes_of(octets: &[u8]) -> bytes::Bytes {
    bytes::Bytes::copy_from_slice(octets)
}

/// Of a UDP response to a query without an OPT record (RFC 1035 §4.2.1).
const MOST_WITHOUT_EDNS: u16 = 512;

/// Of the hints, which resolvers ask for again when they start: 1,000 hours.
const HINT_TTL_S: u32 = 3_600_000;

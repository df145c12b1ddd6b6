//! One response of a capture: what it says of names, types and zones.
//!
//! ```text
//!  answer      www CNAME a.cdn, a.cdn A …   ──►  www is an alias, with this CNAME; a.cdn has these addresses
//!  RCODE, SOA  after the last alias         ──►  no such name; the name without the type; SERVFAIL
//!  authority   SOA, NS; signer of RRSIG     ──►  a zone begins there
//! ```

use std::collections::BTreeMap;

use domain::base::iana::{Class, Opcode, Rtype};
use domain::base::rdata::ComposeRecordData;
use domain::base::{Message, ParsedName, ParsedRecord};
use domain::rdata::AllRecordData;

use super::key::key_to_hold;
use super::votes::{NameKind, Seen, Votes};
use crate::name::{Name, lower};

/// What is read of a response.
struct Response {
    name: Name,
    rtype: Rtype,
    rcode: u16,
    is_of_resolver: bool,
    is_authoritative: bool,
    answer: Sets,
    /// Owners of SOA and NS records of the authority section.
    soa: Option<(Name, RecordSet)>,
    delegated: Option<Name>,
    signers: Vec<Name>,
}

/// The records of a section by owner and type.
type Sets = BTreeMap<(Name, u16), RecordSet>;

/// Records of one name and type, in canonical form.
#[derive(Default)]
struct RecordSet {
    ttl_s: u32,
    data: Vec<Vec<u8>>,
    /// Of an alias.
    target: Option<Name>,
}

/// Takes from a response what it says; returns whether it says anything.
pub(super) fn take(bytes: &[u8], votes: &mut Votes) -> bool {
    let Some(response) = Response::read(bytes) else { return false };
    // A name server that does not have the name says nothing of it.
    let is_final = response.is_of_resolver || response.is_authoritative;
    let is_usable = match response.rcode {
        NOERROR | NXDOMAIN => is_final,
        SERVFAIL => response.is_of_resolver,
        _ => false,
    };
    if is_usable {
        response.shows_names(votes);
    }
    // A referral shows zones only.
    let shows_zones = matches!(response.rcode, NOERROR | NXDOMAIN) && response.shows_zones(votes);
    is_usable || shows_zones
}

/// Whether records of a type are the world's own: those of its name servers, keys and proofs.
pub(super) fn is_own(rtype: Rtype) -> bool {
    rtype == Rtype::NS || is_of_signing(rtype)
}

/// Whether a type is made by signing a zone.
pub(super) fn is_of_signing(rtype: Rtype) -> bool {
    const TYPES: [Rtype; 6] =
        [Rtype::DS, Rtype::DNSKEY, Rtype::RRSIG, Rtype::NSEC, Rtype::NSEC3, Rtype::NSEC3PARAM];
    TYPES.contains(&rtype)
}

/// Whether a type is none of records in zones (RFC 6895 §3.1).
pub(super) fn is_meta(rtype: Rtype) -> bool {
    matches!(rtype.to_int(), 0 | 41 | 128..=255)
}

impl Response {
    /// Reads one; `None` where it is not one that says what is at a name of the Internet, or not whole.
    fn read(bytes: &[u8]) -> Option<Response> {
        let message = Message::from_octets(bytes).ok()?;
        let header = message.header();
        let question = message.sole_question().ok()?;
        let rtype = question.qtype();
        let is_one = header.qr() && header.opcode() == Opcode::QUERY && !header.tc();
        if !is_one || question.qclass() != Class::IN || is_meta(rtype) {
            return None;
        }
        let mut answer = Sets::new();
        let mut signers = Vec::new();
        for record in message.answer().ok()? {
            let record = record.ok()?;
            add(&record, &mut answer, &mut signers)?;
        }
        let (mut authority, mut unused) = (Sets::new(), Vec::new());
        for record in message.authority().ok()? {
            add(&record.ok()?, &mut authority, &mut unused)?;
        }
        let owner_of = |wanted: Rtype| {
            authority.keys().find(|(_, rtype)| *rtype == wanted.to_int()).map(|(owner, _)| owner.clone())
        };
        let (start, delegated) = (owner_of(Rtype::SOA), owner_of(Rtype::NS));
        let soa = start.and_then(|owner| {
            let set = authority.remove(&(owner.clone(), Rtype::SOA.to_int()))?;
            Some((owner, set))
        });
        Some(Response {
            name: lower(question.qname()),
            rtype,
            rcode: dnsdyno_wire::peek(bytes).ok()?.rcode,
            is_of_resolver: header.ra(),
            is_authoritative: header.aa(),
            answer,
            soa,
            delegated,
            signers,
        })
    }

    /// Takes what it says of the names from the one that was asked for to the last alias.
    fn shows_names(&self, votes: &mut Votes) {
        let rtype = self.rtype.to_int();
        let mut at = self.name.clone();
        for aliases in 0..=MOST_ALIASES {
            let alias = self.answer.get(&(at.clone(), Rtype::CNAME.to_int()));
            let Some(target) = alias.and_then(|set| set.target.clone()) else {
                let key = key_to_hold(&at);
                if let Some(key) = key {
                    self.shows_end(&key, &at, aliases, votes);
                }
                return;
            };
            if let (Some(key), Some(alias)) = (key_to_hold(&at), alias) {
                votes.name(&key, NameKind::Alias);
                // An alias has one target.
                votes.question(&key, Rtype::CNAME.to_int(), Seen::Records(&alias.first(), alias.ttl_s));
                if self.rtype != Rtype::CNAME && !is_own(self.rtype) {
                    votes.question(&key, rtype, Seen::ByName);
                }
            }
            if self.rtype == Rtype::CNAME {
                return;
            }
            at = target;
        }
    }

    /// Takes what it says of the name that no alias leads away from.
    fn shows_end(&self, key: &[u8], name: &Name, aliases: usize, votes: &mut Votes) {
        let rtype = self.rtype.to_int();
        let set = self.answer.get(&(name.clone(), rtype));
        let octets = set.map(RecordSet::octets).unwrap_or_default();
        let (kind, seen) = match (self.rcode, set) {
            (SERVFAIL, _) => (None, Seen::Fails),
            (NXDOMAIN, _) => (Some(NameKind::Absent), Seen::ByName),
            (_, Some(set)) => (Some(NameKind::There), Seen::Records(&octets, set.ttl_s)),
            (_, None) if self.is_negative(aliases) => (Some(NameKind::There), Seen::Nothing),
            _ => return,
        };
        kind.into_iter().for_each(|kind| votes.name(key, kind));
        if !is_own(self.rtype) {
            votes.question(key, rtype, seen);
        }
    }

    /// Whether it says that the last name does not have the type (RFC 2308 §2.2): with the start of a zone, or without
    /// anything where it is no referral. A name server does not follow aliases out of its zone.
    fn is_negative(&self, aliases: usize) -> bool {
        self.soa.is_some() || self.delegated.is_none() && (self.is_of_resolver || aliases == 0)
    }

    /// Takes where zones begin; returns whether it says that of any.
    fn shows_zones(&self, votes: &mut Votes) -> bool {
        let mut is_any = false;
        let is_above = |owner: &Name| {
            self.name.ends_with(owner)
                || self.answer.values().filter_map(|set| set.target.as_ref()).any(|to| to.ends_with(owner))
        };
        if let Some((owner, set)) = self.soa.as_ref().filter(|(owner, _)| is_above(owner))
            && let Some(key) = key_to_hold(owner)
        {
            votes.apex(&key);
            votes.question(&key, Rtype::SOA.to_int(), Seen::Records(&set.first(), set.ttl_s));
            is_any = true;
        }
        let of_answer = self.answer.keys().filter(|(_, rtype)| *rtype == Rtype::NS.to_int());
        let owners = self.delegated.iter().chain(&self.signers).chain(of_answer.map(|(owner, _)| owner));
        for key in owners.filter(|owner| is_above(owner)).filter_map(key_to_hold) {
            votes.apex(&key);
            is_any = true;
        }
        if self.rtype == Rtype::SOA && self.answer.contains_key(&(self.name.clone(), Rtype::SOA.to_int())) {
            key_to_hold(&self.name).iter().for_each(|key| votes.apex(key));
        }
        is_any
    }
}

impl RecordSet {
    /// The records as they are kept: sorted, each once.
    fn octets(&self) -> Vec<u8> {
        let mut data: Vec<&[u8]> = self.data.iter().map(|data| &data[..]).collect();
        data.sort_unstable();
        data.dedup();
        data.iter().flat_map(|data| with_length(data)).collect()
    }

    /// The first record, of a type of which there is one.
    fn first(&self) -> Vec<u8> {
        let mut data: Vec<&Vec<u8>> = self.data.iter().collect();
        data.sort_unstable();
        data.first().map(|data| with_length(data).collect()).unwrap_or_default()
    }
}

fn with_length(data: &[u8]) -> impl Iterator<Item = u8> + '_ {
    (data.len() as u16).to_be_bytes().into_iter().chain(data.iter().copied())
}

/// Adds a record of a section; `None` where it cannot be read.
fn add(record: &ParsedRecord<'_, &[u8]>, sets: &mut Sets, signers: &mut Vec<Name>) -> Option<()> {
    if record.class() != Class::IN {
        return Some(());
    }
    let parsed = record.to_any_record::<AllRecordData<&[u8], ParsedName<&[u8]>>>().ok()?;
    if let AllRecordData::Rrsig(signature) = parsed.data() {
        signers.push(lower(signature.signer_name()));
        return Some(());
    }
    let mut data = Vec::new();
    parsed.data().compose_canonical_rdata(&mut data).ok()?;
    let set = sets.entry((lower(&record.owner()), record.rtype().to_int())).or_default();
    set.ttl_s = set.ttl_s.max(record.ttl().as_secs()).min(MOST_TTL_S);
    if let AllRecordData::Cname(alias) = parsed.data()
        // Of several, the one that is kept.
        && set.data.iter().all(|other| data < *other)
    {
        set.target = Some(lower(alias.cname()));
    }
    set.data.push(data);
    Some(())
}

const NOERROR: u16 = 0;
const SERVFAIL: u16 = 2;
const NXDOMAIN: u16 = 3;

/// Aliases that an answer follows: more than any resolver does.
const MOST_ALIASES: usize = 32;

/// RFC 2181 §8.
const MOST_TTL_S: u32 = i32::MAX as u32;

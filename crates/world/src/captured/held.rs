//! Holds each answer of a capture against what a resolver finds in the world: read again as a replay reads it, compared
//! as a replay compares.

use std::collections::HashSet;

use bytes::Bytes;
use dnsdyno_capture::CaptureError;
use dnsdyno_queries::replay::{CapturedQuery, Compared, ComparedAnswer, ReplayPlan};
use dnsdyno_responder::message::SERVFAIL;
use dnsdyno_wire::{edns_of, peek};
use domain::base::Ttl;
use domain::base::iana::{Class, Rtype};
use domain::rdata::dnssec::{ProtoRrsig, Timestamp};

use super::Captured;
use super::key::key_to_hold;
use super::report::{CaptureReport, NotCompared, NotKept};
use super::response::{is_meta, is_of_signing, is_own};
use crate::WorldError;
use crate::answer::ReplyKind;
use crate::keys::algorithm;
use crate::message::answer_octets;
use crate::name::{Name, labels, lower};
use crate::rrset::{Data, RrSet};
use crate::tree::Zone;
use crate::world::World;

/// What a resolver finds.
struct Found {
    rcode: u8,
    answer: Vec<RrSet>,
    /// The names from the one that was asked for to the last alias.
    names: Vec<Name>,
}

/// What becomes of an answer.
enum End {
    Kept,
    NotKept(NotKept, Compared),
    NotCompared(NotCompared),
}

impl World {
    /// Holds the answers of the captures that the world was made from against what it says; `None` where it was made
    /// from none.
    ///
    /// # Errors
    /// A capture cannot be read again.
    pub fn capture_report(&self) -> Result<Option<CaptureReport>, WorldError> {
        let Some(captured) = self.hierarchy.population.captured() else { return Ok(None) };
        let mut report = CaptureReport {
            captures: captured.files.iter().map(|path| path.display().to_string()).collect(),
            responses_used: captured.read.used,
            responses_unused: captured.read.unused,
            names: captured.names.len() as u64,
            octets: captured.octets(),
            over_bound: captured.read.over_bound,
            errors: captured.read.errors.clone(),
            ..CaptureReport::default()
        };
        for path in &captured.files {
            self.hold(captured, path, &mut report)?;
        }
        Ok(Some(report))
    }

    fn hold(
        &self,
        captured: &Captured,
        path: &std::path::Path,
        report: &mut CaptureReport,
    ) -> Result<(), CaptureError> {
        let plan = ReplayPlan {
            file: Some(path.to_owned()),
            servers: captured.servers.clone(),
            check_answers: true,
            ..ReplayPlan::default()
        };
        let mut reader = plan.open()?;
        // An error in the middle was told when the capture was read first.
        while let Ok(Some(query)) = reader.next_query() {
            report.queries += 1;
            let CapturedQuery { message, expected: Some(recorded), .. } = query else { continue };
            if recorded.is_empty() {
                report.unanswered += 1;
                continue;
            }
            match self.end_of(captured, message, recorded) {
                End::Kept => report.kept += 1,
                End::NotCompared(reason) => *report.not_compared.entry(reason).or_default() += 1,
                End::NotKept(reason, compared) => {
                    *report.not_kept.entry(reason).or_default() += 1;
                    match compared {
                        Compared::Worse => report.worse += 1,
                        Compared::Better => report.better += 1,
                        Compared::Same | Compared::Different => report.different += 1,
                    }
                }
            }
        }
        Ok(())
    }

    /// What becomes of the answer to a query.
    fn end_of(&self, captured: &Captured, query: &[u8], recorded: &[u8]) -> End {
        let (Ok(asked), Ok(told)) = (peek(query), peek(recorded)) else {
            return End::NotKept(NotKept::Malformed, Compared::Better);
        };
        let class = asked.question.last_chunk().map_or(0, |class| u16::from_be_bytes(*class));
        let rtype = Rtype::from_int(asked.qtype().unwrap_or(0));
        let Ok(name) = Name::from_octets(Bytes::copy_from_slice(asked.qname())) else {
            return End::NotCompared(NotCompared::Class);
        };
        let name = lower(&name);
        let is_of_resolver = told.flags & RA != 0;
        let has_answered = matches!(told.rcode, 0 | 2 | 3);
        let not_compared = [
            (class != Class::IN.to_int() || asked.opcode() != 0, NotCompared::Class),
            (is_meta(rtype) || is_of_each_name(rtype), NotCompared::AnyType),
            (told.is_truncated(), NotCompared::Truncated),
            (!is_of_resolver && has_answered, NotCompared::NameServer),
        ];
        if let Some((_, reason)) = not_compared.into_iter().find(|(is_it, _)| *is_it) {
            return End::NotCompared(reason);
        }
        let edns = edns_of(query);
        let found = self.found(&name, rtype, edns.as_ref().is_some_and(|edns| edns.dnssec_ok));
        if found.names.len() > LEAST_ALIASES + 1 {
            return End::NotCompared(NotCompared::Aliases);
        }
        let octets = answer_octets(asked.question, found.rcode, &found.answer).unwrap_or_default();
        let (before, now) = (ComparedAnswer::of(recorded), ComparedAnswer::of(&octets));
        match now.against(&before) {
            Compared::Same => End::Kept,
            compared => {
                let reason = self.reason(captured, (&name, rtype), (recorded, before, now), &found);
                End::NotKept(reason, compared)
            }
        }
    }

    /// Why the world has another answer.
    fn reason(
        &self,
        captured: &Captured,
        (name, rtype): (&Name, Rtype),
        (recorded, before, now): (&[u8], ComparedAnswer, ComparedAnswer),
        found: &Found,
    ) -> NotKept {
        let has = |rtype: Rtype| before.has_type(rtype.to_int());
        let Some(rcode) = before.rcode() else { return NotKept::Malformed };
        let has_names_below = || {
            let end = found.names.last().unwrap_or(name);
            let is_there = found.rcode == NOERROR && captured.names.has(&key_of_name(end));
            rcode == 3 && is_there && !captured.is_disputed(&key_of_name(end), rtype)
        };
        let is_shown = || captured.set(name, &key_of_name(name), rtype).is_some();
        let is_disputed = || {
            let names = found.names.iter().map(|name| (key_of_name(name), rtype));
            let aliases = found.names.iter().map(|name| (key_of_name(name), Rtype::CNAME));
            names.chain(aliases).any(|(key, rtype)| captured.is_disputed(&key, rtype))
        };
        let only_signatures = || {
            let rrsig = Rtype::RRSIG.to_int();
            now.clone().without_type(rrsig) == before.clone().without_type(rrsig)
        };
        if !matches!(rcode, 0 | 2 | 3) {
            NotKept::Refused
        } else if is_of_signing(rtype) {
            NotKept::Keys
        } else if only_signatures() {
            NotKept::Signatures
        } else if is_own(rtype) || has(Rtype::NS) || rtype == Rtype::SOA && !is_shown() {
            NotKept::NameServers
        } else if has(Rtype::DNAME) {
            NotKept::Dname
        } else if found.names.iter().any(|name| key_to_hold(name).is_none()) {
            NotKept::Name
        } else if has_scope(recorded) {
            NotKept::ClientSubnet
        } else if has_names_below() {
            NotKept::NamesBelow
        } else if is_disputed() {
            NotKept::Changes
        } else if captured.read.over_bound > 0 {
            NotKept::NoRoom
        } else {
            NotKept::Other
        }
    }

    /// What a resolver finds for a name over its aliases.
    fn found(&self, name: &Name, rtype: Rtype, dnssec_ok: bool) -> Found {
        let mut found = Found { rcode: NOERROR, answer: Vec::new(), names: vec![name.clone()] };
        let mut seen = HashSet::from([name.clone()]);
        let mut at = name.clone();
        for _ in 0..MOST_ALIASES {
            let mut reply = self.hierarchy.final_reply(&at, rtype);
            self.signer.complete(&self.hierarchy, &mut reply, (&at, rtype), false);
            if reply.kind == ReplyKind::Refusal {
                return Found { rcode: SERVFAIL, answer: Vec::new(), ..found };
            }
            let target = |set: &RrSet| match set.data.first() {
                Some(Data::Cname(cname)) if rtype != Rtype::CNAME => Some(lower(cname.cname())),
                _ => None,
            };
            let targets: Vec<Name> = reply.answer.iter().filter_map(target).collect();
            let is_at_end =
                reply.answer.last().is_none_or(|set| target(set).is_none()) || !reply.authority.is_empty();
            for set in reply.answer {
                let signed = reply.zone.as_ref().filter(|zone| dnssec_ok && self.hierarchy.is_signed(zone));
                found.answer.extend(signed.and_then(|zone| self.signature_of(zone, &set)));
                found.answer.push(set);
            }
            found.names.extend(targets.iter().cloned());
            if targets.iter().any(|target| !seen.insert(target.clone())) {
                // A loop, which resolvers give up.
                return Found { rcode: SERVFAIL, answer: Vec::new(), ..found };
            }
            match targets.last() {
                Some(target) if !is_at_end => at = target.clone(),
                _ => return Found { rcode: reply.rcode, ..found },
            }
        }
        found
    }

    /// The signature of a set as far as answers are compared: what it covers and who signed.
    fn signature_of(&self, zone: &Zone, set: &RrSet) -> Option<RrSet> {
        let never = Timestamp::from(0);
        let depth = labels(&set.owner).len() as u8;
        let ttl = Ttl::from_secs(set.ttl_s);
        let algorithm = algorithm(&self.hierarchy, zone);
        let head = ProtoRrsig::new(set.rtype, algorithm, depth, ttl, never, never, 0, zone.apex.clone());
        let record = head.into_rrsig(Bytes::new()).ok()?;
        Some(RrSet::new(&set.owner, Rtype::RRSIG, set.ttl_s, vec![Data::Rrsig(record)]))
    }
}

/// Whether a signed zone has records of a type at each name, of which resolvers give some.
fn is_of_each_name(rtype: Rtype) -> bool {
    [Rtype::RRSIG, Rtype::NSEC, Rtype::NSEC3].contains(&rtype)
}

/// Whether a response is for a part of the clients: its client subnet has a scope (RFC 7871 §7.1.2).
fn has_scope(message: &[u8]) -> bool {
    let edns = edns_of(message);
    edns.iter()
        .flat_map(|edns| edns.options())
        .any(|(code, data)| code == CLIENT_SUBNET && data.get(3).is_some_and(|scope| *scope > 0))
}

fn key_of_name(name: &Name) -> Vec<u8> {
    crate::list::key_of(labels(name))
}

const NOERROR: u8 = 0;
const RA: u16 = 0x80;
const CLIENT_SUBNET: u16 = 8;

/// Aliases that each resolver follows: Unbound 11, others more.
const LEAST_ALIASES: usize = 10;

/// Aliases that are followed here.
const MOST_ALIASES: usize = 32;

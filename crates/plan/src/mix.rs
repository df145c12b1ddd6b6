//! A mix: the members among which the queries of a run are divided by weight. A member has a server and a transport.
//!
//! ```text
//!   -s a,b                         --mix udp=60,dot=40
//!   servers, with weights    ×     transports, with weights             ──► members: a udp, a dot, b udp, b dot
//!                                  [[member]], with settings of its own
//! ```

use std::collections::HashSet;
use std::path::Path;

pub use dnsdyno_measure::MOST_MEMBERS;

use crate::connections::ConnectionPlan;
use crate::draft::Draft;
use crate::encryption::EncryptionPlan;
use crate::error::PlanError;
use crate::kinds::TransportKind;
use crate::member_draft::MemberDraft;
use crate::servers::{Lookup, Server, names};
use crate::target::Target;
use crate::values::{above_zero, check_weight, weight};

/// One member of a mix.
#[derive(Debug, Clone, PartialEq)]
pub struct MixMember {
    /// Its name in reports; no other member has it.
    pub name: String,
    /// Its weight against those of the others; above 0.
    pub weight: f64,
    /// Where its queries are sent.
    pub target: Target,
    /// The transport.
    pub transport: TransportKind,
    /// Its own number of sockets or clients; `None` = its part of those of the run.
    pub clients: Option<usize>,
    /// The lifetime of its connections.
    pub connections: ConnectionPlan,
    /// Their encryption.
    pub encryption: EncryptionPlan,
}

/// The members of a mix, at least two; empty where a run has one server and one transport.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Mix {
    /// In the given order; server by server.
    pub members: Vec<MixMember>,
}

impl Mix {
    /// Whether there are several members.
    pub fn is_some(&self) -> bool {
        !self.members.is_empty()
    }

    /// The share of a member, 0 to 1.
    pub fn share(&self, member: &MixMember) -> f64 {
        member.weight / self.sum()
    }

    /// The servers, each once, in the order of the members.
    pub fn servers(&self) -> impl Iterator<Item = &Target> {
        let mut seen = HashSet::new();
        self.members.iter().map(|member| &member.target).filter(move |target| seen.insert(target.address))
    }

    /// The member that a client of a capture belongs to, for all of its queries: the same for the same seed, with each
    /// member's share of the clients by its weight. `client` is a number of any kind, such as a hash of its address.
    pub fn member_of_client(&self, seed: u64, client: u64) -> u8 {
        let mut place = unit(seed, client) * self.sum();
        for (number, member) in self.members.iter().enumerate() {
            place -= member.weight;
            if place < 0.0 {
                return number as u8;
            }
        }
        self.members.len().saturating_sub(1) as u8
    }

    fn sum(&self) -> f64 {
        self.members.iter().map(|member| member.weight).sum()
    }
}

/// A number in [0, 1) that depends on each bit of both (the steps of SplitMix64).
fn unit(seed: u64, client: u64) -> f64 {
    let mixed = seed ^ client.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    ((mixed ^ (mixed >> 31)) >> 11) as f64 / (1u64 << 53) as f64
}

/// The transports of a run as the user gave them, before the servers are looked up.
pub(crate) enum Ways {
    /// One.
    Alone(TransportKind),
    /// `--mix`, or members with settings of their own.
    Several(Vec<MemberDraft>),
}

impl Ways {
    pub(crate) fn of(draft: &mut Draft) -> Result<Ways, PlanError> {
        if let Some(members) = &draft.member {
            return Ok(Ways::Several(members.clone()));
        }
        let Some(text) = &draft.mix else {
            return Ok(Ways::Alone(*draft.transport.get_or_insert_default()));
        };
        parse(text).map(Ways::Several).map_err(|reason| PlanError::BadMix { text: text.clone(), reason })
    }

    pub(crate) fn transports(&self) -> Vec<TransportKind> {
        match self {
            Ways::Alone(transport) => vec![*transport],
            Ways::Several(members) => {
                members.iter().map(|member| member.transport.unwrap_or_default()).collect()
            }
        }
    }

    /// The one transport, or that there are several.
    pub(crate) fn transport(&self) -> TransportKind {
        let transports = self.transports();
        match transports.split_first() {
            Some((first, others)) if others.iter().all(|other| other == first) => *first,
            _ => TransportKind::Mix,
        }
    }

    /// The first server, and the members. The options in `draft` apply to each member that does not set its own.
    pub(crate) fn members(
        &self,
        draft: &mut Draft,
        user: &Draft,
        lookup: &Lookup<'_>,
    ) -> Result<(Target, Mix), PlanError> {
        let transport = self.transport();
        let servers = lookup.servers(draft, transport.default_port())?;
        let alone;
        let ways = match self {
            Ways::Several(members) => &members[..],
            Ways::Alone(_) => {
                alone = [MemberDraft { transport: Some(transport), ..MemberDraft::default() }];
                &alone
            }
        };
        let needs_server = ways.iter().any(|way| way.server.is_none());
        match servers.first() {
            None if needs_server => return Err(PlanError::NoServer),
            Some(_) if !needs_server => return Err(unusable("server", ALL_HAVE_SERVERS)),
            _ => {}
        }
        let making = Making { transport, is_named: matches!(self, Ways::Several(_)), user, lookup };
        let mut members = Vec::new();
        for server in names(&servers).iter().zip(&servers) {
            for way in ways.iter().filter(|way| way.server.is_none()) {
                members.push(making.member(draft, way, Some(server), servers.len() > 1)?);
            }
        }
        for way in ways.iter().filter(|way| way.server.is_some()) {
            members.push(making.member(draft, way, None, false)?);
        }
        if draft.member.is_some() && members.len() == 1 {
            return Err(unusable("member", ONE_MEMBER));
        }
        let mut known = HashSet::new();
        if let Some(twice) = members.iter().find(|member| !known.insert(member.name.as_str())) {
            return Err(PlanError::SameName { name: twice.name.clone() });
        }
        if members.len() > MOST_MEMBERS {
            return Err(PlanError::TooManyMembers { members: members.len(), most: MOST_MEMBERS });
        }
        let first = members.first().map(|member| member.target.clone()).ok_or(PlanError::NoServer)?;
        Ok((first, if members.len() > 1 { Mix { members } } else { Mix::default() }))
    }
}

/// What is the same for all members of a run.
struct Making<'a> {
    /// The transport of all of them, or that they differ.
    transport: TransportKind,
    /// Whether the members are named by more than their servers.
    is_named: bool,
    /// The options as given, without defaults.
    user: &'a Draft,
    lookup: &'a Lookup<'a>,
}

impl Making<'_> {
    fn member(
        &self,
        draft: &mut Draft,
        way: &MemberDraft,
        server: Option<(&String, &Server)>,
        has_servers: bool,
    ) -> Result<MixMember, PlanError> {
        let transport = way.transport.unwrap_or_default();
        let own_name = way.name.clone().unwrap_or_else(|| transport.to_string());
        let of_member = |source| match self.user.member.is_some() {
            true => PlanError::Member { name: own_name.clone(), source: Box::new(source) },
            false => source,
        };
        let (target, server_weight) = match (server, &way.server) {
            (Some((_, server)), _) => (self.on_port(&server.target, transport, way.port), server.weight),
            (None, asked) => {
                let asked = asked.as_deref().unwrap_or_default();
                let found = self.lookup.find(draft, asked, way.port, transport.default_port());
                (found.map_err(of_member)?, 1.0)
            }
        };
        let name = match server {
            Some((server, _)) if has_servers && !self.is_named => server.clone(),
            Some((server, _)) if has_servers => format!("{own_name} {server}"),
            _ => own_name.clone(),
        };
        let weight = way.weight.map_or(Ok(1.0), check_weight);
        let weight = weight.map_err(|reason| of_member(PlanError::BadWeight(reason)))?;
        above_zero("port", way.port).map_err(of_member)?;
        let (connections, encryption) = self.settings(draft, way, transport).map_err(of_member)?;
        Ok(MixMember {
            name,
            weight: weight * server_weight,
            target,
            transport,
            clients: above_zero("clients", way.clients).map_err(of_member)?,
            connections,
            encryption,
        })
    }

    /// The server with the port for this transport. Where the transports differ, encrypted ones have their usual port.
    fn on_port(&self, server: &Target, transport: TransportKind, own: Option<u16>) -> Target {
        let usual = match self.transport == TransportKind::Mix && transport.is_encrypted() {
            true => transport.default_port(),
            false => server.address.port(),
        };
        let mut target = server.clone();
        target.address.set_port(own.unwrap_or(usual));
        target
    }

    /// The settings of the run with those of the member over them.
    fn settings(
        &self,
        draft: &Draft,
        way: &MemberDraft,
        transport: TransportKind,
    ) -> Result<(ConnectionPlan, EncryptionPlan), PlanError> {
        let transports = &[transport];
        let encrypted = if transport.is_encrypted() { self.user.clone() } else { Draft::default() };
        // What the run sets for other members need not fit this one; but what both set must fit together.
        let with_run = Draft {
            tls_version: encrypted.tls_version,
            resumption: encrypted.resumption,
            early_data: encrypted.early_data,
            ..Draft::default()
        };
        laid_over(way, with_run).refuse_unusable(transport, transports)?;
        let mut both = laid_over(way, draft.clone());
        let connections = ConnectionPlan::of(&mut both, transport, transports)?;
        // Relative paths of the draft are absolute by now.
        Ok((connections, EncryptionPlan::of(&mut both, transports, Path::new("/"))?))
    }
}

/// The options of a member over those of a draft.
fn laid_over(way: &MemberDraft, draft: Draft) -> Draft {
    let way = way.clone();
    Draft {
        queries_per_connection: way.queries_per_connection.or(draft.queries_per_connection),
        idle_timeout: way.idle_timeout.or(draft.idle_timeout),
        fast_open: way.fast_open.or(draft.fast_open),
        sni: way.sni.or(draft.sni),
        tls_version: way.tls_version.or(draft.tls_version),
        resumption: way.resumption.or(draft.resumption),
        early_data: way.early_data.or(draft.early_data),
        handshake_timeout: way.handshake_timeout.or(draft.handshake_timeout),
        http_method: way.http_method.or(draft.http_method),
        http_path: way.http_path.or(draft.http_path),
        ..draft
    }
}

fn unusable(option: &'static str, sentence: &str) -> PlanError {
    PlanError::Unusable { option, sentence: sentence.to_owned() }
}

/// `udp=60,tcp=15,dot@8853=25`.
fn parse(text: &str) -> Result<Vec<MemberDraft>, String> {
    let mut members: Vec<MemberDraft> = Vec::new();
    for item in text.split(',') {
        let (name, share) = item
            .split_once('=')
            .ok_or_else(|| format!("`{}` has no weight; write TRANSPORT=WEIGHT", item.trim()))?;
        let (name, port) = match name.split_once('@') {
            None => (name, None),
            Some((name, port)) => {
                let number = port.trim().parse().ok().filter(|number| *number > 0);
                (name, Some(number.ok_or_else(|| format!("`{}` is not a port", port.trim()))?))
            }
        };
        let transport: TransportKind = name.trim().parse()?;
        let weight = weight(share)?;
        if members.iter().any(|member| member.transport == Some(transport)) {
            return Err(format!("{transport} is given twice"));
        }
        members.push(MemberDraft {
            transport: Some(transport),
            weight: Some(weight),
            port,
            ..MemberDraft::default()
        });
    }
    match members.len() {
        0 | 1 => Err("a mix needs two transports: use --transport for one".to_owned()),
        _ => Ok(members),
    }
}

const ALL_HAVE_SERVERS: &str = "names a server that no member uses: each has one of its own; remove it";
const ONE_MEMBER: &str = "is there once, and a mix needs two: set its options for the whole run";

#[cfg(test)]
mod tests;

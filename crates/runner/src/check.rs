//! The check before the load: one query to each server over each of its transports, and who the server says it is.
//!
//! ```text
//!   describe(plan) ──► parts ──► exchange: first query, then version.bind ──► Check, for the header and the user
//!                                     └── problem ──► words ──► the run is not made
//! ```
//!
//! It uses the transports that send the load, so that a problem found here is one that the load would have. AF_XDP is
//! the exception: attaching twice may reset an interface, so its server is asked over a socket.

mod elsewhere;
mod exchange;
mod identity;
mod words;

use std::io;

use dnsdyno_engine::{Asked, Control};
use dnsdyno_queries::Queries;
use dnsdyno_record::{Check, TlsCheck};
use dnsdyno_sys::clock;
use dnsdyno_transport::{Description, Kind, MemberDescription, Opened, PartKind, Peer, open, tls};
use dnsdyno_wire::{HEADER_LEN, class_name, name_to_text, peek, rcode_name, type_name};

use self::exchange::{Answer, Exchange, Exchanged, Problem, QUERY_ID};
use crate::error::{CheckFailed, RunError};

/// Sends the first of `queries` over each transport that `kind` and `description` have.
///
/// # Errors
/// If a transport cannot be opened, the server gave no usable answer over one, or `control` has stopped the run.
pub(crate) fn check_server(
    kind: Kind,
    description: &Description,
    queries: &Queries,
    control: &Control,
) -> Result<Vec<Check>, RunError> {
    let message = queries.check_message(QUERY_ID, clock::wall_ns());
    let (mut checks, mut sentences) = (Vec::new(), Vec::new());
    let parts = parts_of(kind, description);
    let is_other = |(kind, one): &(PartKind, Description), (other_kind, other): &(PartKind, Description)| {
        one.server.ip() != other.server.ip() || (kind == other_kind && one.server != other.server)
    };
    let has_servers = parts.iter().any(|part| parts.iter().any(|other| is_other(part, other)));
    let mut opened = Vec::with_capacity(parts.len());
    for (kind, description) in &parts {
        opened.push(open(Kind::Part(*kind), description)?);
    }
    // All at once: several servers that do not answer delay the error no longer than one. Each on a thread of its own,
    // because a transport changes settings of its thread.
    let exchanged: Vec<_> = std::thread::scope(|scope| -> io::Result<_> {
        let mut threads = Vec::with_capacity(parts.len());
        for (opened, (kind, description)) in opened.into_iter().zip(&parts) {
            let exchange = Exchange { question: &message, description, control };
            let thread = std::thread::Builder::new();
            threads.push(thread.spawn_scoped(scope, move || exchange_over(opened, *kind, exchange))?);
        }
        Ok(threads.into_iter().map(std::thread::ScopedJoinHandle::join).collect())
    })
    .map_err(RunError::Thread)?;
    if let Some(cause) = control.cause().filter(|_| control.asked() != Asked::Nothing) {
        return Err(RunError::StoppedBefore(cause));
    }
    for ((kind, description), exchanged) in parts.iter().zip(exchanged) {
        let Ok(exchanged) = exchanged else { continue };
        let (kind, mut check) = (*kind, check_of(*kind, &message, &exchanged));
        check.server = has_servers.then(|| description.server.to_string());
        if let Some(problem) = &exchanged.problem {
            let sentence = words::sentence(problem, kind, description, &check);
            check.problem = Some(sentence.clone());
            sentences.push(sentence);
        }
        checks.push(check);
    }
    match sentences.is_empty() {
        true => Ok(checks),
        false => Err(RunError::Check(CheckFailed { sentences, checks })),
    }
}

fn exchange_over(opened: Opened, kind: PartKind, exchange: Exchange<'_>) -> Exchanged {
    let Exchange { question, description, control } = exchange;
    let mut exchanged = opened.visit(exchange);
    let is_silent = matches!(exchanged.problem, Some(Problem::NoAnswer { .. }));
    let is_stopped = control.asked() != Asked::Nothing;
    if is_silent && !is_stopped && kind == PartKind::Udp && description.proxy.is_none() {
        let from = elsewhere::answering_address(question, description);
        exchanged.problem = from.map(|from| Problem::Elsewhere { from }).or(exchanged.problem);
    }
    exchanged
}

/// The parts of the run's transports, each with one worker and one client.
fn parts_of(kind: Kind, description: &Description) -> Vec<(PartKind, Description)> {
    let alone = |description: &Description| Description {
        workers: 1,
        clients: 1,
        queries_each: None,
        idle_timeout_ns: None,
        // The handshake of the load is a new one, too.
        fast_open: false,
        // Those of the load are bound already.
        local_ports: None,
        members: Vec::new(),
        ..description.clone()
    };
    let both = |member: &MemberDescription| {
        let parts = [Some(&member.first), member.fallback.as_ref()];
        parts.map(|part| part.map(|part| (part.kind, alone(&part.description))))
    };
    match kind {
        Kind::Part(kind) => vec![(kind, alone(description))],
        Kind::Mixed => {
            let mut parts: Vec<(PartKind, Description)> = Vec::new();
            for part in description.members.iter().flat_map(both).flatten() {
                if !parts.iter().any(|other| is_asked_alike(other, &part)) {
                    parts.push(part);
                }
            }
            parts
        }
        Kind::Xdp => vec![(PartKind::Udp, alone(description))],
        Kind::Sim => Vec::new(),
    }
}

/// Whether one check is enough for both parts: members may differ in the behaviour of their clients only.
fn is_asked_alike(
    (kind, one): &(PartKind, Description),
    (other_kind, other): &(PartKind, Description),
) -> bool {
    let http = |description: &Description| (description.http_get, description.http_path.clone());
    let tls = |description: &Description| {
        let tls = &description.tls;
        (tls.asked.clone(), tls.server_name.clone(), tls.tls12, tls.tls13)
    };
    (kind, one.server, http(one), tls(one)) == (other_kind, other.server, http(other), tls(other))
}

/// What was found, as the record has it.
fn check_of(kind: PartKind, query: &[u8], exchanged: &Exchanged) -> Check {
    let answer = exchanged.answer.as_ref();
    let peeked = answer.and_then(|answer| peek(&answer.bytes).ok());
    let identity = exchanged.version.as_deref().map(identity::of_response).unwrap_or_default();
    // A server may give its identifier with the first answer, if the user's queries request it.
    let nsid = answer.and_then(|answer| identity::of_response(&answer.bytes).nsid);
    Check {
        server: None,
        transport: name_of(kind).to_owned(),
        query: query_text(query),
        rcode: peeked.as_ref().map(|response| rcode_name(response.rcode).into_owned()),
        problem: None,
        truncated: peeked.as_ref().is_some_and(|response| response.is_truncated()),
        response_bytes: answer.map_or(0, |answer| answer.bytes.len() as u32),
        took_ns: answer.map_or(0, Answer::took_ns),
        attempts: exchanged.attempts,
        version: identity.version,
        nsid: nsid.or(identity.nsid),
        tls: exchanged.peer.as_ref().and_then(tls_check),
    }
}

fn tls_check(peer: &Peer) -> Option<TlsCheck> {
    let certificate = peer.certificates.first().and_then(|der| tls::describe_certificate(der).ok());
    let certificate = certificate.unwrap_or_default();
    Some(TlsCheck {
        version: peer.tls_version.clone()?,
        cipher_suite: peer.cipher_suite.clone().unwrap_or_default(),
        alpn: peer.alpn.clone(),
        subject: certificate.subject,
        issuer: certificate.issuer,
        names: certificate.names,
        valid_until: certificate.not_after,
    })
}

/// The first query in words: name, class where it is not IN, and type.
fn query_text(message: &[u8]) -> String {
    let Ok(query) = peek(message) else { return format!("{} octets", message.len() - HEADER_LEN) };
    let class = query.question.last_chunk::<2>().map_or(1, |class| u16::from_be_bytes(*class));
    let class = if class == 1 { String::new() } else { format!("{} ", class_name(class)) };
    format!("{} {class}{}", name_to_text(query.qname()), type_name(query.qtype().unwrap_or(0)))
}

/// The name of a transport, as a user types it.
fn name_of(kind: PartKind) -> &'static str {
    match kind {
        PartKind::Udp => "udp",
        PartKind::Tcp => "tcp",
        PartKind::Dot => "dot",
        PartKind::Doh => "doh",
        PartKind::Doq => "doq",
        PartKind::Doh3 => "doh3",
    }
}

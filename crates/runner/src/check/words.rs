//! What stopped a check, in one sentence with the cure.

use std::net::SocketAddr;

use dnsdyno_measure::{ConnectFailure, ConnectionEnd, HandshakeFailure, NotSentReason};
use dnsdyno_record::Check;
use dnsdyno_text::shown;
use dnsdyno_transport::{Description, PartKind};

use super::exchange::Problem;

/// The sentence for a problem: what happened, where, and what to do.
pub(super) fn sentence(
    problem: &Problem,
    kind: PartKind,
    description: &Description,
    check: &Check,
) -> String {
    let server = description.server;
    let over = &check.transport;
    let with = |why: &str, words: &Option<String>| match words {
        Some(words) => shown(words, LONGEST).into_owned(),
        None => why.to_owned(),
    };
    match problem {
        Problem::Refused => format!(
            "{server} refused the query over {over} (ICMP): nothing listens on this port, or a firewall rejects it; \
             {CHECK_ADDRESS}"
        ),
        Problem::NotConnected(ConnectFailure::Refused) => format!(
            "{server} refused the connection for {over}: nothing listens on this {} port, or a firewall rejects \
             it; {CHECK_ADDRESS}{}",
            if matches!(kind, PartKind::Doq | PartKind::Doh3) { "UDP" } else { "TCP" },
            usual_port(kind, server.port())
        ),
        Problem::NotConnected(ConnectFailure::TimedOut) => format!(
            "no connection to {server} for {over}: it did not respond; {CHECK_ADDRESS}, and that no firewall drops \
             packets to this port"
        ),
        Problem::NotConnected(why) => {
            format!("no connection to {server} for {over}: {}; {CHECK_ADDRESS}", why.words())
        }
        Problem::Handshake(why, words) => {
            format!("no handshake with {server} for {over}: {}{}", with(why.words(), words), cure(*why, kind))
        }
        Problem::Closed(end, words) => format!(
            "{server} gave no answer over {over}: {}; does this port serve {}?",
            with(closed_words(*end), words),
            service(kind)
        ),
        Problem::Stream(why, words) => {
            format!(
                "{server} gave no answer over {over}: {}{}",
                with(why.words(), words),
                path_cure(kind, &description.http_path)
            )
        }
        Problem::NotSent(NotSentReason::NoRoute) => format!(
            "no route to {server}: check the address, and this host's routes (`ip route get {}`)",
            server.ip()
        ),
        Problem::NotSent(why) => {
            format!("the query to {server} over {over} could not be sent: {}", why.words())
        }
        Problem::NotDns(bytes) => format!(
            "what {server} answers over {over} is not DNS (it starts with `{}`); does this port serve {}?",
            shown(&String::from_utf8_lossy(bytes), LONGEST_QUOTE),
            service(kind)
        ),
        Problem::OtherAnswer => format!(
            "{server} answers over {over}, but not this query (`{}`): ID or question differ; is there another program \
             in between?",
            shown(&check.query, LONGEST)
        ),
        Problem::Elsewhere { from } => elsewhere(server, *from),
        Problem::NoAnswer { waited_ns } => no_answer(server, *waited_ns, check),
    }
}

/// The server answers from an address that was not asked.
fn elsewhere(server: SocketAddr, from: SocketAddr) -> String {
    format!(
        "{server} answers from another address, {from}, and clients take no such answer: let it listen on {} itself, \
         not on a wildcard address (`listen-on` in BIND, `ip-address` in NSD, `listen` in Knot); or load {from}; or \
         take answers from any address with --any-source",
        server.ip()
    )
}

/// Nothing came.
fn no_answer(server: SocketAddr, waited_ns: u64, check: &Check) -> String {
    let sent =
        if check.attempts == 1 { "one query".to_owned() } else { format!("{} queries", check.attempts) };
    format!(
        "no answer from {server} over {} within {:.0} s ({sent} sent for `{}`); {CHECK_ADDRESS}, and that no firewall \
         drops it",
        check.transport,
        waited_ns as f64 * 1e-9,
        shown(&check.query, LONGEST)
    )
}

/// What ended a connection without an answer.
fn closed_words(end: ConnectionEnd) -> &'static str {
    match end {
        ConnectionEnd::ByServer => "it closed the connection",
        ConnectionEnd::Reset => "it reset the connection",
        ConnectionEnd::Garbled => "it sent something that is not DNS",
        ConnectionEnd::Silent => "it did not respond to the query",
        other => other.words(),
    }
}

/// What a user can do about a failed handshake, where the reason does not say it.
fn cure(why: HandshakeFailure, kind: PartKind) -> String {
    match why {
        HandshakeFailure::TimedOut | HandshakeFailure::Closed => {
            format!("; does this port serve {}?", service(kind))
        }
        _ => String::new(),
    }
}

/// What a user can do about an HTTP response that has no DNS message.
fn path_cure(kind: PartKind, path: &str) -> String {
    match kind {
        PartKind::Doh | PartKind::Doh3 => {
            format!("; check the path (--http-path {}) and the method (--http-method)", shown(path, LONGEST))
        }
        _ => String::new(),
    }
}

/// The usual port of the transport, where another one is used.
fn usual_port(kind: PartKind, port: u16) -> String {
    let usual = match kind {
        PartKind::Udp | PartKind::Tcp => 53,
        PartKind::Dot | PartKind::Doq => 853,
        PartKind::Doh | PartKind::Doh3 => 443,
    };
    if port == usual { String::new() } else { format!(" ({}: usually port {usual})", service(kind)) }
}

/// The service that the transport needs.
fn service(kind: PartKind) -> &'static str {
    match kind {
        PartKind::Udp => "DNS over UDP",
        PartKind::Tcp => "DNS over TCP",
        PartKind::Dot => "DNS over TLS",
        PartKind::Doh => "DNS over HTTPS (HTTP/2)",
        PartKind::Doq => "DNS over QUIC",
        PartKind::Doh3 => "DNS over HTTP/3",
    }
}

const CHECK_ADDRESS: &str = "check the address and the port, and that the server is running";

/// Characters shown of foreign words.
const LONGEST: usize = 200;

/// Characters shown of what is not DNS.
const LONGEST_QUOTE: usize = 40;

//! The transports that the responder serves.

use std::fmt;

use crate::answer::Via;

/// How queries are received and responses sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Transport {
    /// DNS over UDP.
    Udp,
    /// DNS over TCP (RFC 7766).
    Tcp,
    /// DNS over TLS (RFC 7858).
    Dot,
    /// DNS over HTTP/2 (RFC 8484).
    Doh,
    /// DNS over QUIC (RFC 9250).
    Doq,
    /// DNS over HTTP/3 (RFC 8484, RFC 9114).
    Doh3,
}

impl Transport {
    /// All of them, in the order of the book.
    pub const ALL: [Transport; 6] =
        [Transport::Udp, Transport::Tcp, Transport::Dot, Transport::Doh, Transport::Doq, Transport::Doh3];

    /// What limits the length of a response.
    pub fn via(self) -> Via {
        if self == Transport::Udp { Via::Udp } else { Via::Tcp }
    }

    /// Whether a connection begins with a TLS handshake.
    pub fn has_handshake(self) -> bool {
        !matches!(self, Transport::Udp | Transport::Tcp)
    }

    /// Whether a query is a request of HTTP.
    pub fn is_http(self) -> bool {
        matches!(self, Transport::Doh | Transport::Doh3)
    }

    /// Its key in the book's JSON: `udp`, `tcp`, `dot`, `doh`, `doq` or `doh3`.
    pub fn key(self) -> &'static str {
        match self {
            Transport::Udp => "udp",
            Transport::Tcp => "tcp",
            Transport::Dot => "dot",
            Transport::Doh => "doh",
            Transport::Doq => "doq",
            Transport::Doh3 => "doh3",
        }
    }
}

impl fmt::Display for Transport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Transport::Udp => "UDP",
            Transport::Tcp => "TCP",
            Transport::Dot => "DoT",
            Transport::Doh => "DoH",
            Transport::Doq => "DoQ",
            Transport::Doh3 => "DoH/3",
        })
    }
}

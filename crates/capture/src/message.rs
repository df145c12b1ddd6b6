//! A DNS message of a capture.

use std::net::SocketAddr;

/// A DNS message as it was captured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DnsMessage<'a> {
    /// When it was captured, in nanoseconds since 1970. Over TCP: when its last segment was.
    pub at_unix_ns: u64,
    /// What carried it.
    pub protocol: Protocol,
    /// Who sent it. The unspecified address where a dnstap message does not say it.
    pub source: SocketAddr,
    /// Whom it was sent to.
    pub destination: SocketAddr,
    /// The message without its length prefix: at least the 12 octets of a header. Nothing else is known of it.
    pub bytes: &'a [u8],
}

/// What carried a message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Protocol {
    /// UDP.
    #[default]
    Udp,
    /// TCP.
    Tcp,
    /// DNS over TLS.
    Dot,
    /// DNS over HTTPS.
    Doh,
    /// DNS over QUIC.
    Doq,
}

impl Protocol {
    /// All protocols.
    pub const ALL: [Protocol; 5] =
        [Protocol::Udp, Protocol::Tcp, Protocol::Dot, Protocol::Doh, Protocol::Doq];

    /// Its word, as in `--transport`.
    pub fn word(self) -> &'static str {
        match self {
            Protocol::Udp => "udp",
            Protocol::Tcp => "tcp",
            Protocol::Dot => "dot",
            Protocol::Doh => "doh",
            Protocol::Doq => "doq",
        }
    }
}

impl DnsMessage<'_> {
    /// Whether the QR bit is set.
    pub fn is_response(&self) -> bool {
        self.bytes.get(2).is_some_and(|octet| octet & 0x80 != 0)
    }

    /// The address of the client: who sent a query, or whom a response was sent to.
    pub fn client(&self) -> SocketAddr {
        if self.is_response() { self.destination } else { self.source }
    }

    /// The address of the server.
    pub fn server(&self) -> SocketAddr {
        if self.is_response() { self.source } else { self.destination }
    }
}

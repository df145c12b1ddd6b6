//! Options with a fixed set of values: transports, address families, TLS versions, HTTP methods.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use serde::de::value::{Error as WordError, StrDeserializer};
use serde::{Deserialize, Serialize};

/// The transport of DNS messages.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TransportKind {
    /// UDP, one message a datagram.
    #[default]
    Udp,
    /// TCP, messages one after the other on connections (RFC 7766).
    Tcp,
    /// UDP, with retries over TCP after truncated responses.
    #[serde(rename = "udp+tcp")]
    UdpTcp,
    /// TLS, messages as over TCP (RFC 7858).
    #[serde(alias = "tls")]
    Dot,
    /// HTTP/2 over TLS, a stream for each query (RFC 8484).
    Doh,
    /// QUIC, a stream for each query (RFC 9250).
    Doq,
    /// HTTP/3 over QUIC, a stream for each query (RFC 8484, RFC 9114).
    #[serde(alias = "h3")]
    Doh3,
    /// Several by weight; set by `mix`.
    #[serde(skip_deserializing)]
    Mix,
}

impl TransportKind {
    /// Whether at least some messages are sent over connections.
    pub fn connects(self) -> bool {
        self != TransportKind::Udp
    }

    /// Whether at least some queries are sent over UDP.
    pub fn has_udp(self) -> bool {
        matches!(self, TransportKind::Udp | TransportKind::UdpTcp | TransportKind::Mix)
    }

    /// Whether messages are encrypted.
    pub fn is_encrypted(self) -> bool {
        matches!(self, TransportKind::Dot) || self.is_http() || self.is_quic()
    }

    /// Whether a query is a request of HTTP.
    pub fn is_http(self) -> bool {
        matches!(self, TransportKind::Doh | TransportKind::Doh3)
    }

    /// Whether connections are those of QUIC.
    pub fn is_quic(self) -> bool {
        matches!(self, TransportKind::Doq | TransportKind::Doh3)
    }

    /// The port that servers listen on.
    pub fn default_port(self) -> u16 {
        match self {
            TransportKind::Udp | TransportKind::Tcp | TransportKind::UdpTcp | TransportKind::Mix => 53,
            TransportKind::Dot | TransportKind::Doq => 853,
            TransportKind::Doh | TransportKind::Doh3 => 443,
        }
    }
}

impl fmt::Display for TransportKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

impl FromStr for TransportKind {
    type Err = String;

    fn from_str(text: &str) -> Result<TransportKind, String> {
        from_word(text).ok_or_else(|| {
            format!("`{text}` is not a transport: use udp, tcp, udp+tcp, dot, doh, doq or doh3")
        })
    }
}

/// Which addresses may be used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Family {
    /// Both.
    #[default]
    Any,
    /// IPv4 only.
    #[serde(alias = "inet")]
    V4,
    /// IPv6 only.
    #[serde(alias = "inet6")]
    V6,
}

impl Family {
    /// The family of an address.
    pub fn of(address: IpAddr) -> Family {
        if address.is_ipv4() { Family::V4 } else { Family::V6 }
    }

    /// Whether an address belongs to it.
    pub fn admits(self, address: IpAddr) -> bool {
        self == Family::Any || self == Family::of(address)
    }
}

impl fmt::Display for Family {
    /// As a word before "address".
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Family::Any => "IP",
            Family::V4 => "IPv4",
            Family::V6 => "IPv6",
        })
    }
}

impl FromStr for Family {
    type Err = String;

    fn from_str(text: &str) -> Result<Family, String> {
        from_word(text).ok_or_else(|| {
            format!("`{text}` is not an address family: use any, v4 or v6 (a file of queries is -d FILE)")
        })
    }
}

/// Versions of TLS.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum TlsVersions {
    /// 1.2 and 1.3.
    #[default]
    #[serde(skip)]
    Any,
    /// 1.2 only.
    #[serde(rename = "1.2")]
    Only12,
    /// 1.3 only.
    #[serde(rename = "1.3")]
    Only13,
}

impl FromStr for TlsVersions {
    type Err = String;

    fn from_str(text: &str) -> Result<TlsVersions, String> {
        from_word(text).ok_or_else(|| format!("`{text}` is not a version of TLS: use 1.2 or 1.3"))
    }
}

/// How HTTP carries a query.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum HttpMethod {
    /// In the path, as base64url.
    Get,
    /// In the body.
    #[default]
    Post,
}

impl FromStr for HttpMethod {
    type Err = String;

    fn from_str(text: &str) -> Result<HttpMethod, String> {
        from_word(&text.to_ascii_lowercase())
            .ok_or_else(|| format!("`{text}` is not a method: use get or post"))
    }
}

/// The value with this name in plan files.
fn from_word<'a, T: Deserialize<'a>>(word: &'a str) -> Option<T> {
    T::deserialize(StrDeserializer::<WordError>::new(word)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_name_is_read_as_it_is_written_and_no_other() {
        for kind in ["udp", "tcp", "udp+tcp", "dot", "doh", "doq", "doh3"] {
            assert_eq!(kind.parse::<TransportKind>().map(|kind| kind.to_string()).as_deref(), Ok(kind));
        }
        assert_eq!(TransportKind::Mix.to_string(), "mix");
        assert!("mix".parse::<TransportKind>().is_err_and(|error| error.contains("udp+tcp")));
        assert_eq!(("v6".parse(), "Get".parse()), (Ok(Family::V6), Ok(HttpMethod::Get)));
        // As dnsperf names them.
        assert_eq!(("inet".parse(), "inet6".parse()), (Ok(Family::V4), Ok(Family::V6)));
        assert_eq!(("tls".parse(), "h3".parse()), (Ok(TransportKind::Dot), Ok(TransportKind::Doh3)));
        assert_eq!("1.2".parse(), Ok(TlsVersions::Only12));
        assert!("Any".parse::<TlsVersions>().is_err_and(|error| error.contains("1.2 or 1.3")));
    }
}

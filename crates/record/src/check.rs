//! What was found before the load: one query to each server over each of its transports.

use serde::{Deserialize, Serialize};

use crate::limits::MOST_NAMES;

/// What the server answered over one transport before the load.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Check {
    /// The address of the server, where the run has several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// The transport: `udp`, `dot`.
    pub transport: String,
    /// The query: name, class and type.
    pub query: String,
    /// The RCODE by its name; `None` without an answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rcode: Option<String>,
    /// Why there was no answer that can be used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    /// Whether the answer was truncated.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub truncated: bool,
    /// Size of the response in bytes.
    pub response_bytes: u32,
    /// From the query, its handshake included, to the answer, in nanoseconds.
    pub took_ns: u64,
    /// How often the query was sent.
    pub attempts: u32,
    /// What the server calls itself: the text of `version.bind` CH TXT.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Its name server identifier (NSID, RFC 5001), as text, or in hexadecimal where it is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nsid: Option<String>,
    /// The TLS of the connection.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tls: Option<TlsCheck>,
}

/// The TLS of the connection of a check.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct TlsCheck {
    /// `TLS 1.3`.
    pub version: String,
    /// The cipher suite by its IANA name.
    pub cipher_suite: String,
    /// The protocol agreed on (ALPN).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub alpn: Option<String>,
    /// The subject of the server's certificate.
    pub subject: String,
    /// The issuer of the server's certificate.
    pub issuer: String,
    /// The names that the certificate is for.
    #[serde(deserialize_with = "dnsdyno_measure::bounded::list::<_, _, MOST_NAMES>")]
    pub names: Vec<String>,
    /// The last day on which it is valid: `2027-01-31`.
    pub valid_until: String,
}

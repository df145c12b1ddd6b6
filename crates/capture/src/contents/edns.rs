//! EDNS of the queries: sizes, the DO bit, options.

use dnsdyno_wire::edns_of;
use serde::Serialize;

use super::codes::{self, Share};

/// EDNS of the queries.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Edns {
    /// Queries with an OPT record.
    pub queries: u64,
    /// Those with the DO bit.
    pub dnssec_ok: u64,
    /// The sizes that they offer, the most frequent first.
    pub sizes: Vec<Share>,
    /// Their options, by name.
    pub options: Vec<Share>,
}

#[derive(Default)]
pub(super) struct Counter {
    queries: u64,
    dnssec_ok: u64,
    sizes: codes::Counter,
    options: codes::Counter,
}

impl Counter {
    pub(super) fn add(&mut self, query: &[u8]) {
        let Some(edns) = edns_of(query) else { return };
        self.queries += 1;
        self.dnssec_ok += u64::from(edns.dnssec_ok);
        self.sizes.add(edns.size);
        edns.options().for_each(|(code, _)| self.options.add(code));
    }

    pub(super) fn edns(&self) -> Edns {
        Edns {
            queries: self.queries,
            dnssec_ok: self.dnssec_ok,
            sizes: self.sizes.shares(|size| size.to_string()),
            options: self.options.shares(option_name),
        }
    }
}

/// The name of an option (IANA, DNS EDNS0 Option Codes), or its number.
fn option_name(code: u16) -> String {
    let known = OPTIONS.iter().find(|(known, _)| *known == code);
    known.map_or_else(|| format!("OPTION{code}"), |(_, name)| (*name).to_owned())
}

const OPTIONS: &[(u16, &str)] = &[
    (1, "LLQ"),
    (2, "UL"),
    (3, "NSID"),
    (5, "DAU"),
    (6, "DHU"),
    (7, "N3U"),
    (8, "ECS"),
    (9, "EXPIRE"),
    (10, "COOKIE"),
    (11, "TCP-KEEPALIVE"),
    (12, "PADDING"),
    (13, "CHAIN"),
    (14, "KEY-TAG"),
    (15, "EDE"),
    (16, "CLIENT-TAG"),
    (17, "SERVER-TAG"),
    (18, "REPORT-CHANNEL"),
    (19, "ZONEVERSION"),
];

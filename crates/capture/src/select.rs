//! Which messages of a capture are kept: by time, by client, by server, by direction.

use std::net::IpAddr;
use std::str::FromStr;

use crate::client;
use crate::message::{DnsMessage, Protocol};

/// Which messages are kept. The usual selection keeps all.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    /// Not those before.
    pub from: Option<When>,
    /// Nor those at that instant or after it.
    pub to: Option<When>,
    /// The share of the clients that is kept, from 0 to 1, with everything that they send and receive.
    pub share_of_clients: Option<f64>,
    /// Which clients these are: the same ones for the same seed, in any capture.
    pub seed: u64,
    /// Only these clients; all, where none is named.
    pub clients: Vec<Prefix>,
    /// Only these servers; all, where none is named.
    pub servers: Vec<Prefix>,
    /// Only these transports; all, where none is named.
    pub protocols: Vec<Protocol>,
    /// No responses.
    pub queries_only: bool,
}

/// An instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// In nanoseconds since 1970.
    At(u64),
    /// In nanoseconds after the first message of all captures.
    After(u64),
}

impl When {
    fn unix_ns(self, first_unix_ns: u64) -> u64 {
        match self {
            When::At(at_unix_ns) => at_unix_ns,
            When::After(ns) => first_unix_ns.saturating_add(ns),
        }
    }
}

impl Selection {
    /// Whether a message is kept; `first_unix_ns` is the instant of the first message of all captures.
    pub fn keeps(&self, message: &DnsMessage<'_>, first_unix_ns: u64) -> bool {
        let is_after =
            |when: Option<When>| when.map(|when| message.at_unix_ns >= when.unix_ns(first_unix_ns));
        let (client, server) = (message.client().ip(), message.server().ip());
        is_after(self.from) != Some(false)
            && is_after(self.to) != Some(true)
            && !(self.queries_only && message.is_response())
            && is_any(&self.clients, client)
            && is_any(&self.servers, server)
            && (self.protocols.is_empty() || self.protocols.contains(&message.protocol))
            && self.share_of_clients.is_none_or(|share| is_in_share(client, self.seed, share))
    }
}

fn is_any(prefixes: &[Prefix], address: IpAddr) -> bool {
    prefixes.is_empty() || prefixes.iter().any(|prefix| prefix.contains(address))
}

fn is_in_share(client: IpAddr, seed: u64, share: f64) -> bool {
    // 53 bits: as many as a number with a fraction has.
    ((client::number(client, seed) >> 11) as f64) < share * (1u64 << 53) as f64
}

/// The addresses of a prefix, or one address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prefix {
    address: IpAddr,
    length: u8,
}

/// A text that is neither an address nor a prefix.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("write an address or a prefix, such as 192.0.2.1 or 2001:db8::/32")]
pub struct NotAPrefix;

impl FromStr for Prefix {
    type Err = NotAPrefix;

    fn from_str(text: &str) -> Result<Self, NotAPrefix> {
        let (address, length) = text.split_once('/').map_or((text, None), |(head, tail)| (head, Some(tail)));
        let address: IpAddr = address.parse().map_err(|_| NotAPrefix)?;
        let longest = if address.is_ipv4() { 32 } else { 128 };
        let length = match length {
            None => longest,
            // A number could have a sign.
            Some(text) if text.bytes().all(|byte| byte.is_ascii_digit()) => {
                text.parse().map_err(|_| NotAPrefix)?
            }
            Some(_) => return Err(NotAPrefix),
        };
        if length <= longest { Ok(Prefix { address, length }) } else { Err(NotAPrefix) }
    }
}

impl Prefix {
    /// Whether an address is in the prefix.
    pub fn contains(&self, address: IpAddr) -> bool {
        match (self.address, address) {
            (IpAddr::V4(mine), IpAddr::V4(other)) => {
                let differ = mine.to_bits() ^ other.to_bits();
                differ.checked_shr(32 - u32::from(self.length)).unwrap_or(0) == 0
            }
            (IpAddr::V6(mine), IpAddr::V6(other)) => {
                let differ = mine.to_bits() ^ other.to_bits();
                differ.checked_shr(128 - u32::from(self.length)).unwrap_or(0) == 0
            }
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::{START_NS, query, response};

    fn prefix(text: &str) -> Prefix {
        text.parse().unwrap()
    }

    #[test]
    fn a_prefix_contains_the_addresses_that_begin_like_it() {
        for (text, inside, outside) in [
            ("192.0.2.0/24", "192.0.2.255", "192.0.3.0"),
            ("192.0.2.7", "192.0.2.7", "192.0.2.6"),
            ("0.0.0.0/0", "203.0.113.9", "::1"),
            ("2001:db8::/32", "2001:db8:ffff::1", "2001:db9::"),
            ("::/0", "::1", "127.0.0.1"),
        ] {
            assert!(prefix(text).contains(inside.parse().unwrap()), "{text} has {inside}");
            assert!(!prefix(text).contains(outside.parse().unwrap()), "{text} has not {outside}");
        }
        for text in ["192.0.2.0/33", "192.0.2.0/", "192.0.2.0/+8", "::/129", "www.example", ""] {
            assert_eq!(text.parse::<Prefix>(), Err(NotAPrefix), "{text}");
        }
    }

    #[test]
    fn messages_are_kept_from_an_instant_to_before_another() {
        let selection = Selection {
            from: Some(When::After(10_000_000)),
            to: Some(When::At(START_NS + 30_000_000)),
            ..Selection::default()
        };
        let kept: Vec<u64> = (0..5)
            .map(|n| n * 10)
            .filter(|ms| selection.keeps(&query(*ms, 1, Protocol::Udp).borrowed(), START_NS))
            .collect();
        assert_eq!(kept, [10, 20]);
    }

    #[test]
    fn a_client_is_kept_with_its_responses_and_always_the_same_ones() {
        let keep = |seed, share| {
            let selection = Selection { share_of_clients: Some(share), seed, ..Selection::default() };
            let is_kept = |client: &u8| {
                let query = query(1, *client, Protocol::Udp);
                let is_kept = selection.keeps(&query.borrowed(), 0);
                assert_eq!(selection.keeps(&response(&query, 1, 0).borrowed(), 0), is_kept);
                is_kept
            };
            (0..=255).filter(is_kept).collect::<Vec<u8>>()
        };
        assert_eq!((keep(1, 0.0).len(), keep(1, 1.0).len()), (0, 256));
        let tenth = keep(1, 0.1);
        assert!((10..45).contains(&tenth.len()), "{}", tenth.len());
        assert!(keep(1, 0.2).iter().filter(|client| tenth.contains(client)).count() == tenth.len());
        assert_ne!(keep(2, 0.1), tenth);
    }

    #[test]
    fn clients_servers_transports_and_directions_are_chosen() {
        let query = query(1, 9, Protocol::Udp);
        let answer = response(&query, 1, 0);
        let of = |clients: &[&str], servers: &[&str]| Selection {
            clients: clients.iter().map(|text| prefix(text)).collect(),
            servers: servers.iter().map(|text| prefix(text)).collect(),
            ..Selection::default()
        };
        let keeps = |selection: &Selection| {
            (selection.keeps(&query.borrowed(), 0), selection.keeps(&answer.borrowed(), 0))
        };
        assert_eq!(keeps(&of(&["192.0.2.0/28"], &["198.51.100.1"])), (true, true));
        assert_eq!(keeps(&of(&["198.51.100.0/24"], &[])), (false, false));
        assert_eq!(keeps(&of(&[], &["192.0.2.9"])), (false, false));
        assert_eq!(keeps(&Selection { queries_only: true, ..Selection::default() }), (true, false));
        let tcp = Selection { protocols: vec![Protocol::Tcp], ..Selection::default() };
        assert_eq!(keeps(&tcp), (false, false));
    }
}

//! The server: its notation, the choice of its address, and whether it may be loaded.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use crate::error::PlanError;
use crate::kinds::Family;

/// The server of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// The name or address as the user wrote it, without the port.
    pub asked: String,
    /// The address that queries are sent to.
    pub address: SocketAddr,
}

impl Target {
    /// As the user wrote it, with its port.
    pub fn with_port(&self) -> String {
        let port = self.address.port();
        if self.asked.contains(':') {
            format!("[{}]:{port}", self.asked)
        } else {
            format!("{}:{port}", self.asked)
        }
    }
}

/// Looks up the addresses of a name, or of an address with a zone such as `fe80::1%eth0`. Takes the name and
/// the port; the error is a text for the user.
pub type Resolve<'a> = &'a dyn Fn(&str, u16) -> Result<Vec<SocketAddr>, String>;

/// The options of a draft that determine the target.
pub(crate) struct Wanted<'a> {
    pub(crate) server: &'a str,
    pub(crate) port: Option<u16>,
    /// The default port.
    pub(crate) usual_port: u16,
    pub(crate) family: Family,
    pub(crate) local_address: Option<IpAddr>,
}

impl Wanted<'_> {
    /// The first address of the server that has the right family.
    pub(crate) fn find(&self, resolve: Resolve<'_>) -> Result<Target, PlanError> {
        let (host, in_server) = split_server(self.server)?;
        let port = match (in_server, self.port) {
            (Some(in_server), Some(in_option)) if in_server != in_option => {
                return Err(PlanError::TwoPorts { in_server, in_option });
            }
            (in_server, in_option) => in_server.or(in_option).unwrap_or(self.usual_port),
        };
        if port == 0 {
            return Err(PlanError::Zero { option: "port" });
        }
        let family = self.family()?;
        let found = match host.parse::<IpAddr>() {
            Ok(address) => vec![SocketAddr::new(address, port)],
            Err(_) => resolve(host, port)
                .and_then(|found| {
                    if found.is_empty() {
                        Err("the name has no address record".to_owned())
                    } else {
                        Ok(found)
                    }
                })
                .map_err(|reason| PlanError::Unresolved { server: host.to_owned(), reason })?,
        };
        match found.into_iter().find(|address| family.admits(address.ip())) {
            Some(address) => Ok(Target { asked: host.to_owned(), address }),
            None => Err(PlanError::WrongFamily { server: host.to_owned(), wanted: family }),
        }
    }

    /// The family that both `--family` and `--local-address` admit.
    fn family(&self) -> Result<Family, PlanError> {
        match self.local_address {
            Some(local) if !self.family.admits(local) => {
                Err(PlanError::LocalFamily { local, family: self.family })
            }
            Some(local) => Ok(Family::of(local)),
            None => Ok(self.family),
        }
    }
}

/// Whether a load on this address affects only the user's own network: loopback, private, link-local, and the ranges
/// reserved for documentation and for benchmarks.
pub fn target_is_harmless(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(v4) => {
            v4.is_loopback()
                || v4.is_unspecified()
                || v4.is_private()
                || v4.is_link_local()
                || v4.is_documentation()
                || is_benchmark_v4(v4)
        }
        IpAddr::V6(v6) => {
            v6.is_loopback()
                || v6.is_unspecified()
                || v6.is_unique_local()
                || v6.is_unicast_link_local()
                || is_reserved_v6(v6)
        }
    }
}

/// Whether one of the servers of `-s` is written with its port.
pub(crate) fn has_port(servers: &str) -> bool {
    let mut servers = servers.split(',').filter_map(|item| item.split('=').next());
    servers.any(|server| matches!(split_server(server), Ok((_, Some(_)))))
}

/// Splits a server into name or address, and port.
fn split_server(text: &str) -> Result<(&str, Option<u16>), PlanError> {
    let text = text.trim();
    let bad = || PlanError::BadServer { text: text.to_owned(), advice: advice_on(text) };
    let port = |digits: &str| {
        // `parse` would accept a sign.
        if digits.bytes().all(|byte| byte.is_ascii_digit()) {
            digits.parse().ok().filter(|port| *port > 0).ok_or_else(bad)
        } else {
            Err(bad())
        }
    };
    let (host, port) = if let Some(inside) = text.strip_prefix('[') {
        let (host, after) = inside.split_once(']').ok_or_else(bad)?;
        match (after, after.strip_prefix(':')) {
            ("", _) => (host, None),
            (_, Some(digits)) => (host, Some(port(digits)?)),
            _ => return Err(bad()),
        }
    } else if let Some((host, digits)) = text.split_once('@') {
        (host, Some(port(digits)?))
    } else {
        match text.split_once(':') {
            // More than one colon: an IPv6 address without brackets has no port.
            Some((_, rest)) if rest.contains(':') => (text, None),
            Some((host, digits)) => (host, Some(port(digits)?)),
            None => (text, None),
        }
    };
    if port.is_none() && is_without_brackets(text) {
        return Err(bad());
    }
    let is_v6 = |host: &str| host.split('%').next().is_some_and(|host| host.parse::<Ipv6Addr>().is_ok());
    if host.contains(':') && !is_v6(host) {
        return Err(bad());
    }
    if host.is_empty() || host.contains(|letter: char| letter.is_whitespace() || "[]@/#,".contains(letter)) {
        return Err(bad());
    }
    Ok((host, port))
}

/// What to write instead of a server that cannot be read.
fn advice_on(text: &str) -> String {
    let usual = "write a name, an address, ADDRESS:PORT, [IPV6]:PORT or ADDRESS@PORT".to_owned();
    let schemes =
        [("https://", "doh"), ("tls://", "dot"), ("quic://", "doq"), ("tcp://", "tcp"), ("udp://", "udp")];
    if let Some((scheme, transport)) = schemes.iter().find(|(scheme, _)| text.starts_with(scheme)) {
        let (host, path) = text[scheme.len()..].split_once('/').unwrap_or((&text[scheme.len()..], ""));
        // Who asks is not told to a server of DNS.
        let host = host.rsplit('@').next().unwrap_or(host);
        let path = if *transport == "doh" && !path.is_empty() && path != "dns-query" {
            format!(" --http-path /{path}")
        } else {
            String::new()
        };
        return format!("write `-s {host} --transport {transport}{path}`");
    }
    if is_without_brackets(text)
        && let Some((address, port)) = text.rsplit_once(':')
    {
        return format!("an IPv6 address with a port needs brackets: write `[{address}]:{port}`");
    }
    if let Some((host, port)) = text.split_once('#') {
        return format!("write `{host}:{port}`");
    }
    let port = text.rsplit_once([':', '@']).map_or("", |(_, port)| port);
    if !port.is_empty()
        && port.bytes().all(|byte| byte.is_ascii_digit())
        && !matches!(port.parse::<u16>(), Ok(1..))
    {
        return "a port is a number from 1 to 65535".to_owned();
    }
    if text.contains([',', ' ']) {
        return "write one name or address; several are for `-s`, with commas and without spaces: `-s A,B`"
            .to_owned();
    }
    usual
}

/// Whether a text is an IPv6 address that nobody has, and without its last part, a decimal number, one that servers
/// have: `::1:5310` is meant as `[::1]:5310`.
fn is_without_brackets(text: &str) -> bool {
    let Some((host, port)) = text.rsplit_once(':') else { return false };
    let (Ok(whole), Ok(host)) = (text.parse::<Ipv6Addr>(), host.parse::<Ipv6Addr>()) else { return false };
    let is_port = port.bytes().all(|byte| byte.is_ascii_digit()) && port.parse::<u16>().is_ok();
    // Below ::/96 there is no address but ::1; elsewhere the last part may well be one of an address.
    is_port && host.is_loopback() && whole.segments()[..6] == [0; 6]
}

/// 198.18.0.0/15, for benchmarks of network devices (RFC 2544).
fn is_benchmark_v4(address: Ipv4Addr) -> bool {
    let [first, second, ..] = address.octets();
    first == 198 && second & 0xfe == 18
}

/// Documentation 2001:db8::/32 (RFC 3849) and 3fff::/20 (RFC 9637), benchmarks 2001:2::/48 (RFC 5180).
fn is_reserved_v6(address: Ipv6Addr) -> bool {
    let [a, b, c, ..] = address.segments();
    (a, b) == (0x2001, 0xdb8) || (a == 0x3fff && b & 0xf000 == 0) || (a, b, c) == (0x2001, 2, 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A resolver in which only `both` and `old` have addresses.
    fn resolve(name: &str, port: u16) -> Result<Vec<SocketAddr>, String> {
        let at = |text: &str| SocketAddr::new(text.parse().expect("a test address"), port);
        match name {
            "both" => Ok(vec![at("::1"), at("127.0.0.1")]),
            "old" => Ok(vec![at("127.0.0.2")]),
            "empty" => Ok(vec![]),
            _ => Err("no such name".to_owned()),
        }
    }

    fn find(
        server: &str,
        port: Option<u16>,
        family: Family,
        local: Option<&str>,
    ) -> Result<String, PlanError> {
        let local_address = local.map(|text| text.parse().expect("a test address"));
        Wanted { server, port, usual_port: 53, family, local_address }
            .find(&resolve)
            .map(|target| target.address.to_string())
    }

    #[test]
    fn a_server_may_be_written_with_or_without_its_port() {
        let cases = [
            ("192.0.2.1", "192.0.2.1:53"),
            ("192.0.2.1:5300", "192.0.2.1:5300"),
            ("192.0.2.1@5300", "192.0.2.1:5300"),
            ("::1", "[::1]:53"),
            ("[::1]", "[::1]:53"),
            ("[::1]:5300", "[::1]:5300"),
            ("::1@5300", "[::1]:5300"),
            ("old:5300", "127.0.0.2:5300"),
        ];
        for (server, want) in cases {
            assert_eq!(find(server, None, Family::Any, None).as_deref(), Ok(want), "{server}");
        }
        assert_eq!(find("old", Some(99), Family::Any, None).as_deref(), Ok("127.0.0.2:99"));
    }

    #[test]
    fn an_invalid_server_is_refused() {
        for text in
            ["", ":53", "a:", "a:b", "a:70000", "a:+5", "[::1", "[::1]x", "a b", "@53", "a/b", ":@5", "a:b:c"]
        {
            // "a:" has an empty port, which is not valid either.
            let found = find(text, None, Family::Any, None);
            assert!(
                matches!(&found, Err(PlanError::BadServer { text: t, .. }) if t == text),
                "{text:?}: {found:?}"
            );
        }
        assert_eq!(
            find("old:0", None, Family::Any, None).unwrap_err().to_string(),
            "`old:0` is not a server: a port is a number from 1 to 65535"
        );
        assert_eq!(find("old", Some(0), Family::Any, None), Err(PlanError::Zero { option: "port" }));
    }

    #[test]
    fn an_invalid_server_is_answered_with_what_was_meant() {
        let cases = [
            ("::1:5310", "`[::1]:5310`"),
            ("https://dns.example/q", "`-s dns.example --transport doh --http-path /q`"),
            ("tls://192.0.2.1:853", "`-s 192.0.2.1:853 --transport dot`"),
            ("192.0.2.1:70000", "from 1 to 65535"),
            ("192.0.2.1#5300", "`192.0.2.1:5300`"),
            ("192.0.2.1 192.0.2.2", "with commas"),
            ("a/b", "[IPV6]:PORT"),
        ];
        for (server, words) in cases {
            let error = find(server, None, Family::Any, None).expect_err(server).to_string();
            assert!(error.contains(words), "{error}");
        }
        // Addresses that may exist are taken as they are.
        assert_eq!(find("2001:db8::1:53", None, Family::Any, None).as_deref(), Ok("[2001:db8::1:53]:53"));
    }

    #[test]
    fn two_different_ports_are_refused_and_two_equal_ones_are_not() {
        let want = PlanError::TwoPorts { in_server: 1, in_option: 2 };
        assert_eq!(find("old:1", Some(2), Family::Any, None), Err(want));
        assert_eq!(find("old:1", Some(1), Family::Any, None).as_deref(), Ok("127.0.0.2:1"));
    }

    #[test]
    fn the_family_selects_the_address() {
        assert_eq!(find("both", None, Family::Any, None).as_deref(), Ok("[::1]:53"));
        assert_eq!(find("both", None, Family::V4, None).as_deref(), Ok("127.0.0.1:53"));
        assert_eq!(find("both", None, Family::Any, Some("127.0.0.9")).as_deref(), Ok("127.0.0.1:53"));
    }

    #[test]
    fn families_that_do_not_match_are_refused() {
        let wrong = |server: &str, wanted| Err(PlanError::WrongFamily { server: server.to_owned(), wanted });
        assert_eq!(find("old", None, Family::V6, None), wrong("old", Family::V6));
        assert_eq!(find("::1", None, Family::V4, None), wrong("::1", Family::V4));
        assert_eq!(find("127.0.0.1", None, Family::Any, Some("::1")), wrong("127.0.0.1", Family::V6));
        let local = "::1".parse().expect("a test address");
        assert_eq!(
            find("both", None, Family::V4, Some("::1")),
            Err(PlanError::LocalFamily { local, family: Family::V4 })
        );
    }

    #[test]
    fn a_name_without_an_address_is_reported_with_the_error_of_the_resolver() {
        for (name, words) in [("nowhere", "no such name"), ("empty", "the name has no address record")] {
            let error = find(name, None, Family::Any, None).expect_err("no address").to_string();
            assert!(error.contains(name) && error.contains(words), "{error}");
        }
    }

    #[test]
    fn only_public_addresses_are_not_harmless() {
        let harmless = [
            "127.0.0.53",
            "10.1.2.3",
            "172.16.0.1",
            "172.31.255.255",
            "192.168.1.1",
            "169.254.1.1",
            "192.0.2.9",
            "198.51.100.9",
            "203.0.113.9",
            "198.18.0.1",
            "198.19.255.255",
            "0.0.0.0",
            "::1",
            "fd00::1",
            "fc00::1",
            "fe80::1",
            "2001:db8::1",
            "3fff::1",
            "3fff:fff::1",
            "2001:2::1",
            "::ffff:10.0.0.1",
        ];
        for text in harmless {
            assert!(target_is_harmless(text.parse().expect("a test address")), "{text}");
        }
        let public = [
            "1.1.1.1",
            "172.32.0.1",
            "198.17.0.1",
            "198.20.0.1",
            "100.64.0.1",
            "224.0.0.1",
            "255.255.255.255",
            "2001:4860::8888",
            "2001:db7::1",
            "3fff:1000::1",
            "2001:2:1::1",
            "::ffff:8.8.8.8",
            "ff02::1",
        ];
        for text in public {
            assert!(!target_is_harmless(text.parse().expect("a test address")), "{text}");
        }
    }
}

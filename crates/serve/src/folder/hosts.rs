//! Which names a browser may use for this server.
//!
//! A page of another site can make a browser connect to 127.0.0.1 under that site's name (DNS rebinding), and would
//! then be allowed to read what it gets. The name is in the request, so a request under any name but ours is refused.

use std::net::{IpAddr, SocketAddr};

use http::header::HOST;
use http::uri::Authority;
use http::{HeaderMap, Uri};

/// The names of this server.
#[derive(Clone, Debug, Default)]
pub(crate) struct Hosts {
    /// Those that the user gave, without ports.
    pub(crate) more: Vec<String>,
}

impl Hosts {
    /// Whether a request that came to the address `local` names this server.
    pub(crate) fn accept(&self, uri: &Uri, headers: &HeaderMap, local: SocketAddr) -> bool {
        let mut named = headers.get_all(HOST).iter();
        let (Some(host), None) = (named.next(), named.next()) else { return false };
        let authority = host.to_str().ok().and_then(|host| host.parse::<Authority>().ok());
        let is_ours = |authority: &Authority| self.is_ours(authority.host(), local);
        // A request to a proxy has the name in its first line too.
        authority.as_ref().is_some_and(is_ours) && uri.authority().is_none_or(is_ours)
    }

    fn is_ours(&self, host: &str, local: SocketAddr) -> bool {
        let host = host.trim_end_matches('.');
        if let Ok(address) = host.trim_matches(['[', ']']).parse::<IpAddr>() {
            return address.to_canonical() == local.ip().to_canonical() || self.is_given(host);
        }
        let is_local = host.eq_ignore_ascii_case("localhost") && local.ip().to_canonical().is_loopback();
        is_local || self.is_given(host)
    }

    fn is_given(&self, host: &str) -> bool {
        let host = host.trim_matches(['[', ']']);
        self.more.iter().any(|name| name.trim_matches(['[', ']']).eq_ignore_ascii_case(host))
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn accepts(hosts: &Hosts, host: &str, local: &str) -> bool {
        let mut headers = HeaderMap::new();
        headers.insert(HOST, HeaderValue::from_str(host).unwrap());
        hosts.accept(&Uri::from_static("/"), &headers, local.parse().unwrap())
    }

    #[test]
    fn the_address_itself_and_localhost_are_accepted() {
        let none = Hosts::default();
        for host in ["127.0.0.1", "127.0.0.1:8053", "localhost", "LOCALHOST:8053", "localhost."] {
            assert!(accepts(&none, host, "127.0.0.1:8053"), "{host}");
        }
        assert!(accepts(&none, "[::1]:8053", "[::1]:8053"));
        assert!(accepts(&none, "192.0.2.7:8053", "192.0.2.7:8053"));
        assert!(accepts(&none, "127.0.0.1", "[::ffff:127.0.0.1]:8053"));
    }

    #[test]
    fn the_name_of_another_site_is_refused() {
        let none = Hosts::default();
        for host in [
            "rebound.example",
            "127.0.0.1.rebound.example",
            "localhost.example",
            "192.0.2.7",
            "",
            "a b",
            "x@y",
        ] {
            assert!(!accepts(&none, host, "127.0.0.1:8053"), "{host}");
        }
        // On another address, localhost is not this server.
        assert!(!accepts(&none, "localhost", "192.0.2.7:8053"));
    }

    #[test]
    fn a_name_that_the_user_gave_is_accepted() {
        let given = Hosts { more: vec!["bench.example".into(), "2001:db8::1".into()] };
        assert!(accepts(&given, "Bench.example:80", "192.0.2.7:8053"));
        assert!(accepts(&given, "[2001:db8::1]:80", "192.0.2.7:8053"));
        assert!(!accepts(&given, "other.example", "192.0.2.7:8053"));
    }

    #[test]
    fn a_request_without_a_name_or_with_two_is_refused() {
        let (hosts, local) = (Hosts::default(), "127.0.0.1:1".parse().unwrap());
        let mut headers = HeaderMap::new();
        assert!(!hosts.accept(&Uri::from_static("/"), &headers, local));
        headers.append(HOST, HeaderValue::from_static("localhost"));
        assert!(hosts.accept(&Uri::from_static("/"), &headers, local));
        assert!(!hosts.accept(&Uri::from_static("http://rebound.example/"), &headers, local));
        headers.append(HOST, HeaderValue::from_static("localhost"));
        assert!(!hosts.accept(&Uri::from_static("/"), &headers, local));
    }
}

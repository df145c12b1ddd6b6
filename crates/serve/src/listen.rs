//! Addresses to serve at, as a user types them: `127.0.0.1:9953`, `[::1]:9953`, or a port of loopback alone.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

/// Reads an address with its port, or a port of 127.0.0.1.
///
/// # Errors
/// A sentence for the user: a name, an address without a port, or anything else.
pub fn parse_listen(text: &str) -> Result<SocketAddr, String> {
    if let Ok(address) = text.parse::<SocketAddr>() {
        return Ok(address);
    }
    if let Ok(port) = text.strip_prefix(':').unwrap_or(text).parse::<u16>() {
        return Ok(SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port));
    }
    Err(match text.trim_matches(['[', ']']).parse::<IpAddr>() {
        Ok(ip @ IpAddr::V4(_)) => format!("it has no port: {ip}:PORT"),
        Ok(ip @ IpAddr::V6(_)) => format!("it has no port: [{ip}]:PORT"),
        Err(_) => {
            "not an address of this host with a port, such as 127.0.0.1:9953, or a port alone".to_owned()
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_alone_is_of_loopback() {
        for (text, address) in [
            ("9953", "127.0.0.1:9953"),
            (":9953", "127.0.0.1:9953"),
            ("0.0.0.0:1", "0.0.0.0:1"),
            ("[::1]:80", "[::1]:80"),
        ] {
            assert_eq!(parse_listen(text).unwrap().to_string(), address);
        }
    }

    #[test]
    fn what_is_missing_is_told() {
        assert!(parse_listen("127.0.0.1").unwrap_err().contains("127.0.0.1:PORT"));
        assert!(parse_listen("::1").unwrap_err().contains("[::1]:PORT"));
        for text in ["", "localhost:80", "99999", "127.0.0.1:", "http://[::1]:80"] {
            assert!(parse_listen(text).unwrap_err().contains("a port alone"), "{text}");
        }
    }
}

//! The URI of `-O doh-uri`.

/// What is used of a URI for DNS over HTTPS: the connection goes to the server of `-s`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Uri {
    pub(crate) host: String,
    /// With the query string, without a fragment.
    pub(crate) path: String,
}

impl Uri {
    /// Reads `https://HOST[:PORT][/PATH]`.
    pub(crate) fn read(text: &str) -> Option<Uri> {
        let rest = text.strip_prefix("https://").filter(|rest| !rest.is_empty())?;
        let (host, rest) = match rest.strip_prefix('[') {
            Some(inside) => inside.split_once(']')?,
            None => rest.split_at(rest.find([':', '/', '?', '#']).unwrap_or(rest.len())),
        };
        if host.is_empty() {
            return None;
        }
        let rest = match rest.strip_prefix(':') {
            Some(rest) => {
                let (port, rest) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
                let is_number = port.bytes().all(|digit| digit.is_ascii_digit());
                port.parse::<u16>().ok().filter(|port| is_number && *port > 0)?;
                rest
            }
            None => rest,
        };
        let path = rest.split('#').next().unwrap_or_default();
        let path = if path.is_empty() { "/" } else { path };
        Some(Uri { host: host.to_owned(), path: path.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_uri_has_a_host_and_perhaps_a_port_and_a_path() {
        let read = |text| Uri::read(text).map(|uri| format!("{} {}", uri.host, uri.path));
        assert_eq!(read("https://localhost/dns-query").as_deref(), Some("localhost /dns-query"));
        assert_eq!(read("https://dns.example:8443/q?a=b#c").as_deref(), Some("dns.example /q?a=b"));
        assert_eq!(read("https://[::1]:443").as_deref(), Some("::1 /"));
        for text in
            ["", "http://a/", "https://", "https:///q", "https://a:0/", "https://a:x/", "https://a:65536/"]
        {
            assert_eq!(read(text), None, "{text}");
        }
    }
}

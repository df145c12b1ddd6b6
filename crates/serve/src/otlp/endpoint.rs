//! Where OTLP requests go: the URL as a user types it.

use std::net::{SocketAddr, ToSocketAddrs};

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use dnsdyno_text::secret::{Masked, Secret};
use http::Uri;
use percent_encoding::percent_decode_str;

/// A receiver of OTLP over HTTP.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OtlpEndpoint {
    /// As typed.
    pub(crate) url: Masked,
    /// What proves who sends: the user and the password of the URL, as the value of a header.
    pub(crate) authorization: Option<Secret>,
    /// The name and port of the receiver, for its address and for the request.
    pub(crate) authority: String,
    /// With the query string, which may have a token.
    pub(crate) path: Masked,
}

impl OtlpEndpoint {
    /// Reads the URL of a receiver: `http://127.0.0.1:4318`. As other programs do, `/v1/metrics` is added to its path.
    ///
    /// # Errors
    /// A sentence for the user.
    pub fn parse(text: &str) -> Result<OtlpEndpoint, String> {
        let url: Uri = text.parse().map_err(|_| EXAMPLE.to_owned())?;
        match url.scheme_str() {
            Some("http") => {}
            Some("https") => return Err(NO_TLS.to_owned()),
            _ => return Err(EXAMPLE.to_owned()),
        }
        let host = url.host().filter(|host| !host.is_empty()).ok_or(EXAMPLE)?;
        let path = url.path().trim_end_matches('/');
        let added = if path.ends_with(METRICS) { "" } else { METRICS };
        let query = url.query().map_or(String::new(), |query| format!("?{query}"));
        let path = Masked::from(format!("{path}{added}{query}"));
        let user = url.authority().and_then(|authority| authority.as_str().rsplit_once('@'));
        let authorization = user.map(|(user, _)| basic(user));
        let authority = format!("{host}:{}", url.port_u16().unwrap_or(USUAL_PORT));
        Ok(OtlpEndpoint { url: text.into(), authorization, authority, path })
    }

    /// The address of the receiver, which is looked up once.
    pub(crate) fn address(&self) -> std::io::Result<SocketAddr> {
        let none = || std::io::Error::other("the name has no address");
        self.authority.to_socket_addrs()?.next().ok_or_else(none)
    }
}

/// `Basic …` (RFC 7617) of `user:password`, in which a URL has percent signs for what it cannot have.
fn basic(user: &str) -> Secret {
    let octets: Vec<u8> = percent_decode_str(user).collect();
    Secret::new(format!("Basic {}", BASE64_STANDARD.encode(octets)))
}

const METRICS: &str = "/v1/metrics";

/// Of OTLP over HTTP.
const USUAL_PORT: u16 = 4318;

const EXAMPLE: &str = "not the URL of a receiver of OTLP, such as http://127.0.0.1:4318";

const NO_TLS: &str = "metrics are sent over plain HTTP only: name a collector on this host, such as \
                      http://127.0.0.1:4318, and let it pass them on over TLS";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_usual_port_and_path_are_added() {
        for (text, authority, path) in [
            ("http://127.0.0.1:4318", "127.0.0.1:4318", "/v1/metrics"),
            ("http://collector.example/", "collector.example:4318", "/v1/metrics"),
            ("http://[::1]:9/otlp", "[::1]:9", "/otlp/v1/metrics"),
            ("http://h:1/v1/metrics", "h:1", "/v1/metrics"),
        ] {
            let endpoint = OtlpEndpoint::parse(text).unwrap();
            assert_eq!((endpoint.authority.as_str(), endpoint.path.exposed()), (authority, path), "{text}");
        }
    }

    #[test]
    fn user_password_and_token_are_sent_and_in_no_text() {
        let endpoint = OtlpEndpoint::parse("http://me:p%40ss@h:1/in?token=t0k").unwrap();
        let authorization = endpoint.authorization.as_ref().map(|it| it.exposed().as_str());
        assert_eq!(authorization, Some("Basic bWU6cEBzcw=="));
        assert_eq!(
            (endpoint.authority.as_str(), endpoint.path.exposed()),
            ("h:1", "/in/v1/metrics?token=t0k")
        );
        let shown = format!("{endpoint:?} {}", endpoint.url);
        assert!(!["p%40ss", "t0k", "bWU6"].iter().any(|secret| shown.contains(secret)), "{shown}");
    }

    #[test]
    fn what_cannot_be_sent_to_is_refused_with_an_example() {
        for text in ["", "127.0.0.1:4318", "grpc://h:1", "http://", "/v1/metrics", "http://a b"] {
            assert!(OtlpEndpoint::parse(text).unwrap_err().contains("http://127.0.0.1:4318"), "{text}");
        }
        assert!(OtlpEndpoint::parse("https://h:1").unwrap_err().contains("plain HTTP"));
    }
}

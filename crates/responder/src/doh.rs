//! What makes a request one of DNS over HTTPS (RFC 8484), over any version of HTTP.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use dnsdyno_http::is_message_type;

/// The part of a request that this looks at.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asked<'a> {
    pub(crate) method: &'a str,
    pub(crate) path: &'a str,
    /// What follows a `?` after the path.
    pub(crate) query: Option<&'a str>,
    pub(crate) content_type: Option<&'a str>,
    pub(crate) content_length: Option<u64>,
}

/// The message in a request, `None` where it is in the body, or the status that refuses it.
pub(crate) fn check(asked: Asked<'_>) -> Result<Option<Vec<u8>>, u16> {
    if asked.path != PATH {
        return Err(404);
    }
    match asked.method {
        "GET" => message_in(asked.query.unwrap_or("")).map(Some),
        "POST" if !asked.content_type.is_some_and(|kind| is_message_type(kind.as_bytes())) => Err(415),
        "POST" if asked.content_length.is_some_and(|length| length > MESSAGE_BYTES as u64) => Err(413),
        "POST" => Ok(None),
        _ => Err(405),
    }
}

/// The message in the `dns` variable of a query string (RFC 8484 §6: base64url, without padding).
fn message_in(query: &str) -> Result<Vec<u8>, u16> {
    let text = query.split('&').find_map(|pair| pair.strip_prefix("dns="));
    let text = text.filter(|text| !text.is_empty()).ok_or(400u16)?;
    let message = URL_SAFE_NO_PAD.decode(text).map_err(|_| 400u16)?;
    if message.len() > MESSAGE_BYTES { Err(413) } else { Ok(message) }
}

/// The path of queries.
const PATH: &str = "/dns-query";

/// The longest message of DNS.
pub(crate) const MESSAGE_BYTES: usize = 65_535;

/// A GET carries its query in the path, of which the URI type accepts 65,534 bytes: 49,000 before base64.
pub(crate) const HEADER_BYTES: u32 = 100 * 1024;

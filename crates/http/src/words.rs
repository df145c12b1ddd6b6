//! What an HTTP response that is no DNS message usually means for DoH, in words for a user.

/// Of a status other than 200.
pub(crate) fn of_status(status: u16) -> String {
    let meaning = match status {
        204 | 205 => "the response has no content",
        201..=299 => "no complete response",
        301 | 302 | 303 | 307 | 308 => {
            "a redirect, which is not followed: give the server and --http-path of its target"
        }
        400 => "the server rejects the request: check --http-path and --http-method",
        401 | 407 => "access is denied to this client",
        403 => "the server refuses this request",
        404 | 410 => "there is no DoH service at this path: check --http-path",
        405 | 501 => "the server does not accept this method: try the other --http-method",
        406 | 415 => "there is something else than DoH at this path: check --http-path",
        408 => "the server did not receive the request in time",
        413 | 414 | 431 => "the request is too long for the server",
        421 => "the server is not responsible for this name: check --sni",
        429 => "the server limits the rate of this client",
        500 => "an error of the server",
        502 => "the HTTP server got no valid answer of the resolver behind it",
        503 => "the server is overloaded or in maintenance",
        504 => "the resolver behind the HTTP server did not answer in time",
        _ => "no DNS message",
    };
    format!("HTTP status {status}: {meaning}")
}

/// Of a content type other than that of DNS messages.
pub(crate) fn of_content_type(other: &str) -> String {
    format!(
        "content type {other} instead of application/dns-message: there is something else than DoH at this path; \
         check --http-path"
    )
}

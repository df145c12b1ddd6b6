//! Errors of HTTP/2 (RFC 9113, 7): their codes and names, and what a server did wrong.

use dnsdyno_measure::ConnectionEnd;

/// A server's violation of HTTP/2 that ends the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Violation {
    /// The error code of our GOAWAY.
    pub(super) code: u32,
    what: &'static str,
}

impl Violation {
    /// `what` the server sent that it must not.
    pub(super) const fn new(code: u32, what: &'static str) -> Self {
        Violation { code, what }
    }

    /// What the end of the connection is counted as.
    pub(super) const fn end(&self) -> ConnectionEnd {
        if self.code == ENHANCE_YOUR_CALM { ConnectionEnd::Excess } else { ConnectionEnd::Protocol }
    }

    /// In words for a user.
    pub(super) fn words(&self) -> String {
        let Violation { code, what } = *self;
        match code {
            HTTP_1_1_REQUIRED => {
                "the server answered in HTTP/1.1, and DoH needs HTTP/2: enable it on the server".to_owned()
            }
            _ => format!("the server sent {what} ({})", name_of(code)),
        }
    }
}

/// The name of an error code, with its number where it has none.
pub(super) fn name_of(code: u32) -> String {
    let name = usize::try_from(code).ok().and_then(|code| NAMES.get(code));
    name.map_or_else(|| format!("error code {code}"), |name| (*name).to_owned())
}

pub(super) const NO_ERROR: u32 = 0;
pub(super) const PROTOCOL_ERROR: u32 = 1;
pub(super) const FLOW_CONTROL_ERROR: u32 = 3;
pub(super) const FRAME_SIZE_ERROR: u32 = 6;
pub(super) const REFUSED_STREAM: u32 = 7;
pub(super) const CANCEL: u32 = 8;
pub(super) const COMPRESSION_ERROR: u32 = 9;
pub(super) const ENHANCE_YOUR_CALM: u32 = 11;
pub(super) const HTTP_1_1_REQUIRED: u32 = 13;

const NAMES: [&str; 14] = [
    "NO_ERROR",
    "PROTOCOL_ERROR",
    "INTERNAL_ERROR",
    "FLOW_CONTROL_ERROR",
    "SETTINGS_TIMEOUT",
    "STREAM_CLOSED",
    "FRAME_SIZE_ERROR",
    "REFUSED_STREAM",
    "CANCEL",
    "COMPRESSION_ERROR",
    "CONNECT_ERROR",
    "ENHANCE_YOUR_CALM",
    "INADEQUATE_SECURITY",
    "HTTP_1_1_REQUIRED",
];

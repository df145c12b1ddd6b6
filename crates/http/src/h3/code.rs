//! Errors of HTTP/3 (RFC 9114, 8.1) and QPACK (RFC 9204, 6): their codes and names, and what a peer did wrong.

use dnsdyno_measure::ConnectionEnd;

/// What a peer sent that it must not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The error code that it is told.
    pub code: u64,
    /// What it sent, after "the server sent".
    pub what: &'static str,
}

impl Violation {
    /// `what` a peer sent.
    pub const fn new(code: u64, what: &'static str) -> Self {
        Violation { code, what }
    }

    /// What the end of the connection is counted as.
    pub const fn end(&self) -> ConnectionEnd {
        if self.code == EXCESSIVE_LOAD { ConnectionEnd::Excess } else { ConnectionEnd::Protocol }
    }

    /// Of a server, in words for a user.
    pub fn words(&self) -> String {
        format!("the server sent {} ({})", self.what, name_of(self.code))
    }
}

/// The name of an error code, with its number where it has none.
pub fn name_of(code: u64) -> String {
    let name = match code {
        0x200..=0x202 => QPACK_NAMES.get((code - 0x200) as usize),
        0x100..=0x110 => NAMES.get((code - 0x100) as usize),
        _ => None,
    };
    name.map_or_else(|| format!("error code {code:#x}"), |name| format!("{name} ({code:#x})"))
}

/// No error.
pub const NO_ERROR: u64 = 0x100;
/// A violation that has no code of its own.
pub const GENERAL_PROTOCOL_ERROR: u64 = 0x101;
/// Something inside the sender failed.
pub const INTERNAL_ERROR: u64 = 0x102;
/// A stream that must not be opened.
pub const STREAM_CREATION_ERROR: u64 = 0x103;
/// A stream was closed that the connection needs.
pub const CLOSED_CRITICAL_STREAM: u64 = 0x104;
/// A frame where it must not be.
pub const FRAME_UNEXPECTED: u64 = 0x105;
/// A frame that is not as it has to be.
pub const FRAME_ERROR: u64 = 0x106;
/// More than the sender of the code accepts.
pub const EXCESSIVE_LOAD: u64 = 0x107;
/// An identifier that must not be used so.
pub const ID_ERROR: u64 = 0x108;
/// A setting that must not be.
pub const SETTINGS_ERROR: u64 = 0x109;
/// The control stream does not begin with SETTINGS.
pub const MISSING_SETTINGS: u64 = 0x10a;
/// A request that was not processed.
pub const REQUEST_REJECTED: u64 = 0x10b;
/// A request, or its response, is not wanted any more.
pub const REQUEST_CANCELLED: u64 = 0x10c;
/// A request that ended too early.
pub const REQUEST_INCOMPLETE: u64 = 0x10d;
/// A malformed message of HTTP.
pub const MESSAGE_ERROR: u64 = 0x10e;
/// A section of fields that cannot be decoded.
pub const QPACK_DECOMPRESSION_FAILED: u64 = 0x200;
/// A wrong instruction of an encoder.
pub const QPACK_ENCODER_STREAM_ERROR: u64 = 0x201;
/// A wrong instruction of a decoder.
pub const QPACK_DECODER_STREAM_ERROR: u64 = 0x202;

const NAMES: [&str; 17] = [
    "H3_NO_ERROR",
    "H3_GENERAL_PROTOCOL_ERROR",
    "H3_INTERNAL_ERROR",
    "H3_STREAM_CREATION_ERROR",
    "H3_CLOSED_CRITICAL_STREAM",
    "H3_FRAME_UNEXPECTED",
    "H3_FRAME_ERROR",
    "H3_EXCESSIVE_LOAD",
    "H3_ID_ERROR",
    "H3_SETTINGS_ERROR",
    "H3_MISSING_SETTINGS",
    "H3_REQUEST_REJECTED",
    "H3_REQUEST_CANCELLED",
    "H3_REQUEST_INCOMPLETE",
    "H3_MESSAGE_ERROR",
    "H3_CONNECT_ERROR",
    "H3_VERSION_FALLBACK",
];

const QPACK_NAMES: [&str; 3] =
    ["QPACK_DECOMPRESSION_FAILED", "QPACK_ENCODER_STREAM_ERROR", "QPACK_DECODER_STREAM_ERROR"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_have_the_names_of_the_standards() {
        assert_eq!(name_of(NO_ERROR), "H3_NO_ERROR (0x100)");
        assert_eq!(name_of(MESSAGE_ERROR), "H3_MESSAGE_ERROR (0x10e)");
        assert_eq!(name_of(0x110), "H3_VERSION_FALLBACK (0x110)");
        assert_eq!(name_of(QPACK_DECODER_STREAM_ERROR), "QPACK_DECODER_STREAM_ERROR (0x202)");
        assert_eq!(
            (name_of(7), name_of(u64::MAX)),
            ("error code 0x7".to_owned(), format!("error code {:#x}", u64::MAX))
        );
        let violation = Violation::new(FRAME_UNEXPECTED, "SETTINGS twice");
        assert_eq!(violation.words(), "the server sent SETTINGS twice (H3_FRAME_UNEXPECTED (0x105))");
    }
}

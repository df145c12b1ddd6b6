//! The fixed parts of a DNS message (RFC 1035, 4.1).

/// The header of every DNS message, in octets.
pub const HEADER_LEN: usize = 12;

/// What a question holds beside its name, in octets: type and class.
pub const QUESTION_FIXED_LEN: usize = 4;

/// The QR bit of [`Peek::flags`](crate::Peek::flags): the message is a response.
pub const FLAG_QR: u16 = 0x8000;
/// The TC bit: the response was truncated.
pub const FLAG_TC: u16 = 0x0200;
/// The RD bit: recursion was desired.
pub const FLAG_RD: u16 = 0x0100;
/// The AD bit: the data was validated.
pub const FLAG_AD: u16 = 0x0020;
/// The CD bit: checking was disabled.
pub const FLAG_CD: u16 = 0x0010;

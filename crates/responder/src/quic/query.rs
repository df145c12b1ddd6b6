//! What a stream brings.

use quinn_proto::VarInt;

/// The result of reading a stream.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Query {
    /// A whole message.
    Message(Vec<u8>),
    /// Not yet.
    Nothing,
    /// A request that gets a response with this status.
    Refused(u16),
    /// The client violates the protocol: the connection ends with this code.
    Error(VarInt),
}

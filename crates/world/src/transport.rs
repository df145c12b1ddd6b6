//! The transports that a world serves.

/// What carries a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Transport {
    /// Datagrams.
    Udp,
    /// A connection.
    Tcp,
}

//! Why a set of faults is impossible.

/// Why a set of faults is impossible.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum FaultsError {
    /// The shares add up to more than all queries.
    #[error("the faults add up to {percent} % of the queries; a query has one at most: use 100 % or less")]
    Over100 {
        /// Their sum, in percent.
        percent: f64,
    },
    /// An impossible delay.
    #[error("the delay is not possible: {reason}")]
    Delay {
        /// What is wrong with it.
        reason: &'static str,
    },
    /// The shares of connections add up to more than all connections.
    #[error(
        "the faults of connections add up to {percent} %; a connection has one at most: use 100 % or less"
    )]
    ConnectionsOver100 {
        /// Their sum, in percent.
        percent: f64,
    },
    /// A connection that is to be closed before any response.
    #[error("close-after 0 would answer no query; use 1 or more, or --silent 100%")]
    CloseAfter,
    /// A stall that ends before it starts.
    #[error("the stall ends before it starts; write it as START..END, such as 3s..4s")]
    Stall,
}

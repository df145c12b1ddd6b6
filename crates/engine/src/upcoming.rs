//! What a source says of its next query, where its queries are not all known.

/// The next query of a worker's chunks, or of its clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Upcoming {
    /// A query.
    Query {
        /// When it is due, in nanoseconds since the start of the run; 0 in a closed loop.
        due_ns: u64,
        /// Its number in the run.
        number: u64,
    },
    /// It is not known yet.
    NotYet {
        /// It is not due before this instant.
        known_to_ns: u64,
    },
    /// There is none.
    Over,
}

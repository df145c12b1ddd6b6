//! What to send and when, validated once.
//!
//! - [`source`]: the questions, encoded once ([`source::Questions`]);
//! - [`schedule`]: the load over time, a pure curve ([`schedule::Curve`]) or a window of queries;
//! - [`units`]: quantities as people write them.
//!
//! Nothing here opens a socket or reads a clock: instants are nanoseconds since the start of a run, and
//! whoever runs it brings the time.
#![forbid(unsafe_code)]

pub mod schedule;
pub mod source;
pub mod units;

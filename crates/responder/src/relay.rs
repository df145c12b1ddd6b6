//! A path between two programs: it delays, loses, reorders and limits what passes, and counts what it did.
//!
//! ```text
//!                        ┌─ transit ──────────────────────────────┐
//!  client ──► datagrams ─┼─► link ──► store ──► schedule ─────────┼─► datagrams ──► server
//!             streams    │   (lost? rate, delay)    (due when?)   │   streams
//!         ◄──            └────────────────────────────────────────┘         ◄──
//! ```
//!
//! It stands between a generator and a server, or between a resolver and an authoritative server. One thread does all
//! of it: a datagram costs a few copies and its share of a system call. Arrivals are taken from the kernel's notes, so
//! what waits in a socket has the delay that was asked for nevertheless. How late each datagram was sent is counted,
//! and so is what the relay itself has lost: it is a measuring instrument.

mod arrival;
mod changes;
mod clients;
mod connection;
mod counts;
mod datagrams;
mod error;
mod link;
pub mod netem;
mod start;
mod store;
mod streams;
mod text;
mod tokens;
mod toward;
mod transit;
mod way;
mod worker;

pub use counts::{Change, ClientCounts, Datagrams, RelayConnections, RelayCounts, WayCounts};
pub use error::RelayError;
pub use start::{Relay, RelayOptions};
pub use way::{Path, PathDelay, Rate, Way};

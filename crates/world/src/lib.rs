//! The Internet in a box: a hierarchy of zones from the root down, made by rule and seed, from a list of names or from
//! the answers of a capture, with its name servers, their distances and their faults.
//!
//! ```text
//!  options ──► rules ──► population ──► tree ──► servers ──► records ──► answer ──► message
//!  seed        shares    which names    path     whose,      what is     referral,  octets
//!                        there are      of zones how far     at a name   negative…
//!                                                                           │ where signed: keys, denial, sign
//!  serve (UDP and TCP at thousands of addresses) ──► world ◄────────────────┘      book: who was asked what
//!                                                                      counters: its sums, told at a local socket
//! ```
//!
//! Nothing is written down for a million zones: whether a name exists, its zone, its servers and its records are a
//! function of seed, rules and name ([`World`]); of a list or a capture its names are kept. The address
//! that is asked says which server answers.
#![forbid(unsafe_code)]

mod answer;
mod asked;
mod book;
mod captured;
mod counters;
mod curves;
mod denial;
mod distance;
mod draw;
mod error;
mod explain;
mod kept;
mod keys;
mod list;
mod message;
mod name;
mod options;
mod population;
mod prefix;
mod records;
#[cfg(test)]
mod resolver;
mod rrset;
mod serve;
mod servers;
mod shares;
mod sign;
mod tcp;
mod transport;
mod tree;
mod udp;
mod world;
mod write;

pub use asked::Repeating;
pub use book::Book;
pub use captured::{CaptureReport, NotCompared, NotKept};
pub use distance::Regions;
pub use error::WorldError;
pub use explain::Explanation;
pub use options::{WorldOptions, parse_share};
pub use prefix::Prefix;
pub use serve::{ServeOptions, Serving};
pub use shares::{Fault, Faults, Shares};
pub use transport::Transport;
pub use world::World;
pub use write::Written;

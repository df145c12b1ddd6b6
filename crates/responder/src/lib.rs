//! The reference DNS server: the ground truth that measurements are held against.
//!
//! It answers any question from a [`Rule`], misbehaves on command
//! ([`Faults`]), and keeps a [`Book`] of what it truly did.
//!
//! ```text
//!            udp (a thread a socket) ─┐                        ┌─► answer (pure) ──► zone
//!  server ──►                         ├─► intake, per query ───┤
//!            tcp (one thread) ────────┘    │                   └─► faults (seeded)
//!                                          └─► book: counts, RCODEs, hold times
//!  xdp ─────► answers in the kernel what it can, and passes the rest on to all this
//! ```
#![forbid(unsafe_code)]

pub mod answer;
pub mod book;
pub mod faults;
mod intake;
mod queue;
pub mod server;
mod shared;
mod tcp;
mod udp;
pub mod xdp;
pub mod zone;

pub use answer::{Echo, Rule};
pub use book::{Book, Buckets};
pub use faults::{Delay, Faults, Share, Stall};
pub use server::{Config, Error, Responder, Running};
pub use xdp::{XdpConfig, XdpResponder};
pub use zone::Zone;

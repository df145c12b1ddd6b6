//! The reference DNS server: the ground truth that measurements are held against.
//!
//! It answers any query by a [`Rule`], misbehaves on command ([`Faults`]), and keeps a [`Book`] of what
//! it did. It needs no async runtime: `rustls` and `quinn-proto` work on bytes and leave sockets and
//! clocks to the caller, and `h2` is given two buffers to read from and write to. So every transport has
//! the same loop, the same delay queue and the same book under one lock, and what is booked is when the
//! kernel accepted the response. A runtime would put its scheduler between the time at which a response
//! is due and its write.
//!
//! ```text
//!            udp (a thread a socket) ─────────┐                        ┌─► answer (pure) ──► zone
//!  server ──► stream (a thread for TCP,       ├─► intake, per query ───┤
//!                     DoT, DoH each)          │     │                  └─► faults (seeded)
//!            quic (a thread for DoQ, DoH/3) ──┘     └─► book: counts, RCODEs, hold times, connections
//!  tls ─────► certificate, versions and tickets of DoT, DoH and DoQ
//!  xdp ─────► answers in the kernel what it can, and passes the rest on to all this
//! ```
//!
//! Beside it, [`relay`] is a path between any two programs: it delays, loses, reorders and limits.
#![forbid(unsafe_code)]

pub mod answer;
pub mod book;
mod config;
mod departures;
mod doh;
pub mod faults;
mod freshness;
mod intake;
pub mod kind;
pub mod message;
mod queue;
mod quic;
pub mod relay;
pub mod server;
mod shared;
mod sockets;
mod stream;
pub mod tls;
mod udp;
pub mod xdp;
pub mod zone;

pub use answer::{Echo, Rule};
pub use book::{Book, Buckets};
pub use config::{Config, Error};
pub use departures::{Departures, OverBound};
pub use faults::{Delay, Faults, Limit, Share, Stall};
pub use kind::Transport;
pub use queue::DelayQueue;
pub use server::{Responder, Running};
pub use shared::Shared;
pub use tls::{CertificateFiles, Resumption, TlsSettings, TlsVersions};
pub use xdp::{XdpConfig, XdpResponder};
pub use zone::Zone;

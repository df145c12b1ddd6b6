//! Many machines make one load: a [`Runner`](dnsdyno_runner::Runner) whose runs are made by agents.
//!
//! ```text
//!                 frames over a link (the pipes of a process, or of ssh)
//!   Cluster ◄────────────────────────────────────────────────► agent ──► LocalRunner
//!      │  the plan, its files, the start ──►                     │
//!      │  ◄── lines of the agent's record as it grows            └──► its own record
//!      ▼
//!   Join ──► Recording ──► one record
//! ```
//!
//! The coordinator sends no query, and an agent knows no other: each gets the same plan with another part of it, the
//! same start by its own clock, and sends its record as it is written. The coordinator joins the records by adding them
//! up ([`Join`](dnsdyno_record::Join)).
//!
//! What an agent may load is decided on its own host ([`Permission`]). An agent that hears nothing from its coordinator
//! ends its load.
#![forbid(unsafe_code)]

mod agent;
mod clocks;
mod cluster;
mod deal;
mod error;
mod faults;
mod files;
mod frame;
mod joining;
mod link;
mod live;
mod messages;
mod on;
mod permission;
mod process_link;
mod running;
mod session;
mod starting;

pub use agent::{Agent, serve, serve_over};
pub use cluster::Cluster;
pub use error::ClusterError;
pub use faults::Faults;
pub use link::{Link, Receive, Send};
pub use messages::AgentFacts;
pub use on::{Destination, Place};
pub use permission::{Permission, PermissionError};

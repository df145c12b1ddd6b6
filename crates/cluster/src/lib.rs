//! Many machines make one load: a [`Runner`](dnsdyno_runner::Runner) whose runs are made by agents.
//!
//! ```text
//!                 frames over a link (pipes of a process, or of ssh; NATS)
//!   Cluster ◄────────────────────────────────────────────────► agent ──► its runner
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
//! A link is the pipes of a process that the coordinator has started, or subjects of a NATS broker, at which agents
//! wait. There anyone may ask, so each task is signed (`signing`).
//!
//! What an agent may load is decided on its own host ([`Permission`]). An agent that hears nothing from its coordinator
//! ends its load.
#![forbid(unsafe_code)]

mod agent;
mod agent_run;
mod broker;
mod broker_files;
mod calibration;
mod clock_round;
mod clocks;
mod cluster;
mod deal;
mod error;
mod faults;
mod files;
mod frame;
#[cfg(feature = "fuzzing")]
pub mod fuzz;
mod joining;
mod link;
mod live;
mod messages;
mod nats_agent;
mod nats_link;
mod on;
mod parts;
mod permission;
mod presence;
mod process_link;
mod running;
mod session;
mod signed;
mod signing;
mod starting;

pub use agent::{Agent, serve, serve_over};
pub use agent_run::MakeRunner;
pub use broker::{Access, BrokerUrl, Labels, parse_label};
pub use cluster::Cluster;
pub use error::ClusterError;
pub use faults::Faults;
pub use files::hash_of;
pub use link::{Link, Receive, Send};
pub use messages::{AgentFacts, RefusalCause};
pub use nats_agent::{NatsAgent, serve_nats};
pub use on::{Destination, Place};
pub use permission::{Permission, PermissionError};
pub use signing::{KeyError, PublicKey, Signer};

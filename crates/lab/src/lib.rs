//! Starts real DNS servers and network namespaces for tests and benchmarks, and leaves the host as it was found.
//!
//! A server is data: a file in `testbed/servers` says which program it is, how its configuration looks, and how to
//! see that it answers. This crate fills the template in, starts the program as a plain process of the current user
//! on a free loopback port, waits until it truly answers, and ends it by its process id, at the latest when its
//! [`Server`] is dropped or the starting process dies. Configuration, zone, databases, control sockets and log stay
//! in a temporary folder of that one server; nothing under `/etc` or `/var` is written, no configuration there is
//! used, and a server of the same kind that the host runs as a service is not touched.
//!
//! ```no_run
//! use dnsdyno_lab::{ServerOptions, ServerSpec};
//!
//! let server = ServerSpec::named("nsd")?.start(&ServerOptions::default())?;
//! println!("ask {}, read {}", server.address(), server.log_path().display());
//! server.stop()?;
//! # Ok::<(), dnsdyno_lab::LabError>(())
//! ```

#![forbid(unsafe_code)]

mod cancel;
mod certificate;
mod command;
mod config;
mod cpu_group;
mod error;
mod netem;
mod options;
mod place;
mod port;
mod process;
mod ready;
mod require;
mod root;
mod server;
mod spec;
mod step;
mod template;
mod tries;
mod veth;

pub use cancel::Cancel;
pub use certificate::{Certificate, Flaw};
pub use command::RunningCommand;
pub use cpu_group::CpuGroup;
pub use error::{LabError, StartFailure, StartFailureReason};
pub use netem::Netem;
pub use options::{Hierarchy, ServerOptions, Zone, example_queries};
pub use place::Place;
pub use require::{Need, require};
pub use root::{MountedRoot, Root};
pub use server::Server;
pub use spec::ServerSpec;
pub use tries::within_tries;
pub use veth::{Namespace, Stay, VethPair, remove_left_namespaces};

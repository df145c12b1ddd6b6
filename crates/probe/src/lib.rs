//! Reads what happens beside the load: the counters of hosts, processes and servers, in step with the intervals.
//!
//! ```text
//!   --watch ──► open ──► Source ──► a thread each ──► Rise ──► Sampling::take ──► the interval's line
//!               finds    read()     at each end of     how much      by its number
//!               it       all now    an interval        each rose
//! ```
//!
//! Each [`Source`] is read by a thread of its own, away from the CPUs of the workers: one that is slow or hangs delays
//! neither the load nor other sources. A source that cannot be read is an event, and is tried again.
#![forbid(unsafe_code)]

mod auto;
mod cgroup;
pub mod facts;
mod files;
mod found;
mod host;
mod namespace;
mod opened;
mod process;
mod rise;
mod sampling;
mod server;
mod sockets;
mod source;
mod ssh;

use dnsdyno_plan::Watch;

pub use found::{is_local, listening_processes};
pub use opened::{Opened, Targets};
pub use sampling::{Begun, Beside, Sampling, SamplingClock, WatchEvent};
#[cfg(feature = "fuzzing")]
pub use server::fuzz;
pub use source::{OpenError, ReadError, Reading, Source};

/// Opens everything that a plan watches.
///
/// # Errors
/// Something that was named cannot be watched at all. What is missing of a source that can be read in part is said in
/// its [`Watched::missing`](dnsdyno_measure::Watched::missing).
pub fn open(watch: &[Watch], targets: &Targets) -> Result<Opened, OpenError> {
    let mut opened = Opened::default();
    for what in watch {
        match what {
            Watch::Auto => auto::open(targets, &mut opened),
            Watch::Host { pid } => host::open(*pid, targets, &mut opened),
            Watch::Process { pid } => process::open(*pid, targets, &mut opened),
            Watch::Server(server) => server::open(server, targets, &mut opened),
            Watch::Ssh(host) => ssh::open(host, targets, &mut opened),
        }
        .map_err(|error| error.of(what))?;
    }
    Ok(opened)
}

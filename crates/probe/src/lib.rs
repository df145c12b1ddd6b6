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

mod accumulated;
mod auto;
mod bed;
mod cgroup;
mod command;
pub mod facts;
mod family;
mod files;
mod found;
#[cfg(feature = "fuzzing")]
pub mod fuzz;
mod host;
mod living;
mod loaded;
mod namespace;
mod nic;
mod opened;
mod place;
mod process;
mod rise;
mod sampling;
mod server;
mod sockets;
mod source;
mod ssh;
mod thing;
mod written;

use dnsdyno_plan::Watch;

use opened::Opening;

pub use bed::Bed;
pub use found::{is_local, listening_processes};
pub use opened::{Opened, Targets};
pub use sampling::{Begun, Beside, Sampling, SamplingClock, WatchEvent};
pub use source::{OpenError, ReadError, Reading, Source};

/// Opens everything that a plan watches.
///
/// # Errors
/// Something that was named cannot be watched at all. What is missing of a source that can be read in part is said in
/// its [`Watched::missing`](dnsdyno_measure::Watched::missing).
pub fn open(watch: &[Watch], targets: &Targets) -> Result<Opened, OpenError> {
    let mut opening = Opening::new(targets);
    // What is named comes first: where it is what `auto` finds too, it is read in the way in which it was named.
    let (found, named): (Vec<_>, Vec<_>) = watch.iter().partition(|what| **what == Watch::Auto);
    for what in named.into_iter().chain(found) {
        match what {
            Watch::Auto => auto::open(&mut opening),
            Watch::Host { pid } => host::open(*pid, &mut opening),
            Watch::Process { pid } => process::open(*pid, &mut opening),
            Watch::Server(server) => server::open(server, &mut opening),
            Watch::Ssh(host) => ssh::open(host, &mut opening),
        }
        .map_err(|error| error.of(what))?;
    }
    Ok(opening.finish())
}

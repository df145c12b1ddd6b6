//! What a run needs of the rights of root.
//!
//! A run is made as root for AF_XDP, for buffers beyond the limit of the host, to see whose socket a server's is, or
//! because `sudo` was there. Of the capabilities that come with it, most are of no use to it: to load modules, to set
//! the clock, to be another user, to change the owner of files.

use dnsdyno_sys::rights::{CapabilitySet, of_bpf};

/// The capabilities that a run may need until its record is complete, whatever its backend is; with `watches`, also
/// those that `--watch` needs, and the programs that it starts for it.
pub fn rights_of_a_run(watches: bool) -> CapabilitySet {
    let of_files = CapabilitySet::DAC_OVERRIDE | CapabilitySet::DAC_READ_SEARCH;
    // Buffers; sockets of AF_XDP and of packets; their memory; programs in the kernel; more open files than a user may
    // have.
    let of_load = CapabilitySet::NET_ADMIN
        | CapabilitySet::NET_RAW
        | CapabilitySet::NET_BIND_SERVICE
        | CapabilitySet::IPC_LOCK
        | CapabilitySet::PERFMON
        | CapabilitySet::SYS_RESOURCE
        | of_bpf();
    // Which process a server is, and its CPU time.
    let of_processes = CapabilitySet::SYS_PTRACE;
    // The network namespace of a server is entered.
    let of_watching = if watches { CapabilitySet::SYS_ADMIN } else { CapabilitySet::empty() };
    of_files | of_load | of_processes | of_watching
}
